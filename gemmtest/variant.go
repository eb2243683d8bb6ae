package gemmtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/gf256"
)

// Func is a Multiplier made of a function.
type Func[T gemm.Element] func(ctx context.Context, c, a, b gemm.Matrix[T]) error

// Multiply implements gemm.Multiplier.
func (f Func[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error { return f(ctx, c, a, b) }

// Loaded implements record.Loadable: the load costs nothing.
func (f Func[T]) Loaded(int) gemm.Multiplier[T] { return f }

// Textbook computes C = A·B in f64, f32 and GF(2⁸) by the definition, with gemm.Classical as its bound.
func Textbook[T gemm.Element](ctx context.Context, c, a, b gemm.Matrix[T]) error {
	for i := range c.Rows {
		for j := range c.Cols {
			var sum T
			for l := range a.Cols {
				x, y := any(a.At(i, l)), any(b.At(l, j))
				switch s := any(&sum).(type) {
				case *float32:
					*s += x.(float32) * y.(float32)
				case *float64:
					*s += x.(float64) * y.(float64)
				case *gf256.Elem:
					*s = gf256.Add(*s, gf256.Mul(x.(gf256.Elem), y.(gf256.Elem)))
				}
			}
			c.Set(i, j, sum)
		}
	}
	return ctx.Err()
}

// Observed is Textbook in f64, which calls f before each product.
func Observed(f func()) Func[float64] {
	return func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		f()
		return Textbook(ctx, c, a, b)
	}
}

// Variant returns a variant for tests with f as its f64 implementation; nil: Textbook.
func Variant(name string, f Func[float64]) gemm.Variant {
	if f == nil {
		f = Textbook[float64]
	}
	return VariantOf(name, f)
}

// VariantOf returns a variant for tests with m as its f64 implementation. It has the capabilities of the other
// variants of its family.
func VariantOf(name string, m gemm.Multiplier[float64]) gemm.Variant {
	v := gemm.Variant{
		Location: gemm.InProcess, Role: record.Rung, Class: gemm.Plain,
		Name: name, Doc: "A variant for tests.", Bound: gemm.Classical,
		Model: func(s gemm.Shape, _ gemm.Params) gemm.Model { return gemm.Model{Flops: 2 * s.Terms()} },
		F64:   func(gemm.Params) (gemm.Multiplier[float64], error) { return m, nil },
	}
	switch family, algorithm, _ := strings.Cut(name, "/"); {
	case family == "cuda":
		v.Location = gemm.OnGPU
	case family == "mpi":
		v.Location = gemm.OnRanks
	case algorithm == "python":
		v.Role, v.Class = gemm.Program, gemm.Interpreted
	case family == "reference":
		v.Role = gemm.Library
	case algorithm == "packed":
		v.Role, v.Class = gemm.Production, gemm.Tuned
	case algorithm == "gonum":
		v.Role = gemm.Baseline
	}
	return v
}

// Shared is Variant with the parameters of variants that share the work between threads.
func Shared(name string, f Func[float64]) gemm.Variant {
	v := Variant(name, f)
	v.Can = gemm.Loads
	v.Params = []gemm.Param{
		{Name: "threads", Default: 1, Min: 1},
		{Name: "schedule", Default: "static", Choices: []string{"static", "dynamic"}},
		{Name: "chunk", Default: 0},
		{Name: "affinity", Default: "none", Choices: []string{"none", "close"}},
	}
	return v
}

// OnRanks is Variant with the parameters of variants on ranks.
func OnRanks(name string, f Func[float64]) gemm.Variant {
	v := Variant(name, f)
	v.Params = []gemm.Param{
		{Name: "ranks", Default: 1, Min: 1}, {Name: "threads", Default: 1, Min: 0},
		{Name: "affinity", Default: "close", Choices: []string{"none", "close"}}, {Name: "panel", Default: 1, Min: 1},
	}
	return v
}

// Staged is a gemm.Stager whose products take 1 s by their own clock. Its Multiply must not be called.
type Staged struct{ C, A, B gemm.Matrix[float64] }

// Multiply implements gemm.Multiplier.
func (s *Staged) Multiply(context.Context, gemm.Matrix[float64], gemm.Matrix[float64], gemm.Matrix[float64]) error {
	return errors.New("Multiply of a Stager was called")
}

// Stage implements gemm.Stager.
func (s *Staged) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &Staged{c, a, b}, nil
}

// Do implements gemm.Run.
func (s *Staged) Do(context.Context) (gemm.Cost, error) {
	return gemm.Cost{Time: time.Second, Phases: map[string]time.Duration{"compute": time.Second}}, nil
}

// Collect implements gemm.Run.
func (s *Staged) Collect(ctx context.Context) error { return Textbook(ctx, s.C, s.A, s.B) }

// Close implements gemm.Run.
func (s *Staged) Close() error { return nil }
