package parallel

import (
	"gemm"
	"gemm/serial"
)

// packedVariant is serial/packed on a pool of workers. A task is a block of columns
// of C, or some of its rows, and a worker takes the next task when it is done with
// one. Where A lies well in memory the workers share nothing but the operands, and
// each packs the blocks of B that it needs; otherwise they first pack a panel of A
// together. Products too small for the number of workers are computed by fewer.
func packedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/packed",
		Doc:    "serial/packed with its blocks shared out to a pool of workers",
		Params: []gemm.Param{threadsParam()},
		Model: func(m, n, k int, p gemm.Params) gemm.Model {
			return serial.PackedModel(m, n, k, NewPool(p.Int("threads")).Loop())
		},
		Bound: gemm.Classical,
		F32: func(p gemm.Params) (gemm.Multiplier[float32], error) {
			return serial.NewPacked[float32](NewPool(p.Int("threads")).Loop()), nil
		},
		F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
			return serial.NewPacked[float64](NewPool(p.Int("threads")).Loop()), nil
		},
	}
}
