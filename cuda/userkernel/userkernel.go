// Package userkernel reads CUDA kernels of users: the source, the kernel in it, and how it is launched; or a library
// with a function that launches kernels. Nothing in this package needs a GPU or a compiler.
package userkernel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gemm"
)

// Parameters are the parameters of a kernel in single precision. In double precision, float is double. The
// matrices are stored by rows, without gaps. A function of a library has one more, cudaStream_t stream: it starts the
// product on the stream, and need not wait for its end.
const Parameters = "int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C"

// Kernel is a kernel in a source. It travels to the program that computes on GPUs.
type Kernel struct {
	Name   string `json:"name"`   // of the variant, such as user/sgemm
	File   string `json:"file"`   // base name of the source, in messages of the compiler
	Folder string `json:"folder"` // where the compiler looks for files that the source includes
	Source string `json:"source"` // of a library, the checksum of its file
	Symbol string `json:"symbol"`
	Type   string `json:"type"` // f32 or f64; empty: not known, see Fault
	Launch
	// Library: the file is a shared library, whose function Symbol is called on the host.
	Library bool `json:"library,omitempty"`
	// Fault is why the kernel cannot be launched, as far as the source shows. Its row has it.
	Fault string `json:"fault,omitempty"`
}

// mostSource is the largest source in bytes.
const mostSource = 4 << 20

// Read reads the source at path, whose name ends in .cu, or the library, for which symbol and typ are needed. symbol and
// typ choose a kernel of a source and its element type. If they are empty, the source must have one kernel with the
// parameters of a product. What flags leaves empty is what the source says of the launch, or the default. The error says
// why path cannot be read, or what is wrong with the launch; other faults are in the kernel.
func Read(name, path, symbol, typ string, flags Launch) (Kernel, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Kernel{}, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return Kernel{}, err
	}
	library := !strings.EqualFold(filepath.Ext(path), ".cu")
	if !info.Mode().IsRegular() || info.Size() > mostSource && !library {
		return Kernel{}, fmt.Errorf("%s is no source: it must be a file of at most %d MiB", path, mostSource>>20)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return Kernel{}, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Kernel{}, err
	}
	k := Kernel{Name: name, File: filepath.Base(path), Folder: folder, Source: string(source), Symbol: symbol,
		Type: typ, Launch: flags, Library: library}
	if library {
		k.Source, k.Launch = fmt.Sprintf("%x", sha256.Sum256(source)), Launch{}
		if symbol == "" || typ == "" {
			k.Fault = k.File + ": name the function and its type, as in FILE.so:FUNCTION=cuda:f64"
		}
		return k, nil
	}
	f, fault := choose(functions(k.Source), symbol, typ)
	if fault != "" {
		k.Fault = k.File + ": " + fault
		return k, nil
	}
	k.Symbol, k.Type = f.name, f.typ
	said, err := launchAbove(k.Source, f.at)
	if err != nil {
		return k, fmt.Errorf("%s: %w", path, err)
	}
	k.Launch = flags.or(said)
	return k, nil
}

// choose returns the function of the symbol and type, or why there is none.
func choose(all []function, symbol, typ string) (chosen function, fault string) {
	var names, fitting []string
	for _, f := range all {
		names = append(names, f.name)
		if symbol == "" && f.typ != "" && f.c && (typ == "" || typ == f.typ) || symbol == f.name {
			chosen = f
			fitting = append(fitting, f.name)
		}
	}
	have := "it has no __global__ function"
	if len(names) > 0 {
		have = "it has " + strings.Join(names, ", ")
	}
	switch {
	case len(fitting) == 0 && symbol != "":
		return chosen, fmt.Sprintf("there is no kernel %s: %s", symbol, have)
	case len(fitting) == 0 && len(all) == 1: // the one kernel that cannot be used
		chosen = all[0]
	case len(fitting) == 0:
		return chosen, fmt.Sprintf(`there is no extern "C" kernel (%s): %s`, parametersOf(typ), have)
	case len(fitting) > 1:
		return chosen, fmt.Sprintf("there are several kernels, %s: choose one by FILE.cu:NAME",
			strings.Join(fitting, ", "))
	}
	switch {
	case chosen.typ == "" || typ != "" && typ != chosen.typ:
		return chosen, fmt.Sprintf("%s has the parameters (%s), wants (%s)", chosen.name, chosen.parameters,
			parametersOf(typ))
	case !chosen.c:
		return chosen, fmt.Sprintf(`%s is not extern "C": write extern "C" before __global__`, chosen.name)
	}
	return chosen, ""
}

