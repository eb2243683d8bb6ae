//go:build cgo && !windows

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gemm"
	"gemm/cuda"
)

// recipeOperand is how a matrix lies on the GPU. Address may be given modulo 256: only what it is a multiple of counts.
type recipeOperand struct {
	Address   uintptr `json:"address"`
	LD        int     `json:"ld"`        // elements from one stored row to the next
	Transpose bool    `json:"transpose"` // of A and B: the transpose of the matrix is stored
}

// recipeRequest is the question: C = A·B of the shape on the GPU.
type recipeRequest struct {
	Variant string        `json:"variant"` // such as cuda/tuned; empty: the best of the type
	Type    string        `json:"type"`    // f32, f64, f16 or bf16
	M       int           `json:"m"`
	N       int           `json:"n"`
	K       int           `json:"k"`
	A       recipeOperand `json:"a"`
	B       recipeOperand `json:"b"`
	C       recipeOperand `json:"c"`
	Params  gemm.Params   `json:"params"`
	GPU     cuda.GPU      `json:"gpu"`
	// Accuracy, if not 0, is the largest bound on the error that the variant may have: without a name, the fastest one
	// is chosen. LeastShare is the least magnitude of an element but 0 relative to the largest, the smaller one of A's
	// and B's; 0: unknown.
	Accuracy   float64 `json:"accuracy"`
	LeastShare float64 `json:"least_share"`
}

// recipeTypes are the element types of recipes.
var recipeTypes = []string{"f32", "f64", "f16", "bf16"}

// recipe says how a rung computes a product on a GPU, for a program in another language. NVRTC compiles the programs
// for the GPU. The launches follow each other on one stream.
type recipe struct {
	Variant  string          `json:"variant"`
	Params   gemm.Params     `json:"params"` // as chosen for the shape
	Work     int64           `json:"work"`   // bytes of memory besides the operands, at a multiple of 256
	Zeros    []cuda.Span     `json:"zeros"`  // of it, to be filled with zeros before the launches
	Programs []recipeProgram `json:"programs"`
	Launches []recipeLaunch  `json:"launches"`
	// MaxRegisters is the limit of registers of a thread that was requested; 0: none. The compiler
	// may have ignored it, which the compiled kernel says.
	MaxRegisters int `json:"max_registers"`
}

// recipeProgram is a source and the options with which NVRTC compiles it.
type recipeProgram struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Options []string `json:"options"`
}

// recipeLaunch is a launch of a kernel. An argument is 8 bytes wide or stands at the beginning of 8. If it
// has a buffer, the address of a, b, c or work is added to it. If it has a map, the argument is not the
// address but the CUtensorMap of the matrix there: cuTensorMapEncodeTiled makes it, with rows of 128 bytes
// swizzled, promotion to 256 bytes in L2, and zeros outside.
type recipeLaunch struct {
	Program   int             `json:"program"` // index
	Kernel    string          `json:"kernel"`
	Grid      [3]int          `json:"grid"`
	Block     [3]int          `json:"block"`
	Shared    int             `json:"shared"` // bytes of dynamic shared memory
	Arguments []cuda.Argument `json:"arguments"`
}

// newRecipe returns the recipe. The error is a gemm.ErrParam or gemm.ErrType of the request, or an
// ErrUnavailable if the GPU cannot do it.
func newRecipe(q recipeRequest) (recipe, error) {
	arch, err := q.GPU.Arch()
	if err != nil {
		return recipe{}, err
	}
	if q.Params == nil {
		q.Params = gemm.Params{}
	}
	if err := q.Params.Whole(); err != nil {
		return recipe{}, err
	}
	shape := gemm.Shape{M: q.M, N: q.N, K: q.K}
	if q.Accuracy != 0 && slices.Contains(recipeTypes, q.Type) {
		if err := q.promise(shape); err != nil {
			return recipe{}, err
		}
	}
	rung, err := q.rung(arch)
	if err != nil {
		return recipe{}, err
	}
	variant, err := gemm.Lookup(kernelVariants(), cuda.Family+"/"+rung.Name)
	if err != nil {
		return recipe{}, err
	}
	params, err := variant.Resolve(q.Params)
	if err != nil {
		return recipe{}, err
	}
	if err := q.check(shape); err != nil {
		return recipe{}, err
	}
	op := cuda.Operation{TransA: q.A.Transpose, TransB: q.B.Transpose, Alpha: 1}
	sequence, err := rung.Sequence(q.GPU, shape, op, q.A.operand(), q.B.operand(), q.C.operand(), params)
	if err != nil {
		return recipe{}, err
	}
	out := recipe{
		Variant: variant.Name, Params: sequence.Resolved(params), Work: sequence.Work, Zeros: sequence.Zeros,
		MaxRegisters: sequence.MaxReg,
	}
	out.add(sequence.Launches)
	return out, nil
}

func (o recipeOperand) operand() cuda.Operand { return cuda.Operand{Address: o.Address, LD: o.LD} }

