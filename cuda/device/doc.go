// Package device computes products on an NVIDIA GPU: the kernels of package cuda, compiled
// for the very GPU, and NVIDIA's cuBLAS beside them. It is built with the tag cuda only,
// and only the worker imports it: gorgonia.org/cu ends a process that has no GPU.
package device
