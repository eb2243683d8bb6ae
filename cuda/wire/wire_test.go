package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/serial"
)

// servedVariable has this test binary serve a product with the named fault.
const servedVariable = "GEMM_TEST_WIRE"

func TestMain(m *testing.M) {
	if fault := os.Getenv(servedVariable); fault != "" {
		served(fault)
		return
	}
	os.Exit(m.Run())
}

func served(fault string) {
	end := func(text string) {
		fmt.Fprintln(os.Stderr, text)
		os.Exit(1)
	}
	variants := serial.Variants()
	switch fault {
	case "early":
		end("wire.test: there is no driver")
	case "unavailable", "fails":
		for i := range variants {
			variants[i].F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
				if fault == "fails" {
					return nil, errors.New("the kernel is wrong")
				}
				return nil, gemm.Unavailablef("needs compute capability 8.0")
			}
		}
	case "short":
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Print("{}\n12345678")
		os.Exit(0)
	case "rubbish":
		fmt.Print("hello\n", strings.Repeat("x", 1<<20))
		os.Exit(0)
	case "hangs":
		time.Sleep(time.Minute)
	}
	if err := Serve(context.Background(), os.Stdin, os.Stdout, variants); err != nil {
		end(err.Error())
	}
}

// program returns the command that serves with the fault.
func program(ctx context.Context, fault string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), servedVariable+"="+fault)
	return cmd
}

// matrix returns a matrix with gaps between its rows, of numbers that are told apart.
func matrix[T gemm.Number](rows, cols int, first float64) gemm.Matrix[T] {
	x := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]T, rows*(cols+3))}
	for i := range x.Data {
		x.Data[i] = gemm.FromFloat64[T](first + float64(i)/4)
	}
	return x
}

// carries sends a product α·A·B + β·C to a program, and compares the bits with the same variant in this
// process.
func carries[T gemm.Number](t *testing.T, m, n, k int, alpha, beta float64) {
	t.Helper()
	a, b := matrix[T](m, k, 1), matrix[T](k, n, -2)
	c, want := matrix[T](m, n, 3), matrix[T](m, n, 3)
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	if err != nil {
		t.Fatal(err)
	}
	head := request{Alpha: alpha, Beta: beta}
	if err := compute(t.Context(), v, head, want, a, b, full); err != nil {
		t.Fatal(err)
	}
	p := Product[T]{Variant: v.Name, Alpha: alpha, Beta: beta, A: a, B: b, C: c}
	if err := Multiply(t.Context(), program(t.Context(), "none"), p); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Data, want.Data) {
		t.Errorf("%s %dx%dx%d, %v and %v: the product differs, or what is between its rows", gemm.TypeOf[T]().Name, m, n,
			k, alpha, beta)
	}
}

func TestProductsAreCarried(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {5, 7, 3}, {100, 31, 64}, {4, 3, 0}, {0, 3, 2}} {
		carries[float64](t, s[0], s[1], s[2], 1, 0)
		carries[float32](t, s[0], s[1], s[2], 1, 0)
		carries[float32](t, s[0], s[1], s[2], -2, 0.5)
		carries[half.F16](t, s[0], s[1], s[2], 1, 0)
		carries[half.BF16](t, s[0], s[1], s[2], -2, 0.5)
	}
}

func TestBytesAreCarried(t *testing.T) {
	a, b, c := gemm.NewMatrix[gf256.Elem](2, 3), gemm.NewMatrix[gf256.Elem](3, 70), gemm.NewMatrix[gf256.Elem](2, 70)
	for i := range b.Data {
		b.Data[i] = gf256.New(uint8(i))
	}
	for i := range a.Data {
		a.Data[i] = gf256.New(uint8(0x80 + 40*i))
	}
	p := Product[gf256.Elem]{Variant: "serial/naive", Alpha: 1, A: a, B: b, C: c}
	if err := Multiply(t.Context(), program(t.Context(), "none"), p); err != nil {
		t.Fatal(err)
	}
	for i := range c.Rows {
		for j := range c.Cols {
			var want gf256.Elem
			for l := range a.Cols {
				want = gf256.Add(want, gf256.Mul(a.At(i, l), b.At(l, j)))
			}
			if c.At(i, j) != want {
				t.Fatalf("element (%d, %d) is %v, want %v", i, j, c.At(i, j), want)
			}
		}
	}
	p.Beta = 1
	if err := Multiply(t.Context(), program(t.Context(), "none"), p); err == nil ||
		!strings.Contains(err.Error(), "gf256 has C = A*B only") {
		t.Errorf("with a beta: %v", err)
	}
}

