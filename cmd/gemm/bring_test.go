package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/peer"
)

// example returns the path of an example, or skips the test if it cannot be compiled here.
func example(t *testing.T, name string) string {
	t.Helper()
	_, err := peer.Program()
	gemmtest.Require(t, "gcc", err)
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "bring", name))
	gemmtest.Must(t, err)
	return path
}

// TestBring measures the example of a course's kernel and the wrong ones, and renders the report. Each wrong
// kernel costs its rows, whose reason says what is wrong with it; the others are measured.
func TestBring(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"unwritten":  "it does not write element (39, 39) of C",
		"outside":    "it writes outside C, element 1 behind its last one",
		"crashes":    "its process ended with signal segmentation fault: ",
		"endless":    "took longer than the row's time limit of 2s",
		"transposes": "it changes A: element (0, 1) was ",
	}
	args := []string{"serial", "--sizes", "40,24x40x32", "--time", "1ms", "--timeout", "2s", "--json", "rows.json",
		"--bring", example(t, "dgemm-blocked.c")}
	for name := range wrong {
		args = append(args, "--bring", example(t, filepath.Join("testdata", name+".c")))
	}
	dir := t.TempDir()
	r := start(t, dir, nil, args...)
	if r.status != statusFailed || strings.Count(r.stderr, "\n") != 1 ||
		!strings.Contains(r.stderr, "rows are wrong or failed") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	rows := records(t, filepath.Join(dir, "rows.json")).Records
	if len(rows) != 2*(5+1+len(wrong)) {
		t.Errorf("there are %d rows:\n%s", len(rows), r.stdout)
	}
	for _, row := range rows {
		name, brought := strings.CutPrefix(row.Variant, "user/")
		switch want := wrong[name]; {
		case brought && name != "unwritten" && row.M != row.N:
			if row.Status != record.Skipped || row.Reason.Text != "the ABI square has n×n matrices only" {
				t.Errorf("%s %s: %s, %s", row.Variant, row.Shape, row.Status, row.Reason)
			}
		case want == "":
			if row.Status != record.OK || row.Turn == "" || brought && (row.Resolved["abi"] != "square" ||
				row.Resolved["symbol"] != "square_dgemm" || row.Resolved["cflags"] != "-O3 -march=native") {
				t.Errorf("%s: %s, %s, turn %q, resolved %v", row.Variant, row.Status, row.Reason, row.Turn,
					row.Resolved)
			}
		case row.M == row.N && !strings.Contains(row.Reason.Text, want), row.Status == record.OK:
			t.Errorf("%s: %s, %s; want %q", row.Variant, row.Status, row.Reason, want)
		}
		if row.Turn != rows[0].Turn && row.Shape == rows[0].Shape {
			t.Errorf("%s is not interleaved with the others: %q, %q", row.Variant, row.Turn, rows[0].Turn)
		}
	}
	succeed(t, dir, "report", "--in", "rows.json", "--out", "report", "--format", "md")
	page := read(t, filepath.Join(dir, "report", "report.md"))
	for name, reason := range wrong {
		if !strings.Contains(page, "user/"+name) || !strings.Contains(page, reason) {
			t.Errorf("the report does not say what is wrong with user/%s", name)
		}
	}
}

// TestBringAgain goes on with records of a kernel. A row is measured again if its source has changed.
func TestBringAgain(t *testing.T) {
	t.Parallel()
	text := read(t, example(t, "dgemm-blocked.c"))
	dir := t.TempDir()
	source := filepath.Join(dir, "mine.c")
	again := func(text string, arguments ...string) string {
		write(t, source, text)
		succeed(t, dir, append([]string{"serial", "--bring", "mine.c", "--variants", "serial/packed", "--sizes", "33",
			"--time", "1ms", "--json", "rows.json"}, arguments...)...)
		rows := records(t, filepath.Join(dir, "rows.json")).Records
		if len(rows) != 2 || rows[1].Variant != "user/mine" || rows[1].Status != record.OK {
			t.Fatalf("the rows are %+v", rows)
		}
		return fmt.Sprint(rows[1].Resolved, rows[1].Samples)
	}
	first := again(text)
	if kept := again(text, "--resume"); kept != first {
		t.Errorf("the row is measured again: %s, %s", first, kept)
	}
	if changed := again(text+"\n", "--resume"); changed == first {
		t.Errorf("the row of another source is kept: %s", changed)
	}
}

