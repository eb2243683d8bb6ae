package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/note"
	"gemm/internal/timeline"
	"gemm/mpi/comm"
	"gemm/mpi/plan"
)

// A task is a product to be staged, as one rank has it.
type task[T gemm.Element] struct {
	job     *Job
	world   *comm.Comm
	shape   gemm.Shape
	params  gemm.Params    // resolved
	c, a, b gemm.Matrix[T] // on rank 0; empty elsewhere
	local   *local[T]      // nil of a variant without the parameter
	crew    *crew[T]       // nil: every rank computes its own part alone
	spare   bool           // this rank has more processors than threads that compute
	places  []int          // of the thread with the messages, and of the one that computes at the same time; nil: anywhere
}

// place does nothing: an algorithm that has something to place does it itself.
func (t *task[T]) place() error { return nil }

// collect does nothing: C is on rank 0, unless an algorithm collects it.
func (t *task[T]) collect() error { return nil }

// close gives back what the ranks have in common.
func (t *task[T]) close() error { return t.disband() }

// product is a task that an algorithm has made ready on one rank. All ranks make the same
// calls. Those that have no part in it return at once.
type product[T gemm.Element] interface {
	// place makes communicators, and brings operands that live distributed from rank 0.
	place() error
	// multiply computes the product once and notes in r what that took.
	multiply(r *clock) error
	// collect brings C to rank 0 if it is not there yet.
	collect() error
	close() error
	// plan returns what the ranks are predicted to do.
	plan() prediction
}

// prediction is what the plan of an algorithm says.
type prediction struct {
	schedule plan.Schedule // in elements, without the skew
	skew     plan.Schedule // of Cannon; without steps of others
	bound    float64       // elements
	rooted   bool          // operands begin and end on rank 0
	grid     plan.Grid     // of the ranks that compute; 0×0 if rows alone are shared out
	busy     int           // ranks with terms of their own to compute
	warning  gemm.Note     // of its rows; may be the zero note
	largest  gemm.Shape    // what the rank with most has to compute, in one step or several
}

// maker is an algorithm: it returns the product of a task. What can fail on one rank
// alone fails here, before any message.
type maker[T gemm.Element] func(t *task[T]) (product[T], error)

