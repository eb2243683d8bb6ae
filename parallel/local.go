package parallel

import (
	"context"
	"slices"

	"gemm"
	"gemm/serial"
)

// ikj is the local variant by default.
const ikj = "serial/ikj"

// localParams returns the parameters of variants whose chunks are products.
func localParams(loop string) []gemm.Param {
	var names []string
	for _, v := range locals() {
		names = append(names, v.Name)
	}
	return append(scheduleParams(loop),
		gemm.Param{Name: "local", Default: ikj, Choices: names, Doc: "variant that computes a chunk, with its defaults"},
	)
}

// locals returns the variants that can compute a chunk: the classical serial ones, except
// gonum, which would start goroutines of its own, and studies, whose best setting is a rung.
func locals() []gemm.Variant {
	return slices.DeleteFunc(serial.Variants(), func(v gemm.Variant) bool {
		return v.Bound.Kind != gemm.Componentwise || v.Role == gemm.Baseline || v.Role == gemm.Study
	})
}

// newLocals returns a multiplier for each worker: one computes one product at a time.
func newLocals[T gemm.Element](p gemm.Params) ([]gemm.Multiplier[T], error) {
	out := make([]gemm.Multiplier[T], p.Int("threads"))
	v, defaults := serial.Find(locals(), p.Text("local"))
	for w := range out {
		var err error
		if out[w], err = gemm.New[T](v, defaults); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// localModel is the model of a product of whole shape. Workers compute parts by the local variant, each of part shape.
// Operations and accesses are counted for the whole product; each worker has the workspace of a part.
func localModel(p gemm.Params, whole, part [3]int) gemm.Model {
	v, resolved := serial.Find(locals(), p.Text("local"))
	out := v.Model(gemm.Shape{M: whole[0], N: whole[1], K: whole[2]}, resolved)
	out.Workspace = float64(p.Int("threads")) * v.Model(gemm.Shape{M: part[0], N: part[1], K: part[2]}, resolved).Workspace
	return out
}

func ikjModel(s gemm.Shape, _ gemm.Params) gemm.Model {
	v, p := serial.Find(locals(), ikj)
	return v.Model(s, p)
}

// times returns how many times index i of n is computed under an artificial load: 1 for the first
// index, 1+load for the last, and in proportion between them.
func times(i, n, load int) int {
	if n < 2 {
		return 1 + load
	}
	return 1 + (2*load*i+n-1)/(2*(n-1))
}

// compute computes C = A·B by a local variant, for operands that conform. Its only error is the error of ctx.
func compute[T gemm.Element](ctx context.Context, local gemm.Multiplier[T], c, a, b gemm.Matrix[T]) {
	if err := local.Multiply(ctx, c, a, b); err != nil && ctx.Err() == nil {
		panic(err)
	}
}
