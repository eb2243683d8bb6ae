package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"gemm"
	"gemm/internal/ipc"
	"gemm/internal/timeline"
)

// process is a program that serves products, as this process knows it. It ends when it is closed, and when this process
// ends. If it ends before, the error of all its products says why. Any number of goroutines may call its methods.
type process struct {
	name     string
	cmd      *exec.Cmd
	memory   *memory
	stderr   ipc.Tail
	inflight chan struct{} // has an element for each product
	grace    time.Duration // see stopTime

	sending  sync.Mutex
	to       io.WriteCloser
	requests ipc.Writer
	calls    map[int64]chan reply // guarded by sending
	last     int64                // guarded by sending
	closed   bool                 // guarded by sending

	ended chan struct{} // closed when the program has ended
	err   error         // why; set before

	mu     sync.Mutex
	pinned int64          // bytes
	idle   []roomySegment // for operands that lie elsewhere
}

// roomySegment is a segment, and whether it counts as pinned.
type roomySegment struct {
	segment
	pinned bool
}

// mostPinned is how many bytes of shared memory a worker pins. With the rings of the GPU program, of 128 MiB, that is
// 1 GiB, which cannot be swapped out.
const mostPinned = 1<<30 - 128<<20

// start starts the command, which answers as Serve does.
func start(cmd *exec.Cmd) (_ *process, err error) {
	m, err := newMemory()
	if err != nil {
		return nil, err
	}
	w := &process{
		name: filepath.Base(cmd.Path), cmd: cmd, memory: m, inflight: make(chan struct{}, mostInflight),
		grace: stopTime,
		calls: map[int64]chan reply{}, ended: make(chan struct{}),
	}
	from, out, err := os.Pipe()
	if err == nil {
		w.to, err = cmd.StdinPipe()
	}
	if err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	w.requests = ipc.NewWriter(w.to)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, &w.stderr, []*os.File{m.file}
	cmd.WaitDelay = stopTime
	ended, err := ipc.Start(cmd, syscall.SIGKILL)
	_ = out.Close()
	if err != nil {
		m.close()
		_ = from.Close()
		return nil, gemm.Unavailablef("%s cannot be started: %w", w.name, err)
	}
	go w.receive(from, ended)
	return w, nil
}

// receive passes replies to their callers until the program ends, and records why it ended.
func (w *process) receive(from io.ReadCloser, ended <-chan error) {
	r := ipc.NewReader(from)
	var wrong error
	for {
		var answer reply
		if _, wrong = r.Decode(&answer); wrong != nil {
			break
		}
		w.sending.Lock()
		call := w.calls[answer.ID]
		delete(w.calls, answer.ID)
		w.sending.Unlock()
		if call == nil {
			wrong = fmt.Errorf("it answers request %d, which is not open", answer.ID)
			break
		}
		call <- answer
	}
	if errors.Is(wrong, io.EOF) || errors.Is(wrong, io.ErrUnexpectedEOF) {
		wrong = nil
	} else {
		_ = w.cmd.Process.Kill()
	}
	_ = from.Close()
	<-ended
	w.sending.Lock()
	switch {
	case w.closed:
		w.err = errClosed
	case wrong != nil:
		w.err = fmt.Errorf("%s: the reply: %w", w.name, wrong)
	default:
		w.err = ipc.NewExitError(w.name, w.cmd.ProcessState, &w.stderr)
	}
	w.sending.Unlock()
	close(w.ended)
}

// errClosed is the error of a product after Close.
var errClosed = errors.New("the worker is closed")

// send writes a request with a new number, and returns where the reply comes.
func (w *process) send(r request) (int64, <-chan reply, error) {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.last++
	r.ID = w.last
	answer := make(chan reply, 1)
	w.calls[r.ID] = answer
	err := w.write(r)
	if err != nil {
		delete(w.calls, r.ID)
	}
	return r.ID, answer, err
}

// write writes a request. What is on the way is less than a pipe holds, so it does not wait for the program.
func (w *process) write(r request) error {
	r.Protocol = protocol
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_ = w.requests.Send(r.Do, string(text)) // if it fails, the program has ended
	return nil
}

