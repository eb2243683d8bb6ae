package remote

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"gemm"
	"gemm/cuda"
)

// A rank of an MPI job keeps its operands on a GPU. They lie in a segment of the shared file, and at the same offsets
// on the GPU, whose memory other processes of the host can open.
//
//	gemm, one rank                          gemm-cuda
//	hold 0 {"id":2,"segment":…}         →   takes as much memory of the GPU
//	                                    ←   reply 0 {"id":2,"handle":…}
//	reach 0 {"id":3,"handles":…}        →   opens the memory of other ranks
//	steps 0 {"id":4,"steps":…}          →   copies the panels of a step while it multiplies others
//	                                    ←   reply 0 {"id":4,"done":…}
//	release 0 {"id":5,"segment":…}      →
const (
	doHold    = "hold"
	doReach   = "reach"
	doSteps   = "steps"
	doRelease = "release"
)

// Holder is a multiplier that can compute the part of a rank.
type Holder interface {
	// Hold takes as much memory of the GPU as host has.
	Hold(host []byte) (Holding, error)
}

// Holding is memory of a GPU with the operands of a rank.
type Holding interface {
	// Handle is what another process of the host opens the memory by.
	Handle() ([]byte, error)
	// Reach opens the memory of other ranks.
	Reach(handles map[int][]byte) error
	// Run starts steps. It returns when their copies have ended or, if last, when all steps of the product have ended.
	Run(ctx context.Context, steps []Step, last bool) (Done, error)
	Close() error
}

// Step is C ← A·B, or C ← C + A·B, after some copies. The copies of a step take place while the step before it is
// computed, and overwrite what the step before that has read. A step without a product has no such order.
type Step struct {
	Copies []Copy `json:"copies,omitempty"`
	gemm.Shape
	A   place `json:"a,omitzero"`
	B   place `json:"b,omitzero"`
	C   place `json:"c,omitzero"`
	Add bool  `json:"add,omitempty"`
}

// Copy is a copy of matrix rows to an offset of the GPU's memory, or from there.
type Copy struct {
	Way  Way   `json:"way"`
	Rank int   `json:"rank,omitempty"` // Pull: the owner
	From int64 `json:"from,omitempty"` // Pull: the offset there
	At   int64 `json:"at"`
	Rows int   `json:"rows"`
	Cols int   `json:"cols"`
	LD   int   `json:"ld"`
}

// Way is where a copy comes from and goes to.
type Way string

// Pull copies from the GPU of another rank, Up from the same offset of the host, and Down to there.
const (
	Pull Way = "pull"
	Up   Way = "up"
	Down Way = "down"
)

// Done is what the GPU did in a product.
type Done struct {
	Kernels float64 `json:"kernels_s"` // seconds of its kernels
	Copies  float64 `json:"copies_s"`  // seconds from the begin to the end of the copies
	Exposed float64 `json:"exposed_s"` // seconds without a kernel
	Peer    int64   `json:"peer"`      // bytes of elements from other GPUs, and the number of such copies
	Pulls   int64   `json:"pulls"`
}

// holding answers a request about memory of a rank.
func (s *server) holding(t task) (r reply, err error) {
	h := s.holdings[t.Segment.At]
	if h == nil {
		return r, fmt.Errorf("the segment %+v holds no operands", t.Segment)
	}
	switch t.Do {
	case doReach:
		err = h.Reach(t.Handles)
	case doSteps:
		r.Done, err = h.Run(t.ctx, t.Steps, t.Last)
	case doRelease:
		delete(s.holdings, t.Segment.At)
		err = h.Close()
	}
	return r, err
}

// hold has the multiplier hold a segment.
func hold[T gemm.Element](s *server, t task, m gemm.Multiplier[T]) (r reply, err error) {
	holder, ok := m.(Holder)
	data, mapped := s.memory.bytes(t.Segment.At, t.Segment.Bytes)
	if !ok || !mapped {
		return r, fmt.Errorf("%s cannot hold the segment %+v", t.Variant, t.Segment)
	}
	h, err := holder.Hold(data)
	if err != nil {
		return r, err
	}
	if r.Handle, err = h.Handle(); err != nil {
		return r, errors.Join(err, h.Close())
	}
	s.holdings[t.Segment.At] = h
	return r, nil
}

// Rank is the GPU of a rank. All products of the rank have one process, until one fails.
type Rank struct {
	Worker *Worker
	with   *process
}

// Held is a product of a rank on its GPU. One goroutine calls its methods.
type Held[T gemm.Element] struct {
	w       *process
	room    roomySegment
	memory  []byte
	pending map[int64]Copy // to the operands of the next product, by offset
	steps   []Step
	// Handle is what other ranks of the host reach the memory by.
	Handle []byte
}

// Hold takes the given bytes of memory of the host and of the GPU, for products by a variant of the family cuda.
func Hold[T gemm.Element](ctx context.Context, r *Rank, variant string, p gemm.Params, bytes int) (*Held[T], error) {
	if r.with == nil || r.with.hasEnded() {
		if err := r.Close(); err != nil {
			return nil, err
		}
		w, err := r.Worker.started()
		if err != nil {
			return nil, err
		}
		r.with = w
	}
	of := request{Variant: variant, Type: gemm.TypeOf[T]().Name, Params: p}
	room, err := r.with.add(ctx, int64(bytes), of, false)
	if err != nil {
		return nil, err
	}
	h := &Held[T]{w: r.with, room: room, pending: map[int64]Copy{}}
	h.memory, _ = r.with.memory.bytes(room.At, room.Bytes)
	of.Do, of.Segment = doHold, room.segment
	answer, err := h.w.call(ctx, of)
	if h.Handle = answer.Handle; err != nil {
		err = errors.Join(err, h.drop())
	}
	return h, err
}

