// Package serial is a ladder of matrix multiplications for one processor, from
// the definition to a packed product as BLAS libraries have it, and aside from it
// the fast algorithms of Strassen and Winograd. Each is a file, whose comment
// says what it changes over the one before, what that buys in memory traffic or
// operations, and how large its error is; the lesson is the difference of two
// files.
//
//	naive       three loops in the order of the definition; B is walked down its columns
//	ikj         the same loops in the order in which all walks are contiguous
//	transposed  or: B transposed first, so that rows meet rows
//	unrolled    the definition again, four terms at a time
//	hinted      ikj and four terms at a time, so that the compiler can do its part
//	blocked     hinted on blocks of B that stay in cache
//	divide      blocks of every size at once, by halving
//	strassen    halves with seven products in place of eight
//	winograd    the same with fifteen additions in place of eighteen
//	packed      blocks copied into the order of use, round a micro-kernel in registers
//	gonum       gonum's dgemm and sgemm, as a baseline
//
// Throughout, C is m×n, A is m×k and B is k×n. Memory traffic is counted in
// elements moved between memory and a cache of Z elements with lines of L
// elements, fully associative, that keeps what was used last; an element that is
// written counts twice, since its line is read first. Powers of two as strides
// are worse than that on real caches, whose sets they map onto one another.
//
// Unless its file says otherwise an algorithm is classical: it executes 2mnk
// operations, every element of C is the sum of its k products in some order, and
// the error is |Ĉ − C| ≤ γ_k·|A||B| (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., section 3.5), with γ_k = k·u/(1 − k·u); see
// gemm.Classical. A context is looked at once a row of C or once a block.
package serial
