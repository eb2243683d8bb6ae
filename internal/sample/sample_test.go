package sample

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gemm/gemmtest"
)

// fixed returns a Call that claims to take d for each of its calls.
func fixed(d time.Duration, calls *int) func(context.Context, int) (time.Duration, error) {
	return func(_ context.Context, times int) (time.Duration, error) {
		*calls += times
		return d * time.Duration(times), nil
	}
}

// TestWarm checks how many calls make a sample. The time of the first call, which is cold, does not count.
func TestWarm(t *testing.T) {
	for _, test := range []struct {
		first, call time.Duration
		batched     bool
	}{
		{100 * time.Nanosecond, 100 * time.Nanosecond, true},
		{time.Millisecond, 100 * time.Nanosecond, true},
		{11 * time.Microsecond, 11 * time.Microsecond, false},
	} {
		calls := 0
		later := fixed(test.call, &calls)
		s := Sampler{Call: func(ctx context.Context, times int) (time.Duration, error) {
			if calls == 0 {
				calls++
				return test.first, nil
			}
			return later(ctx, times)
		}}
		d, err := s.Warm(t.Context())
		if err != nil || d != test.call || (s.Inner > 1) != test.batched ||
			test.batched && time.Duration(s.Inner)*d < batchTo {
			t.Errorf("calls of %v, the first %v: Warm = %v, %v and %d calls a sample", test.call, test.first, d, err, s.Inner)
		}
		gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 6, Time: time.Second}))
		for _, x := range s.Seconds {
			if math.Abs(x-test.call.Seconds()) > 1e-15 {
				t.Errorf("sample is %g s a call, want %v", x, test.call)
			}
		}
	}
}

// TestBurstsBeginWarm: what others left is gone before a short call counts, and a long one
// is not made for it.
func TestBurstsBeginWarm(t *testing.T) {
	const samples = 3
	var began []time.Time
	claims := time.Millisecond
	s := Sampler{Call: func(context.Context, int) (time.Duration, error) {
		began = append(began, time.Now())
		return claims, nil
	}}
	burst := func() (calls []time.Time, start time.Time) {
		s.Seconds, began = nil, nil
		start = time.Now()
		if err := s.Burst(t.Context(), Budget{Reps: samples, Max: samples}); err != nil || len(s.Seconds) != samples {
			t.Fatalf("%d samples, %v", len(s.Seconds), err)
		}
		return began, start
	}
	if calls, _ := burst(); len(calls) != samples {
		t.Errorf("%d calls of unknown length, want %d", len(calls), samples)
	}
	for range 2 {
		if _, err := s.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls, start := burst()
		if counted := calls[len(calls)-samples:]; claims < warmFor && counted[0].Sub(start) < warmFor {
			t.Errorf("the first sample of a short call begins after %v", counted[0].Sub(start))
		} else if claims >= warmFor && len(calls) != samples {
			t.Errorf("%d calls that are long, want %d", len(calls), samples)
		}
		claims = warmFor
	}
}

// TestBurstsBeginPlaced has workers that share a processor when a burst begins: it waits, up to a limit, until
// they run on different processors.
func TestBurstsBeginPlaced(t *testing.T) {
	const usual = time.Millisecond
	for _, test := range []struct{ apart, least, most time.Duration }{
		{0, warmFor, placedIn}, {4 * warmFor, 4 * warmFor, placedIn}, {time.Hour, placedIn, time.Minute},
	} {
		begins := func() time.Duration {
			var start, last time.Time
			s := Sampler{Call: func(context.Context, int) (time.Duration, error) {
				if last = time.Now(); !start.IsZero() && last.Sub(start) < test.apart {
					return 3 * usual, nil
				}
				return usual, nil
			}}
			if _, err := s.Warm(t.Context()); err != nil {
				t.Fatal(err)
			}
			start = time.Now()
			gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 1, Max: 1}))
			return last.Sub(start)
		}
		after := begins()
		for range 10 { // the host may let others run
			after = min(after, begins())
		}
		if after < test.least || after > test.most {
			t.Errorf("workers that are apart after %v: the sample begins after %v, want %v to %v", test.apart, after,
				test.least, test.most)
		}
	}
}

// TestRewarm has a first call that waits for the workers to start. A long product is not repeated.
func TestRewarm(t *testing.T) {
	for _, test := range []struct {
		first, later time.Duration
		calls        bool
		want         time.Duration
	}{
		{20 * time.Millisecond, 200 * time.Microsecond, true, 200 * time.Microsecond},
		{200 * time.Microsecond, 300 * time.Microsecond, true, 300 * time.Microsecond}, // Warm's second
		{100 * time.Millisecond, time.Millisecond, false, 100 * time.Millisecond},
	} {
		calls := 0
		s := Sampler{Call: func(_ context.Context, times int) (time.Duration, error) {
			calls++
			if calls == 1 {
				return test.first, nil
			}
			return time.Duration(times) * test.later, nil
		}}
		if _, err := s.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := calls
		gemmtest.Must(t, s.Rewarm(t.Context()))
		if s.Sample() != test.want || calls > before != test.calls {
			t.Errorf("first %v, then %v: a sample takes %v after %d calls, want %v", test.first, test.later, s.Sample(),
				calls-before, test.want)
		}
		failed := errors.New("failed")
		s.Call = func(context.Context, int) (time.Duration, error) { return 0, failed }
		if err := s.Rewarm(t.Context()); test.calls && !errors.Is(err, failed) {
			t.Errorf("first %v: %v, want the error of the call", test.first, err)
		}
	}
}

