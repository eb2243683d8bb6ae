package parallel

import (
	"gemm"
	"gemm/serial"
)

// strassenVariant is serial/strassen on a pool of workers. They share out each of its
// products, one after the other, as they do that of parallel/packed, with the additions
// that are folded into it, and the rows of those that are not. The products themselves
// could be computed side by side, for which each would need a workspace of its own.
func strassenVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/strassen",
		Doc:    "serial/strassen with each of its products and additions shared out to a pool of workers",
		Can:    teamCan,
		Params: append(teamParams(), serial.StrassenCutoff()),
		Model: func(s gemm.Shape, p gemm.Params) gemm.Model {
			return serial.StrassenModel(s, p.Int("cutoff"), NewPool(p.Int("threads")).Loop())
		},
		Bound: serial.StrassenBound(),
		F32:   onTeam("parallel/strassen", newStrassen[float32]),
		F64:   onTeam("parallel/strassen", newStrassen[float64]),
	}
}

// strassen is serial/strassen on a team.
type strassen[T gemm.Float] struct {
	serial.Twofold[T]
	toucher[T]
}

func newStrassen[T gemm.Float](t toucher[T], p gemm.Params) (gemm.Multiplier[T], error) {
	return strassen[T]{serial.NewStrassen[T](t.pool.Loop(), p.Int("cutoff")), t}, nil
}
