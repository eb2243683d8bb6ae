package kernel

import (
	"fmt"
	"unsafe"

	"gemm/gf256"
	"gemm/internal/kernel/gf"
)

// Into is the way in which a micro-kernel in GF(2⁸) writes C.
type Into uint8

const (
	IntoSet    Into = iota // C ← A·B
	IntoAdd                // C ← C + A·B
	IntoStream             // C ← A·B with non-temporal stores, so that the lines of C need not be read
)

// Field is a micro-kernel of products in GF(2⁸). It keeps a tile of C in registers for the whole of
// k. Field also says in which form it needs A: in place of an element, the operand of its
// multiplication, a table or a matrix.
type Field struct {
	Name   string // instructions and tile, as in "gfni512-24x64"
	MR, NR int    // rows and columns of a full tile; n of Run is a multiple of NR

	words func(rows int) int // words of a packed column of a sliver
	pack  func(rows, k int, dst []uint64, a []gf256.Elem, lda int)
	run   func(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)
}

// Run computes a sliver, C ← A·B or, with IntoAdd, C ← C + A·B:
//
//	for i := range rows {
//		for l := range k {
//			gf256.AddScaled(c[i][cAt:][:n], A(i, l), b[l][bAt:][:n])
//		}
//	}
//
// A is rows×k and packed. Rows of B and C are anywhere in memory; b and c may have more than are used. rows is at most
// MR, n is a multiple of NR, and k is at least 1. With IntoStream, column cAt of each row of C begins a cache line. If
// this does not hold, or a slice is too short, Run panics before it writes anything. Assembly cannot be preempted, so
// callers limit k and n: a call takes some hundred microseconds at most.
func (f *Field) Run(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into Into) {
	if rows <= 0 || n <= 0 {
		return
	}
	if rows > f.MR || n != f.NR && n%f.NR != 0 {
		panic(fmt.Sprintf("kernel: %s computes at most %d rows and multiples of %d columns, not %d and %d", f.Name, f.MR,
			f.NR, rows, n))
	}
	_, _, _ = a[k*f.words(rows)-1], b[k-1], c[rows-1]
	if b, c = b[:k], c[:rows]; into == IntoStream && !Streams(c, cAt) {
		panic(fmt.Sprintf("kernel: column %d of a row of C does not begin a cache line", cAt))
	}
	check(b, bAt, n)
	check(c, cAt, n)
	f.run(rows, k, n, a, b, bAt, c, cAt, uint8(into))
}

// check panics unless all rows have n elements from at on.
func check(rows [][]byte, at, n int) {
	for i := range rows {
		if len(rows[i])-n < at || at < 0 {
			panic(fmt.Sprintf("kernel: row %d has %d elements, not %d from %d on", i, len(rows[i]), n, at))
		}
	}
}

// Streams reports whether column at of every row of C begins a cache line.
func Streams(c [][]byte, at int) bool {
	const line = 64
	for _, row := range c {
		if (uintptr(unsafe.Pointer(unsafe.SliceData(row)))+uintptr(at))%line != 0 {
			return false
		}
	}
	return true
}

// Slivers returns how m > 0 rows are divided into slivers; see Kernel.Slivers.
func (f *Field) Slivers(m int) (height, taller, slivers int) { return cut(m, f.MR) }

// Words returns the number of words of a packed column of a sliver with the given rows.
func (f *Field) Words(rows int) int { return f.words(rows) }

// Pack packs the rows×k sliver of A whose row i begins at a[i·lda] into k·Words(rows) words of dst, one
// column after another. It panics if a slice is too short.
func (f *Field) Pack(rows, k int, dst []uint64, a []gf256.Elem, lda int) {
	if rows <= 0 || k <= 0 {
		return
	}
	_, _ = dst[k*f.words(rows)-1], a[(rows-1)*lda+k-1]
	f.pack(rows, k, dst, a, lda)
}

func nibbleWords(rows int) int { return 4 * rows }

// packNibbles packs two tables for each element; see gf.Nibbles.
func packNibbles(rows, k int, dst []uint64, a []gf256.Elem, lda int) {
	table := gf.Nibbles()
	for i := range rows {
		for l, x := range a[i*lda:][:k] {
			*(*[4]uint64)(dst[4*(l*rows+i):]) = table[x.Byte()]
		}
	}
}
