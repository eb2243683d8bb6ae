//go:build !linux

package mpi

// dieWithParent does nothing: this system has no such signal.
func dieWithParent() {}
