//go:build mpi

package comm

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/ipc"
	"gemm/mpi/plan"
)

// asRank says that the test binary was started by mpirun, from one of its own tests.
const asRank = "GEMM_TEST_RANK"

// all is the communicator of the ranks, where this process is one.
var all *Comm

// TestMain runs the tests. The processes that mpirun started run the same tests together.
func TestMain(m *testing.M) {
	if os.Getenv(asRank) == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	err := ipc.DieWithParent()
	if err == nil {
		all, err = Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if m.Run() != 0 {
		os.Exit(1)
	}
	if err := errors.Join(all.Free(), all.Finalize()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// job is how ranks are started.
var job = gemmtest.Job{AsRank: asRank, Library: Version()}

// TestOnRanks runs the tests of ranks on several numbers of them, with -short on two and three. They have two
// processors, so that ranks of MPICH yield if there are more.
func TestOnRanks(t *testing.T) {
	if processors := cpu.Places(); len(processors) > 2 {
		gemmtest.Must(t, cpu.Pin(processors[:2]))
		defer func() {
			if err := cpu.Pin(processors); err != nil {
				t.Error(err)
			}
		}()
	}
	for ranks := 2; ranks <= 4; ranks++ {
		if testing.Short() && ranks > 3 {
			continue
		}
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { gemmtest.Mpirun(t, job, ranks, "^TestRanks") })
	}
	gemmtest.Mpirun(t, job, 2, "^TestRanksYield$", yieldVariable+"=yes")
}

// ranks skips a test where this process is no rank.
func ranks(t *testing.T) {
	if all == nil {
		t.Skip("for ranks under mpirun")
	}
}

// must ends this rank if there is an error, and mpirun ends the others, which would wait
// for it.
func must(what string, err error) {
	if err == nil {
		return
	}
	_, _, line, _ := runtime.Caller(1)
	fmt.Fprintf(os.Stderr, "rank %d of %d: line %d: %s: %v\n", all.Rank(), all.Size(), line, what, err)
	os.Exit(1)
}

// comms returns the communicators that the calls are tested on: all ranks, all ranks with empi's
// calls if it has them, and all ranks in the reverse order.
func comms(t *testing.T) map[string]*Comm {
	uncounted, err := all.Uncounted()
	must("Uncounted", err)
	turned, err := all.Split(0, all.Size()-all.Rank())
	must("Split", err)
	if want := all.Size() - 1 - all.Rank(); turned.Rank() != want || turned.Size() != all.Size() {
		t.Fatalf("rank %d is %d of %d in the reverse order, want %d", all.Rank(), turned.Rank(), turned.Size(), want)
	}
	return map[string]*Comm{"world": all, "uncounted": uncounted, "turned": turned}
}

// each calls f for the communicators, in the same order on all ranks.
func each(t *testing.T, f func(name string, c *Comm)) {
	found := comms(t)
	for _, name := range []string{"world", "uncounted", "turned"} {
		f(name, found[name])
	}
}

// A form describes the matrices of a message: the number of elements between rows at the sender and
// at the receiver, and the largest count that one MPI call may carry.
type form struct{ out, in, limit int }

// forms are those that are tested: side by side, strided, and both at each end, with rows
// in place of elements.
var forms = []form{{0, 0, 1 << 20}, {3, 0, 1 << 20}, {0, 2, 1 << 20}, {1, 4, 1 << 20}, {0, 0, 12},
	{2, 0, 12}, {0, 1, 12}}

// sizes are rows and columns of the matrices.
var sizes = [][2]int{{5, 7}, {1, 9}, {9, 1}, {4, 3}, {0, 6}, {6, 0}, {0, 0}}

// kind is what the tests must know of an element type.
type kind[T gemm.Element] struct {
	of  func(x int) T
	add func(x, y T) T
}

var (
	doubles = kind[float64]{func(x int) float64 { return float64(x) + 0.25 }, func(x, y float64) float64 { return x + y }}
	singles = kind[float32]{func(x int) float32 { return float32(x) - 0.5 }, func(x, y float32) float32 { return x + y }}
	field   = kind[gf256.Elem]{func(x int) gf256.Elem { return gf256.New(uint8(3*x + 1)) }, gf256.Add}
)

// filled returns a matrix in the middle of a buffer that has the mark everywhere else.
func (k kind[T]) filled(rows, cols, gap int, element func(i, j int) int) gemm.Matrix[T] {
	m := k.empty(rows, cols, gap)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, k.of(element(i, j)))
		}
	}
	return m
}