// call has the program do what the request says, and returns when it does nothing for it any more.
func (w *process) call(ctx context.Context, r request) (reply, error) {
	id, answers, err := w.send(r)
	if err != nil {
		return reply{}, err
	}
	select {
	case answer := <-answers:
		return answer, answer.err()
	case <-w.ended:
		return reply{}, w.err
	case <-ctx.Done():
	}
	w.sending.Lock()
	err = w.write(request{ID: id, Do: doCancel})
	w.sending.Unlock()
	late := time.AfterFunc(w.grace, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	select {
	case answer := <-answers:
		if r.Do != doMultiply { // it has been done
			return answer, answer.err()
		}
	case <-w.ended:
	}
	return reply{}, cmp.Or(err, ctx.Err())
}

// err returns the error in the words of the program.
func (r reply) err() error {
	switch {
	case r.Error == "":
		return nil
	case r.Unavailable:
		return gemm.Unavailablef("%s", r.Error)
	}
	return errors.New(r.Error)
}

// acquire waits until one more product may be in flight.
func (w *process) acquire(ctx context.Context) error {
	select {
	case w.inflight <- struct{}{}:
		if !w.hasEnded() {
			return nil
		}
		w.release()
		return w.err
	case <-w.ended: // after Close there is no place
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *process) release() { <-w.inflight }

// allocate returns memory for elements that the program reads and writes without a copy. It is pinned for products of
// the variant, and free when the worker is closed.
func allocate[T gemm.Element](ctx context.Context, w *process, variant string, p gemm.Params, n int) ([]T, error) {
	if n <= 0 || int64(n) > mostPinned/int64(sizeOf[T]()) {
		return nil, pinLimitError(int64(n) * int64(sizeOf[T]()))
	}
	bytes := int64(n) * int64(sizeOf[T]())
	s, err := w.add(ctx, bytes, request{Variant: variant, Type: gemm.TypeOf[T]().Name, Params: p}, true)
	if err != nil {
		return nil, err
	}
	data, _ := w.memory.bytes(s.At, bytes)
	return elements[T](data), nil
}

// pinLimitError is the error of more memory than may be pinned.
func pinLimitError(bytes int64) error {
	return fmt.Errorf("%d bytes of pinned memory: between 1 and %d MiB in all are possible", bytes, mostPinned>>20)
}

// add makes a segment that both processes map. It is pinned if it must be, or if little enough is.
func (w *process) add(ctx context.Context, bytes int64, of request, must bool) (s roomySegment, err error) {
	w.mu.Lock()
	if s.pinned = w.pinned+bytes <= mostPinned; s.pinned {
		w.pinned += bytes
	}
	w.mu.Unlock()
	if must && !s.pinned {
		return s, pinLimitError(bytes)
	}
	if s.segment, err = w.memory.grow(bytes); err == nil {
		of.Do, of.Segment, of.Pin = doMap, s.segment, s.pinned
		if _, err = w.call(ctx, of); err == nil {
			return s, nil
		}
		if !must && s.pinned && ctx.Err() == nil && !w.hasEnded() {
			of.Pin = false
			w.unpin(bytes)
			s.pinned = false
			if _, err = w.call(ctx, of); err == nil {
				return s, nil
			}
		}
		_ = w.memory.drop(s.segment)
	}
	if s.pinned {
		w.unpin(bytes)
	}
	return s, err
}

func (w *process) unpin(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pinned -= bytes
}

// hasEnded reports whether the program has ended.
func (w *process) hasEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// stage returns a segment of at least the given bytes: an idle one of earlier products, or a new one in place of them.
func (w *process) stage(ctx context.Context, bytes int64, of request) (roomySegment, error) {
	w.mu.Lock()
	best := -1
	for i, s := range w.idle {
		if s.Bytes >= bytes && (best < 0 || s.Bytes < w.idle[best].Bytes) {
			best = i
		}
	}
	if best >= 0 {
		s := w.idle[best]
		w.idle = slices.Delete(w.idle, best, best+1)
		w.mu.Unlock()
		return s, nil
	}
	small := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, s := range small {
		if _, err := w.call(ctx, request{Do: doUnmap, Segment: s.segment}); err != nil {
			return s, err
		}
		if err := w.memory.drop(s.segment); err != nil {
			return s, err
		}
		if s.pinned {
			w.unpin(s.Bytes)
		}
	}
	return w.add(ctx, bytes, of, false)
}

// unstage keeps a segment for another product.
func (w *process) unstage(s roomySegment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, s)
}

// Close ends the program, and frees the memory of allocate. If the program has ended before, the error says how. No
// product may be in flight.
//
// The program is killed: nothing of it is needed any more, and to give a GPU back in good order takes half a second.
func (w *process) Close() error {
	w.sending.Lock()
	before := w.closed
	w.closed = true
	_ = w.to.Close()
	w.sending.Unlock()
	if before {
		return nil
	}
	ended := w.hasEnded()
	_ = w.cmd.Process.Kill()
	for range cap(w.inflight) { // products of callers that did not wait have ended
		w.inflight <- struct{}{}
	}
	w.memory.close()
	if ended {
		return w.err
	}
	return nil
}

// compute has the worker compute p into p.C. The operands may lie anywhere: those that lie in memory of allocate
// are not copied. If the program says when the stages of the product took place, they are returned.
func compute[T gemm.Element](ctx context.Context, w *process, p product[T]) ([]timeline.Stage, error) {
	if err := gemm.CheckShapes(p.C, p.A, p.B); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil || p.C.Rows == 0 || p.C.Cols == 0 {
		return nil, err
	}
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.release()
	r := request{
		Do: doMultiply, Variant: p.Variant, Type: gemm.TypeOf[T]().Name, Params: p.Params,
		Shape: gemm.Shape{M: p.C.Rows, N: p.C.Cols, K: p.A.Cols}, Alpha: p.Alpha, Beta: p.Beta,
	}
	room, err := locate(ctx, w, p, &r)
	if err != nil {
		return nil, err
	}
	answer, err := w.call(ctx, r)
	if room.Bytes > 0 {
		defer w.unstage(room)
	}
	if err != nil {
		return nil, err
	}
	if x, there := w.staged(room, r.C); there {
		copyRows(p.C, gemm.Matrix[T]{Rows: p.C.Rows, Cols: p.C.Cols, Stride: r.C.Stride, Data: elements[T](x)})
	}
	return answer.Stages, nil
}

// locate writes the offsets of the operands into the request. It copies operands outside of segments to one.
func locate[T gemm.Element](ctx context.Context, w *process, p product[T], r *request) (room roomySegment, err error) {
	type operand struct {
		x      gemm.Matrix[T]
		at     *place
		copied bool
	}
	const line = 256 // bytes that operands are aligned to
	var outside []operand
	var bytes int64
	for _, o := range []operand{{p.A, &r.A, true}, {p.B, &r.B, true}, {p.C, &r.C, p.Beta != 0}} {
		if o.x.Rows == 0 || o.x.Cols == 0 {
			continue
		}
		o.at.Stride = o.x.Stride
		first, n := unsafe.Pointer(unsafe.SliceData(o.x.Data)), span[T](o.x.Rows, o.x.Cols, o.x.Stride)
		at, found := w.memory.find(first, n)
		if o.at.At = at; found {
			continue
		}
		*o.at = place{bytes, o.x.Cols} // in the segment
		bytes += (span[T](o.x.Rows, o.x.Cols, o.x.Cols) + line - 1) / line * line
		outside = append(outside, o)
	}
	if bytes == 0 {
		return room, nil
	}
	if room, err = w.stage(ctx, bytes, *r); err != nil {
		return room, err
	}
	for _, o := range outside {
		o.at.At += room.At
		if data, _ := w.staged(room, *o.at); o.copied {
			copyRows(gemm.Matrix[T]{Rows: o.x.Rows, Cols: o.x.Cols, Stride: o.x.Cols, Data: elements[T](data)}, o.x)
		}
	}
	return room, nil
}

// staged returns the memory of a segment from the beginning of a matrix on, if it lies there.
func (w *process) staged(room roomySegment, at place) ([]byte, bool) {
	if at.At < room.At || at.At >= room.At+room.Bytes {
		return nil, false
	}
	return w.memory.bytes(at.At, room.At+room.Bytes-at.At)
}

// span returns the bytes from the first element of a matrix to its last.
func span[T gemm.Element](rows, cols, stride int) int64 {
	return (int64(rows-1)*int64(stride) + int64(cols)) * int64(sizeOf[T]())
}

// copyRows copies the elements of a matrix, and not what lies between its rows. One processor does not keep up with
// memory.
func copyRows[T gemm.Element](to, from gemm.Matrix[T]) {
	const most, least = 4, 1 << 20 // goroutines, and bytes for each
	n := min(most, from.Rows, 1+int(span[T](from.Rows, from.Cols, from.Cols)/least))
	var group sync.WaitGroup
	for part := range n {
		group.Go(func() {
			for i := part * from.Rows / n; i < (part+1)*from.Rows/n; i++ {
				copy(to.Row(i), from.Row(i))
			}
		})
	}
	group.Wait()
}
