package mpi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"time"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/cpu"
	"gemm/internal/note"
	"gemm/internal/sample"
	"gemm/internal/timeline"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
	"gemm/serial"
)

// task is a product to be staged, as one rank has it.
type task[T gemm.Element] struct {
	job      *Job
	world    *comm.Comm
	shape    gemm.Shape
	params   gemm.Params    // resolved
	c, a, b  gemm.Matrix[T] // on rank 0; empty elsewhere
	local    *local[T]      // nil if the variant has no such parameter
	stealing *stealing[T]   // nil: every rank computes its own part alone
	spare    bool           // this rank has more processors than threads that compute
	// pinned has a processor for the thread with the messages, and one for the thread that computes at the same time;
	// nil: any.
	pinned  []int
	windows []*comm.Window // to be freed at the end
}

func (t *task[T]) rank() int { return t.world.Rank() }

// gpu returns the GPU of this rank; nil: its part is computed on processors.
func (t *task[T]) gpu() *onGPU[T] {
	if t.local == nil {
		return nil
	}
	return t.local.gpu
}

// placeGrid lays the grid of the parameters on the hosts; schedule predicts what the places of the grid exchange.
func (t *task[T]) placeGrid(schedule func(s gemm.Shape, hosts []int, g plan.Grid) plan.Schedule) (plan.Layout, error) {
	g, err := gridOf(t.params, t.world.Size(), t.shape)
	if err != nil {
		return plan.Layout{}, err
	}
	return t.placeOn(g, schedule), nil
}

func (t *task[T]) placeOn(g plan.Grid, schedule func(gemm.Shape, []int, plan.Grid) plan.Schedule) plan.Layout {
	return plan.MapRanks(g, t.job.hosts, func(hosts []int) plan.Schedule { return schedule(t.shape, hosts, g) })
}

// close frees the memory that ranks share. All ranks call it.
func (t *task[T]) close() error {
	errs := []error{t.gpu().close()}
	for _, w := range t.windows {
		errs = append(errs, w.Free())
	}
	return errors.Join(errs...)
}

// product is an algorithm, ready to compute a task on one rank. All ranks make the same calls. Ranks without a part in
// the product return at once.
type product[T gemm.Element] interface {
	// prepare makes communicators and shared memory, and scatters distributed operands.
	prepare() error
	// multiply computes the product once and notes in prof what that took.
	multiply(prof *profile) error
	// collect gathers C on rank 0 if it is not there yet.
	collect() error
	// plan returns what the ranks are predicted to do.
	plan() prediction
}

// rooted is embedded by algorithms whose operands begin and end on rank 0.
type rooted struct{}

func (rooted) prepare() error { return nil }
func (rooted) collect() error { return nil }

// maker is an algorithm: it returns the product of a task. An error that only one rank may have is returned here,
// before any message.
type maker[T gemm.Element] func(t *task[T]) (product[T], error)

// prediction is the plan of an algorithm.
type prediction struct {
	schedule plan.Schedule // in elements, without the skew
	skew     plan.Schedule // of Cannon; without steps in other algorithms
	bound    float64       // elements
	rooted   bool          // operands begin and end on rank 0
	grid     plan.Grid     // of the ranks that compute; 0×0 if only rows are divided
	busy     int           // ranks with terms of their own to compute
	warning  note.Note     // of its rows; may be the zero note
	largest  gemm.Shape    // the largest part of a rank, computed in one step or several
}

// overGrid returns what ranks with blocks of C over a grid are predicted to do.
func (t *task[T]) overGrid(g plan.Grid, schedule plan.Schedule, bound float64) prediction {
	return prediction{schedule: schedule, bound: bound, grid: g, busy: plan.Busy(g, t.shape),
		largest: gemm.Shape{M: ceil(t.shape.M, g.P), N: ceil(t.shape.N, g.Q), K: t.shape.K}}
}

func ceil(n, parts int) int { return (n + parts - 1) / parts }

// noTerms is a product without terms: C is zero, and no rank sends anything.
type noTerms[T gemm.Element] struct {
	rooted
	task *task[T]
}

func (x noTerms[T]) multiply(*profile) error {
	serial.Zero(x.task.c)
	return nil
}

func (x noTerms[T]) plan() prediction {
	return prediction{schedule: plan.Schedule{Hosts: x.task.job.hosts}, rooted: true}
}

