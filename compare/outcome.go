package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gemm"
	"gemm/compare/batch"
	"gemm/compare/note"
	"gemm/compare/optional"
	"gemm/compare/verify"
	"gemm/internal/cpu"
	"gemm/internal/sample"
)

// smallPeer is the number of terms below which the cost of a call into a library matters, and is
// measured. largePeer is the number of terms from which a good library reaches half of the peak.
const (
	smallPeer = 256 * 256 * 256
	largePeer = 512 * 512 * 512
)

// finish makes the row from the measurements.
func (d *Driver) finish(t *contender) Record {
	r := t.record
	r.Host, r.Run = d.host.ID, d.run.ID
	if t.explain != nil {
		r.Resolved = maps.Clone(t.c.resolved)
		maps.Copy(r.Resolved, t.explain())
	}
	if t.batched != "" {
		r.Resolved = maps.Clone(r.Resolved)
		r.Resolved[batch.Key] = t.batched
	}
	if e, ok := t.staged.(gemm.Explainer); ok {
		r.Resolved = maps.Clone(r.Resolved)
		maps.Copy(r.Resolved, e.Resolved())
	}
	if t.err != nil {
		r.Status, r.Reason = d.failure(t.err)
	}
	r.Predicted = d.host.predict(t.c)
	if r.Status != OK {
		return r
	}
	if t.c.Variant.Ran != nil {
		if name := t.c.Variant.Ran(t.c.Shape, t.c.resolved); name != "" {
			r.Resolved = maps.Clone(r.Resolved)
			r.Resolved["ran"] = name
		}
	}
	r.Operands = verify.Distribution(r.Type, t.c.chain())
	r.summarize(t.sampler)
	if t.warn != nil {
		r.Warnings = append(r.Warnings, t.warn()...)
	}
	if t.device != nil {
		g := t.device.Device()
		g.Power = t.watts
		r.GPU = &g
		r.Warnings = append(r.Warnings, g.Warnings...)
	}
	if crowded := d.crowded(&r, t); crowded.Text != "" {
		r.Warnings = append(r.Warnings, crowded)
	}
	if t.overhead > 0 {
		r.Warnings = append(r.Warnings, note.New("call", t.overhead.Round(50*time.Nanosecond).String()))
	}
	d.rate(&r, t)
	r.Phases = t.phases()
	return r
}

// predict evaluates the variant's model for the case on this host; nil: it has none.
func (h Host) predict(c Case) *Predicted {
	m, ok := c.model()
	if !ok {
		return nil
	}
	size := float64(gemm.TypeNamed(c.Type).Size)
	out := &Predicted{Flops: m.Flops, Accesses: m.Accesses, Workspace: m.Workspace * size}
	for _, cache := range h.Caches {
		if m.Traffic == nil {
			break
		}
		traffic := size * m.Traffic(float64(cache.Bytes)/size, float64(cache.Line)/size)
		switch cache.Level {
		case 1:
			out.L1Traffic = traffic
		case 2:
			out.L2Traffic = traffic
		}
		out.Traffic = traffic
	}
	return out
}

// failure returns the outcome of a row that err has ended, and its reason.
func (d *Driver) failure(err error) (Status, note.Note) {
	switch {
	case errors.Is(err, errHung), errors.Is(err, errEndless):
		return Timeout, note.Read(fmt.Sprintf("%v %v after its time limit of %v", err, cmp.Or(d.grace, grace),
			d.Budget.Timeout))
	case errors.Is(err, gemm.ErrUnavailable):
		return Unavailable, note.Read(gemm.Why(err))
	case errors.Is(err, errTimeout):
		return Timeout, note.Read(fmt.Sprintf("%v of %v: raise it with --timeout", err, d.Budget.Timeout))
	case errors.As(err, &optional.Wrong{}):
		return Wrong, note.Read(gemm.Why(err))
	case errors.As(err, &optional.Suspect{}):
		return Suspect, note.Read(gemm.Why(err))
	case errors.As(err, &unproven{}), errors.As(err, &optional.Unsuited{}):
		return Skipped, note.Read(gemm.Why(err))
	}
	return Failed, note.Read(gemm.Why(err))
}

// summarize puts the samples, their median and its interval into the row.
func (r *Record) summarize(taken sample.Sampler) {
	r.Samples, r.Inner = taken.Seconds, taken.Inner
	s := sample.Summarize(r.Samples)
	r.Median = Number(s.Median)
	if !s.Bounded() {
		r.Warnings = append(r.Warnings,
			note.New("samples", sample.MinForInterval, sample.MinForInterval))
		return
	}
	r.CI = &[2]float64{s.Lo, s.Hi}
	if s.Wide() {
		r.Warnings = append(r.Warnings, note.New(note.Spread))
	}
}

// crowded adds what the ranks did to the row. It returns a warning if threads or ranks do not run
// at the same time, otherwise
// the zero note.
func (d *Driver) crowded(r *Record, t *contender) note.Note {
	if t.c.Ranks() == 0 {
		return d.host.Crowded(r.Threads)
	}
	if t.last.distribution == nil {
		return note.Note{}
	}
	r.distribute(*t.courses[nearest(r.Samples, float64(r.Median))].distribution)
	return d.host.oversubscribed(*r)
}

