package vector

import "unsafe"

//go:generate go run -C ../_asm ./gemv -pkg vector -out ../vector/gemv_amd64.s

// axpys is Axpys for elements of a size. It cannot be preempted, as the others.
//
//go:noescape
func axpys(size uintptr, m, n int, alpha, a unsafe.Pointer, lda int, x, y unsafe.Pointer)

// ger is Ger for elements of a size.
//
//go:noescape
func ger(size uintptr, m, n int, alpha, a unsafe.Pointer, lda int, x, y unsafe.Pointer)

// triangle computes strips of a triangle; see Triangle. a, x and y are at the first element on the diagonal of the first
// strip. The rectangle of the strip has n columns and begins off elements before; with a negative off, it is to the
// right. From one strip to the next, n changes by dn and off by doff, and the rectangle moves by da elements of A and dx
// of x and y.
//
//go:noescape
func triangle(size uintptr, op, strips, n, dn, off, doff int, alpha, a unsafe.Pointer, da, lda int, x, y unsafe.Pointer,
	dx int, unit bool)
