package verify

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/roundoff"
)

// layout returns the layout of an operation. op has a letter for A and one for B: n for stored as it
// is, t for transposed. pad is added to every leading dimension.
func layout(m, n, k int, op string, alpha, beta float64, pad int) Layout {
	l := Layout{Shape: gemm.Shape{M: m, N: n, K: k}, TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: alpha, Beta: beta}
	l.LDA, l.LDB, l.LDC = k+pad, n+pad, n+pad
	if op[0] == 't' {
		l.TransA, l.LDA = blas.Trans, m+pad
	}
	if op[1] == 't' {
		l.TransB, l.LDB = blas.Trans, k+pad
	}
	return l
}

// distinct is the number of different rows of A in these tests. So the right result of a large product
// is cheap to compute.
const distinct = 16

// rightProduct returns operands of n×n matrices, as measuring draws them but with few different rows in A, and their
// product summed in T's own precision.
func rightProduct[T gemm.Element](n int) (Operands[T], gemm.Matrix[T]) {
	o := Draw[T](layout(n, n, n, "nn", 1, 0, 0), 7, nil)
	for i := distinct; i < n; i++ {
		copy(o.A.Row(i), o.A.Row(i%distinct))
	}
	right := gemm.NewMatrix[T](n, n)
	multiplyRows(right, o.A, o.B, distinct)
	return o, right
}

// multiplyRows adds A·B to c in T's own precision. The rows of A from count on are those before them.
func multiplyRows[T gemm.Element](c, a, b gemm.Matrix[T], count int) {
	plus := plusProduct[T]()
	for i := range c.Rows {
		row := c.Row(i)
		if i >= count {
			copy(row, c.Row(i%count))
			continue
		}
		for l, x := range a.Row(i) {
			for j, y := range b.Row(l) {
				row[j] = plus(row[j], x, y)
			}
		}
	}
}

// testFaults checks that v accepts the right result and finds every fault.
func testFaults[T gemm.Element](t *testing.T, v Verifier[T], right gemm.Matrix[T], limit Limit, other, bad T) {
	t.Helper()
	if got := v.Check(right, limit); !got.OK() || got.Weak {
		t.Errorf("the right result: %+v, want ok", got)
	}
	for _, f := range gemmtest.Faults(other, bad) {
		wrong := clone(right)
		f.Plant(wrong)
		got := v.Check(wrong, limit)
		if got.OK() || got.Reason == "" {
			t.Errorf("%s: %+v, want wrong with a reason", f.Name, got)
		}
	}
}

// verifySizes are the sizes of products with planted faults, with one that is large.
func verifySizes(large int) []int {
	if testing.Short() || gemmtest.Raced {
		return []int{33, 600}
	}
	return []int{33, 600, large}
}

func TestPlantedFaultsFloat(t *testing.T) {
	// For f32, in which a lost element of a large product is lost in rounding first.
	for _, n := range verifySizes(4096) {
		t.Run(fmt.Sprint("f32/", n), func(t *testing.T) { plantFloat[float32](t, n) })
	}
	for _, n := range verifySizes(2048) {
		t.Run(fmt.Sprint("f64/", n), func(t *testing.T) { plantFloat[float64](t, n) })
	}
}

// product returns the operation C = A·B.
func product[T gemm.Element](a, b gemm.Matrix[T]) Operation[T] {
	return Operation[T]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1, A: a, B: b}
}

func plantFloat[T gemm.Float](t *testing.T, n int) {
	o, right := rightProduct[T](n)
	v := New(product(o.A, o.B), 1)
	u := gemm.TypeOf[T]().UnitRoundoff
	other := right.At(n/3, n/2+1)
	other += other / 4 // wrong by a quarter of itself
	limits := map[string]Limit{
		"classical": {gemm.Componentwise, gemm.Classical.Random(gemm.Cube(n), nil, u)},
		// As wide as Strassen's with five levels over leaves of n/32.
		"normwise":  {gemm.Normwise, 2e7 * u},
		"euclidean": Independent[T](),
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) { testFaults(t, v, right, limit, other, T(math.NaN())) })
	}
}

