package parallel

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"gemm"
)

// collapseInnerAtomic divides the two outer loops of ikj as one loop of m·k indices, like
// collapse(2) in OpenMP. There are more indices than rows to divide. But several workers may now
// add to one matrix row of C at the same time, so each of the mnk additions is atomic. It is a
// compare-and-swap: processors add integers atomically, but not floating-point numbers.
//
//	parallel for (i, l): for j: atomic C[i][j] += A[i][l]·B[l][j]
func collapseInnerAtomic[T gemm.Float](ctx context.Context, t *team[T], c, a, b gemm.Matrix[T]) error {
	if err := t.zero(ctx, c); err != nil {
		return err
	}
	return t.pieces(ctx, c.Rows*a.Cols, c.Cols, func(_, lo, hi int) {
		for q := lo; q < hi; q++ {
			i, l := q/a.Cols, q%a.Cols
			scale, row := a.At(i, l), c.Row(i)
			for j, y := range b.Row(l) {
				atomicAdd(&row[j], scale*y)
			}
		}
	})
}

// unaligned is held during an addition to an element that is not aligned to 8 bytes. Atomic instructions
// of 64 bits need that alignment. On 32-bit systems the address of a float64 may be a multiple of 4 only.
var unaligned sync.Mutex

// atomicAdd adds x to *p. Other workers may add to *p at the same time.
func atomicAdd[T gemm.Float](p *T, x T) {
	switch p := any(p).(type) {
	case *float32:
		word := (*uint32)(unsafe.Pointer(p))
		for {
			old := atomic.LoadUint32(word)
			if atomic.CompareAndSwapUint32(word, old, math.Float32bits(math.Float32frombits(old)+float32(x))) {
				return
			}
		}
	case *float64:
		if unsafe.Alignof(*p) < 8 && uintptr(unsafe.Pointer(p))%8 != 0 {
			unaligned.Lock()
			*p += float64(x)
			unaligned.Unlock()
			return
		}
		word := (*uint64)(unsafe.Pointer(p))
		for {
			old := atomic.LoadUint64(word)
			if atomic.CompareAndSwapUint64(word, old, math.Float64bits(math.Float64frombits(old)+float64(x))) {
				return
			}
		}
	}
}

func collapseInnerAtomicVariant() gemm.Variant {
	return gemm.Variant{
		Name:   "parallel/collapse-inner-atomic",
		Parent: "parallel/rows",
		Doc:    "the two outer loops are divided as one; every term is added to C atomically",
		Can:    teamCan,
		Params: scheduleParams("terms of rows"),
		Model:  ikjModel,
		Bound:  gemm.Classical,
		F32:    loopsOnTeam("parallel/collapse-inner-atomic", collapseInnerAtomic[float32]),
		F64:    loopsOnTeam("parallel/collapse-inner-atomic", collapseInnerAtomic[float64]),
	}
}
