// Package sample repeats a piece of work until its median is known, and summarises what it took.
package sample

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"
)

const (
	// MaxSamples is the most samples that are taken.
	MaxSamples = 1000
	// Precision is the half-width of the 95 % interval of the median, relative to it, at which repetition stops.
	Precision = 0.02
	// batchBelow is the call time below which calls are batched, and batchTo the least time of a
	// batch: two readings of the clock cost about 0.1 µs, less than 1 % of it. coldBelow is the
	// time of a first call from which later calls are not much shorter.
	batchBelow = 10 * time.Microsecond
	batchTo    = 20 * time.Microsecond
	coldBelow  = 2 * time.Millisecond
	// warmFor is how long short calls are repeated before a burst. The work before has left its data in the caches.
	// Workers that were parked have their own processors again after some milliseconds, a time slice of the system.
	warmFor = 5 * time.Millisecond
	// placedIn is the most time that calls are repeated while they take 1.5× as long as before: two workers on one
	// processor take nearly twice as long. A worker that was parked may wake on the processor of another one that
	// spins, and be moved to an idle processor only after several ticks.
	placedIn = 50 * time.Millisecond
	// rewarmBelow is the least time of a first sample to which parked workers add little.
	rewarmBelow = 50 * time.Millisecond
	// MinForInterval is the number of samples from which the order statistics
	// give a 95 % interval of the median at all: 2·2⁻⁶ = 3 %.
	MinForInterval = 6
)

// Budget says how long to repeat.
type Budget struct {
	Reps  int           // samples at least, where Limit allows; below 1 is 1
	Time  time.Duration // stop after this long even if the median is not known well
	Limit time.Duration // stop after this long even before Reps are reached; 0: no limit
	Max   int           // samples at most, of all bursts; 0: MaxSamples
}

// Sampler measures one piece of work in one or several bursts. Other work may be measured between
// bursts, so that contenders are interleaved.
type Sampler struct {
	// Call does the work the given number of times and returns the time taken. It
	// is called on the goroutine that calls Warm and Burst.
	Call func(ctx context.Context, times int) (time.Duration, error)
	// Before, if it is not nil, is called before every sample, outside of its time.
	Before func()
	// Kept, if it is not nil, is called after every sample that Burst keeps.
	Kept func()
	// Unlocked does not lock the goroutine to a thread. It is for a Call that starts goroutines and
	// waits for them: from a locked thread they start one after the other.
	Unlocked bool

	Seconds []float64 // a call, one a sample
	Inner   int       // calls a sample

	sample time.Duration // returned by Sample
}

