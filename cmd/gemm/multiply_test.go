package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/verify"
	"gemm/gemmtest"
	"gemm/half"
	"gemm/internal/matfile"
	"gemm/roundoff"
)

// loadMatrix reads a matrix in a file.
func loadMatrix(t *testing.T, name string) gemm.Matrix[float64] {
	t.Helper()
	f, err := matfile.Open(t.Context(), name)
	gemmtest.Must(t, err)
	defer f.Close()
	m, err := matfile.Read[float64](f)
	gemmtest.Must(t, err)
	return m
}

// within reports whether |c − want| ≤ γ·(|A||B| + |extra|) in every element.
func within(c, want, a, b gemm.Matrix[float64], gamma float64, extra func(i, j int) float64) bool {
	if c.Rows != want.Rows || c.Cols != want.Cols {
		return false
	}
	for i := range c.Rows {
		for j := range c.Cols {
			sum := extra(i, j)
			for l := range a.Cols {
				sum += math.Abs(a.At(i, l) * b.At(l, j))
			}
			if !(math.Abs(c.At(i, j)-want.At(i, j)) <= gamma*sum) {
				return false
			}
		}
	}
	return true
}

func TestMultiply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nothing := func(int, int) float64 { return 0 }
	for _, typ := range []string{"f4", "f8"} {
		u := 0x1p-24
		if typ == "f8" {
			u = 0x1p-53
		}
		want := loadMatrix(t, testdata(t, typ+"-product.npy"))
		for _, order := range []string{"c", "fortran"} {
			nameA, nameB := testdata(t, typ+"-a-"+order+".npy"), testdata(t, typ+"-b-"+order+".npy")
			a, b := loadMatrix(t, nameA), loadMatrix(t, nameB)
			gamma := roundoff.Gamma(float64(a.Cols)+1, u) // the reference is rounded too
			for _, variant := range []string{"", "serial/naive", "serial/packed"} {
				args := []string{"multiply", "--a", nameA, "--b", nameB, "--out", "c.npy"}
				if variant != "" {
					args = append(args, "--variant", variant)
				}
				r := succeed(t, dir, args...)
				if r.stdout != "" || !strings.Contains(r.stderr, "verified: residual ") || !strings.Contains(r.stderr, variant) {
					t.Errorf("%v: %+v", args, r)
				}
				out := filepath.Join(dir, "c.npy")
				if !within(loadMatrix(t, out), want, a, b, gamma, nothing) {
					t.Errorf("%v: the product is wrong", args)
				}
				f, err := matfile.Open(t.Context(), out)
				gemmtest.Must(t, err)
				if f.Type != map[string]string{"f4": "f32", "f8": "f64"}[typ] {
					t.Errorf("%v: the result is %s", args, f.Type)
				}
				f.Close()
			}
		}
	}

	// C = 2·A·B − 3·C, over C itself and in the other formats.
	a, b, want := loadMatrix(t, testdata(t, "f8-a-c.npy")), loadMatrix(t, testdata(t, "f8-b-c.npy")),
		loadMatrix(t, testdata(t, "f8-product.npy"))
	for i := range want.Data {
		want.Data[i] *= 2
	}
	c0 := gemm.NewMatrix[float64](want.Rows, want.Cols)
	for i := range c0.Data {
		c0.Data[i] = float64(i%7) - 3
		want.Data[i] -= 3 * c0.Data[i]
	}
	extra := func(i, j int) float64 { return 4*math.Abs(c0.At(i, j)) + math.Abs(want.At(i, j)) }
	for _, name := range []string{"c.csv", "c.mtx", "c.npy"} {
		path := filepath.Join(dir, name)
		gemmtest.Must(t, matfile.Write(t.Context(), path, c0))
		succeed(t, dir, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-fortran.npy"), "--c", name,
			"--out", name, "--alpha", "2", "--beta", "-3")
		if !within(loadMatrix(t, path), want, a, b, 2*roundoff.Gamma(float64(a.Cols)+4, 0x1p-53), extra) {
			t.Errorf("%s: 2·A·B − 3·C is wrong", name)
		}
	}
	// Without --beta, C is added.
	for i := range want.Data {
		want.Data[i] = (want.Data[i]+3*c0.Data[i])/2 + c0.Data[i]
	}
	gemmtest.Must(t, matfile.Write(t.Context(), filepath.Join(dir, "c.csv"), c0))
	succeed(t, dir, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-c.npy"), "--c", "c.csv",
		"--out", "sum.npy", "--type", "f64")
	succeed(t, dir, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-c.npy"), "--out", "narrow.npy",
		"--type", "f32")
	if f, err := matfile.Open(t.Context(), filepath.Join(dir, "narrow.npy")); err != nil || f.Type != "f32" {
		t.Errorf("--type f32: %+v, %v", f, err)
	} else {
		f.Close()
	}
	sum := loadMatrix(t, filepath.Join(dir, "sum.npy"))
	if !within(sum, want, a, b, 2*roundoff.Gamma(float64(a.Cols)+4, 0x1p-53), extra) {
		t.Error("A·B + C is wrong")
	}
}

