// Package busy is what a gemm.Multiplier of one product at a time has.
package busy

import (
	"fmt"
	"sync/atomic"

	"gemm"
)

// Flag says that a product has begun and not ended. The zero value is free.
type Flag struct{ held atomic.Bool }

// Enter begins a product of the variant, which ends with Leave. The error is a gemm.ErrBusy
// where another product has begun and not ended.
func (f *Flag) Enter(variant string) error {
	if f.held.CompareAndSwap(false, true) {
		return nil
	}
	return fmt.Errorf("%w: %s has one product at a time, and another goroutine has begun one: "+
		"make a multiplier for each goroutine, or call one after the other",
		gemm.ErrBusy, variant)
}

// Leave ends a product.
func (f *Flag) Leave() { f.held.Store(false) }
