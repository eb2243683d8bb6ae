package kernel

import (
	"os"
	"testing"
)

// TestNEON: the kernels are NEON's, unless GEMM_CPU takes it away.
func TestNEON(t *testing.T) {
	want := [...]string{"neon-8x12", "neon-8x6", "neon-4x64"}
	if os.Getenv("GEMM_CPU") == "generic" {
		want = [...]string{"go-2x4", "go-2x4", "go-8x8"}
	}
	got, plain := [...]string{Best[float32]().Name, Best[float64]().Name, BestField().Name}, want[0] == "go-2x4"
	if got != want || converts() == plain {
		t.Errorf("the kernels are %v, conversions by vectors %v; want %v", got, converts(), want)
	}
}
