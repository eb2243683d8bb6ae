package block

import (
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

// added returns the sum of the terms of a rows×cols operand.
func added[T kernel.Float](all []Term[T], rows, cols int) View[T] {
	sum := View[T]{make([]T, rows*cols), cols, 1}
	for at := range sum.Data {
		for _, x := range all {
			sum.Data[at] += x.Sign * x.Data[at/cols*x.Stride+at%cols]
		}
	}
	return sum
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
			a, b := terms[T](counts[0], m, k), terms[T](counts[1], k, n)
			product := naive(m, n, k, added(a, m, k), added(b, k, n))
			for _, fresh := range []bool{false, true} {
				c, want := terms[T](counts[2], m, n), terms[T](counts[2], m, n)
				if i%2 == 1 { // the first sign of C may be −1
					c[0].Sign, want[0].Sign = -1, -1
				}
				for at, sum := range product {
					i, j := at/n, at%n
					for at, w := range want {
						if at == 0 && fresh {
							c[0].Data[i*c[0].Stride+j] = T(math.NaN())
							w.Data[i*w.Stride+j] = 0
						}
						w.Data[i*w.Stride+j] += w.Sign * sum
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