func TestPlantedFaultsField(t *testing.T) {
	for _, n := range verifySizes(2048) {
		t.Run(fmt.Sprint("gf256/", n), func(t *testing.T) {
			o, right := rightProduct[gf256.Elem](n)
			v := New(product(o.A, o.B), 1)
			other := gf256.Add(right.At(n/3, n/2+1), gf256.New(1))
			bad := gf256.Add(right.At(n-1, 1), gf256.New(0x80))
			// An element to be zeroed must not be zero already.
			if right.At(n/2, n/3) == (gf256.Elem{}) {
				t.Fatal("the element to be zeroed is zero: choose another")
			}
			testFaults(t, v, right, Limit{Kind: gemm.Exact}, other, bad)
		})
	}
}

// TestWideField plants faults in a product with enough columns for the verifier to sample them: in the
// first column, in the last one, and at the ends of blocks.
func TestWideField(t *testing.T) {
	c := layout(4, 500001, 10, "nn", 1, 0, 5)
	o := Draw[gf256.Elem](c, 7, nil)
	right := gemm.NewMatrix[gf256.Elem](c.M, c.N)
	multiplyRows(right, o.A, o.B, c.M)
	v := New(product(o.A, o.B), 1)
	wrong := func(change func(c gemm.Matrix[gf256.Elem])) float64 {
		c := gemm.Matrix[gf256.Elem]{Rows: c.M, Cols: c.N, Stride: c.N, Data: slices.Clone(right.Data)}
		change(c)
		return v.Check(c, Limit{Kind: gemm.Exact}).Residual
	}
	for name, test := range map[string]struct {
		change func(c gemm.Matrix[gf256.Elem])
		want   float64
	}{
		"right": {func(gemm.Matrix[gf256.Elem]) {}, 0},
		"elements": {func(c gemm.Matrix[gf256.Elem]) {
			for i, j := range []int{0, 8191, 8192, 500000} {
				c.Set(i, j, gf256.Add(c.At(i, j), gf256.New(1)))
			}
		}, 4},
		"two of a column": {func(c gemm.Matrix[gf256.Elem]) {
			c.Set(0, 77, gf256.Add(c.At(0, 77), gf256.New(9)))
			c.Set(1, 77, gf256.Add(c.At(1, 77), gf256.New(9)))
		}, 1},
		"rows swapped": {func(c gemm.Matrix[gf256.Elem]) { c.Data[5], c.Data[c.Cols+5] = c.Data[c.Cols+5], c.Data[5] }, 1},
	} {
		if got := wrong(test.change); got != test.want {
			t.Errorf("%s: %v columns are wrong, want %v", name, got, test.want)
		}
	}
	if got := wrong(func(c gemm.Matrix[gf256.Elem]) { clear(c.Row(2)) }); got < 0.9*float64(c.N) {
		t.Errorf("a row of zeros: %v columns are wrong of %d", got, c.N)
	}
}

// TestDrawBytes checks that the elements of the field are drawn about equally often, up to the end of a row.
func TestDrawBytes(t *testing.T) {
	const n = 1<<16 + 5
	row := Draw[gf256.Elem](layout(1, n, 1, "nn", 1, 0, 0), 3, nil).B.Data
	counts := make([]int, 256)
	for _, x := range row {
		counts[x.Byte()]++
	}
	// Each is drawn 256 times, with a standard deviation of 16.
	if least, most := slices.Min(counts), slices.Max(counts); least < 170 || most > 350 {
		t.Errorf("elements are drawn %d to %d times", least, most)
	}
	if slices.Equal(row[n-5:], make([]gf256.Elem, 5)) {
		t.Error("the end of the row is zero")
	}
}