// parametersOf returns the parameters of a kernel of the type; empty means f32.
func parametersOf(typ string) string {
	if typ == "f64" {
		return strings.ReplaceAll(Parameters, "float", "double")
	}
	return Parameters
}

// Missing returns the error of a compiled source that has kernels with the given names, but not the one of k.
func (k Kernel) Missing(have []string) error {
	slices.Sort(have)
	return fmt.Errorf("%s: the compiled source has no kernel %s: it has %s", k.File, k.Symbol, strings.Join(have, ", "))
}

// Digest identifies the source and its launch, but not the files that the source includes.
func (k Kernel) Digest() string {
	sum := sha256.Sum256(fmt.Append(nil, k.Symbol, k.Launch, k.Source))
	return hex.EncodeToString(sum[:6])
}

// Backend constructs the multipliers that run on a GPU.
type Backend interface {
	UserF32(k Kernel, p gemm.Params) (gemm.Multiplier[float32], error)
	UserF64(k Kernel, p gemm.Params) (gemm.Multiplier[float64], error)
}

// errAbsent is the error of a program that has no backend.
var errAbsent = gemm.Unavailablef("a CUDA kernel runs in the program gemm-cuda, which gemm cuda and gemm compare start")

type absent struct{}

func (absent) UserF32(Kernel, gemm.Params) (gemm.Multiplier[float32], error) { return nil, errAbsent }
func (absent) UserF64(Kernel, gemm.Params) (gemm.Multiplier[float64], error) { return nil, errAbsent }

// Variants returns the kernels as variants. Without a backend each constructor says what runs it. A
// kernel of unknown type is of both types, so that there is a row with its fault.
func Variants(b Backend, kernels []Kernel) []gemm.Variant {
	if b == nil {
		b = absent{}
	}
	var out []gemm.Variant
	for _, k := range kernels {
		bound := gemm.Classical
		if k.Library { // which may compute in another way, such as by residues: then not even integers are exact
			bound.Largest = func(gemm.Shape, gemm.Params) float64 { return math.Inf(1) }
		}
		v := gemm.Variant{
			Name: k.Name, Doc: "a kernel of the user, " + k.File, Bound: bound, Location: gemm.OnGPU,
			Role: gemm.UserKernel, Revision: k.Digest(), Source: k,
			Can: gemm.Gemms | gemm.Stages | gemm.GemmStages | gemm.Explains | gemm.Repeats,
			Params: []gemm.Param{
				{Name: "device", Doc: "number of the GPU", Default: 0},
				{Name: "l2", Doc: "state of the L2 cache (cold: operands change from call to call)", Default: "cold",
					Choices: []string{"cold", "warm"}},
			},
			Model: func(s gemm.Shape, _ gemm.Params) gemm.Model { return model(s) },
		}
		if k.Type != "f64" {
			v.F32 = func(p gemm.Params) (gemm.Multiplier[float32], error) { return b.UserF32(k, p) }
		}
		if k.Type != "f32" {
			v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) { return b.UserF64(k, p) }
		}
		out = append(out, v)
	}
	return out
}

// model is the cost of a product that reads and writes every element once: what the kernel does besides is not known.
func model(s gemm.Shape) gemm.Model {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	least := m*k + k*n + m*n
	return gemm.Model{Flops: 2 * m * n * k, Accesses: least, Traffic: func(_, _ float64) float64 { return least }}
}

// FromTask returns the kernels of sources of variants, as another process has written them.
func FromTask(sources []json.RawMessage) ([]Kernel, error) {
	kernels := make([]Kernel, len(sources))
	for i, text := range sources {
		if err := json.Unmarshal(text, &kernels[i]); err != nil {
			return nil, fmt.Errorf("kernel %d: %w", i+1, err)
		}
	}
	return kernels, nil
}
