//go:build !amd64

package peak

import "gemm/internal/cpu"

// assembly returns no loop: there is assembly for amd64 only.
func assembly(string, cpu.ISA) (loop, bool) { return loop{}, false }
