package turn

import (
	"context"
	"runtime"
	"slices"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/peak"
)

// ceilingTries is how often a peak is measured; the best one counts.
const ceilingTries = 3

// pipes returns the pipes whose peaks are measured for the cases: the floating-point ones, and
// gf256 if there are products in GF(2⁸).
func pipes(cases []plan.Case) []string {
	out := []string{"f32", "f64"}
	if slices.ContainsFunc(cases, func(c plan.Case) bool { return c.Type == "gf256" }) {
		out = append(out, "gf256")
	}
	return out
}

// MeasureCeilings adds to the host the peaks of multiply-adds at each number of threads of the cases, and of ranks; and
// the memory bandwidths, if they are requested, at the numbers of threads of rows that a report compares with them.
func (b *Bench) MeasureCeilings(ctx context.Context, cases []plan.Case, bandwidth bool) error {
	var threads, streaming []int
	for _, c := range cases {
		if c.Ranks() > 0 || c.OnDevice() {
			continue
		}
		n := busy(c, runtime.GOMAXPROCS(0))
		threads = append(threads, n)
		if bandwidth && b.Budget.Time >= leastTriad && c.HasTraffic() {
			streaming = append(streaming, n)
		}
	}
	distinct := func(numbers []int) []int { return slices.Compact(slices.Sorted(slices.Values(numbers))) }
	b.peaks(ctx, pipes(cases), distinct(threads))
	b.bandwidths(ctx, distinct(streaming))
	return b.peaksOfRanks(ctx, cases)
}

// peaks measures the peaks of the pipes at each number of threads. It ends when ctx does.
func (b *Bench) peaks(ctx context.Context, pipes []string, threads []int) {
	// The maximum of several, with the others in between: a process that shares the core for a second halves the speed.
	h := &b.Host
	first := len(h.Ceilings)
	for try := range ceilingTries {
		at := first
		for _, n := range threads {
			for _, pipe := range pipes {
				gflops, isa := peak.FMA(ctx, pipe, n, b.Ceilings)
				if ctx.Err() != nil {
					return
				}
				if try == 0 {
					h.Ceilings = append(h.Ceilings, record.Ceiling{Unit: "cpu", Pipe: pipe, ISA: string(isa), Threads: n, Run: b.Run})
				}
				h.Ceilings[at].Gflops = max(h.Ceilings[at].Gflops, record.Number(gflops))
				at++
			}
		}
	}
}

// leastTriad is the time of a row from which the bandwidth is worth its arrays, whose first touch takes 0.2 to 1 s.
const leastTriad = 2 * time.Millisecond

// bandwidths measures the memory bandwidth at each number of threads. It ends when ctx does.
func (b *Bench) bandwidths(ctx context.Context, threads []int) {
	for _, n := range threads {
		gbps := peak.Triad(ctx, n, triadBytes(b.Host.Caches), b.Ceilings)
		if ctx.Err() != nil {
			return
		}
		b.Host.Bandwidths = append(b.Host.Bandwidths,
			record.Bandwidth{Unit: "cpu", Name: "triad", Threads: n, GBps: record.Number(gbps), Run: b.Run})
	}
}

// mostTriad is the most bytes of the three arrays. On a large host, four times the cache would take seconds to touch
// for the first time, and a virtual machine has only a part of the cache that it reports.
const mostTriad int64 = 2 << 30

// triadBytes returns the size of each of the three arrays.
func triadBytes(caches []record.Cache) int64 {
	var last int64
	for _, c := range caches {
		last = max(last, c.Bytes)
	}
	return min(peak.TriadBytes(last), mostTriad/3)
}

// peaksOfRanks measures the peaks at each total number of threads of the cases on ranks.
func (b *Bench) peaksOfRanks(ctx context.Context, cases []plan.Case) error {
	if b.Lead == nil || b.Lead.Peak == nil {
		return nil
	}
	defer b.Watch(b.Budget.Timeout, func() { b.Lead.Abort(errRankHung.Error()) })()
	seen := map[int]bool{}
	for _, c := range cases {
		if c.Ranks() == 0 || seen[c.Threads()] {
			continue
		}
		seen[c.Threads()] = true
		for _, pipe := range pipes(cases) {
			best := 0.0
			for range ceilingTries {
				if ctx.Err() != nil {
					return nil
				}
				gflops, err := b.Lead.Peak(pipe, c.Each(), b.Ceilings)
				if err != nil {
					return err
				}
				best = max(best, gflops)
			}
			b.Host.Ceilings = append(b.Host.Ceilings,
				record.Ceiling{Unit: "cpu", Pipe: pipe, Threads: c.Threads(), Gflops: record.Number(best), Run: b.Run})
		}
	}
	return nil
}
