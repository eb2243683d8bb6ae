package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sort"
	"strings"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/sample"
	"gemm/internal/tuned"
	"gemm/pool"
)

// values returns the settings of T so far.
func values[T kernel.Float](t *tuner) tuned.Values {
	found, _ := t.Settings.Find(gemm.TypeOf[T]().Name, kernel.Best[T]().Name)
	return found.Values
}

// keep sets the settings of T. Later measurements use them too.
func keep[T kernel.Float](t *tuner, v tuned.Values) {
	t.Settings = t.Settings.With(tuned.Tune{
		Type: gemm.TypeOf[T]().Name, Kernel: kernel.Best[T]().Name, Values: v,
		Time: time.Now().UTC().Truncate(time.Second), Revision: t.options.Revision, Go: runtime.Version(),
		OS: cpu.Host().OS, Cores: runtime.NumCPU(),
	})
	tuned.Use(t.Settings)
}

// recordChoice stores the outcome for a setting of T.
func recordChoice[T kernel.Float](t *tuner, c Choice) {
	c.Type, c.Kernel = gemm.TypeOf[T]().Name, kernel.Best[T]().Name
	t.Chosen = append(t.Chosen, c)
}

// try compares a candidate with the incumbent on w, and stores the outcome.
func try[T kernel.Float](ctx context.Context, t *tuner, r pairing, w *workload[T], what Trial,
	incumbent, candidate func(ctx context.Context) error) (Gain, error) {
	what.Type, what.Shape = gemm.TypeOf[T]().Name, w.Shape.String()
	t.options.Progress(fmt.Sprintf("%s %s %s: %s against %s", what.Type, what.Setting, what.Shape, what.Candidate,
		what.Incumbent))
	g, err := comparePairs(ctx, r, w, incumbent, candidate)
	if err != nil {
		return g, fmt.Errorf("%s: %w", what.Candidate, err)
	}
	what.Gain = g
	t.Trials = append(t.Trials, what)
	return g, nil
}

// tryBlocks compares two blockings.
func tryBlocks[T kernel.Float](ctx context.Context, t *tuner, r pairing, w *workload[T], what Trial,
	incumbent, candidate block.Blocking) (Gain, error) {
	k := kernel.Best[T]()
	return try(ctx, t, r, w, what, w.on(block.New(k, incumbent, block.Serial)),
		w.on(block.New(k, candidate, block.Serial)))
}

// computed returns the default blocking of T, which is computed from the caches.
func computed[T kernel.Float]() block.Blocking {
	k := kernel.Best[T]()
	var zero T
	return block.Fit(block.HostCaches(), int(unsafe.Sizeof(zero)), k.MR, k.NR)
}

// blocking returns the blocking of T with the settings so far.
func blocking[T kernel.Float](t *tuner) block.Blocking {
	b := computed[T]()
	v := values[T](t)
	if v.MC > 0 {
		b.MC, b.KC, b.NC = v.MC, v.KC, v.NC
	}
	if v.Direct > 0 {
		b.Direct = v.Direct
	}
	return b
}

// speed returns the operations per second of a packed product of T of medium size.
func speed[T kernel.Float](ctx context.Context, t *tuner) (float64, error) {
	const n = 256
	w, err := newCube[T](n)
	if err != nil {
		return 0, err
	}
	s := sample.Sampler{Call: sample.Timed(w.on(block.New(kernel.Best[T](), blocking[T](t), block.Serial)))}
	if _, err := s.Warm(ctx); err != nil {
		return 0, err
	}
	if err := s.Burst(ctx, sample.Budget{Reps: sample.MinForInterval}); err != nil {
		return 0, err
	}
	return 2 * w.Terms() / sample.Summarize(s.Seconds).Median, nil
}

var errTime = errors.New("the time is over")

// blockSizes are the sizes of products with which blocks are measured. The first size is used of which about
// blockCalls can be computed in the time.
var blockSizes = []int{1536, 1280, 1024, 768, 512, 384, 256, 128}

const blockCalls = 160

// The pairings. A search has many short ones; a decision takes a longer one.
var (
	searching  = pairing{pairs: 9, most: 21, giveUp: 4}
	crossings  = pairing{pairs: 15, most: 61}
	halvings   = pairing{pairs: sample.MinForInterval, most: sample.MinForInterval, giveUp: 3}
	confirming = pairing{pairs: 15, most: 201}
)

