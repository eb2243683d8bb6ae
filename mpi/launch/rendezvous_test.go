package launch

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// rendezvous opens one.
func rendezvous(t *testing.T) (*Rendezvous, Endpoint) {
	t.Helper()
	root, at, err := Listen([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return root, at
}

// TestRendezvous has a root and three other ranks. Another program connects first, and is rejected.
func TestRendezvous(t *testing.T) {
	const others = 3
	root, at := rendezvous(t)
	stranger, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port)))
	if err != nil || !sendToken(stranger, "this is not the token of this job") || stranger.Close() != nil {
		t.Fatal("the other program sends nothing:", err)
	}
	var all sync.WaitGroup
	var waiting atomic.Int32
	last := make(chan struct{})
	wait := func(r *Rendezvous) {
		if waiting.Add(1) == others {
			close(last) // all but one are in Wait, or will be at once
		}
		r.Wait()
		if n := waiting.Load(); n != others+1 {
			t.Errorf("Wait returns when %d of %d ranks have called it", n, others+1)
		}
	}
	for rank := range others {
		all.Go(func() {
			r, err := Dial(at)
			if err != nil {
				t.Error(err)
				return
			}
			if rank == 0 {
				<-last
			}
			wait(r)
		})
	}
	if err := root.Accept(others); err != nil {
		t.Fatal(err)
	}
	wait(root)
	all.Wait()
}

// TestNoRendezvous connects to a root that has closed, and to none.
func TestNoRendezvous(t *testing.T) {
	root, at := rendezvous(t)
	root.Close()
	if r, err := Dial(at); err == nil {
		t.Errorf("%v is connected to a root that has closed", r)
	}
	if err := root.Accept(1); err == nil {
		t.Error("a rank connected to a root that has closed")
	}
	if r, err := Dial(Endpoint{}); err == nil {
		t.Errorf("%v has no root", r)
	}
	(*Rendezvous)(nil).Wait()
}

// TestRootCloses checks that a rank does not wait for a root that closes.
func TestRootCloses(t *testing.T) {
	root, at := rendezvous(t)
	connected := make(chan *Rendezvous)
	go func() {
		r, err := Dial(at)
		if err != nil {
			t.Error(err)
		}
		connected <- r
	}()
	if err := root.Accept(1); err != nil {
		t.Fatal(err)
	}
	rank := <-connected
	root.Close()
	rank.Wait()
}
