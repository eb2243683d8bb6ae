// Package parallel holds the variants that share the work of one product between
// goroutines, and the pool of workers that they run on.
package parallel
