package gf

//go:generate go run -C ../_asm ./field -pkg gf -out ../gf/gf_amd64.s

// GFNI512 computes a sliver of up to 24 rows by affine transformations of 64 bytes; see kernel.Field.
// A is packed with Matrices.
//
//go:noescape
func GFNI512(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)

// GFNI256 computes a sliver of up to 6 rows by affine transformations of 32 bytes; see kernel.Field.
// A is packed with Matrices.
//
//go:noescape
func GFNI256(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)

// AVX2 computes a sliver of up to 4 rows by look-ups of 32 nibbles; see kernel.Field. A is packed with Nibbles.
//
//go:noescape
func AVX2(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)

// SSSE3 computes a sliver of up to 4 rows by look-ups of 16 nibbles; see kernel.Field. A is packed with Nibbles.
//
//go:noescape
func SSSE3(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8)

// Fetch has p fetched into the second level of cache, every 64th byte from its first on, and waits for nothing.
//
//go:noescape
func Fetch(p []byte)
