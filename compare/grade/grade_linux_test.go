package grade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gemm/gemmtest"
	"gemm/serial"
)

const product = `#include "head.h"
void f(int m, int n, int k, const double *A, const double *B, double *C) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum = add(sum, A[i * k + l] * B[l * n + j]);
            C[i * n + j] = sum;
        }
}`

// TestGrade grades four submissions, again, and with one that has changed.
func TestGrade(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/cc"); err != nil {
		gemmtest.Require(t, "gcc", err)
	}
	in, out := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		gemmtest.Must(t, os.MkdirAll(filepath.Join(in, filepath.Dir(name)), 0o700))
		gemmtest.Must(t, os.WriteFile(filepath.Join(in, name), []byte(text), 0o600))
	}
	write("right/f.c", product)
	write("right/add.c", `#include "head.h"
double add(double x, double y) { return x + y; }`)
	write("right/head.h", "double add(double x, double y);\n#warning hello")
	write("wrong odd/f.c", strings.Replace(product, "j < n", "j < n / 2 * 2", 1))
	write("wrong odd/head.h", "#define add(x, y) ((x) + (y))")
	write("empty/f.txt", "")
	gemmtest.Must(t, os.MkdirAll(filepath.Join(in, "link"), 0o700))
	gemmtest.Must(t, os.Symlink("/etc/passwd", filepath.Join(in, "link", "f.c")))
	assignment := strings.ReplaceAll(strings.ReplaceAll(text, "from: 0.1, to: 0.5", "from: 0, to: 1e-9"), "step: 2", "step: 4")
	a, err := Read("a.yaml", []byte(assignment), serial.Variants())
	gemmtest.Must(t, err)
	measured := 0
	o := Options{Assignment: a, In: in, Out: out, Jobs: 2, Time: time.Millisecond, Variants: serial.Variants(), Resume: true,
		Done: func(Result, int, int) { measured++ }}
	c, err := Grade(t.Context(), o)
	gemmtest.Must(t, err)
	if len(c.Results) != 4 || measured != 4 {
		t.Fatalf("%d results, %d told", len(c.Results), measured)
	}
	empty, link, right, wrong := c.Results[0], c.Results[1], c.Results[2], c.Results[3]
	if empty.Points != 0 || empty.Fault.Text != "there is no source and no library in the folder" ||
		link.Fault.Text != "f.c is a link to what is not in the folder: hand in the file itself" {
		t.Errorf("%+v, %+v", empty, link)
	}
	if right.Points < 45 || right.Most != 57 || !strings.Contains(right.Compiler, "head.h:2:2: warning: #warning hello") {
		t.Errorf("right: %v of %v points, %q: %+v", right.Points, right.Most, right.Compiler, right.Marks)
	}
	if wrong.Marks[2].Points != 0 || wrong.Marks[3].Points != 0 || len(wrong.Marks[0].Why) != 1 ||
		!strings.HasPrefix(wrong.Marks[0].Why[0].Text, "at 65, error: it does not write element (0, 64) of C") {
		t.Errorf("wrong: %+v", wrong.Marks)
	}
	write("empty/f.c", product)
	write("empty/head.h", "#define add(x, y) ((x) + (y))")
	again, err := Grade(t.Context(), o)
	gemmtest.Must(t, err)
	was, err := json.Marshal(right.Rows)
	gemmtest.Must(t, err)
	if is, err := json.Marshal(again.Results[2].Rows); err != nil || !bytes.Equal(is, was) || again.Results[0].Points < 45 {
		t.Errorf("resumed: %+v, %+v", again.Results[2], again.Results[0])
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Grade(ended, o); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}
