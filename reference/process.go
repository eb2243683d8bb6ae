package reference

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/dl"
	"gemm/internal/note"
	"gemm/internal/output"
	"gemm/internal/peer"
)

// process is a process that holds a library, as a place.
type process struct {
	*peer.Library
	again bool // it replaces one that its library ended
}

// first implements place.
func (p *process) first(uintptr) error {
	x := gemm.NewMatrix[float64](1, 1)
	product, err := stage(context.Background(), p, "dgemm_", x, x, x)
	if err != nil {
		return err
	}
	_, err = product.Repeat(context.Background(), 1)
	return cmp.Or(err, product.Close())
}

// expendable implements place.
func (p *process) expendable() bool { return !p.again }

// stage copies the operands of c = a·b into the process, for the function of the symbol.
func stage[T gemm.Float](ctx context.Context, p *process, symbol string, c, a, b gemm.Matrix[T]) (*peer.Product[T],
	error) {
	return peer.Stage(ctx, p.Library, peer.Call{ABI: peer.Exchanged, Symbol: symbol}, peer.Multiplication, c, a, b)
}

// held is a library that is opened in a process of its own.
type held struct {
	*process
	*routines
}

// acquire returns the library in a process of its own, one that is idle or a new one, with that many threads. It is the
// caller's until it is given back. The error is an ErrUnavailable if l is not there or cannot use that many threads.
func (l *library) acquire(program string, threads int) (*held, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, ok := l.idle.Get(threads); ok {
		return p, nil
	}
	settings, err := l.settings()
	if err != nil {
		return nil, err
	}
	var p *process
	load := func(name string, again bool) (*routines, error) {
		if p == nil {
			holder, err := peer.NewLibrary(program)
			if err != nil {
				return nil, err
			}
			p = &process{holder, again}
		}
		return l.loadHeld(p, name, settings)
	}
	r, err := dl.Find(l.Search, func(name string) (*routines, error) {
		r, err := load(name, false)
		if err != nil && p != nil && p.Ended() {
			p = nil
			r, err = load(name, true)
		}
		if err != nil && p != nil && !dl.Absent(name, err) {
			p.Kill()
			p = nil
		}
		return r, err
	})
	if err != nil {
		if p != nil {
			p.Kill()
		}
		return nil, err
	}
	if err := peer.CheckKernel(r.kernel); err != nil {
		p.Kill()
		return nil, err
	}
	if most := r.setThreads(threads); most < threads {
		p.Kill()
		return nil, l.tooFew(most, threads)
	}
	return &held{p, r}, nil
}

// newMultiplier returns the product of l, in a process of its own if possible, otherwise in this
// one. The error is an ErrUnavailable if l is not there, if it cannot use that many threads, or if
// another user can have written the program of the process.
func newMultiplier[T gemm.Float](l *library, threads int) (gemm.Multiplier[T], error) {
	program, err := peer.Program()
	if errors.Is(err, output.ErrUntrusted) {
		return nil, gemm.Unavailablef("%w", err)
	}
	if err != nil {
		return newShared[T](l, threads)
	}
	p, err := l.acquire(program, threads)
	if err != nil {
		return nil, err
	}
	l.idle.Put(threads, p)
	return &separate[T]{library: l, program: program, threads: threads, lib: p.routines}, nil
}

// separate is a product of a library that is staged in a process of the library's
// own. Operands that are here are multiplied here: one library may be open in both.
type separate[T gemm.Float] struct {
	library *library
	program string
	threads int
	lib     *routines // in its own process

	mu     sync.Mutex
	shared *multiplier[T] // in this process; nil until it is needed
}

// open opens the library in this process, unless it is open, and returns its product there.
func (x *separate[T]) open() (_ *multiplier[T], err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shared == nil {
		x.shared, err = newShared[T](x.library, x.threads)
	}
	return x.shared, err
}

