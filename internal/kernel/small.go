package kernel

import "unsafe"

// Small computes C ← α·A·B + β·C for matrices in memory, m×k, k×n and m×n, none of them empty. Element (i, l) of A is
// a[i·aRow + l·aCol]. Rows of B and C are contiguous; row l of B begins at b[l·bRow], row i of C at c[i·ldc]. If β = 0,
// C is not read. The product is summed over k before it is multiplied by α.
type Small[T Float] func(m, n, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, ldc int, alpha, beta T)

// copied is the number of elements of the largest B that Small copies.
const copied = 256

// IsFew reports whether Small computes a product, in which B has contiguous rows or, transposed, contiguous columns. No
// dimension is 0 then.
func (k *Kernel[T]) IsFew(m, n, depth int, transposed bool) bool {
	few := uint64(k.Few)
	return uint64(m-1) < few && uint64(n-1) < few && uint64(depth-1) < few &&
		uint64(m)*uint64(n)*uint64(depth) <= few && !(transposed && up4(n)*depth > copied)
}

func up4(n int) int { return (n + 3) &^ 3 }

// Small multiplies small matrices, for which IsFew; see the type Small. If B is transposed, its columns begin ldb
// elements apart and are contiguous. The caller has checked that the slices hold the matrices.
func (k *Kernel[T]) Small(m, n, depth int, a *T, aRow, aCol int, b *T, ldb int, transposed bool, c *T, ldc int,
	alpha, beta T) {
	switch {
	case !transposed:
		k.small(m, n, depth, a, aRow, aCol, (*T)(noEscape(unsafe.Pointer(b))), ldb, c, ldc, alpha, beta)
	case up4(n)*depth <= copied/4: // to clear the larger buffer takes longer than such a product
		var buffer [copied / 4]T
		k.Transpose(n, depth, buffer[:], up4(n), unsafe.Slice(b, (n-1)*ldb+depth), ldb)
		k.Small(m, n, depth, a, aRow, aCol, &buffer[0], up4(n), false, c, ldc, alpha, beta)
	default:
		k.smallCopied(m, n, depth, a, aRow, aCol, b, ldb, c, ldc, alpha, beta)
	}
}

// smallCopied is Small for a transposed B of up to copied elements.
func (k *Kernel[T]) smallCopied(m, n, depth int, a *T, aRow, aCol int, b *T, ldb int, c *T, ldc int, alpha, beta T) {
	var buffer [copied]T
	k.Transpose(n, depth, buffer[:], up4(n), unsafe.Slice(b, (n-1)*ldb+depth), ldb)
	k.Small(m, n, depth, a, aRow, aCol, &buffer[0], up4(n), false, c, ldc, alpha, beta)
}
