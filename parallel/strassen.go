package parallel

import (
	"gemm"
	"gemm/pool"
	"gemm/serial"
)

// strassenVariant is serial/strassen on a pool of workers. The seven products of a level are computed one after the
// other, and the workers divide each of them like parallel/packed. The additions that are folded into a product are
// divided with it, the others by matrix rows. Products at the same time would need a workspace each.
func strassenVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/strassen",
		Parent: "parallel/packed",
		Class:  gemm.Fast,
		Leaf:   "parallel/packed",
		Doc:    "serial/strassen: the workers divide each of its products and additions",
		Can:    teamCan,
		Params: append(teamParams(), serial.StrassenCutoff()),
		Model: func(s gemm.Shape, p gemm.Params) gemm.Model {
			return serial.StrassenModel(s, withCutoff(p).Int("cutoff"), pool.New(p.Int("threads")))
		},
		Ran: func(s gemm.Shape, p gemm.Params) string {
			return serial.Undivided(s, withCutoff(p), "parallel/packed")
		},
		Bound: strassenBound(),
		F32:   onTeam("parallel/strassen", newStrassen[float32]),
		F64:   onTeam("parallel/strassen", newStrassen[float64]),
	}
}

// withCutoff returns the parameters with the cutoff that is used for their number of workers.
func withCutoff(p gemm.Params) gemm.Params { return serial.SharedCutoff(p, p.Int("threads")) }

// strassenBound is serial.StrassenBound with the cutoff that is used.
func strassenBound() gemm.Bound {
	b := serial.StrassenBound()
	return gemm.Bound{
		Kind:    b.Kind,
		Worst:   func(s gemm.Shape, p gemm.Params, u float64) float64 { return b.Worst(s, withCutoff(p), u) },
		Random:  func(s gemm.Shape, p gemm.Params, u float64) float64 { return b.Random(s, withCutoff(p), u) },
		Largest: func(s gemm.Shape, p gemm.Params) float64 { return b.Largest(s, withCutoff(p)) },
	}
}

// strassen is serial/strassen on a team.
type strassen[T gemm.Float] struct {
	serial.Twofold[T]
	*team[T]
	cutoff int
}

// Resolved implements gemm.Explainer.
func (x strassen[T]) Resolved() gemm.Params {
	out := x.team.Resolved()
	out["cutoff"] = x.cutoff
	return out
}

func newStrassen[T gemm.Float](t *team[T], p gemm.Params) (gemm.Multiplier[T], error) {
	cutoff := withCutoff(p).Int("cutoff")
	return strassen[T]{serial.NewStrassen[T](t.pool, cutoff), t, cutoff}, nil
}
