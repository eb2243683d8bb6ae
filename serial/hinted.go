package serial

import "gemm"

// hinted is ikj with four terms per step, like unrolled, written so that the Go compiler can
// optimize it as a C compiler does with restrict, -O3 and -march=native, as far as it can:
//
//   - Four rows of B are added to C at once. A sum is loaded and stored once for four terms, and
//     stays in a register between them: 1½ mnk accesses.
//   - Every row is cut to the length of C's row before the loop. From this the compiler proves that
//     no index is out of bounds, and drops the checks; a test verifies it.
//   - x·y + z without a conversion in between may be fused into one instruction. The compiler does so
//     from GOAMD64=v3 on.
//   - The four elements of A are variables, not elements of a slice, which a store to C might
//     change. Go has no restrict, and does not need it for values that are loaded before the loop.
//
// The Go compiler does not generate vector instructions. B is read m times as in ikj, m·kn elements unless it fits.
func hinted[T gemm.Float](c, a, b gemm.Matrix[T]) {
	for i := range c.Rows {
		row, x, l := c.Row(i), a.Row(i), 0
		for ; l+3 < len(x); l += 4 {
			addFour(row, (*[4]T)(x[l:]), b.Row(l), b.Row(l+1), b.Row(l+2), b.Row(l+3))
		}
		for ; l < len(x); l++ {
			AddScaled(row, x[l], b.Row(l))
		}
	}
}

// addFour adds x[0]·b0 + x[1]·b1 + x[2]·b2 + x[3]·b3 to c. No row is shorter than c.
func addFour[T gemm.Float](c []T, x *[4]T, b0, b1, b2, b3 []T) {
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	b0, b1, b2, b3 = b0[:len(c)], b1[:len(c)], b2[:len(c)], b3[:len(c)]
	for j, sum := range c {
		sum += x0 * b0[j]
		sum += x1 * b1[j]
		sum += x2 * b2[j]
		sum += x3 * b3[j]
		c[j] = sum
	}
}

func hintedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/hinted",
		Parent: "serial/ikj",
		Doc:    "ikj with four terms per step, written so that the compiler can optimize it: no bounds checks, fused multiply-adds",
		Model: func(shape gemm.Shape, _ gemm.Params) gemm.Model {
			s := sizeOf(shape)
			return s.model(s.terms+2*s.c*rounds(shape.K)+s.a, s.rowWalk(4))
		},
		Bound: gemm.Classical,
		F32:   inOrder("ikj", hinted[float32]),
		F64:   inOrder("ikj", hinted[float64]),
	}
}

// rounds returns the number of times that hinted reads and writes a row of C for k rows of B.
func rounds(k int) float64 { return float64(k/4 + k%4) }
