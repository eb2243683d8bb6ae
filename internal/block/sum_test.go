package block

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/kernel"
)

// terms returns rows×cols matrices of small integers with NaN between their rows, and
// alternating signs.
func terms[T kernel.Float](count, rows, cols int) []Term[T] {
	var all []Term[T]
	for i := range count {
		x := matrix[T](rows, cols, cols+2+i, false)
		for at, old := range x.Data {
			if old == old {
				x.Data[at] = old + T(i*(at%3))
			}
		}
		all = append(all, Term[T]{x.Data, x.Row, T(1 - 2*(i%2))})
	}
	return all
}

func testSum[T kernel.Float](t *testing.T, blocking Blocking, loop Loop) {
	e := New(kernel.Best[T](), blocking, loop)
	shapes := [][3]int{{1, 1, 1}, {2, 4, 8}, {3, 5, 7}, {4, 9, 13}, {17, 23, 9}, {31, 16, 33}, {50, 110, 30}, {9, 150, 20},
		{70, 20, 20}}
	if blocking.NC > 1 {
		shapes = append(shapes, [3]int{9, manyTiles*e.kernel.NR + 1, 6}) // A is packed
	}
	for i, shape := range shapes {
		m, n, k := shape[0], shape[1], shape[2]
		for _, counts := range [][3]int{{1, 1, 1}, {2, 1, 2}, {1, 2, 1}, {2, 2, 2}, {4, 3, 4}} {
			for _, fresh := range []bool{false, true} {
				a, b := terms[T](counts[0], m, k), terms[T](counts[1], k, n)
				c, want := terms[T](counts[2], m, n), terms[T](counts[2], m, n)
				if i%2 == 1 { // the first sign of C may be −1
					c[0].Sign, want[0].Sign = -1, -1
				}
				for i := range m {
					for j := range n {
						var product T
						for l := range k {
							var x, y T
							for _, a := range a {
								x += a.Sign * a.Data[i*a.Stride+l]
							}
							for _, b := range b {
								y += b.Sign * b.Data[l*b.Stride+j]
							}
							product += x * y
						}
						for at, w := range want {
							if at == 0 && fresh {
								c[0].Data[i*c[0].Stride+j] = T(math.NaN())
								w.Data[i*w.Stride+j] = 0
							}
							w.Data[i*w.Stride+j] += w.Sign * product
						}
					}
				}
				gemmtest.Must(t, e.Sum(t.Context(), m, n, k, a, b, c, fresh))
				for at := range c {
					for i, x := range c[at].Data {
						w := want[at].Data[i]
						if !(x == w) && !(math.IsNaN(float64(x)) && math.IsNaN(float64(w))) {
							t.Fatalf("%v of %v terms, fresh %v: element %d of target %d is %v, want %v", shape, counts, fresh, i, at, x, w)
						}
					}
				}
			}
		}
	}
}

func TestSum(t *testing.T) {
	for name, loop := range loops() {
		for _, blocking := range []Blocking{{1, 1, 1, 0, 1}, {2, 3, 4, 0, 1}, {5, 7, 9, 0, 1}, {40, 7, 60, 0, 1},
			{64, 64, 64, 0, 1}} {
			t.Run(fmt.Sprintf("%s/%v/f32", name, blocking), func(t *testing.T) { testSum[float32](t, blocking, loop) })
			t.Run(fmt.Sprintf("%s/%v/f64", name, blocking), func(t *testing.T) { testSum[float64](t, blocking, loop) })
		}
	}
}

func TestSumWorkspace(t *testing.T) {
	for _, shape := range [][3]int{{1, 1, 1}, {5, 6, 7}, {40, 50, 60}, {200, 3, 100}, {100, 200, 3}} {
		m, n, k := shape[0], shape[1], shape[2]
		e := New(kernel.Best[float64](), Blocking{32, 24, 40, 0, 50000}, goroutines)
		if err := e.Sum(t.Context(), m, n, k, terms[float64](2, m, k), terms[float64](2, k, n), terms[float64](2, m, n),
			false); err != nil {
			t.Fatal(err)
		}
		own := e.take()
		held := cap(own.a) + cap(own.product)
		for _, w := range own.workers {
			held += cap(w.b)
		}
		if want := e.SumWorkspace(m, n, k); held != want {
			t.Errorf("%v: holds %d elements, SumWorkspace says %d", shape, held, want)
		}
	}
}

func TestSumAllocations(t *testing.T) {
	e := New(kernel.Best[float64](), Blocking{16, 16, 16, 0, 1}, Serial)
	const n = 40
	a, b, c := terms[float64](2, n, n), terms[float64](3, n, n), terms[float64](2, n, n)
	ctx := t.Context()
	if allocs := testing.AllocsPerRun(10, func() { _ = e.Sum(ctx, n, n, n, a, b, c, false) }); allocs != 0 {
		t.Errorf("%v allocations a product, want none", allocs)
	}
}

func TestSumCancelled(t *testing.T) {
	e := New(kernel.Best[float64](), Blocking{8, 8, 8, 0, 1}, Serial)
	const n = 40
	a, b, c := terms[float64](2, n, n), terms[float64](2, n, n), terms[float64](2, n, n)
	sum := func(left int) (looks int, err error) {
		ctx := &countdown{t.Context(), left}
		err = e.Sum(ctx, n, n, n, a, b, c, false)
		return left - ctx.left, err
	}
	looks, err := sum(1 << 30)
	if err != nil || looks < n/8 {
		t.Fatalf("%d looks, %v", looks, err)
	}
	for left := range looks {
		more, err := sum(left)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d looks: got %v", left, err)
		}
		if more > left+10 {
			t.Errorf("cancelled after %d looks: went on for %d more", left, more-left)
		}
	}
}
