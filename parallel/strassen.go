package parallel

import (
	"gemm"
	"gemm/parallel/pool"
	"gemm/serial"
)

// strassenVariant is serial/strassen on a pool of workers. The seven products of a level are
// computed one after the other, and the workers divide each of them like parallel/packed. The
// additions that are folded into a product are divided with it, the others by matrix rows. Products
// side by side would each need a workspace of their own.
func strassenVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/strassen",
		Parent: "parallel/packed",
		Doc:    "serial/strassen: the workers divide each of its products and additions",
		Can:    teamCan,
		Params: append(teamParams(), serial.StrassenCutoff()),
		Model: func(s gemm.Shape, p gemm.Params) gemm.Model {
			return serial.StrassenModel(s, p.Int("cutoff"), pool.New(p.Int("threads")))
		},
		Ran: func(s gemm.Shape, p gemm.Params) string {
			return serial.Undivided(s, p, "parallel/packed")
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
	return strassen[T]{serial.NewStrassen[T](t.pool, p.Int("cutoff")), t}, nil
}
