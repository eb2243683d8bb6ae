package shard

import (
	"context"
	"errors"
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

// TestAutotuner: the fastest multiplier computes the rest of a large file, those that are not here do not matter, and
// none but the first is started for a file that is too small for it.
func TestAutotuner(t *testing.T) {
	c := newCoder(t)
	plain, started, closed := c.Multiplier, 0, false
	newCandidate := func(name string, times int, least int64) *Candidate {
		return &Candidate{Name: name, Least: least, Products: 2,
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
		Candidates: []*Candidate{newCandidate("lazy", 100, 100000), newCandidate("none", 0, 100000),
			newCandidate("fast", 1, 100000)},
		Chosen: func(r []Rate) { rates = r },
	}
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
	c.Autotuner = &Autotuner{Candidates: []*Candidate{newCandidate("fast", 1, 0), full},
		Chosen: func(r []Rate) { rates = r }}
	if encode(t, c, data, 4, 2, Vandermonde); c.Autotuner.Used() != "fast" || len(rates) != 1 {
		t.Errorf("without memory: %s was used, rates %v", c.Autotuner.Used(), rates)
	}

	// One that pays for larger files only is not started before.
	c.Autotuner = &Autotuner{Candidates: []*Candidate{newCandidate("lazy", 100, 0), newCandidate("late", 1, 1<<20)},
		Chosen: func(r []Rate) { rates = r }}
	if encode(t, c, data, 4, 2, Vandermonde); c.Autotuner.Used() != "lazy" || len(rates) != 1 {
		t.Errorf("%s was used, rates %v", c.Autotuner.Used(), rates)
	}
	c.Autotuner.Candidates[1].Least = int64(len(data))
	if encode(t, c, data, 4, 2, Vandermonde); c.Autotuner.Used() != "late" || len(rates) != 2 {
		t.Errorf("%s was used, rates %v", c.Autotuner.Used(), rates)
	}
	if err := c.Autotuner.Close(); err != nil || !closed {
		t.Errorf("closed: %v, %v", closed, err)
	}
}
