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

func TestShortCallsAreBatched(t *testing.T) {
	var calls int
	s := Sampler{Call: fixed(100*time.Nanosecond, &calls)}
	d, err := s.Warm(t.Context())
	if err != nil || d != 100*time.Nanosecond {
		t.Fatalf("Warm = %v, %v, want 100ns", d, err)
	}
	if got := time.Duration(s.Inner) * d; got < batchTo {
		t.Errorf("a sample of %d calls lasts %v, want at least %v", s.Inner, got, batchTo)
	}
	gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 6, Time: time.Second}))
	for _, x := range s.Seconds {
		if math.Abs(x-100e-9) > 1e-15 {
			t.Errorf("sample is %g s a call, want 1e-7", x)
		}
	}
}

func TestLongCallsAreNotBatched(t *testing.T) {
	var calls int
	s := Sampler{Call: fixed(11*time.Microsecond, &calls)}
	if _, err := s.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Inner != 1 {
		t.Errorf("%d calls of 11 µs a sample, want 1", s.Inner)
	}
}

// TestTheFirstCallIsCold: how long it takes says nothing of those that follow.
func TestTheFirstCallIsCold(t *testing.T) {
	var calls int
	warm := fixed(100*time.Nanosecond, &calls)
	s := Sampler{Call: func(ctx context.Context, times int) (time.Duration, error) {
		if calls == 0 {
			calls++
			return time.Millisecond, nil
		}
		return warm(ctx, times)
	}}
	d, err := s.Warm(t.Context())
	if err != nil || d != 100*time.Nanosecond || time.Duration(s.Inner)*d < batchTo {
		t.Errorf("Warm = %v, %v and %d calls a sample, want 100ns and a sample of at least %v", d, err, s.Inner, batchTo)
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

// TestBurstsBeginPlaced has workers that share a processor when a burst begins: it waits for
// them to be apart, but not for ever.
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

// TestSettle has a first call that waits for the workers to start. A long product is not repeated.
func TestSettle(t *testing.T) {
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
		gemmtest.Must(t, s.Settle(t.Context()))
		if s.Sample() != test.want || calls > before != test.calls {
			t.Errorf("first %v, then %v: a sample takes %v after %d calls, want %v", test.first, test.later, s.Sample(),
				calls-before, test.want)
		}
		failed := errors.New("failed")
		s.Call = func(context.Context, int) (time.Duration, error) { return 0, failed }
		if err := s.Settle(t.Context()); test.calls && !errors.Is(err, failed) {
			t.Errorf("first %v: %v, want the error of the call", test.first, err)
		}
	}
}

func TestRepetitionStopsWhenTheMedianIsKnown(t *testing.T) {
	var calls int
	s := Sampler{Call: fixed(time.Millisecond, &calls)}
	if _, err := s.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 1, Time: time.Hour}))
	if len(s.Seconds) != MinForInterval {
		t.Errorf("%d samples of a constant, want %d", len(s.Seconds), MinForInterval)
	}
}

func TestRepetitionGoesOnWhileSamplesScatter(t *testing.T) {
	i := 0
	s := Sampler{Inner: 1, Call: func(context.Context, int) (time.Duration, error) {
		i++
		return time.Duration(1+i%7) * time.Millisecond, nil
	}}
	gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 3, Time: time.Hour}))
	if len(s.Seconds) < 50 {
		t.Errorf("stopped after %d samples between 1 and 7 ms", len(s.Seconds))
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

func TestLimitsOfABudget(t *testing.T) {
	sleep := func(context.Context, int) (time.Duration, error) {
		time.Sleep(2 * time.Millisecond)
		return 2 * time.Millisecond, nil
	}
	s := Sampler{Inner: 1, Call: sleep}
	gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 9, Time: time.Nanosecond}))
	if len(s.Seconds) != 9 {
		t.Errorf("%d samples, want the 9 asked for at least", len(s.Seconds))
	}
	s = Sampler{Inner: 1, Call: sleep}
	gemmtest.Must(t, s.Burst(t.Context(), Budget{Reps: 1000, Time: time.Hour, Limit: 5 * time.Millisecond}))
	if len(s.Seconds) > 2 {
		t.Errorf("%d samples of 2 ms within a limit of 5 ms", len(s.Seconds))
	}
}

func TestEveryBurstHasRoomForASample(t *testing.T) {
	i := 0
	s := Sampler{Inner: 1, Call: func(context.Context, int) (time.Duration, error) {
		i++
		return time.Duration(1+i%7) * time.Millisecond, nil
	}}
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

// BenchmarkOverhead measures the overhead of the loop that takes samples, for calls of 20 µs. The
// metric overhead-% is the time of the loop that is not in a sample.
func BenchmarkOverhead(b *testing.B) {
	var inside, total time.Duration
	for b.Loop() {
		s := Sampler{Inner: 1, Call: func(context.Context, int) (time.Duration, error) {
			start := time.Now()
			for time.Since(start) < 20*time.Microsecond {
			}
			return time.Since(start), nil
		}}
		start := time.Now()
		gemmtest.Must(b, s.Burst(context.Background(), Budget{Reps: MaxSamples}))
		total += time.Since(start)
		for _, x := range s.Seconds {
			inside += time.Duration(x * 1e9)
		}
	}
	b.ReportMetric(100*float64(total-inside)/float64(inside), "overhead-%")
}