func TestVerifierOfTheWholeOperation(t *testing.T) {
	const m, n, k = 37, 29, 41
	for _, op := range []string{"nn", "nt", "tn", "tt"} {
		for _, scalars := range [][2]float64{{1, 0}, {-0.75, 0}, {1, 1}, {2.5, -0.5}, {0, 3}} {
			c := layout(m, n, k, op, scalars[0], scalars[1], 3)
			o := Draw[float64](c, 5, nil)
			v := New(o.Operation, 1)
			limit := Limit{gemm.Componentwise,
				gemm.Classical.Random(gemm.Shape{M: m, N: n, K: k + 3}, nil, gemm.TypeOf[float64]().UnitRoundoff)}
			multiply(o)
			if got := v.Check(o.C, limit); !got.OK() {
				t.Errorf("%s α=%g β=%g: %+v, want ok", op, c.Alpha, c.Beta, got)
			}
			o.C.Set(3, 4, o.C.At(3, 4)*(1+1e-10))
			if got := v.Check(o.C, limit); got.OK() {
				t.Errorf("%s α=%g β=%g: an error of 1e-10 passes: %+v", op, c.Alpha, c.Beta, got)
			}
		}
	}
}

// TestProbesAgreeWithElements checks the reference of the probes, which large
// products use, on a product small enough to be compared whole.
func TestProbesAgreeWithElements(t *testing.T) {
	const n = 100
	o, right := rightProduct[float64](n)
	v := newFloatVerifier(product(o.A, o.B), 1)
	limit := gemm.Classical.Random(gemm.Cube(n), nil, gemm.TypeOf[float64]().UnitRoundoff)
	for _, width := range []int{16, 64, n} {
		for _, kind := range []gemm.BoundKind{gemm.Componentwise, gemm.Normwise} {
			p := v.projection(width, kind == gemm.Componentwise)
			if r, _ := v.probe(right, p, Limit{Kind: kind}); !(r <= limit) {
				t.Errorf("width %d, %s: residual %g of a right result, limit %g", width, kind, r, limit)
			}
			wrong := clone(right)
			wrong.Set(70, 30, wrong.At(70, 30)*(1+1e-9))
			if r, row := v.probe(wrong, p, Limit{Kind: kind}); r <= limit || row != 70 {
				t.Errorf("width %d, %s: an error of 1e-9 in row 70 gives residual %g in row %d", width, kind, r, row)
			}
		}
	}
}

func TestVerifierRefusesInfiniteOperands(t *testing.T) {
	a, b := gemm.NewMatrix[float64](3, 3), gemm.NewMatrix[float64](3, 3)
	for _, bad := range []float64{math.Inf(1), math.NaN()} {
		a.Set(1, 1, bad)
		v := New(product(a, b), 1)
		if got := v.Check(b, Limit{gemm.Componentwise, 1}); v.Finite() || got.OK() || got.Reason == "" {
			t.Errorf("operands with %v: finite %v, %+v, want not ok with a reason", bad, v.Finite(), got)
		}
	}
}

func TestZeroProduct(t *testing.T) {
	c := gemm.NewMatrix[float32](4, 5)
	v := New(product(gemm.NewMatrix[float32](4, 0), gemm.NewMatrix[float32](0, 5)), 1)
	for x, ok := range map[float32]bool{0: true, 1e-30: false} {
		c.Set(0, 0, x)
		if got := v.Check(c, Limit{gemm.Componentwise, 0}); got.OK() != ok {
			t.Errorf("%v in place of 0: %+v, want ok %t", x, got, ok)
		}
	}
}

// TestLongEmptyProducts checks that products without elements are verified at once, whatever their
// other dimensions are: loops over these, or memory for them, would have no end.
func TestLongEmptyProducts(t *testing.T) {
	t.Run("f32", longEmptyProducts[float32])
	t.Run("f64", longEmptyProducts[float64])
	t.Run("gf256", longEmptyProducts[gf256.Elem])
}

