// Package serial is a ladder of matrix multiplications for one processor. It climbs from the definition to the packed
// product of BLAS libraries; Strassen's and Winograd's fast algorithms stand next to it. Each algorithm is one file.
// Its comment says what changes compared with the file before, what that saves in memory traffic or operations, and how
// large the error is. The lesson is the difference between two files.
//
//	naive       three loops in the order of the definition; B is read down its columns
//	ikj         the same loops in another order: all accesses are contiguous
//	transposed  the other way: B is transposed first, and rows meet rows
//	unrolled    the definition again, four terms at a time
//	hinted      ikj with four terms at a time, written so that the compiler can optimize it
//	blocked     hinted on blocks of B that stay in cache
//	divide      blocks of every size at once, by halving
//	quadrants   halves in all dimensions, eight products in temporaries and four additions
//	strassen    halves, with seven products in place of eight
//	winograd    the same with 15 additions in place of 18
//	packed      blocks copied into the order of use, around a micro-kernel in registers
//	gonum       gonum's dgemm and sgemm, as a baseline
//	loops       naive with its loops in any order, for comparison: no step of the ladder
//
// C is m×n, A is m×k and B is k×n. Memory traffic is the number of elements that move between memory and a cache of Z
// elements. The cache has lines of L elements, is fully associative, and replaces the line that was used least
// recently. An element that is written counts twice, since its line is read first. On real caches, strides that are
// powers of two cost more: they map to the same sets.
//
// Unless its file says otherwise, an algorithm is classical. It executes 2mnk operations, and every
// element of C is the sum of its k products in some order. The error is |Ĉ − C| ≤ γ_k·|A||B| with
// γ_k = k·u/(1 − k·u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
// 3.5); see gemm.Classical. The loops know no context: a wrapper calls them for pieces of a product
// and checks the context in between (see inPieces).
package serial