// mark is the value outside of a message, which must stay.
const mark = 77

func (k kind[T]) empty(rows, cols, gap int) gemm.Matrix[T] {
	m := gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]T, rows*(cols+gap)+1)}
	for i := range m.Data {
		m.Data[i] = k.of(mark)
	}
	return m
}

// want returns an error unless m is filled with the elements, and nothing else is.
func (k kind[T]) want(m gemm.Matrix[T], element func(i, j int) int) error {
	for at, x := range m.Data {
		wanted := k.of(mark)
		if m.Stride > 0 && m.Cols > 0 {
			if i, j := at/m.Stride, at%m.Stride; i < m.Rows && j < m.Cols {
				wanted = k.of(element(i, j))
			}
		}
		if !(x == wanted) {
			return fmt.Errorf("element %d of the buffer of a %v with stride %d is %v, want %v", at, m, m.Stride, x, wanted)
		}
	}
	return nil
}

// from returns the function that computes element (i, j) of a message that a rank sends.
func from(rank, message int) func(i, j int) int {
	return func(i, j int) int { return (31*rank + 17*message + 5*i + j) % 71 }
}

// moved calls f and returns an error if it did not send sent and receive recv bytes.
func moved(c *Comm, sent, recv int64, f func() error) error {
	before := *c.Traffic()
	if err := f(); err != nil {
		return err
	}
	after, first := c.Traffic().Total(), before.Total()
	if after.Sent-first.Sent != sent || after.Recv-first.Recv != recv {
		return fmt.Errorf("sent %d and received %d bytes, want %d and %d", after.Sent-first.Sent, after.Recv-first.Recv,
			sent, recv)
	}
	return nil
}

// everywhere calls the checks for all communicators, forms and sizes.
func everywhere(t *testing.T, check func(c *Comm, f form, m, n int) error) {
	ranks(t)
	each(t, func(name string, c *Comm) {
		for _, f := range forms {
			restore := lower(f.limit)
			for _, s := range sizes {
				must(fmt.Sprintf("%s, %+v, %v", name, f, s), check(c, f, s[0], s[1]))
			}
			restore()
		}
	})
}

