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
			return serial.StrassenModel(s, cutoffOf(p), pool.New(p.Int("threads")))
		},
		Ran: func(s gemm.Shape, p gemm.Params) string {
			return serial.Undivided(s, cutoffOf(p), "parallel/packed")
		},
		Bound: serial.StrassenBound(cutoffOf),
		F32:   onTeam("parallel/strassen", newStrassen[float32]),
		F64:   onTeam("parallel/strassen", newStrassen[float64]),
	}
}

// cutoffOf returns the cutoff that is used for the parameters.
func cutoffOf(p gemm.Params) int { return serial.SharedCutoff(p, p.Int("threads")) }

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
	cutoff := cutoffOf(p)
	return strassen[T]{serial.NewStrassen[T](t.pool, cutoff), t, cutoff}, nil
}
