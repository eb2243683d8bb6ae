package reporttest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"gemm/compare/report/chart"
	"gemm/internal/ipc"
)

// NeedTeX skips a test without xelatex, and with -short.
func NeedTeX(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs xelatex for seconds")
	}
	if _, err := exec.LookPath("xelatex"); err != nil {
		t.Skip("no xelatex; install texlive-xetex")
	}
}

// CompileTeX runs xelatex on a document with its figures. The test fails for an error, for a character that the
// fonts lack, and for a line that is wider than the page by more than over points. It is skipped
// without xelatex, and with -short.
func CompileTeX(t *testing.T, document func(io.Writer) error, drawings []chart.Drawing, over float64) {
	t.Helper()
	NeedTeX(t)
	dir := t.TempDir()
	write := func(name string, content func(io.Writer) error) {
		var data bytes.Buffer
		if err := content(&data); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "figures"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range drawings {
		write(filepath.Join("figures", d.ID+".pdf"), d.PDF)
	}
	write("report.tex", document)
	cmd := exec.CommandContext(t.Context(), "xelatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex")
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := ipc.Run(cmd, time.Second)
	if bytes.Contains(output.Bytes(), []byte("File `ctex.sty' not found")) {
		t.Skip("no Chinese in TeX; install texlive-lang-chinese")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, output.Bytes()[max(0, output.Len()-2000):])
	}
	log, err := os.ReadFile(filepath.Join(dir, "report.log"))
	if err != nil {
		t.Fatal(err)
	}
	if missing := regexp.MustCompile(`Missing character: .*`).FindAllString(string(log), 5); missing != nil {
		t.Errorf("%q", missing)
	}
	overfull := regexp.MustCompile(`Overfull \\hbox \(([0-9.]+)pt too wide\).*`)
	for _, box := range overfull.FindAllStringSubmatch(string(log), -1) {
		if points, err := strconv.ParseFloat(box[1], 64); err != nil || points > over {
			t.Error(box[0])
		}
	}
}
