package verify

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gemm"
	"gemm/roundoff"
)

// column returns the matrix of one column, or of one row, with the elements.
func column[T gemm.Float](elements ...T) gemm.Matrix[T] {
	return gemm.Matrix[T]{Rows: len(elements), Cols: 1, Stride: 1, Data: elements}
}

func row[T gemm.Number](elements ...T) gemm.Matrix[T] {
	return gemm.Matrix[T]{Rows: 1, Cols: len(elements), Stride: len(elements), Data: elements}
}

// TestFarProducts checks results close to the end of the range and beyond it. Only the result that
// IEEE arithmetic gives, with the right sign, passes.
func TestFarProducts(t *testing.T) {
	inf, nan, tiny := math.Inf(1), math.NaN(), 0x1p-560
	t.Run("f64", func(t *testing.T) {
		for _, test := range []farCase[float64]{
			{1, row(1e200), column(1e200), []float64{inf}, []float64{-inf, nan, math.MaxFloat64, 0}, "overflow"},
			{1, row(-1e200), column(1e200), []float64{-inf}, []float64{inf, nan, -math.MaxFloat64}, "overflow"},
			{1e308, row(10.0), column(1.0), []float64{inf}, []float64{-inf, nan, 1e308}, "overflow"},
			{1, row(1e300, 1e-300), column(1e-300, 1e300), []float64{2}, []float64{1, 0, inf, nan}, ""},
			{1, row(1e200, 1e200), column(1e200, -1e200), []float64{inf, -inf, nan, 0}, nil, ""},
			{1, row(1e200, 1e100), column(1e200, -1e100), []float64{inf}, []float64{nan, -inf}, "overflow"},
			{1e300, row(1e-200), column(1e-200), []float64{1e-100}, []float64{0, 2e-100, inf, nan, -1e-100}, ""},
			{1e-300, row(1e200), column(1e200), []float64{1e100}, []float64{0, 2e100, inf, nan}, ""},
			{0x1p-1000, row(0x1p800), column(0x1p-1000), []float64{0, 0x1p-1074}, []float64{1e-300, inf, nan}, ""},
			// α·(A·B), whose products underflow, and (α·A)·B.
			{0x1p50, row(tiny, tiny), column(tiny, tiny), []float64{0, 0x1p-1069}, []float64{0x1p-1020}, ""},
		} {
			test.run(t)
		}
	})
	t.Run("f32", func(t *testing.T) {
		for _, test := range []farCase[float32]{
			{1, row[float32](3.4e38), column[float32](2), []float64{inf}, []float64{-inf, nan, math.MaxFloat32}, "overflow"},
			{1e38, row[float32](10), column[float32](10), []float64{inf}, []float64{-inf, nan, 1e38}, "overflow"},
			{1e30, row[float32](1e-25), column[float32](1e-25), []float64{1e-20}, []float64{0, 2e-20, inf}, ""},
		} {
			test.run(t)
		}
	})
}

// farCase is a product of one element, with results that are right and others that are not.
type farCase[T gemm.Float] struct {
	alpha        float64
	a, b         gemm.Matrix[T]
	right, wrong []float64
	note         string
}

func (f farCase[T]) run(t *testing.T) {
	t.Helper()
	op := product(f.a, f.b)
	op.Alpha = f.alpha
	v := New(op, 1)
	check := func(result float64) Verdict {
		return v.Check(column(T(result)), Limit{gemm.Componentwise, roundoff.Gamma(4, gemm.TypeOf[T]().UnitRoundoff)})
	}
	at := fmt.Sprintf("%g·%g·%g", f.alpha, f.a.Data, f.b.Data)
	for _, result := range f.right {
		if got := check(result); !got.OK() || !strings.Contains(got.Note, f.note) {
			t.Errorf("%s = %g: %+v, want ok and a note of %q", at, result, got, f.note)
		}
	}
	for _, result := range f.wrong {
		if got := check(result); got.OK() || got.Reason == "" {
			t.Errorf("%s = %g: %+v, want wrong with a reason", at, result, got)
		}
	}
}

// TestFarLargeProduct has every element of a large product overflow, and some of them not.
func TestFarLargeProduct(t *testing.T) {
	const n = 300
	for _, kind := range []gemm.BoundKind{gemm.Componentwise, gemm.Normwise} {
		a, b, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
		for i := range a.Data {
			a.Data[i], b.Data[i], c.Data[i] = 1e200, 1e200, math.Inf(1)
		}
		v := New(product(a, b), 1)
		limit := Limit{kind, 1e-10}
		if got := v.Check(c, limit); !got.OK() || !got.Weak || !strings.Contains(got.Note, "64 of 300 rows") {
			t.Errorf("%s: %+v, want ok, weak and a note", kind, got)
		}
		c.Set(n-1, 7, 1e300)
		if got := v.Check(c, limit); got.OK() {
			t.Errorf("%s: a finite element passes: %+v", kind, got)
		}
	}
}

// TestVacuousLimits: a limit that zeros also pass verifies nothing; a limit smaller than some element does.
func TestVacuousLimits(t *testing.T) {
	alternating, ones := make([]float32, 1001), make([]float32, 1001)
	for i := range ones {
		ones[i], alternating[i] = 1, float32(1-2*(i%2))
	}
	a := gemm.NewMatrix[float32](2, len(ones))
	copy(a.Row(1), alternating)
	for _, test := range []struct {
		a       gemm.Matrix[float32]
		want    []float32
		kind    gemm.BoundKind
		vacuous map[float64]bool
	}{
		{row(ones...), []float32{1001}, gemm.Componentwise, map[float64]bool{0.5: false, 1: true, math.Inf(1): true}},
		{row(alternating...), []float32{1}, gemm.Componentwise, map[float64]bool{1e-4: false, 1e-3: true}},
		{row(alternating...), []float32{1}, gemm.Normwise, map[float64]bool{0.1: false, 1: true}},
		{a, []float32{0, 1}, gemm.Componentwise, map[float64]bool{1e-4: false, 1e-3: true}}, // a row of zeros assures nothing
		{a.Slice(0, 0, 1, 1001), []float32{0}, gemm.Componentwise, map[float64]bool{1: false}},
	} {
		v := New(product(test.a, column(ones...)), 1)
		for bound, vacuous := range test.vacuous {
			if got := v.Check(column(test.want...), Limit{test.kind, bound}); !got.OK() || got.Vacuous != vacuous {
				t.Errorf("%v, %s bound %g: %+v, want ok, vacuous %t", test.want, test.kind, bound, got, vacuous)
			}
		}
	}
}
