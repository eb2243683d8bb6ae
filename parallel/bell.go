package parallel

import "os"

// bell lets a goroutine park until another one rings. On Linux it is an eventfd, whose
// reader the kernel wakes in some 5 to 15 µs, on a processor that is idle. A channel takes
// 75: Go's scheduler leaves a goroutine that a channel wakes to the processor that has
// woken it, which goes on with its own work, and lets another one have it only after a
// sleep of 3 µs, of which Linux's timers make 60. A pipe wakes its reader on the processor
// of the writer, which is about to sleep as a rule, and here is not. Elsewhere, and where
// no file can be opened, it is a channel.
type bell struct {
	file    *os.File
	count   [8]byte
	channel chan struct{}
}

// rung is what is written to an eventfd: not zero, in either order of bytes.
var rung = []byte{1, 0, 0, 0, 0, 0, 0, 0}

func newBell() *bell {
	b := &bell{}
	var err error
	if b.file, err = eventFile(); err != nil {
		b.channel = make(chan struct{}, 1)
	}
	return b
}

// ring ends one call of wait, of now or later. There is no second call before that.
func (b *bell) ring() {
	if b.channel != nil {
		b.channel <- struct{}{}
		return
	}
	if _, err := b.file.Write(rung); err != nil {
		panic(err)
	}
}

// wait returns when the bell is rung.
func (b *bell) wait() {
	if b.channel != nil {
		<-b.channel
		return
	}
	if _, err := b.file.Read(b.count[:]); err != nil {
		panic(err)
	}
}

// close lets go of the file.
func (b *bell) close() {
	if b.channel == nil {
		_ = b.file.Close() // there is nothing to be done, and nothing to be lost
	}
}
