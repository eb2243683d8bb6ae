package shard

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"gemm"
	"gemm/gf256"
	"gemm/internal/timeline"
)

// Candidate is a multiplier that an Autotuner compares.
type Candidate struct {
	Name     string
	Products int   // as in a Coder
	Least    int64 // bytes of a file that pay for starting and measuring it
	// Start returns the multiplier. Autotuner.Close closes it, if it is an io.Closer.
	Start func(context.Context) (gemm.Multiplier[gf256.Elem], error)

	multiplier gemm.Multiplier[gf256.Elem] // nil before Start
	tried      bool
}

// Rate is the measured speed of a candidate.
type Rate struct {
	Name  string
	Speed float64 // bytes of the file in a second: reading, multiplying and writing
}

// Autotuner finds the fastest of several multipliers, on the first slices of the first file that is large enough for
// each. Before that, the first candidate multiplies.
type Autotuner struct {
	Candidates []*Candidate
	// Chosen is called with the speeds, the best first. It may be nil.
	Chosen func([]Rate)

	used  *Candidate
	rates []Rate // the best first
}

// A candidate first computes all slices in flight once, and then a few times, which are timed. The candidates have
// several turns, of which the fastest counts.
const (
	trials = 2
	turns  = 2
)

// Used returns the name of the multiplier.
func (c *Autotuner) Used() string { return cmp.Or(c.used, c.Candidates[0]).Name }

// Close ends the multipliers.
func (c *Autotuner) Close() error {
	var all []error
	for _, x := range c.Candidates {
		if m, ok := x.multiplier.(io.Closer); ok {
			all = append(all, m.Close())
		}
		x.multiplier = nil
	}
	return errors.Join(all...)
}

// use makes x, which was started, the multiplier.
func (c *Coder) use(x *Candidate) {
	c.Multiplier, c.Products, c.Autotuner.used = x.multiplier, x.Products, x
}

// choose sets the multiplier. If the file is large enough for candidates that were not tried, they compute its first
// columns, to find out which is the fastest.
func (c *Coder) choose(ctx context.Context, f *feed, done *meter) error {
	all := c.Autotuner
	if first := all.Candidates[0]; all.used == nil {
		if err := first.start(ctx); err != nil {
			return err
		}
		c.use(first)
	}
	large := slices.DeleteFunc(slices.Clone(all.Candidates), func(x *Candidate) bool {
		return x.tried || f.length*int64(f.data) < x.Least
	})
	if len(large) == 0 {
		return nil
	}
	if more, err := f.more(); !more || err != nil || f.matrix.Rows == 0 {
		return err // there is nothing to multiply
	}
	var here []*Candidate
	for _, x := range large {
		if x.tried = true; x.start(ctx) == nil {
			here = append(here, x)
		}
	}
	before := len(all.rates)
	if err := c.try(ctx, f, done, here...); err != nil {
		return err
	}
	if all.Chosen != nil && len(all.rates) > before {
		all.Chosen(slices.Clone(all.rates))
	}
	return nil
}

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
	best := 0 // if none was measured
	if len(all.rates) > 0 {
		best = slices.IndexFunc(all.Candidates, func(x *Candidate) bool { return x.Name == all.rates[0].Name })
	}
	c.use(all.Candidates[best])
	return nil
}