func TestMultiplyInTheField(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		write(t, filepath.Join(dir, name), text)
	}
	write("a.csv", "2,3\n0,1\n")
	write("b.csv", "128,1\n1,1\n")
	// 2·128 is x·x⁷ = x⁸ = 0x1d in the field; sums are exclusive ors.
	r := succeed(t, dir, "multiply", "--a", "a.csv", "--b", "b.csv", "--out", "c.csv", "--type", "gf256")
	got, err := os.ReadFile(filepath.Join(dir, "c.csv"))
	if err != nil || string(got) != fmt.Sprintf("%d,%d\n1,1\n", 0x1d^3, 2^3) {
		t.Errorf("%q, %v, %s", got, err, r.stderr)
	}
	succeed(t, dir, "multiply", "--a", "a.csv", "--b", "b.csv", "--out", "c.npy", "--type", "gf256")
	fail(t, dir, 1, "compute in the field of bytes with --type gf256", "multiply", "--a", "c.npy", "--b", "b.csv",
		"--out", "d.npy")
}

// TestMultiplyInHalfPrecision multiplies files of all floating-point types: the result has the type of the files,
// and its elements are the sums rounded once.
func TestMultiplyInHalfPrecision(t *testing.T) {
	dir := t.TempDir()
	writeAs[float64](t, filepath.Join(dir, "f64.npy"), 1.0/3, 3)
	writeAs[float32](t, filepath.Join(dir, "f32.npy"), 1.0/3, 3)
	writeAs[half.F16](t, filepath.Join(dir, "f16.npy"), 1.0/3, 3)
	writeAs[half.BF16](t, filepath.Join(dir, "bf16.npy"), 1.0/3, 3)
	for _, test := range []struct {
		a, b, want string
		options    []string
	}{
		{"f16", "f16", "f16", nil}, {"bf16", "bf16", "bf16", nil}, {"f16", "bf16", "f32", nil},
		{"bf16", "f32", "f32", nil},
		{"f64", "f16", "f64", nil}, {"f64", "f64", "f16", []string{"--type", "f16", "--alpha", "0.5"}},
		{"f16", "f16", "bf16", []string{"--type", "bf16", "--variant", "serial/naive"}},
	} {
		args := []string{"multiply", "--a", test.a + ".npy", "--b", test.b + ".npy", "--out", "c.npy"}
		args = append(args, test.options...)
		r := succeed(t, dir, args...)
		f, err := matfile.Open(t.Context(), filepath.Join(dir, "c.npy"))
		gemmtest.Must(t, err)
		f.Close()
		if f.Type != test.want || !strings.Contains(r.stderr, "; verified: residual") {
			t.Errorf("%s·%s is %s, want %s: %s", test.a, test.b, f.Type, test.want, r.stderr)
		}
	}
	writeAs[half.F16](t, filepath.Join(dir, "large.npy"), 300, 300)
	r := succeed(t, dir, "multiply", "--a", "large.npy", "--b", "large.npy", "--out", "c.npy")
	if !strings.Contains(r.stderr, "4 of 4 elements overflow the range of f16") {
		t.Error(r.stderr)
	}
}

