//go:build !linux

package pool

import (
	"sync/atomic"
	"time"
)

// waker wakes a parked runner.
type waker struct{ woken chan struct{} }

func newWaker() waker { return waker{make(chan struct{}, 1)} }

// wake ends a call of wait, after the state has changed.
func (w waker) wake(*atomic.Int32) {
	select {
	case w.woken <- struct{}{}:
	default: // a wake-up is pending
	}
}

// wait returns after a call of wake, or after the limit. It may return earlier.
func (w waker) wait(_ *atomic.Int32, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-w.woken:
	case <-timer.C:
	}
}
