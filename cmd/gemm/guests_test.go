//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/compare/record"
)

const guestParameters = "(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)"

// plantKernels writes sources in CUDA into a new folder, which it returns.
func plantKernels(t *testing.T, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBringToGPU brings kernels to the ladder: they are rows of its turn, and one that has no kernel
// is a row that says so.
func TestBringToGPU(t *testing.T) {
	dir := plantKernels(t, map[string]string{
		"mine.cu":   `extern "C" __global__ void mine` + guestParameters + "{}",
		"double.cu": `extern "C" __global__ void f` + strings.ReplaceAll(guestParameters, "float", "double") + "{}",
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

// TestBringToBoth brings a kernel that can run and one that cannot, of which one is for a GPU.
func TestBringToBoth(t *testing.T) {
	dir := plantKernels(t, map[string]string{
		"good.cu": `extern "C" __global__ void good` + strings.ReplaceAll(guestParameters, "float", "double") + "{}",
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

// TestBringToGPUMistakes checks that each mistake on the command line or in a source is one line that names the value.
func TestBringToGPUMistakes(t *testing.T) {
	dir := plantKernels(t, map[string]string{
		"mine.cu": `extern "C" __global__ void mine` + guestParameters + "{}", "mine.c": "void mine(void) {}",
		"line.cu": "// gemm: --grid m\n" + `extern "C" __global__ void mine` + guestParameters + "{}",
	})
	for _, test := range []struct{ args, want string }{
		{"cuda --bring mine.c", "--bring mine.c: a kernel on a GPU is a .cu file"},
		{"serial --bring mine.cu", "--bring mine.cu: a source in CUDA is for gemm cuda and gemm compare"},
		{"cuda --bring mine.cu=rowmajor", "ABI rowmajor of mine.cu: a .cu file has the ABI cuda"},
		{"compare --bring mine.c=cuda", "ABI cuda of mine.c: a .cu file has the ABI cuda"},
		{"cuda --bring mine.cu --bring mine.cu", "are both called user/mine"},
		{"cuda --bring mine.cu --grid m,1", `--grid "m,1" has "m,1" where a number, M, N or K is wanted`},
		{"cuda --bring mine.cu --block-dims 32x", `--block-dims "32x" ends where`},
		{"cuda --bring mine.cu --smem 4KB", `--smem "4KB": must be bytes`},
		{"cuda --grid 1", "--grid: there is no source in CUDA among the kernels of --bring"},
		{"compare --bring mine.cu --cflags -O3", "--cflags: there is no source among"},
		{"cuda --bring mine.cu --type f64", "there is no row of user/mine, whose type is f32"},
		{"cuda --bring mine.cu --explain --cc 9.0", "--bring is for measuring, which --explain does not"},
	} {
		fail(t, dir, 2, test.want, strings.Fields(test.args)...)
	}
	fail(t, dir, 1, "--bring: there is no file absent.cu", "cuda", "--bring", "absent.cu")
	fail(t, dir, 1, `line.cu: the line gemm: --grid: "m" has "m" where`, "cuda", "--bring", "line.cu")
}
