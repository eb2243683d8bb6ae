package shard

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"

	"gemm/internal/output"
)

// plan says what is to be made of the blocks of a set.
type plan struct {
	set     Set
	bad     []*blocks // of each shard
	sources []source  // of each shard with good blocks
	sinks   [][]sink  // of each shard
	closers []func()
	files   output.Group // new files
	shards  []*writer    // the new files that are shards
}

// newPlan opens the shards from index from on, for their good blocks. The caller calls close.
func newPlan(r *Report, from int) (*plan, error) {
	n := r.Set.Shards()
	p := &plan{set: r.Set, bad: r.bad(), sources: make([]source, n), sinks: make([][]sink, n)}
	for i, s := range r.Shards[from:] {
		if s.BadBlocks == r.Stripes {
			continue
		}
		name := filepath.Join(r.Dir, s.File)
		in, _, err := openShard(name, s.header)
		if err != nil {
			p.close()
			return nil, unreadable(name, err)
		}
		p.sources[from+i] = in
		p.closers = append(p.closers, in.close)
	}
	return p, nil
}

// close closes the shards, and discards new files that were not committed.
func (p *plan) close() {
	for _, c := range p.closers {
		c()
	}
	p.files.Discard()
}

// rewrite adds new files for shards. If the header of one is known, its table must be what it was.
func (p *plan) rewrite(r *Report, shards []int, mode fs.FileMode) error {
	for _, i := range shards {
		h, old := header{Set: r.Set, index: i}, r.Shards[i].header
		known := old.Set == r.Set && old.index == i
		if known {
			h.table = old.table
		}
		w, err := newWriter(&p.files, r.Dir, h, mode)
		if err != nil {
			return err
		}
		w.known = known
		p.shards = append(p.shards, w)
		p.sinks[i] = append(p.sinks[i], w)
	}
	return nil
}

// execute runs the transfer of a plan and completes the new shards.
func (c *Coder) execute(ctx context.Context, p *plan, what string) error {
	t, err := p.transfer()
	if err == nil {
		err = c.transfer(ctx, t, c.meter(what, p.set.Payload()*int64(p.set.Data)))
	}
	if err != nil {
		return err
	}
	return finish(p.shards)
}

// transfer returns the transfer that executes the plan. In each stripe it reads any good blocks, as many as there
// are data shards, and computes the others that have a sink. Without a bad one among these nothing is computed, and
// only the blocks that have a sink are read.
func (p *plan) transfer() (transfer, error) {
	code, err := p.set.code()
	if err != nil {
		return transfer{}, err
	}
	payload, block := p.set.Payload(), int64(p.set.Block)
	t := transfer{length: payload, shards: p.set.Shards(), block: p.set.Block, data: p.set.Data}
	t.runs = func(yield func(run, error) bool) {
		for at := range stretches(p.set.Stripes(), p.bad) {
			have, want := p.choose(at.bad)
			r := run{from: at.from * block, to: min(at.to*block, payload)}
			var err error
			if r.matrix, err = code.Decoder(have, want); err != nil {
				yield(r, err)
				return
			}
			for _, i := range have {
				r.in = append(r.in, p.sources[i])
			}
			for _, i := range slices.Concat(have, want) {
				r.out = append(r.out, p.sinks[i])
			}
			if len(have) > 0 && !yield(r, nil) {
				return
			}
		}
	}
	return t, nil
}

// choose returns the shards to read and those to compute in stripes where the bad ones are known.
func (p *plan) choose(bad []int) (have, want []int) {
	var others []int
	for i, sinks := range p.sinks {
		switch isBad := slices.Contains(bad, i); {
		case isBad && len(sinks) > 0:
			want = append(want, i)
		case isBad:
		case len(sinks) > 0:
			have = append(have, i)
		default:
			others = append(others, i)
		}
	}
	if len(want) == 0 {
		return have, nil
	}
	have = append(have, others...)
	for _, i := range have[p.set.Data:] { // their blocks can as well be computed
		if len(p.sinks[i]) > 0 {
			want = append(want, i)
		}
	}
	return have[:p.set.Data], want
}
