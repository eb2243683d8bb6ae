// Package parallel holds the variants that share the work of one product between
// goroutines, and the pool of workers that they run on.
//
// # Schedules
//
// Pool.For runs a loop of n indices on p workers under a Schedule. Those that come with
// the package hand out the chunks that libgomp does, gcc's OpenMP:
//
//	static       one contiguous block for each worker, of ⌊n/p⌋ + 1 indices for the first
//	             n mod p and of ⌊n/p⌋ for the others
//	static, c    chunks of c dealt in turn: worker w has w, w + p, w + 2p, …
//	dynamic, c   the next c indices for the worker that is free, by one atomic addition;
//	             c = 1 where none is given
//	guided, c    the next max(c, ⌈left/p⌉) indices for the worker that is free
//	default      what libgomp does where nobody says anything: dynamic, 1
//	auto         what a short measurement finds best for this loop, among static, dynamic
//	             and guided: a departure from libgomp, whose auto is static
//
// Where the work of an index is known and the processors are alike, static has nothing
// to decide at run time; where either is not so, dynamic and guided even it out, at the
// price of an atomic operation a chunk. A schedule of one's own implements Share and
// Next.
//
// # Variants
//
// In the order of the ladder: rows shares out the outermost of the three loops, inner
// the innermost; the collapse variants share out the two outer ones of ikj as one, and
// differ in how sums that several workers form are joined; tiles shares out C in two
// dimensions; packed and strassen are the production variants of package serial on a
// pool.
package parallel
