package mpi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/block"
	"gemm/internal/note"
	"gemm/internal/peer"
	"gemm/internal/timeline"
	"gemm/mpi/plan"
)

// multiplier computes products of one variant, on rank 0, by commands to the other ranks.
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

// core returns the multiplier, also from a type that embeds one.
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
	if _, err = l.multiplyAll(ctx); err == nil {
		err = l.collectAll()
	}
	return errors.Join(err, l.closeAll())
}

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
	if err := cmp.Or(gemm.CheckShapes(c, a, b), ctx.Err()); err != nil {
		return nil, err
	}
	j, err := Start(nil) // a process that was not started as a rank is a job of one rank
	if err != nil {
		return nil, err
	}
	return j, j.leading.Enter(m.name)
}

// stage has all ranks stage a product.
func (m *multiplier[T]) stage(j *Job, c, a, b gemm.Matrix[T]) (*leader[T], error) {
	defer j.within(doStage)()
	j.last++
	cmd := command{
		Do: doStage, Run: j.last, Variant: m.name, Type: gemm.TypeOf[T]().Name,
		Shape: gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, Params: m.params,
	}
	if err := j.broadcast(cmd); err != nil {
		return nil, err
	}
	s, err := stage(j, m, cmd, c, a, b)
	if err != nil {
		return nil, j.markBroken(m.name, err)
	}
	m.resolved.Store(&s.resolved)
	return &leader[T]{s, m.name, cmd.Run, record.Distribution{}}, nil
}

// markBroken keeps an error that leaves the ranks out of step.
func (j *Job) markBroken(variant string, err error) error {
	if err != nil && !errors.As(err, &refusal{}) {
		j.broken = fmt.Errorf("the ranks are out of step since %s failed: %w", variant, err)
	}
	return err
}

// activity returns the timelines of the ranks on one clock, which is 0 when the first rank began.
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

// leader is a staged product on rank 0.
type leader[T gemm.Element] struct {
	*staged[T]
	variant string
	number  int
	last    record.Distribution
}

// exclusive calls f while no other product of the job is computed. The error is an ErrBusy if there is one.
func (l *leader[T]) exclusive(f func() error) error {
	if err := l.job.leading.Enter(l.variant); err != nil {
		return err
	}
	defer l.job.leading.Leave()
	return f()
}

// Do implements gemm.Run. Its time is the time of the slowest rank.
func (l *leader[T]) Do(ctx context.Context) (cost gemm.Cost, err error) {
	err = l.exclusive(func() error {
		cost, err = l.multiplyAll(ctx)
		return err
	})
	return cost, err
}

func (l *leader[T]) Collect(context.Context) error { return l.exclusive(l.collectAll) }

func (l *leader[T]) Close() error { return l.exclusive(l.closeAll) }

// multiplyAll has all ranks compute the product once.
func (l *leader[T]) multiplyAll(ctx context.Context) (gemm.Cost, error) {
	if err := ctx.Err(); err != nil {
		return gemm.Cost{}, err
	}
	defer l.job.within(doMultiply)()
	end, deadline := ctx.Deadline()
	cmd := command{Do: doMultiply, Run: l.number, Deadline: deadline, Timeline: timeline.Of(ctx) != nil}
	if deadline {
		cmd.Left = time.Until(end)
	}
	if err := l.job.broadcast(cmd); err != nil {
		return gemm.Cost{}, err
	}
	own, all, err := l.multiply(ctx)
	if err != nil {
		return gemm.Cost{}, l.job.markBroken("a product", err)
	}
	cost := gemm.Cost{Phases: map[string]time.Duration{}, Sent: own.Moved.Total().Sent, Recv: own.Moved.Total().Recv}
	stopped, failed := false, ""
	for rank, r := range all {
		if failed == "" && r.Failed != "" {
			failed = fmt.Sprintf("rank %d: %s", rank, r.Failed)
		}
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
	if failed != "" {
		return gemm.Cost{}, errors.New(failed)
	}
	if line := timeline.Of(ctx); line != nil {
		line.SetActivity(activity(all))
	}
	return cost, l.describe(all)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// describe makes the distribution of the row from the reports. The error reports that a rank moved other bytes than
// planned.
func (l *leader[T]) describe(all []report) error {
	p := l.product.plan()
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
			GPU: did.GPU,
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

// Distribution implements record.Distributed.
func (l *leader[T]) Distribution() record.Distribution { return l.last }

// collectAll has all ranks gather C on rank 0.
func (l *leader[T]) collectAll() error {
	return l.command(command{Do: doCollect, Run: l.number}, l.collect)
}

// closeAll has all ranks free the product.
func (l *leader[T]) closeAll() error {
	if l.job.broken != nil {
		return nil // no command reaches the ranks any more, and the first error has been returned
	}
	return l.command(command{Do: doClose, Run: l.number, Bytes: l.bytes}, l.close)
}

// command broadcasts a command and executes it on this rank.
func (l *leader[T]) command(c command, execute func() error) error {
	defer l.job.within(c.Do)()
	if err := l.job.broadcast(c); err != nil {
		return err
	}
	return l.job.markBroken(c.Do, execute())
}

// gemmer is a multiplier for the whole BLAS operation. The ranks compute op(A)·op(B); rank 0 applies α and β·C.
type gemmer[T gemm.Float] struct{ *multiplier[T] }

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
		peer.Scale(c, beta)
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
	peer.Scale(c, beta)
	for i := range m {
		row := c.Row(i)
		for j, x := range product.Row(i) {
			row[j] += alpha * x
		}
	}
	return nil
}

// rescaled applies block.Rescale to matrices.
func rescaled[T gemm.Float](ctx context.Context, n int, alpha T,
	a, b gemm.Matrix[T]) (T, gemm.Matrix[T], gemm.Matrix[T], error) {
	left, right := block.View[T]{Data: a.Data, Row: a.Stride, Col: 1}, block.View[T]{Data: b.Data, Row: b.Stride, Col: 1}
	alpha, left, right, err := block.Rescale(ctx, a.Rows, n, a.Cols, alpha, left, right)
	a.Data, a.Stride, b.Data, b.Stride = left.Data, left.Row, right.Data, right.Row
	return alpha, a, b, err
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
