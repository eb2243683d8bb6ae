package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/ipc"
	"gemm/internal/timeline"
)

// Streamer is a multiplier that computes several products at once, if their operands lie in memory that it has
// pinned. One goroutine calls Pin and Stream.
type Streamer[T gemm.Element] interface {
	// Pin prepares memory for copies by the GPU itself, until unpin is called. No product may use it then.
	Pin(memory []byte) (unpin func() error, err error)
	// Stream starts C = A·B and returns a function that waits for its end, on any goroutine. The operands must stay as
	// they are until then, but for A. Stream waits while too many products are under way. If both results are nil,
	// these operands can only be multiplied by Multiply, when all streamed products have ended.
	Stream(ctx context.Context, c, a, b gemm.Matrix[T]) (wait func() ([]timeline.Stage, error), err error)
}

// Serve computes the products that are requested on in with the variants, from and to the shared file, until in or the
// context ends. What is wrong with a product is in its reply; the error is one of the connection.
func Serve(ctx context.Context, in io.Reader, out io.Writer, shared *os.File, variants []gemm.Variant) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{
		out: ipc.NewWriter(out), memory: openMemory(shared), variants: variants, multipliers: map[string]any{},
		unpin: map[int64]func() error{}, cancels: map[int64]context.CancelFunc{}, holdings: map[int64]Holding{},
	}
	tasks := make(chan task, mostInflight)
	failed := make(chan error, 1)
	go func() {
		defer stop() // products in flight have no receiver any more
		defer close(tasks)
		failed <- s.read(ctx, in, tasks)
	}()
	defer s.streamed.Wait()
	for {
		select {
		case t, more := <-tasks:
			if !more {
				return cmp.Or(<-failed, s.writeError())
			}
			s.do(t)
		case <-ctx.Done():
			select {
			case err := <-failed:
				return cmp.Or(err, s.writeError())
			default:
				return ctx.Err()
			}
		}
	}
}

// server is what Serve has.
type server struct {
	memory      *memory
	variants    []gemm.Variant
	multipliers map[string]any // by type, variant and parameters
	unpin       map[int64]func() error
	holdings    map[int64]Holding // by segment
	streamed    sync.WaitGroup    // products that a Streamer computes

	mu       sync.Mutex
	out      ipc.Writer
	writeErr error // of writing
	cancels  map[int64]context.CancelFunc
}

// task is a request, and the context that cancelling it ends.
type task struct {
	ctx context.Context
	request
}

// read reads requests until there are none any more.
func (s *server) read(ctx context.Context, in io.Reader, tasks chan<- task) error {
	r := ipc.NewReader(in)
	for {
		var next request
		word, err := r.Decode(&next)
		next.Do = word
		switch err = cmp.Or(err, next.Params.Whole()); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("a request on standard input: %w", err)
		case next.Protocol != protocol:
			return fmt.Errorf("the request is of protocol %d, this program speaks %d: build both from one source",
				next.Protocol, protocol)
		}
		if next.Do == doCancel {
			s.mu.Lock()
			if cancel := s.cancels[next.ID]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
			continue
		}
		t := task{request: next}
		var cancel context.CancelFunc
		t.ctx, cancel = context.WithCancel(ctx)
		s.mu.Lock()
		s.cancels[next.ID] = cancel
		s.mu.Unlock()
		select {
		case tasks <- t:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *server) answer(id int64, r reply, err error) {
	r.ID = id
	if err != nil {
		r.Error, r.Unavailable = err.Error(), errors.Is(err, gemm.ErrUnavailable)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
		delete(s.cancels, id)
	}
	s.writeErr = cmp.Or(s.writeErr, s.out.Encode("reply", r))
}

func (s *server) writeError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeErr
}

// do executes a request, or starts it, and answers.
func (s *server) do(t task) {
	r, wait, err := s.execute(t)
	if wait == nil {
		s.answer(t.ID, r, err)
		return
	}
	s.streamed.Go(func() {
		stages, err := wait()
		s.answer(t.ID, reply{Stages: stages}, err)
	})
}

// waiter waits until a product is complete.
type waiter func() ([]timeline.Stage, error)

// execute executes a request. wait is not nil if the request is a product in flight.
func (s *server) execute(t task) (r reply, wait waiter, err error) {
	switch t.Do {
	case doMap, doMultiply, doHold:
		if gemm.TypeNamed(t.Type).Size == 0 {
			return r, nil, fmt.Errorf("there is no type %q", t.Type)
		}
		return gemm.ByType(t.Type, ofNumber[float64], ofNumber[float32], ofNumber[half.F16], ofNumber[half.BF16],
			ofField)(s, t)
	case doUnmap:
		s.streamed.Wait()
		if unpin := s.unpin[t.Segment.At]; unpin != nil {
			err = unpin()
			delete(s.unpin, t.Segment.At)
		}
		return r, nil, errors.Join(err, s.memory.unmap(t.Segment))
	case doReach, doSteps, doRelease:
		r, err = s.holding(t)
		return r, nil, err
	}
	return r, nil, fmt.Errorf("there is no request %q", t.Do)
}

