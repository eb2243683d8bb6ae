package shard

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gemm"
	"gemm/gf256"
)

// lazy is a multiplier that takes its time.
type lazy struct {
	gemm.Multiplier[gf256.Elem]
	times  int
	closed *bool
}

func (m lazy) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	for range m.times {
		if err := m.Multiplier.Multiply(ctx, c, a, b); err != nil {
			return err
		}
	}
	return nil
}

func (m lazy) Close() error {
	*m.closed = true
	return nil
}

// TestAutotuner: the fastest multiplier computes the rest of a large file, those that are not here do not matter, and a
// slow one is not started for a small file.
func TestAutotuner(t *testing.T) {
	c := newCoder(t)
	plain, started, closed := c.Multiplier, 0, false
	newCandidate := func(name string, times int, slow bool) *Candidate {
		return &Candidate{Name: name, Slow: slow, Products: 2,
			Start: func(context.Context) (gemm.Multiplier[gf256.Elem], error) {
				started++
				if times == 0 {
					return nil, errors.New("not here")
				}
				return lazy{plain, times, &closed}, nil
			}}
	}
	var rates []Rate
	c.Autotuner = &Autotuner{
		Candidates: []*Candidate{newCandidate("lazy", 100, false), newCandidate("none", 0, false), newCandidate("fast",
			1, false)},
		Chosen: func(r []Rate) { rates = r },
	}
	c.leastTuned = 100000
	encode(t, c, random(50000, 1), 4, 2, Vandermonde)
	if started != 1 || rates != nil || c.Autotuner.Used() != "lazy" {
		t.Errorf("a small file: %d were started, %s was used, rates %v", started, c.Autotuner.Used(), rates)
	}
	data := random(300000, 2)
	dir, set := encode(t, c, data, 4, 2, Vandermonde)
	if c.Autotuner.Used() != "fast" || len(rates) != 2 || rates[0].Name != "fast" || rates[1].Speed <= 0 {
		t.Errorf("%s was used, rates %v", c.Autotuner.Used(), rates)
	}
	r, err := (&Coder{block: c.block}).Verify(t.Context(), dir)
	if err != nil || len(r.Good()) != set.Shards() {
		t.Errorf("the shards that several multipliers made: %v, %v", r, err)
	}

	full := &Candidate{Name: "full", Start: func(context.Context) (gemm.Multiplier[gf256.Elem], error) {
		return &allocating{Multiplier: plain, t: t, fails: errors.New("full")}, nil
	}}
	c.Autotuner = &Autotuner{Candidates: []*Candidate{newCandidate("fast", 1, false), full},
		Chosen: func(r []Rate) { rates = r }}
	if encode(t, c, data, 4, 2, Vandermonde); c.Autotuner.Used() != "fast" || len(rates) != 1 {
		t.Errorf("without memory: %s was used, rates %v", c.Autotuner.Used(), rates)
	}

	// A slow one starts while others multiply. It is tried if the file is long enough.
	begin, now := make(chan struct{}), make(chan struct{})
	slow := newCandidate("slow", 1, true)
	start := slow.Start
	slow.Start = func(ctx context.Context) (gemm.Multiplier[gf256.Elem], error) {
		close(begin)
		select {
		case <-now:
			return start(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c.Autotuner = &Autotuner{Candidates: []*Candidate{newCandidate("lazy", 100, false), slow},
		Chosen: func(r []Rate) { rates = r }}
	encode(t, c, data, 4, 2, Vandermonde)
	<-begin
	if c.Autotuner.Used() != "lazy" || !slices.Equal(rates, []Rate{rates[0], {Name: "slow"}}) {
		t.Errorf("%s was used, rates %v", c.Autotuner.Used(), rates)
	}
	close(now)
	c.Autotuner.slow.results <- <-c.Autotuner.slow.results // it has started
	encode(t, c, data, 4, 2, Vandermonde)
	if c.Autotuner.Used() != "slow" || len(rates) != 2 || rates[1].Name != "lazy" {
		t.Errorf("%s was used, rates %v", c.Autotuner.Used(), rates)
	}
	if err := c.Autotuner.Close(); err != nil || !closed {
		t.Errorf("closed: %v, %v", closed, err)
	}
}
