//go:build !amd64 && !arm64

package kernel

// Best returns the fastest kernel of this build.
func Best[T Float]() Kernel[T] { return portable[T]() }

// BestField returns the fastest kernel in GF(2⁸) of this build.
func BestField() Field { return portableField() }

// Fetch does nothing; other processors have no prefetch here.
func Fetch([]byte) {}
