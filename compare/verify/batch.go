package verify

import (
	"fmt"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// Batch is a number of operations of one form, and C, which a multiplier writes the results to.
type Batch[T gemm.Element] struct {
	TransA, TransB blas.Transpose
	Alpha, Beta    float64
	A, B, C        gemm.Batch[T]
	C0             gemm.Batch[T] // read only where Beta is not 0
	seed           uint64
}

// DrawBatch returns count operations, each drawn by Draw from its own seed. The matrices are stacked, one below the
// other.
func DrawBatch[T gemm.Element](l Layout, count int, seed uint64) Batch[T] {
	return drawBatch(l, count, seed, Operands[T].draw)
}

// DrawIntegerBatch is DrawBatch for integers from −q to q, as DrawIntegers draws them.
func DrawIntegerBatch[T gemm.Element](l Layout, count int, seed uint64, q int) Batch[T] {
	return drawBatch(l, count, seed, func(o Operands[T], seed uint64) { o.drawIntegers(seed, q) })
}

// drawBatch returns count operations that fill draws.
func drawBatch[T gemm.Element](l Layout, count int, seed uint64, fill func(o Operands[T], seed uint64)) Batch[T] {
	b := allocateBatch[T](l, count)
	b.seed = seed
	parallelFor(count, l.M*l.K+l.K*l.N+l.M*l.N, func(from, to int) {
		for x := from; x < to; x++ {
			fill(b.Nth(x), b.seedOf(x))
		}
	})
	return b
}

// allocateBatch returns count operations on zeros that nothing has accessed.
func allocateBatch[T gemm.Element](l Layout, count int) Batch[T] {
	stored := func(t blas.Transpose, rows, cols, ld int) gemm.Batch[T] {
		if t != blas.NoTrans {
			rows, cols = cols, rows
		}
		all := allocate[T](count*rows, cols, ld)
		return gemm.Batch[T]{Count: count, Step: max(1, rows*ld), Rows: rows, Cols: cols, Stride: ld, Data: all.Data}
	}
	b := Batch[T]{TransA: l.TransA, TransB: l.TransB, Alpha: l.Alpha, Beta: l.Beta,
		A: stored(l.TransA, l.M, l.K, l.LDA), B: stored(l.TransB, l.K, l.N, l.LDB),
		C: stored(blas.NoTrans, l.M, l.N, l.LDC)}
	if l.Beta != 0 {
		b.C0 = stored(blas.NoTrans, l.M, l.N, l.LDC)
	}
	return b
}

// Nth returns operation x, which shares the matrices.
func (b Batch[T]) Nth(x int) Operands[T] {
	o := Operands[T]{C: b.C.Nth(x)}
	o.TransA, o.TransB, o.Alpha, o.Beta = b.TransA, b.TransB, b.Alpha, b.Beta
	o.A, o.B = b.A.Nth(x), b.B.Nth(x)
	if b.Beta != 0 {
		o.C0 = b.C0.Nth(x)
	}
	return o
}

func (b Batch[T]) seedOf(x int) uint64 { return b.seed + uint64(x)<<32 }

// Poison is Operands.Poison for all matrices C.
func (b Batch[T]) Poison() {
	for x := range b.C.Count {
		Poison(b.C.Nth(x))
	}
}

// Restore is Operands.Restore for all matrices C.
func (b Batch[T]) Restore() {
	if b.Beta != 0 {
		copy(b.C.Data, b.C0.Data)
	}
}

// Assures reports whether a Verifier of the first operation assures the limit: the others have the same form.
func (b Batch[T]) Assures(limit Limit) bool { return New(b.Nth(0).Operation, b.seed).Assures(limit) }

// Check compares every matrix C with its operation's result. It returns the verdict on the first wrong one; if all are
// right, the one with the largest residual. Each check computes the references again: all of them together would take
// many times the memory of the operands.
func (b Batch[T]) Check(limit Limit) Verdict {
	verdicts := make([]Verdict, b.C.Count)
	terms := gemm.Shape{M: b.C.Rows, N: b.C.Cols, K: b.A.Rows * b.A.Cols / max(1, b.C.Rows)}.Terms()
	one := func(from, to int) {
		for x := from; x < to; x++ {
			o := b.Nth(x)
			verdicts[x] = New(o.Operation, b.seedOf(x)).Check(o.C, limit)
		}
	}
	if terms > fullTerms { // all processors share each of them
		one(0, b.C.Count)
	} else {
		parallelFor(b.C.Count, int(terms)+1, one)
	}
	worst := verdicts[0]
	for x, v := range verdicts {
		if !v.OK() {
			v.Reason = fmt.Sprintf("product %d of %d: %s", x, b.C.Count, v.Reason)
			return v
		}
		if v.Residual > worst.Residual {
			worst = v
		}
	}
	return worst
}