func ofNumber[T gemm.Number](s *server, t task) (reply, waiter, error) {
	return ofType(s, t, full[T])
}

func ofField(s *server, t task) (reply, waiter, error) { return ofType(s, t, plain) }

// blasOf computes a product that is more than C = A·B.
type blasOf[T gemm.Element] func(s *server, t task, c, a, b gemm.Matrix[T]) error

// ofType is execute for requests with elements.
func ofType[T gemm.Element](s *server, t task, more blasOf[T]) (r reply, wait waiter, err error) {
	m, err := multiplierOf[T](s, t)
	switch {
	case err != nil:
	case t.Do == doMap:
		err = mapSegment(s, t, m)
	case t.Do == doHold:
		r, err = hold(s, t, m)
	default:
		wait, err = multiply(s, t, m, more)
	}
	return r, wait, err
}

func (s *server) variant(name string) (gemm.Variant, error) {
	v, err := gemm.Lookup(s.variants, name)
	if err != nil {
		err = fmt.Errorf("there is no variant %q: build both programs from one source", name)
	}
	return v, err
}

// multiplierOf returns the multiplier of the request, which is constructed once.
func multiplierOf[T gemm.Element](s *server, t task) (gemm.Multiplier[T], error) {
	key := fmt.Sprint(t.Type, t.Variant, t.Params)
	if m, ok := s.multipliers[key].(gemm.Multiplier[T]); ok {
		return m, nil
	}
	v, err := s.variant(t.Variant)
	if err != nil {
		return nil, err
	}
	m, err := gemm.New[T](v, t.Params)
	if err == nil {
		s.multipliers[key] = m
	}
	return m, err
}

// mapSegment maps a segment, and has the multiplier pin it if that is requested.
func mapSegment[T gemm.Element](s *server, t task, m gemm.Multiplier[T]) error {
	data, err := s.memory.mapped(t.Segment)
	if err != nil {
		return err
	}
	streamer, ok := m.(Streamer[T])
	if !t.Pin || !ok {
		return nil
	}
	unpin, err := streamer.Pin(data)
	if err != nil {
		return errors.Join(err, s.memory.unmap(t.Segment))
	}
	s.unpin[t.Segment.At] = unpin
	return nil
}

// multiply computes the product of a request, or starts it and returns what waits for it.
func multiply[T gemm.Element](s *server, t task, m gemm.Multiplier[T], more blasOf[T]) (waiter, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	a, wrongA := view[T](s, t.A, t.M, t.K)
	b, wrongB := view[T](s, t.B, t.K, t.N)
	c, wrongC := view[T](s, t.C, t.M, t.N)
	if err := cmp.Or(wrongA, wrongB, wrongC); err != nil {
		return nil, err
	}
	whole := t.Alpha != 1 || t.Beta != 0
	if streamer, ok := m.(Streamer[T]); ok && !whole {
		if wait, err := streamer.Stream(t.ctx, c, a, b); wait != nil || err != nil {
			return wait, err
		}
	}
	s.streamed.Wait()
	if whole {
		return nil, more(s, t, c, a, b)
	}
	return nil, m.Multiply(t.ctx, c, a, b)
}

// view returns a matrix that lies in shared memory.
func view[T gemm.Element](s *server, p place, rows, cols int) (gemm.Matrix[T], error) {
	x := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: max(p.Stride, cols)}
	wrong := fmt.Errorf("a matrix of %d×%d elements at %+v does not lie in shared memory", rows, cols, p)
	if rows < 0 || cols < 0 || p.Stride < cols && rows > 0 {
		return x, wrong
	}
	if rows == 0 || cols == 0 {
		return x, nil
	}
	const most = 1 << 62
	if over, n := bits.Mul64(uint64(rows), uint64(p.Stride)); over != 0 || n > most/8 ||
		p.At%int64(sizeOf[T]()) != 0 {
		return x, wrong
	}
	data, ok := s.memory.bytes(p.At, span[T](rows, cols, p.Stride))
	if !ok {
		return x, wrong
	}
	x.Data = elements[T](data)
	return x, nil
}

// full is the operation in floating point.
func full[T gemm.Number](s *server, t task, c, a, b gemm.Matrix[T]) error {
	v, err := s.variant(t.Variant)
	if err != nil {
		return err
	}
	g, err := gemm.NewGemmer[T](v, t.Params)
	if err != nil {
		return err
	}
	alpha, beta := gemm.FromFloat64[T](t.Alpha), gemm.FromFloat64[T](t.Beta)
	return g.Gemm(t.ctx, blas.NoTrans, blas.NoTrans, alpha, a, b, beta, c)
}

// plain is all there is of the operation in GF(2⁸).
func plain(*server, task, gemm.Matrix[gf256.Elem], gemm.Matrix[gf256.Elem], gemm.Matrix[gf256.Elem]) error {
	return errors.New("gf256 has C = A*B only: there are no alpha and beta")
}
