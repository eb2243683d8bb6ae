package meeting

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMeeting has a root and three other ranks. A stranger connects first, and is none of them.
func TestMeeting(t *testing.T) {
	const others = 3
	root, place, err := Call([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(place.Port)))
	if err != nil {
		t.Fatal(err)
	}
	if !send(stranger, "this is not the token of the meeting") || stranger.Close() != nil {
		t.Fatal("the stranger sends nothing")
	}
	var all sync.WaitGroup
	var ending atomic.Int32
	last := make(chan struct{})
	end := func(m *Meeting) {
		if ending.Add(1) == others {
			close(last) // all but one are in End, or will be at once
		}
		m.End()
		if n := ending.Load(); n != others+1 {
			t.Errorf("the meeting ends when %d of %d want it to", n, others+1)
		}
	}
	for rank := range others {
		all.Go(func() {
			m, err := Join(place)
			if err != nil {
				t.Error(err)
				return
			}
			if rank == 0 {
				<-last
			}
			end(m)
		})
	}
	if err := root.Await(others); err != nil {
		t.Fatal(err)
	}
	end(root)
	all.Wait()
}

// TestNoMeeting joins where nobody waits.
func TestNoMeeting(t *testing.T) {
	root, place, err := Call([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	if m, err := Join(place); err == nil {
		t.Errorf("%v is joined after its end", m)
	}
	if err := root.Await(1); err == nil {
		t.Error("a rank connected to a meeting that is over")
	}
	if m, err := Join(Place{}); err == nil {
		t.Errorf("%v is joined nowhere", m)
	}
	(*Meeting)(nil).End()
}

// TestLeft has the root leave: another rank does not wait for it.
func TestLeft(t *testing.T) {
	root, place, err := Call([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	joined := make(chan *Meeting)
	go func() {
		m, err := Join(place)
		if err != nil {
			t.Error(err)
		}
		joined <- m
	}()
	if err := root.Await(1); err != nil {
		t.Fatal(err)
	}
	rank := <-joined
	root.Close()
	rank.End()
}
