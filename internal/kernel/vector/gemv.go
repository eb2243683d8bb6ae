package vector

import (
	"unsafe"
)

// The operations of Triangle.
const (
	Symv        = iota // y ← y + α·A·x with A symmetric
	Syr                // A ← A + α·y·xᵀ, where y is x
	Syr2               // A ← A + α·(y·xᵀ + x·yᵀ)
	Trmv               // y ← A·y; x is y
	TrmvOfTrans        // y ← Aᵀ·y
	Trsv               // y ← A⁻¹·y; x is y, and α is −1
	TrsvOfTrans        // y ← A⁻ᵀ·y
)

const (
	// Strip is the number of rows that Triangle computes together.
	Strip = 4
	// Assembly cannot be preempted. A call of it takes some hundred microseconds at most: it gets at most mostRows rows
	// of mostColumns elements. That many elements of y fit into L2.
	mostRows, mostColumns = 32, 4096
)

// Axpys computes y ← y + α·Aᵀ·x with A m×n. Row i of A begins at a[i·lda].
// If a slice is too short, it panics before it writes anything; so do the others.
func Axpys[T Float](m, n int, alpha T, a []T, lda int, x, y []T) {
	if !Fast {
		for i, x := range x[:m] {
			for j, v := range a[i*lda:][:n] {
				y[j] += alpha * x * v
			}
		}
	} else if m > 0 && n > 0 {
		_, _, _ = a[(m-1)*lda+n-1], x[m-1], y[n-1]
		for j := 0; j < n; j += mostColumns {
			for i := 0; i < m; i += mostRows {
				axpys(unsafe.Sizeof(alpha), min(m-i, mostRows), min(n-j, mostColumns), unsafe.Pointer(&alpha),
					unsafe.Pointer(&a[i*lda+j]), lda, unsafe.Pointer(&x[i]), unsafe.Pointer(&y[j]))
			}
		}
	}
}

// Column computes y ← α·A·x + β·y with A m×n, m > 0; it needs Fast. Elements of y are incY apart. If β = 0, y is not
// read. The caller has checked the slices, and limits m and n.
func Column[T Float](m, n int, alpha T, a []T, lda int, x []T, beta T, y []T, incY int) {
	column(unsafe.Sizeof(alpha), m, n, unsafe.Pointer(&alpha), unsafe.Pointer(unsafe.SliceData(a)), lda,
		unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(&beta), unsafe.Pointer(&y[0]), incY)
}

// Ger computes A ← A + α·x·yᵀ with A m×n.
func Ger[T Float](m, n int, alpha T, a []T, lda int, x, y []T) {
	if !Fast {
		for i, x := range x[:m] {
			row := a[i*lda:][:n]
			for j, y := range y[:n] {
				row[j] += alpha * x * y
			}
		}
	} else if m > 0 && n > 0 {
		_, _, _ = a[(m-1)*lda+n-1], x[m-1], y[n-1]
		for i := 0; i < m; i += mostRows {
			for j := 0; j < n; j += mostColumns {
				ger(unsafe.Sizeof(alpha), min(m-i, mostRows), min(n-j, mostColumns), unsafe.Pointer(&alpha),
					unsafe.Pointer(&a[i*lda+j]), lda, unsafe.Pointer(&x[i]), unsafe.Pointer(&y[j]))
			}
		}
	}
}

// Triangle computes an operation with a triangle of order n; it needs Fast. It computes strips of rows, from the first
// to the last if forward, but not the last n%Strip rows of an upper triangle or the first of a lower one. A strip is a
// triangle on the diagonal, and a rectangle to the right of it, or for a lower triangle to the left.
func Triangle[T Float](op int, upper, forward, unit bool, n int, alpha T, a []T, lda int, x, y []T) {
	strips, i, step := n/Strip, 0, Strip
	if strips == 0 {
		return
	}
	_, _, _ = a[(n-1)*lda+n-1], x[n-1], y[n-1]
	if !upper {
		i = n % Strip
	}
	if !forward {
		i, step = i+(strips-1)*Strip, -Strip
	}
	for most := max(1, mostRows*mostColumns/Strip/n); strips > 0; strips -= most {
		columns, off, dn, doff, dx := i, i, step, step, 0
		if upper {
			columns, off, dn, doff, dx = n-i-Strip, -Strip, -step, 0, step
		}
		triangle(unsafe.Sizeof(alpha), op, min(strips, most), columns, dn, off, doff, unsafe.Pointer(&alpha),
			unsafe.Pointer(&a[i*lda+i]), step*lda+dx, lda, unsafe.Pointer(&x[i]), unsafe.Pointer(&y[i]), dx, unit)
		i += most * step
	}
}
