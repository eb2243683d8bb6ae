package gf

import (
	"math/bits"
	"testing"

	"gemm/gf256"
)

// TestMatrices applies each matrix as Intel's manual says that VGF2P8AFFINEQB does.
func TestMatrices(t *testing.T) {
	for a, matrix := range Matrices() {
		for x := range 256 {
			var got uint8
			for i := range 8 {
				row := uint8(matrix >> (8 * (7 - i)))
				got |= uint8(bits.OnesCount8(row&uint8(x))&1) << i
			}
			if want := gf256.Mul(gf256.New(uint8(a)), gf256.New(uint8(x))).Byte(); got != want {
				t.Fatalf("%d·%d is %d, want %d", a, x, got, want)
			}
		}
	}
}

// TestNibbles looks up the halves of each byte.
func TestNibbles(t *testing.T) {
	table := Nibbles()
	for a := range 256 {
		at := func(i int) uint8 { return uint8(table[a][i/8] >> (i % 8 * 8)) }
		for x := range 256 {
			got := at(x%16) ^ at(16+x/16)
			if want := gf256.Mul(gf256.New(uint8(a)), gf256.New(uint8(x))).Byte(); got != want {
				t.Fatalf("%d·%d is %d, want %d", a, x, got, want)
			}
		}
	}
}
