package parallel

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"gemm"
	"gemm/internal/cpu"
	"gemm/serial"
)

// collapseAtomic moves the atomic additions out of the loop. Each worker adds its terms to a
// private C, and at the end adds that atomically to the common C. There are mn atomic additions per
// worker in place of mnk in all. The price is a copy of C for each worker.
//
//	parallel: private P = 0
//	  for (i, l): for j: P[i][j] += A[i][l]·B[l][j]
//	  for i, for j: atomic C[i][j] += P[i][j]
type collapseAtomic[T gemm.Float] struct{ privately[T] }

// Multiply implements gemm.Multiplier.
func (x collapseAtomic[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return x.product(ctx, c, a, b, func() error {
		copies, release, err := x.sum(ctx, c, a, b)
		defer release()
		if err != nil {
			return err
		}
		if err := zero(ctx, x.team, c); err != nil {
			return err
		}
		return MergeAtomic(ctx, x.pool, c, copies)
	})
}

// privately is the part that the variants with a private C for each worker share.
type privately[T gemm.Float] struct{ toucher[T] }

// sum adds the terms of A·B to private copies of C and returns the copies; their sum is the
// product. The caller owns them until it calls release.
func (x privately[T]) sum(ctx context.Context,
	c, a, b gemm.Matrix[T]) (copies []gemm.Matrix[T], release func(), err error) {
	copies, release, err = takePrivate[T](x.pool.Workers(), c.Rows, c.Cols)
	if err != nil {
		return nil, release, err
	}
	// Each worker clears its own copy, so its pages are on the NUMA node of the worker (first touch).
	if err := x.workers(ctx, func(worker int) { clear(copies[worker].Data) }); err != nil {
		return nil, release, err
	}
	return copies, release, x.pieces(ctx, c.Rows*a.Cols, c.Cols, func(worker, lo, hi int) {
		for q := lo; q < hi; q++ {
			i, l := q/a.Cols, q%a.Cols
			serial.AddScaled(copies[worker].Row(i), a.At(i, l), b.Row(l))
		}
	})
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
			return nil, release, fmt.Errorf("parallel: the private copies of C of %d workers need %.1f GiB of memory, %.1f GiB are available: use fewer threads, or parallel/rows",
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

func newCollapseAtomic[T gemm.Float](t toucher[T], _ gemm.Params) (gemm.Multiplier[T], error) {
	return collapseAtomic[T]{privately[T]{t}}, nil
}

func collapseAtomicVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/collapse-atomic",
		Parent: "parallel/collapse-inner-atomic",
		Parts:  []gemm.Part{gemm.ReportKernel},
		Doc:    "collapse-inner-atomic with a private C per worker, merged by atomic additions at the end",
		Can:    teamCan,
		Params: scheduleParams("terms of rows"),
		Model:  privateModel,
		Loop:   gemm.Loop{Level: gemm.CollapsedLevel, Instructions: 6, Walk: gemm.Rows, Atomic: gemm.AtomicCopies},
		Bound:  gemm.Classical,
		F32:    onTeam("parallel/collapse-atomic", newCollapseAtomic[float32]),
		F64:    onTeam("parallel/collapse-atomic", newCollapseAtomic[float64]),
	}
}
