package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"gemm"
	"gemm/gf256"
)

// command is what rank 0 tells the others to do.
type command struct {
	Do      string `json:"do"`
	Run     int    `json:"run,omitempty"`
	Variant string `json:"variant,omitempty"`
	Type    string `json:"type,omitempty"`
	gemm.Shape
	Params   gemm.Params   `json:"params,omitempty"`
	Deadline bool          `json:"deadline,omitempty"`
	Left     time.Duration `json:"left,omitempty"`
	Pipe     string        `json:"pipe,omitempty"`
	Bytes    int           `json:"bytes,omitempty"`
	Times    int           `json:"times,omitempty"`
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

// tell has the other ranks obey the command.
func (j *Job) tell(c command) error {
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
	return j.quiet.Tell(data)
}

// Serve does on this rank, which is not 0, what rank 0 tells, until it says that the job
// is over. An error leaves the ranks out of step: whoever gets it must end the process. So
// must lost, which is called on any goroutine if the time of Limit has passed.
func (j *Job) Serve(ctx context.Context, lost func(reason string)) error {
	j.watch.lost = lost
	for {
		stop := j.within("a word of rank 0")
		data, err := j.quiet.Hear()
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
			return j.world.Finalize()
		}
		err = j.obey(ctx, c)
		stop()
		if err != nil {
			return fmt.Errorf("rank %d: %s %s: %w", j.Rank(), c.Do, c.Variant, err)
		}
	}
}

func (j *Job) obey(ctx context.Context, c command) error {
	switch c.Do {
	case doStage:
		// What a rank cannot stage all ranks hear of, and nothing is staged.
		return ignoreRefusal(j.stage(c))
	case doMultiply:
		// Collection is off in products, here as on rank 0.
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		ctx, cancel := limited(ctx, c)
		defer cancel()
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
		return j.peak(c)
	case doLimit:
		j.watch.limit = c.Left
		return nil
	case doPingPong:
		_, err := j.world.PingPong(c.Bytes, c.Times)
		return err
	}
	return fmt.Errorf("mpi: unknown command %q", c.Do)
}

// muchLeft is how many bytes of closed runs are worth the time of a collection.
const muchLeft = 64 << 20

// limited returns a context that ends when that of rank 0 does.
func limited(ctx context.Context, c command) (context.Context, context.CancelFunc) {
	if !c.Deadline {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.Left)
}

// stage stages a product on a rank that does not lead.
func (j *Job) stage(c command) error {
	made, err := gemm.ByType(c.Type, stageOn[float64], stageOn[float32], stageOn[gf256.Elem])(j, c)
	if err == nil {
		j.runs[c.Run] = made
	}
	return err
}

func stageOn[T gemm.Element](j *Job, c command) (run, error) {
	all := slices.Concat(Variants(), Peers())
	i := slices.IndexFunc(all, func(v gemm.Variant) bool { return v.Name == c.Variant })
	if i < 0 {
		return nil, fmt.Errorf("mpi: no variant %q", c.Variant)
	}
	m, err := gemm.New[T](all[i], c.Params)
	if err != nil {
		return nil, j.agree(err) // in the place of stage
	}
	return stage(j, m.(interface{ core() *multiplier[T] }).core(), c, gemm.Matrix[T]{}, gemm.Matrix[T]{}, gemm.Matrix[T]{})
}

// Close ends the job for all ranks; rank 0 calls it, once, before it ends. Ranks that are
// out of step are ended.
func (j *Job) Close() error {
	if j.broken != nil {
		return j.broken
	}
	defer j.within(doQuit)()
	if err := j.tell(command{Do: doQuit}); err != nil {
		return err
	}
	return j.world.Finalize()
}

// exitGrace is how long after the time limit a rank ends itself. Rank 0 gives a row up
// earlier, so that this is for ranks that learn of nothing any more: their mpirun may be on a
// host that is cut off.
const exitGrace = 15 * time.Second

// watch ends this process if a rank waits for others for too long.
type watch struct {
	limit time.Duration // 0: none
	grace time.Duration // after the limit
	lost  func(reason string)
}

// Limit has every rank end itself where it waits for others for longer than the limit, which
// is of a row, and a grace of 15 s. 0 is no limit. Rank 0 calls it before it leads the others;
// lost is called on any goroutine of rank 0, and must end the process.
func (j *Job) Limit(limit time.Duration, lost func(reason string)) error {
	j.watch.limit, j.watch.lost = limit, lost
	defer j.within("the limit")()
	return j.tell(command{Do: doLimit, Left: limit})
}

// within has the process end where stop is not called in time.
func (j *Job) within(what string) (stop func()) {
	w := j.watch
	if w.limit <= 0 || w.lost == nil {
		return func() {}
	}
	timer := time.AfterFunc(w.limit+w.grace, func() {
		w.lost(fmt.Sprintf("rank %d ends itself: %s takes longer than the limit of %v and %v of grace", j.Rank(), what,
			w.limit, w.grace))
	})
	return func() { timer.Stop() }
}
