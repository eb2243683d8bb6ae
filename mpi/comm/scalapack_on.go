//go:build mpi

package comm

/*
#cgo linux LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void gemm_routine(const char *ta, const char *tb, const int *m, const int *n, const int *k,
	const void *alpha, const void *a, const int *ia, const int *ja, const int *desca,
	const void *b, const int *ib, const int *jb, const int *descb,
	const void *beta, void *c, const int *ic, const int *jc, const int *descc);

typedef struct {
	void *handle;
	void (*get)(int context, int what, int *value);
	void (*gridinit)(int *context, const char *order, int p, int q);
	void (*gridinfo)(int context, int *p, int *q, int *row, int *col);
	gemm_routine *pdgemm, *psgemm;
	// Of OpenBLAS; NULL for another BLAS.
	int (*threads)(void);
	void (*set_threads)(int n);
	char *(*core)(void), *(*config)(void);
} scalapack;

// look_up finds the functions of an open library. It returns 1 if one is missing.
static int look_up(uintptr_t handle, scalapack *s) {
	memset(s, 0, sizeof *s);
	s->handle = (void *)handle;
	*(void **)&s->get = dlsym(s->handle, "Cblacs_get");
	*(void **)&s->gridinit = dlsym(s->handle, "Cblacs_gridinit");
	*(void **)&s->gridinfo = dlsym(s->handle, "Cblacs_gridinfo");
	*(void **)&s->pdgemm = dlsym(s->handle, "pdgemm_");
	*(void **)&s->psgemm = dlsym(s->handle, "psgemm_");
	*(void **)&s->threads = dlsym(s->handle, "openblas_get_num_threads");
	*(void **)&s->set_threads = dlsym(s->handle, "openblas_set_num_threads");
	*(void **)&s->core = dlsym(s->handle, "openblas_get_corename");
	*(void **)&s->config = dlsym(s->handle, "openblas_get_config");
	return !s->get || !s->gridinit || !s->gridinfo || !s->pdgemm || !s->psgemm;
}

// file_of writes the name of the library's file that defines the symbol.
static void file_of(scalapack *s, const char *symbol, char *text, size_t size) {
	Dl_info info;
	void *at = dlsym(s->handle, symbol);
	text[0] = 0;
	if (at != NULL && dladdr(at, &info) != 0) snprintf(text, size, "%s", info.dli_fname);
}

// longest_version is longer than the version text of any MPI.
enum { longest_version = 1 << 14 };

// other_mpi writes the name of the MPI that the library was built for. It returns 1 if that is not our MPI.
static int other_mpi(scalapack *s, char *text) {
	char ours[MPI_MAX_LIBRARY_VERSION_STRING];
	int (*version)(char *, int *), n;
	*(void **)&version = dlsym(s->handle, "MPI_Get_library_version");
	text[0] = 0;
	if (version == NULL || version(text, &n) != 0) return 1;
	return MPI_Get_library_version(ours, &n) != MPI_SUCCESS || strcmp(ours, text) != 0;
}

static int threads_of(scalapack *s) { return s->threads == NULL ? 0 : s->threads(); }
static const char *core_of(scalapack *s) { return s->core == NULL ? "" : s->core(); }
static const char *config_of(scalapack *s) { return s->config == NULL ? "" : s->config(); }

// make_grid makes a context of all ranks. The BLACS ignore the results of MPI calls, so errors on their
// communicators, which are made here, must end the job.
static int make_grid(scalapack *s, int p, int q, int *context) {
	int e, rows, cols, row, col;
	if ((e = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)) != MPI_SUCCESS) return e;
	s->get(0, 0, context);
	s->gridinit(context, "Row", p, q);
	s->gridinfo(*context, &rows, &cols, &row, &col);
	e = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	return e == MPI_SUCCESS && (rows != p || cols != q) ? MPI_ERR_TOPOLOGY : e;
}

// multiply computes cᵀ = bᵀ·aᵀ in one call, with that many threads of OpenBLAS.
static void multiply(scalapack *s, int context, int single, int threads, int m, int n, int k, int nb,
	void *c, int ldc, void *a, int lda, void *b, int ldb) {
	const int first = 1;
	const int desca[9] = {1, context, k, m, nb, nb, 0, 0, lda};
	const int descb[9] = {1, context, n, k, nb, nb, 0, 0, ldb};
	const int descc[9] = {1, context, n, m, nb, nb, 0, 0, ldc};
	const double one = 1, zero = 0;
	const float one_single = 1, zero_single = 0;
	const int had = threads_of(s), change = s->set_threads != NULL && had != threads;
	if (change) s->set_threads(threads);
	(single ? s->psgemm : s->pdgemm)("N", "N", &n, &m, &k,
		single ? (const void *)&one_single : &one, b, &first, &first, descb, a, &first, &first, desca,
		single ? (const void *)&zero_single : &zero, c, &first, &first, descc);
	if (change) s->set_threads(had);
}
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/dl"
)

// scalapackSearch returns the files that a program with the given MPI tries to open, in this order.
func scalapackSearch(mpi string) dl.Search {
	name := "libscalapack-mpich"
	if strings.Contains(mpi, "Open MPI") {
		name = "libscalapack-openmpi"
	}
	return dl.Search{
		Title: "ScaLAPACK", Variable: "GEMM_SCALAPACK",
		Names:  []string{name + ".so.2.2", name + ".so.2.1", name + ".so", "libscalapack.so.2.2", "libscalapack.so"},
		Remedy: fmt.Sprintf("install %s2.2 or %[1]s-dev (Debian, Ubuntu)", name),
	}
}

// library has the functions of the open library.
type library struct {
	open  *dl.Library
	c     *C.scalapack
	grids map[[2]int]*ProcessGrid
}

// ProcessGrid is a grid of ranks of the library.
type ProcessGrid struct {
	of      *ScaLAPACK
	context C.int
}

var scalapackFound struct {
	sync.Mutex
	*ScaLAPACK
}

// OpenScaLAPACK opens the library, once per process. The error is an ErrUnavailable with the remedy.
//
// Its BLAS gets one thread. If it is an OpenBLAS that is older than the processor, it gets the
// kernels that suit the processor. Both are set in the environment of this process, which child
// processes do not inherit; settings of the user take precedence.
func OpenScaLAPACK() (*ScaLAPACK, error) {
	scalapackFound.Lock()
	defer scalapackFound.Unlock()
	if scalapackFound.ScaLAPACK != nil {
		return scalapackFound.ScaLAPACK, nil
	}
	s, err := dl.Find(scalapackSearch(Version()), openScaLAPACK)
	scalapackFound.ScaLAPACK = s
	return s, err
}

// openScaLAPACK opens the file with the path or name.
func openScaLAPACK(name string) (*ScaLAPACK, error) {
	for _, variable := range []string{"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"} {
		setting(variable, "1")
	}
	l, err := newLibrary(name)
	if err != nil {
		return nil, err
	}
	core := C.GoString(C.core_of(l.c))
	kernel := core
	if better := dl.BetterCore(core, cpu.Supported(), cpu.FullWidthAVX512()); better != "" {
		if setting("OPENBLAS_CORETYPE", better) {
			// The kernel is chosen when the library is opened.
			if err := l.open.Close(); err != nil {
				return nil, err
			}
			if l, err = newLibrary(name); err != nil {
				return nil, err
			}
			kernel = fmt.Sprintf("%s (OPENBLAS_CORETYPE=%s; its own choice is %s)", C.GoString(C.core_of(l.c)), better, core)
		}
		if C.GoString(C.core_of(l.c)) == core {
			kernel = fmt.Sprintf("%s (slow on this processor: a newer OpenBLAS, or one with OPENBLAS_CORETYPE=%s, is faster)",
				core, better)
		}
	}
	s := &ScaLAPACK{File: l.file("pdgemm_"), BLAS: l.file("dgemm_"), Kernel: kernel, Threads: 1, library: l}
	_, s.Version, _ = strings.Cut(s.File, ".so.")
	if words := strings.Fields(C.GoString(C.config_of(l.c))); len(words) > 1 { // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
		s.BLAS = words[0] + " " + words[1]
	}
	if _, own := os.LookupEnv("OPENBLAS_NUM_THREADS"); own {
		s.Threads = max(1, int(C.threads_of(l.c)))
	}
	return s, nil
}

// setting sets a variable in the environment that the library sees, unless the user has set it. It reports
// whether it did.
func setting(variable, value string) bool {
	if _, own := os.LookupEnv(variable); own {
		return false
	}
	return dl.Setenv(variable, value) == nil
}

// newLibrary opens the file with the path or name, unless it was built for another MPI.
func newLibrary(name string) (l library, err error) {
	l = library{c: &C.scalapack{}, grids: map[[2]int]*ProcessGrid{}}
	if l.open, err = dl.Open(name); err != nil {
		return l, err
	}
	if C.look_up(C.uintptr_t(l.open.Handle()), l.c) != 0 {
		return l, errors.Join(fmt.Errorf("%s has no pdgemm_ or no BLACS: it is not the library meant", name), l.open.Close())
	}
	var version [C.longest_version]C.char
	if C.other_mpi(l.c, &version[0]) != 0 {
		other, _, _ := strings.Cut(C.GoString(&version[0]), "\n")
		err := fmt.Errorf("%s is made for another MPI (%s) than this program (%s)", name, cmp.Or(other, "unknown"), Version())
		return l, errors.Join(err, l.open.Close())
	}
	return l, nil
}

// file returns the base name of the file that defines the symbol, with links followed.
func (l library) file(symbol string) string {
	name := C.CString(symbol)
	defer C.free(unsafe.Pointer(name))
	var text [4096]C.char
	C.file_of(l.c, name, &text[0], C.size_t(len(text)))
	path := C.GoString(&text[0])
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Base(path)
}

// Grid returns the grid of all ranks, p rows of q, in the order of their numbers. All ranks call it. A grid lives
// as long as the job.
func (s *ScaLAPACK) Grid(p, q int) (*ProcessGrid, error) {
	if g, ok := s.grids[[2]int{p, q}]; ok {
		return g, nil
	}
	g := &ProcessGrid{of: s}
	if err := failed(C.make_grid(s.c, C.int(p), C.int(q), &g.context), "Cblacs_gridinit"); err != nil {
		return nil, err
	}
	s.grids[[2]int{p, q}] = g
	return g, nil
}

func (g *ProcessGrid) product(s gemm.Shape, block int, parts [3]buffer) error {
	c, a, b := parts[0], parts[1], parts[2]
	C.multiply(g.of.c, g.context, flag(c.kind == float32s), C.int(g.of.Threads), C.int(s.M), C.int(s.N), C.int(s.K),
		C.int(block), c.at, C.int(c.stride), a.at, C.int(a.stride), b.at, C.int(b.stride))
	return nil
}
