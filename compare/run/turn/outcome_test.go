package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/gf256"
)

// TestGoodAndBrokenMultipliers measures a right multiplier, and multipliers with every fault, of which one is right
// in the first call.
func TestGoodAndBrokenMultipliers(t *testing.T) {
	calls := 0
	variants := []gemm.Variant{
		gemmtest.Variant("test/good", nil),
		gemmtest.Variant("test/writes once", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if calls++; calls > 1 {
				return nil
			}
			return gemmtest.Textbook(ctx, c, a, b)
		}),
	}
	for _, f := range gemmtest.Faults(1e9, 0.0) {
		variants = append(variants, spoiled("test/"+f.Name, f.Plant))
	}
	for name, r := range ladder(t, 33, variants...) {
		if name == "test/good" {
			if r.Status != record.OK || !r.Speed() || !(r.Residual <= r.Bound) || r.CI == nil || !r.Gflops.Known() ||
				!r.PercentPeak.Known() {
				t.Errorf("%s: %+v, want ok with a speed", name, r)
			}
		} else if r.Status != record.Wrong || r.Speed() || r.Gflops.Known() || len(r.Samples) > 0 || r.Reason.Text == "" {
			t.Errorf("%s: status %s, speed %v, reason %q, want wrong without a speed", name, r.Status, r.Gflops, r.Reason)
		}
	}
}

// spoiled returns a variant whose results are damaged.
func spoiled(name string, damage func(c gemm.Matrix[float64])) gemm.Variant {
	return gemmtest.Variant(name, func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		defer damage(c)
		return gemmtest.Textbook(ctx, c, a, b)
	})
}

func TestRowsThatFail(t *testing.T) {
	unavailable := gemmtest.Variant("test/unavailable", nil)
	unavailable.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) { return nil, gemm.ErrUnavailable }
	vague := gemmtest.Variant("test/vague", nil) // no integers are exact, and zeros are within its bound
	two := func(gemm.Shape, gemm.Params, float64) float64 { return 2 }
	vague.Bound = gemm.Bound{
		Kind: gemm.Componentwise, Worst: two, Random: two,
		Largest: func(gemm.Shape, gemm.Params) float64 { return 1e300 },
	}
	for _, test := range []struct {
		v      gemm.Variant
		status record.Status
		reason string
	}{
		{failing("test/error", func() error { return errors.New("boom") }), record.Failed, "boom"},
		{failing("test/panic", func() error { panic("ouch") }), record.Failed, "panicked: ouch"},
		{unavailable, record.Unavailable, "unavailable"},
		{vague, record.Skipped,
			"not verified: the only proven bound, 2 (componentwise) for k = 8 in f64, is larger than the result"},
	} {
		if r := ladder(t, 8, test.v)[test.v.Name]; r.Status != test.status || !strings.Contains(r.Reason.Text, test.reason) ||
			r.Speed() {
			t.Errorf("%s: %s %q, want %s %q", test.v.Name, r.Status, r.Reason, test.status, test.reason)
		}
	}
}

// failing returns a variant that calls f in place of a product.
func failing(name string, f func() error) gemm.Variant {
	return gemmtest.Variant(name, func(context.Context, gemm.Matrix[float64], gemm.Matrix[float64],
		gemm.Matrix[float64]) error {
		return f()
	})
}

// TestRanIsInTheRow checks that a row says which variant computed its product, if it was another.
func TestRanIsInTheRow(t *testing.T) {
	v := gemmtest.Variant("serial/recursive", nil)
	v.Ran = func(s gemm.Shape, _ gemm.Params) string {
		if s.M > 4 {
			return ""
		}
		return "serial/leaf"
	}
	for n, want := range map[int]any{4: "serial/leaf", 8: nil} {
		if got := ladder(t, n, v)[v.Name].Resolved["ran"]; got != want {
			t.Errorf("%d: %v ran, want %v", n, got, want)
		}
	}
}

// TestBoundsOfOneVerifyNothing checks a variant whose own bound is above 1, and which multiplies no integers exactly: a
// right result is checked by norms, and a lost element is found.
func TestBoundsOfOneVerifyNothing(t *testing.T) {
	wide := func(gemm.Shape, gemm.Params, float64) float64 { return 3.9 }
	of := func(name string, damage func(c gemm.Matrix[float64])) gemm.Variant {
		v := spoiled(name, damage)
		v.Bound = gemm.Bound{Kind: gemm.Normwise, Worst: wide, Random: wide,
			Largest: func(gemm.Shape, gemm.Params) float64 { return 1e30 }}
		return v
	}
	rows := ladder(t, 33, of("test/good", func(gemm.Matrix[float64]) {}),
		of("test/nearly", func(c gemm.Matrix[float64]) { c.Set(5, 7, c.At(5, 7)*(1+1e-6)) }))
	for name, want := range map[string]record.Status{"test/good": record.OK, "test/nearly": record.Wrong} {
		if r := rows[name]; r.Status != want || r.BoundKind != gemm.Euclidean || !(r.Bound < 1e-7) {
			t.Errorf("%s: %s, %s bound %v, %s; want %s", name, r.Status, r.BoundKind, r.Bound, r.Reason, want)
		}
	}
}

