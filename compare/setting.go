package compare

import (
	"runtime"

	"gemm"
	"gemm/compare/verify"
	"gemm/gf256"
)

// operands are the matrices of a product and what verifies it.
type operands[T gemm.Element] struct {
	verify.Operands[T]
	verifier verify.Verifier[T]
}

// setting holds the operands that consecutive cases of one problem share.
type setting[T gemm.Element] struct {
	problem   Problem
	hands     int // workers that touched the operands at the same time; 1 if none did
	drawn     operands[T]
	magnitude int         // of the integers; 0: there are none yet
	integers  operands[T] // of the exact check
}

// settings holds the setting of the last case, under its element type. The others are empty.
type settings struct {
	f64   setting[float64]
	f32   setting[float32]
	gf256 setting[gf256.Elem]
}

// draw returns the operands of the case: the setting's, if they are of the same problem and
// were touched by at least as many hands. Otherwise it draws new ones, which touch puts into memory.
func (s *setting[T]) draw(d *Driver, c Case, hands int, touch func(c, a, b gemm.Matrix[T])) operands[T] {
	if s.problem == c.problem() && s.hands >= hands {
		return s.drawn
	}
	d.settings = settings{} // frees the last operands, maybe of another type, before it draws new ones
	o := operands[T]{Operands: verify.Draw(c.layout(), d.Seed, touch)}
	everywhere(func() { o.verifier = verify.New(o.Operation, d.Seed) })
	*s = setting[T]{problem: c.problem(), hands: hands, drawn: o}
	runtime.GC()
	return o
}

// drawIntegers draws integers up to q for the exact check of the case. The cases of a turn share
// the integers of the least magnitude; otherwise each would draw its own.
func (s *setting[T]) drawIntegers(c Case, seed uint64, q int) {
	if was := s.magnitude; was == q || c.Turn != "" && 0 < was && was < q {
		return
	}
	s.integers = operands[T]{} // frees them before it draws new ones
	everywhere(func() {
		o := verify.DrawIntegers[T](c.layout(), seed, q)
		s.magnitude, s.integers = q, operands[T]{o, verify.New(o.Operation, seed)}
	})
}
