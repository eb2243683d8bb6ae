package compare

import (
	"context"
	"slices"
	"time"
)

// A neighbour on a shared machine comes and goes within seconds. So rows that it has disturbed are
// measured once more at the end, when it may be gone.

// warnSpread is the warning of a row whose interval is wide, and warnTwice the one of a row that was
// measured again.
const (
	warnSpread = "wide spread: repeat on a quiet machine"
	warnTwice  = "measured twice: this is the result with the narrower interval"
)

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
		if !ok || old.Run != d.run.ID || !slices.Contains(old.Warnings, warnSpread) || m.took > left {
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
		best.Warnings = append(slices.Clone(best.Warnings), warnTwice)
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
	case second.Status == Wrong:
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
