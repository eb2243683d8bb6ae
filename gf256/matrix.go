package gf256

import (
	"errors"
	"fmt"
	"math/bits"
)

// Matrix is a dense row-major matrix over the field: element (i, j) is
// Data[i*Cols+j].
type Matrix struct {
	Rows, Cols int
	Data       []Elem // Rows·Cols elements
}

// ErrSingular: a matrix has no inverse.
var ErrSingular = errors.New("gf256: the matrix is singular")

// NewMatrix returns a rows×cols matrix of zeros. It panics if a dimension is negative or the number of
// elements overflows.
func NewMatrix(rows, cols int) Matrix {
	if hi, lo := bits.Mul(uint(rows), uint(cols)); rows < 0 || cols < 0 || hi != 0 || int(lo) < 0 {
		panic(fmt.Sprintf("gf256: a matrix of %d×%d cannot be made", rows, cols))
	}
	return Matrix{Rows: rows, Cols: cols, Data: make([]Elem, rows*cols)}
}

// Identity returns the n×n matrix with ones on the diagonal.
func Identity(n int) Matrix {
	m := NewMatrix(n, n)
	for i := range n {
		m.Row(i)[i] = New(1)
	}
	return m
}

// Row returns row i, which shares m's data.
func (m Matrix) Row(i int) []Elem { return m.Data[i*m.Cols : (i+1)*m.Cols] }

// Select returns a copy of the rows of m whose numbers are listed, in that order.
func (m Matrix) Select(rows []int) Matrix {
	s := NewMatrix(len(rows), m.Cols)
	for i, row := range rows {
		copy(s.Row(i), m.Row(row))
	}
	return s
}

// Mul returns m·b. It panics unless m has as many columns as b has rows.
func (m Matrix) Mul(b Matrix) Matrix {
	if m.Cols != b.Rows {
		panic(fmt.Sprintf("gf256: %d×%d times %d×%d: shapes do not conform", m.Rows, m.Cols, b.Rows, b.Cols))
	}
	c := NewMatrix(m.Rows, b.Cols)
	if len(c.Data) == 0 || m.Cols == 0 {
		return c // however many rows there are
	}
	for i := range m.Rows {
		for k, a := range m.Row(i) {
			AddScaled(c.Row(i), a, b.Row(k))
		}
	}
	return c
}

// Inverse returns the inverse of m, by Gauss–Jordan elimination in 2n³ multiply-adds. Arithmetic is
// exact, so any element except zero can be the pivot. The error is ErrSingular if there is no inverse.
// Inverse panics unless m is square.
func (m Matrix) Inverse() (Matrix, error) {
	if m.Rows != m.Cols {
		panic(fmt.Sprintf("gf256: %d×%d is not square", m.Rows, m.Cols))
	}
	n := m.Rows
	work := NewMatrix(n, 2*n) // (m | identity) becomes (identity | inverse)
	for i := range n {
		copy(work.Row(i), m.Row(i))
		work.Row(i)[n+i] = New(1)
	}
	for col := range n {
		pivot := col
		for pivot < n && work.Row(pivot)[col] == (Elem{}) {
			pivot++
		}
		if pivot == n {
			return Matrix{}, fmt.Errorf("%w: its rank is below %d", ErrSingular, n)
		}
		row := work.Row(col)
		for j, other := range work.Row(pivot) {
			row[j], work.Row(pivot)[j] = other, row[j]
		}
		scale := Inv(row[col])
		for j := range row {
			row[j] = Mul(row[j], scale)
		}
		for i := range n {
			if i != col {
				AddScaled(work.Row(i), work.Row(i)[col], row)
			}
		}
	}
	inverse := NewMatrix(n, n)
	for i := range n {
		copy(inverse.Row(i), work.Row(i)[n:])
	}
	return inverse, nil
}
