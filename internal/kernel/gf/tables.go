package gf

import (
	"encoding/binary"
	"sync"

	"gemm/gf256"
)

// Matrices returns, for each element a, the linear map x ↦ a·x as an 8×8 matrix over GF(2), in the form
// that VGF2P8AFFINEQB reads. Byte 7−i of the word is row i; bit j of this byte is 1 if bit j of x
// contributes to bit i of a·x. Column j is a·xʲ. (The instruction VGF2P8MULB has another polynomial,
// 0x11b.)
var Matrices = sync.OnceValue(func() *[256]uint64 {
	table := new([256]uint64)
	for a := range table {
		for j := range 8 {
			column := gf256.Mul(gf256.New(uint8(a)), gf256.New(1<<j)).Byte()
			for i := range 8 {
				table[a] |= uint64(column>>i&1) << (8*(7-i) + j)
			}
		}
	}
	return table
})

// Nibbles returns two tables of 16 bytes for each element a, as four words: a·v, and a·(v·x⁴), for v = 0
// to 15. In these tables PSHUFB looks up the products with the low and with the high half of a byte
// (Plank, Greenan and Miller, Screaming Fast Galois Field Arithmetic Using Intel SIMD Instructions,
// FAST 2013).
var Nibbles = sync.OnceValue(func() *[256][4]uint64 {
	table := new([256][4]uint64)
	for a := range 256 {
		var products [32]byte
		for v := range 16 {
			products[v] = gf256.Mul(gf256.New(uint8(a)), gf256.New(uint8(v))).Byte()
			products[16+v] = gf256.Mul(gf256.New(uint8(a)), gf256.New(uint8(v)<<4)).Byte()
		}
		for w := range 4 {
			table[a][w] = binary.LittleEndian.Uint64(products[8*w:])
		}
	}
	return table
})