// profile is the time of the phases of a product on this rank.
type profile struct {
	ctx     context.Context
	phases  map[string]time.Duration
	stopped bool // the context ended: the rest was not computed
	skewed  comm.Traffic
	log     *comm.Log // nil: without a timeline
}

// The phases of a product.
const (
	distributing  = "distribute"
	computing     = "compute"
	collecting    = "collect"
	communicating = "communicate" // between the ranks, in place of the first and the last
	skewing       = "skew"
	reducing      = "reduce"
)

// during adds the time of f to the phase. Waiting for others is in the timeline only.
func (prof *profile) during(phase string, f func() error) error {
	prof.log.Enter(phase)
	start := time.Now()
	err := f()
	took := time.Since(start)
	prof.log.Leave(start, took)
	if phase != timeline.Waiting {
		prof.phases[phase] += took
	}
	return err
}

// logged notes f as a call in the timeline.
func (prof *profile) logged(name string, rank int, f func() error) error {
	defer prof.log.Call(name, rank)(0)
	return f()
}

// report is the time and the traffic of a rank in a product.
type report struct {
	Seconds float64            `json:"seconds"`
	Stopped bool               `json:"stopped,omitempty"`
	Moved   comm.Traffic       `json:"moved"`
	Skew    comm.Traffic       `json:"skew"`
	Phases  map[string]float64 `json:"phases"`
	CPUs    string             `json:"cpus"`

	GPU    *record.DevicePart `json:"gpu,omitempty"`
	Failed string             `json:"failed,omitempty"` // why the GPU has computed nothing

	// Timeline has the phases and calls of the rank, in seconds after Begun. Begun is a time of rank 0's clock in a report
	// that rank 0 has received, and of the rank's own clock before. Within is the limit of the error in all of them.
	Timeline []timeline.Phase `json:"timeline,omitempty"`
	Begun    float64          `json:"begun,omitempty"`
	Within   float64          `json:"within,omitempty"`
}

// staged is a product that is in place on this rank.
type staged[T gemm.Element] struct {
	product  product[T]
	task     *task[T]
	job      *Job
	affinity string
	threads  int // that compute
	running  int // threads in all
	resolved gemm.Params
	helped   bool    // ranks outside the grid compute chunks of others
	bytes    int     // of the operands, all together
	rate     float64 // see rate; 0: there is none
}

// stage stages a product on this rank; all ranks call it.
func stage[T gemm.Element](j *Job, m *multiplier[T], c command, dst, a, b gemm.Matrix[T]) (*staged[T], error) {
	t := &task[T]{job: j, world: j.world, shape: c.Shape, params: m.params, c: dst, a: a, b: b}
	s := &staged[T]{task: t, job: j, affinity: m.params.Text("affinity"), threads: 1}
	if requested, ok := m.params["threads"].(int); ok {
		s.threads = j.threads(requested)
	}
	t.spare = j.threads(0) > s.threads
	s.running = s.threads
	if t.spare {
		s.running++ // the thread with the messages
		if s.threads == 1 {
			t.pinned = j.twoProcessors(s.affinity)
		}
	}
	s.bytes = (c.M*c.N + c.M*c.K + c.K*c.N) * gemm.TypeOf[T]().Size
	s.configure()
	if err := j.agree(s.make(m)); err != nil {
		return nil, err
	}
	s.resolved = gemm.Params{"threads": s.threads}
	if t.local != nil {
		s.resolved["local"] = t.local.name
	}
	if g := s.product.plan().grid; g.Ranks() > 0 {
		s.resolved["grid"] = g.String()
	}
	if e, ok := s.product.(gemm.Explainer); ok {
		maps.Copy(s.resolved, e.Resolved())
	}
	if err := s.product.prepare(); err != nil || t.local == nil || t.gpu() != nil {
		return s, err
	}
	if inside := s.product.plan().grid.Ranks(); t.stealing != nil && 0 < inside && inside < j.Size() {
		s.helped, s.resolved["helpers"] = true, j.Size()-inside
	}
	var err error
	s.rate, err = rate(j, t.local, m.params, s.product.plan().largest)
	return s, err
}

