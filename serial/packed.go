package serial

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/block"
	"gemm/internal/tuned"
	"gemm/roundoff"
)

// Packed is the product of BLAS libraries: loops around a micro-kernel. Blocks of A and B are first
// copied (packed) into the order in which they are used. Package gemm/internal/block has the loops,
// and gemm/internal/kernel the micro-kernels, in the widest vector instructions of the processor.
//
// Compared with blocked it adds a level below the caches, the registers. A tile of MR×NR sums stays in registers for a
// whole block of k. Each of the MR + NR elements that are loaded is used NR or MR times. That leaves mnk·(1/MR + 1/NR)
// loads and 2mn·k/KC accesses to C. Packing makes every load contiguous, for all strides and transposes, and for powers
// of two. It costs 2·(mk + kn·m/MC) accesses and a workspace of MC·KC + KC·NC. Small products, and products with few
// rows or columns, are computed without it.
//
// A is read once, B is read m/MC times, and C is read and written k/KC times. Each of the blocks is
// sized for one of the caches (see block.Fit).
type Packed[T gemm.Float] struct{ engine *block.Engine[T] }

// Loop is a parallel loop, such as a *pool.Pool.
type Loop = block.Loop

// NewPacked returns serial/packed on the workers of a loop.
func NewPacked[T gemm.Float](loop Loop) Packed[T] {
	return Packed[T]{block.Host[T](loop)}
}

// accumulate implements accumulator.
func (p Packed[T]) accumulate(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return p.gemm(ctx, 1, view(a, blas.NoTrans), view(b, blas.NoTrans), 1, c, a.Cols)
}

// Multiply implements gemm.Multiplier.
func (p Packed[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return p.gemm(ctx, 1, view(a, blas.NoTrans), view(b, blas.NoTrans), 0, c, a.Cols)
}

// Gemm implements gemm.Gemmer. α multiplies the sums of products, or an operand if it is so
// large or so small that they would leave the range (see block.Rescale).
func (p Packed[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	_, _, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	return p.gemm(ctx, alpha, view(a, tA), view(b, tB), beta, c, k)
}

// folding returns the engine that additions of a recursion can be folded into.
func (p Packed[T]) folding() *block.Engine[T] { return p.engine }

// Resolved implements gemm.Explainer: the micro-kernel, the largest blocks, and
// whether they are those that gemm tune found (1) or computed (0).
func (p Packed[T]) Resolved() gemm.Params {
	return resolvedBlocks(gemm.TypeOf[T]().Name, p.engine.Kernel().Name, p.engine.Blocking())
}

// resolvedBlocks returns the micro-kernel of the type and the blocks as parameters.
func resolvedBlocks(typ, kernel string, blocking block.Blocking) gemm.Params {
	measured := 0
	if _, ok := tuned.For(typ, kernel); ok {
		measured = 1
	}
	return gemm.Params{"kernel": kernel, "mc": blocking.MC, "kc": blocking.KC, "nc": blocking.NC, "tuned": measured}
}

// gemm computes C ← α·A·B + β·C for operands that conform.
func (p Packed[T]) gemm(ctx context.Context, alpha T, a, b block.View[T], beta T, c gemm.Matrix[T], k int) error {
	return p.engine.Gemm(ctx, c.Rows, c.Cols, k, alpha, a, b, beta, block.View[T]{Data: c.Data, Row: c.Stride, Col: 1})
}

// view returns op(m) as the engine wants it.
func view[T gemm.Float](m gemm.Matrix[T], t blas.Transpose) block.View[T] {
	if t == blas.NoTrans {
		return block.View[T]{Data: m.Data, Row: m.Stride, Col: 1}
	}
	return block.View[T]{Data: m.Data, Row: 1, Col: m.Stride}
}

// PackedHalf is Packed in half precision: blocks are converted to float32 while they are packed, for the micro-kernel
// of float32 (see block.Half).
type PackedHalf[T half.Float] struct{ engine *block.Half[T] }

// NewPackedHalf returns serial/packed in half precision on the workers of a loop.
func NewPackedHalf[T half.Float](loop Loop) PackedHalf[T] {
	return PackedHalf[T]{block.HostHalf[T](loop)}
}

// Multiply implements gemm.Multiplier.
func (p PackedHalf[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return p.gemm(ctx, blas.NoTrans, blas.NoTrans, half.From[T](1), a, b, half.From[T](0), c, a.Cols)
}

// Gemm implements gemm.Gemmer.
func (p PackedHalf[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	_, _, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	return p.gemm(ctx, tA, tB, alpha, a, b, beta, c, k)
}

// gemm computes C ← α·op(A)·op(B) + β·C for operands that conform.
func (p PackedHalf[T]) gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T], k int) error {
	view := func(m gemm.Matrix[T], t blas.Transpose) block.HalfView[T] {
		return block.HalfView[T]{Data: m.Data, Stride: m.Stride, Transposed: t != blas.NoTrans}
	}
	return p.engine.Gemm(ctx, c.Rows, c.Cols, k, alpha, view(a, tA), view(b, tB), beta, c.Data, c.Stride)
}

// Resolved implements gemm.Explainer: the micro-kernel and the largest blocks, as Packed's.
func (p PackedHalf[T]) Resolved() gemm.Params {
	return resolvedBlocks("f32", p.engine.Kernel().Name, p.engine.Blocking())
}

// PackedField is Packed in GF(2⁸). Here A is small but expensive: each of its elements is packed as
// the operand that the micro-kernel multiplies by, an 8×8 matrix over GF(2) or tables. B is read in
// place unless A and B both have many rows (see block.Field).
type PackedField struct{ engine *block.Field }

// NewPackedField returns serial/packed in GF(2⁸) on the workers of a loop.
func NewPackedField(loop Loop) PackedField { return PackedField{block.HostField(loop)} }

// Multiply implements gemm.Multiplier.
func (p PackedField) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return err
	}
	return p.engine.Multiply(ctx, c.Rows, c.Cols, a.Cols, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
}

// Resolved implements gemm.Explainer: the micro-kernel.
func (p PackedField) Resolved() gemm.Params {
	return gemm.Params{"kernel": p.engine.Kernel().Name}
}

func packedVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "serial/packed",
		Parent: "serial/hinted",
		Class:  gemm.Tuned,
		Doc:    "as in BLAS libraries: packed blocks around a SIMD micro-kernel with a tile of C in registers",
		Role:   gemm.Production,
		Can:    gemm.Gemms | gemm.Explains | gemm.Batches,
		Model:  func(s gemm.Shape, _ gemm.Params) gemm.Model { return PackedModel(s, block.Serial) },
		Bound:  PackedBound(func(gemm.Params) Loop { return block.Serial }),
		F32:    onSerial[float32](NewBatched[float32]),
		F64:    onSerial[float64](NewBatched[float64]),
		F16:    onSerial[half.F16](NewPackedHalf[half.F16]),
		BF16:   onSerial[half.BF16](NewPackedHalf[half.BF16]),
		GF256:  onSerial[gf256.Elem](NewPackedField),
	}
}

