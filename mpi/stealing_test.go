package mpi

import (
	"sync"
	"testing"
)

// TestChunks checks that the chunks of a step cover its columns once each, and that a ticket can
// count them.
func TestChunks(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {512, 512, 512}, {1024, 1000, 512}, {3, 145, 7}, {1 << 20, 1 << 18, 1 << 12}} {
		m, n, k := s[0], s[1], s[2]
		width, chunks := chunked(m, n, k, 4)
		if width%(chunkBytes/4) != 0 || chunks < 1 || chunks > mostChunks {
			t.Fatalf("%v: %d chunks of %d columns", s, chunks, width)
		}
		for _, adds := range []bool{false, true} {
			p := step{n: int64(n), widthOrAdd: int64(width)}
			if !adds {
				p.widthOrAdd = -p.widthOrAdd
			}
			next := 0
			for i := range chunks {
				cols, add := p.chunk(i)
				if cols.Lo != next || cols.Len() < 1 || add != adds {
					t.Fatalf("%v: chunk %d is %v, adding %v, after column %d", s, i, cols, add, next)
				}
				next = cols.Hi
			}
			if next != n {
				t.Errorf("%v: the chunks end at column %d", s, next)
			}
		}
	}
}

// TestSlot lets many goroutines take the chunks of many epochs. Each chunk must be taken once, with
// the step that it belongs to.
func TestSlot(t *testing.T) {
	const epochs, chunks, takers = 300, 7, 4
	var n slot
	var mu sync.Mutex
	taken := map[[2]int64]int{}
	take := func() bool {
		ticket := n.ticket.Load()
		if left(ticket) <= 0 {
			return false
		}
		s := n.read()
		if !n.ticket.CompareAndSwap(ticket, ticket+1) {
			return true
		}
		mu.Lock()
		taken[[2]int64{s.a, int64(ticket & mostChunks)}]++
		mu.Unlock()
		if s.a != s.widthOrAdd || s.a != int64(ticket>>40) {
			t.Errorf("epoch %d: the step is %+v", ticket>>40, s)
		}
		n.done.Add(1)
		return true
	}
	over := make(chan struct{})
	var all sync.WaitGroup
	for range takers {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					take()
				}
			}
		})
	}
	for epoch := int64(1); epoch <= epochs; epoch++ {
		n.write(step{a: epoch, widthOrAdd: epoch})
		n.done.Store(0)
		n.ticket.Store(ticketOf(n.ticket.Load()>>40+1, chunks, 0))
		for take() || n.done.Load() < chunks {
		}
	}
	close(over)
	all.Wait()
	for epoch := int64(1); epoch <= epochs; epoch++ {
		for i := range int64(chunks) {
			if got := taken[[2]int64{epoch, i}]; got != 1 {
				t.Fatalf("epoch %d: chunk %d was taken %d times", epoch, i, got)
			}
		}
	}
}
