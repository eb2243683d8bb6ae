package userkernel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
)

const product = "(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)"

// write writes a source and returns its path.
func write(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.cu")
	gemmtest.Must(t, os.WriteFile(path, []byte(source), 0o600))
	return path
}

// TestRead finds the kernel of a source, its type and its launch.
func TestRead(t *testing.T) {
	double := strings.ReplaceAll(product, "float", "double")
	for name, test := range map[string]struct {
		source, symbol, typ string
		flags               Launch
		want                string // symbol and type
		launch              Launch
	}{
		"one":    {source: `extern "C" __global__ void f` + product + "{}", want: "f f32"},
		"double": {source: `extern "C" __global__ void f` + double + "{}", want: "f f64"},
		"bounds": {source: `extern "C" __global__ void __launch_bounds__(16 * 16) f` + product + "{}",
			want: "f f32"},
		"before": {source: `extern "C" __global__ __launch_bounds__(256, 2) void f` + product + "{}", want: "f f32"},
		"restrict": {source: `extern "C" __global__ void f(int M,int N,int K,float alpha,float const*__restrict__ A,` +
			`const float* __restrict B,float beta,float*C){}`, want: "f f32"},
		"unsigned": {source: `extern "C" __global__ void f(const unsigned int M, size_t N, uint K, float a, ` +
			`float *A, ` +
			`float *B, float b, float *C) {}`, want: "f f32"},
		"unnamed": {source: `extern "C" __global__ void f(int, int, int, float, const float *, const float *, ` +
			`float, float *) {}`, want: "f f32"},
		"block": {source: "extern \"C\" {\n__device__ int g() { return 1; }\n__global__ void f" + product + "{}\n}",
			want: "f f32"},
		"declared": {source: `extern "C" __global__ void f` + product + ";\n__global__ void f" + product + "{}",
			want: "f f32"},
		"comment": {source: "/* __global__ void g() */ // __global__ void h()\n" +
			"extern \"C\" __global__ void /* f32 */ f" + product + "{}", want: "f f32"},
		"string": {source: `const char *s = "// \" /*"; char c = '"'; extern "C" __global__ void f` + product + "{}",
			want: "f f32"},
		"fitting": {source: `__global__ void g(int n) {} extern "C" __global__ void f` + product + "{}",
			want: "f f32"},
		"chosen": {source: `extern "C" __global__ void g` + product + `{} extern "C" __global__ void f` + product +
			"{}", symbol: "f", want: "f f32"},
		"by type": {source: `extern "C" __global__ void g` + product + `{} extern "C" __global__ void f` + double +
			"{}", typ: "f64", want: "f f64"},
		"launch": {source: "// gemm: --block-dims 256 --grid (N+127)/128,(M+127)/128 --smem 4096\n" +
			`extern "C" __global__ void f` + product + "{}", want: "f f32",
			launch: Launch{"256", "(N+127)/128,(M+127)/128", 4096}},
		"flags": {source: "/* gemm: --block-dims=256 --grid=\"M,1\" */\n" + `extern "C" __global__ void f` +
			product + "{}", flags: Launch{Block: "64"}, want: "f f32", launch: Launch{"64", "M,1", 0}},
		"the last": {source: "// gemm: --grid 1\n// gemm: --grid 2\n" + `extern "C" __global__ void f` + product +
			"{}\n// gemm: --grid 3", want: "f f32", launch: Launch{Grid: "2"}},
		"no launch": {source: "// gemm: see --help\n" + `extern "C" __global__ void f` + product + "{}", want: "f f32"},
	} {
		k, err := Read("user/x", write(t, test.source), test.symbol, test.typ, test.flags)
		if err != nil || k.Fault != "" || k.Symbol+" "+k.Type != test.want || k.Launch != test.launch ||
			k.File != "mine.cu" {
			t.Errorf("%s: %v, fault %q, %s %s, %+v", name, err, k.Fault, k.Symbol, k.Type, k.Launch)
		}
	}
}

