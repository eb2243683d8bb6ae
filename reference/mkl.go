package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"
)

// mkl is Intel's oneMKL by its single dynamic library, which loads the layers and
// the kernels that it wants from its own folder.
var mkl = &library{
	name: "mkl", title: "Intel MKL", variable: "GEMM_MKL",
	names: choose(
		[]string{"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so", "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so.2", "/opt/intel/oneapi/mkl/latest/lib/intel64/libmkl_rt.so.*", "/opt/intel/mkl/lib/intel64/libmkl_rt.so"},
		[]string{"libmkl_rt.2.dylib", "libmkl_rt.1.dylib", "libmkl_rt.dylib", "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.2.dylib"},
	),
	remedy: "install libmkl-rt (Debian's component non-free, Ubuntu's multiverse) or intel-oneapi-mkl",
	load:   loadMKL,
}

// The threading layers, as MKL_Set_Threading_Layer numbers them.
const (
	layerSequential = 1
	layerGNU        = 3
)

func loadMKL(name string) (*routines, error) {
	calm()
	d, err := open(name)
	if err != nil {
		return nil, err
	}
	r, err := newRoutines(d, name)
	if err != nil {
		return nil, err
	}
	var version func(*byte, int32)
	var threads func() int32
	var setThreads, setDynamic func(int32)
	var setLayer func(int32) int32
	if err := d.bind(map[string]any{
		"MKL_Get_Version_String": &version, "MKL_Get_Max_Threads": &threads, "MKL_Set_Num_Threads": &setThreads,
		"MKL_Set_Dynamic": &setDynamic, "MKL_Set_Threading_Layer": &setLayer,
	}); err != nil {
		return nil, err
	}
	if _, ok := os.LookupEnv("MKL_THREADING_LAYER"); !ok {
		layer, err := threadingLayer(mapped("libmkl_rt"))
		if err != nil {
			return nil, err
		}
		setLayer(layer)
	}
	text := make([]byte, 256)
	version(unsafe.SliceData(text), int32(len(text)))
	r.version = mklVersion(string(text))
	setDynamic(0) // as many threads as it is told, not as it sees fit
	r.setThreads = func(n int) int {
		setThreads(int32(n))
		return int(threads())
	}
	// The kernels are loaded with the first product.
	s := &scalars[float64]{m: 1, n: 1, k: 1, lda: 1, ldb: 1, ldc: 1, alpha: 1, tA: 'N', tB: 'N'}
	x := make([]float64, 1)
	r.setThreads(1)
	invoke(r.dgemm,
		unsafe.Pointer(&s.tA), unsafe.Pointer(&s.tB), unsafe.Pointer(&s.m), unsafe.Pointer(&s.n), unsafe.Pointer(&s.k),
		unsafe.Pointer(&s.alpha), unsafe.Pointer(&x[0]), unsafe.Pointer(&s.lda), unsafe.Pointer(&x[0]), unsafe.Pointer(&s.ldb),
		unsafe.Pointer(&s.beta), unsafe.Pointer(&x[0]), unsafe.Pointer(&s.ldc))
	r.kernel = mklKernel(mapped("libmkl_"))
	return r, nil
}

// threadingLayer returns the layer to use with a library of the given files: GNU's
// where it is there, else the sequential one. MKL ends the process when a layer
// that it is told to use is missing, and does not load libgomp itself.
func threadingLayer(files []string) (int32, error) {
	has := func(part string) bool {
		return slices.ContainsFunc(files, func(file string) bool {
			found, _ := filepath.Glob(filepath.Join(filepath.Dir(file), part+".*"))
			return len(found) > 0
		})
	}
	for _, part := range []string{"libmkl_core", "libmkl_intel_lp64"} {
		if len(files) > 0 && !has(part) {
			return 0, fmt.Errorf("%s is not beside it: install it whole", part)
		}
	}
	if has("libmkl_gnu_thread") && openGlobal("libgomp.so.1") == nil {
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

// mklKernel returns the name of the kernels among the files of MKL that are
// loaded: def, mc3, avx2, avx512.
func mklKernel(files []string) string {
	for _, file := range files {
		part, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), "libmkl_"), ".")
		if part == "def" || strings.HasPrefix(part, "mc") || strings.HasPrefix(part, "avx") {
			return part
		}
	}
	return "unknown"
}