// clock notes what a product takes on this rank.
type clock struct {
	ctx     context.Context
	phases  map[string]time.Duration
	stopped bool // the context ended: what was left was not computed
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
func (k *clock) during(phase string, f func() error) error {
	k.log.Enter(phase)
	start := time.Now()
	err := f()
	took := time.Since(start)
	k.log.Leave(start, took)
	if phase != timeline.Waiting {
		k.phases[phase] += took
	}
	return err
}

// called notes f as a call in the timeline.
func (k *clock) called(name string, rank int, f func() error) error {
	defer k.log.Call(name, rank)(0)
	return f()
}

// report is what a rank did in a product.
type report struct {
	Seconds float64            `json:"seconds"`
	Stopped bool               `json:"stopped,omitempty"`
	Moved   comm.Traffic       `json:"moved"`
	Skew    comm.Traffic       `json:"skew"`
	Phases  map[string]float64 `json:"phases"`
	CPUs    string             `json:"cpus"`

	// Timeline is what the rank did when, in seconds after Begun. Begun is a time of rank 0's clock when the report has
	// come there, and of the rank's own clock before. Within is the limit of the error in all of them.
	Timeline []timeline.Phase `json:"timeline,omitempty"`
	Begun    float64          `json:"begun,omitempty"`
	Within   float64          `json:"within,omitempty"`
}

// multiplier leads the ranks through products of one variant.
type multiplier[T gemm.Element] struct {
	name     string
	params   gemm.Params // resolved
	make     maker[T]
	resolved atomic.Pointer[gemm.Params] // of the last product
}

// Resolved implements gemm.Explainer.
func (m *multiplier[T]) Resolved() gemm.Params {
	if p := m.resolved.Load(); p != nil {
		return *p
	}
	return nil
}

// core is the multiplier itself, of what wraps one too.
func (m *multiplier[T]) core() *multiplier[T] { return m }

// Multiply implements gemm.Multiplier: operands are distributed and the result is collected, whatever the variant
// counts as its time. The error is an ErrBusy where the job has another product.
func (m *multiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	j, err := m.begin(ctx, c, a, b)
	if err != nil {
		return err
	}
	defer j.leading.Leave()
	l, err := m.stage(j, c, a, b)
	if err != nil {
		return err
	}
	if _, err = l.do(ctx); err == nil {
		err = l.bring()
	}
	return errors.Join(err, l.end())
}

// Stage implements gemm.Stager.
func (m *multiplier[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	j, err := m.begin(ctx, c, a, b)
	if err != nil {
		return nil, err
	}
	defer j.leading.Leave()
	l, err := m.stage(j, c, a, b)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// begin checks the operands and begins to lead the ranks of the job, which it returns.
func (m *multiplier[T]) begin(ctx context.Context, c, a, b gemm.Matrix[T]) (*Job, error) {
	if err := gemm.CheckShapes(c, a, b); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j, err := running()
	if err != nil {
		return nil, err
	}
	return j, j.leading.Enter(m.name)
}

// stage has all ranks stage a product.
func (m *multiplier[T]) stage(j *Job, c, a, b gemm.Matrix[T]) (*lead[T], error) {
	defer j.within(doStage)()
	j.last++
	cmd := command{
		Do: doStage, Run: j.last, Variant: m.name, Type: gemm.TypeOf[T]().Name,
		Shape: gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, Params: m.params,
	}
	if err := j.tell(cmd); err != nil {
		return nil, err
	}
	s, err := stage(j, m, cmd, c, a, b)
	if err != nil {
		return nil, j.blame(m.name, err)
	}
	m.resolved.Store(&s.resolved)
	return &lead[T]{s, m.name, cmd.Run, record.Distribution{}}, nil
}

// blame keeps an error that leaves the ranks out of step.
func (j *Job) blame(variant string, err error) error {
	if err != nil && !errors.As(err, &refusal{}) {
		j.broken = fmt.Errorf("the ranks are out of step since %s failed: %w", variant, err)
	}
	return err
}

// staged is a product that is in place on this rank.
type staged[T gemm.Element] struct {
	product[T]
	job      *Job
	affinity string
	threads  int // that compute
	running  int // threads in all
	resolved gemm.Params
	helped   bool    // ranks outside the grid compute chunks of others
	bytes    int     // of the operands, all together
	rate     float64 // terms a second of the local variant on all ranks at once, of the rank with least; 0: there is none
}

// stage stages a product on this rank; all ranks call it.
func stage[T gemm.Element](j *Job, m *multiplier[T], c command, dst, a, b gemm.Matrix[T]) (*staged[T], error) {
	t := &task[T]{job: j, world: j.world, shape: c.Shape, params: m.params, c: dst, a: a, b: b}
	s := &staged[T]{job: j, affinity: m.params.Text("affinity"), threads: 1}
	if asked, ok := m.params["threads"].(int); ok {
		s.threads = j.threads(asked)
	}
	t.spare = j.threads(0) > s.threads
	s.running = s.threads
	if t.spare {
		s.running++ // the one that MPI is on
		if s.threads == 1 {
			t.places = j.apart(s.affinity)
		}
	}
	s.bytes = (c.M*c.N + c.M*c.K + c.K*c.N) * gemm.TypeOf[T]().Size
	s.settle()
	err := func() (err error) {
		if name, ok := m.params["local"].(string); ok {
			if t.local, err = newLocal[T](name, s.threads); err != nil {
				return err
			}
		}
		if t.shape.Terms() == 0 {
			s.product = nothing[T]{t}
			return nil
		}
		s.product, err = m.make(t)
		return err
	}()
	if err = j.agree(err); err != nil {
		return nil, err
	}
	s.resolved = gemm.Params{"threads": s.threads}
	if t.local != nil {
		maps.Copy(s.resolved, t.local.resolved())
	}
	if g := s.plan().grid; g.Ranks() > 0 {
		s.resolved["grid"] = g.String()
	}
	if e, ok := s.product.(gemm.Explainer); ok {
		maps.Copy(s.resolved, e.Resolved())
	}
	if err := s.place(); err != nil || t.local == nil {
		return s, err
	}
	if inside := s.plan().grid.Ranks(); t.crew != nil && 0 < inside && inside < j.Size() {
		s.helped, s.resolved["helpers"] = true, j.Size()-inside
	}
	r, err := rate(j, t.local, m.params, s.plan().largest)
	s.rate = r
	return s, err
}

// settle has this process use the processors and threads of the product.
func (s *staged[T]) settle() {
	// Where the system refuses to pin, it chooses the processors itself.
	_ = s.job.bind(s.affinity)
	if runtime.GOMAXPROCS(0) != s.running {
		runtime.GOMAXPROCS(s.running)
	}
}

// multiply implements run: it computes the product once, and returns what this rank did
// and, on rank 0, what all did. If the context has a timeline, they have one too.
func (s *staged[T]) multiply(ctx context.Context) (own report, all []report, err error) {
	s.settle()
	k := &clock{ctx: timeline.Without(ctx), phases: map[string]time.Duration{}}
	var ahead []float64 // of rank 0's clock, by rank
	within := 0.0
	if timeline.Of(ctx) != nil {
		k.log = s.job.world.Log()
		if ahead, within, err = s.job.ahead(); err != nil {
			return own, nil, err
		}
	}
	moved := s.job.world.Traffic()
	*moved = comm.Traffic{}
	if err := s.job.quiet.Barrier(); err != nil {
		return own, nil, err
	}
	start, begun := time.Now(), s.job.now()
	k.log.Start(start)
	if err = s.product.multiply(k); err == nil {
		// The staging is done when all ranks are. Ranks that wait for nobody may begin one after
		// the other, where they take turns on a processor, and each would count only its own turn.
		err = k.during(timeline.Waiting, func() error { return k.called("barrier", -1, s.job.quiet.Barrier) })
	}
	own = report{Seconds: time.Since(start).Seconds(), Stopped: k.stopped, Moved: *moved,
		Skew: k.skewed, Phases: map[string]float64{}, Timeline: k.log.Stop(), Begun: begun, Within: within}
	if err != nil {
		return own, nil, err
	}
	for name, took := range k.phases {
		own.Phases[name] = took.Seconds()
	}
	own.CPUs = cpu.List(cpu.Allowed())
	if all, err = s.job.gather(own); err != nil {
		return own, nil, err
	}
	for r := range ahead {
		if all != nil {
			all[r].Begun -= ahead[r]
		}
	}
	return own, all, nil
}

// gather returns the reports of all ranks, on rank 0.
func (j *Job) gather(own report) ([]report, error) {
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	gathered, err := j.quiet.Collect(data)
	if err != nil {
		return nil, err
	}
	var all []report
	for _, data := range gathered {
		var r report
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// activity is what the ranks did, on one clock, from when the first of them began.
func activity(all []report) timeline.Activity {
	first := all[0].Begun
	for _, r := range all {
		first = min(first, r.Begun)
	}
	a := timeline.Activity{ClockError: all[0].Within}
	for rank, r := range all {
		for _, p := range r.Timeline {
			p.Lane, p.Begin, p.End = rank, p.Begin+r.Begun-first, p.End+r.Begun-first
			a.Phases = append(a.Phases, p)
		}
	}
	return a
}

// lead is a staged product on rank 0.
type lead[T gemm.Element] struct {
	*staged[T]
	variant string
	number  int
	last    record.Distribution
}

// Do implements gemm.Run. Its time is the time of the slowest rank.
func (l *lead[T]) Do(ctx context.Context) (gemm.Cost, error) {
	if err := l.job.leading.Enter(l.variant); err != nil {
		return gemm.Cost{}, err
	}
	defer l.job.leading.Leave()
	return l.do(ctx)
}

func (l *lead[T]) do(ctx context.Context) (gemm.Cost, error) {
	if err := ctx.Err(); err != nil {
		return gemm.Cost{}, err
	}
	defer l.job.within(doMultiply)()
	end, deadline := ctx.Deadline()
	cmd := command{Do: doMultiply, Run: l.number, Deadline: deadline, Timeline: timeline.Of(ctx) != nil}
	if deadline {
		cmd.Left = time.Until(end)
	}
	if err := l.job.tell(cmd); err != nil {
		return gemm.Cost{}, err
	}
	own, all, err := l.multiply(ctx)
	if err != nil {
		return gemm.Cost{}, l.job.blame("a product", err)
	}
	cost := gemm.Cost{Phases: map[string]time.Duration{}, Sent: own.Moved.Total().Sent, Recv: own.Moved.Total().Recv}
	stopped := false
	for _, r := range all {
		stopped = stopped || r.Stopped
		cost.Time = max(cost.Time, seconds(r.Seconds))
		for name, s := range r.Phases {
			cost.Phases[name] = max(cost.Phases[name], seconds(s))
		}
	}
	if stopped {
		switch {
		case ctx.Err() != nil:
		case deadline:
			<-ctx.Done() // the clocks of ranks differ a little
		default:
			return gemm.Cost{}, fmt.Errorf("another rank stopped: %w", context.Canceled)
		}
		return gemm.Cost{}, ctx.Err()
	}
	if line := timeline.Of(ctx); line != nil {
		line.Did(activity(all))
	}
	return cost, l.describe(all)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// describe keeps what the ranks did. The error says that they moved other bytes than was planned.
func (l *lead[T]) describe(all []report) error {
	p := l.plan()
	size := int64(gemm.TypeOf[T]().Size)
	d := record.Distribution{Used: p.busy, Bound: p.bound * float64(size)}
	if l.helped {
		for _, did := range all[p.grid.Ranks():] {
			if did.Phases[computing] > 0 {
				d.Used++
			}
		}
	}
	planned, skew := p.schedule.Traffic(), p.skew.Traffic()
	for r, did := range all {
		want := planned[r]
		if len(p.skew.Steps) > 0 {
			want.Add(skew[r])
		}
		if want = want.Times(size); did.Moved != want {
			return fmt.Errorf("rank %d moved %+v bytes, its plan has %+v", r, did.Moved, want)
		}
		sum := did.Moved.Total()
		d.Ranks = append(d.Ranks, record.Rank{
			Rank: r, Host: l.job.peers[r].Host, CPUs: did.CPUs, Phases: did.Phases, Sent: sum.Sent, Recv: sum.Recv,
			SentBetween: did.Moved.Between.Sent, RecvBetween: did.Moved.Between.Recv,
		})
		d.CountedBetween += did.Moved.Between.Recv
		d.PredictedBetween += want.Between.Recv
		predicted := planned[r].Times(size).Total()
		switch {
		case p.rooted && r == 0:
			d.Counted, d.Predicted = sum.Sent+sum.Recv, predicted.Sent+predicted.Recv
		case !p.rooted:
			d.Counted = max(d.Counted, sum.Recv-did.Skew.Total().Recv)
			d.Predicted = max(d.Predicted, predicted.Recv)
		}
	}
	if idle := len(all) - d.Used; idle > 0 {
		d.Warnings = append(d.Warnings, note.New("idle", idle, len(all)))
	}
	if p.warning.Text != "" {
		d.Warnings = append(d.Warnings, p.warning)
	}
	cluster, err := l.job.cluster()
	if err != nil {
		return err
	}
	if l.rate > 0 {
		d.Model = record.Model(plan.Time(p.skew.Then(p.schedule), int(size), cluster, p.largest.Terms()/l.rate))
	}
	l.last = d
	return nil
}

// Distribution implements record.Distributed.
func (l *lead[T]) Distribution() record.Distribution { return l.last }

// Collect implements gemm.Run.
func (l *lead[T]) Collect(context.Context) error {
	if err := l.job.leading.Enter(l.variant); err != nil {
		return err
	}
	defer l.job.leading.Leave()
	return l.bring()
}

// bring brings C to rank 0.
func (l *lead[T]) bring() error {
	defer l.job.within(doCollect)()
	if err := l.job.tell(command{Do: doCollect, Run: l.number}); err != nil {
		return err
	}
	return l.job.blame("collecting", l.collect())
}

// Close implements gemm.Run.
func (l *lead[T]) Close() error {
	if err := l.job.leading.Enter(l.variant); err != nil {
		return err
	}
	defer l.job.leading.Leave()
	return l.end()
}

// end has all ranks forget the product.
func (l *lead[T]) end() error {
	if l.job.broken != nil {
		return nil // there is nobody to tell, and the first error has been returned
	}
	defer l.job.within(doClose)()
	if err := l.job.tell(command{Do: doClose, Run: l.number, Bytes: l.bytes}); err != nil {
		return err
	}
	return l.job.blame("closing", l.close())
}

// nothing is a product without terms: C is zero, and nobody sends anything.
type nothing[T gemm.Element] struct{ *task[T] }

func (x nothing[T]) multiply(*clock) error {
	zero(x.c)
	return nil
}

func (x nothing[T]) plan() prediction {
	return prediction{schedule: plan.Schedule{Hosts: x.job.hosts}, rooted: true}
}

// zero writes zeros to all of c.
func zero[T gemm.Element](c gemm.Matrix[T]) {
	if c.Cols == 0 {
		return // however many rows there are
	}
	for i := range c.Rows {
		clear(c.Row(i))
	}
}

// gemmer is a multiplier for the whole BLAS operation. The ranks compute op(A)·op(B); rank 0 applies α and β·C.
type gemmer[T gemm.Float] struct{ *multiplier[T] }

// Gemm implements gemm.Gemmer.
func (g gemmer[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	m, n, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return err
	}
	switch {
	case m == 0 || n == 0:
		return ctx.Err()
	case alpha == 0 || k == 0:
		if err := ctx.Err(); err != nil {
			return err
		}
		scale(c, beta)
		return nil
	}
	product := gemm.NewMatrix[T](m, n)
	alpha, a, b, err = rescaled(ctx, n, alpha, untransposed(a, tA), untransposed(b, tB))
	if err != nil {
		return err
	}
	if err := g.Multiply(ctx, product, a, b); err != nil {
		return err
	}
	scale(c, beta)
	for i := range m {
		row := c.Row(i)
		for j, x := range product.Row(i) {
			row[j] += alpha * x
		}
	}
	return nil
}

// rescaled returns operands with the same product, whose sums stay in the range as block.Rescale says.
func rescaled[T gemm.Float](ctx context.Context, n int, alpha T,
	a, b gemm.Matrix[T]) (T, gemm.Matrix[T], gemm.Matrix[T], error) {
	left, right := block.View[T]{Data: a.Data, Row: a.Stride, Col: 1}, block.View[T]{Data: b.Data, Row: b.Stride, Col: 1}
	alpha, left, right, err := block.Rescale(ctx, a.Rows, n, a.Cols, alpha, left, right)
	a.Data, a.Stride, b.Data, b.Stride = left.Data, left.Row, right.Data, right.Row
	return alpha, a, b, err
}

// scale computes C ← β·C; β = 0 does not read C.
func scale[T gemm.Float](c gemm.Matrix[T], beta T) {
	if beta == 0 {
		zero(c)
		return
	}
	for i := range c.Rows {
		row := c.Row(i)
		for j := range row {
			row[j] *= beta
		}
	}
}

// untransposed returns op(m), which is m itself or a copy.
func untransposed[T gemm.Element](m gemm.Matrix[T], t blas.Transpose) gemm.Matrix[T] {
	if t == blas.NoTrans {
		return m
	}
	out := gemm.NewMatrix[T](m.Cols, m.Rows)
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			out.Set(j, i, x)
		}
	}
	return out
}
