package reference

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/klauspost/reedsolomon"

	"gemm"
	"gemm/gf256"
	"gemm/internal/cpu"
)

// reedSolomon is github.com/klauspost/reedsolomon as a product. A is the matrix of a code, the k
// rows of B are data shards, and the m rows of C = A·B are parity shards. It is Go, and so part of
// this program. The code is made anew if A differs from the A of the last product.
type reedSolomon struct {
	options []reedsolomon.Option
	product gemm.Exclusive // with what follows

	rows, cols int // of A
	a          []byte
	encoder    reedsolomon.Encoder // nil: there is no A yet
	shards     [][]byte
}

const reedSolomonName = "reference/reedsolomon"

// mostShards is how many data and parity shards codes over GF(2⁸) have at most.
const mostShards = 256

// newReedSolomon returns the product on that many goroutines, with no other instructions than GEMM_CPU allows.
func newReedSolomon(threads int) (gemm.Multiplier[gf256.Elem], error) {
	isa, err := cpu.Detect()
	if err != nil {
		return nil, gemm.Unavailablef("%w", err)
	}
	options := []reedsolomon.Option{reedsolomon.WithMaxGoroutines(threads)}
	switch isa {
	case cpu.Generic:
		options = append(options, reedsolomon.WithSSSE3(false))
		fallthrough
	case cpu.SSSE3:
		options = append(options, reedsolomon.WithAVX2(false))
		fallthrough
	case cpu.AVX2NoGFNI:
		options = append(options, reedsolomon.WithAVXGFNI(false))
		fallthrough
	case cpu.AVX2:
		options = append(options, reedsolomon.WithAVX512(false))
	}
	return &reedSolomon{options: options}, nil
}

// Multiply implements gemm.Multiplier. The error is an ErrUnavailable if m + k is more than 256.
func (x *reedSolomon) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	if err := cmp.Or(gemm.CheckShapes(c, a, b), ctx.Err()); err != nil {
		return err
	}
	if c.Rows == 0 || c.Cols == 0 {
		return nil
	}
	if a.Cols == 0 {
		for i := range c.Rows {
			clear(c.Row(i))
		}
		return nil
	}
	if err := x.product.Enter(reedSolomonName); err != nil {
		return err
	}
	defer x.product.Leave()
	if err := x.prepare(a); err != nil {
		return err
	}
	for l := range b.Rows {
		x.shards[l] = gf256.Bytes(b.Row(l))
	}
	for i := range c.Rows {
		x.shards[b.Rows+i] = gf256.Bytes(c.Row(i))
	}
	err := x.encoder.Encode(x.shards)
	clear(x.shards) // releases the operands
	return err
}

// prepare makes the code whose matrix is A, unless it is there.
func (x *reedSolomon) prepare(a gemm.Matrix[gf256.Elem]) error {
	if err := isCode(gemm.Shape{M: a.Rows, K: a.Cols}); err != nil {
		return err
	}
	same := x.encoder != nil && a.Rows == x.rows && a.Cols == x.cols
	for i := 0; same && i < a.Rows; i++ {
		same = slices.Equal(gf256.Bytes(a.Row(i)), x.a[i*a.Cols:][:a.Cols])
	}
	if same {
		return nil
	}
	x.encoder, x.a = nil, x.a[:0]
	for i := range a.Rows {
		x.a = append(x.a, gf256.Bytes(a.Row(i))...)
	}
	matrix := slices.Collect(slices.Chunk(x.a, a.Cols))
	encoder, err := reedsolomon.New(a.Cols, a.Rows,
		append(slices.Clone(x.options), reedsolomon.WithCustomMatrix(matrix))...)
	if err != nil {
		return fmt.Errorf("reference: A %d×%d: %w", a.Rows, a.Cols, err)
	}
	x.rows, x.cols, x.encoder, x.shards = a.Rows, a.Cols, encoder, make([][]byte, a.Rows+a.Cols)
	return nil
}

// isCode returns an Unavailable if A of the product has too many rows and columns.
func isCode(s gemm.Shape) error {
	if s.M+s.K > mostShards {
		return gemm.Unavailablef("A %d×%d has more than the %d rows and columns of codes over GF(2⁸)", s.M, s.K,
			mostShards).WithRemedy("try m×n×k as of 4×65536×10")
	}
	return nil
}

func reedSolomonVariant() gemm.Variant {
	return gemm.Variant{
		Name:    reedSolomonName,
		Doc:     "the encoder of github.com/klauspost/reedsolomon, for m + k of at most 256",
		Role:    gemm.Library,
		Class:   gemm.Tuned,
		Params:  []gemm.Param{{Name: "threads", Doc: "goroutines that the library may use", Default: 1, Min: 1}},
		Accepts: isCode,
		Model:   model,
		Bound:   gemm.Classical,
		GF256: func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
			return newReedSolomon(p.Int("threads"))
		},
	}
}