// add adds the launches, and each program once.
func (x *recipe) add(launches []cuda.Launch) {
	for _, l := range launches {
		p := recipeProgram{l.Program.Name, l.Program.Source, l.Program.CompilerOptions()}
		same := func(o recipeProgram) bool { return o.Name == p.Name && slices.Equal(o.Options, p.Options) }
		at := slices.IndexFunc(x.Programs, same)
		if at < 0 {
			at = len(x.Programs)
			x.Programs = append(x.Programs, p)
		}
		x.Launches = append(x.Launches, recipeLaunch{
			at, l.Kernel, [3]int{l.Blocks, 1, 1}, [3]int{l.Threads, 1, 1}, l.Shared, l.Arguments,
		})
	}
}

// kernelVariants returns the variants of the family with the parameters that a kernel has. The number of
// the GPU and the state of its cache are of whoever launches it.
func kernelVariants() []gemm.Variant {
	all := cuda.Variants(nil)
	for i := range all {
		all[i].Params = slices.DeleteFunc(slices.Clone(all[i].Params),
			func(p gemm.Param) bool { return p.Name == "device" || p.Name == "l2" })
	}
	return all
}

// promise sets the variant and its parameters to the fastest that has the accuracy.
func (q *recipeRequest) promise(s gemm.Shape) error {
	t := gemm.TypeNamed(q.Type)
	offers, err := cuda.Offers(q.GPU, t, t, s, true)
	if q.Variant != "" {
		v, unknown := gemm.Lookup(kernelVariants(), q.Variant)
		if unknown != nil || !slices.Contains(v.Types(), q.Type) {
			return nil // rung says so
		}
		offers, err = gemm.Offers(v, t, t, s, q.Params, true)
	}
	if err != nil {
		return err
	}
	offers = slices.DeleteFunc(offers, func(o gemm.Offer) bool { return q.LeastShare < o.LeastShare })
	i, err := gemm.Fastest(offers, q.Accuracy)
	if err != nil {
		return err
	}
	q.Variant = offers[i].Variant
	maps.Copy(q.Params, offers[i].Params)
	return nil
}

// rung returns the rung that is requested, or the last one for users, in the full precision of the
// type, that the GPU can run.
func (q recipeRequest) rung(arch int) (cuda.Rung, error) {
	if !slices.Contains(recipeTypes, q.Type) {
		return cuda.Rung{}, fmt.Errorf("%w: type is %q, must be one of %s", gemm.ErrType, q.Type,
			strings.Join(recipeTypes, ", "))
	}
	var names []string
	var best cuda.Rung
	for _, r := range cuda.Ladder(q.Type) {
		name := cuda.Family + "/" + r.Name
		if r.Runs(arch) == nil && r.Compute == "" {
			best = r
		}
		if name != q.Variant {
			names = append(names, name)
			continue
		}
		if err := r.Runs(arch); err != nil {
			return r, fmt.Errorf("%s: %w, the GPU has %s", name, err, q.GPU.Capability)
		}
		return r, nil
	}
	switch {
	case q.Variant != "":
		return best, fmt.Errorf("%w: variant is %q, must be one of %s for %s on a GPU", gemm.ErrParam, q.Variant,
			strings.Join(names, ", "), q.Type)
	case best.Name == "":
		return best, gemm.Unavailablef("no kernel runs on compute capability %s", q.GPU.Capability)
	}
	return best, nil
}

// check returns an error if the shape is empty, or if the rows of an operand overlap.
func (q recipeRequest) check(s gemm.Shape) error {
	if s.M < 1 || s.N < 1 || s.K < 0 {
		return fmt.Errorf("%w: the product is %v, must have rows and columns", gemm.ErrParam, s)
	}
	for _, x := range []struct {
		name       string
		o          recipeOperand
		rows, cols int
	}{{"a", q.A, s.M, s.K}, {"b", q.B, s.K, s.N}, {"c", q.C, s.M, s.N}} {
		width := x.cols
		if x.o.Transpose {
			width = x.rows
		}
		if x.o.LD < width {
			return fmt.Errorf("%w: ld of %s is %d, must be at least %d", gemm.ErrParam, x.name, x.o.LD, width)
		}
	}
	if q.C.Transpose {
		return fmt.Errorf("%w: c is stored transposed: exchange a and b, and their transposes", gemm.ErrParam)
	}
	return nil
}

// kernelVariant describes a variant to another program.
type kernelVariant struct {
	Name   string        `json:"name"`
	Doc    string        `json:"doc"`
	Types  []string      `json:"types"`
	Params []kernelParam `json:"params"`
}

// kernelParam is a parameter of a variant.
type kernelParam struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// recipeVariants returns the variants that have recipes.
func recipeVariants() []kernelVariant {
	var out []kernelVariant
	for _, v := range kernelVariants() {
		x := kernelVariant{Name: v.Name, Doc: v.Doc}
		for _, typ := range recipeTypes {
			if _, err := cuda.RungNamed(strings.TrimPrefix(v.Name, cuda.Family+"/"), typ); err == nil {
				x.Types = append(x.Types, typ)
			}
		}
		for _, p := range v.Params {
			x.Params = append(x.Params, kernelParam{p.Name, p.Doc})
		}
		if len(x.Types) > 0 {
			out = append(out, x)
		}
	}
	return out
}
