//go:build !amd64

package kernel

// Best returns the fastest kernel of this build.
func Best[T Float]() Kernel[T] { return portable[T]() }
