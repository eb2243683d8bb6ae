//go:build cuda

package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/note"
	"gemm/internal/timeline"
	"gemm/mpi/plan"
)

// multi is a product that several GPUs compute; see cuda.Spread.
type multi[T gemm.Number] struct {
	on      []*product[T] // by GPU: the algorithm of its parts
	islands []int         // by GPU: those with the same number read each other's memory
	warm    bool
	product gemm.Exclusive
	chosen  atomic.Pointer[gemm.Params] // of the last product
}

const multiName = cuda.Family + "/" + cuda.Multi

// ofMulti returns the product on the first GPUs of this host.
func ofMulti[T gemm.Number](b *Backend, p gemm.Params) (*multi[T], error) {
	count, err := cu.NumDevices()
	if err != nil {
		return nil, failed("cuDeviceGetCount", err)
	}
	count = max(count, len(b.devices)) // tests repeat a GPU
	if n := p.Int("devices"); n > count {
		return nil, gemm.Unavailablef("--devices %d: this host has %d", n, count)
	}
	local, _, err := cuda.Local(p, gemm.TypeOf[T]().Name)
	if err != nil {
		return nil, err
	}
	v, err := gemm.Lookup(cuda.Variants(b), cuda.Family+"/"+local)
	if err != nil {
		return nil, err
	}
	m := &multi[T]{warm: p.Text("l2") == "warm"}
	for i := range cmp.Or(p.Int("devices"), count) {
		of, err := v.Resolve(gemm.Params{"device": i})
		if err != nil {
			return nil, err
		}
		x, err := construct[T](b, local, of)
		if err != nil {
			return nil, onGPU(i, err)
		}
		x.name = multiName
		m.on = append(m.on, x)
	}
	return m, m.connect()
}

// onGPU says which GPU an error is of.
func onGPU(i int, err error) error { return fmt.Errorf("GPU %d: %w", i, err) }

