package user

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/note"
	"gemm/internal/peer"
)

// multiplier is the product of a kernel, with a number of threads.
type multiplier[T gemm.Float] struct {
	kernel  *kernel
	threads int
}

// Resolved implements gemm.Explainer.
func (x *multiplier[T]) Resolved() gemm.Params {
	out := gemm.Params{"threads": x.threads, "process": "own", "file": x.kernel.Path, "abi": string(x.kernel.ABI),
		"symbol": x.symbol(), "digest": x.kernel.digest}
	maps.Copy(out, x.kernel.compiled)
	return out
}

func (x *multiplier[T]) symbol() string { return x.kernel.symbols[gemm.TypeOf[T]().Name] }

func (x *multiplier[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	if x.kernel.ABI == Square && (c.Rows != c.Cols || c.Rows != a.Cols) {
		return nil, note.Unsuited{Reason: "the ABI square has n×n matrices only"}
	}
	dense := c.Stride == c.Cols && a.Stride == a.Cols && b.Stride == b.Cols
	if (x.kernel.ABI == Square || x.kernel.ABI == RowMajor) && !dense {
		return nil, note.Unsuited{Reason: "the ABI " + string(x.kernel.ABI) + " has no leading dimensions"}
	}
	return x.stage(ctx, peer.Multiplication, c, a, b)
}

// Multiply implements gemm.Multiplier, for operands of this process.
func (x *multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return peer.Multiply(ctx, x, c, a, b)
}

// stage stages the operation in a process of the kernel's own.
func (x *multiplier[T]) stage(ctx context.Context, op peer.Operation, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	most := max(c.Stride, a.Stride, b.Stride, c.Rows, a.Rows, b.Rows)
	if empty := c.Rows == 0 || c.Cols == 0 || a.Rows == 0 || a.Cols == 0; most > math.MaxInt32 && !empty {
		return nil, note.Unsuited{Reason: fmt.Sprintf("the dimension %d exceeds an int of C", most)}
	}
	l, err := x.kernel.acquire(ctx, x.threads)
	if err != nil {
		return nil, err
	}
	call := peer.Call{ABI: peer.ABI(x.kernel.ABI), Symbol: x.symbol(), Guarded: true, Threads: x.threads}
	p, err := peer.Stage(ctx, l, call, op, c, a, b)
	if err != nil {
		l.Kill()
		return nil, err
	}
	p.Release = func() { x.kernel.idle.Put(x.threads, l) }
	return run[T]{p}, nil
}

// gemmer is the product of a kernel whose ABI has the whole operation.
type gemmer[T gemm.Float] struct{ multiplier[T] }

func (x *gemmer[T]) StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) (gemm.Run, error) {
	if _, _, _, err := gemm.CheckGemm(tA, tB, a, b, c); err != nil {
		return nil, err
	}
	op := peer.Operation{TransA: tA, TransB: tB, Alpha: float64(alpha), Beta: float64(beta)}
	return x.stage(ctx, op, c, a, b)
}

// Gemm implements gemm.Gemmer, for operands of this process.
func (x *gemmer[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	r, err := x.StageGemm(ctx, tA, tB, alpha, a, b, beta, c)
	if err != nil {
		return err
	}
	return peer.Once(ctx, r)
}

// run is a product that is staged in a process of the kernel's own.
type run[T gemm.Float] struct{ *peer.Product[T] }

func (r run[T]) Do(ctx context.Context) (gemm.Cost, error) { return r.ended(r.Product.Do(ctx)) }

func (r run[T]) Repeat(ctx context.Context, times int) (gemm.Cost, error) {
	return r.ended(r.Product.Repeat(ctx, times))
}

// ended ends the process after an error: a kernel that has written where it must not has corrupted it.
func (r run[T]) ended(cost gemm.Cost, err error) (gemm.Cost, error) {
	if p := r.Process(); err != nil && p != nil {
		p.Kill()
	}
	return cost, err
}

func (r run[T]) Collect(ctx context.Context) error {
	return cmp.Or(r.Product.Collect(ctx), r.Corrupted())
}
