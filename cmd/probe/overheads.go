package probe

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/run"
	"gemm/internal/sample"
	"gemm/parallel"
	"gemm/pool"
	"gemm/reference"
)

// overheads returns the probes for rows of the family parallel. At each of their numbers of threads, up to four per
// processor, they measure the time to begin and end a loop (fork-join), to get a chunk (chunk), and to merge private
// copies of C (merge), in package parallel and in libgomp.
func overheads(cases []plan.Case) []run.Probe {
	var threads []int
	for _, c := range cases {
		v := c.Variant
		own := v.Location == gemm.InProcess && !v.Role.Outside() && v.Has("threads")
		if n := c.Threads(); own && n <= 4*runtime.NumCPU() {
			threads = append(threads, n)
		}
	}
	slices.Sort(threads)
	var out []run.Probe
	for _, n := range slices.Compact(threads) {
		out = append(out, forkJoin(n).probes("fork-join")...)
		for _, schedule := range []string{"static", "dynamic", "guided"} {
			// In libgomp one thread gets a static or guided loop as one chunk.
			if n > 1 || schedule == "dynamic" {
				out = append(out, chunk(n, schedule).probes("chunk")...)
			}
		}
		out = append(out, merge(n).probes("merge")...)
	}
	return out
}

// A turn is a group of candidates that do the same work and are interleaved.
type turn struct {
	candidates []candidate
	once       sync.Once // measures
}

// candidate is one way to do something.
type candidate struct {
	params gemm.Params
	units  int // that a call does: what is recorded is the time of one
	// call does it that many times; libgomp is nil for all that do not need it.
	call    func(ctx context.Context, libgomp *reference.OpenMP, times int) (time.Duration, error)
	sampler sample.Sampler
	err     error // why there are no samples
}

// The runtimes of candidates.
const (
	ofPool       = "pool"       // pool.Pool
	ofGoroutines = "goroutines" // a goroutine a worker, waited for with a sync.WaitGroup
	ofLibgomp    = "libgomp"
)

// forkJoin begins and ends loops over that many workers, with nothing in them.
func forkJoin(threads int) *turn {
	params := func(runtime string) gemm.Params { return gemm.Params{"threads": threads, "runtime": runtime} }
	p := pool.New(threads)
	return &turn{candidates: []candidate{
		{params: params(ofPool), units: 1, call: here(func(ctx context.Context) error {
			return p.For(ctx, threads, pool.Static(0), func(int, int, int) {})
		})},
		{params: params(ofGoroutines), units: 1, call: here(func(context.Context) error {
			var workers sync.WaitGroup
			for range threads {
				workers.Go(func() {})
			}
			workers.Wait()
			return nil
		})},
		{params: params(ofLibgomp), units: 1,
			call: func(ctx context.Context, libgomp *reference.OpenMP, times int) (time.Duration, error) {
				return libgomp.ForkJoin(ctx, threads, times)
			}},
	}}
}

// chunk runs loops of empty bodies under a schedule with chunks of one index (at least one, for guided). A loop has
// enough chunks for its begin and end to be negligible, except a guided loop, which has few chunks whatever its length.
func chunk(threads int, schedule string) *turn {
	const size = 1
	indices := 10_000
	chunks := indices
	if schedule == "guided" {
		indices = 1 << 30
		chunks = guidedChunks(indices, threads)
	}
	params := func(runtime string) gemm.Params {
		return gemm.Params{"threads": threads, "runtime": runtime, "schedule": schedule, "chunk": size}
	}
	p := pool.New(threads)
	shares, err := pool.NewSchedule(schedule, size)
	return &turn{candidates: []candidate{
		{params: params(ofPool), units: chunks, err: err, call: here(func(ctx context.Context) error {
			return p.For(ctx, indices, shares, func(int, int, int) {})
		})},
		{params: params(ofLibgomp), units: chunks,
			call: func(ctx context.Context, libgomp *reference.OpenMP, times int) (time.Duration, error) {
				return libgomp.Loop(ctx, threads, schedule, size, indices, times)
			}},
	}}
}

// guidedChunks returns the number of chunks of a guided loop with a least chunk of one index.
func guidedChunks(indices, workers int) int {
	chunks := 0
	for ; indices > 0; chunks++ {
		indices -= (indices + workers - 1) / workers
	}
	return chunks
}

