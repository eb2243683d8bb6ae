//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/compare/record"
)

const kernelParameters = "(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)"

// writeSources writes sources in CUDA into a new folder, which it returns.
func writeSources(t *testing.T, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// TestKernelsOnGPU measures kernels of the user in a turn of the ladder. A source without the kernel is a row that says
// so.
func TestKernelsOnGPU(t *testing.T) {
	dir := writeSources(t, map[string]string{
		"mine.cu":   `extern "C" __global__ void mine` + kernelParameters + "{}",
		"double.cu": `extern "C" __global__ void f` + strings.ReplaceAll(kernelParameters, "float", "double") + "{}",
	})
	r := start(t, dir, withWorker(t, "works"), "cuda", "--sizes", "16", "--time", "1ms", "--variants", "cuda/naive",
		"--json", "r.json", "--bring", "mine.cu", "--bring", "double.cu=cuda:f64", "--bring", "mine.cu:absent",
		"--bring", "gone=no.cu=cuda:f64", "--grid", "M,N")
	if r.status != statusFailed || !strings.Contains(r.stderr, "3 of 7 rows") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	const absent = "mine.cu: there is no kernel absent: it has mine"
	want := map[string]string{"cuda/naive f64": "", "cuda/naive f32": "f32 is not faked", "user/mine f32": "",
		"user/double f64": "", "user/absent f32": absent, "user/absent f64": absent,
		"user/gone f64": "there is no file no.cu"}
	for _, row := range records(t, filepath.Join(dir, "r.json")).Records {
		name := row.Variant + " " + row.Type
		reason, ok := want[name]
		delete(want, name)
		right := row.Reason.Text == reason && (reason == "") == (row.Status == record.OK)
		if !ok || !right || !strings.HasPrefix(row.Turn, "cuda f") {
			t.Errorf("%s: %s %q, turn %q", name, row.Status, row.Reason, row.Turn)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no rows of %v", want)
	}
	r = start(t, dir, withWorker(t, "works"), "compare", "--profile", "cuda", "--sizes", "16", "--type", "f64",
		"--variants",
		"cuda/naive", "--bring", "double.cu", "--block-dims", "64x4", "--time", "1ms", "--out", "report")
	report, err := os.ReadFile(filepath.Join(dir, "report", "report-appendix.md"))
	if r.status != 0 || err != nil || !strings.Contains(string(report), "user/double") {
		t.Errorf("status %d, %s, %v", r.status, r.stderr, err)
	}
}

// TestKernelsOnBoth measures a kernel that can run and one that cannot, of which one is for a GPU.
func TestKernelsOnBoth(t *testing.T) {
	dir := writeSources(t, map[string]string{
		"good.cu": `extern "C" __global__ void good` + strings.ReplaceAll(kernelParameters, "float", "double") + "{}",
		"good.c":  "void square_dgemm(int n, double *a, double *b, double *c) { c[0] += a[0] * b[0]; }",
		"bad.c":   "void square_dgemm(int n {", "bad.cu": "int none;",
	})
	for good, bad := range map[string]string{"good.cu=cuda:f64": "bad.c", "good.c": "bad.cu=cuda:f64"} {
		out := "report-" + bad[:strings.Index(bad, ".")+2]
		r := start(t, dir, withWorker(t, "works"), "compare", "--families", "serial", "--variants", "serial/naive", "--sizes",
			"1", "--type", "f64", "--time", "1ms", "--out", out, "--bring", bad, "--bring", good)
		got := map[string]record.Status{}
		for _, row := range records(t, filepath.Join(dir, out, "results.json")).Records {
			if row.Experiment == record.MainLadder {
				got[row.Variant] = row.Status
			}
		}
		if r.status != statusFailed || got["user/good"] != record.OK || got["user/bad"] != record.Failed {
			t.Errorf("%s and %s: status %d, rows %v, %s", good, bad, r.status, got, r.stderr)
		}
	}
	fail(t, dir, statusFailed, "--bring: ", "compare", "--bring", "bad.cu=cuda:f64", "--bring", "bad.c")
}
