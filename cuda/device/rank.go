//go:build cuda

package device

import (
	"cmp"
	"context"
	"errors"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda"
	"gemm/cuda/remote"
)

// held is memory of a device with the operands of a rank, which lie at the same offsets in memory of the host. Other
// processes read it. As in multi, the copies of a step have a stream of their own.
//
//	up       copies 0   copies 1   (ends 0)   copies 2   (ends 1)   copies 3
//	stream              step 0     step 1                step 2
type held[T gemm.Element] struct {
	p       *product[T]
	host    []byte
	room    memory
	peers   map[int]cu.DevicePtr // by rank
	engines map[work]engine
	events  []cu.Event // see holding
	begun   int        // steps of the product
	done    remote.Done
}

// work is what an engine is prepared for.
type work struct {
	gemm.Shape
	add bool
}

// leastShared is how much memory has a handle of its own: smaller pieces share what a handle opens.
const leastShared = 2 << 20

// Hold implements remote.Holder.
func (p *product[T]) Hold(host []byte) (_ remote.Holding, err error) {
	release, err := p.acquire(&err)
	if err != nil {
		return nil, err
	}
	defer release()
	h := &held[T]{p: p, host: host, peers: map[int]cu.DevicePtr{}, engines: map[work]engine{}}
	return h, cmp.Or(p.d.rings(), p.d.renew(&h.room, max(leastShared, int64(len(host))), p.d.stream),
		p.d.synchronize(context.Background(), p.d.stream))
}

// Handle implements remote.Holding.
func (h *held[T]) Handle() (out []byte, err error) {
	defer h.p.d.bind(&err)()
	return ipcHandle(h.room)
}

// Reach implements remote.Holding.
func (h *held[T]) Reach(handles map[int][]byte) (err error) {
	defer h.p.d.bind(&err)()
	for rank, handle := range handles {
		if h.peers[rank], err = ipcOpen(handle); err != nil {
			delete(h.peers, rank)
			return err
		}
	}
	return nil
}

// Run implements remote.Holding.
func (h *held[T]) Run(ctx context.Context, steps []remote.Step, last bool) (done remote.Done, err error) {
	release, err := h.p.acquire(&err)
	if err != nil {
		return done, err
	}
	defer release()
	d := h.p.d
	for _, s := range steps {
		err = cmp.Or(err, h.start(ctx, s))
	}
	err = cmp.Or(err, d.synchronize(ctx, d.up.stream, d.down.stream))
	if err == nil && !last {
		return done, nil
	}
	err = cmp.Or(err, d.synchronize(ctx, d.stream))
	if err == nil && h.begun > 0 {
		err = h.measure()
	}
	done = h.done
	h.done, h.begun = remote.Done{}, 0
	return done, err
}

// start starts the copies of a step, and its kernels.
func (h *held[T]) start(ctx context.Context, s remote.Step) error {
	d, i := h.p.d, h.begun
	multiplies := s.M > 0 && s.N > 0 && s.K > 0
	if multiplies {
		if err := h.begin(i); err != nil {
			return err
		}
	}
	for _, c := range s.Copies {
		if err := h.copy(ctx, c); err != nil {
			return err
		}
	}
	if !multiplies {
		return nil
	}
	at := func(offset int64) cu.DevicePtr { return h.room.at + cu.DevicePtr(offset) }
	o := operands{at(s.A.At), at(s.B.At), at(s.C.At), s.A.Stride, s.B.Stride, s.C.Stride}
	e, err := h.engine(work{s.Shape, s.Add}, o)
	if err != nil {
		return err
	}
	h.begun++
	return cmp.Or(mark(h.event(i, stepCopied), d.up.stream), follow(d.stream, h.event(i, stepCopied)),
		mark(h.event(i, stepBegins), d.stream), e.start(o, nil), mark(h.event(i, stepEnds), d.stream))
}

// begin makes the events of a step, and has its copies wait until what they overwrite has been read.
func (h *held[T]) begin(i int) (err error) {
	d := h.p.d
	for len(h.events) < 1+eventsOfStep*(i+1) {
		e, err := cu.MakeEvent(cu.DefaultEvent)
		if err != nil {
			return failed("cuEventCreate", err)
		}
		h.events = append(h.events, e)
	}
	switch i {
	case 0:
		return mark(h.events[0], d.stream)
	case 1:
		return nil
	}
	return follow(d.up.stream, h.event(i-2, stepEnds))
}

func (h *held[T]) event(step, which int) cu.Event { return h.events[step*eventsOfStep+which] }

// engine returns what computes such a step, which is prepared once.
func (h *held[T]) engine(w work, o operands) (engine, error) {
	e := h.engines[w]
	if e != nil {
		return e, nil
	}
	op := cuda.Plain
	if w.add {
		op.Beta = 1
	}
	e = h.p.another()
	err := e.prepare(w.Shape, o, op)
	if err == nil {
		h.engines[w] = e
	}
	return e, err
}

// copy starts a copy, or makes it if the memory of the host is not pinned.
func (h *held[T]) copy(ctx context.Context, c remote.Copy) error {
	d, size := h.p.d, int64(gemm.TypeOf[T]().Size)
	bytes, at := (int64(c.Rows-1)*int64(c.LD)+int64(c.Cols))*size, h.room.at+cu.DevicePtr(c.At)
	if c.Rows <= 0 || c.Cols <= 0 || c.LD < c.Cols || c.At < 0 || c.At+bytes > int64(len(h.host)) {
		return errors.New("cuda: a copy beyond the memory of the rank")
	}
	m := gemm.Matrix[T]{Rows: c.Rows, Cols: c.Cols, Stride: c.LD,
		Data: unsafe.Slice((*T)(unsafe.Pointer(&h.host[c.At])), bytes/size)}
	switch c.Way {
	case remote.Up:
		return upload(ctx, d, at, c.LD, m)
	case remote.Down:
		return download(ctx, d, m, at, c.LD)
	}
	from, ok := h.peers[c.Rank]
	if !ok {
		return errors.New("cuda: a copy from a rank whose memory is not open")
	}
	h.done.Peer += int64(c.Rows) * int64(c.Cols) * size
	h.done.Pulls++
	return failed("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(at, from+cu.DevicePtr(c.From), bytes, d.up.stream))
}

// measure reads what the device did in the product.
func (h *held[T]) measure() (err error) {
	seconds := func(from, to cu.Event) float64 {
		took, failure := between(from, to)
		err = cmp.Or(err, failure)
		return took.Seconds()
	}
	last := h.begun - 1
	for i := range h.begun {
		h.done.Kernels += seconds(h.event(i, stepBegins), h.event(i, stepEnds))
	}
	h.done.Copies = seconds(h.events[0], h.event(last, stepCopied))
	h.done.Exposed = max(0, seconds(h.events[0], h.event(last, stepEnds))-h.done.Kernels)
	return err
}

// Close implements remote.Holding. On a GPU that is lost nothing can be freed.
func (h *held[T]) Close() error {
	return h.p.closeRun(func() (err error) {
		for i := range h.events {
			err = errors.Join(err, destroyEvent(&h.events[i]))
		}
		for _, e := range h.engines {
			err = errors.Join(err, e.close())
		}
		for _, at := range h.peers {
			err = errors.Join(err, ipcClose(at))
		}
		return errors.Join(err, h.p.d.free(&h.room))
	})
}
