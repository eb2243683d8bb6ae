package serial

import (
	"context"

	"gemm"
)

// divide halves the largest of m, n and k until all are at most the cutoff. A leaf variant computes what remains:
//
//	m: (C₁; C₂) = (A₁·B; A₂·B)      n: (C₁ C₂) = (A·B₁ A·B₂)      k: C = A₁·B₁ + A₂·B₂
//
// If k is halved, both halves add to the same C, so no workspace is needed. The blocks of each
// level are half as large as the blocks of the level above. So for every cache, whatever its size, the
// blocks of some level fit. With Q(m, n, k) = mk + kn + 2mn if the operands fit, and otherwise the
// sum over the two halves, the traffic is Θ(mk + kn + mn + mnk/√Z). Up to a constant, no algorithm
// has less (Frigo, Leiserson, Prokop and Ramachandran, Cache-Oblivious Algorithms, FOCS 1999,
// theorem 1; Hong and Kung, STOC 1981). blocked reaches this for one cache, with the right block.
//
// divide executes the same 2mnk operations. A small cutoff costs many calls: with 1, there is a
// call for each multiplication.
type divide[T gemm.Float] struct {
	cutoff int
	leaf   accumulator[T]
}

func (d divide[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	m, n, k := c.Rows, c.Cols, a.Cols
	if max(m, n, k) <= d.cutoff {
		return d.leaf.accumulate(ctx, c, a, b)
	}
	var first, second [3]gemm.Matrix[T] // C, A, B
	switch max(m, n, k) {
	case m:
		h := m / 2
		first = [3]gemm.Matrix[T]{c.Slice(0, 0, h, n), a.Slice(0, 0, h, k), b}
		second = [3]gemm.Matrix[T]{c.Slice(h, 0, m-h, n), a.Slice(h, 0, m-h, k), b}
	case n:
		h := n / 2
		first = [3]gemm.Matrix[T]{c.Slice(0, 0, m, h), a, b.Slice(0, 0, k, h)}
		second = [3]gemm.Matrix[T]{c.Slice(0, h, m, n-h), a, b.Slice(0, h, k, n-h)}
	default:
		h := k / 2
		first = [3]gemm.Matrix[T]{c, a.Slice(0, 0, m, h), b.Slice(0, 0, h, n)}
		second = [3]gemm.Matrix[T]{c, a.Slice(0, h, m, k-h), b.Slice(h, 0, k-h, n)}
	}
	if err := d.accumulate(ctx, first[0], first[1], first[2]); err != nil {
		return err
	}
	return d.accumulate(ctx, second[0], second[1], second[2])
}

func newDivide[T gemm.Float](p gemm.Params) (gemm.Multiplier[T], error) {
	leaf, err := newLeaf[T](p.Text("leaf"))
	if err != nil {
		return nil, err
	}
	return product[T]{divide[T]{p.Int("cutoff"), leaf}}, nil
}

// divideModel predicts divide's costs: the sums over all its leaves.
func divideModel(shape gemm.Shape, p gemm.Params) gemm.Model {
	s, cutoff, leaf := sizeOf(shape), p.Int("cutoff"), leafModel(p.Text("leaf"))
	// sum adds up f over the leaves of an m×n×k product; stop ends the recursion
	// early. Halving yields at most eight shapes a level, which known remembers.
	sum := func(f func(size, gemm.Model) float64, stop func(size) bool) float64 {
		known := map[gemm.Shape]float64{}
		var visit func(m, n, k int) float64
		visit = func(m, n, k int) float64 {
			at := gemm.Shape{M: m, N: n, K: k}
			s := sizeOf(at)
			if stop(s) {
				return s.once()
			}
			if max(m, n, k) <= cutoff {
				return f(s, leaf(at))
			}
			if x, ok := known[at]; ok {
				return x
			}
			switch max(m, n, k) {
			case m:
				known[at] = visit(m/2, n, k) + visit(m-m/2, n, k)
			case n:
				known[at] = visit(m, n/2, k) + visit(m, n-n/2, k)
			default:
				known[at] = visit(m, n, k/2) + visit(m, n, k-k/2)
			}
			return known[at]
		}
		return visit(shape.M, shape.N, shape.K)
	}
	var accesses float64
	if s.terms > 0 {
		// A leaf adds to C: it does not make it zero.
		accesses = sum(
			func(s size, m gemm.Model) float64 { return m.Accesses - s.c },
			func(size) bool { return false })
	}
	model := s.model(accesses, func(cache, line float64) float64 {
		return sum(
			func(_ size, m gemm.Model) float64 { return m.Traffic(cache, line) },
			func(s size) bool { return s.a+s.b+s.c <= cache })
	})
	largest := gemm.Shape{M: min(shape.M, cutoff), N: min(shape.N, cutoff), K: min(shape.K, cutoff)}
	model.Workspace = leaf(largest).Workspace
	return model
}

func divideVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/divide",
		Parent: "serial/blocked",
		Leaf:   "serial/hinted",
		Doc:    "divide and conquer: the largest dimension is halved down to the cutoff, which gives blocks for every cache",
		Params: []gemm.Param{
			cutoffParam(128, "size of the dimensions that are not halved any more"),
			leafParam("serial/hinted"),
		},
		Model: divideModel,
		Ran: func(s gemm.Shape, p gemm.Params) string {
			if max(s.M, s.N, s.K) > p.Int("cutoff") {
				return ""
			}
			return p.Text("leaf")
		},
		Bound: gemm.Classical,
		F32:   newDivide[float32],
		F64:   newDivide[float64],
	}
}
