// Package reference measures this suite against the libraries that people use:
// OpenBLAS, Intel MKL and BLIS, and in GF(2⁸) klauspost/reedsolomon, which is Go and
// runs in this process. The others are no part of the build. A library is looked for when
// a variant is constructed, and is absent (gemm.ErrUnavailable) where none is found: under
// the usual names with any version, the newest first, with 32-bit integers before those
// with 64, or under the name that an environment variable gives: GEMM_OPENBLAS, GEMM_MKL,
// GEMM_BLIS. The symbols of OpenBLAS may be those of pip's builds: scipy_dgemm_64_.
//
// # Processes
//
// A library that is to be measured runs in a process of its own, where Linux and a
// C compiler are at hand: a variant is then a gemm.Stager. The process is a small
// program, peer/main.c, which is compiled once and kept in the user's cache folder. A
// program there that another user can have written is not started: the library is then
// unavailable, and the reason says which file or folder and what helps.
// It holds a copy of the operands, multiplies as often as it is asked to and times
// that by its own clock, so that neither a call from Go nor the pipe is in the time
// of a short product. It is stopped (SIGSTOP) but while it answers: workers of a
// library spin as long as they like in their turn, and never beside what is measured
// next. A product shorter than 20 ms is made once before the clock starts, so that
// what the pause cost is not in it either. A process that ends is the error of the
// row that it was to measure, and the next row gets a new one.
//
// Elsewhere, and for products that are not staged (gemm.Multiplier, gemm.Gemmer), a
// library is opened in this process. Resolved says which: process=own or shared.
//
// libgomp, whose loops those of package parallel are measured beside, has a program of
// the same kind: OpenMP.
//
// # Calls in this process
//
// Libraries are called without cgo, through github.com/ebitengine/purego. The
// products call sgemm_ and dgemm_, the Fortran names of what cblas_sgemm and
// cblas_dgemm do, with the operands exchanged, since a row-major matrix is the
// transpose of a column-major one. All of their arguments are pointers, so that a
// call costs about 0.2 µs and one allocation; cblas_dgemm mixes integers with
// floating-point numbers, which takes reflection, 1 µs and 12 allocations: a fifth
// of the time of a 64×64×64 product at 100 GFLOP/s. BenchmarkCall measures both
// beside a call that does nothing. A product cannot be interrupted: a context that
// is cancelled meanwhile has no effect on it.
//
// # Fairness
//
// The libraries run as their makers set them up, but for what would mislead; each
// setting gives way to one that the user has made in the environment.
//
//   - A library that is older than the processor may take it for a far lesser
//     one. OpenBLAS and BLIS are told to use their kernels for AVX-512 or AVX2
//     where they would not and that promises to be faster (OPENBLAS_CORETYPE,
//     BLIS_ARCH_TYPE). The kernel used is in Resolved. A kernel that is slow all the
//     same, as those of MKL are on processors of other makers, is a warning in the
//     row.
//   - In this process, workers that wait for the next call by spinning slow down
//     whatever is measured next: those of OpenBLAS spun for more than 100 ms, those
//     of libgomp for 10. They sleep after about 0.1 ms (OPENBLAS_THREAD_TIMEOUT=16,
//     GOMP_SPINCOUNT=1000). Passive waiting (OMP_WAIT_POLICY) costs products of
//     n = 64 on two threads nine tenths of their speed and is left alone. In a
//     process of its own a library waits as it is made to.
//
// These settings are made for one process only, when a library is opened: children
// of this one do not inherit them. OpenMP keeps a set of workers for each thread of
// the operating system that calls it, so whoever calls often locks its thread.
package reference
