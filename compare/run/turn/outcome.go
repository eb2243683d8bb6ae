package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gemm/internal/cpu"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/internal/note"
	"gemm/internal/sample"
)

// smallPeer is the number of terms below which the cost of a call into a library matters, and is
// measured. largePeer is the number of terms from which a good library reaches half of the peak.
const (
	smallPeer = 256 * 256 * 256
	largePeer = 512 * 512 * 512
)

// finish makes the row from the measurements, or of the error that has ended it.
func (t *candidate) finish(err error) record.Record {
	r := t.row
	r.Host, r.Run = t.b.Host.ID, t.b.Run
	r.Resolved = maps.Clone(r.Resolved)
	for _, x := range []any{t.product.multiplier, t.remote.run} {
		if e, ok := x.(gemm.Explainer); ok {
			maps.Copy(r.Resolved, e.Resolved())
		}
	}
	if t.product.batched != "" {
		r.Resolved[batchKey] = t.product.batched
	}
	if err != nil {
		r.Status, r.Reason = t.b.failure(err)
	}
	r.Predicted = predict(t.b.Host, t.c)
	if r.Status != record.OK {
		return r
	}
	if t.c.Variant.Ran != nil {
		if name := t.c.Variant.Ran(t.c.Shape, t.c.Resolved()); name != "" {
			r.Resolved["ran"] = name
		}
	}
	r.Operands = verify.Distribution(r.Type, t.c.Steps())
	summarize(&r, t.sampler)
	if w, ok := t.product.multiplier.(record.Warner); ok {
		r.Warnings = append(r.Warnings, w.Warnings()...)
	}
	if t.remote.gpu != nil {
		g := t.remote.gpu.Device()
		g.Power = t.remote.watt
		r.GPU = &g
		r.Warnings = append(r.Warnings, g.Warnings...)
	}
	if oversubscribed := t.oversubscribed(&r); oversubscribed.Text != "" {
		r.Warnings = append(r.Warnings, oversubscribed)
	}
	if t.product.overhead > 0 {
		r.Warnings = append(r.Warnings, note.New("call", t.product.overhead.Round(50*time.Nanosecond).String()))
	}
	t.rate(&r)
	r.Phases = t.phases()
	return r
}