func TestNaNIsCarried(t *testing.T) {
	a, b, c := matrix[float64](2, 2, 1), matrix[float64](2, 2, 1), matrix[float64](2, 2, 1)
	a.Set(0, 0, math.NaN())
	a.Set(1, 1, math.Inf(-1))
	if err := Multiply(t.Context(), program(t.Context(), "none"),
		Product[float64]{Variant: "serial/naive", Alpha: 1, A: a, B: b, C: c}); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(c.At(0, 0)) || !math.IsInf(c.At(1, 1), -1) {
		t.Errorf("%v", c.Data)
	}
}

func TestFaults(t *testing.T) {
	x := func() gemm.Matrix[float64] { return matrix[float64](300, 300, 1) } // more than a pipe holds
	p := Product[float64]{Variant: "serial/naive", Alpha: 1, A: x(), B: x(), C: x()}
	for _, test := range []struct {
		fault, variant, want string
		unavailable          bool
	}{
		{"early", "serial/naive", "ended with exit status 1: ", false},
		{"unavailable", "serial/naive", "needs compute capability 8.0", true},
		{"fails", "serial/naive", "the kernel is wrong", false},
		{"short", "serial/naive", "the result: unexpected EOF", false},
		{"rubbish", "serial/naive", "the reply: invalid character 'h'", false},
		{"none", "cuda/naive", `there is no variant "cuda/naive": build both programs`, false},
	} {
		q := p
		q.Variant = test.variant
		err := Multiply(t.Context(), program(t.Context(), test.fault), q)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") ||
			errors.Is(err, gemm.ErrUnavailable) != test.unavailable {
			t.Errorf("%s: %v, want %q", test.fault, err, test.want)
		}
	}
	if err := Multiply(t.Context(), exec.CommandContext(t.Context(), t.TempDir()+"/absent"), p); !errors.Is(err,
		gemm.ErrUnavailable) {
		t.Errorf("no program: %v", err)
	}
	short := p
	short.C = matrix[float64](2, 2, 0)
	if err := Multiply(t.Context(), program(t.Context(), "none"), short); !errors.Is(err, gemm.ErrShape) {
		t.Errorf("shapes that do not conform: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := Multiply(ctx, program(ctx, "hangs"), p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that hangs: %v", err)
	}
	// the race detector, which does not see clear, says if they are read still
	for _, x := range []gemm.Matrix[float64]{p.A, p.B, p.C} {
		for i := range x.Data {
			x.Data[i] = 0
		}
	}
}

func TestBrokenRequests(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "EOF",
		"hello\n":            "invalid character",
		`{"protocol":9}`:     "EOF",
		"{\"protocol\":9}\n": "protocol 9, this program speaks 1",
		"{\"protocol\":1,\"variant\":\"serial/naive\",\"type\":\"f8\"}\n":                                    `no type "f8"`,
		"{\"protocol\":1,\"variant\":\"serial/naive\",\"type\":\"f64\",\"m\":-1}\n":                          "-1×0×0",
		"{\"protocol\":1,\"variant\":\"serial/naive\",\"type\":\"f64\",\"m\":4294967296,\"k\":4294967296}\n": "4294967296×0×4294967296",
		"{\"protocol\":1,\"variant\":\"serial/naive\",\"type\":\"f64\",\"m\":1,\"n\":1,\"k\":1}\nabc":        "the operands on standard input: unexpected EOF",
		strings.Repeat("x", 1<<17): "longer than",
	} {
		var out bytes.Buffer
		if err := Serve(t.Context(), strings.NewReader(text), &out, serial.Variants()); err == nil ||
			!strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%.60q: %v, %q was written; want %q", text, err, out.String(), want)
		}
	}
}
