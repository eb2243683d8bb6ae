//go:build !linux

package pool

import (
	"sync/atomic"
	"time"
)

// bell wakes a parked runner.
type bell struct{ rung chan struct{} }

func newBell() bell { return bell{make(chan struct{}, 1)} }

// ring ends a call of wait, after the state has changed.
func (b bell) ring(*atomic.Int32) {
	select {
	case b.rung <- struct{}{}:
	default: // it rings already
	}
}

// wait returns when the bell rings, or after the limit. It may return earlier.
func (b bell) wait(_ *atomic.Int32, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-b.rung:
	case <-timer.C:
	}
}
