// Command gemm-cuda computes products on NVIDIA GPUs for gemm. It is a separate program because it is linked
// with the CUDA driver and does not start without it. Build it with the tag cuda (make build).
package main