// TestAccuracy checks requests for accuracy: the error of what is chosen, a type that must not be taken, and refusals.
func TestAccuracy(t *testing.T) {
	dir := t.TempDir()
	writeAs[float64](t, filepath.Join(dir, "a.npy"), 1.0/3, 3)
	writeAs[float64](t, filepath.Join(dir, "far.npy"), 1e-30, 1e30)
	args := func(a string, more ...string) []string {
		return append([]string{"multiply", "--a", a, "--b", a, "--out", "c.npy"}, more...)
	}
	typeOf := func(a string, more ...string) (string, result) {
		r := succeed(t, dir, args(a, more...)...)
		f, err := matfile.Open(t.Context(), filepath.Join(dir, "c.npy"))
		gemmtest.Must(t, err)
		defer f.Close()
		return f.Type, r
	}
	a := loadMatrix(t, filepath.Join(dir, "a.npy"))
	want := gemm.NewMatrix[float64](2, 2)
	for i := range 2 {
		want.Set(i, 0, 1.0/9+1)
		want.Set(i, 1, 10)
	}
	for _, accuracy := range []float64{1e-2, 1e-3, 1e-6, 1e-14} {
		typ, r := typeOf("a.npy", "--accuracy", fmt.Sprint(accuracy))
		c := loadMatrix(t, filepath.Join(dir, "c.npy"))
		if !within(c, want, a, a, accuracy+1e-15, func(int, int) float64 { return 0 }) ||
			!strings.Contains(r.stderr, " in "+typ+" has the bound ") || accuracy < 1e-7 && typ != "f64" {
			t.Errorf("%g: %s %s", accuracy, typ, r.stderr)
		}
	}
	if typ, r := typeOf("far.npy", "--accuracy", "1e-2"); typ != "f64" {
		t.Errorf("sums out of range in %s: %s", typ, r.stderr)
	}
	if typ, r := typeOf("a.npy", "--accuracy", "1e-2", "--type", "f32", "--variant", "serial/naive"); typ != "f32" ||
		!strings.Contains(r.stderr, "serial/naive in f32 has the bound 2.4e-07 (componentwise)") {
		t.Errorf("%s, %s", typ, r.stderr)
	}
	fail(t, dir, 1, "accuracy 1e-17: the best that can be promised here is 2", args("a.npy", "--accuracy", "1e-17")...)
	fail(t, dir, 1, "has a bound below 1", args("far.npy", "--accuracy", "1e-2", "--type", "f32")...)
	fail(t, dir, 2, "must be numbers between 0 and 1", args("a.npy", "--accuracy", "1")...)
	fail(t, dir, 2, "one accuracy", args("a.npy", "--accuracy", "1e-2,1e-3")...)

	// Rows that are measured, of all types.
	r := start(t, dir, nil, "serial", "--accuracy", "1e-2,1e-9,1e-17", "--sizes", "64", "--time", "1ms", "--reps", "1")
	_, table, _ := strings.Cut(r.stdout, "ACCURACY")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if r.status != 1 || len(lines) != 4 || !strings.Contains(lines[2], "serial/packed  f64") ||
		!strings.Contains(r.stderr, "accuracy 1e-17: the best that can be promised here is ") {
		t.Errorf("status %d, %s%s", r.status, table, r.stderr)
	}
	fail(t, dir, 2, "--batch: a request for accuracy has none", "serial", "--accuracy", "0.1", "--batch", "2")
}

// writeAs writes the 2×2 matrix of x and y in each row.
func writeAs[T gemm.Number](t *testing.T, name string, x, y float64) {
	m := gemm.NewMatrix[T](2, 2)
	for i := range 2 {
		m.Set(i, 0, gemm.FromFloat64[T](x))
		m.Set(i, 1, gemm.FromFloat64[T](y))
	}
	gemmtest.Must(t, matfile.Write(t.Context(), name, m))
}

// TestMultiplyAtTheEndsOfTheRange checks products at the ends of the element type's range. Overflow
// is right if the exact result overflows too. α must not destroy a result that is representable. A
// bound that is larger than the result must not count as a verification.
func TestMultiplyAtTheEndsOfTheRange(t *testing.T) {
	dir := t.TempDir()
	one := func(name string, x float64) {
		m := gemm.NewMatrix[float64](1, 1)
		m.Data[0] = x
		gemmtest.Must(t, matfile.Write(t.Context(), filepath.Join(dir, name), m))
	}
	one("large.npy", 1e200)
	one("small.npy", 1e-200)
	for _, test := range []struct {
		a, alpha string
		want     float64
		said     string
	}{
		{"large.npy", "1", math.Inf(1), "1 of 1 elements overflow the range of f64"},
		{"small.npy", "1", 0, "verified"},
		{"small.npy", "1e300", 1e-100, "verified"},
		{"large.npy", "1e-300", 1e100, "verified"},
	} {
		r := succeed(t, dir, "multiply", "--a", test.a, "--b", test.a, "--alpha", test.alpha,
			"--out", "c.npy", "--variant", "serial/packed")
		got := loadMatrix(t, filepath.Join(dir, "c.npy")).Data[0]
		right := got == test.want || math.Abs(got/test.want-1) < 1e-15
		if !right || !strings.Contains(r.stderr, test.said) || strings.Contains(r.stderr, "not verified") {
			t.Errorf("%s·%s²: %g, %s", test.alpha, test.a, got, r.stderr)
		}
	}

	// One term in a hundred does not cancel: k single roundings lose more than allowed, sums of blocks
	// do not.
	const k = 600_000
	a, b := gemm.NewMatrix[float32](1, k), gemm.NewMatrix[float32](k, 1)
	for l := range k {
		a.Data[l], b.Data[l] = 1, 1
		if l%200 < 99 {
			a.Data[l] = -1
		}
	}
	for name, m := range map[string]gemm.Matrix[float32]{"a.npy": a, "b.npy": b} {
		gemmtest.Must(t, matfile.Write(t.Context(), filepath.Join(dir, name), m))
	}
	for variant, said := range map[string]string{
		"serial/packed": "; verified: residual",
		"serial/naive":  "(euclidean); the only proven bound, 0.037 (componentwise), would prove nothing",
	} {
		r := succeed(t, dir, "multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--variant", variant)
		if !strings.Contains(r.stderr, said) {
			t.Errorf("%s: %s, want %q", variant, r.stderr, said)
		}
	}
}

