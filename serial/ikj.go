package serial

import (
	"gemm"
	"gemm/gf256"
)

// ikj is naive with its two inner loops exchanged: row i of C is the sum of the rows of B, each times one element of A.
//
//	for i, for l: C[i][:] += A[i][l]·B[l][:]
//
// Every sum is still formed in the same order. But the innermost loop now runs along rows. So all
// elements of a cache line are used at once, and the hardware prefetches the next line. The element
// of A stays in a register. And the steps of the loop add to different sums, so they do not wait
// for one another. Three accesses per step are left, 3mnk + mk in all.
//
// B is read m times unless all of it stays in cache: m·kn elements, L times less than naive if its
// columns do not fit. A row of C stays in cache while 2n ≤ Z.
func ikj[T gemm.Float](c, a, b gemm.Matrix[T]) {
	for i := range c.Rows {
		for l, x := range a.Row(i) {
			AddScaled(c.Row(i), x, b.Row(l))
		}
	}
}

// AddScaled adds x·b to c. b is at least as long as c. The loop has two elements per step, so that
// its speed does not depend on its address: seven instructions that straddle two lines of the
// instruction cache would take two cycles in place of one.
func AddScaled[T gemm.Float](c []T, x T, b []T) {
	b = b[:len(c)]
	j := 0
	for ; j < len(c)-1; j += 2 {
		c[j] += x * b[j]
		c[j+1] += x * b[j+1]
	}
	if j < len(c) {
		c[j] += x * b[j]
	}
}

// ikjField is ikj in GF(2⁸). The innermost loop multiplies by one element, whose
// products are one row of a table: a look-up a step in place of three.
func ikjField(c, a, b gemm.Matrix[gf256.Elem]) {
	for i := range c.Rows {
		for l, x := range a.Row(i) {
			gf256.AddScaled(c.Row(i), x, b.Row(l))
		}
	}
}

// rowWalk is the traffic of loops that add the given number of rows of B at a time to a row of C.
func (s size) rowWalk(rows float64) func(cache, line float64) float64 {
	return func(cache, line float64) float64 {
		step := (1+rows)*s.n + line // a row of C, rows of B, a line of A
		return pick(step <= cache, s.a, s.a*min(line, s.k)) +
			pick(s.b+s.n+line <= cache, s.b, s.m*s.b) +
			2*s.c*pick(step <= cache, 1, max(1, s.k/rows))
	}
}

func ikjVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/ikj",
		Parent: "serial/naive",
		Doc:    "naive with the loops in the order ikj: all accesses are contiguous",
		Model: func(shape gemm.Shape, _ gemm.Params) gemm.Model {
			s := sizeOf(shape)
			return s.model(3*s.terms+s.a, s.rowWalk(1))
		},
		Bound: gemm.Classical,
		F32:   inOrder("ikj", ikj[float32]),
		F64:   inOrder("ikj", ikj[float64]),
		GF256: inOrder("ikj", ikjField),
	}
}
