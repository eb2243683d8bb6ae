package meeting

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMeeting has a host and three guests. A stranger comes first, and is none of them.
func TestMeeting(t *testing.T) {
	const guests = 3
	host, place, err := Call([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(place.Port)))
	if err != nil {
		t.Fatal(err)
	}
	if !say(stranger, "I am one who does not know the word") || stranger.Close() != nil {
		t.Fatal("the stranger says nothing")
	}
	var all sync.WaitGroup
	var ending atomic.Int32
	last := make(chan struct{})
	end := func(m *Meeting) {
		if ending.Add(1) == guests {
			close(last) // all but one are in End, or will be at once
		}
		m.End()
		if n := ending.Load(); n != guests+1 {
			t.Errorf("the meeting ends when %d of %d want it to", n, guests+1)
		}
	}
	for guest := range guests {
		all.Go(func() {
			m, err := Join(place)
			if err != nil {
				t.Error(err)
				return
			}
			if guest == 0 {
				<-last
			}
			end(m)
		})
	}
	if err := host.Await(guests); err != nil {
		t.Fatal(err)
	}
	end(host)
	all.Wait()
}

// TestNoMeeting joins where nobody waits.
func TestNoMeeting(t *testing.T) {
	host, place, err := Call([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	host.Close()
	if m, err := Join(place); err == nil {
		t.Errorf("%v is joined after its end", m)
	}
	if err := host.Await(1); err == nil {
		t.Error("a rank came to a closed door")
	}
	if m, err := Join(Place{}); err == nil {
		t.Errorf("%v is joined nowhere", m)
	}
	(*Meeting)(nil).End()
}

// TestLeft has the host leave: a guest does not wait for it.
func TestLeft(t *testing.T) {
	host, place, err := Call([]string{"127.0.0.1"})
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
	if err := host.Await(1); err != nil {
		t.Fatal(err)
	}
	guest := <-joined
	host.Close()
	guest.End()
}
