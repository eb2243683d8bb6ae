// Package reference compares this suite with the libraries that people use: OpenBLAS, Intel MKL and BLIS, and
// klauspost/reedsolomon in GF(2⁸). The last one is Go and runs in this process; the others are not part of the build. A
// library is searched when a variant is constructed. If none is found, the error is gemm.ErrUnavailable. The search
// takes the usual names with any version, the newest first, 32-bit integers before 64-bit ones. The environment
// variables GEMM_OPENBLAS, GEMM_MKL and GEMM_BLIS name a file instead. The symbols of OpenBLAS may be named as in
// pip's builds: scipy_dgemm_64_.
//
// NumPy and PyTorch are called from Python, in a process of their own, and so are the loops of a textbook
// in Python alone; see package internal/python.
//
// # Processes
//
// On Linux with a C compiler, a library that is measured runs in a process of its own, and its
// variant is a gemm.Stager; see package internal/peer. If another user can have written the program
// of the process, the library is unavailable, and the reason names the file or folder and the remedy.
// If the process ends, that is the error of the row in progress, and the next row gets a new process.
//
// On other systems, and for products that are not staged (gemm.Multiplier, gemm.Gemmer), a library
// is opened in this process. Resolved says which: process=own or shared.
//
// libgomp, with which the loops of package parallel are compared, has a similar program: OpenMP.
//
// # Programs in C
//
// Textbook loops in C (programs/c-*.c) and an OpenMP program (programs/openmp-collapse.c) are compiled as libraries by
// the first of gcc, clang and cc, at the first use and for this processor. The same processes hold them, on Linux only.
//
// # Calls in this process
//
// Libraries are called without cgo, by github.com/ebitengine/purego. Products call sgemm_ and dgemm_, the Fortran
// versions of cblas_sgemm and cblas_dgemm, with the operands exchanged: a row-major matrix is the transpose of a
// column-major one. All their arguments are pointers, so a call costs about 0.2 µs and one allocation. cblas_dgemm
// mixes integers and floating-point numbers. That needs reflection, 1 µs and 12 allocations, a fifth of the time of a
// 64×64×64 product at 100 GFLOP/s. A product cannot be interrupted: a context that is cancelled meanwhile has no
// effect.
//
// # Fairness
//
// The libraries run with their default settings, except where those would mislead. A setting of the
// user in the environment always takes precedence.
//
//   - A library that is older than the processor may take it for a far lesser
//     one. OpenBLAS and BLIS are set to their kernels for AVX-512 or AVX2 if these
//     promise to be faster (OPENBLAS_CORETYPE, BLIS_ARCH_TYPE). The kernel used is in
//     Resolved. A kernel that is slow all the same, such as MKL's on processors of other
//     makers, is a warning in the row.
//   - In this process, workers that wait for the next call by spinning slow down
//     whatever is measured next: OpenBLAS's workers spun for more than 100 ms,
//     libgomp's for 10. They sleep after about 0.1 ms (OPENBLAS_THREAD_TIMEOUT=16,
//     GOMP_SPINCOUNT=1000). Passive waiting (OMP_WAIT_POLICY) costs products of
//     n = 64 on two threads nine tenths of their speed and is left alone. In a
//     process of its own a library waits as it is made to.
//
// These settings are for one process only, when a library is opened; child processes do not inherit them. OpenMP keeps
// a set of workers for each operating-system thread that calls it, so lock your thread if you call often.
package reference