// TestLocking reads in the head of the stack whether the goroutine is locked to its thread.
func TestLocking(t *testing.T) {
	for _, unlocked := range []bool{false, true} {
		s := Sampler{Inner: 1, Unlocked: unlocked, Call: func(context.Context, int) (time.Duration, error) {
			var head [100]byte
			locked := bytes.Contains(head[:runtime.Stack(head[:], false)], []byte("locked to thread"))
			if locked == unlocked {
				t.Errorf("unlocked: %v, the stack begins with %q", unlocked, head)
			}
			return time.Millisecond, nil
		}}
		gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 1}))
	}
}

// TestBudget checks when bursts end. scattered samples are between 1 and 7 ms.
func TestBudget(t *testing.T) {
	i := 0
	scattered := func(context.Context, int) (time.Duration, error) {
		i++
		return time.Duration(1+i%7) * time.Millisecond, nil
	}
	sleeping := func(context.Context, int) (time.Duration, error) {
		time.Sleep(2 * time.Millisecond)
		return 2 * time.Millisecond, nil
	}
	for name, test := range map[string]struct {
		call        func(context.Context, int) (time.Duration, error)
		budget      Budget
		least, most int // samples
	}{
		"the median is known": {fixed(time.Millisecond, new(int)), Budget{Reps: 1, Time: time.Hour}, MinForInterval,
			MinForInterval},
		"samples scatter":   {scattered, Budget{Reps: 3, Time: time.Hour}, 50, MaxSamples},
		"least repetitions": {sleeping, Budget{Reps: 9, Time: time.Nanosecond}, 9, 9},
		"limit":             {sleeping, Budget{Reps: 1000, Time: time.Hour, Limit: 5 * time.Millisecond}, 1, 2},
	} {
		s := Sampler{Inner: 1, Call: test.call}
		gemmtest.Must(t, s.Burst(t.Context(), test.budget))
		if n := len(s.Seconds); n < test.least || n > test.most {
			t.Errorf("%s: %d samples, want %d to %d", name, n, test.least, test.most)
		}
	}
	s := Sampler{Inner: 1, Call: scattered}
	for burst := 1; burst <= 2; burst++ {
		gemmtest.Must(t, s.Burst(t.Context(), Budget{Time: time.Hour, Max: 10 * burst}))
		if len(s.Seconds) != 10*burst {
			t.Errorf("%d samples after burst %d, want %d", len(s.Seconds), burst, 10*burst)
		}
	}
}

func TestErrorsEndABurst(t *testing.T) {
	boom := errors.New("boom")
	s := Sampler{Inner: 1, Call: func(context.Context, int) (time.Duration, error) { return 0, boom }}
	if err := s.Burst(t.Context(), Budget{Reps: 3}); !errors.Is(err, boom) {
		t.Errorf("Burst = %v, want the error of the call", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var calls int
	s = Sampler{Inner: 1, Call: fixed(time.Millisecond, &calls)}
	if err := s.Burst(ctx, Budget{Reps: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("Burst = %v, want context canceled", err)
	}
}

// TestPairs checks the order A B B A and the ratio of each pair. The loop must end when there are
// enough pairs, or when the time is over.
func TestPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := ""
		work := func(name string, took time.Duration) *Sampler {
			return &Sampler{Inner: 1, Call: func(context.Context, int) (time.Duration, error) {
				order += name
				time.Sleep(took)
				return took, nil
			}}
		}
		a, b := work("A", 3*time.Second), work("B", 2*time.Second)
		three := func(ratios []float64) bool { return len(ratios) == 3 }
		ratios, err := Pairs(t.Context(), a, b, time.Now().Add(time.Hour), three)
		if err != nil || order != "ABBAAB" || !slices.Equal(ratios, []float64{1.5, 1.5, 1.5}) {
			t.Errorf("%s: %v, %v", order, ratios, err)
		}
		never := func([]float64) bool { return false }
		if ratios, err := Pairs(t.Context(), a, b, time.Now().Add(6*time.Second), never); err != nil || len(ratios) != 2 {
			t.Errorf("in time for the beginning of two: %v, %v", ratios, err)
		}
		broken := errors.New("broken")
		b.Call = func(context.Context, int) (time.Duration, error) { return 0, broken }
		if _, err := Pairs(t.Context(), a, b, time.Now().Add(time.Hour), never); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	})
}

func TestSummarize(t *testing.T) {
	// Six samples: the interval of the median is their range (2·2⁻⁶ < 5 %).
	s := Summarize([]float64{6, 1, 5, 2, 4, 3})
	if s.Median != 3.5 || s.Lo != 1 || s.Hi != 6 || !s.Bounded() {
		t.Errorf("Summarize(1…6) = %+v", s)
	}
	if s := Summarize([]float64{1, 2, 3, 4, 5}); s.Median != 3 || s.Bounded() {
		t.Errorf("five samples give the interval %+v, want none", s)
	}
	if s := Summarize(nil); !math.IsNaN(s.Median) || s.Bounded() || s.Precise() {
		t.Errorf("Summarize(nil) = %+v", s)
	}
	if Summarize([]float64{1, math.NaN(), 1, 1, 1, 1}).Precise() {
		t.Error("a NaN among the samples passes for precise")
	}
}