// TestBringTogether measures a kernel with OpenMP by gemm parallel, and one by gemm compare.
func TestBringTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "rows.c")
	const text = `void rows(int m, int n, int k, const float *A, const float *B, float *C) {
	#pragma omp parallel for
	for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
		C[i * n + j] = 0;
		for (int l = 0; l < k; l++) C[i * n + j] += A[i * k + l] * B[l * n + j];
	}
}`
	example(t, "") // a compiler
	write(t, source, text)
	succeed(t, dir, "parallel", "--bring", "rows.c:rows=rowmajor:f32", "--cflags", "-O2", "--threads", "1,2",
		"--sizes", "30", "--time", "1ms", "--json", "parallel.json")
	var got []string
	for _, row := range records(t, filepath.Join(dir, "parallel.json")).Records {
		if row.Status != record.OK {
			t.Errorf("%s: %s, %s", row.Variant, row.Status, row.Reason)
		}
		if row.Variant == "user/rows" {
			got = append(got, row.Type+" "+row.Params.String())
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"f32 threads=1", "f32 threads=2"}) {
		t.Errorf("the rows of the kernel are %q", got)
	}
	succeed(t, dir, "compare", "--bring", "rows.c=rowmajor:f32", "--cflags", "-O1 -fno-openmp", "--families", "serial",
		"--variants", "serial/packed", "--sizes", "24x20x16", "--type", "f32", "--time", "1ms", "--out", "report")
	rows := records(t, filepath.Join(dir, "report", "results.json")).Records
	if len(rows) != 2 || rows[1].Variant != "user/rows" || rows[1].Status != record.OK ||
		rows[1].Turn != rows[0].Turn {
		t.Errorf("the rows are %+v", rows)
	}
}

// TestBringBatch measures the kernels of a course: some are called alike, one does not compile, and one has what a
// terminal obeys in its name and in what it prints. They stand next to the loops in C, and each has one line.
func TestBringBatch(t *testing.T) {
	t.Parallel()
	text := read(t, example(t, "dgemm-blocked.c"))
	dir := t.TempDir()
	const hostile = "user/top f64 40 ok\nx\x1b[31m\a\r\u202e\xff end"
	kernels := map[string]string{"ann/dgemm.c": text, "bob/dgemm.c": text,
		"bad.c":                  "int f(void) { return 1 +; }",
		"x\x1b[31m\nuser/best.c": text,
		"noisy.c": fmt.Sprintf("#include <stdio.h>\n#include <stdlib.h>\n"+
			"void square_dgemm(int n, double *A, double *B, double *C) { fwrite(%s, 1, %d, stderr); fflush(stderr); abort(); }", cText(hostile), len(hostile))}
	args := []string{"serial", "--sizes", "40", "--time", "1ms", "--json", "rows.json", "--bring", "eve=bob/dgemm.c"}
	for name, text := range kernels {
		path := filepath.Join(dir, name)
		gemmtest.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
		args = append(args, "--bring", name)
	}
	r := start(t, dir, nil, args...)
	report := start(t, dir, nil, "report", "--in", "rows.json", "--out", "report", "--format", "csv,md,html,tex")
	if r.status != statusFailed || report.status != 0 || strings.Count(r.stderr, "\n") != 1 ||
		strings.Count(r.stdout, "\n") != 1+5+len(kernels)+1 {
		t.Errorf("status %d, %d\n%s%s%s", r.status, report.status, r.stdout, r.stderr, report.stderr)
	}
	csv, err := os.ReadFile(filepath.Join(dir, "report", "results.csv"))
	if err != nil || strings.Count(string(csv), "\n") != 1+5+len(kernels)+1 {
		t.Errorf("%v\n%s", err, csv)
	}
	texts := map[string]string{"standard output": r.stdout, "standard error": r.stderr + report.stderr}
	files, err := filepath.Glob(filepath.Join(dir, "report", "*.*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data := read(t, file)
		texts[filepath.Base(file)] = data
	}
	for name, text := range texts {
		if at := strings.IndexAny(text, "\x1b\a\r\u202e"); at >= 0 || !utf8.ValidString(text) {
			t.Errorf("%s has what a terminal obeys: %q", name, text[max(0, at-100):min(len(text), at+100)])
		}
	}
	want := map[string]string{"user/ann-dgemm": "", "user/bob-dgemm": "", "user/eve": "", "user/best": "",
		"user/bad": "bad.c does not compile: bad.c:1:25: error: ", "user/noisy": "its process ended with signal aborted: ",
		"reference/c-ikj": "", "reference/c-naive": "", "serial/packed": "", "serial/naive": "", "serial/hinted": ""}
	rows := records(t, filepath.Join(dir, "rows.json")).Records
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		fault, ok := want[row.Variant]
		if !ok || (fault == "") != (row.Status == record.OK) || !strings.HasPrefix(row.Reason.Text, fault) ||
			row.Turn != rows[0].Turn {
			t.Errorf("%s: %s, %q, turn %q", row.Variant, row.Status, row.Reason, row.Turn)
		}
	}
}

