package parallel

import (
	"context"
	"maps"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/pool"
	"gemm/serial"
)

// packedVariant is serial/packed on a pool of workers. A task is some rows of a block of columns of C. A free worker
// takes half of an equal part of the tasks that are left; in GF(2⁸) it first takes tasks of its own share.
//
// If the layout of A suits the micro-kernel, each worker packs the blocks of B that it needs, and the
// workers share only the operands. Otherwise they first pack a panel of A together. A product that is
// too small for all workers runs on fewer.
func packedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/packed",
		Parent: "serial/packed",
		Class:  gemm.Tuned,
		Doc:    "serial/packed: the workers divide its blocks",
		Role:   gemm.Production,
		Can:    teamCan | gemm.Gemms | gemm.Batches,
		Params: teamParams(),
		Model: func(s gemm.Shape, p gemm.Params) gemm.Model {
			return serial.PackedModel(s, pool.New(p.Int("threads")))
		},
		Bound: serial.PackedBound(func(p gemm.Params) serial.Loop { return pool.New(p.Int("threads")) }),
		F32:   onTeam("parallel/packed", newPacked[float32]),
		F64:   onTeam("parallel/packed", newPacked[float64]),
		F16:   onTeam("parallel/packed", newPackedHalf[half.F16]),
		BF16:  onTeam("parallel/packed", newPackedHalf[half.BF16]),
		GF256: onTeam("parallel/packed", newPackedField),
	}
}

type packed[T gemm.Float] struct {
	*serial.Batched[T]
	*team[T]
	affinity string
}

// GemmBatch implements gemm.BatchGemmer. The workers of a batch are not the workers of the team, which may be pinned.
func (x packed[T]) GemmBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) error {
	if x.affinity != "none" {
		return gemm.Unavailablef("parallel/packed places no workers of a batch, affinity is %s", x.affinity).
			WithRemedy("set affinity to none")
	}
	return x.Batched.GemmBatch(ctx, tA, tB, alpha, a, b, beta, c)
}

// Resolved implements gemm.Explainer.
func (x packed[T]) Resolved() gemm.Params {
	return union(x.Batched.Resolved(), x.team.Resolved())
}

func newPacked[T gemm.Float](t *team[T], p gemm.Params) (gemm.Multiplier[T], error) {
	return packed[T]{serial.NewBatched[T](t.pool), t, p.Text("affinity")}, nil
}

// union adds the parameters more to p, and returns p.
func union(p, more gemm.Params) gemm.Params {
	maps.Copy(p, more)
	return p
}

// packedHalf is serial/packed in half precision on a team. A task is a block of C: each worker packs the blocks of A
// and B that it needs.
type packedHalf[T half.Float] struct {
	serial.PackedHalf[T]
	*team[T]
}

// Resolved implements gemm.Explainer.
func (x packedHalf[T]) Resolved() gemm.Params {
	return union(x.PackedHalf.Resolved(), x.team.Resolved())
}

func newPackedHalf[T half.Float](t *team[T], _ gemm.Params) (gemm.Multiplier[T], error) {
	return packedHalf[T]{serial.NewPackedHalf[T](t.pool), t}, nil
}

// packedField is serial/packed in GF(2⁸) on a team. A task multiplies a block of columns of B by all of
// A, or by one sliver of A if there are few blocks.
type packedField struct {
	serial.PackedField
	*team[gf256.Elem]
}

// Resolved implements gemm.Explainer.
func (x packedField) Resolved() gemm.Params {
	return union(x.PackedField.Resolved(), x.team.Resolved())
}

func newPackedField(t *team[gf256.Elem], _ gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	return packedField{serial.NewPackedField(t.pool), t}, nil
}
