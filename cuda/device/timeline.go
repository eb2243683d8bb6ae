//go:build cuda

package device

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"gemm/cuda"
	"gemm/internal/timeline"
)

// The lanes of a product's timeline are the streams of the device.
const (
	laneUp = iota
	laneKernels
	laneDown
)

var laneNames = []string{"copies to the GPU", "kernels", "copies to the host"}

// The phases of a timeline.
const (
	phaseUp      = "h2d"
	phaseKernels = "kernels"
	phaseDown    = "d2h"
	phasePeer    = "peer"
)

// marks are events between which the parts of one product lie. Nil marks nothing.
type marks struct {
	streams [3]cu.Stream // by lane
	zero    cu.Event     // time 0
	parts   []marked
	open    []int // parts that have begun and not ended
	made    []cu.Event
	err     error // the first

	words, count cu.DevicePtr // what the kernel that multiplies records; 0: nothing
}

// marked is a part of a product.
type marked struct {
	timeline.Phase
	from, to cu.Event
}

// newMarks sets time 0, before which no stream continues. Rings have been made.
func (d *Device) newMarks() (*marks, error) {
	m := &marks{streams: [3]cu.Stream{d.up.stream, d.stream, d.down.stream}}
	m.zero = m.now(laneKernels)
	for _, lane := range []int{laneUp, laneDown} {
		m.follow(lane, m.zero)
	}
	return m, m.err
}

// now records an event on the stream of a lane.
func (m *marks) now(lane int) cu.Event {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		m.err = errors.Join(m.err, failed("cuEventCreate", err))
		return e
	}
	m.made = append(m.made, e)
	if err := mark(e, m.streams[lane]); err != nil {
		m.err = errors.Join(m.err, err)
	}
	return e
}

// follow has the stream of a lane wait for the event.
func (m *marks) follow(lane int, e cu.Event) {
	if m.err == nil {
		m.err = follow(m.streams[lane], e)
	}
}

// begin begins a part on a lane; a call is a part of the part before that is still open.
func (m *marks) begin(lane int, phase, call string, bytes int64) {
	if m == nil || m.err != nil {
		return
	}
	p := marked{Phase: timeline.Phase{Lane: lane, Name: phase, Call: call, Bytes: bytes}, from: m.now(lane)}
	m.open = append(m.open, len(m.parts))
	m.parts = append(m.parts, p)
}

// end ends the part that has begun last.
func (m *marks) end() {
	if m == nil || m.err != nil {
		return
	}
	p := &m.parts[m.open[len(m.open)-1]]
	m.open = m.open[:len(m.open)-1]
	p.to = m.now(p.Lane)
}

// phases returns the parts with their times. All of them are over.
func (m *marks) phases() ([]timeline.Phase, error) {
	var out []timeline.Phase
	for _, p := range m.parts {
		from, err := between(m.zero, p.from)
		if err != nil {
			return nil, err
		}
		to, err := between(m.zero, p.to)
		if err != nil {
			return nil, err
		}
		p.Begin, p.End = from.Seconds(), to.Seconds()
		out = append(out, p.Phase)
	}
	timeline.Sort(out)
	return out, nil
}

// close gives the events back.
func (m *marks) close() error {
	var err error
	for i := range m.made {
		err = errors.Join(err, destroyEvent(&m.made[i]))
	}
	return err
}

// recording returns the kernel as it records its steps, with room that is clear; or the kernel itself, if it marks
// none.
func (m *marks) recording(d *Device, l cuda.Launch, k *kernel) (*kernel, error) {
	program, ok := cuda.TimelineProgram(l.Program)
	if !ok {
		return k, nil
	}
	k, err := d.load(program, l.Kernel, l.Shared)
	if err != nil {
		return nil, err
	}
	for _, variable := range []struct {
		name  string
		at    *cu.DevicePtr
		bytes int64
	}{{cuda.TimelineWords, &m.words, cuda.TimelineWordBytes}, {cuda.TimelineCount, &m.count, cuda.TimelineCountBytes}} {
		var bytes int64
		if *variable.at, bytes, err = k.module.Global(variable.name); err != nil {
			return nil, failed("cuModuleGetGlobal "+variable.name, err)
		}
		if bytes != variable.bytes {
			return nil, fmt.Errorf("cuda: %s of %s has %d bytes, want %d", variable.name, program.Name, bytes,
				variable.bytes)
		}
		if err := cu.MemsetD8Async(*variable.at, 0, bytes, d.stream); err != nil {
			return nil, failed("cuMemsetD8Async", err)
		}
	}
	return k, nil
}