func tuneBlocks[T kernel.Float](ctx context.Context, t *tuner, until time.Time) error {
	rate, err := speed[T](ctx, t)
	if err != nil {
		return err
	}
	n := blockSizes[len(blockSizes)-1]
	for _, size := range blockSizes {
		if blockCalls*2*gemm.Cube(size).Terms()/rate <= time.Until(until).Seconds() {
			n = size
			break
		}
	}
	cube, err := newCube[T](n)
	if err != nil {
		return err
	}
	// A transposed A is packed, and its panels may have more rows than the cube.
	tall, err := newWorkload[T](gemm.Shape{M: 4 * n, N: n / 2, K: n / 2}, blas.Trans, variant("serial/packed"), nil)
	if err != nil {
		return err
	}
	start, k := computed[T](), kernel.Best[T]()
	axes := []axis{
		{name: "kc", of: func(b *block.Blocking) *int { return &b.KC }, step: 4, length: n},
		{name: "nc", of: func(b *block.Blocking) *int { return &b.NC }, step: k.NR, length: n},
		{name: "mc", of: func(b *block.Blocking) *int { return &b.MC }, step: k.MR, length: tall.M},
	}
	search := searching.before(until.Add(-time.Until(until) / 4))
	best, err := descend(start, axes, func(a axis, incumbent, candidate block.Blocking) (bool, error) {
		switch {
		case time.Now().After(search.until):
			return false, errTime
		case candidate.KC*candidate.NC > 4*start.KC*start.NC || candidate.MC*candidate.KC > 4*start.MC*start.KC:
			return false, nil // it does not fit in a cache
		}
		w := cube
		if a.name == "mc" {
			w = tall
		}
		if w.plan(block.New(k, incumbent, block.Serial)) == w.plan(block.New(k, candidate, block.Serial)) {
			return false, nil
		}
		g, err := tryBlocks(ctx, t, search, w, Trial{
			Setting: a.name, Candidate: fmt.Sprint(*a.of(&candidate)), Incumbent: fmt.Sprint(*a.of(&incumbent)),
		}, incumbent, candidate)
		return g.faster(), err
	})
	if err != nil && !errors.Is(err, errTime) {
		return err
	}
	return confirmBlocks(ctx, t, until, start, best, cube, tall)
}

// confirmBlocks keeps the blocks that a search found if a second measurement confirms them: faster
// than the default on one of the products, and slower on none. Among many candidates that are as
// good as the incumbent, one seems faster by chance.
func confirmBlocks[T kernel.Float](ctx context.Context, t *tuner, until time.Time, start, best block.Blocking,
	on ...*workload[T]) error {
	text := func(b block.Blocking) string { return fmt.Sprintf("mc=%d kc=%d nc=%d", b.MC, b.KC, b.NC) }
	c := Choice{Setting: "blocks", Default: text(start), Chosen: text(best)}
	if best == start {
		c.Note = "no candidate is faster"
	} else {
		c.Chosen, c.Note = text(start), "the best found is not faster when measured again"
		slower := false
		for i, w := range on {
			g, err := tryBlocks(ctx, t, confirming.before(time.Now().Add(time.Until(until)/time.Duration(len(on)-i))), w,
				Trial{Setting: "blocks", Candidate: text(best), Incumbent: text(start)}, start, best)
			if err != nil {
				return err
			}
			slower = slower || g.slower()
			if c.Gain == nil && g.faster() {
				c.Gain, c.Chosen, c.Note = &g, text(best), "at "+w.Shape.String()
			}
		}
		if slower {
			c.Gain, c.Chosen, c.Note = nil, text(start), "the best found is slower elsewhere"
		}
	}
	if c.Gain == nil {
		best = start
	}
	v := values[T](t)
	v.MC, v.KC, v.NC = best.MC, best.KC, best.NC
	keep[T](t, v)
	recordChoice[T](t, c)
	return nil
}

// smallSizes are the sizes of products among which thresholds are searched.
var smallSizes = []int{8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512}

// keepDefault stores that a threshold stays at its default.
func keepDefault[T kernel.Float](t *tuner, setting string, standard int, note string) {
	recordChoice[T](t, Choice{Setting: setting, Default: terms(standard), Chosen: terms(standard), Note: note})
}

// firstSize returns the index of the first of smallSizes at which holds is true of the gain of the candidate, which is
// the second engine; engines returns both for n.
func firstSize[T kernel.Float](ctx context.Context, t *tuner, until time.Time,
	engines func(n int) (Trial, *block.Engine[T], *block.Engine[T]), holds func(Gain) bool) (int, error) {
	search := crossings.before(until.Add(-time.Until(until) / 3))
	var failed error
	i := sort.Search(len(smallSizes), func(i int) bool {
		if failed != nil {
			return true
		}
		w, err := newCube[T](smallSizes[i])
		if err != nil {
			failed = err
			return true
		}
		what, incumbent, candidate := engines(smallSizes[i])
		var g Gain
		g, failed = try(ctx, t, search, w, what, w.on(incumbent), w.on(candidate))
		return holds(g)
	})
	return i, failed
}