// Close ends the process.
func (r *Rank) Close() error {
	if r.with != nil {
		_ = r.with.Close() // how it ended, a product has said
		r.with = nil
	}
	return nil
}

// Memory returns the address of the memory of the host.
func (h *Held[T]) Memory() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(h.memory)) }

// Reach opens the memory of other ranks by their handles.
func (h *Held[T]) Reach(ctx context.Context, handles map[int][]byte) error {
	_, err := h.w.call(ctx, request{Do: doReach, Segment: h.room.segment, Handles: handles})
	return err
}

// place returns where a matrix lies.
func (h *Held[T]) place(m gemm.Matrix[T]) place {
	if len(m.Data) == 0 {
		return place{}
	}
	return place{int64(uintptr(unsafe.Pointer(unsafe.SliceData(m.Data))) - uintptr(h.Memory())), m.Stride}
}

// copies returns the copies of matrices with elements.
func (h *Held[T]) copies(way Way, all ...gemm.Matrix[T]) (out []Copy) {
	for _, m := range all {
		if at := h.place(m); m.Rows > 0 && m.Cols > 0 {
			out = append(out, Copy{Way: way, At: at.At, Rows: m.Rows, Cols: m.Cols, LD: at.Stride})
		}
	}
	return out
}

// Pull has the next product with m copy it from an offset of another rank's memory.
func (h *Held[T]) Pull(m gemm.Matrix[T], rank int, from int64) {
	for _, c := range h.copies(Pull, m) {
		c.Rank, c.From = rank, from
		h.pending[c.At] = c
	}
}

// Push has the next product with m copy it from the host.
func (h *Held[T]) Push(m gemm.Matrix[T]) {
	for _, c := range h.copies(Up, m) {
		h.pending[c.At] = c
	}
}

// Copy copies matrices now: Up or Down.
func (h *Held[T]) Copy(ctx context.Context, way Way, all ...gemm.Matrix[T]) error {
	_, err := h.run(ctx, []Step{{Copies: h.copies(way, all...)}}, false)
	return err
}

// Multiply adds C ← A·B, or C ← C + A·B, to the steps of the product.
func (h *Held[T]) Multiply(c, a, b gemm.Matrix[T], add bool) {
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	s := Step{Shape: gemm.Shape{M: c.Rows, N: c.Cols, K: a.Cols}, A: h.place(a), B: h.place(b), C: h.place(c), Add: add}
	for _, p := range []place{s.A, s.B} {
		if copied, ok := h.pending[p.At]; ok {
			s.Copies = append(s.Copies, copied)
			delete(h.pending, p.At)
		}
	}
	h.steps = append(h.steps, s)
}

// Start starts the steps, and returns when their copies have ended. Finish returns when the product has ended.
func (h *Held[T]) Start(ctx context.Context) error {
	_, err := h.run(ctx, h.steps, false)
	h.steps = nil
	return err
}

// Finish is Start for the last steps of a product. Panels that a rank without a part of C has got are copied too.
func (h *Held[T]) Finish(ctx context.Context) (Done, error) {
	for _, c := range h.pending {
		h.steps = append(h.steps, Step{Copies: []Copy{c}})
	}
	done, err := h.run(ctx, h.steps, true)
	h.steps = nil
	clear(h.pending)
	return done, err
}

// Reset ends a product that has failed, or was cancelled.
func (h *Held[T]) Reset() {
	h.steps = nil
	clear(h.pending)
	_, _ = h.Finish(context.Background())
}

// run has the program run steps. After an error but of a product that it cannot compute, the program is not trusted.
func (h *Held[T]) run(ctx context.Context, steps []Step, last bool) (Done, error) {
	answer, err := h.w.call(ctx, request{Do: doSteps, Segment: h.room.segment, Steps: steps, Last: last})
	if err != nil && ctx.Err() == nil && !errors.Is(err, gemm.ErrUnavailable) && !h.w.hasEnded() {
		_ = h.w.Close()
	}
	return answer.Done, err
}

// Close frees the memory.
func (h *Held[T]) Close() error {
	if h.w.hasEnded() {
		return nil
	}
	_, err := h.w.call(context.Background(), request{Do: doRelease, Segment: h.room.segment})
	return errors.Join(err, h.drop())
}

// drop gives up the segment.
func (h *Held[T]) drop() error {
	if h.w.hasEnded() {
		return nil
	}
	_, err := h.w.call(context.Background(), request{Do: doUnmap, Segment: h.room.segment})
	if h.room.pinned {
		h.w.unpin(h.room.Bytes)
	}
	return errors.Join(err, h.w.memory.drop(h.room.segment))
}

// GPUs returns how many GPUs this host has, if the worker computes the variant there in the type.
func (w *Worker) GPUs(ctx context.Context, variant, typ string) (int, error) {
	s, err := w.System(ctx)
	if err != nil {
		return 0, err
	}
	v, err := gemm.Lookup(cuda.Variants(nil), variant)
	if err != nil {
		return 0, err
	}
	return len(s.GPUs), Check(s, v, typ)
}
