package parallel

import (
	"slices"
	"sync/atomic"

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

// localVariant returns the variant of the parameter local, which the parameter's check has found to be one.
func localVariant(p gemm.Params) gemm.Variant {
	v, err := gemm.Lookup(locals(), p.Text("local"))
	if err != nil {
		panic(err)
	}
	return v
}

// newLocals returns a multiplier for each worker: one computes one product at a time.
func newLocals[T gemm.Element](p gemm.Params) ([]gemm.Multiplier[T], error) {
	out := make([]gemm.Multiplier[T], p.Int("threads"))
	for w := range out {
		var err error
		if out[w], err = gemm.New[T](localVariant(p), nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// localModel is the model of a product of whole shape. Workers compute parts by the local variant, each of part shape.
// Operations and accesses are counted for the whole product; each worker has the workspace of a part.
func localModel(p gemm.Params, whole, part [3]int) gemm.Model {
	v := localVariant(p)
	resolved, err := v.Resolve(nil)
	if err != nil {
		panic(err) // defaults are values that parameters can have
	}
	out := v.Model(gemm.Shape{M: whole[0], N: whole[1], K: whole[2]}, resolved)
	out.Workspace = float64(p.Int("threads")) * v.Model(gemm.Shape{M: part[0], N: part[1], K: part[2]}, resolved).Workspace
	return out
}

// ikjModel is the model of the loops of ikj.
func ikjModel(s gemm.Shape, _ gemm.Params) gemm.Model {
	return localVariant(gemm.Params{"local": ikj}).Model(s, nil)
}

// times returns how many times index i of n is computed under an artificial load: 1 for the first
// index, 1+load for the last, and in proportion between them.
func times(i, n, load int) int {
	if n < 2 {
		return 1 + load
	}
	return 1 + (2*load*i+n-1)/(2*(n-1))
}

// firstError keeps the first error of several workers.
type firstError struct{ first atomic.Pointer[error] }

// note keeps err if it is the first.
func (f *firstError) note(err error) {
	if err != nil {
		f.first.CompareAndSwap(nil, &err)
	}
}

// err returns the first error, or nil.
func (f *firstError) err() error {
	if p := f.first.Load(); p != nil {
		return *p
	}
	return nil
}