// groups returns what the kernel that multiplies recorded, from the beginning of its call among the phases on. The
// product is over.
func (m *marks) groups(phases []timeline.Phase) ([]timeline.Group, error) {
	if m.words == 0 {
		return nil, nil
	}
	words, count := make([]uint64, cuda.TimelineWordBytes/8), uint32(0)
	if err := cu.MemcpyDtoH(unsafe.Pointer(&words[0]), m.words, cuda.TimelineWordBytes); err != nil {
		return nil, failed("cuMemcpyDtoH", err)
	}
	if err := cu.MemcpyDtoH(unsafe.Pointer(&count), m.count, cuda.TimelineCountBytes); err != nil {
		return nil, failed("cuMemcpyDtoH", err)
	}
	groups, err := cuda.ParseTimeline(words, count)
	for _, p := range phases {
		if p.Call == cuda.MainKernel {
			return timeline.Shifted(groups, p.Begin), err
		}
	}
	return groups, err
}

// rehearse starts the kernels once as trace does, so that those that record their steps are compiled.
func (r *staged[T]) rehearse(ctx context.Context, o operands) (err error) {
	d := r.p.d
	m, err := d.newMarks()
	defer func() { err = errors.Join(err, m.close()) }()
	if err != nil {
		return err
	}
	if err := r.p.engine.start(o, m); err != nil {
		return err
	}
	return d.wait(ctx, m.now(laneKernels))
}

// trace computes the product once from the host's memory to the host's memory, one step after the
// other, and returns what the streams did. It copies the operands over their copies on the device.
func (r *staged[T]) trace(ctx context.Context) (did timeline.Activity, took time.Duration, err error) {
	d := r.p.d
	o := r.set(r.next)
	r.last, r.next = r.next, (r.next+1)%r.sets
	if err := r.rehearse(ctx, o); err != nil {
		return did, 0, err
	}
	if r.op.Beta != 0 {
		if err := cu.MemcpyDtoDAsync(o.c, r.begin.at, r.layout.end-r.layout.c, d.stream); err != nil {
			return did, 0, failed("cuMemcpyDtoDAsync", err)
		}
	}
	m, err := d.newMarks()
	defer func() { err = errors.Join(err, m.close()) }()
	if err != nil {
		return did, 0, err
	}
	s := r.shape
	m.begin(laneUp, phaseUp, "", copied[T](s.M, s.K)+copied[T](s.K, s.N))
	m.begin(laneUp, phaseUp, "A", copied[T](s.M, s.K))
	if err := upload(ctx, d, o.a, o.lda, r.a); err != nil {
		return did, 0, err
	}
	m.end()
	m.begin(laneUp, phaseUp, "B", copied[T](s.K, s.N))
	if err := upload(ctx, d, o.b, o.ldb, r.b); err != nil {
		return did, 0, err
	}
	m.end()
	m.end()
	m.follow(laneKernels, m.now(laneUp))
	m.begin(laneKernels, phaseKernels, "", 0)
	if err := r.p.engine.start(o, m); err != nil {
		return did, 0, err
	}
	m.end()
	m.follow(laneDown, m.now(laneKernels))
	m.begin(laneDown, phaseDown, "", copied[T](s.M, s.N))
	if err := download(ctx, d, r.c, o.c, o.ldc); err != nil {
		return did, 0, err
	}
	m.end()
	last := m.now(laneDown)
	if m.err != nil {
		return did, 0, m.err
	}
	if err := d.wait(ctx, last); err != nil {
		return did, 0, err
	}
	did.Lanes = laneNames
	if did.Phases, err = m.phases(); err != nil {
		return did, 0, err
	}
	if did.Inside, err = m.groups(did.Phases); err != nil {
		return did, 0, err
	}
	took, err = between(m.zero, last)
	return did, took, err
}
