package shard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"gemm"
	"gemm/gf256"
	"gemm/internal/timeline"
)

// Candidate is a multiplier that an Autotuner compares.
type Candidate struct {
	Name     string
	Products int // as in a Coder
	// Start returns the multiplier. Autotuner.Close closes it, if it is an io.Closer, or else cancels Start's context.
	Start func(context.Context) (gemm.Multiplier[gf256.Elem], error)
	Slow  bool // Start takes long: it is called for large files only, which are computed meanwhile

	multiplier gemm.Multiplier[gf256.Elem] // nil before Start
}

// Rate is the measured speed of a candidate.
type Rate struct {
	Name  string
	Speed float64 // bytes of the file in a second: reading, multiplying and writing
}

// Autotuner finds the fastest of several multipliers, on the first slices of the first large file. Before that, the
// first candidate multiplies.
type Autotuner struct {
	Candidates []*Candidate
	// Chosen is called with the speeds, the best first. A candidate that has not started yet has none. It may be nil.
	Chosen func([]Rate)

	used  *Candidate
	rates []Rate // the best first
	slow  *starter
}

// leastTuned is the bytes of a file that pay for the measurement, and for starting a slow candidate.
const leastTuned = 1 << 30

// A candidate first computes all slices in flight once, and then a few times, which are timed. The candidates have
// several turns, of which the fastest counts.
const (
	trials = 2
	turns  = 2
)

// Used returns the name of the multiplier.
func (c *Autotuner) Used() string {
	if c.used == nil {
		return c.Candidates[0].Name
	}
	return c.used.Name
}

// Close ends the multipliers.
func (c *Autotuner) Close() error {
	if c.slow != nil {
		c.slow.end()
	}
	var all []error
	for _, x := range c.Candidates {
		if m, ok := x.multiplier.(io.Closer); ok {
			all = append(all, m.Close())
		}
		x.multiplier = nil
	}
	return errors.Join(all...)
}

// starter starts slow candidates while others multiply.
type starter struct {
	waiting []*Candidate       // not tried yet
	results chan started       // of each; has room for all
	stop    context.CancelFunc // ends Start

	mu    sync.Mutex
	ended bool
}

type started struct {
	*Candidate
	multiplier gemm.Multiplier[gf256.Elem]
	err        error
}

// newStarter starts the slow ones of the candidates.
func newStarter(ctx context.Context, candidates []*Candidate) *starter {
	ctx, stop := context.WithCancel(timeline.Without(ctx))
	s := &starter{stop: stop, results: make(chan started, len(candidates))}
	for _, x := range candidates {
		if x.Slow && x.multiplier == nil {
			s.waiting = append(s.waiting, x)
			go func() {
				m, err := x.Start(ctx)
				s.mu.Lock()
				defer s.mu.Unlock()
				if !s.ended {
					s.results <- started{x, m, err}
				} else if m, ok := m.(io.Closer); ok && err == nil {
					_ = m.Close() // started too late
				}
			}()
		}
	}
	return s
}

// take removes a candidate from the waiting ones, with its multiplier if it has one.
func (s *starter) take(r started) {
	s.waiting = slices.DeleteFunc(s.waiting, func(x *Candidate) bool { return x == r.Candidate })
	if r.err == nil {
		r.Candidate.multiplier = r.multiplier
	}
}

// end cancels the candidates that have not started, without waiting.
func (s *starter) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	for len(s.results) > 0 {
		s.take(<-s.results)
	}
	if len(s.waiting) > 0 {
		s.stop()
	}
}

// use makes x, which was started, the multiplier.
func (c *Coder) use(x *Candidate) {
	c.Multiplier, c.Products, c.Autotuner.used = x.multiplier, x.Products, x
}

