package compare

import (
	"math"
	"math/rand/v2"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/internal/cpu"
)

// operands are the matrices of one case: C = α·op(A)·op(B) + β·C₀.
type operands[T gemm.Element] struct {
	a, b gemm.Matrix[T] // as stored, before op
	c0   gemm.Matrix[T] // read where β is not 0
	c    gemm.Matrix[T] // the result
}

// newOperands draws operands for the case from the seed.
//
// Floating-point magnitudes are uniform in [½, 1) and signs are those of a
// product of rank one, a_il = r_i·s_l·|a_il| and b_lj = s_l·t_j·|b_lj|: the terms
// of an element of C all have the sign r_i·t_j, so that |C| = |A||B| ≈ 0.56·k. No
// element is small by cancellation, where a lost one could hide below the bound,
// and a transposed result has half its signs wrong. Elements of GF(2⁸) are
// uniform.
func newOperands[T gemm.Element](c Case, seed uint64) operands[T] {
	tA, tB := c.Transposes()
	m, n, k := c.M, c.N, c.K
	var o operands[T]
	o.a = drawn[T](m, k, tA != blas.NoTrans, c.LDA(), seed, streamR, streamS)
	o.b = drawn[T](k, n, tB != blas.NoTrans, c.LDB(), seed, streamS, streamT)
	if c.Beta != 0 {
		o.c0 = drawn[T](m, n, false, c.LDC(), seed, streamR, streamT)
	}
	o.c = allocate[T](m, n, c.LDC())
	return o
}

// newIntegers draws operands for the case like those of newOperands whose elements
// are integers from −q to q.
func newIntegers[T gemm.Element](c Case, seed uint64, q int) operands[T] {
	o := operands[T]{c: allocate[T](c.M, c.N, c.LDC())}
	fill := func(rows, cols int, transposed bool, ld int, stream uint64) gemm.Matrix[T] {
		if transposed {
			rows, cols = cols, rows
		}
		x := allocate[T](rows, cols, ld)
		rng := rand.New(rand.NewPCG(seed, stream))
		for i := range rows {
			row := x.Row(i)
			for j := range row {
				integer := rng.IntN(2*q+1) - q
				switch p := any(&row[j]).(type) {
				case *float32:
					*p = float32(integer)
				case *float64:
					*p = float64(integer)
				}
			}
		}
		return x
	}
	tA, tB := c.Transposes()
	o.a = fill(c.M, c.K, tA != blas.NoTrans, c.LDA(), streamR)
	o.b = fill(c.K, c.N, tB != blas.NoTrans, c.LDB(), streamT)
	if c.Beta != 0 {
		o.c0 = fill(c.M, c.N, false, c.LDC(), streamS)
	}
	return o
}

// The streams of random numbers: the signs of the rows of op(A), of k and of the
// columns of op(B). The magnitudes of a matrix come from its two streams joined.
const (
	streamR = iota + 1
	streamS
	streamT
)

// drawn returns a random rows×cols matrix, stored transposed if so wanted, with
// the given leading dimension.
func drawn[T gemm.Element](rows, cols int, transposed bool, ld int, seed, rowSigns, colSigns uint64) gemm.Matrix[T] {
	r, c := signs(rows, seed, rowSigns), signs(cols, seed, colSigns)
	if transposed {
		rows, cols = cols, rows
		r, c = c, r
	}
	x := allocate[T](rows, cols, ld)
	rng := rand.New(rand.NewPCG(seed, rowSigns<<8|colSigns))
	for i := range rows {
		switch row := any(x.Row(i)).(type) {
		case []float32:
			for j := range row {
				row[j] = float32(r[i] * c[j] * (1 + float64(rng.Uint32()>>9)*0x1p-23) / 2)
			}
		case []float64:
			for j := range row {
				row[j] = r[i] * c[j] * (1 + float64(rng.Uint64()>>12)*0x1p-52) / 2
			}
		case []gf256.Elem:
			for j := range row {
				row[j] = gf256.New(uint8(rng.Uint32()))
			}
		}
	}
	return x
}

// signs returns n random signs.
func signs(n int, seed, stream uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, stream))
	s := make([]float64, n)
	for i := range s {
		s[i] = float64(2*rng.IntN(2) - 1)
	}
	return s
}

// allocate returns a zero matrix on huge pages where the system gives them.
func allocate[T gemm.Element](rows, cols, ld int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: ld}
	if rows > 0 && cols > 0 {
		m.Data = make([]T, (rows-1)*ld+cols)
		cpu.HugePages(unsafe.Pointer(unsafe.SliceData(m.Data)), uintptr(len(m.Data))*unsafe.Sizeof(m.Data[0]))
	}
	return m
}

// poison fills c with what no product holds, so that a call that writes nothing
// cannot pass with an older result.
func poison[T gemm.Element](c gemm.Matrix[T]) {
	var bad T
	switch p := any(&bad).(type) {
	case *float32:
		*p = float32(math.NaN())
	case *float64:
		*p = math.NaN()
	case *gf256.Elem:
		*p = gf256.New(0xa5)
	}
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			row[j] = bad
		}
	}
}

// restore copies from into c.
func restore[T gemm.Element](c, from gemm.Matrix[T]) {
	for i := range c.Rows {
		copy(c.Row(i), from.Row(i))
	}
}
