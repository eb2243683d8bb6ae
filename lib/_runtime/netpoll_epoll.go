// In builds of libgemm, this file takes the place of Go's own (scripts/lib.sh). The poller of Go's runtime holds
// two descriptors from the first timer or file on: an epoll and an eventfd. Even the garbage collector has a timer.
// A program that loads a library may close all descriptors and open others under the same numbers; then the
// runtime would write into the program's files, or end the process. So here nothing is pollable, which Go's files
// permit, and the thread that waits for the next timer sleeps on a futex. netpoll.go of the runtime says what the
// functions do.

package runtime

import "internal/runtime/atomic"

// netpollWoken is a futex: 1 after netpollBreak, until the sleeping thread has woken.
var netpollWoken uint32

func netpollinit() {}

func netpollIsPollDescriptor(fd uintptr) bool { return false }

func netpollopen(fd uintptr, pd *pollDesc) uintptr { return 1 } // EPERM, as epoll_ctl for a file on a disk

func netpollclose(fd uintptr) uintptr { return 0 }

func netpollarm(pd *pollDesc, mode int) { throw("runtime: unused") }

func netpollBreak() {
	if atomic.Cas(&netpollWoken, 0, 1) {
		futexwakeup(&netpollWoken, 1)
	}
}

func netpoll(delay int64) (gList, int32) {
	if delay != 0 {
		futexsleep(&netpollWoken, 0, delay)
		atomic.Store(&netpollWoken, 0)
	}
	return gList{}, 0
}
