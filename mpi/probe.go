package mpi

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"gemm"
	"gemm/internal/peak"
	"gemm/internal/sample"
	"gemm/mpi/plan"
)

// Peak returns the rate of multiply-adds on registers, in GFLOP/s, of all ranks together. All ranks
// are measured at the same time, with the given number of threads each.
func (j *Job) Peak(pipe string, threads int, each time.Duration) (float64, error) {
	defer j.within(doPeak)()
	c := command{Do: doPeak, Pipe: pipe, Times: threads, Left: each}
	if err := j.tell(c); err != nil {
		return 0, err
	}
	return j.peakAll(c)
}

func (j *Job) peak(c command) error {
	_, err := j.peakAll(c)
	return err
}

// peakAll measures this rank's part; rank 0 gets the sum.
func (j *Job) peakAll(c command) (float64, error) {
	if err := j.quiet.Barrier(); err != nil {
		return 0, err
	}
	// All ranks measure, or none: a signal ends them between two measurements.
	own, _ := peak.FMA(context.Background(), c.Pipe, c.Times, c.Left)
	data, err := json.Marshal(own)
	if err != nil {
		return 0, err
	}
	all, err := j.quiet.Collect(data)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, data := range all {
		var x float64
		if err := json.Unmarshal(data, &x); err != nil {
			return 0, err
		}
		sum += x
	}
	return sum, nil
}

// pingPongs is how often each size is sampled.
const pingPongs = 9

// pingPongTime is how long the messages of a sample take together, about. Between hosts they take longer than what
// a switch stores: it would let a short burst pass at a higher rate than the link has.
var pingPongTime = map[bool]time.Duration{false: 2 * time.Millisecond, true: 20 * time.Millisecond}

// Patterns returns the patterns of messages that PingPong measures in this job.
func (j *Job) Patterns() []plan.Pattern { return plan.Patterns(j.hosts) }

// ping identifies a measurement of messages.
type ping struct {
	plan.Pattern
	bytes int
}

// PingPong returns samples of the time, in seconds, of a message of the given size between the ranks of
// a pattern. They are measured once per job.
func (j *Job) PingPong(pattern plan.Pattern, bytes int) ([]float64, error) {
	key := ping{pattern, bytes}
	if j.pings[key] != nil {
		return j.pings[key], nil
	}
	send := func(times int) (float64, error) {
		defer j.within(doPingPong)()
		if err := j.tell(command{Do: doPingPong, Pattern: pattern, Bytes: bytes, Times: times}); err != nil {
			return 0, err
		}
		return j.quiet.Exchange(pattern, bytes, times)
	}
	once, err := send(2)
	if err != nil {
		return nil, err
	}
	// On a crowded host a message waits for time slices, and there are fewer of them.
	times := max(1, min(200, int(pingPongTime[pattern.Between].Seconds()/max(once, 1e-9))))
	var out []float64
	for range pingPongs {
		took, err := send(times)
		if err != nil {
			return nil, err
		}
		out = append(out, took)
	}
	j.pings[key] = out
	return out, nil
}

// cluster returns what messages between the ranks of this job cost.
func (j *Job) cluster() (plan.Cluster, error) {
	found := map[plan.Pattern][]plan.PingPong{}
	for _, p := range j.Patterns() {
		for _, bytes := range p.Sizes() {
			samples, err := j.PingPong(p, bytes)
			if err != nil {
				return plan.Cluster{}, err
			}
			for _, s := range samples {
				found[p] = append(found[p], plan.PingPong{Bytes: bytes, Seconds: s})
			}
		}
	}
	return plan.Measured(j.hosts, found), nil
}

// sampleTerms is the size, in multiply-adds, of the product that measures the rate of a local
// variant: a small fraction of a product that takes long.
const sampleTerms = 1 << 26

// rateSamples is how often that product is timed: the median counts.
const rateSamples = 7

// leastTerms is the size below which the messages are what takes time.
const leastTerms = 1 << 18

// rate returns the multiply-adds per second of the local variant on the slowest rank, while all
// ranks compute, as in a product whose largest part is s. Every rank calls it.
func rate[T gemm.Element](j *Job, l *local[T], asked gemm.Params, s gemm.Shape) (float64, error) {
	for s.Terms() > sampleTerms {
		switch longest := max(s.M, s.N, s.K); longest {
		case s.K:
			s.K /= 2
		case s.M:
			s.M /= 2
		default:
			s.N /= 2
		}
	}
	if s.Terms() < leastTerms {
		return math.Inf(1), nil
	}
	// What was asked for is the same on all ranks; how many threads that makes is not.
	key := fmt.Sprint(gemm.TypeOf[T]().Name, asked["local"], asked["threads"], s)
	if r, ok := j.rates[key]; ok {
		return r, nil
	}
	a, b, c := gemm.NewMatrix[T](s.M, s.K), gemm.NewMatrix[T](s.K, s.N), gemm.NewMatrix[T](s.M, s.N)
	var took []float64          // by the slowest rank
	for range 1 + rateSamples { // the first one warms up
		if err := j.quiet.Barrier(); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := l.Multiply(context.Background(), c, a, b); err != nil {
			return 0, err
		}
		slowest, err := j.quiet.Max(time.Since(start).Seconds())
		if err != nil {
			return 0, err
		}
		took = append(took, slowest)
	}
	j.rates[key] = s.Terms() / sample.Summarize(took[1:]).Median
	return j.rates[key], nil
}