func longEmptyProducts[T gemm.Element](t *testing.T) {
	const long = math.MaxInt >> 8
	ops := []string{"nn", "tt"}
	if gemm.TypeOf[T]().Name == "gf256" {
		ops = ops[:1]
	}
	for _, s := range [][3]int{{long, 0, 0}, {0, long, 0}, {0, 0, long}} {
		for _, op := range ops {
			o := Draw[T](layout(s[0], s[1], s[2], op, 1, 0, 0), 1, nil)
			Poison(o.C)
			if got := New(o.Operation, 1).Check(o.C, Limit{Kind: gemm.Componentwise}); !got.OK() || got.Vacuous {
				t.Errorf("%v %s: %+v, want ok", s, op, got)
			}
		}
	}
}

func TestVerdictFailsOnNaN(t *testing.T) {
	if (Verdict{Limit: Limit{Bound: 1}, Residual: math.NaN()}).OK() {
		t.Error("a residual of NaN is ok")
	}
	if (Verdict{Limit: Limit{Bound: math.NaN()}, Residual: 0}).OK() {
		t.Error("a bound of NaN is ok")
	}
}

// TestReferenceIsDeterministic compares references and verdicts on one and on four processors bit by bit.
func TestReferenceIsDeterministic(t *testing.T) {
	t.Run("f32", deterministicReference[float32])
	t.Run("f64", deterministicReference[float64])
}

func deterministicReference[T gemm.Float](t *testing.T) {
	c := layout(301, 259, 243, "nt", 1, -0.5, 0)
	o := Draw[T](c, 5, nil)
	bad := gemm.NewMatrix[T](c.M, c.N)
	bad.Set(299, 7, T(math.NaN()))
	bad.Set(123, 45, T(math.NaN()))

	var verifiers []*floatVerifier[T]
	var verdicts [][]string
	for _, processors := range []int{1, 4} {
		before := runtime.GOMAXPROCS(processors)
		defer runtime.GOMAXPROCS(before)
		v := newFloatVerifier(o.Operation, 1)
		v.projection(32, true)
		verifiers = append(verifiers, v)
		verdicts = append(verdicts, []string{
			fmt.Sprint(v.Check(o.C, Limit{gemm.Componentwise, 1e-3})),
			fmt.Sprint(v.Check(bad, Limit{gemm.Normwise, 1e-3})),
		})
	}
	one, four := verifiers[0], verifiers[1]
	if one.whole {
		t.Fatal("all elements are compared: the premise is gone")
	}
	if !slices.Equal(one.elements, four.elements) {
		t.Error("elements differ")
	}
	for width, p := range one.blocks {
		if q := four.blocks[width]; !slices.Equal(p.hi, q.hi) || !slices.Equal(p.lo, q.lo) || !slices.Equal(p.abs, q.abs) {
			t.Errorf("projections of width %d differ", width)
		}
	}
	if !slices.Equal(verdicts[0], verdicts[1]) {
		t.Errorf("verdicts differ: %q", verdicts)
	}
}

func TestLargestIsTheFirst(t *testing.T) {
	nan := math.NaN()
	for name, test := range map[string]struct {
		at   map[int]float64 // what is not 0
		want float64
		i    int
	}{
		"nothing":           {nil, 0, 0},
		"one":               {map[int]float64{7: 2}, 2, 7},
		"equals":            {map[int]float64{990: 2, 40: 2, 500: 2}, 2, 40},
		"NaN after larger":  {map[int]float64{10: 3, 700: nan, 800: nan}, nan, 700},
		"NaN before larger": {map[int]float64{10: nan, 700: 3}, nan, 10},
		"infinite":          {map[int]float64{10: 3, 700: math.Inf(1)}, math.Inf(1), 700},
	} {
		before := runtime.GOMAXPROCS(4)
		for range 20 { // the order in which parts end varies
			got, i := largest(1000, 1<<16, func(i int) float64 { return test.at[i] })
			if i != test.i || (got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want))) {
				t.Errorf("%s: %g at %d, want %g at %d", name, got, i, test.want, test.i)
			}
		}
		runtime.GOMAXPROCS(before)
	}
	if got, i := largest(0, 1, nil); got != 0 || i != 0 {
		t.Errorf("of none: %g at %d, want 0 at 0", got, i)
	}
}

