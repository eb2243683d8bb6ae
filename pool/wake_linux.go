package pool

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waker wakes a parked runner. It is a futex on the runner's state: it holds no descriptor, and Go's poller,
// which holds two, does not start. The kernel wakes the runner in 5 to 15 µs, on an idle processor.
//
// A channel takes 75 µs. Go's scheduler queues the woken goroutine on the waker's own processor, which continues its
// work. Another processor takes it only after a sleep of 3 µs, which Linux's timers extend to 60 µs.
type waker struct{}

// The operations of a futex that only threads of this process use.
const (
	futexWait = 0 | 128
	futexWake = 1 | 128
)

func newWaker() waker { return waker{} }

// wake ends a call of wait, after the state has changed.
func (waker) wake(state *atomic.Int32) {
	_, _, _ = unix.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(state)), futexWake, 1)
}

// wait returns after a call of wake, or after the limit. It may return earlier, and returns at once unless the
// state is parked.
func (waker) wait(state *atomic.Int32, limit time.Duration) {
	most := unix.NsecToTimespec(int64(limit))
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(state)), futexWait,
		parked, uintptr(unsafe.Pointer(&most)), 0, 0)
}
