// Command gemm-cuda computes on NVIDIA GPUs what gemm asks it for. It is a program of its
// own because it is linked with the driver, without which it does not start: build it with
// the tag cuda (make build).
package main