// cText returns text as a string of C.
func cText(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\%03o`, c)
	}
	return `"` + b.String() + `"`
}

// TestWithoutHome measures a kernel and a program in C where there is no home to write to.
func TestWithoutHome(t *testing.T) {
	t.Parallel()
	path, dir, temporary := example(t, "dgemm-blocked.c"), t.TempDir(), t.TempDir()
	args := []string{"serial", "--sizes", "40", "--time", "1ms", "--bring", path}
	for _, home := range [][]string{{"HOME=/proc/nothing", "XDG_CACHE_HOME="}, {"HOME=", "XDG_CACHE_HOME="}} {
		r := start(t, dir, append(home, "TMPDIR="+temporary), args...)
		if r.status != 0 || !regexp.MustCompile(`(?m)^reference/c-ikj +f64 +40 +ok `).MatchString(r.stdout) {
			t.Errorf("with %v: status %d, %s%s", home, r.status, r.stdout, r.stderr)
		}
	}
	failWith(t, dir, []string{"HOME=", "XDG_CACHE_HOME=", "TMPDIR=/proc/nothing"}, statusFailed,
		": set XDG_CACHE_HOME to a folder of yours", args...)
}

// TestKernelRefusals gives kernels that a compiler or the ABI refuses. Nothing is measured.
func TestKernelRefusals(t *testing.T) {
	t.Parallel()
	path, dir := example(t, "dgemm-blocked.c"), t.TempDir()
	write(t, filepath.Join(dir, "bad.c"), "void f(void) { return 1 +; }\n")
	fail(t, dir, statusUsage, "there is no row of user/dgemm-blocked, whose type is f64", "serial", "--bring", path,
		"--type",
		"f32")
	fail(t, dir, statusUsage, "there is no row of user/dgemm-blocked", "compare", "--bring", path, "--profile", "peers",
		"--type", "f32")
	fail(t, dir, statusFailed, "it has no function f: it exports square_dgemm", "serial", "--bring", path+":f")
	fail(t, dir, statusFailed, "bad.c does not compile: ", "compare", "--bring", "bad.c")
	if left := entries(t, dir); len(left) != 1 {
		t.Errorf("it leaves %v", left)
	}
}

// TestCourseSizes measures the sizes that a course has, and prints the average.
func TestCourseSizes(t *testing.T) {
	t.Parallel()
	c, _ := planned(t, "--variants", "serial/packed", "--type", "f64", "--sizes", "7,cs267")
	n := 0
	for _, k := range c {
		if k.Experiment == record.MainLadder {
			n++
		}
	}
	if n != 97 {
		t.Errorf("--sizes 7,cs267 has %d rows", n)
	}
	r := succeed(t, "", "serial", "--variants", "serial/packed", "--time", "1us", "--sizes",
		"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16")
	averages := regexp.MustCompile(`\nVARIANT +TYPE +AVERAGE PEAK +ROWS\nserial/packed +f64 +[0-9.]+% +16\n$`)
	if !averages.MatchString(r.stdout) {
		t.Errorf("on %s the table ends with\n%s", runtime.GOARCH, r.stdout[max(0, len(r.stdout)-300):])
	}
}