// Multiply implements gemm.Multiplier, in this process.
func (x *separate[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	shared, err := x.open()
	if err != nil {
		return err
	}
	return shared.Multiply(ctx, c, a, b)
}

// Gemm implements gemm.Gemmer, in this process.
func (x *separate[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	shared, err := x.open()
	if err != nil {
		return err
	}
	return shared.Gemm(ctx, tA, tB, alpha, a, b, beta, c)
}

// Resolved implements gemm.Explainer: the threads, the process, and of the library
// the version, the kernel and the file.
func (x *separate[T]) Resolved() gemm.Params {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shared != nil {
		return x.shared.Resolved()
	}
	return x.lib.resolved(x.threads, "own")
}

// Warnings returns why a speed of this library says little of it: an empty list where nothing is known against it.
func (x *separate[T]) Warnings() []note.Note { return x.library.warnings(x.lib) }

// Stage implements gemm.Stager: it copies a and b into a process of the library's own.
func (x *separate[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	if err := x.library.accepts(gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}); err != nil {
		return nil, err
	}
	empty := c.Rows == 0 || c.Cols == 0 || a.Cols == 0
	if err := indices(a.Stride, b.Stride, c.Stride, a.Rows, b.Rows); err != nil && !empty {
		return nil, err
	}
	p, err := x.library.acquire(x.program, x.threads)
	if err != nil {
		return nil, err
	}
	r, err := stage(ctx, p.process, x.library.product(gemm.TypeOf[T]().Name), c, a, b)
	if err != nil {
		p.Kill()
		return nil, err
	}
	r.Release = func() { x.library.idle.Put(x.threads, p) }
	return r, nil
}

// StageBatch implements gemm.BatchStager. The library computes a batch by cblas_sgemm_batch_strided or
// cblas_dgemm_batch_strided if it has them, otherwise product by product in a loop of C.
func (x *separate[T]) StageBatch(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Batch[T], beta T,
	c gemm.Batch[T]) (gemm.Run, error) {
	m, n, k, err := gemm.CheckBatch(tA, tB, a, b, c)
	if err != nil {
		return nil, err
	}
	if err := x.library.accepts(gemm.Shape{M: m, N: n, K: k}); err != nil {
		return nil, err
	}
	if err := indices(a.Stride, b.Stride, c.Stride, a.Rows, b.Rows, a.Step, b.Step, c.Step, c.Count); err != nil {
		return nil, err
	}
	p, err := x.library.acquire(x.program, x.threads)
	if err != nil {
		return nil, err
	}
	typ := gemm.TypeOf[T]().Name
	by := "a call for each, in C"
	call := peer.Call{ABI: peer.Exchanged, Symbol: x.library.product(typ)}
	strided := gemm.ByType(typ, "cblas_dgemm_batch_strided", "cblas_sgemm_batch_strided", "", "", "")
	if _, err := p.Find(strided); err == nil {
		call, by = peer.Call{ABI: peer.Strided, Symbol: strided}, strided
	}
	op := peer.Operation{TransA: tA, TransB: tB, Alpha: float64(alpha), Beta: float64(beta)}
	if alpha == 0 { // α·NaN is NaN to some libraries
		op.TransA, op.TransB = blas.NoTrans, blas.NoTrans
		a, b = gemm.NewBatch[T](c.Count, m, 0), gemm.NewBatch[T](c.Count, 0, n)
	}
	r, err := peer.StageBatch(ctx, p.Library, call, op, c, a, b)
	if err != nil {
		p.Kill()
		return nil, err
	}
	r.Release = func() { x.library.idle.Put(x.threads, p) }
	return batch[T]{r, by}, nil
}

// batch is a batch that is staged in a process of the library's own.
type batch[T gemm.Float] struct {
	*peer.Product[T]
	by string
}

// Resolved implements gemm.Explainer.
func (r batch[T]) Resolved() gemm.Params { return gemm.Params{"batched": r.by} }
