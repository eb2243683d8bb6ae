package serial

import (
	"math"

	"gemm"
)

// size holds the numbers that the models are made of.
type size struct {
	m, n, k float64
	a, b, c float64 // elements of the operands
	terms   float64 // mnk
}

func sizeOf(shape gemm.Shape) size {
	s := size{m: float64(shape.M), n: float64(shape.N), k: float64(shape.K)}
	s.a, s.b, s.c = s.m*s.k, s.k*s.n, s.m*s.n
	s.terms = s.c * s.k
	return s
}

// once is the traffic of operands that are each moved once.
func (s size) once() float64 { return s.a + s.b + 2*s.c }

// model returns the Model with the given accesses in the loops, after C was made
// zero, and no workspace. traffic is not asked about products without elements.
func (s size) model(accesses float64, traffic func(cache, line float64) float64) gemm.Model {
	return gemm.Model{
		Flops:    2 * s.terms,
		Accesses: s.c + accesses,
		Traffic: func(cache, line float64) float64 {
			switch {
			case s.terms == 0:
				return 2 * s.c
			case s.a+s.b+s.c <= cache:
				return s.once()
			default:
				return traffic(cache, line)
			}
		},
	}
}

// pick returns x where the condition holds and y otherwise.
func pick(condition bool, x, y float64) float64 {
	if condition {
		return x
	}
	return y
}

// ceil returns the number of pieces of the given size in x.
func ceil(x float64, piece int) float64 { return math.Ceil(x / float64(piece)) }
