package pool

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// Auto finds the best schedule of a loop by measurement. It runs the first loops with each candidate,
// interleaved, forwards and backwards. From then on it uses the candidate with the least time. The
// choice is for one number of indices and workers; Auto remembers the last few dozen. This departs
// from libgomp, whose auto is static (libgomp/loop.c). It serves one loop at a time.
type Auto struct {
	least int // chunk; below 1 is 1

	mu     sync.Mutex
	trials map[[2]int]*trial // by indices and workers
	now    *trial            // trial of the loop that runs, or of the last one
}

// trial is the measurement of loops with one number of indices and workers.
type trial struct {
	candidates []*candidate
	loops      int           // number of timed loops
	spent      time.Duration // total time of these loops
}

// candidate is a schedule that a trial times.
type candidate struct {
	name  string
	chunk int
	Schedule
	best time.Duration // least time of one loop
}

// A trial ends when each candidate has had a loop and all together took autoLong, or when each has
// had autoRounds loops and all together took autoTime, or when each has had autoMost loops.
const (
	autoLong   = 50 * time.Millisecond
	autoRounds = 3
	autoTime   = 10 * time.Millisecond
	autoMost   = 100
)

// NewAuto returns an Auto that chooses among schedules with chunks of at least the given number of indices.
func NewAuto(least int) *Auto { return &Auto{least: least} }

// mostTrials is how many trials are remembered.
const mostTrials = 64

// Share implements Schedule.
func (a *Auto) Share(n, workers int) Shares {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.trials[[2]int{n, workers}]
	if t == nil {
		least := max(1, a.least)
		// A worker has some eight chunks of the larger size.
		chunk := max(least, n/(8*workers))
		t = &trial{candidates: []*candidate{
			{name: static, Schedule: Static(0), best: math.MaxInt64},
			{name: dynamic, chunk: least, Schedule: Dynamic(least), best: math.MaxInt64},
			{name: dynamic, chunk: chunk, Schedule: Dynamic(chunk), best: math.MaxInt64},
			{name: guided, chunk: least, Schedule: Guided(least), best: math.MaxInt64},
		}}
		if a.trials == nil || len(a.trials) == mostTrials {
			a.trials = map[[2]int]*trial{}
		}
		a.trials[[2]int{n, workers}] = t
	}
	a.now = t
	return t.current().Share(n, workers)
}

func (t *trial) current() *candidate {
	if t.decided() {
		return slices.MinFunc(t.candidates, func(a, b *candidate) int { return cmp.Compare(a.best, b.best) })
	}
	i := t.loops % (2 * len(t.candidates))
	return t.candidates[min(i, 2*len(t.candidates)-1-i)] // forwards, then backwards
}

func (t *trial) decided() bool {
	rounds := t.loops / len(t.candidates)
	return rounds >= 1 && t.spent >= autoLong || rounds >= autoRounds && t.spent >= autoTime || rounds >= autoMost
}

// took records the time of the loop for which Share was called last.
func (a *Auto) took(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.now
	if t.decided() {
		return
	}
	c := t.current()
	c.best = min(c.best, d)
	t.loops++
	t.spent += d
}

// Forget makes Decided return true until the next loop.
func (a *Auto) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = nil
}

// Decided reports whether the trial has ended for loops like the last one.
func (a *Auto) Decided() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now == nil || a.now.decided()
}

// Chosen returns the name and the chunk of the schedule for the next loop like the last one. Before the
// first loop the name is empty.
func (a *Auto) Chosen() (name string, chunk int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now == nil {
		return "", 0
	}
	c := a.now.current()
	return c.name, c.chunk
}