// TestFaults checks that a source without a usable kernel is a kernel with a fault, which its
// variants report.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct{ source, symbol, typ, want string }{
		"none": {"int x;", "", "",
			`mine.cu: there is no extern "C" kernel (int M, int N, int K, float alpha, const float *A`},
		"no symbol": {"__global__ void a() {} __global__ void b() {}", "f", "", "there is no kernel f: it has a, b"},
		"several": {`extern "C" __global__ void a` + product + `{} extern "C" __global__ void b` + product + "{}",
			"", "", "there are several kernels, a, b: choose one by FILE.cu:NAME"},
		"mangled": {"__global__ void f" + product + "{}", "", "",
			`f is not extern "C": write extern "C" before __global__`},
		"template": {"template <int B> __global__ void f" + product + "{}", "f", "", `f is not extern "C"`},
		"parameters": {`extern "C" __global__ void f(int n, float *x) {}`, "", "",
			"f has the parameters (int n, float *x), wants (int M,"},
		"other type": {`extern "C" __global__ void f` + product + "{}", "", "f64",
			"float beta, float *C), wants (int M, int N, int K, double alpha,"},
		"cut off": {`extern "C" __global__ void f(int M`, "", "", "it has no __global__ function"},
	} {
		k, err := Read("user/x", write(t, test.source), test.symbol, test.typ, Launch{})
		if err != nil || !strings.Contains(k.Fault, test.want) || strings.Contains(k.Fault, "\n") {
			t.Errorf("%s: %v, fault %q, want %q", name, err, k.Fault, test.want)
		}
	}
}

// TestLibrary reads a library, whose function cannot be seen.
func TestLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libmine.so")
	gemmtest.Must(t, os.WriteFile(path, []byte("1"), 0o600))
	k, err := Read("user/f", path, "f", "f64", Launch{Grid: "1"})
	gemmtest.Must(t, err)
	gemmtest.Must(t, os.WriteFile(path, []byte("2"), 0o600))
	changed, err := Read("user/f", path, "f", "", Launch{})
	if err != nil || !k.Library || k.Launch != (Launch{}) || k.Fault != "" || k.Digest() == changed.Digest() ||
		!strings.Contains(changed.Fault, "libmine.so: name the function and its type") {
		t.Errorf("%+v, %+v, %v", k, changed, err)
	}
}

// TestUnreadable checks the errors of what cannot be read at all.
func TestUnreadable(t *testing.T) {
	source := `extern "C" __global__ void f` + product + "{}"
	for want, path := range map[string]string{
		"there is no file ": filepath.Join(t.TempDir(), "absent.cu"),
		"is no source":      t.TempDir(),
		`the line gemm: --grid: "m" has more than`: write(t, "// gemm: --grid m\n"+source),
		"--grid needs a value":                     write(t, "// gemm: --grid\n"+source),
		"--tile is none of --block-dims, --grid":   write(t, "// gemm: --tile 3\n"+source),
		`--smem: "1k" must be bytes`:               write(t, "// gemm: --smem 1k\n"+source),
	} {
		if _, err := Read("user/x", path, "", "", Launch{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestVariants checks what a program without a GPU says of a kernel, and that a changed source is
// another case.
func TestVariants(t *testing.T) {
	k := Kernel{Name: "user/f", File: "f.cu", Source: "1", Symbol: "f", Type: "f32"}
	changed, launched, unknown := k, k, Kernel{Name: "user/g", Fault: "x"}
	changed.Source, launched.Grid = "2", "1"
	all := Variants(nil, []Kernel{k, changed, launched, unknown})
	if _, err := gemm.New[float32](all[0], nil); !errors.Is(err, gemm.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if all[0].F64 != nil || all[3].F64 == nil || all[3].F32 == nil {
		t.Error("the types are others")
	}
	seen := map[string]bool{}
	for _, v := range all {
		if _, err := v.Resolve(nil); err != nil || seen[v.Revision] || v.Location != gemm.OnGPU || v.Source == nil {
			t.Errorf("%+v, %v", v, err)
		}
		seen[v.Revision] = true
	}
	if err := k.Missing([]string{"h", "a"}); err.Error() != "f.cu: the compiled source has no kernel f: it has a, h" {
		t.Error(err)
	}
}
