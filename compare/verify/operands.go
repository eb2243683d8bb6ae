package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/cpu"
)

// Operands are the matrices of an Operation, and C, which a multiplier writes the result to.
type Operands[T gemm.Element] struct {
	Operation[T]
	C gemm.Matrix[T]
}

// Layout says which operation operands are drawn for, and how they are stored.
type Layout struct {
	gemm.Shape
	TransA, TransB blas.Transpose
	Alpha, Beta    float64
	LDA, LDB, LDC  int
}

// Draw returns operands drawn from the seed. If touch is not nil, it is called with C, A and B
// before anything has accessed them.
//
// Floating-point magnitudes are uniform in [½, 1). The signs are of rank one:
// a_il = r_i·s_l·|a_il| and b_lj = s_l·t_j·|b_lj|. So all terms of an element of C have the sign r_i·t_j, and
// |C| = |A||B| ≈ 0.56·k. This has two effects: no element is small by cancellation, so a lost one cannot hide below
// the bound; and half of the signs of a transposed result are wrong. Elements of GF(2⁸) are uniform.
func Draw[T gemm.Element](l Layout, seed uint64, touch func(c, a, b gemm.Matrix[T])) Operands[T] {
	o := allocateBatch[T](l, 1).Nth(0)
	if touch != nil {
		touch(o.C, o.A, o.B)
	}
	o.draw(seed)
	return o
}

func (o Operands[T]) draw(seed uint64) {
	concurrently(
		func() { draw(o.A, o.TransA != blas.NoTrans, seed, streamR, streamS) },
		func() { draw(o.B, o.TransB != blas.NoTrans, seed, streamS, streamT) },
		func() { draw(o.C0, false, seed, streamR, streamT) },
	)
}

// Distribution says in a few words how the elements of operands of the type are drawn: by DrawChain if a product has
// steps, otherwise by Draw.
func Distribution(typ string, steps int) string {
	switch {
	case typ == "gf256":
		return "uniform"
	case steps > 0:
		return "magnitudes of S around 1/n, signs of rank one"
	}
	return "magnitudes uniform in [1/2, 1), signs of rank one"
}

// DrawIntegers returns operands whose elements are integers from −q to q.
func DrawIntegers[T gemm.Element](l Layout, seed uint64, q int) Operands[T] {
	o := allocateBatch[T](l, 1).Nth(0)
	o.drawIntegers(seed, q)
	return o
}

func (o Operands[T]) drawIntegers(seed uint64, q int) {
	concurrently(
		func() { drawIntegers(o.A, seed, streamR, q) },
		func() { drawIntegers(o.B, seed, streamT, q) },
		func() { drawIntegers(o.C0, seed, streamS, q) },
	)
}

// drawIntegers fills x with integers from −q to q.
func drawIntegers[T gemm.Element](x gemm.Matrix[T], seed, stream uint64, q int) {
	if isEmpty(x) {
		return
	}
	rng := rand.New(rand.NewPCG(seed, stream))
	for i := range x.Rows {
		row := x.Row(i)
		for j := range row {
			row[j] = gemm.FromFloat64[T](float64(rng.IntN(2*q+1) - q))
		}
	}
}

// concurrently calls every f at the same time, and returns when all are done.
func concurrently(fs ...func()) {
	var wait sync.WaitGroup
	for _, f := range fs {
		wait.Go(f)
	}
	wait.Wait()
}

// The streams of random numbers: the signs of the rows of op(A), of k and of the
// columns of op(B). The magnitudes of a matrix come from its two streams joined.
const (
	streamR = iota + 1
	streamS
	streamT
)

// draw fills x, which is stored transposed if so said, with random elements.
func draw[T gemm.Element](x gemm.Matrix[T], transposed bool, seed, rowSigns, colSigns uint64) {
	if isEmpty(x) {
		return
	}
	if transposed {
		rowSigns, colSigns = colSigns, rowSigns
	}
	rng := rand.New(rand.NewPCG(seed, min(rowSigns, colSigns)<<8|max(rowSigns, colSigns)))
	if x, ok := any(x).(gemm.Matrix[gf256.Elem]); ok {
		for i := range x.Rows {
			drawBytes(x.Row(i), rng)
		}
		return
	}
	r := signs(x.Rows, rand.New(rand.NewPCG(seed, rowSigns)))
	c := signs(x.Cols, rand.New(rand.NewPCG(seed, colSigns)))
	for i := range x.Rows {
		switch row := any(x.Row(i)).(type) {
		case []float32:
			for j := range row {
				row[j] = float32(r[i] * c[j] * (1 + float64(rng.Uint32()>>9)*0x1p-23) / 2)
			}
		case []float64:
			for j := range row {
				row[j] = r[i] * c[j] * (1 + float64(rng.Uint64()>>12)*0x1p-52) / 2
			}
		case []half.F16:
			for j := range row {
				row[j] = half.From64[half.F16](r[i] * c[j] * (1 + float64(rng.Uint32()>>22)*0x1p-10) / 2)
			}
		case []half.BF16:
			for j := range row {
				row[j] = half.From64[half.BF16](r[i] * c[j] * (1 + float64(rng.Uint32()>>25)*0x1p-7) / 2)
			}
		}
	}
}

// drawBytes fills row with random elements, eight of a number.
func drawBytes(row []gf256.Elem, rng *rand.Rand) {
	for part := range slices.Chunk(row, 8) {
		bits := rng.Uint64()
		for j := range part {
			part[j] = gf256.New(uint8(bits >> (8 * j)))
		}
	}
}

func signs(n int, rng *rand.Rand) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = float64(2*rng.IntN(2) - 1)
	}
	return s
}

// allocate returns a zero matrix, on huge pages if the system has them. The pages of a large matrix have not
// been touched.
func allocate[T gemm.Element](rows, cols, ld int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: ld}
	if rows > 0 && cols > 0 {
		m.Data = make([]T, (rows-1)*ld+cols)
		p, size := unsafe.Pointer(unsafe.SliceData(m.Data)), uintptr(len(m.Data))*unsafe.Sizeof(m.Data[0])
		cpu.HugePages(p, size)
		cpu.ReleasePages(p, size)
	}
	return m
}

// Poison fills C with what no product holds, so that a call that writes nothing cannot pass with an older result.
func (o Operands[T]) Poison() { Poison(o.C) }

// Poison fills c with what no product holds.
func Poison[T gemm.Element](c gemm.Matrix[T]) {
	if isEmpty(c) {
		return
	}
	bad := gemm.FromFloat64[T](math.NaN())
	if p, ok := any(&bad).(*gf256.Elem); ok {
		*p = gf256.New(0xa5)
	}
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			row[j] = bad
		}
	}
}

// Restore copies C₀ into C if β is not 0.
func (o Operands[T]) Restore() {
	if o.Beta != 0 {
		restore(o.C, o.C0)
	}
}

func restore[T gemm.Element](c, from gemm.Matrix[T]) {
	if isEmpty(c) {
		return
	}
	for i := range c.Rows {
		copy(c.Row(i), from.Row(i))
	}
}
