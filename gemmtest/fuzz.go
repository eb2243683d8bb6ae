package gemmtest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"gemm"
	"gemm/half"
)

// Fuzz draws a variant, an element type, shapes, strides, parameters and operands. params limits int parameters to
// values that matter in products with at most 96 elements a side.
func Fuzz(f *testing.F, variants []gemm.Variant) {
	for i := range variants {
		f.Add(uint8(i), uint8(i), uint8(7), uint8(5), uint8(9), uint8(1), uint8(0), uint8(3), uint64(i))
		f.Add(uint8(i), uint8(i+1), uint8(66), uint8(33), uint8(65), uint8(0), uint8(2), uint8(0), uint64(i)<<8|31)
	}
	f.Fuzz(func(t *testing.T, variant, typ, m, n, k, gapA, gapB, gapC uint8, seed uint64) {
		v := variants[int(variant)%len(variants)]
		rng := rand.New(rand.NewPCG(seed, 1))
		shape := [3]int{int(m) % 97, int(n) % 97, int(k) % 97}
		gap := [3]int{int(gapA) % 8, int(gapB) % 8, int(gapC) % 8}
		p := randomParams(v, rng)
		types := v.Types()
		gemm.ByType(types[int(typ)%len(types)],
			func() { fuzzOnce(t, v, p, numberKind[float64](), rng, shape, gap, rounded[float64]) },
			func() { fuzzOnce(t, v, p, numberKind[float32](), rng, shape, gap, rounded[float32]) },
			func() { fuzzOnce(t, v, p, numberKind[half.F16](), rng, shape, gap, rounded[half.F16]) },
			func() { fuzzOnce(t, v, p, numberKind[half.BF16](), rng, shape, gap, rounded[half.BF16]) },
			func() { fuzzOnce(t, v, p, fieldKind(), rng, shape, gap, exact) })()
	})
}

// randomParams draws a value of every parameter of v.
func randomParams(v gemm.Variant, rng *rand.Rand) gemm.Params {
	p := gemm.Params{}
	for _, q := range v.Params {
		switch _, integer := q.Default.(int); {
		case integer:
			most := q.Min + 99
			if q.Max > 0 {
				most = min(most, q.Max)
			}
			p[q.Name] = q.Min + rng.IntN(most-q.Min+1)
		case len(q.Choices) > 0:
			p[q.Name] = q.Choices[rng.IntN(len(q.Choices))]
		}
	}
	return p
}

// fuzzOnce computes and checks one product.
func fuzzOnce[T gemm.Element](t *testing.T, v gemm.Variant, p gemm.Params, kind kind[T], rng *rand.Rand,
	shape, gap [3]int,
	check func(under[T], *rand.Rand, [3]int, [3]int) error,
) {
	m, err := gemm.New[T](v, p)
	// A local variant, named by a parameter, may have fewer types.
	if errors.Is(err, gemm.ErrUnavailable) || errors.Is(err, gemm.ErrType) && len(p) > 0 {
		t.Skip(err)
	}
	Must(t, err)
	resolved, err := v.Resolve(p)
	Must(t, err)
	if err := check(under[T]{m: m, v: v, p: resolved, kind: kind}, rng, shape, gap); err != nil {
		t.Errorf("%s %s %v: %v", v.Name, gemm.TypeOf[T]().Name, p, err)
	}
}