// TestProbesOfWideBoundsStayCheap checks that probes, whatever the bound, take at most
// maxProbeCost times the terms of the sampled rows, and twice where n is less.
func TestProbesOfWideBoundsStayCheap(t *testing.T) {
	for _, m := range []int{100, 4096, 8192, 100000} {
		for _, bound := range []float64{0, 1e-5, 1.5e-3, 0.1, 10} {
			const n = 8192
			v := &floatVerifier[float32]{a: gemm.Matrix[float64]{Rows: m}, b: gemm.Matrix[float64]{Cols: n}}
			width := v.width(bound, 1)
			if probes*m*n/width > maxProbeCost*sampledRows*n {
				t.Errorf("m = %d, bound %g: probes of width %d cost %d rows", m, bound, width, probes*m/width)
			}
		}
	}
}

// TestWideProbesAreWeak checks a bound that probes of minWidth columns could hold a
// lost element to, where so narrow ones are too dear.
func TestWideProbesAreWeak(t *testing.T) {
	const m, n, k = 40000, 256, 2
	o := Draw[float32](layout(m, n, k, "nn", 1, 0, 0), 7, nil)
	multiplyRows(o.C, o.A, o.B, m)
	v := newFloatVerifier(product(o.A, o.B), 1)
	for bound, weak := range map[float64]bool{1e-6: false, 1e-2: true} {
		got := v.Check(o.C, Limit{gemm.Componentwise, bound})
		if !got.OK() || got.Weak != weak {
			t.Errorf("bound %g: %+v, want ok, weak %t", bound, got, weak)
		}
	}
	if narrow := v.confidence(minWidth) * math.Sqrt(minWidth) * 1e-2; !(narrow < 1) {
		t.Errorf("a lost element is %g of the limit of a narrow probe: the premise is gone", 1/narrow)
	}
	o.C.Set(m/2+1, 3, 0)
	if got := v.Check(o.C, Limit{gemm.Componentwise, 1e-6}); got.OK() {
		t.Errorf("a lost element passes: %+v", got)
	}
}

// TestInfiniteScale checks that nothing is verified if the scale of the error is beyond the range.
func TestInfiniteScale(t *testing.T) {
	a, b := gemm.NewMatrix[float64](1, 3), gemm.NewMatrix[float64](3, 1)
	copy(a.Data, []float64{1e154, -1e154, 5})
	copy(b.Data, []float64{1e154, 1e154, 1})
	c := gemm.NewMatrix[float64](1, 1)
	c.Data[0] = 7 // 5 is right
	if v := New(product(a, b), 1).Check(c, Limit{Kind: gemm.Componentwise, Bound: 1e-15}); v.OK() && !v.Vacuous {
		t.Errorf("%+v", v)
	}
}

// TestFarMagnitudes uses elements whose squares are beyond the range of float64 while the products are
// not. A right result must pass, and a lost element must be found.
func TestFarMagnitudes(t *testing.T) {
	const n = 300 // probed
	for _, test := range []struct{ a, b, alpha float64 }{{1, 0x1p-570, 1}, {0x1p-570, 1, 1}, {0x1p-530, 0x1p570, 1},
		{0x1p-500, 0x1p500, 0x1p-600}} {
		o, right := rightProduct[float64](n)
		for i := range o.A.Data {
			o.A.Data[i] *= test.a
			o.B.Data[i] *= test.b
			right.Data[i] *= test.a * test.b * test.alpha
		}
		op := product(o.A, o.B)
		op.Alpha = test.alpha
		v := New(op, 1)
		for _, limit := range []Limit{{gemm.Componentwise, roundoff.Gamma(n, 0x1p-53)},
			{gemm.Normwise, n * roundoff.Gamma(n, 0x1p-53)}} {
			if got := v.Check(right, limit); !got.OK() || got.Weak {
				t.Errorf("%+v: %+v, want ok", test, got)
			}
			lost := right.At(200, 100)
			right.Set(200, 100, 0)
			if got := v.Check(right, limit); got.OK() {
				t.Errorf("%+v: a lost element passes: %+v", test, got)
			}
			right.Set(200, 100, lost)
		}
	}
}