// make makes the product. An error that only one rank may have is returned here.
func (s *staged[T]) make(m *multiplier[T]) (err error) {
	if name, ok := m.params["local"].(string); ok {
		if s.task.local, err = newLocal[T](s.job, name, s.threads); err != nil {
			return err
		}
	}
	if s.task.shape.Terms() == 0 {
		s.product = noTerms[T]{task: s.task}
		return nil
	}
	s.product, err = m.make(s.task)
	return err
}

// configure gives this process the processors and threads of the product.
func (s *staged[T]) configure() {
	// If the system refuses to pin, it chooses the processors itself.
	_ = s.job.bind(s.affinity)
	if runtime.GOMAXPROCS(0) != s.running {
		runtime.GOMAXPROCS(s.running)
	}
}

// multiply implements run: it computes the product once, and returns what this rank did
// and, on rank 0, what all did. If the context has a timeline, they have one too.
func (s *staged[T]) multiply(ctx context.Context) (own report, all []report, err error) {
	s.configure()
	prof := &profile{ctx: timeline.Without(ctx), phases: map[string]time.Duration{}}
	var offsets []float64 // of the clocks, by rank
	within := 0.0
	if timeline.Of(ctx) != nil {
		prof.log = s.job.world.Log()
		if offsets, within, err = s.job.clockOffsets(); err != nil {
			return own, nil, err
		}
	}
	moved := s.job.world.Traffic()
	*moved = comm.Traffic{}
	if err := s.job.control.Barrier(); err != nil {
		return own, nil, err
	}
	start, begun := time.Now(), s.job.now()
	prof.log.Start(start)
	if err = s.product.multiply(prof); err == nil {
		// Barrier: the product is complete on all ranks. Without it, ranks that wait for no other rank and share a
		// processor would run one after the other, and each would count only its own time slices.
		err = prof.during(timeline.Waiting, func() error { return prof.logged("barrier", -1, s.job.control.Barrier) })
	}
	own = report{Seconds: time.Since(start).Seconds(), Stopped: prof.stopped, Moved: *moved,
		Skew: prof.skewed, Phases: map[string]float64{}, Timeline: prof.log.Stop(), Begun: begun, Within: within}
	if err != nil {
		return own, nil, err
	}
	for name, took := range prof.phases {
		own.Phases[name] = took.Seconds()
	}
	own.CPUs = cpu.List(cpu.Allowed())
	if g := s.task.gpu(); g != nil {
		own.GPU = &g.part
		if g.err != nil {
			own.Failed = g.err.Error()
		}
	}
	if all, err = gatherJSON(s.job, own); err != nil {
		return own, nil, err
	}
	for r := range all {
		if offsets != nil {
			all[r].Begun -= offsets[r]
		}
	}
	return own, all, nil
}

func (s *staged[T]) collect() error { return s.product.collect() }

func (s *staged[T]) close() error { return s.task.close() }

// sampleTerms is the size, in multiply-adds, of the product that measures the rate of a local
// variant: a small fraction of a product that takes long.
const sampleTerms = 1 << 26

// rateSamples is how often that product is timed: the median counts.
const rateSamples = 7

// leastTerms is the size below which the messages are what takes time.
const leastTerms = 1 << 18

// rate returns the multiply-adds per second of the local variant on the slowest rank, while all
// ranks compute, as in a product whose largest part is s. Every rank calls it.
func rate[T gemm.Element](j *Job, l *local[T], requested gemm.Params, s gemm.Shape) (float64, error) {
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
	// The request is the same on all ranks; the resulting number of threads is not.
	key := fmt.Sprint(gemm.TypeOf[T]().Name, requested["local"], requested["threads"], s)
	if r, ok := j.rates[key]; ok {
		return r, nil
	}
	a, b, c := gemm.NewMatrix[T](s.M, s.K), gemm.NewMatrix[T](s.K, s.N), gemm.NewMatrix[T](s.M, s.N)
	var took []float64          // by the slowest rank
	for range 1 + rateSamples { // the first one warms up
		if err := j.control.Barrier(); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := l.Multiply(context.Background(), c, a, b); err != nil {
			return 0, err
		}
		slowest, err := j.control.Max(time.Since(start).Seconds())
		if err != nil {
			return 0, err
		}
		took = append(took, slowest)
	}
	j.rates[key] = s.Terms() / sample.Summarize(took[1:]).Median
	return j.rates[key], nil
}
