package cuda_test

import (
	"maps"
	"math"
	"testing"

	"gemm"
	"gemm/cuda"
	"gemm/gemmtest"
	"gemm/mpi/plan"
)

// TestSpread carries out products on up to 8 GPUs as they are planned, with matrices in place of memory, of operands in
// each layout. Panels that a GPU has not copied are NaN. Each element of C is computed once, and the bytes are as
// predicted.
func TestSpread(t *testing.T) {
	for _, devices := range []int{1, 2, 3, 4, 6, 8} {
		for _, s := range []gemm.Shape{{M: 16, N: 16, K: 8}, {M: 37, N: 41, K: 5}, {M: 90, N: 13, K: 7}, {M: 1, N: 3, K: 2},
			{M: 2, N: 50, K: 0}} {
			for i := range 4 {
				op := cuda.Operation{TransA: i&1 != 0, TransB: i&2 != 0, Alpha: 1}
				checkSpread(t, devices, cuda.NewSpread(devices, s, op, 8))
			}
		}
	}
}

func checkSpread(t *testing.T, devices int, x cuda.Spread) {
	s := x.Shape
	a, b := gemmtest.Integers[float64](s.M, s.K, 0, 1), gemmtest.Integers[float64](s.K, s.N, 0, 2)
	c, times := gemm.NewMatrix[float64](s.M, s.N), make([]int, s.M*s.N)
	rows, cols := make([]int, devices), make([]int, devices) // that a GPU owns
	owns := make([]map[[2]int]bool, devices)
	for gpu, share := range x.Shares {
		rows[gpu], cols[gpu] = share.Own.Rows.Len(), share.Panels[share.Own.Panel].Len()
		owns[gpu] = map[[2]int]bool{}
		for i := share.Own.Rows.Lo; i < share.Own.Rows.Hi; i++ {
			owns[gpu][[2]int{0, i}] = true
		}
		for j := share.Panels[share.Own.Panel].Lo; j < share.Panels[share.Own.Panel].Hi; j++ {
			owns[gpu][[2]int{1, j}] = true
		}
	}
	if sum(rows) != s.M || sum(cols) != s.N {
		t.Errorf("%d GPUs, %v: they own %v rows of A and %v columns of B", devices, s, rows, cols)
	}
	for gpu, share := range x.Shares {
		has := maps.Clone(owns[gpu]) // rows of A and columns of B
		for _, step := range share.Steps {
			panel := share.Panels[step.Panel]
			side, copied := 0, step.Rows
			if step.OfB {
				side, copied = 1, panel
			}
			for i := copied.Lo; i < copied.Hi && step.From != gpu; i++ {
				if !owns[step.From][[2]int{side, i}] {
					t.Fatalf("%d GPUs, %v: GPU %d does not own %d of %+v", devices, s, step.From, i, step)
				}
				has[[2]int{side, i}] = true
			}
			multiply(c, a, b, step.Rows, panel, has, times)
		}
	}
	for i, n := range times {
		if n != 1 {
			t.Fatalf("%d GPUs, %v: element %d is computed %d times", devices, s, i, n)
		}
	}
	gemmtest.Must(t, gemmtest.Exactly(c, a, b))
	checkTraffic(t, x)
}

func sum(all []int) (n int) {
	for _, x := range all {
		n += x
	}
	return n
}

// multiply computes a part of C of the rows and columns that a GPU has, and counts its elements.
func multiply(c, a, b gemm.Matrix[float64], rows, cols plan.Span, has map[[2]int]bool, times []int) {
	for i := rows.Lo; i < rows.Hi; i++ {
		for j := cols.Lo; j < cols.Hi; j++ {
			var terms float64
			if !has[[2]int{0, i}] || !has[[2]int{1, j}] {
				terms = math.NaN()
			}
			for k := range a.Cols {
				terms += a.At(i, k) * b.At(k, j)
			}
			c.Set(i, j, terms)
			times[i*c.Cols+j]++
		}
	}
}

// checkTraffic compares the predicted bytes with the ones of what each GPU needs and does not own, in one island and in
// islands of one.
func checkTraffic(t *testing.T, x cuda.Spread) {
	t.Helper()
	together, apart := make([]int, len(x.Shares)), plan.UpTo(len(x.Shares))
	for gpu, share := range x.Shares {
		var want int64
		copied := func(rows, cols int) {
			if rows > 0 && cols > 0 {
				want += int64(rows) * int64(x.LD(cols)) * 8
			}
		}
		_, column, _ := x.At(gpu)
		for i, p := range plan.Spans(share.Rows.Len(), x.Q) {
			switch {
			case i == column:
			case x.Op.TransA:
				copied(x.K, p.Len())
			default:
				copied(p.Len(), x.K)
			}
		}
		for i, p := range share.Panels {
			switch {
			case i == share.Own.Panel:
			case x.Op.TransB:
				copied(p.Len(), x.K)
			default:
				copied(x.K, p.Len())
			}
		}
		inside, between := x.Traffic(together)[gpu], x.Traffic(apart)[gpu]
		if inside.Inside.Recv != want || inside.Between.Recv != 0 || between.Between.Recv != want ||
			between.Inside.Recv != 0 {
			t.Errorf("%d GPUs, %v, GPU %d: %+v, %+v, want %d bytes", len(x.Shares), x.Shape, gpu, inside, between, want)
		}
	}
}
