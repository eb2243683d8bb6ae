package tune

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/block"
)

// Blocks are found whose cost is least, from a start that is not far off, each tried
// once and within its limits.
func TestDescend(t *testing.T) {
	axes := []axis{
		{name: "kc", of: func(b *block.Blocking) *int { return &b.KC }, step: 4, length: 1000},
		{name: "nc", of: func(b *block.Blocking) *int { return &b.NC }, step: 24, length: 1000},
		{name: "mc", of: func(b *block.Blocking) *int { return &b.MC }, step: 8, length: 4000},
	}
	best := block.Blocking{MC: 1336, KC: 252, NC: 504}
	cost := func(b block.Blocking) float64 {
		away := func(x, of int) float64 { return math.Abs(math.Log(float64(x) / float64(of))) }
		return away(b.MC, best.MC) + away(b.KC, best.KC) + away(b.NC, best.NC)
	}
	start := block.Blocking{MC: 3000, KC: 128, NC: 240, Direct: 7}
	var tried []block.Blocking
	got, err := descend(start, axes, func(a axis, incumbent, candidate block.Blocking) (bool, error) {
		if slices.Contains(tried, candidate) {
			t.Errorf("%v is tried twice", candidate)
		}
		tried = append(tried, candidate)
		for _, other := range axes {
			from, to, first := *other.of(&incumbent), *other.of(&candidate), *other.of(&start)
			switch {
			case other.name != a.name && from != to:
				t.Errorf("trying %s, %s changes from %d to %d", a.name, other.name, from, to)
			case other.name == a.name &&
				(to < first/4 || to > 4*first || to%a.step != 0 || a.even(to) != to || to == a.even(from)):
				t.Errorf("%s = %d is tried in place of %d", a.name, to, from)
			}
		}
		return cost(candidate) < cost(incumbent), nil
	})
	if err != nil || got.Direct != 7 || !(cost(got) < 0.5) {
		t.Errorf("from %v to %v after %d tries, %v; the best is %v", start, got, len(tried), err, best)
	}
	// Where none is better, all neighbours are tried and the start stays.
	count := 0
	got, err = descend(start, axes,
		func(axis, block.Blocking, block.Blocking) (bool, error) { count++; return false, nil })
	if err != nil || got != start || count < 2*len(axes) || count > len(axes)*len(neighbours) {
		t.Errorf("%v after %d tries, %v; want %v", got, count, err, start)
	}
	// An error ends it with what has been found.
	got, err = descend(start, axes, func(a axis, incumbent, candidate block.Blocking) (bool, error) {
		if incumbent != start {
			return false, errTime
		}
		return true, nil
	})
	if !errors.Is(err, errTime) || got.KC == start.KC || got.NC != start.NC {
		t.Errorf("ended by an error: %v, %v", got, err)
	}
}

func TestBreakEven(t *testing.T) {
	at := func(alpha, gamma float64, n int) point { return point{n, alpha + gamma/float64(n)} }
	for _, want := range []float64{300, 1500, 3000} {
		if got := breakEven(at(0.9, 0.1*want, 256), at(0.9, 0.1*want, 4096)); !(math.Abs(got-want) < 1e-6*want) {
			t.Errorf("halving pays from %v, found %v", want, got)
		}
		if got := breakEvenBeyond(at(7.0/8, want/8, 256)); !(math.Abs(got-want) < 1e-6*want) {
			t.Errorf("halving pays from %v, predicted %v", want, got)
		}
	}
	if got := breakEven(point{1024, 0.9}, point{2048, 0.95}); got != 1024 {
		t.Errorf("of ratios that grow: %v, want the first size", got)
	}
}

func TestApart(t *testing.T) {
	sizes := []int{10, 20, 30, 40}
	for _, c := range []struct {
		a, b, want int
		ok         bool
	}{{1000, 27000, 30, true}, {27000, 1000, 30, true}, {0, 1000, 10, true}, {1000, 1000, 0, false},
		{1000, 7999, 0, false}, {64000, 1 << 30, 0, false}} {
		if got, ok := apart(sizes, c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("between %d and %d: %d, %v", c.a, c.b, got, ok)
		}
	}
}

