// Package device computes products on an NVIDIA GPU: by the kernels of package cuda, compiled for
// that GPU, and by cuBLAS. It needs the build tag cuda. Only the worker imports it, since
// gorgonia.org/cu ends a process that has no GPU.
package device
