package kernel

import "unsafe"

// Small computes C ← α·A·B + β·C for matrices in memory, m×k, k×n and m×n, none of them empty. Element (i, l) of A is
// a[i·aRow + l·aCol]. Rows of B and C are contiguous; row l of B begins at b[l·bRow], row i of C at c[i·ldc]. If β = 0,
// C is not read. The product is summed over k before it is multiplied by α.
type Small[T Float] func(m, n, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, ldc int, alpha, beta T)

// copied is the number of elements of the largest B that Small copies.
const copied = 256

// IsFew reports whether Small computes a product, in which B has contiguous rows or, transposed, contiguous columns. No
// dimension is 0 then. Few columns of many elements are left to Column.
func (k *Kernel[T]) IsFew(m, n, depth int, transposed bool) bool {
	few := uint64(k.Few)
	return uint64(m-1) < few && uint64(n-1) < few && uint64(depth-1) < few && depth <= 32*n &&
		uint64(m)*uint64(n)*uint64(depth) <= few && !(transposed && up4(n)*depth > copied)
}

func up4(n int) int { return (n + 3) &^ 3 }

// SmallTransposed is Small for a transposed B: its columns begin ldb elements apart and are contiguous.
func (k *Kernel[T]) SmallTransposed(m, n, depth int, a *T, aRow, aCol int, b *T, ldb int, c *T, ldc int,
	alpha, beta T) {
	if up4(n)*depth > copied/4 { // to clear the larger buffer takes longer than a product that needs the smaller one
		k.smallCopied(m, n, depth, a, aRow, aCol, b, ldb, c, ldc, alpha, beta)
		return
	}
	var buffer [copied / 4]T
	k.multiplyBy(buffer[:], m, n, depth, a, aRow, aCol, b, ldb, c, ldc, alpha, beta)
}

// smallCopied is SmallTransposed for up to copied elements of B.
func (k *Kernel[T]) smallCopied(m, n, depth int, a *T, aRow, aCol int, b *T, ldb int, c *T, ldc int, alpha, beta T) {
	var buffer [copied]T
	k.multiplyBy(buffer[:], m, n, depth, a, aRow, aCol, b, ldb, c, ldc, alpha, beta)
}

// multiplyBy is SmallTransposed with a buffer for the copy of B.
//
//go:noinline
func (k *Kernel[T]) multiplyBy(buffer []T, m, n, depth int, a *T, aRow, aCol int, b *T, ldb int, c *T, ldc int,
	alpha, beta T) {
	k.Transpose(n, depth, buffer, up4(n), unsafe.Slice(b, (n-1)*ldb+depth), ldb)
	// The buffer may be on the caller's stack, like Tiles.
	rows := (*T)(noEscape(unsafe.Pointer(unsafe.SliceData(buffer))))
	k.Small(m, n, depth, a, aRow, aCol, rows, up4(n), c, ldc, alpha, beta)
}