// What is faster by far is found to be, and a wrong result is an error.
func TestCompare(t *testing.T) {
	w, err := newWorkload[float32](gemm.Shape{M: 30, N: 20, K: 40}, blas.NoTrans, variant("serial/packed"), nil)
	gemmtest.Must(t, err)
	right := w.on(block.Host[float32](block.Serial))
	late := func(ctx context.Context) error { time.Sleep(time.Millisecond); return right(ctx) }
	r := pairing{pairs: 9, most: 11, until: time.Now().Add(time.Minute)}
	if g, err := comparePairs(t.Context(), r, w, late, right); err != nil || !g.faster() || g.slower() || g.Pairs < 9 ||
		g.Pairs > 11 {
		t.Errorf("without the delay: %+v, %v", g, err)
	}
	if g, err := comparePairs(t.Context(), r, w, right, late); err != nil || g.faster() || !g.slower() {
		t.Errorf("with a delay: %+v, %v", g, err)
	}
	r.giveUp = 3
	if g, err := comparePairs(t.Context(), r, w, right, late); err != nil || g.faster() || g.Pairs != 3 {
		t.Errorf("giveUp: %+v, %v", g, err)
	}
	r.until = time.Now()
	if g, err := comparePairs(t.Context(), r, w, late, right); err != nil || g.faster() || g.Pairs != 0 ||
		g.Ratio.Known() {
		t.Errorf("without time: %+v, %v", g, err)
	}
	for name, wrong := range map[string]func(ctx context.Context) error{
		"nothing is written": func(context.Context) error { return nil },
		"one element":        func(ctx context.Context) error { err := right(ctx); w.C.Data[317]++; return err },
		"one NaN": func(ctx context.Context) error {
			err := right(ctx)
			w.C.Data[599] = float32(math.NaN())
			return err
		},
		"zeros": func(context.Context) error { clear(w.C.Data); return nil },
	} {
		if _, err := comparePairs(t.Context(), r, w, right, wrong); err == nil ||
			!strings.Contains(err.Error(), "a product of 30x20x40 is wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := comparePairs(t.Context(), r, w, right,
		func(context.Context) error { return errTime }); !errors.Is(err, errTime) {
		t.Errorf("an error is lost: %v", err)
	}
}

func TestPairingEnds(t *testing.T) {
	r := pairing{pairs: 7, most: 9, giveUp: 3}
	sharp, wide := []float64{1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1},
		[]float64{1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9}
	for n := 1; n <= 9; n++ {
		if got, want := r.enough(sharp[:n]), n >= 7; got != want {
			t.Errorf("%d equal ratios: over %v", n, got)
		}
		if got, want := r.enough(wide[:n]), n >= 9; got != want {
			t.Errorf("%d different ratios: over %v", n, got)
		}
	}
	if !r.enough([]float64{0.9, 1, 1.1}) || r.enough([]float64{0.9, 1}) ||
		!r.enough([]float64{math.NaN(), math.NaN(), math.NaN()}) {
		t.Error("a candidate that is not ahead goes on")
	}
}

// A product by Strassen's algorithm is within the bound that candidates are verified with.
func TestWorkload(t *testing.T) {
	for _, c := range []struct{ n, cutoff int }{{7, 1}, {64, 16}, {65, 32}} {
		v := variant("serial/strassen")
		p, err := v.Resolve(gemm.Params{"cutoff": c.cutoff})
		gemmtest.Must(t, err)
		w, err := newWorkload[float32](gemm.Cube(c.n), blas.NoTrans, v, p)
		gemmtest.Must(t, err)
		m, err := gemm.New[float32](v, p)
		gemmtest.Must(t, err)
		gemmtest.Must(t, w.by(m)(t.Context()))
		if err := w.check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
