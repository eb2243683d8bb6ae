// Package recipe hands out how a rung of the ladder computes a product on a GPU: sources, options of
// the compiler, launches and their arguments. A program in another language compiles and launches
// the kernels with what it has of CUDA. The package needs no GPU and opens no library.
package recipe

import (
	"fmt"
	"slices"
	"strings"

	"gemm"
	"gemm/cuda"
)

// Operand is how a matrix lies on the GPU. Address may be given modulo 256: only what it is a multiple of counts.
type Operand struct {
	Address   uintptr `json:"address"`
	LD        int     `json:"ld"`        // elements from one stored row to the next
	Transpose bool    `json:"transpose"` // of A and B: the transpose of the matrix is stored
}

// Request is the question: C = A·B of the shape on the GPU.
type Request struct {
	Variant string      `json:"variant"` // such as cuda/tuned; empty: the best of the type
	Type    string      `json:"type"`    // f32 or f64
	M       int         `json:"m"`
	N       int         `json:"n"`
	K       int         `json:"k"`
	A       Operand     `json:"a"`
	B       Operand     `json:"b"`
	C       Operand     `json:"c"`
	Params  gemm.Params `json:"params"`
	GPU     cuda.GPU    `json:"gpu"`
}

// Recipe is the answer. Programs are compiled by NVRTC for the GPU. The launches follow each other on one stream.
type Recipe struct {
	Variant  string      `json:"variant"`
	Params   gemm.Params `json:"params"` // as chosen for the shape
	Work     int64       `json:"work"`   // bytes of memory besides the operands, at a multiple of 256
	Zeros    []cuda.Span `json:"zeros"`  // of it, to be filled with zeros before the launches
	Programs []Program   `json:"programs"`
	Launches []Launch    `json:"launches"`
	// MaxRegisters is the limit of registers of a thread that was requested; 0: none. The compiler
	// may have ignored it, which the compiled kernel says.
	MaxRegisters int `json:"max_registers"`
}

// Program is a source and the options with which NVRTC compiles it.
type Program struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"`
	Options []string `json:"options"`
}

// Launch is a launch of a kernel. An argument is 8 bytes wide or stands at the beginning of 8. If it
// has a buffer, the address of a, b, c or work is added to it. If it has a map, the argument is not the
// address but the CUtensorMap of the matrix there: cuTensorMapEncodeTiled makes it, with rows of 128 bytes
// swizzled, promotion to 256 bytes in L2, and zeros outside.
type Launch struct {
	Program   int             `json:"program"` // index
	Kernel    string          `json:"kernel"`
	Grid      [3]int          `json:"grid"`
	Block     [3]int          `json:"block"`
	Shared    int             `json:"shared"` // bytes of dynamic shared memory
	Arguments []cuda.Argument `json:"arguments"`
}

// Of returns the recipe. The error is a gemm.ErrParam or gemm.ErrType of the request, or an
// ErrUnavailable if the GPU cannot do it.
func Of(q Request) (Recipe, error) {
	arch, err := q.GPU.Arch()
	if err != nil {
		return Recipe{}, err
	}
	rung, err := q.rung(arch)
	if err != nil {
		return Recipe{}, err
	}
	variant, err := gemm.Lookup(variants(), cuda.Family+"/"+rung.Name)
	if err != nil {
		return Recipe{}, err
	}
	if q.Params == nil {
		q.Params = gemm.Params{}
	}
	if err := q.Params.Whole(); err != nil {
		return Recipe{}, err
	}
	params, err := variant.Resolve(q.Params)
	if err != nil {
		return Recipe{}, err
	}
	shape := gemm.Shape{M: q.M, N: q.N, K: q.K}
	if err := q.check(shape); err != nil {
		return Recipe{}, err
	}
	op := cuda.Operation{TransA: q.A.Transpose, TransB: q.B.Transpose, Alpha: 1}
	sequence, err := rung.Sequence(q.GPU, shape, op, q.A.operand(), q.B.operand(), q.C.operand(), params)
	if err != nil {
		return Recipe{}, err
	}
	out := Recipe{
		Variant: variant.Name, Params: sequence.Resolved(params), Work: sequence.Work, Zeros: sequence.Zeros,
		MaxRegisters: sequence.MaxReg,
	}
	out.add(sequence.Launches)
	return out, nil
}

func (o Operand) operand() cuda.Operand { return cuda.Operand{Address: o.Address, LD: o.LD} }

// add adds the launches, and each program once.
func (x *Recipe) add(launches []cuda.Launch) {
	for _, l := range launches {
		p := Program{l.Program.Name, l.Program.Source, l.Program.CompilerOptions()}
		same := func(o Program) bool { return o.Name == p.Name && slices.Equal(o.Options, p.Options) }
		at := slices.IndexFunc(x.Programs, same)
		if at < 0 {
			at = len(x.Programs)
			x.Programs = append(x.Programs, p)
		}
		x.Launches = append(x.Launches, Launch{
			at, l.Kernel, [3]int{l.Blocks, 1, 1}, [3]int{l.Threads, 1, 1}, l.Shared, l.Arguments,
		})
	}
}

// variants returns the variants of the family with the parameters that a kernel has. The number of
// the GPU and the state of its cache are of whoever launches it.
func variants() []gemm.Variant {
	all := cuda.Variants(nil)
	for i := range all {
		all[i].Params = slices.DeleteFunc(slices.Clone(all[i].Params),
			func(p gemm.Param) bool { return p.Name == "device" || p.Name == "l2" })
	}
	return all
}

// rung returns the rung that is requested, or the last one for users, in the full precision of the
// type, that the GPU can run.
func (q Request) rung(arch int) (cuda.Rung, error) {
	if q.Type != "f32" && q.Type != "f64" {
		return cuda.Rung{}, fmt.Errorf("%w: type is %q, must be f32 or f64", gemm.ErrType, q.Type)
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
func (q Request) check(s gemm.Shape) error {
	if s.M < 1 || s.N < 1 || s.K < 0 {
		return fmt.Errorf("%w: the product is %v, must have rows and columns", gemm.ErrParam, s)
	}
	for _, x := range []struct {
		name       string
		o          Operand
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

// Variant describes a variant to another program.
type Variant struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc"`
	Types  []string `json:"types"`
	Params []Param  `json:"params"`
}

// Param is a parameter of a variant.
type Param struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Variants returns the variants that have recipes.
func Variants() []Variant {
	var out []Variant
	for _, v := range variants() {
		x := Variant{Name: v.Name, Doc: v.Doc}
		for _, typ := range []string{"f32", "f64"} {
			if _, err := cuda.RungNamed(strings.TrimPrefix(v.Name, cuda.Family+"/"), typ); err == nil {
				x.Types = append(x.Types, typ)
			}
		}
		for _, p := range v.Params {
			x.Params = append(x.Params, Param{p.Name, p.Doc})
		}
		if len(x.Types) > 0 {
			out = append(out, x)
		}
	}
	return out
}
