package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gemm/internal/cpu"
	"gemm/internal/dl"
)

// mkl is Intel's oneMKL by its single dynamic library, which loads the layers and
// the kernels that it wants from its own folder.
var mkl = &library{
	name: "mkl",
	Search: dl.Search{
		Title: "Intel MKL", Variable: "GEMM_MKL",
		Names: choose(
			[]string{"libmkl_rt.so.[0-9]", "libmkl_rt.so", "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so*",
				"/opt/intel/oneapi/mkl/latest/lib/intel64/libmkl_rt.so*", "/opt/intel/mkl/lib/intel64/libmkl_rt.so*"},
			[]string{"libmkl_rt.[0-9].dylib", "libmkl_rt.dylib", "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.*dylib"},
		),
		Pip:    []string{"lib/libmkl_rt.so.*", "lib/libmkl_rt.*dylib"},
		Remedy: "install pip's mkl, libmkl-rt (Debian's component non-free, Ubuntu's multiverse) or intel-oneapi-mkl",
	},
	load: loadMKL,
	hold: "MKL_ENABLE_INSTRUCTIONS",
}

// The threading layers, as MKL_Set_Threading_Layer numbers them.
const (
	layerSequential = 1
	layerGNU        = 3
)

func loadMKL(p place, name string) (*routines, error) {
	r, err := new(library).openIn(p, name, "MKL_Get_Version_String", "MKL_Get_Max_Threads", "MKL_Set_Num_Threads",
		"MKL_Set_Dynamic", "MKL_Set_Threading_Layer")
	if err != nil {
		return nil, err
	}
	if _, ok := os.LookupEnv("MKL_THREADING_LAYER"); !ok {
		layer, err := threadingLayer(p, mapped(p, "libmkl_rt"))
		if err == nil {
			_, err = p.Integer("MKL_Set_Threading_Layer", layer)
		}
		if err != nil {
			return nil, err
		}
	}
	text, err := p.Buffer("MKL_Get_Version_String")
	if err != nil {
		return nil, err
	}
	r.version = mklVersion(text)
	if _, err := p.Integer("MKL_Set_Dynamic", 0); err != nil { // exactly the threads that are set
		return nil, err
	}
	r.setThreads = threadsBy(p, "MKL_Set_Num_Threads", "MKL_Get_Max_Threads")
	// The kernels are loaded with the first product.
	r.setThreads(1)
	if err := p.first(r.dgemm); err != nil {
		return nil, err
	}
	r.kernel = mklKernel(mapped(p, "libmkl_"))
	r.slow = slowMKL(r.kernel, cpu.Supported())
	return r, nil
}

// slowMKL returns why kernels do not suit the processor, or "". MKL chooses by the
// maker of the processor before it looks at its instructions.
func slowMKL(kernel string, sets []cpu.ISA) string {
	// The kernels for AVX10 are for processors that have AVX-512 too.
	wide := strings.HasPrefix(kernel, "avx512") || strings.HasPrefix(kernel, "avx10")
	switch {
	case slices.Contains(sets, cpu.AVX512) && !wide:
		return "does not take its kernels for AVX-512, as MKL does on processors of Intel's"
	case slices.Contains(sets, cpu.AVX2NoGFNI) && !wide && !strings.HasPrefix(kernel, "avx2"):
		return "does not take its kernels for AVX2, as MKL does on processors of Intel's"
	}
	return ""
}

// threadingLayer returns the layer to use with a library of the given files: GNU's if it is there, else the sequential
// one. MKL ends the process if the layer that is set is missing, and does not load libgomp itself.
func threadingLayer(p place, files []string) (int, error) {
	has := func(part string) bool {
		return slices.ContainsFunc(files, func(file string) bool {
			found, _ := filepath.Glob(filepath.Join(filepath.Dir(file), part+".*"))
			return len(found) > 0
		})
	}
	for _, part := range []string{"libmkl_core", "libmkl_intel_lp64"} {
		if len(files) > 0 && !has(part) {
			return 0, fmt.Errorf("%s is not next to it: install it completely", part)
		}
	}
	if has("libmkl_gnu_thread") && p.OpenGlobal("libgomp.so.1") == nil {
		return layerGNU, nil
	}
	if len(files) > 0 && !has("libmkl_sequential") {
		return 0, fmt.Errorf("neither libmkl_sequential nor libmkl_gnu_thread with libgomp is there: install it whole")
	}
	return layerSequential, nil
}

// mklVersion returns the number in "… Library Version 2020.0.4 Product Build …".
func mklVersion(text string) string {
	_, rest, _ := strings.Cut(text, "Version ")
	number, _, _ := strings.Cut(rest, " ")
	number, _, _ = strings.Cut(number, "-")
	return strings.TrimRight(number, "\x00")
}

// mklKernel returns the name of the kernels among the files of MKL that are loaded: def, mc3, avx2, avx512, avx10.
func mklKernel(files []string) string {
	for _, file := range files {
		part, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), "libmkl_"), ".")
		if part == "def" || strings.HasPrefix(part, "mc") || strings.HasPrefix(part, "avx") {
			return part
		}
	}
	return "unknown"
}
