package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/peak"
	"gemm/internal/timeline"
	"gemm/mpi/plan"
)

// command is a message of rank 0 that the other ranks execute. Members that a command does not use are zero.
type command struct {
	Do      string `json:"do"`
	Run     int    `json:"run,omitempty"`
	Variant string `json:"variant,omitempty"`
	Type    string `json:"type,omitempty"`
	gemm.Shape
	Params   gemm.Params   `json:"params,omitempty"`
	Deadline bool          `json:"deadline,omitempty"`
	Left     time.Duration `json:"left,omitempty"`
	Timeline bool          `json:"timeline,omitempty"`
	Pipe     string        `json:"pipe,omitempty"`
	Bytes    int           `json:"bytes,omitempty"`
	Times    int           `json:"times,omitempty"`
	Pattern  plan.Pattern  `json:"pattern"`
}

// The commands.
const (
	doStage    = "stage"
	doMultiply = "multiply"
	doCollect  = "collect"
	doClose    = "close"
	doPeak     = "peak"
	doLimit    = "limit"
	doPingPong = "ping-pong"
	doQuit     = "quit"
)

// broadcast sends a command to all other ranks.
func (j *Job) broadcast(c command) error {
	if j.broken != nil {
		return j.broken
	}
	if j.Rank() != 0 {
		return fmt.Errorf("mpi: rank %d cannot lead", j.Rank())
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return j.control.SendAll(data)
}

// Serve executes the commands of rank 0 on another rank, and returns after "quit". If it returns an
// error, the ranks are out of step, and the caller must end the process. abort must end the process
// too; it is called, on any goroutine, if a command takes longer than Limit allows.
func (j *Job) Serve(ctx context.Context, abort func(reason string)) error {
	j.watch.abort = abort
	for {
		stop := j.within("a command of rank 0")
		data, err := j.control.Poll()
		stop()
		if err != nil {
			return err
		}
		var c command
		if err := errors.Join(json.Unmarshal(data, &c), c.Params.Whole()); err != nil {
			return err
		}
		stop = j.within(c.Do)
		if c.Do == doQuit {
			return j.finalize()
		}
		err = j.execute(ctx, c)
		stop()
		if err != nil {
			return fmt.Errorf("rank %d: %s %s: %w", j.Rank(), c.Do, c.Variant, err)
		}
	}
}

func (j *Job) execute(ctx context.Context, c command) error {
	switch c.Do {
	case doStage:
		// If one rank refuses, all ranks skip the product.
		return ignoreRefusal(j.stage(c))
	case doMultiply:
		// Garbage collection is off during products, as on rank 0.
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		if c.Deadline { // of rank 0's context
			limited, cancel := context.WithTimeout(ctx, c.Left)
			defer cancel()
			ctx = limited
		}
		if c.Timeline {
			ctx = timeline.With(ctx, &timeline.Recorder{})
		}
		_, _, err := j.runs[c.Run].multiply(ctx)
		return err
	case doCollect:
		return j.runs[c.Run].collect()
	case doClose:
		err := j.runs[c.Run].close()
		delete(j.runs, c.Run)
		if j.left += c.Bytes; j.left > muchLeft {
			runtime.GC()
			j.left = 0
		}
		return err
	case doPeak:
		_, err := j.peak(c)
		return err
	case doLimit:
		j.watch.limit = c.Left
		return nil
	case doPingPong:
		_, err := j.control.Exchange(c.Pattern, c.Bytes, c.Times)
		return err
	}
	return fmt.Errorf("mpi: unknown command %q", c.Do)
}

// muchLeft is the number of bytes of closed runs that pays for a garbage collection.
const muchLeft = 64 << 20

// stage stages a product on a rank that serves.
func (j *Job) stage(c command) error {
	made, err := gemm.ByType(c.Type, stageOn[float64], stageOn[float32], stageOn[half.F16], stageOn[half.BF16],
		stageOn[gf256.Elem])(j, c)
	if err == nil {
		j.runs[c.Run] = made
	}
	return err
}

func stageOn[T gemm.Element](j *Job, c command) (run, error) {
	v, err := gemm.Lookup(slices.Concat(Variants(), Peers()), c.Variant)
	if err != nil {
		return nil, err
	}
	m, err := gemm.New[T](v, c.Params)
	if err != nil {
		return nil, j.agree(err) // instead of the agreement in stage
	}
	return stage(j, m.(interface{ core() *multiplier[T] }).core(), c, gemm.Matrix[T]{}, gemm.Matrix[T]{}, gemm.Matrix[T]{})
}

// Peak returns the rate of multiply-adds on registers, in GFLOP/s, of all ranks together. All ranks
// are measured at the same time, with the given number of threads each.
func (j *Job) Peak(pipe string, threads int, each time.Duration) (float64, error) {
	defer j.within(doPeak)()
	c := command{Do: doPeak, Pipe: pipe, Times: threads, Left: each}
	if err := j.broadcast(c); err != nil {
		return 0, err
	}
	return j.peak(c)
}

// peak measures this rank's part; rank 0 gets the sum.
func (j *Job) peak(c command) (float64, error) {
	if err := j.control.Barrier(); err != nil {
		return 0, err
	}
	// All ranks measure, or none: a signal ends them between two measurements.
	own, _ := peak.FMA(context.Background(), c.Pipe, c.Times, c.Left)
	all, err := gatherJSON(j, own)
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum, err
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
		if err := j.broadcast(command{Do: doPingPong, Pattern: pattern, Bytes: bytes, Times: times}); err != nil {
			return 0, err
		}
		return j.control.Exchange(pattern, bytes, times)
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

// Close ends the job on all ranks. Rank 0 calls it once. If the ranks are out of step it returns the
// reason, and the processes have to be ended.
func (j *Job) Close() error {
	if j.broken != nil {
		return j.broken
	}
	defer j.within(doQuit)()
	if err := j.broadcast(command{Do: doQuit}); err != nil {
		return err
	}
	return j.finalize()
}

// finalize frees what ranks share, and ends MPI.
func (j *Job) finalize() error {
	if j.slotsOfHost != nil {
		if err := j.slotsOfHost.window.Free(); err != nil {
			return err
		}
	}
	err := j.world.Free()
	j.rendezvous.Wait()
	return errors.Join(err, j.world.Finalize())
}

// exitGrace is the time after the limit before a rank ends itself. Rank 0 gives up the row earlier, so this is for
// ranks that receive nothing any more, for instance because the host of mpirun is cut off.
const exitGrace = 10 * time.Second

// watch ends this process if it waits too long for other ranks.
type watch struct {
	limit time.Duration // 0: none
	grace time.Duration // after the limit
	abort func(reason string)
}

// Limit makes every rank end itself if it waits for others for longer than limit, the time limit of
// a row, and 10 s of grace. 0 means no limit. Rank 0 calls it before any other command. abort is
// called on any goroutine of rank 0, and must end the process.
func (j *Job) Limit(limit time.Duration, abort func(reason string)) error {
	j.watch.limit, j.watch.abort = limit, abort
	defer j.within("the limit")()
	return j.broadcast(command{Do: doLimit, Left: limit})
}

// within ends the process unless stop is called in time.
func (j *Job) within(what string) (stop func()) {
	w := j.watch
	if w.limit <= 0 || w.abort == nil {
		return func() {}
	}
	timer := time.AfterFunc(w.limit+w.grace, func() {
		reason := fmt.Sprintf("rank %d ends itself: %s takes longer than the limit of %v and %v of grace", j.Rank(),
			what, w.limit, w.grace)
		if silent := j.Unreachable(); len(silent) > 0 {
			reason += ", and no answer comes from " + strings.Join(silent, ", ")
		}
		w.abort(reason)
	})
	return func() { timer.Stop() }
}
