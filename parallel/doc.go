// Package parallel has the variants that divide one product among several threads, and the pool that
// runs them.
//
// # Schedules
//
// Pool.For runs a loop of n indices on p workers under a Schedule. The schedules of this package give
// out the same chunks as libgomp, the OpenMP library of gcc:
//
//	static       one contiguous block per worker: ⌊n/p⌋ + 1 indices for the first n mod p
//	             workers, ⌊n/p⌋ for the others
//	static, c    chunks of c, round robin: worker w has the chunks w, w + p, w + 2p, …
//	dynamic, c   the next c indices for a free worker, by one atomic addition; default c = 1
//	guided, c    the next max(c, ⌈left/p⌉) indices for a free worker
//	default      the default of libgomp: dynamic, 1
//	auto         the best of static, dynamic and guided by a short measurement; in libgomp auto
//	             is static
//
// If all indices take the same time and processors are equally fast, static is best: it decides
// nothing at run time. Otherwise dynamic and guided balance the load, for one atomic operation per
// chunk. Your own schedule implements Share and Next.
//
// # Variants
//
// The variants, in the order of the ladder:
//
//	rows         divides the outermost of the three loops
//	inner        divides the innermost loop
//	collapse-…   divide the two outer loops of ikj as one; they differ in how they add the sums
//	             of several workers
//	tiles        divides C in two dimensions
//	packed       the production variant of package serial on a pool
//	strassen     the same for Strassen's algorithm
package parallel