// connect lets GPUs read each other's memory if they can.
func (m *multi[T]) connect() error {
	for i, x := range m.on {
		m.islands = append(m.islands, i)
		for j, y := range m.on[:i] {
			if x.d.at == y.d.at { // a test repeats a GPU
				m.islands[i] = min(m.islands[i], m.islands[j])
				continue
			}
			there, err := x.d.at.CanAccessPeer(y.d.at)
			back, failure := y.d.at.CanAccessPeer(x.d.at)
			if err := cmp.Or(err, failure); err != nil {
				return failed("cuDeviceCanAccessPeer", err)
			}
			if there == 0 || back == 0 {
				continue
			}
			m.islands[i] = min(m.islands[i], m.islands[j])
			if err := errors.Join(x.d.reach(y.d), y.d.reach(x.d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach lets kernels and copies of the device read the memory of another.
func (d *Device) reach(o *Device) (err error) {
	defer d.bind(&err)()
	if err := o.context.EnablePeerAccess(0); err != nil && !errors.Is(err, cu.PeerAccessAlreadyEnabled) {
		return failed("cuCtxEnablePeerAccess", err)
	}
	return nil
}

// Resolved implements gemm.Explainer.
func (m *multi[T]) Resolved() gemm.Params {
	if chosen := m.chosen.Load(); chosen != nil {
		return *chosen
	}
	return nil
}

// acquire takes all GPUs until release is called. The first one then waits for all.
func (m *multi[T]) acquire(err *error) (release func(), _ error) {
	var releases []func()
	leave := func() {
		for _, f := range slices.Backward(releases) {
			f()
		}
	}
	var all []*Device
	for i, x := range m.on {
		f, failure := x.acquire(err)
		if failure != nil {
			leave()
			return nil, onGPU(i, failure)
		}
		all, releases = append(all, x.d), append(releases, f)
	}
	all[0].with = all[1:]
	return func() { all[0].with = nil; leave() }, nil
}

func (m *multi[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	return m.Gemm(ctx, blas.NoTrans, blas.NoTrans, gemm.FromFloat64[T](1), a, b, gemm.FromFloat64[T](0), c)
}

// Gemm implements gemm.Gemmer.
func (m *multi[T]) Gemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) error {
	if _, _, _, err := gemm.CheckGemm(tA, tB, a, b, c); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || c.Rows == 0 || c.Cols == 0 {
		return err
	}
	if err := m.product.Enter(multiName); err != nil {
		return err
	}
	defer m.product.Leave()
	run, err := m.StageGemm(ctx, tA, tB, alpha, a, b, beta, c)
	return once(ctx, run, err)
}

// Stage implements gemm.Stager.
func (m *multi[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	return m.StageGemm(ctx, blas.NoTrans, blas.NoTrans, gemm.FromFloat64[T](1), a, b, gemm.FromFloat64[T](0), c)
}

// StageGemm implements gemm.GemmStager: it copies to each GPU what that owns of A and B, and its block of C.
func (m *multi[T]) StageGemm(ctx context.Context, tA, tB blas.Transpose, alpha T, a, b gemm.Matrix[T], beta T,
	c gemm.Matrix[T]) (_ gemm.Run, err error) {
	rows, cols, k, err := gemm.CheckGemm(tA, tB, a, b, c)
	if err != nil {
		return nil, err
	}
	release, err := m.acquire(&err)
	if err != nil {
		return nil, err
	}
	defer release()
	r := &spread[T]{m: m, c: c, phases: map[string]time.Duration{},
		Spread: cuda.NewSpread(len(m.on), gemm.Shape{M: rows, N: cols, K: k},
			operation(tA, tB, gemm.ToFloat64(alpha), gemm.ToFloat64(beta)), gemm.TypeOf[T]().Size)}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.free())
		}
	}()
	for gpu, x := range m.on {
		h := &holding{Device: x.d, Share: r.Shares[gpu], engines: map[gemm.Shape]engine{}}
		r.on = append(r.on, h)
		if err := r.place(ctx, gpu, a, b); err != nil {
			return nil, onGPU(gpu, err)
		}
	}
	r.choose()
	return r, nil
}

// spread is a product whose operands are on several GPUs.
type spread[T gemm.Number] struct {
	m *multi[T]
	cuda.Spread
	c          gemm.Matrix[T]
	on         []*holding
	sets       int // copies of the operands
	next, last int // sets of the next product and of the last
	phases     map[string]time.Duration
	parts      []record.DevicePart // of the last product
	clocks     clocks
}

// holding is what one of the GPUs has of a product: panels of A, B and C, one behind the other.
type holding struct {
	*Device
	cuda.Share
	room    memory
	begin   memory  // C before a product, if that is read
	b, c    []int64 // offsets of the panels in bytes
	bytes   int64   // of a set of operands
	engines map[gemm.Shape]engine
	events  []cu.Event   // the begin of a product, then three events a step
	copied  plan.Traffic // in the last product
}

// The events of a step: its panel is copied, its kernels begin, and end.
const (
	stepCopied = 1 + iota
	stepBegins
	stepEnds
	eventsOfStep = iota
)

// event returns an event of a step.
func (h *holding) event(step, which int) cu.Event { return h.events[step*eventsOfStep+which] }

// bind makes the context of a GPU current on this thread, which acquire has locked.
func (r *spread[T]) bind(gpu int) error {
	return failed("cuCtxSetCurrent", cu.SetCurrentContext(r.on[gpu].context))
}

// place takes memory of a GPU and copies to it what it owns.
func (r *spread[T]) place(ctx context.Context, gpu int, a, b gemm.Matrix[T]) error {
	h := r.on[gpu]
	if err := cmp.Or(r.bind(gpu), h.rings()); err != nil {
		return err
	}
	take := func(elements int64) (at int64) {
		at = h.bytes
		h.bytes += roomOf[T](1, int(elements))
		return at
	}
	take(r.Before(gpu, plan.Span{Lo: h.Rows.Hi}))
	for i := range h.Panels {
		h.b = append(h.b, take(r.Elements(gpu, cuda.Step{OfB: true, Panel: i})))
	}
	for _, p := range h.Panels {
		h.c = append(h.c, take(int64(h.Rows.Len())*int64(r.LD(p.Len()))))
	}
	if gpu == 0 { // of the largest block
		r.sets = h.sets(h.bytes, r.m.warm)
	}
	if err := h.renew(&h.room, int64(r.sets)*h.bytes, h.stream); err != nil {
		return err
	}
	rows, panel, width := h.Own.Rows, h.Panels[h.Own.Panel], h.Panels[r.P-1].Hi-h.Panels[0].Lo
	for name, bytes := range map[string]int64{
		"h2d": copied[T](rows.Len(), r.K) + copied[T](r.K, panel.Len()), "d2h": copied[T](h.Rows.Len(), width),
	} {
		took, err := h.copyTime(ctx, h.room.at, bytes, name == "h2d")
		if err != nil {
			return err
		}
		r.phases[name] = max(r.phases[name], took) // each GPU has a bus of its own
	}
	if err := h.poison(h.room, h.up.stream); err != nil {
		return err
	}
	o := r.operands(gpu, 0, h.Own)
	err := cmp.Or(upload(ctx, h.Device, o.a, o.lda, part(a, r.Op.TransA, rows.Lo, rows.Len())),
		upload(ctx, h.Device, o.b, o.ldb, part(b, !r.Op.TransB, panel.Lo, panel.Len())), r.placeC(ctx, gpu),
		h.replicate(h.room.at, h.bytes, r.sets))
	if err != nil {
		return err
	}
	h.events = make([]cu.Event, 1+eventsOfStep*len(h.Steps))
	for i := range h.events {
		if h.events[i], err = cu.MakeEvent(cu.DefaultEvent); err != nil {
			return failed("cuEventCreate", err)
		}
	}
	for _, s := range h.Steps {
		if shape := r.shapeOf(gpu, s); h.engines[shape] == nil {
			h.engines[shape] = r.m.on[gpu].another()
			if err := h.engines[shape].prepare(shape, r.operands(gpu, 0, s), r.Op); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeC copies the block of C to a GPU, if it is read.
func (r *spread[T]) placeC(ctx context.Context, gpu int) (err error) {
	h := r.on[gpu]
	if r.Op.Beta == 0 {
		return nil
	}
	if h.begin, err = h.allocate(h.bytes - h.c[0]); err != nil {
		return err
	}
	for i, p := range h.Panels {
		err = cmp.Or(err, upload(ctx, h.Device, h.begin.at+cu.DevicePtr(h.c[i]-h.c[0]), r.LD(p.Len()),
			r.c.Slice(h.Rows.Lo, p.Lo, h.Rows.Len(), p.Len())))
	}
	return err
}

// shapeOf returns the shape of the product of a step.
func (r *spread[T]) shapeOf(gpu int, s cuda.Step) gemm.Shape {
	return gemm.Shape{M: s.Rows.Len(), N: r.Shares[gpu].Panels[s.Panel].Len(), K: r.K}
}

// operands returns where a GPU has the operands of a step.
func (r *spread[T]) operands(gpu, set int, s cuda.Step) operands {
	h, ld := r.on[gpu], r.LD(r.Shares[gpu].Panels[s.Panel].Len())
	at := h.room.at + cu.DevicePtr(int64(set)*h.bytes)
	return operands{
		at + cu.DevicePtr(r.Before(gpu, s.Rows)*int64(r.Size)), at + cu.DevicePtr(h.b[s.Panel]),
		at + cu.DevicePtr(h.c[s.Panel]+int64(s.Rows.Lo-h.Rows.Lo)*int64(ld)*int64(r.Size)),
		r.PanelLD(gpu, cuda.Step{Rows: s.Rows}), r.PanelLD(gpu, cuda.Step{OfB: true, Panel: s.Panel}), ld,
	}
}

// panel returns where a GPU has the panel that a step copies, and its bytes.
func (r *spread[T]) panel(gpu, set int, s cuda.Step) (cu.DevicePtr, int64) {
	o := r.operands(gpu, set, s)
	if s.OfB {
		o.a = o.b
	}
	return o.a, r.Elements(gpu, s) * int64(r.Size)
}

// choose records the parameters as run, and what the first GPU has chosen.
func (r *spread[T]) choose() {
	chosen := r.first().resolved()
	chosen["devices"], chosen["grid"] = len(r.on), r.Grid.String()
	r.m.chosen.Store(&chosen)
}

// first returns the engine of the first step of the first GPU.
func (r *spread[T]) first() engine { return r.on[0].engines[r.shapeOf(0, r.on[0].Steps[0])] }

func (r *spread[T]) Do(ctx context.Context) (gemm.Cost, error) { return r.Repeat(ctx, 1) }

// Repeat implements record.Repeater. The time is by events of the first GPU: from the time when no GPU has work to the
// time when all have ended. The phases are of the last product, of the GPU that takes longest.
func (r *spread[T]) Repeat(ctx context.Context, times int) (cost gemm.Cost, err error) {
	release, err := r.m.acquire(&err)
	if err != nil {
		return cost, err
	}
	defer release()
	if err := ctx.Err(); err != nil || r.c.Rows == 0 || r.c.Cols == 0 {
		return cost, err
	}
	most := times
	if r.Op.Beta != 0 { // a product changes the C that it reads
		most = r.sets
	}
	for done := 0; done < times; done += most {
		took, err := r.burst(ctx, min(most, times-done))
		if err != nil {
			return cost, err
		}
		cost.Time += took
	}
	err = r.measure()
	if line := timeline.Of(ctx); line != nil && times == 1 && err == nil {
		var did timeline.Activity
		did, err = r.activity(cost.Time)
		line.SetActivity(did)
	}
	cost.Phases = maps.Clone(r.phases)
	return cost, err
}

// burst computes the product the given number of times, each time with the next set.
func (r *spread[T]) burst(ctx context.Context, times int) (time.Duration, error) {
	if err := r.fill(times); err != nil {
		return 0, err
	}
	return r.on[0].timed(ctx, &r.clocks, func() error {
		for range times {
			r.last = r.next
			if err := r.start(); err != nil {
				return err
			}
			r.next = (r.next + 1) % r.sets
		}
		return nil
	})
}

// fill fills C of the last of the next sets with NaN, and the panels that GPUs do not own. If C is read, each set gets
// the staged one. The first GPU ends with it last.
func (r *spread[T]) fill(times int) error {
	for gpu, h := range r.on {
		if err := r.bind(gpu); err != nil {
			return err
		}
		set, bytes := (r.next+times-1)%r.sets, h.bytes-h.c[0]
		block := func(set int) cu.DevicePtr { return h.room.at + cu.DevicePtr(int64(set)*h.bytes+h.c[0]) }
		spans := []memory{{block(set), bytes}}
		if r.Op.Beta != 0 {
			spans = nil
			for i := range times * int(min(1, bytes)) {
				if err := cu.MemcpyDtoDAsync(block((r.next+i)%r.sets), h.begin.at, bytes, h.stream); err != nil {
					return failed("cuMemcpyDtoDAsync", err)
				}
			}
		}
		for _, s := range h.Steps {
			if at, bytes := r.panel(gpu, set, s); s.From != gpu {
				spans = append(spans, memory{at, bytes})
			}
		}
		for _, span := range spans {
			if span.bytes == 0 {
				continue
			}
			if err := h.Device.poison(span, h.stream); err != nil {
				return err
			}
		}
	}
	return r.join()
}

// join has the first GPU wait for the kernels of the others.
func (r *spread[T]) join() error {
	for _, h := range r.on[1:] {
		if err := cmp.Or(mark(h.end, h.stream), follow(r.on[0].stream, h.end)); err != nil {
			return err
		}
	}
	return r.bind(0)
}

// start starts a product. It begins when the one before has ended on all GPUs.
func (r *spread[T]) start() error {
	root := r.on[0]
	for gpu, h := range r.on {
		h.copied = plan.Traffic{}
		if gpu > 0 {
			if err := follow(h.stream, root.events[0]); err != nil {
				return err
			}
		}
		if err := cmp.Or(mark(h.events[0], h.stream), follow(h.up.stream, h.events[0])); err != nil {
			return err
		}
	}
	for i := range root.Steps {
		for gpu := range r.on {
			if err := cmp.Or(r.bind(gpu), r.step(gpu, i)); err != nil {
				return onGPU(gpu, err)
			}
		}
	}
	return r.join()
}

// step starts the copy of a step of a GPU, and the kernels after it.
func (r *spread[T]) step(gpu, i int) error {
	h, s := r.on[gpu], r.on[gpu].Steps[i]
	if s.From != gpu {
		if err := r.copyPanel(gpu, s); err != nil {
			return err
		}
		arrived := h.event(i, stepCopied)
		if err := cmp.Or(mark(arrived, h.up.stream), follow(h.stream, arrived)); err != nil {
			return err
		}
	}
	if err := mark(h.event(i, stepBegins), h.stream); err != nil {
		return err
	}
	if shape := r.shapeOf(gpu, s); shape.M > 0 && shape.N > 0 {
		if err := h.engines[shape].start(r.operands(gpu, r.last, s), nil); err != nil {
			return err
		}
	}
	return mark(h.event(i, stepEnds), h.stream)
}

// copyPanel starts the copy of a panel from another GPU.
func (r *spread[T]) copyPanel(gpu int, s cuda.Step) error {
	to, bytes := r.panel(gpu, r.last, s)
	from, _ := r.panel(s.From, r.last, s)
	if bytes == 0 {
		return nil
	}
	h := r.on[gpu]
	path := &h.copied.Between
	if r.m.islands[gpu] == r.m.islands[s.From] {
		path = &h.copied.Inside
	}
	path.Recv += bytes
	path.Messages++
	return failed("cuMemcpyPeerAsync", cu.MemcpyPeerAsync(to, h.context, from, r.on[s.From].context, bytes, h.up.stream))
}

// activity returns what the streams of each GPU did in the last product, which took as long. Times are from the
// beginning of the GPU on: events of different GPUs cannot be compared. Every GPU begins after the first one and ends
// before the product, which limits the error.
func (r *spread[T]) activity(took time.Duration) (did timeline.Activity, err error) {
	did.GPUs = len(r.on)
	for gpu, h := range r.on {
		did.Lanes = append(did.Lanes, fmt.Sprint("GPU ", gpu), fmt.Sprint("copies to GPU ", gpu))
		at := func(step, which int) float64 { return seconds(&err, h.events[0], h.event(step, which)) }
		var copied, end float64
		for i, s := range h.Steps {
			if s.From != gpu {
				begin := copied
				copied = at(i, stepCopied)
				did.Phases = append(did.Phases, timeline.Phase{Lane: 2*gpu + 1, Name: phasePeer, Peer: &s.From,
					Bytes: r.Elements(gpu, s) * int64(r.Size), Begin: begin, End: copied})
			}
			end = at(i, stepEnds)
			did.Phases = append(did.Phases, timeline.Phase{Lane: 2 * gpu, Name: phaseKernels, Begin: at(i, stepBegins),
				End: end})
		}
		if gpu > 0 {
			did.ClockError = max(did.ClockError, took.Seconds()-end)
		}
	}
	timeline.Sort(did.Phases)
	return did, err
}

// seconds returns the time between two events of a GPU. If that fails and *err is nil, *err is the reason.
func seconds(err *error, from, to cu.Event) float64 {
	took, failure := between(from, to)
	*err = cmp.Or(*err, failure)
	return took.Seconds()
}

// measure reads what each GPU did in the last product, and compares the bytes that it copied with the plan.
func (r *spread[T]) measure() (err error) {
	r.parts = nil
	most := map[string]float64{}
	predicted := r.Traffic(r.m.islands)
	for gpu, h := range r.on {
		if h.copied != predicted[gpu] {
			return fmt.Errorf("cuda: GPU %d copied %+v, the plan says %+v", gpu, h.copied, predicted[gpu])
		}
		p := record.DevicePart{Device: gpu, Peer: h.copied.Inside.Recv, Host: h.copied.Between.Recv}
		for i, s := range h.Steps {
			p.Kernels += seconds(&err, h.event(i, stepBegins), h.event(i, stepEnds))
			if s.From != gpu {
				p.Copies = seconds(&err, h.events[0], h.event(i, stepCopied))
			}
		}
		p.Exposed = max(0, seconds(&err, h.events[0], h.event(len(h.Steps)-1, stepEnds))-p.Kernels)
		r.parts = append(r.parts, p)
		for name, took := range map[string]float64{"compute": p.Kernels, phasePeer: p.Copies, "exposed": p.Exposed} {
			most[name] = max(most[name], took)
		}
	}
	for name, took := range most {
		r.phases[name] = time.Duration(took * float64(time.Second))
	}
	return err
}

// Collect implements gemm.Run.
func (r *spread[T]) Collect(ctx context.Context) (err error) {
	release, err := r.m.acquire(&err)
	if err != nil {
		return err
	}
	defer release()
	for gpu, h := range r.on {
		for i, p := range h.Panels {
			o := r.operands(gpu, r.last, cuda.Step{Rows: h.Rows, Panel: i})
			if err := cmp.Or(r.bind(gpu), fetch(ctx, h.Device, r.c.Slice(h.Rows.Lo, p.Lo, h.Rows.Len(), p.Len()), o.c,
				o.ldc)); err != nil {
				return onGPU(gpu, err)
			}
		}
	}
	if err := r.bind(0); err != nil {
		return err
	}
	r.choose() // again: the product is done
	return nil
}

// Device implements record.OnDevice.
func (r *spread[T]) Device() record.Device {
	out := r.first().device()
	out.L2 = "cold"
	if r.m.warm {
		out.L2 = "warm"
	}
	out.Parts = r.parts
	if slices.Max(r.m.islands) > 0 {
		out.Warnings = append(out.Warnings, note.New("no-peer-access"))
	}
	r.clocks.describe(&out)
	return out
}

// Watts implements record.OnDevice: the power of all GPUs.
func (r *spread[T]) Watts() (sum float64) {
	for _, x := range r.m.on {
		sum += x.d.monitor.watts()
	}
	return sum
}

// Close implements gemm.Run. On a GPU that is lost nothing can be freed.
func (r *spread[T]) Close() (err error) {
	if slices.ContainsFunc(r.m.on, func(x *product[T]) bool { return x.d.Lost() }) {
		return nil
	}
	release, err := r.m.acquire(&err)
	if err != nil {
		return err
	}
	defer release()
	return r.free()
}

// free gives back what the GPUs hold.
func (r *spread[T]) free() (err error) {
	for gpu, h := range r.on {
		err = errors.Join(err, r.bind(gpu))
		for i := range h.events {
			err = errors.Join(err, destroyEvent(&h.events[i]))
		}
		for _, e := range h.engines {
			err = errors.Join(err, e.close())
		}
		err = errors.Join(err, h.Device.free(&h.room), h.Device.free(&h.begin))
	}
	return err
}
