package peer

import "sync"

// Pool has processes that wait for their next product, by what they hold. The zero value is empty. It
// is safe for concurrent use.
type Pool[K comparable, P interface{ Ended() bool }] struct {
	mu        sync.Mutex
	processes map[K][]P
}

// Get returns a process that holds the key and has not ended. It is the caller's until it is given
// back. Get reports false if there is none.
func (x *Pool[K, P]) Get(key K) (p P, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for waiting := x.processes[key]; len(waiting) > 0; waiting = x.processes[key] {
		p = waiting[len(waiting)-1]
		x.processes[key] = waiting[:len(waiting)-1]
		if !p.Ended() {
			return p, true
		}
	}
	return p, false
}

// Put makes a process that holds the key idle.
func (x *Pool[K, P]) Put(key K, p P) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.processes == nil {
		x.processes = map[K][]P{}
	}
	x.processes[key] = append(x.processes[key], p)
}

// Each calls f with every idle process.
func (x *Pool[K, P]) Each(f func(p P)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, waiting := range x.processes {
		for _, p := range waiting {
			f(p)
		}
	}
}