// predict evaluates the variant's model for the case on this host; nil: it has none.
func predict(h record.Host, c plan.Case) *record.Predicted {
	m, ok := c.Model()
	if !ok {
		return nil
	}
	size := float64(gemm.TypeNamed(c.Type).Size)
	out := &record.Predicted{Flops: m.Flops, Accesses: m.Accesses, Workspace: m.Workspace * size}
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
func (b *Bench) failure(err error) (record.Status, note.Note) {
	switch {
	case errors.Is(err, errRankHung), errors.Is(err, ErrDeviceHung):
		return record.Timeout, note.Read(fmt.Sprintf("%v %v after its time limit of %v", err, cmp.Or(b.Grace, grace),
			b.Budget.Timeout))
	case errors.Is(err, gemm.ErrUnavailable):
		return record.Unavailable, note.Read(err.Error())
	case errors.Is(err, errTimeout):
		return record.Timeout, note.Read(fmt.Sprintf("%v of %v: raise it with --timeout", err, b.Budget.Timeout))
	case errors.As(err, &note.Wrong{}):
		return record.Wrong, note.Read(err.Error())
	case errors.As(err, &note.Suspect{}):
		return record.Suspect, note.Read(err.Error())
	case errors.As(err, &note.Unsuited{}):
		return record.Skipped, note.Read(err.Error())
	}
	return record.Failed, note.Read(err.Error())
}

// summarize puts the samples, their median and its interval into the row.
func summarize(r *record.Record, taken sample.Sampler) {
	r.Samples, r.Inner = taken.Seconds, taken.Inner
	s := sample.Summarize(r.Samples)
	r.Median = record.Number(s.Median)
	if !s.Bounded() {
		r.Warnings = append(r.Warnings, note.New("samples", sample.MinForInterval, sample.MinForInterval))
		return
	}
	r.CI = &[2]float64{s.Lo, s.Hi}
	if s.Wide() {
		r.Warnings = append(r.Warnings, note.New(note.Spread))
	}
}

// oversubscribed adds what the ranks did to the row. It returns a warning if threads or ranks do not run at the same
// time, otherwise the zero note.
func (t *candidate) oversubscribed(r *record.Record) note.Note {
	if t.c.Ranks() == 0 {
		return t.b.Host.Crowded(r.Threads)
	}
	if t.remote.last.distribution == nil {
		return note.Note{}
	}
	off := func(seconds float64) float64 { return math.Abs(seconds - float64(r.Median)) }
	nearest := slices.MinFunc(r.Samples, func(a, b float64) int { return cmp.Compare(off(a), off(b)) })
	r.Distribute(*t.remote.kept[slices.Index(r.Samples, nearest)].distribution)
	return t.b.Host.Oversubscribed(*r)
}

// rate puts the speed into the row, and its share of the peak as far as that is known.
func (t *candidate) rate(r *record.Record) {
	terms, median := t.c.Terms()*t.c.Products(), float64(r.Median)
	if r.Type == "gf256" {
		r.Rate = record.Number(terms / median / 1e9)
		r.DataGBps = record.Number(float64(r.K) * float64(r.N) * t.c.Products() / median / 1e9)
	} else {
		r.Gflops = record.Number(2 * terms / median / 1e9)
		r.Rate = r.Gflops
	}
	alone := record.Document{Hosts: []record.Host{t.b.Host}, Records: []record.Record{*r}}
	r.PercentPeak = alone.WithPeaks().Records[0].PercentPeak
	library := t.c.Foreign() && t.c.Variant.Role == gemm.Library
	if library && r.Type != "gf256" && terms >= largePeer && r.PercentPeak < 50 {
		r.Warnings = append(r.Warnings, note.New("slow"))
	}
}

// phases returns the median of each phase over the samples, in seconds; nil: there are none.
func (t *candidate) phases() map[string]float64 {
	all := map[string][]float64{}
	for _, c := range t.remote.kept {
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

// A peak that was measured again between the samples and now may be too low by margin, and one that cannot be measured
// again by apart. It is measured again peakTries times at most.
const (
	margin    = 1.1
	apart     = 1.5
	peakTries = 20
)

// checkPeak makes a row suspect whose speed is above the peak of its processors by more than the spread of both.
// Another program may have used them while the peak was measured: so it is measured again before.
func (t *candidate) checkPeak(ctx context.Context, r *record.Record) {
	if !r.Speed() || !(r.PercentPeak > 100) || !t.comparable(*r) {
		return
	}
	slowest := slices.Max(r.Samples)
	if r.CI != nil {
		slowest = r.CI[1]
	}
	executed := min(1, t.c.Flops()/(2*t.c.Terms()*t.c.Products())) // less than the definition has, by Strassen
	speed, highest := float64(r.Rate*r.Median)/slowest*executed, 100*float64(r.Rate/r.PercentPeak)
	over := apart
	if !t.c.OnDevice() && t.c.Ranks() == 0 {
		over = margin
		for range peakTries {
			if again, ok := t.peak(ctx); ok && speed > over*highest {
				highest = max(highest, again)
			}
		}
	}
	if speed <= over*highest || ctx.Err() != nil {
		return
	}
	bare := t.row
	bare.Host, bare.Run, bare.Resolved, bare.Predicted, bare.Status = r.Host, r.Run, r.Resolved, r.Predicted,
		record.Suspect
	bare.Reason = note.New("peak", fmt.Sprintf("%.3g", float64(r.Rate)/highest), fmt.Sprintf("%.4g", highest), r.Unit)
	*r = bare
}

// comparable reports whether the peak is one of the instructions that the row may use, on as many processors.
func (t *candidate) comparable(r record.Record) bool {
	if _, narrowed := cpu.Held(); narrowed && t.c.Outside() || t.c.Ranks() > 0 && t.b.Host.Oversubscribed(r).Text != "" {
		return false
	}
	return t.c.OnDevice() || !slices.ContainsFunc(t.b.Host.Ceilings, func(c record.Ceiling) bool {
		return c.Run == t.b.Run && c.Pipe == t.c.Pipe() && c.ISA == string(cpu.Generic) // of a loop that Go compiles
	})
}