// merge adds private copies of a C of doubles, one a worker.
func merge(threads int) *turn {
	const order = 512
	params := func(runtime, method string) gemm.Params {
		return gemm.Params{"threads": threads, "runtime": runtime, "method": method}
	}
	p := pool.New(threads)
	matrices := sync.OnceValue(func() []gemm.Matrix[float64] { // C and its copies
		out := make([]gemm.Matrix[float64], 1+threads)
		for i := range out {
			out[i] = gemm.NewMatrix[float64](order, order)
		}
		return out
	})
	var t turn
	for _, m := range []struct {
		method string
		merge  func(context.Context, *pool.Pool, gemm.Matrix[float64], []gemm.Matrix[float64]) error
	}{{"atomic", parallel.MergeAtomic[float64]}, {"reduce", parallel.MergeReduce[float64]}} {
		t.candidates = append(t.candidates,
			candidate{params: params(ofPool, m.method), units: order * order, call: here(func(ctx context.Context) error {
				x := matrices()
				return m.merge(ctx, p, x[0], x[1:])
			})})
	}
	for _, method := range []string{"atomic", "critical", "reduce"} {
		t.candidates = append(t.candidates, candidate{params: params(ofLibgomp, method), units: order * order,
			call: func(ctx context.Context, libgomp *reference.OpenMP, times int) (time.Duration, error) {
				return libgomp.Merge(ctx, threads, method, order*order, times)
			}})
	}
	return &t
}

// here times work in this process.
func here(work func(ctx context.Context) error) func(context.Context, *reference.OpenMP, int) (time.Duration, error) {
	timed := sample.Timed(work)
	return func(ctx context.Context, _ *reference.OpenMP, times int) (time.Duration, error) {
		return timed(ctx, times)
	}
}

// probes returns the candidates as probes of the name. All are measured when the samples of one are first asked for.
func (t *turn) probes(name string) []run.Probe {
	var out []run.Probe
	for i := range t.candidates {
		c := &t.candidates[i]
		out = append(out, run.Probe{Name: name, Params: c.params, Unit: "ns",
			Samples: func(ctx context.Context) ([]float64, error) {
				t.once.Do(func() { t.measure(ctx) })
				if c.err != nil {
					return nil, c.err
				}
				var samples []float64 // of a unit
				for _, seconds := range c.sampler.Seconds {
					samples = append(samples, 1e9*seconds/float64(c.units))
				}
				return samples, nil
			}})
	}
	return out
}

// Of each candidate rounds × reps samples are taken at least, and for rounds × burst unless the median is known before.
const (
	rounds = 4
	reps   = 5
	burst  = 12 * time.Millisecond
	// wakeTime is how long a candidate works before its samples, since its workers may be parked.
	// parkTime is how long the workers of the pool, which spin for some milliseconds, take to park,
	// so that they do not disturb the next candidate.
	wakeTime = 200 * time.Microsecond
	parkTime = 10 * time.Millisecond
)

// measure takes interleaved samples of the candidates. A candidate that fails is dropped.
func (t *turn) measure(ctx context.Context) {
	libgomp, unavailable := reference.NewOpenMP()
	if unavailable == nil {
		defer libgomp.Close()
	}
	for round := range rounds {
		for i := range t.candidates {
			c := &t.candidates[i]
			if c.params["runtime"] == ofLibgomp && unavailable != nil {
				c.err = unavailable
			}
			if c.err != nil {
				continue
			}
			c.sampler.Unlocked = true // on a locked thread, every wait would be a switch of threads
			c.sampler.Call = func(ctx context.Context, times int) (time.Duration, error) { return c.call(ctx, libgomp, times) }
			c.err = c.sample(ctx, round)
			if c.params["runtime"] == ofPool {
				time.Sleep(parkTime)
			}
		}
	}
	for i := range t.candidates {
		t.candidates[i].call = nil // and the matrices that it holds
	}
}

func (c *candidate) sample(ctx context.Context, round int) error {
	for start := time.Now(); time.Since(start) < wakeTime; {
		if _, err := c.sampler.Call(ctx, 1); err != nil {
			return err
		}
	}
	if round == 0 {
		if _, err := c.sampler.Warm(ctx); err != nil {
			return err
		}
	}
	return c.sampler.Burst(ctx, sample.Budget{Reps: (round + 1) * reps, Time: burst})
}
