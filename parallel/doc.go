// Package parallel has the variants that divide one product among several threads. Package pool runs their loops.
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