// onSerial returns the constructor of a multiplier that runs its loops on one worker.
func onSerial[T gemm.Element, M gemm.Multiplier[T]](form func(Loop) M) func(gemm.Params) (gemm.Multiplier[T], error) {
	return func(gemm.Params) (gemm.Multiplier[T], error) { return form(block.Serial), nil }
}

// PackedBound is the bound on the error of NewPacked's product on the loop that the parameters
// choose. In Classical, k is replaced by the roundings of sums in blocks, KC + k/KC (Higham,
// section 4.2). For random operands it is Classical's bound if that is not larger.
func PackedBound(loop func(p gemm.Params) Loop) gemm.Bound {
	bound := gemm.Classical
	bound.Worst = func(s gemm.Shape, p gemm.Params, u float64) float64 {
		var roundings int
		if u == gemm.TypeOf[float32]().UnitRoundoff {
			roundings = block.Host[float32](loop(p)).Roundings(s.M, s.N, s.K)
		} else {
			roundings = block.Host[float64](loop(p)).Roundings(s.M, s.N, s.K)
		}
		return roundoff.Gamma(float64(roundings), u)
	}
	bound.Random = func(s gemm.Shape, p gemm.Params, u float64) float64 {
		return min(bound.Worst(s, p, u), gemm.Classical.Random(s, p, u))
	}
	return bound
}

// PackedModel predicts the cost of NewPacked's product in float64. For float32 blocks have more elements, and the cost
// is not higher. NewPackedHalf has blocks of C instead of a panel of A, which are not larger. NewPackedField streams B
// and C in the same way; its workspace is the panel of A, at most 1 MiB, and half of L2 for each worker.
func PackedModel(shape gemm.Shape, loop Loop) gemm.Model {
	m, n, k := shape.M, shape.N, shape.K
	s, e := sizeOf(shape), block.Host[float64](loop)
	if s.terms == 0 {
		return s.model(0, nil)
	}
	p := e.Plan(m, n, k, block.View[float64]{Row: k, Col: 1}, block.View[float64]{Row: n, Col: 1})
	mc, nc, kc := float64(p.MC), float64(p.NC), float64(p.KC)
	down, across, deep := ceil(s.m, p.MC), ceil(s.n, p.NC), ceil(s.k, p.KC)
	mr := float64(e.Kernel().MR)
	copies := pick(p.PackA, 2*s.a, 0) + pick(p.PackB, 2*s.b*down, 0)
	tiles := ceil(s.m, e.Kernel().MR)*s.b + ceil(s.n, e.Kernel().NR)*s.a + 2*s.c*deep
	model := s.model(copies+tiles, func(cache, _ float64) float64 {
		held := pick(p.PackA, mc*kc, 0) + pick(p.PackB, kc*nc, 0)
		return pick(p.PackA && held > cache, 3, 1)*s.a + // read once, to be packed
			pick(held <= cache, 0, across*s.a) + // the packed panel of A, for every block of B
			down*s.b*pick(kc*nc+mr*kc <= cache, 1, 3) + // B, and the packed block of B
			pick(kc*nc+mr*kc <= cache, 0, down*s.b*mc/mr) + // which every sliver of A meets
			2*s.c*pick(mc*s.n+held <= cache, 1, deep)
	})
	model.Workspace = max(float64(e.Workspace(m, n, k)), float64(block.Host[float32](loop).Workspace(m, n, k)))
	return model
}
