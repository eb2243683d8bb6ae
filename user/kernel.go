package user

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gemm/internal/output"
	"gemm/internal/peer"
)

// Family is the family of the variants.
const Family = "user"

// ABI says how a function is called. T is float or double.
type ABI string

// The ABIs.
const (
	// Square is f(int n, T *A, T *B, T *C), by columns, C += A·B.
	Square ABI = ABI(peer.Square)
	// RowMajor is f(int m, int n, int k, const T *A, const T *B, T *C), by rows, C = A·B.
	RowMajor ABI = ABI(peer.RowMajor)
	// Fortran is sgemm_ and dgemm_, with all arguments of BLAS.
	Fortran ABI = ABI(peer.Fortran)
	// CBLAS is cblas_sgemm and cblas_dgemm.
	CBLAS ABI = ABI(peer.CBLAS)
)

// Kernel is a kernel as the user asks for it.
type Kernel struct {
	Path   string   // of the library or the source
	More   []string // further sources in the same language, which are compiled with it
	Symbol string   // the function; empty: the usual one of the ABI, or the only one
	ABI    ABI      // empty: by the name of the function
	Type   string   // f64 or f32; empty: by the name of the function or the ABI
	Name   string   // behind user/
	Named  bool     // the user gave the name
}

// abis are the ABIs of kernels for processors that users can name.
var abis = []ABI{Square, RowMajor, Fortran, CBLAS}

// CUDA is the ABI of a source in CUDA, and of a library whose function computes on a GPU.
const CUDA ABI = "cuda"

var symbolPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// namePattern matches a name and what follows it: an ABI is no path, so x=square is the file x.
var namePattern = regexp.MustCompile(`^([\pL\pN_-]+)=(.*)$`)

// abiPattern matches what follows a path.
var abiPattern = regexp.MustCompile(`^(square|rowmajor|fortran|cblas|cuda)(:|$)`)

// Parse reads a kernel in the form [NAME=]PATH[:SYMBOL][=ABI[:TYPE]]. If there is a file called like the whole
// text, it is the path.
func Parse(text string) (Kernel, error) {
	k := Kernel{Path: text}
	if info, err := os.Stat(text); err != nil || !info.Mode().IsRegular() {
		if m := namePattern.FindStringSubmatch(text); m != nil && !abiPattern.MatchString(m[2]) {
			k, err := Parse(m[2])
			k.Name, k.Named = m[1], true
			return k, err
		}
		if at := strings.LastIndexByte(k.Path, '='); at >= 0 && !strings.Contains(k.Path[at:], "/") {
			abi, typ, typed := strings.Cut(k.Path[at+1:], ":")
			if !slices.Contains(abis, ABI(abi)) && ABI(abi) != CUDA {
				return k, fmt.Errorf("ABI %q is unknown: it must be one of square, rowmajor, fortran, cblas, cuda", abi)
			}
			if typed && typ != "f64" && typ != "f32" {
				return k, fmt.Errorf("type %q of ABI %s: must be f64 or f32", typ, abi)
			}
			k.Path, k.ABI, k.Type = k.Path[:at], ABI(abi), typ
		}
		if at := strings.LastIndexByte(k.Path, ':'); at >= 0 && !strings.Contains(k.Path[at:], "/") {
			k.Path, k.Symbol = k.Path[:at], k.Path[at+1:]
			if !symbolPattern.MatchString(k.Symbol) {
				return k, fmt.Errorf("function %q: must be a name such as square_dgemm", k.Symbol)
			}
		}
	}
	if k.ABI != "" && (k.ABI != CUDA && k.CUDA() || k.ABI == CUDA && k.IsSource()) {
		return k, fmt.Errorf("ABI %s of %s: a .cu file has the ABI cuda, and besides only a library can have it", k.ABI, k.Path)
	}
	if k.Path == "" {
		return k, fmt.Errorf("the path is empty: it must be a library or a source, such as ./dgemm.c")
	}
	k.Name = output.Line(cmp.Or(k.Symbol, k.stem()))
	return k, nil
}

// stem returns the base name of the file without lib before it and what is behind the first dot.
func (k Kernel) stem() string {
	stem, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(k.Path), "lib"), ".")
	return cmp.Or(stem, "kernel")
}

// CUDA reports whether the kernel computes on a GPU.
func (k Kernel) CUDA() bool { return k.ABI == CUDA || strings.EqualFold(filepath.Ext(k.Path), ".cu") }

// Language returns what a source is written in: C, C++ or Fortran, and "" for what is no source of a
// kernel for processors.
func (k Kernel) Language() string {
	switch strings.ToLower(filepath.Ext(k.Path)) {
	case ".c":
		return "C"
	case ".cpp", ".cc", ".cxx":
		return "C++"
	case ".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08":
		return "Fortran"
	}
	return ""
}

// IsSource reports whether the kernel is a source that is compiled on this host.
func (k Kernel) IsSource() bool { return k.Language() != "" }

// Distinct returns the kernels with names of their own. Equal names become STEM-SYMBOL, NAME-ENDING or FOLDER-NAME,
// with as many folders as it takes. The error names two kernels that are still called alike.
func Distinct(kernels []Kernel) ([]Kernel, error) {
	const mostSteps = 32
	out := slices.Clone(kernels)
	alike := map[string][]int{}
	for i, k := range kernels {
		alike[k.Name] = append(alike[k.Name], i)
	}
	for _, group := range alike {
		for step, names := 0, map[string]bool{}; len(group) > 1 && len(names) < len(group) && step < mostSteps; step++ {
			clear(names)
			for _, i := range group {
				out[i].Name = kernels[i].longer(step)
				names[out[i].Name] = true
			}
		}
	}
	for i, k := range out {
		if j := slices.IndexFunc(out[:i], func(other Kernel) bool { return other.Name == k.Name }); j >= 0 {
			return nil, fmt.Errorf("%s and %s are both called user/%s: name one, as in --bring NAME=%[2]s", out[j].Path,
				k.Path, kernels[i].Name)
		}
	}
	return out, nil
}

// longer returns the name of k with the symbol, with the last step/2 folders of its path before it and, if step is odd,
// the ending of the file behind it. A name that the user gave stays.
func (k Kernel) longer(step int) string {
	path, err := filepath.Abs(k.Path)
	if err != nil || k.Named {
		return k.Name
	}
	folders := strings.FieldsFunc(filepath.Dir(path), func(r rune) bool { return r == filepath.Separator })
	words := append(folders[max(0, len(folders)-step/2):], k.stem())
	if k.Symbol != "" {
		words = append(words, k.Symbol)
	}
	if step%2 == 1 {
		words = append(words, strings.TrimPrefix(filepath.Ext(path), "."))
	}
	return output.Line(strings.Join(words, "-"))
}
