//go:build !amd64 && !arm64

package peak

import "gemm/internal/cpu"

// assembly returns no loop: there is no assembly for this architecture.
func assembly(string, cpu.ISA) (loop, bool) { return loop{}, false }
