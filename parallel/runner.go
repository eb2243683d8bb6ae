package parallel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gemm/internal/cpu"
)

// How long a goroutine spins before it parks. To spin longer pays only where nobody else
// wants the processor: who shares it with another thread takes from that what it spins.
const (
	// spinFor is for a hand that looks for work after a loop: the products of a series are
	// closer together than that.
	spinFor = 50 * time.Microsecond
	// endFor is for the end of a loop that runs, at most: the last calls of a micro-kernel
	// differ by less.
	endFor = 200 * time.Microsecond
)

// looks is how often a goroutine that spins looks before it reads the clock: for some
// microseconds, since to read it takes as long as a hundred looks.
const looks = 1000

// lookFor calls happened until that is true, for some microseconds, and reports whether it is.
func lookFor(happened func() bool) bool {
	for range looks {
		if happened() {
			return true
		}
	}
	return false
}

// spin is lookFor for spinFor and, while a loop is running, up to endFor more. Whoever waits
// for the same processor has it meanwhile.
func spin(happened, running func() bool) bool {
	for begin, quiet := (time.Time{}), (time.Time{}); ; cpu.Yield() {
		if lookFor(happened) {
			return true
		}
		now := time.Now()
		if begin.IsZero() {
			begin, quiet = now, now
		}
		if now.Sub(begin) < endFor && running() {
			quiet = now
		}
		if now.Sub(quiet) >= spinFor {
			return false
		}
	}
}

// hand is one of the process's goroutines that wait for work. It finds its part of a loop
// in the line of a cache that it looks at, and says there that it has done it.
//
//	spinning → called → working → spinning    begin; the hand; the hand
//	parked → called                           begin, which rings
//	called → spinning                         takeBack, by the caller
//	spinning → parked                         the hand
//	spinning, parked → ended                  endIdle
type hand struct {
	state atomic.Int32
	pool  *Pool
	each  each
	// The first worker that it is, and the workers of the loop.
	worker, workers int

	place int // the processor that it runs on, or anywhere
	bell  *bell
	spell int      // of idle, when it was last used
	_     [56]byte // no two hands look at one line of a cache, nor at a pair of them
}

// The states of a hand.
const (
	spinning = iota // looks for work
	parked          // until its bell rings
	called          // has work that it has not begun
	working
	ended // for ever
)

// begin gives h work.
func (h *hand) begin(p *Pool, l each, worker, workers int) {
	h.pool, h.each, h.worker, h.workers = p, l, worker, workers
	if h.state.Swap(called) == parked {
		h.bell.ring()
	}
}

// busy reports whether h has work.
func (h *hand) busy() bool {
	state := h.state.Load()
	return state == called || state == working
}

// takeBack takes the work from h, unless it has begun, and reports whether it has. A hand
// that was rung for finds no work then, and spins.
func (h *hand) takeBack() bool {
	if h.state.Load() != called || !h.state.CompareAndSwap(called, spinning) {
		return false
	}
	h.pool, h.each = nil, each{}
	return true
}

// live works, and waits for work, until h is ended.
func (h *hand) live() {
	if h.place != anywhere {
		runtime.LockOSThread()
	}
	var last *Pool // that h was a hand of
	wanted := func() bool { return h.state.Load() >= called }
	running := func() bool { return last != nil && last.taken.Load() }
	for tired := false; ; {
		// Who has just woken the caller leaves its processor to it.
		if (tired || !spin(wanted, running)) && h.state.CompareAndSwap(spinning, parked) {
			h.bell.wait()
		}
		tired = false
		if h.state.CompareAndSwap(called, working) {
			last = h.pool
			tired = h.serve()
		} else if h.state.Load() == ended {
			h.bell.close()
			return
		}
	}
}

// serve does the hand's part of a loop, and reports whether it has woken the caller.
// Where the body ends the goroutine, as testing.T.FailNow does, another one takes its place.
func (h *hand) serve() (woken bool) {
	p := h.pool
	returned := false
	defer func() {
		h.pool, h.each = nil, each{}
		h.state.Store(spinning)
		if !returned {
			go h.live()
		}
		woken = p.ended()
	}()
	p.turns(&h.each, h.worker, h.workers)
	returned = true
	return
}

// idle holds the hands that have no work, by place, the last to work on top: the one
// least likely to be parked.
var idle struct {
	sync.Mutex
	hands   map[int]*[]*hand
	spell   int  // counts calls of endIdle
	planned bool // a call of endIdle is
}

// idleFor is how long hands are kept that have nothing to do, at least.
const idleFor = 5 * time.Second

// idleAt returns the hands at a place that have no work.
func idleAt(place int) *[]*hand {
	there, ok := idle.hands[place]
	if !ok {
		if idle.hands == nil {
			idle.hands = map[int]*[]*hand{}
		}
		there = new([]*hand)
		idle.hands[place] = there
	}
	return there
}

// hire makes idle hands those of p, but the caller; new ones where there are none.
func (p *Pool) hire(hands int) {
	if hands < 2 {
		return
	}
	idle.Lock()
	defer idle.Unlock()
	there := idleAt(anywhere)
	for w := 1; w < hands; w++ {
		if p.places != nil {
			there = idleAt(p.places[w])
		}
		if last := len(*there) - 1; last >= 0 {
			p.hands = append(p.hands, (*there)[last])
			*there = (*there)[:last]
			continue
		}
		h := &hand{place: p.place(w), bell: newBell()}
		p.hands = append(p.hands, h)
		go h.live()
	}
}

// dismiss makes the hands idle, so that the next loop has each as the same worker.
// The caller does that for all: hands that end at the same time would wait for one
// another, which took 16 of them some 20 µs.
func (p *Pool) dismiss() {
	idle.Lock()
	defer idle.Unlock()
	there := idleAt(anywhere)
	for _, h := range slices.Backward(p.hands) {
		if h.place != anywhere {
			there = idleAt(h.place)
		}
		h.spell = idle.spell
		*there = append(*there, h)
	}
	clear(p.hands)
	p.hands = p.hands[:0]
	if !idle.planned {
		idle.planned = true
		time.AfterFunc(idleFor, endIdle)
	}
}

// endIdle ends the hands that have done nothing since it was called last, and plans its
// next call while there are others.
func endIdle() {
	idle.Lock()
	defer idle.Unlock()
	left := 0
	for _, there := range idle.hands {
		*there = slices.DeleteFunc(*there, func(h *hand) bool {
			if h.spell == idle.spell {
				return false
			}
			if h.state.Swap(ended) == parked {
				h.bell.ring()
			}
			return true
		})
		left += len(*there)
	}
	idle.spell++
	if idle.planned = left > 0; idle.planned {
		time.AfterFunc(idleFor, endIdle)
	}
}
