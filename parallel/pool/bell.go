package pool

import "os"

// bell parks a goroutine until another one rings.
//
// On Linux it is an eventfd: the kernel wakes the reader in 5 to 15 µs, on an idle processor. The
// alternatives are slower:
//
//   - A channel takes 75 µs. Go's scheduler queues the woken goroutine on the waker's own
//     processor, which goes on with its work. Another processor takes it only after a sleep of
//     3 µs, which Linux's timers extend to 60 µs.
//   - A pipe wakes its reader on the writer's processor. The kernel expects that the writer is
//     about to sleep; here it is not.
//
// On other systems, and if no eventfd can be opened, it is a channel.
type bell struct {
	file    *os.File
	count   [8]byte
	channel chan struct{}
}

// rung is written to the eventfd: a number that is not zero in either byte order.
var rung = []byte{1, 0, 0, 0, 0, 0, 0, 0}

func newBell() *bell {
	b := &bell{}
	var err error
	if b.file, err = eventFile(); err != nil {
		b.channel = make(chan struct{}, 1)
	}
	return b
}

// ring ends one call of wait: the present one, or the next. Do not ring again before it has ended.
func (b *bell) ring() {
	if b.channel != nil {
		b.channel <- struct{}{}
		return
	}
	if _, err := b.file.Write(rung); err != nil {
		panic(err)
	}
}

// wait parks until the bell is rung.
func (b *bell) wait() {
	if b.channel != nil {
		<-b.channel
		return
	}
	if _, err := b.file.Read(b.count[:]); err != nil {
		panic(err)
	}
}

// close closes the file.
func (b *bell) close() {
	if b.channel == nil {
		_ = b.file.Close() // an error would lose nothing
	}
}