// TestMultiplyVerifiesFastProducts checks a product by Winograd's algorithm whose proven bound is so wide that a result
// of zeros is hardly above it. The right one is verified otherwise, and a fault in one element is found.
func TestMultiplyVerifiesFastProducts(t *testing.T) {
	const n = 2048
	rng := rand.New(rand.NewPCG(3, 4))
	op := verify.Operation[float32]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1,
		A: gemm.NewMatrix[float32](n, n), B: gemm.NewMatrix[float32](n, n)}
	for i := range op.A.Data {
		op.A.Data[i], op.B.Data[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
	}
	v, err := named("serial/winograd", catalog.Variants())
	gemmtest.Must(t, err)
	params, err := v.Resolve(gemm.Params{"cutoff": n / 2})
	gemmtest.Must(t, err)
	m, err := gemm.New[float32](v, params)
	gemmtest.Must(t, err)
	c := gemm.NewMatrix[float32](n, n)
	gemmtest.Must(t, m.Multiply(t.Context(), c, op.A, op.B))
	limit := verify.LimitOf[float32](v, gemm.Cube(n), params, 1, 0, false)
	if !(limit.Bound > 1) {
		t.Fatalf("the bound is %g: the premise is gone", limit.Bound)
	}
	result, wrong := verdictOf(op, c, limit)
	if wrong != "" || !strings.HasPrefix(result, "verified: residual ") ||
		!strings.HasSuffix(result, "<= bound 0.00024 (euclidean); the only proven bound, 1.1 (normwise), "+
			"would prove nothing") {
		t.Errorf("the right product: %q, %q", result, wrong)
	}
	for _, at := range [][2]int{{n - 1, 5}, {77, 1200}} { // a row that is compared, and one that is only probed
		was := c.At(at[0], at[1])
		c.Set(at[0], at[1], was+25) // the typical element is 30, the proven bound 29
		if result, wrong := verdictOf(op, c, limit); !strings.Contains(wrong, "exceeds the euclidean bound 0.000244") {
			t.Errorf("a fault at %v: %q, %q", at, result, wrong)
		}
		c.Set(at[0], at[1], was)
	}
}

// TestMultiplyLongEmpty multiplies matrices of 2³¹ − 1 rows without elements.
func TestMultiplyLongEmpty(t *testing.T) {
	dir := t.TempDir()
	empty := func(name string, rows int) {
		gemmtest.Must(t, matfile.Write(t.Context(), filepath.Join(dir, name), gemm.NewMatrix[float64](rows, 0)))
	}
	empty("a.npy", math.MaxInt32)
	empty("b.npy", 0)
	for _, variant := range []string{"serial/naive", "serial/packed", "parallel/inner", "parallel/packed"} {
		succeed(t, dir, "multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--variant", variant)
	}
}

// TestMultiplyToAFullDisk has no room for the result: the shell's limit on files stands in for a full disk.
func TestMultiplyToAFullDisk(t *testing.T) {
	dir := t.TempDir()
	full := exec.CommandContext(t.Context(), "sh", "-c", `trap "" XFSZ; ulimit -f 1; exec "$@"`, "sh",
		binary, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-c.npy"), "--out", "c.npy")
	full.Dir = dir
	if out, err := full.CombinedOutput(); err == nil || full.ProcessState.ExitCode() != 1 ||
		!strings.Contains(string(out), "c.npy: cannot be written: ") {
		t.Errorf("a full disk: %v, %s", err, out)
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("a full disk leaves %q", left)
	}
}

// TestMultiplyNaN says that a product of NaN is not verified.
func TestMultiplyNaN(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nan.csv"), "1,2\n3,NaN\n")
	r := succeed(t, dir, "multiply", "--a", "nan.csv", "--b", "nan.csv", "--out", "c.csv")
	if !strings.Contains(r.stderr, "not verified: NaN or Inf is among the operands") {
		t.Errorf("NaN among the operands: %q", r.stderr)
	}
}