// inTurn calls the checks one after the other and joins their errors.
func inTurn(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func TestRanksMessages(t *testing.T) {
	everywhere(t, func(c *Comm, f form, m, n int) error {
		return inTurn(
			func() error { return messages(c, doubles, f, m, n) },
			func() error { return messages(c, singles, f, m, n) },
			func() error { return messages(c, field, f, m, n) })
	})
}

// messages sends from rank 0 to each other and back, and round.
func messages[T gemm.Element](c *Comm, k kind[T], f form, m, n int) error {
	bytes := int64(m) * int64(n) * int64(gemm.TypeOf[T]().Size)
	for r := 1; r < c.Size(); r++ {
		there, back := k.filled(m, n, f.out, from(r, 1)), k.empty(m, n, f.in)
		switch c.Rank() {
		case 0:
			err := moved(c, bytes, bytes, func() error {
				if err := Send(c, there, r, 5); err != nil {
					return err
				}
				return Recv(c, back, r, 6)
			})
			if err != nil {
				return fmt.Errorf("Send and Recv: %w", err)
			}
		case r:
			err := moved(c, bytes, bytes, func() error {
				if err := Recv(c, back, 0, 5); err != nil {
					return err
				}
				return Send(c, back, 0, 6)
			})
			if err != nil {
				return fmt.Errorf("Recv and Send: %w", err)
			}
		default:
			continue
		}
		if err := k.want(back, from(r, 1)); err != nil {
			return fmt.Errorf("Recv: %w", err)
		}
	}
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	return requests(c, k, f, m, n, right, left)
}

// requests has messages in flight while the garbage is collected.
func requests[T gemm.Element](c *Comm, k kind[T], f form, m, n, right, left int) error {
	const count = 4
	bytes := count * int64(m) * int64(n) * int64(gemm.TypeOf[T]().Size)
	var ins []gemm.Matrix[T]
	err := moved(c, bytes, bytes, func() error {
		var under []*Request
		for i := range count {
			in := k.empty(m, n, f.in)
			ins = append(ins, in)
			r, err := Irecv(c, in, left, i)
			if err != nil {
				return err
			}
			under = append(under, r)
		}
		for i := range count {
			r, err := Isend(c, k.filled(m, n, f.out, from(c.Rank(), i)), right, i)
			if err != nil {
				return err
			}
			under = append(under, r)
		}
		for i, r := range under {
			for done := i%2 == 0; !done; {
				var err error
				if done, err = r.Test(); err != nil {
					return err
				}
			}
			if err := r.Wait(); err != nil {
				return err
			}
			if done, err := r.Test(); !done || err != nil {
				return fmt.Errorf("Test after Wait: %v, %w", done, err)
			}
		}
		return nil
	})
	for i, in := range ins {
		if err == nil {
			err = k.want(in, from(left, i))
		}
	}
	if err != nil {
		return fmt.Errorf("Isend and Irecv: %w", err)
	}
	return nil
}

// TestRanksCollecting has long messages in flight while garbage is made and collected.
func TestRanksCollecting(t *testing.T) {
	ranks(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	right, left := (all.Rank()+1)%all.Size(), (all.Rank()+all.Size()-1)%all.Size()
	for range 5 {
		must("a round", requests(all, doubles, form{1, 0, 1 << 20}, 200, 200, right, left))
		must("a broadcast", broadcast(all, singles, form{2, 0, 1 << 20}, 300, 100))
	}
	close(stop)
	<-stopped
	if len(inflight) > 0 {
		t.Errorf("%d requests are kept", len(inflight))
	}
}

// TestRanksForgotten drops requests in flight: their memory stays until MPI has written it.
func TestRanksForgotten(t *testing.T) {
	ranks(t)
	left := (all.Rank() + all.Size() - 1) % all.Size()
	in := doubles.empty(100, 100, 0)
	_, err := Irecv(all, in, left, 9)
	must("Irecv", err)
	for range 3 {
		runtime.GC()
	}
	must("Barrier", all.Barrier())
	must("Send", Send(all, doubles.filled(100, 100, 0, from(all.Rank(), 1)), (all.Rank()+1)%all.Size(), 9))
	for r := range inflight {
		must("Wait", r.Wait())
	}
	must("what was received", doubles.want(in, from(left, 1)))
}

func TestRanksCollectives(t *testing.T) {
	everywhere(t, func(c *Comm, f form, m, n int) error {
		return inTurn(
			func() error { return collectives(c, doubles, f, m, n) },
			func() error { return collectives(c, singles, f, m, n) },
			func() error { return collectives(c, field, f, m, n) })
	})
}

func collectives[T gemm.Element](c *Comm, k kind[T], f form, m, n int) error {
	return inTurn(
		func() error { return broadcast(c, k, f, m, n) },
		func() error { return parts(c, k, f, m, n) },
		func() error { return joined(c, k, m, n) },
		func() error { return sum(c, k, m, n) })
}

// broadcast tries every root.
func broadcast[T gemm.Element](c *Comm, k kind[T], f form, m, n int) error {
	bytes := int64(m) * int64(n) * int64(gemm.TypeOf[T]().Size)
	for root := range c.Size() {
		x, y := k.empty(m, n, f.in), k.empty(m, n, f.in)
		sent, recv := int64(0), bytes
		if c.Rank() == root {
			x, y = k.filled(m, n, f.out, from(root, m)), k.filled(m, n, f.out, from(root, n))
			sent, recv = bytes, 0
		}
		err := moved(c, sent, recv, func() error { return Bcast(c, x, root) })
		if err == nil {
			err = k.want(x, from(root, m))
		}
		if err != nil {
			return fmt.Errorf("Bcast from %d: %w", root, err)
		}
		err = moved(c, sent, recv, func() error {
			r, err := Ibcast(c, y, root)
			if err != nil {
				return err
			}
			return r.Wait()
		})
		if err == nil {
			err = k.want(y, from(root, n))
		}
		if err != nil {
			return fmt.Errorf("Ibcast from %d: %w", root, err)
		}
	}
	return nil
}

// parts scatters and gathers rows and columns, for every root, with and without ranks that
// have none.
func parts[T gemm.Element](c *Comm, k kind[T], f form, m, n int) error {
	for root := range c.Size() {
		whole, back := gemm.Matrix[T]{}, gemm.Matrix[T]{}
		if c.Rank() == root {
			whole, back = k.filled(m, n, f.out, from(root, 1)), k.empty(m, n, f.in)
		}
		for _, way := range []struct {
			name    string
			n       int
			mine    func(plan.Span) gemm.Matrix[T]
			element func(s plan.Span) func(i, j int) int
			scatter func(spans []plan.Span, mine gemm.Matrix[T]) error
			gather  func(spans []plan.Span, mine gemm.Matrix[T]) error
		}{
			{"rows", m,
				func(s plan.Span) gemm.Matrix[T] { return k.empty(s.Len(), n, f.in) },
				func(s plan.Span) func(i, j int) int {
					return func(i, j int) int { return from(root, 1)(s.Lo+i, j) }
				},
				func(spans []plan.Span, mine gemm.Matrix[T]) error { return ScatterRows(c, root, whole, spans, mine) },
				func(spans []plan.Span, mine gemm.Matrix[T]) error { return GatherRows(c, root, mine, back, spans) }},
			{"columns", n,
				func(s plan.Span) gemm.Matrix[T] { return k.empty(m, s.Len(), f.in) },
				func(s plan.Span) func(i, j int) int {
					return func(i, j int) int { return from(root, 1)(i, s.Lo+j) }
				},
				func(spans []plan.Span, mine gemm.Matrix[T]) error { return ScatterCols(c, root, whole, spans, mine) },
				func(spans []plan.Span, mine gemm.Matrix[T]) error { return GatherCols(c, root, mine, back, spans) }},
		} {
			spans := plan.Spans(way.n, c.Size())
			span := spans[c.Rank()]
			mine := way.mine(span)
			// The root counts the parts of the others, and each of them its own.
			there, back2 := int64(0), bytesOf(mine)
			if c.Rank() == root {
				there, back2 = (int64(m)*int64(n))*int64(gemm.TypeOf[T]().Size)-bytesOf(mine), 0
			}
			err := moved(c, there, back2, func() error { return way.scatter(spans, mine) })
			if err == nil {
				err = k.want(mine, way.element(span))
			}
			if err != nil {
				return fmt.Errorf("Scatter of %s from %d: %w", way.name, root, err)
			}
			if err := moved(c, back2, there, func() error { return way.gather(spans, mine) }); err != nil {
				return fmt.Errorf("Gather of %s to %d: %w", way.name, root, err)
			}
			if c.Rank() != root {
				continue
			}
			if err := k.want(back, from(root, 1)); err != nil {
				return fmt.Errorf("Gather of %s to %d: %w", way.name, root, err)
			}
			for i := range back.Data {
				back.Data[i] = k.of(mark)
			}
		}
	}
	return nil
}

// joined scatters two blocks a rank of m and n elements, and gathers the first.
func joined[T gemm.Element](c *Comm, k kind[T], m, n int) error {
	bytes, others := int64(m+n)*int64(gemm.TypeOf[T]().Size), int64(c.Size()-1)
	for root := range c.Size() {
		var whole, back []T
		sent, recv, came, went := int64(0), bytes, int64(0), int64(m)*int64(gemm.TypeOf[T]().Size)
		if c.Rank() == root {
			for r := range c.Size() {
				for i := range m + n {
					whole = append(whole, k.of(from(r, root)(i, 0)))
				}
			}
			back = make([]T, m*c.Size())
			sent, recv, came, went = others*bytes, 0, others*int64(m)*int64(gemm.TypeOf[T]().Size), 0
		}
		first, second := make([]T, m), make([]T, n)
		if err := moved(c, sent, recv, func() error { return ScatterJoined(c, root, whole, first, second) }); err != nil {
			return fmt.Errorf("ScatterJoined from %d: %w", root, err)
		}
		for i, x := range slices.Concat(first, second) {
			if want := k.of(from(c.Rank(), root)(i, 0)); !(x == want) {
				return fmt.Errorf("ScatterJoined from %d: element %d is %v, want %v", root, i, x, want)
			}
		}
		if err := moved(c, went, came, func() error { return Gather(c, root, first, back) }); err != nil {
			return fmt.Errorf("Gather to %d: %w", root, err)
		}
		for i, x := range back {
			if want := k.of(from(i/m, root)(i%m, 0)); !(x == want) {
				return fmt.Errorf("Gather to %d: element %d is %v, want %v", root, i, x, want)
			}
		}
	}
	return nil
}

// sum adds matrices of all ranks. Sums of elements are exact.
func sum[T gemm.Element](c *Comm, k kind[T], m, n int) error {
	if limit < m*n {
		return nil // which ReduceScatter refuses
	}
	spans := plan.Spans(m, c.Size())
	span := spans[c.Rank()]
	x, mine := k.filled(m, n, 0, from(c.Rank(), 1)), gemm.NewMatrix[T](span.Len(), n)
	sent, recv := bytesOf(x)-bytesOf(mine), int64(c.Size()-1)*bytesOf(mine)
	if err := moved(c, sent, recv, func() error { return ReduceScatter(c, x, spans, mine) }); err != nil {
		return fmt.Errorf("ReduceScatter: %w", err)
	}
	for i := range mine.Rows {
		for j := range mine.Cols {
			var want T
			for r := range c.Size() {
				want = k.add(want, k.of(from(r, 1)(span.Lo+i, j)))
			}
			if got := mine.At(i, j); !(got == want) {
				return fmt.Errorf("ReduceScatter: element (%d, %d) is %v, want %v", i, j, got, want)
			}
		}
	}
	return nil
}

// TestRanksLong broadcasts what Open MPI cuts into pieces.
func TestRanksLong(t *testing.T) {
	ranks(t)
	each(t, func(name string, c *Comm) {
		for _, f := range []form{{0, 0, 1 << 30}, {3, 3, 1 << 30}, {5, 0, 1 << 30}, {0, 0, 1000}} {
			restore := lower(f.limit)
			must(fmt.Sprintf("%s, %+v", name, f), broadcast(c, doubles, f, 350, 300))
			restore()
		}
		must(name, parts(c, singles, form{3, 1, 1 << 30}, 601, 503))
		must(name, joined(c, doubles, 100_000, 70_001))
		must(name, sum(c, field, 701, 503))
	})
}

// TestRanksErrors checks that errors name the cause, on every communicator, and that messages still
// work afterwards.
func TestRanksErrors(t *testing.T) {
	ranks(t)
	says := func(err error, what string) bool { return strings.Contains(strings.ToLower(err.Error()), what) }
	each(t, func(name string, c *Comm) {
		short := func(what string, err error) {
			if err == nil || !says(err, "truncate") {
				t.Errorf("%s: %s of fewer elements than were sent: %v, want an error that says so", name, what, err)
			}
		}
		long := doubles.filled(3, 4, 0, from(0, 1))
		for _, gap := range []int{0, 1} {
			if c.Rank() == 0 {
				must("Send", Send(c, long, 1, 1))
				must("Send", Send(c, long, 1, 2))
				must("Send", Send(c, long, 1, 3))
			}
			if c.Rank() == 1 {
				short("Recv", Recv(c, doubles.empty(2, 4, gap), 0, 1))
				r, err := Irecv(c, doubles.empty(2, 4, gap), 0, 2)
				must("Irecv", err)
				short("Wait", r.Wait())
				r, err = Irecv(c, doubles.empty(2, 4, gap), 0, 3)
				must("Irecv", err)
				for done := false; !done && err == nil; {
					done, err = r.Test()
				}
				short("Test", err)
			}
		}
		for what, err := range map[string]error{
			"Send":  Send(c, long, c.Size(), 1),
			"Recv":  Recv(c, long, c.Size()+7, 1),
			"Bcast": Bcast(c, long, -1),
		} {
			if err == nil || !says(err, "invalid") {
				t.Errorf("%s: %s with a rank that is not there: %v, want an error that says so", name, what, err)
			}
		}
		if _, err := Isend(c, long, -5, 1); err == nil {
			t.Errorf("%s: Isend to rank -5: no error", name)
		}
		must("after errors", messages(c, doubles, form{0, 1, 1 << 20}, 3, 4))
	})
	if len(inflight) > 0 {
		t.Errorf("%d requests are kept", len(inflight))
	}
}

func TestRanksSplit(t *testing.T) {
	ranks(t)
	colour := all.Rank() % 2
	if all.Rank() == 0 {
		colour = -1
	}
	c, err := all.Split(colour, all.Rank())
	must("Split", err)
	if colour < 0 {
		if c != nil {
			t.Errorf("rank 0 is one of %d, want none", c.Size())
		}
		return
	}
	want := 0
	for r := 1; r < all.Size(); r++ {
		if r%2 == colour {
			want++
		}
	}
	if c.Size() != want || c.Rank() != (all.Rank()-1)/2 {
		t.Errorf("rank %d is %d of %d, want %d of %d", all.Rank(), c.Rank(), c.Size(), (all.Rank()-1)/2, want)
	}
	before := *all.Traffic()
	must("Bcast", Bcast(c, doubles.filled(2, 2, 0, from(0, 0)), 0))
	if c.Size() > 1 && *all.Traffic() == before {
		t.Error("what is moved in a part of the ranks is not counted")
	}
	c, err = c.Uncounted()
	must("Uncounted", err)
	before = *all.Traffic()
	must("Bcast", Bcast(c, doubles.filled(2, 2, 0, from(0, 0)), 0))
	if *all.Traffic() != before {
		t.Error("what is moved in uncounted is counted")
	}
}

// TestRanksGrid checks the communicators of grids: the ranks of a row, a column and at one place of all layers.
func TestRanksGrid(t *testing.T) {
	ranks(t)
	splits := NewSplits(all)
	for c := 1; c <= 2; c++ {
		for p := 1; p*c <= all.Size(); p++ {
			l := plan.InOrder(plan.Grid{P: p, Q: all.Size() / c / p, C: c})
			g, err := splits.Grid(l)
			must("Grid", err)
			if all.Rank() >= l.Ranks() {
				if *g != (Grid{}) {
					t.Errorf("rank %d outside of %v has %+v", all.Rank(), l.Grid, g)
				}
				continue
			}
			i, j, layer := l.At(all.Rank())
			if g.Ranks.Size() != l.Ranks() || g.Row.Rank() != j || g.Row.Size() != l.Q || g.Col.Rank() != i ||
				g.Col.Size() != p || c > 1 && (g.Through.Rank() != layer || g.Through.Size() != c) {
				t.Errorf("rank %d of %v: %+v", all.Rank(), l.Grid, g)
			}
			for r := range g.Row.Size() {
				if want := l.Rank(i, r, layer); g.Row.World(r) != want {
					t.Errorf("%v: rank %d of row %d is %d, want %d", l.Grid, r, i, g.Row.World(r), want)
				}
			}
		}
	}
}

func TestRanksControl(t *testing.T) {
	ranks(t)
	uncounted, err := all.Uncounted()
	must("Uncounted", err)
	for i, n := range []int{0, 1, 100, 100_000} {
		told := slices.Repeat([]byte{byte('a' + i)}, n)
		if all.Rank() == 0 {
			if i == 2 {
				time.Sleep(5 * time.Millisecond) // the others pause as well
			}
			must("SendAll", uncounted.SendAll(told))
		} else {
			heard, err := uncounted.Poll()
			must("Poll", err)
			if !slices.Equal(heard, told) {
				t.Errorf("heard %d bytes, want %d that rank 0 told", len(heard), n)
			}
		}
		gave := slices.Repeat([]byte{byte(all.Rank())}, n*all.Rank())
		got, err := uncounted.GatherBytes(gave)
		must("GatherBytes", err)
		if all.Rank() > 0 && got != nil {
			t.Error("GatherBytes returns something on other ranks than 0")
		}
		if all.Rank() == 0 && len(got) != all.Size() {
			t.Errorf("GatherBytes returns %d parts of %d ranks", len(got), all.Size())
		}
		for r, data := range got {
			if !slices.Equal(data, slices.Repeat([]byte{byte(r)}, n*r)) {
				t.Errorf("GatherBytes: rank %d gave %d bytes, want %d of its own", r, len(data), n*r)
			}
		}
	}
}

func TestRanksMax(t *testing.T) {
	ranks(t)
	each(t, func(name string, c *Comm) {
		got, err := c.Max(float64(-1 - c.Rank()))
		must("Max", err)
		if got != -1 {
			t.Errorf("%s: the largest is %v, want -1", name, got)
		}
	})
}

func TestRanksExchange(t *testing.T) {
	ranks(t)
	before := *all.Traffic()
	hosts := all.hosts
	defer func() { all.hosts = hosts }()
	spread := make([]int, all.Size()) // as if the ranks were on two hosts
	for r := range spread {
		spread[r] = 2 * r / len(spread)
	}
	for _, supposed := range [][]int{hosts, spread} {
		all.hosts = supposed
		for _, p := range plan.Patterns(all.Hosts()) {
			for _, n := range []int{0, 1, 100_000} {
				took, err := all.Exchange(p, n, 3)
				must("Exchange", err)
				if !(took > 0) {
					t.Errorf("%+v on %v: %d bytes take %v", p, all.Hosts(), n, took)
				}
			}
		}
	}
	if *all.Traffic() != before {
		t.Error("what measures the network is counted")
	}
	if !strings.HasPrefix(Version(), "Open MPI") && !strings.HasPrefix(Version(), "MPICH") {
		t.Errorf("the version is %q", Version())
	}
}

// TestRanksWindow reads from the others' parts of memory that is shared, and of memory
// that need not be.
func TestRanksWindow(t *testing.T) {
	ranks(t)
	const rows, cols, gap = 3, 5, 4           // gap: elements before what is read
	size := (gap+rows*cols)*8 + 24*all.Rank() // parts of other sizes than others'
	shared, err := all.Share(size)
	must("Share", err)
	exposed, err := all.Expose(size)
	must("Expose", err)
	for i, w := range []*Window{&shared.Window, exposed} {
		name := []string{"shared", "exposed"}[i]
		own := unsafe.Slice((*float64)(w.Own()), gap+rows*cols)
		for i := range own {
			own[i] = float64(100*all.Rank() + i)
		}
		must("Fence", w.Fence())
		check := func(name string, from int, read func() gemm.Matrix[float64]) {
			before := *all.Traffic()
			got := read()
			if got.Rows != rows || got.Cols != cols || got.Stride != cols || len(got.Data) != rows*cols {
				t.Fatalf("%s: rank %d has %+v", name, from, got)
			}
			for i, x := range got.Data {
				if want := float64(100*from + gap + i); x != want {
					t.Errorf("%s: element %d of rank %d is %v, want %v", name, i, from, x, want)
				}
			}
			if from != all.Rank() {
				before.Inside.Recv, before.Inside.Messages = before.Inside.Recv+rows*cols*8, before.Inside.Messages+1
			}
			if after := *all.Traffic(); after != before {
				t.Errorf("%s: %+v bytes are counted, want %+v", name, after, before)
			}
		}
		for from := range all.Size() {
			check(name, from, func() gemm.Matrix[float64] {
				got := gemm.NewMatrix[float64](rows, cols)
				r, err := Rget(all, w, got, from, gap*8)
				must("Rget", err)
				must("Wait", r.Wait())
				return got
			})
			if w == &shared.Window {
				check(name+", here", from, func() gemm.Matrix[float64] {
					return ReadInPlace[float64](all, shared, rows, cols, from, gap*8)
				})
			}
		}
		must("Fence", w.Fence())
		must("Free", w.Free())
	}
}
