package kernel

import (
	"fmt"
	"unsafe"

	"gemm/internal/cpu"
)

// Best returns the fastest kernel for the instruction set that cpu.Detect chose.
func Best[T Float]() Kernel[T] {
	k := portable[T]()
	if detected() != cpu.NEON {
		return k
	}
	tiles, columns, lanes := tilesF64, transposeF64, 2
	if unsafe.Sizeof(T(0)) == 4 {
		tiles, columns, lanes = tilesF32, transposeF32, 4
	}
	// Lanes stays 1: a column takes as long in a tile of its own as alone.
	k.MR, k.NR, k.Strided, k.Few, k.together = 8, 3*lanes, true, 32*32*32, lanes
	k.Name, k.split = fmt.Sprintf("neon-%dx%d", k.MR, k.NR), splitBy[T](k.NR)
	k.run = func(t *byte) { slivers((*Tiles[T])(unsafe.Pointer(t)), tiles) }
	k.Small = func(m, n, depth int, a *T, aRow, aCol int, b *T, bRow int, c *T, ldc int, alpha, beta T) {
		t := Tiles[T]{N: n, K: depth, A: unsafe.Slice(a, (m-1)*aRow+(depth-1)*aCol+1), ARow: aRow, ACol: aCol,
			B: unsafe.Slice(b, 1), BRow: bRow, BNext: 3 * lanes, C: unsafe.Slice(c, (m-1)*ldc+n), LDC: ldc, Alpha: alpha,
			Beta: beta}
		t.Height, t.Taller, t.Slivers = cut(m, 8)
		slivers(&t, tiles)
	}
	portable := k.transpose
	k.transpose = func(rows, cols int, dst []T, ldd int, src []T, lds int) {
		if whole := cols &^ (lanes - 1); rows == lanes && whole > 0 {
			columns(whole, unsafe.Pointer(&dst[0]), ldd, unsafe.Pointer(&src[0]), lds)
			if cols -= whole; cols == 0 {
				return
			}
			dst, src = dst[whole*ldd:], src[whole:]
		}
		portable(rows, cols, dst, ldd, src, lds)
	}
	return k
}

// slivers computes tiles sliver by sliver, by a function that computes one sliver of A.
func slivers[T Float](t *Tiles[T], tiles func(t *byte)) {
	one := *t
	for s := range t.Slivers {
		if s == t.Taller {
			one.Height--
		}
		tiles((*byte)(noEscape(unsafe.Pointer(&one))))
		if s+1 < t.Slivers {
			step := t.ANext
			if step == 0 {
				step = one.Height * t.ARow
			}
			one.A, one.C = one.A[min(step, len(one.A)):], one.C[one.Height*t.LDC:]
		}
	}
}

// BestField returns the fastest kernel in GF(2⁸) for the instruction set that cpu.Detect chose.
func BestField() Field {
	if detected() != cpu.NEON {
		return portableField()
	}
	return Field{Name: "neon-4x64", MR: 4, NR: 64, words: nibbleWords, pack: packNibbles, run: fieldNEON}
}

// Fetch does nothing.
func Fetch([]byte) {}

// tilesF64 computes the Tiles at t, of which A is one sliver, in tiles of up to 8×6. 24 sums and 3 vectors of B are in
// registers. A full tile of which the columns of A are contiguous reads them by vectors, others by elements.
//
//go:noescape
func tilesF64(t *byte)

// tilesF32 is tilesF64 with tiles of up to 8×12.
//
//go:noescape
func tilesF32(t *byte)

// transposeF64 copies two rows of n elements into columns; see Kernel.Transpose. n is a multiple of 2.
//
//go:noescape
func transposeF64(n int, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds int)

// transposeF32 copies four rows, and n is a multiple of 4.
//
//go:noescape
func transposeF32(n int, dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds int)

// fieldNEON computes a sliver of up to 4 rows by look-ups of 64 nibbles; see Field. A is packed with gf.Nibbles.
//
//go:noescape
func fieldNEON(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)