// rate puts the speed into the row, and its share of the peak as far as that is known.
func (d *Driver) rate(r *Record, t *contender) {
	terms, median := t.c.Terms()*t.c.products(), float64(r.Median)
	if r.Type == "gf256" {
		r.Rate = Number(terms / median / 1e9)
		r.DataGBps = Number(float64(r.K) * float64(r.N) * t.c.products() / median / 1e9)
	} else {
		r.Gflops = Number(2 * terms / median / 1e9)
		r.Rate = r.Gflops
	}
	alone := Document{Hosts: []Host{d.host}, Records: []Record{*r}}
	r.PercentPeak = alone.Settled().Records[0].PercentPeak
	library := t.c.foreign() && t.c.Variant.Role == gemm.Library
	if library && r.Type != "gf256" && terms >= largePeer && r.PercentPeak < 50 {
		r.Warnings = append(r.Warnings, note.New("slow"))
	}
}

// A peak that was measured again between the samples and now may be too low by margin, and one that cannot be measured
// again by apart. It is measured again doubts times at most.
const (
	margin = 1.1
	apart  = 1.5
	doubts = 20
)

// doubt makes a row suspect whose speed is above the peak of its processors by more than the spread of both. Another
// program may have used them while the peak was measured: so it is measured again before.
func (d *Driver) doubt(ctx context.Context, r *Record, t *contender) {
	if !r.Speed() || !(r.PercentPeak > 100) || !d.comparable(*r, t) {
		return
	}
	slowest := slices.Max(r.Samples)
	if r.CI != nil {
		slowest = r.CI[1]
	}
	executed := min(1, t.c.flops()/(2*t.c.Terms()*t.c.products())) // less than the definition has, by Strassen
	speed, highest := float64(r.Rate*r.Median)/slowest*executed, 100*float64(r.Rate/r.PercentPeak)
	over := apart
	if !t.c.OnDevice() && t.c.Ranks() == 0 {
		over = margin
		for range doubts {
			if again, ok := d.peak(ctx, t); ok && speed > over*highest {
				highest = max(highest, again)
			}
		}
	}
	if speed <= over*highest || ctx.Err() != nil {
		return
	}
	bare := t.record
	bare.Host, bare.Run, bare.Resolved, bare.Predicted, bare.Status = r.Host, r.Run, r.Resolved, r.Predicted, Suspect
	bare.Reason = note.New("peak", fmt.Sprintf("%.3g", float64(r.Rate)/highest), fmt.Sprintf("%.4g", highest), r.Unit)
	*r = bare
}

// comparable reports whether the peak is one of the instructions that the row may use, on as many processors.
func (d *Driver) comparable(r Record, t *contender) bool {
	if _, narrowed := cpu.Held(); narrowed && t.c.outside() || t.c.Ranks() > 0 && d.host.oversubscribed(r).Text != "" {
		return false
	}
	return t.c.OnDevice() || !slices.ContainsFunc(d.host.Ceilings, func(c Ceiling) bool {
		return c.Run == d.run.ID && c.Pipe == t.c.pipe() && c.ISA == string(cpu.Generic) // of a loop that Go compiles
	})
}

// phases returns the median of each phase over the samples, in seconds; nil: there are none.
func (t *contender) phases() map[string]float64 {
	all := map[string][]float64{}
	for _, c := range t.courses {
		for name, took := range c.phases {
			all[name] = append(all[name], took.Seconds())
		}
	}
	if len(all) == 0 {
		return nil
	}
	out := map[string]float64{}
	for name, seconds := range all {
		out[name] = sample.Summarize(seconds).Median
	}
	return out
}

// nearest returns the index of the first of some numbers that is nearest to x.
func nearest(numbers []float64, x float64) int {
	at := 0
	for i, n := range numbers {
		if math.Abs(n-x) < math.Abs(numbers[at]-x) {
			at = i
		}
	}
	return at
}

// A neighbour on a shared machine comes and goes within seconds. So rows that it has disturbed are
// measured once more at the end, when it may be gone.

// againShare is the part of the time of a run that may be added to measure rows again.
const againShare = 10

// measured is a case that was measured alone, and the time that it took.
type measured struct {
	c    Case
	took time.Duration
}

// again measures the rows with a wide spread once more, one after the other, and keeps the better
// result of each. Rows in turns are left: a turn compares samples of the same minutes. It takes at
// most Driver.Again, and a tenth of the time of the run so far.
func (d *Driver) again(ctx context.Context, took time.Duration) error {
	left := min(d.Again, took/againShare)
	for _, m := range d.alone {
		old, ok := d.Store.find(m.c.Key.of(d.host.ID).with(m.c.Params))
		if !ok || old.Run != d.run.ID || !old.Warns(note.Spread) || m.took > left {
			continue
		}
		start := time.Now()
		d.reclaim()
		d.Progress.Begin([]Case{m.c})
		records, traces, err := d.measure(ctx, []Case{m.c})
		if err != nil {
			return err
		}
		left -= time.Since(start)
		best := narrower(old, records[0])
		best.Warnings = append(slices.Clone(best.Warnings), note.New("twice"))
		if best.Median == old.Median {
			traces = nil
		}
		if err := d.put([]Record{best}, traces...); err != nil {
			return err
		}
	}
	return nil
}

// narrower returns the row with the narrower interval, relative to its median. A row that went wrong
// the second time says so.
func narrower(first, second Record) Record {
	switch {
	case second.Status == Wrong, second.Status == Suspect:
		return second
	case second.Status != OK || second.CI == nil:
		return first
	case first.CI == nil || second.spread() < first.spread():
		return second
	}
	return first
}

// spread returns the width of the interval relative to the median.
func (r Record) spread() float64 { return (r.CI[1] - r.CI[0]) / float64(r.Median) }
