//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// TestRefusals runs the command lines of testdata/refusals.txt. Each has the status and one line of message; nothing is
// written.
func TestRefusals(t *testing.T) {
	lines := read(t, filepath.Join("testdata", "refusals.txt"))
	npy := read(t, testdata(t, "f8-a-c.npy"))
	kernel := `extern "C" __global__ void mine` + kernelParameters + "{}"
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.csv": "1,2\n3,4\n", "wide.csv": "1,2,3\n", "file": "text", "short.npy": npy[:len(npy)-8],
		"vast.mtx": "%%MatrixMarket matrix coordinate real general\n2 1000000000 1\n1 1 1\n",
		"tall.mtx": "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1\n",
		"mine.c":   "void mine(void) {}", "mine.cu": kernel, "line.cu": "// gemm: --grid m\n" + kernel,
	} {
		write(t, name, text)
	}
	gemmtest.Must(t, os.Symlink(os.DevNull, "null")) // a device must neither be replaced by a file nor taken for one
	before := entries(t, ".")
	tests := regexp.MustCompile(`(?m)^([12]) (.*) => (.*)$`).FindAllStringSubmatch(lines, -1)
	if len(tests) < 200 {
		t.Fatalf("%d command lines", len(tests))
	}
	for _, name := range commands() {
		tests = append(tests, []string{"", "2", name + " stray", `argument "stray": there are only flags`},
			[]string{"", "2", name + " --nonsense 1", `flag "--nonsense" is unknown`})
	}
	for _, test := range tests {
		args := []string{"gemm"}
		for _, word := range strings.Fields(test[2]) {
			args = append(args, strings.ReplaceAll(word, "''", ""))
		}
		var stdout, stderr strings.Builder
		err := runGemm(t.Context(), args, &stdout, &stderr)
		if got := status(err); got != int(test[1][0]-'0') || !strings.HasPrefix(err.Error(), "gemm") ||
			!strings.Contains(oneLine(err), test[3]) || stdout.Len()+stderr.Len() > 0 {
			t.Errorf("gemm %s: status %d, %v, standard output %q, standard error %q; want status %s and %q", test[2], got, err,
				&stdout, &stderr, test[1], test[3])
		}
	}
	if left := entries(t, "."); !slices.Equal(left, before) {
		t.Errorf("refusals leave %q of %q", left, before)
	}
	if to, err := os.Readlink("null"); err != nil || to != os.DevNull {
		t.Errorf("the link to a device was replaced: %q, %v", to, err)
	}
}