// TestIntegersFindWhatRoundingHides plants an error below the bound.
func TestIntegersFindWhatRoundingHides(t *testing.T) {
	r := ladder(t, 33, spoiled("test/nearly", func(c gemm.Matrix[float64]) {
		c.Set(5, 7, c.At(5, 7)*(1+0x1p-51))
	}))["test/nearly"]
	if r.Status != record.Wrong || !strings.Contains(r.Reason.Text, "of integers") || r.Bound != 0 || !(r.Residual > 0) {
		t.Errorf("%s, residual %v, bound %v, %q; want wrong by the check on integers", r.Status, r.Residual,
			r.Bound, r.Reason)
	}
	if bound := gemm.Classical.Random(gemm.Cube(33), nil, 0x1p-53); bound < 0x1p-51 {
		t.Errorf("the bound is %g: the planted error is above it", bound)
	}
}

// TestLibraryInGo checks that a library that starts goroutines is called from a goroutine that is
// not locked to its thread. All other variants are called from a locked one.
func TestLibraryInGo(t *testing.T) {
	locked := map[string]bool{} // of the last call of each row
	library := func(name string) gemm.Variant {
		v := gemmtest.Variant(name, nil)
		v.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
		v.GF256 = func(p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
			return gemmtest.Func[gf256.Elem](func(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
				var head [100]byte
				locked[fmt.Sprint(name, p)] = bytes.Contains(head[:runtime.Stack(head[:], false)], []byte("locked to thread"))
				return gemmtest.Textbook(ctx, c, a, b)
			}), nil
		}
		return v
	}
	run(t, plan.Ladder{
		Variants: []gemm.Variant{library("reference/a"), library("parallel/a")}, Shapes: []gemm.Shape{{M: 2, N: 64, K: 3}},
		Types: []string{"gf256"}, Sweep: map[string][]any{"threads": {1, 2}},
	}, 0)
	want := map[string]bool{"reference/athreads=1": true, "reference/athreads=2": false, "parallel/athreads=1": true,
		"parallel/athreads=2": true}
	if !maps.Equal(locked, want) {
		t.Errorf("locked to a thread: %v, want %v", locked, want)
	}
}

func TestCrowdedRowsAreWarned(t *testing.T) {
	for _, test := range []struct {
		h       record.Host
		threads int
		want    string
	}{
		{record.Host{Cores: 4, Quota: record.None()}, 4, ""},
		{record.Host{Cores: 4, Quota: record.None()}, 5, "5 threads share 4 processors; use at most 4 with --threads"},
		{record.Host{Cores: 4, Quota: 8}, 5, "5 threads share 4 processors; use at most 4 with --threads"},
		{record.Host{Cores: 4, Quota: 2.5}, 2, ""},
		{record.Host{Cores: 4, Quota: 2.5}, 3,
			"3 threads on a quota of 2.5 processors: " +
				"the control group stops them part of the time; use at most 2 with --threads"},
		{record.Host{Cores: 4, Quota: 0.5}, 1,
			"1 threads on a quota of 0.5 processors: " +
				"the control group stops them part of the time; use at most 1 with --threads"},
	} {
		if got := test.h.Crowded(test.threads).Text; got != test.want {
			t.Errorf("%d threads on %d processors with a quota of %v: %q, want %q", test.threads, test.h.Cores, test.h.Quota,
				got, test.want)
		}
	}
	many := runtime.NumCPU() + 1
	rows := run(t, plan.Ladder{Variants: []gemm.Variant{gemmtest.Shared("parallel/rows", nil)},
		Sweep: map[string][]any{"threads": {many}}}, time.Millisecond)
	if r := rows[0]; r.Status != record.OK || r.Threads != many || len(r.Warnings) == 0 ||
		!strings.HasPrefix(r.Warnings[len(r.Warnings)-1].Text, fmt.Sprint(many, " threads share ")) ||
		!r.PercentPeak.Known() {
		t.Errorf("%d threads: %s, warnings %q, %v %% of the peak; want a row with a warning", many, r.Status, r.Warnings,
			r.PercentPeak)
	}
}
