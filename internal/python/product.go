package python

import (
	"context"
	"fmt"
	"sync/atomic"

	"gemm"
	"gemm/internal/note"
	"gemm/internal/peer"
)

// Multiplier computes C = A·B. Any number of goroutines may call it: each product has a process.
type Multiplier[T gemm.Number] struct {
	library Library
	compute string // the type, or tf32
	// sets returns the number of copies of operands of the given total size. Each product uses the
	// next copy. nil: there is one.
	sets      func(bytes int64) int
	described atomic.Pointer[description] // nil: no process has been started
	small     atomic.Bool                 // the last product that was staged was small
}

// New returns the product of the library, which it loads. It computes in T. The error is an
// ErrUnavailable if there is no such library.
func New[T gemm.Float](l Library) (*Multiplier[T], error) {
	x := &Multiplier[T]{library: l, compute: gemm.TypeOf[T]().Name}
	p, err := x.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	p.release()
	if p.described.Threads < l.Number {
		return nil, gemm.Unavailablef("threads=%d: this %s uses at most %d", l.Number, l.Title, p.described.Threads)
	}
	return x, nil
}

// NewOnGPU returns the product of PyTorch on the GPU with the number. PyTorch is loaded by the first
// product, whose context may end; its error is an ErrUnavailable if there is none. sets returns the number
// of copies of operands of the given total size.
func NewOnGPU[T gemm.Number](number int, tf32 bool, sets func(bytes int64) int) *Multiplier[T] {
	l := Library{Name: "torch", Title: "PyTorch", GPU: true, Number: number}
	x := &Multiplier[T]{library: l, compute: gemm.TypeOf[T]().Name, sets: sets}
	if tf32 {
		x.compute = "tf32"
	}
	return x
}

func (x *Multiplier[T]) acquire(ctx context.Context) (*process, error) {
	p, err := x.library.acquire(ctx)
	if err == nil {
		x.described.Store(&p.described)
	}
	return p, err
}

// Resolved implements gemm.Explainer.
func (x *Multiplier[T]) Resolved() gemm.Params {
	described := x.described.Load()
	if described == nil {
		return nil
	}
	out := gemm.Params{"version": described.Version, "kernel": described.Kernel, "python": described.Python}
	if !x.library.GPU {
		out["threads"], out["process"] = x.library.Number, "own"
	}
	return out
}

// Least is the number of terms of a product below which the call from Python is a part of the time.
const Least = 256 * 256 * 256

// Most is the number of terms of the largest product by Python alone, which takes some seconds.
const Most = 256 * 256 * 256

// Accepts returns an Unavailable if the library does not compute products of the shape.
func (l Library) Accepts(s gemm.Shape) error {
	if l == Plain() && s.Terms() > Most {
		return gemm.Unavailablef("%s: loops in Python take too long: m*n*k must be at most 256*256*256", s)
	}
	return nil
}

// Warnings returns what a call from Python costs, if that is a part of the time of the last product that was staged.
func (x *Multiplier[T]) Warnings() []note.Note {
	described := x.described.Load()
	if described == nil || !x.small.Load() {
		return nil
	}
	return []note.Note{note.New("python", fmt.Sprintf("%.2g", 1e6*described.Call))}
}

// Multiply implements gemm.Multiplier.
func (x *Multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return peer.Multiply(ctx, x, c, a, b)
}

// Stage implements gemm.Stager: it copies a and b into a process. The Run is a *peer.Product.
func (x *Multiplier[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	s := gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}
	if err := x.library.Accepts(s); err != nil {
		return nil, err
	}
	x.small.Store(s.Terms() < Least && x.library != Plain())
	sets := 1
	if x.sets != nil {
		sets = x.sets(int64(gemm.TypeOf[T]().Size) * int64(a.Rows*a.Stride+b.Rows*b.Stride+c.Rows*c.Stride))
	}
	p, err := x.acquire(ctx)
	if err != nil {
		return nil, err
	}
	request := fmt.Sprintf("stage %s %d %d %d %d %d %d %d", x.compute, sets, s.M, s.N, s.K,
		a.Stride-a.Cols, b.Stride-b.Cols, c.Stride-c.Cols)
	product, err := peer.StageBy(ctx, p.Process, request, c, a, b)
	if err != nil {
		if !p.Ended() {
			p.release()
		}
		return nil, err
	}
	product.Release = p.release
	return product, nil
}