// Timed returns a Call that does the work.
func Timed(work func(ctx context.Context) error) func(ctx context.Context, times int) (time.Duration, error) {
	return func(ctx context.Context, times int) (time.Duration, error) {
		start := time.Now()
		for range times {
			if err := work(ctx); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

// Warm runs the work once or more, untimed as a sample, decides how many calls
// make one, and returns the time of one call.
func (s *Sampler) Warm(ctx context.Context) (time.Duration, error) {
	s.Inner = 1
	d, err := s.again(ctx)
	if err == nil && d < coldBelow && s.Before == nil {
		// The first call is cold: only the following calls show how short a call is.
		d, err = s.again(ctx)
		for err == nil && (s.Inner > 1 || d < batchBelow) && d < batchTo {
			s.Inner *= 2
			d, err = s.again(ctx)
		}
	}
	s.sample = d
	return d / time.Duration(s.Inner), err
}

// Rewarm repeats short samples, which Warm may have taken while the workers were parked. Sample is then the time of a
// warm one.
func (s *Sampler) Rewarm(ctx context.Context) error {
	if s.sample == 0 || s.sample >= rewarmBelow {
		return nil
	}
	for start, first := time.Now(), true; first || time.Since(start) < warmFor; first = false {
		d, err := s.again(ctx)
		if err != nil {
			return err
		}
		s.sample = min(s.sample, d)
	}
	return nil
}

// Sample returns the shortest time of a sample in Rewarm, or the last in Warm; 0 before.
func (s *Sampler) Sample() time.Duration { return s.sample }

func (s *Sampler) again(ctx context.Context) (time.Duration, error) {
	if s.Before != nil {
		s.Before()
	}
	return s.Call(ctx, s.Inner)
}

// Burst takes samples until the median is known to Precision or b is used up, but one at least unless there are b.Max
// already. Short ones are taken after some that do not count. Collection of garbage is off while it runs. It returns
// the error of Call or of ctx; the samples taken until then are kept.
func (s *Sampler) Burst(ctx context.Context, b Budget) error {
	if !s.Unlocked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	start := time.Now()
	next := MinForInterval
	for most := cmp.Or(b.Max, MaxSamples); len(s.Seconds) < most; {
		d, err := s.again(ctx)
		if err != nil {
			return err
		}
		s.Seconds = append(s.Seconds, d.Seconds()/float64(s.Inner))
		if s.Kept != nil {
			s.Kept()
		}
		spent := time.Since(start)
		if b.Limit > 0 && !Fits(d, b.Limit-spent) {
			break
		}
		if len(s.Seconds) < b.Reps {
			continue
		}
		if spent >= b.Time {
			break
		}
		if len(s.Seconds) >= next {
			if Summarize(s.Seconds).Precise() {
				break
			}
			next = len(s.Seconds) + len(s.Seconds)/4 + 1
		}
	}
	return ctx.Err()
}

// Pairs takes samples of two warm pieces of work, interleaved A B B A, and returns the ratio of a's
// time to b's for each pair. The clock of the processor, and other load, change little from one
// sample to the next. Pairs ends when enough returns true for the ratios, or at the time until,
// after which no pair begins. The error is from a Call or ctx.Err().
func Pairs(ctx context.Context, a, b *Sampler, until time.Time, enough func(ratios []float64) bool) ([]float64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var ratios []float64
	for time.Now().Before(until) {
		first, second := a, b
		if len(ratios)%2 == 1 {
			first, second = b, a
		}
		for _, s := range []*Sampler{first, second} {
			if err := s.Burst(ctx, Budget{}); err != nil { // one sample
				return ratios, err
			}
		}
		ratios = append(ratios, a.Seconds[len(a.Seconds)-1]/b.Seconds[len(b.Seconds)-1])
		if enough(ratios) {
			break
		}
	}
	return ratios, nil
}

// Fits reports whether work that took the given time once can be done in the time left. On a shared
// machine it may take 1.5× as long, and work that is cut off can cost the earlier samples.
func Fits(took, left time.Duration) bool { return took+took/2 <= left }

// warmUp repeats the work before a burst if a sample is short.
func (s *Sampler) warmUp(ctx context.Context) error {
	if s.sample == 0 || s.sample >= warmFor {
		return nil
	}
	for start, last := time.Now(), time.Duration(0); ; {
		if spent := time.Since(start); spent >= placedIn || spent >= warmFor && last < s.sample+s.sample/2 {
			return nil
		}
		var err error
		if last, err = s.again(ctx); err != nil {
			return err
		}
	}
}

// Summary is the centre of a set of samples.
type Summary struct {
	Median float64 // NaN without samples
	Lo, Hi float64 // 95 % interval of the median; infinite below MinForInterval samples
	Drift  bool    // blocks of successive samples differ: the samples are not independent
	Spread float64 // from the lowest tenth of the samples to the highest, relative to the median
	least  float64
}

// blocks is the number of blocks of successive samples that are compared: the range of as many independent
// medians has the median of their distribution with 97 %.
const blocks = MinForInterval

// kruskal99 is the 99 % quantile of χ² with blocks−1 degrees of freedom.
const kruskal99 = 15.0863

// Summarize returns the median of the samples, in the order in which they were taken, and its interval. It is
// between order statistics of the binomial distribution, which assumes no distribution of the samples, but that
// they are independent. If they drift, or go from one mode to another, by the test of Kruskal and Wallis on
// blocks of successive samples with p < 0.01, the interval has the medians of all blocks too.
func Summarize(seconds []float64) Summary {
	n := len(seconds)
	if n == 0 {
		return Summary{Median: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	of := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(seconds), nil), 0.95)
	sorted := slices.Sorted(slices.Values(seconds))
	tenth := (n - 1) / 10
	s := Summary{Median: of.Center, Lo: of.Lo, Hi: of.Hi, least: sorted[0],
		Spread: (sorted[n-1-tenth] - sorted[tenth]) / of.Center}
	if n < 2*blocks {
		return s
	}
	ranks, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for i := range blocks {
		block := seconds[i*n/blocks : (i+1)*n/blocks]
		sum := 0.0
		for _, x := range block {
			below, found := slices.BinarySearch(sorted, x)
			equal := 0
			for found && below+equal < n && sorted[below+equal] == x {
				equal++
			}
			sum += float64(below) + float64(equal+1)/2
		}
		ranks += sum * sum / float64(len(block))
		own := slices.Sorted(slices.Values(block))
		middle := (own[(len(own)-1)/2] + own[len(own)/2]) / 2
		low, high = min(low, middle), max(high, middle)
	}
	size := float64(n)
	if s.Drift = 12/(size*(size+1))*ranks-3*(size+1) > kruskal99; s.Drift {
		s.Lo, s.Hi = min(s.Lo, low), max(s.Hi, high)
	}
	return s
}

// Wide reports whether the median is no figure to rely on: its interval is wide, a fifth of the samples are
// far from it, or a sample took less than half of it, so that most were disturbed.
func (s Summary) Wide() bool {
	return !(s.Hi-s.Lo <= 0.1*s.Median && s.Spread <= 0.5 && 2*s.least >= s.Median)
}

// Precise reports whether the interval is within Precision of the median.
func (s Summary) Precise() bool {
	return s.Lo >= (1-Precision)*s.Median && s.Hi <= (1+Precision)*s.Median
}

// Bounded reports whether the interval is finite, as it is from MinForInterval samples on.
func (s Summary) Bounded() bool { return !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) }