// tuneDirect chooses the largest size at which products of T are computed without packing.
func tuneDirect[T kernel.Float](ctx context.Context, t *tuner, until time.Time) error {
	base := blocking[T](t)
	if !kernel.Best[T]().Strided {
		keepDefault[T](t, "direct", base.Direct, "the kernel needs packed operands")
		return nil
	}
	with := func(most int) *block.Engine[T] {
		b := base
		b.Direct = most
		return block.New(kernel.Best[T](), b, block.Serial)
	}
	i, err := firstSize(ctx, t, until, func(n int) (Trial, *block.Engine[T], *block.Engine[T]) {
		return Trial{Setting: "direct", Candidate: "in place", Incumbent: "packed"}, with(0), with(cubed(n))
	}, func(g Gain) bool { return !(g.Ratio >= 1) })
	if err != nil {
		return err
	}
	best := 1 // everything is packed
	if i > 0 {
		best = cubed(smallSizes[i-1])
	}
	return confirmThreshold(ctx, t, until, "direct", base.Direct, best, with, func(v *tuned.Values) { v.Direct = best })
}

// tuneParallel chooses the least size at which two workers compute products of T.
func tuneParallel[T kernel.Float](ctx context.Context, t *tuner, until time.Time) error {
	base := blocking[T](t)
	if runtime.GOMAXPROCS(0) < 2 {
		keepDefault[T](t, "parallel", base.Parallel, "there is one processor")
		return nil
	}
	with := func(least int) *block.Engine[T] {
		b := base
		b.Parallel = least
		return block.New(kernel.Best[T](), b, pool.New(2))
	}
	alone := block.New(kernel.Best[T](), base, block.Serial)
	i, err := firstSize(ctx, t, until, func(int) (Trial, *block.Engine[T], *block.Engine[T]) {
		return Trial{Setting: "parallel", Candidate: "two workers", Incumbent: "one"}, alone, with(1)
	}, Gain.faster)
	if err != nil {
		return err
	}
	if i == len(smallSizes) {
		keepDefault[T](t, "parallel", base.Parallel, fmt.Sprintf("a second worker does not pay up to %d", smallSizes[i-1]))
		return nil
	}
	best := cubed(smallSizes[i])
	return confirmThreshold(ctx, t, until, "parallel", base.Parallel, best, with,
		func(v *tuned.Values) { v.Parallel = best })
}

// confirmThreshold uses the threshold that was found if it is faster than the default for a product between both.
// with returns an engine with a threshold.
func confirmThreshold[T kernel.Float](ctx context.Context, t *tuner, until time.Time, setting string,
	standard, best int, with func(threshold int) *block.Engine[T], set func(v *tuned.Values)) error {
	n, differ := apart(smallSizes, standard, best)
	if !differ {
		keepDefault[T](t, setting, standard, "no size tells another threshold from the default")
		return nil
	}
	w, err := newCube[T](n)
	if err != nil {
		return err
	}
	return confirm(ctx, t, until, Choice{Setting: setting, Default: terms(standard), Chosen: terms(standard)}, w,
		terms(best), w.on(with(standard)), w.on(with(best)), set)
}

// confirm uses what was found if it is faster than the default, which c has.
func confirm[T kernel.Float](ctx context.Context, t *tuner, until time.Time, c Choice, w *workload[T], found string,
	incumbent, candidate func(ctx context.Context) error, set func(v *tuned.Values)) error {
	g, err := try(ctx, t, confirming.before(until), w,
		Trial{Setting: c.Setting, Candidate: found, Incumbent: c.Default}, incumbent, candidate)
	if err != nil {
		return err
	}
	if g.faster() {
		c.Chosen, c.Gain, c.Note = found, &g, strings.TrimSuffix(fmt.Sprintf("at %d; %s", w.N, c.Note), "; ")
		v := values[T](t)
		set(&v)
		keep[T](t, v)
	} else {
		c.Note = fmt.Sprintf("%s was found, but is not faster at %d", found, w.N)
	}
	recordChoice[T](t, c)
	return nil
}

func cubed(n int) int { return n * n * n }

// terms returns the number of terms of a cube as n³.
func terms(n int) string { return fmt.Sprintf("%.0f³", math.Cbrt(float64(n))) }

// apart returns the middle one of the sizes n whose n³ is between two thresholds.
func apart(sizes []int, a, b int) (int, bool) {
	var between []int
	for _, n := range sizes {
		if cubed(n) > min(a, b) && cubed(n) <= max(a, b) {
			between = append(between, n)
		}
	}
	if len(between) == 0 {
		return 0, false
	}
	return between[len(between)/2], true
}
