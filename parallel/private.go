package parallel

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"unsafe"

	"gemm"
	"gemm/internal/cpu"
	"gemm/pool"
	"gemm/serial"
)

// privateSums adds the terms of A·B to private copies of C, one per worker, and returns the copies; their sum is the
// product. The caller owns them until it calls release.
func privateSums[T gemm.Float](ctx context.Context, t *team[T],
	c, a, b gemm.Matrix[T]) (copies []gemm.Matrix[T], release func(), err error) {
	copies, release, err = takePrivate[T](t.pool.Workers(), c.Rows, c.Cols)
	if err != nil {
		return nil, release, err
	}
	// Each worker clears its own copy, so its pages are on the NUMA node of the worker (first touch).
	err = t.pool.For(ctx, len(copies), pool.Static(0), func(_, lo, hi int) {
		for _, own := range copies[lo:hi] {
			clear(own.Data)
		}
	})
	if err != nil {
		return nil, release, err
	}
	return copies, release, t.pieces(ctx, c.Rows*a.Cols, c.Cols, func(worker, lo, hi int) {
		for q := lo; q < hi; q++ {
			i, l := q/a.Cols, q%a.Cols
			serial.AddScaled(copies[worker].Row(i), a.At(i, l), b.Row(l))
		}
	})
}

// mergeAtomic adds private copies of C to c. Each copy is added by one worker. The additions are atomic,
// since all workers write to c. Each copy begins at another matrix row, so two workers seldom write to
// the same row at the same time.
func mergeAtomic[T gemm.Float](ctx context.Context, p *pool.Pool, c gemm.Matrix[T], copies []gemm.Matrix[T]) error {
	if c.Cols == 0 {
		return ctx.Err() // however many rows there are
	}
	err := p.For(ctx, len(copies), pool.Static(0), func(_, lo, hi int) {
		for w := lo; w < hi; w++ {
			add := func(_, lo, hi int) {
				for i := lo; i < hi; i++ {
					i := (i + w*(c.Rows/len(copies))) % c.Rows
					row := c.Row(i)
					for j, y := range copies[w].Row(i) {
						atomicAdd(&row[j], y)
					}
				}
			}
			inPieces(ctx, c.Cols, add)(w, 0, c.Rows)
		}
	})
	return cmp.Or(err, ctx.Err())
}

// mergeReduce sets c to the sum of its private copies (at least one) without atomic additions. The workers divide the
// matrix rows of c. Each row is the sum of that row in all copies, in their order.
func mergeReduce[T gemm.Float](ctx context.Context, p *pool.Pool, c gemm.Matrix[T], copies []gemm.Matrix[T]) error {
	if c.Cols == 0 {
		return ctx.Err() // however many rows there are
	}
	err := p.For(ctx, c.Rows, pool.Static(0), inPieces(ctx, c.Cols*len(copies), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row := c.Row(i)
			copy(row, copies[0].Row(i))
			for _, p := range copies[1:] {
				for j, y := range p.Row(i) {
					row[j] += y
				}
			}
		}
	}))
	return cmp.Or(err, ctx.Err())
}

// private keeps the memory of private copies for the next product of any pool. It holds *[][]float32 and *[][]float64.
var private = map[string]*sync.Pool{"f32": {}, "f64": {}}

// takePrivate returns count matrices whose elements are not cleared. If there is not enough memory,
// the error says how much they need.
func takePrivate[T gemm.Float](count, rows, cols int) (copies []gemm.Matrix[T], release func(), err error) {
	pool := private[gemm.TypeOf[T]().Name]
	kept, _ := pool.Get().(*[][]T)
	if kept == nil {
		kept = new([][]T)
	}
	release = func() { pool.Put(kept) }
	size := rows * cols
	for len(*kept) < count {
		*kept = append(*kept, nil)
	}
	need := 0.0
	for _, data := range (*kept)[:count] {
		if cap(data) < size {
			need += float64(size) * float64(unsafe.Sizeof(*new(T)))
		}
	}
	if need > 1<<24 { // to read the available memory takes longer than a product that needs less
		if have := float64(cpu.Available()); have > 0 && need > have {
			return nil, release, fmt.Errorf("parallel: the private copies of C of %d workers need %.1f GiB of memory, "+
				"%.1f GiB are available: use fewer threads, or parallel/rows",
				count, need/(1<<30), have/(1<<30))
		}
	}
	for w := range count {
		data := &(*kept)[w]
		if cap(*data) < size {
			*data = make([]T, size)
			cpu.HugePages(unsafe.Pointer(unsafe.SliceData(*data)), uintptr(size)*unsafe.Sizeof(*new(T)))
		}
		copies = append(copies, gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: (*data)[:size]})
	}
	return copies, release, nil
}

// privateModel is the model of the variants with private copies of C.
func privateModel(s gemm.Shape, p gemm.Params) gemm.Model {
	out := ikjModel(s, p)
	copies := float64(p.Int("threads")) * float64(s.M) * float64(s.N)
	out.Workspace = copies
	out.Flops += copies
	out.Accesses += 3 * copies
	traffic := out.Traffic
	out.Traffic = func(cache, line float64) float64 { return 2*copies + traffic(cache, line) }
	return out
}
