package serial

import (
	"context"

	"gemm"
	"gemm/internal/block"
)

// transposed is the other way to make the accesses of naive contiguous. The loops keep the order of the definition, but
// B is first copied into its transpose, so that a row of A meets a row of Bᵀ. The sum stays in a register, which leaves
// two accesses per step. The copy adds 2kn: 2mnk + 2mn + 2kn in all.
//
// Compared with ikj it saves the loads and stores of C. But each addition waits for the one before, so a step takes
// three or four cycles. It also needs a workspace as large as B, which is kept for the next product.
//
// Bᵀ is read m times unless it fits, m·kn elements. The copy reads kn and writes 2kn, or 2kn·L if n lines do not fit.
type transposed[T gemm.Float] struct {
	idle block.Idle[[]T] // Bᵀ, n×k
}

func (t *transposed[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	room := t.idle.Take()
	if room == nil {
		room = new([]T)
	}
	defer t.idle.Give(room)
	if cap(*room) < b.Rows*b.Cols {
		*room = make([]T, b.Rows*b.Cols)
	}
	bt := gemm.Matrix[T]{Rows: b.Cols, Cols: b.Rows, Stride: b.Rows, Data: (*room)[:b.Rows*b.Cols]}
	err := inPieces(ctx, "ikj", [3]int{b.Rows, 1, b.Cols}, func(p piece) {
		transpose(bt.Slice(p.k, p.i, p.depth, p.m), b.Slice(p.i, p.k, p.m, p.depth))
	})
	if err != nil {
		return err
	}
	return inPieces(ctx, "ijk", [3]int{c.Rows, c.Cols, a.Cols}, func(p piece) {
		rowsByRows(c.Slice(p.i, p.j, p.m, p.n), a.Slice(p.i, 0, p.m, a.Cols), bt.Slice(p.j, 0, p.n, a.Cols))
	})
}

func transpose[T gemm.Float](bt, b gemm.Matrix[T]) {
	for l := range b.Rows {
		for j, y := range b.Row(l) {
			bt.Data[j*bt.Stride+l] = y
		}
	}
}

// rowsByRows adds A·B to C.
func rowsByRows[T gemm.Float](c, a, bt gemm.Matrix[T]) {
	for i := range c.Rows {
		row := a.Row(i)
		for j := range c.Cols {
			sum, column := c.At(i, j), bt.Row(j)[:len(row)]
			for l, x := range row {
				sum += x * column[l]
			}
			c.Set(i, j, sum)
		}
	}
}

func newTransposed[T gemm.Float](gemm.Params) (gemm.Multiplier[T], error) {
	return product[T]{new(transposed[T])}, nil
}

func transposedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/transposed",
		Parent: "serial/naive",
		Doc:    "naive on a transposed copy of B: all accesses are contiguous, and the sum stays in a register",
		Model: func(shape gemm.Shape, _ gemm.Params) gemm.Model {
			s := sizeOf(shape)
			model := s.model(2*s.terms+2*s.c+2*s.b, func(cache, line float64) float64 {
				return 2*s.c + s.b +
					2*s.b*pick((s.n+1)*line <= cache, 1, min(line, s.k)) +
					pick(2*s.k+line <= cache, s.a, s.terms) +
					pick(s.b+s.k+line <= cache, 0, s.m*s.b)
			})
			model.Workspace = s.b
			return model
		},
		Bound: gemm.Classical,
		F32:   newTransposed[float32],
		F64:   newTransposed[float64],
	}
}
