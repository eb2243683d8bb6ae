package turn

import (
	"runtime"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/gf256"
	"gemm/half"
)

// operands are the matrices of a product and what verifies it.
type operands[T gemm.Element] struct {
	verify.Operands[T]
	verifier verify.Verifier[T]
}

// Check verifies C.
func (o operands[T]) Check(limit verify.Limit) verify.Verdict { return o.verifier.Check(o.C, limit) }

// operandCache has the operands that consecutive cases of one problem share.
type operandCache[T gemm.Element] struct {
	problem   record.Problem
	workers   int // workers that touched the operands at the same time; 1 if none did
	drawn     operands[T]
	magnitude int         // of the integers; 0: there are none yet
	integers  operands[T] // of the exact check
	chain     *chain[T]   // the last iterated product
	batch     verify.Batch[T]
}

// operandCaches has the operands of the last case, under its element type. The others are empty.
type operandCaches struct {
	f64   operandCache[float64]
	f32   operandCache[float32]
	f16   operandCache[half.F16]
	bf16  operandCache[half.BF16]
	gf256 operandCache[gf256.Elem]
}

// draw returns the operands of the case: the cached ones, if they are of the same problem and
// were touched by at least as many workers. Otherwise it draws new ones, which touch puts into memory.
func (s *operandCache[T]) draw(b *Bench, c plan.Case, workers int, touch func(c, a, b gemm.Matrix[T])) operands[T] {
	if s.problem == c.Problem && s.workers >= workers {
		return s.drawn
	}
	s.keepChain(b, c)
	o := operands[T]{Operands: verify.Draw(layout(c), b.Seed, touch)}
	onAllProcessors(func() { o.verifier = verify.New(o.Operation, b.Seed) })
	*s = operandCache[T]{problem: c.Problem, workers: workers, drawn: o, chain: s.chain}
	runtime.GC()
	return o
}

// keepChain frees the last operands, maybe of another type, but not the iterated product of the problem.
func (s *operandCache[T]) keepChain(b *Bench, c plan.Case) {
	var kept *chain[T]
	if s.problem == c.Problem {
		kept = s.chain
	}
	b.operands = operandCaches{}
	*s = operandCache[T]{problem: c.Problem, chain: kept}
}

// drawChain returns the iterated product of the case: the cached one if it is the same, otherwise a new one.
func (s *operandCache[T]) drawChain(b *Bench, c plan.Case) *chain[T] {
	if s.problem != c.Problem {
		s.keepChain(b, c)
	}
	if s.chain == nil || s.chain.N != c.Steps() {
		s.chain = nil // frees it before another is drawn
		s.chain = newChain(verify.DrawChain[T](c.N, c.LDA, c.Steps(), b.Seed))
		onAllProcessors(func() { s.chain.verifier = verify.NewChain(s.chain.Chain, b.Seed) })
		s.chain.check = s.chain.verifier.Check
		runtime.GC()
	}
	return s.chain
}

// drawBatch returns the batch of the case: the cached one if it is of the same problem, otherwise a new one.
func (s *operandCache[T]) drawBatch(b *Bench, c plan.Case) verify.Batch[T] {
	if s.problem != c.Problem || s.batch.C.Count == 0 {
		b.operands = operandCaches{}
		onAllProcessors(func() {
			*s = operandCache[T]{problem: c.Problem, batch: verify.DrawBatch[T](layout(c), c.Batch, b.Seed)}
		})
		runtime.GC()
	}
	return s.batch
}

// drawIntegers returns integers up to q for the exact check of the case. The cases of a turn share
// the integers of the least magnitude; otherwise each would draw its own.
func (s *operandCache[T]) drawIntegers(c plan.Case, seed uint64, q int) operands[T] {
	if was := s.magnitude; was == q || c.Turn != "" && 0 < was && was < q {
		return s.integers
	}
	s.integers = operands[T]{} // frees them before it draws new ones
	onAllProcessors(func() {
		o := verify.DrawIntegers[T](layout(c), seed, q)
		s.magnitude, s.integers = q, operands[T]{o, verify.New(o.Operation, seed)}
	})
	return s.integers
}

// layout returns the operation and the storage for which the operands are drawn.
func layout(c plan.Case) verify.Layout {
	tA, tB := c.Transposes()
	return verify.Layout{
		Shape: c.Shape, TransA: tA, TransB: tB, Alpha: c.Alpha, Beta: c.Beta,
		LDA: c.LDA, LDB: c.LDB, LDC: c.LDC,
	}
}
