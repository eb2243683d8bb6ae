package user

import (
	"gemm"
	"gemm/internal/note"
	"gemm/internal/peer"
)

// Variants returns the kernels in the order in which they were asked for.
func (all *Kernels) Variants() []gemm.Variant {
	var out []gemm.Variant
	for _, k := range all.kernels {
		v := gemm.Variant{
			Name:     Family + "/" + k.Name,
			Doc:      "a kernel of the user, " + k.Path,
			Role:     gemm.UserKernel,
			Can:      gemm.Stages | gemm.Repeats | gemm.Explains | gemm.Warns,
			Model:    model,
			Bound:    gemm.Classical,
			Revision: k.digest,
		}
		if k.threaded {
			threads := gemm.Param{Name: "threads", Doc: "threads that the kernel may use", Default: k.threads, Min: 1}
			v.Params = []gemm.Param{threads}
		}
		if k.whole() {
			v.Can |= gemm.Gemms | gemm.GemmStages
		}
		if k.symbols["f64"] != "" || k.fault != nil && k.Type != "f32" {
			v.F64 = constructor[float64](k)
		}
		if k.symbols["f32"] != "" || k.fault != nil && k.Type != "f64" {
			v.F32 = constructor[float32](k)
		}
		out = append(out, v)
	}
	return out
}

// whole reports whether the ABI has the whole operation C ← α·op(A)·op(B) + β·C.
func (k *kernel) whole() bool { return k.ABI == Fortran || k.ABI == CBLAS }

// constructor returns the constructor of k's product for a type that it has.
func constructor[T gemm.Float](k *kernel) func(p gemm.Params) (gemm.Multiplier[T], error) {
	return func(p gemm.Params) (gemm.Multiplier[T], error) {
		if k.fault != nil {
			return nil, k.fault
		}
		x := multiplier[T]{kernel: k, threads: 1}
		if k.threaded {
			x.threads = p.Int("threads")
		}
		if k.whole() {
			return &gemmer[T]{x}, nil
		}
		return &x, nil
	}
}

// Warnings implements record.Warner.
func (x *multiplier[T]) Warnings() []note.Note {
	if x.kernel.warning == "" {
		return nil
	}
	return []note.Note{note.Read(x.kernel.warning)}
}

// model predicts the cost of a product by its definition, since the loops are not known.
func model(s gemm.Shape, _ gemm.Params) gemm.Model {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	return gemm.Model{Flops: 2 * m * n * k, Accesses: 2*m*n*k + m*n, Workspace: peer.Workspace(m, n, k)}
}