// choose sets the multiplier. If the file is large, it computes the first columns of f to find out which is the
// fastest, and says which if it tried one.
func (c *Coder) choose(ctx context.Context, f *feed, done *meter) error {
	all := c.Autotuner
	if first := all.Candidates[0]; all.used == nil {
		if err := first.start(ctx); err != nil {
			return err
		}
		c.use(first)
	}
	if f.length*int64(f.data) < cmp.Or(c.leastTuned, leastTuned) || all.slow != nil && len(all.slow.waiting) == 0 {
		return nil
	}
	if more, err := f.more(); !more || err != nil || f.matrix.Rows == 0 {
		return err // there is nothing to multiply
	}
	before := len(all.rates)
	if all.slow == nil {
		all.slow = newStarter(ctx, all.Candidates)
		here := slices.DeleteFunc(slices.Clone(all.Candidates), func(x *Candidate) bool {
			return x.Slow || x.start(ctx) != nil
		})
		if err := c.try(ctx, f, done, here...); err != nil {
			return err
		}
	}
	if err := c.trySlow(ctx, f, done); err != nil {
		return err
	}
	if all.Chosen != nil && len(all.rates) > before {
		rates := slices.Clone(all.rates)
		for _, x := range all.slow.waiting {
			rates = append(rates, Rate{Name: x.Name})
		}
		all.Chosen(rates)
	}
	return nil
}

// trySlow tries slow candidates once they have started. Until then, and until half of the file is done, the fastest
// goes on.
func (c *Coder) trySlow(ctx context.Context, f *feed, done *meter) error {
	slow := c.Autotuner.slow
	for len(slow.waiting) > 0 {
		long := f.left() > f.length/2
		select {
		case r := <-slow.results:
			switch {
			case r.err != nil:
				slow.take(r) // it is not here
				continue
			case long:
				slow.take(r)
				if err := c.try(ctx, f, done, r.Candidate); err != nil {
					return err
				}
				continue
			}
			slow.results <- r // for the next file
		default:
		}
		if !long {
			return nil
		}
		if _, err := c.pass(ctx, f, done, c.round(f)); err != nil {
			return err
		}
	}
	return nil
}

// start calls Start.
func (x *Candidate) start(ctx context.Context) (err error) {
	if x.multiplier == nil {
		x.multiplier, err = x.Start(timeline.Without(ctx))
	}
	return err
}

// round returns the number of columns of the slices in flight.
func (c *Coder) round(f *feed) int64 {
	p := c.pipeline(f.transfer)
	return int64(p.slices) * int64(max(p.room/f.shards/f.block, 1)*f.block)
}

// try measures the speeds of candidates, and uses the fastest of all so far.
func (c *Coder) try(ctx context.Context, f *feed, done *meter, candidates ...*Candidate) error {
	all := c.Autotuner
	for i := range turns * len(candidates) {
		x := candidates[i%len(candidates)]
		c.use(x)
		if _, err := c.pass(ctx, f, done, c.round(f)); errors.As(err, &noMemory{}) {
			continue // nothing was computed, and others need less
		} else if err != nil {
			return err
		}
		start, want := time.Now(), trials*c.round(f)
		columns, err := c.pass(ctx, f, done, want)
		if err != nil {
			return err
		}
		if columns < want {
			break // the end was too near
		}
		r := Rate{x.Name, float64(columns*int64(f.data)) / time.Since(start).Seconds()}
		if i := slices.IndexFunc(all.rates, func(old Rate) bool { return old.Name == r.Name }); i < 0 {
			all.rates = append(all.rates, r)
		} else {
			all.rates[i].Speed = max(all.rates[i].Speed, r.Speed)
		}
	}
	slices.SortStableFunc(all.rates, func(a, b Rate) int { return cmp.Compare(b.Speed, a.Speed) })
	best := all.Candidates[0].Name
	if len(all.rates) > 0 {
		best = all.rates[0].Name
	}
	for _, x := range all.Candidates {
		if x.Name == best {
			c.use(x)
		}
	}
	return nil
}
