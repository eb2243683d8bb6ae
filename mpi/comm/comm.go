package comm

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"gemm"
	"gemm/mpi/plan"
)

// Comm is a communicator: ranks that exchange messages.
type Comm struct {
	handle
	rank, size int
	numbers    []int // of the ranks, among all ranks
	hosts      []int // of all ranks of the job
	traffic    *Traffic
	log        *Log
}

// Traffic is the number of bytes in the arguments of calls, and the number of messages, in this process, by the
// rules of plan.Traffic.
type Traffic = plan.Traffic

// Rank returns the rank of this process in c.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks of c.
func (c *Comm) Size() int { return c.size }

// Traffic returns the counters of c and of all communicators made from it, except by Uncounted.
func (c *Comm) Traffic() *Traffic { return c.traffic }

// World returns the number of a rank of c among all ranks.
func (c *Comm) World(rank int) int { return c.numbers[rank] }

// Hosts returns the numbers of the hosts of all ranks of the job, which c and all others count by.
func (c *Comm) Hosts() []int { return c.hosts }

// Log returns the log of the calls of c and of all communicators made from it, except by Uncounted.
func (c *Comm) Log() *Log { return c.log }

// logged logs a call, with a rank of c or with all (-1), and the bytes that it counts. The function that
// it returns ends the call.
func (c *Comm) logged(call string, rank int) (end func()) {
	if !c.log.On() {
		return func() {}
	}
	if rank >= 0 {
		rank = c.numbers[rank]
	}
	before, ended := *c.traffic, c.log.Call(call, rank)
	return func() {
		after, before := c.traffic.Total(), before.Total()
		ended(after.Sent - before.Sent + after.Recv - before.Recv)
	}
}

// buffer is the memory of a message.
type buffer struct {
	at   unsafe.Pointer // nil for an empty message
	kind element
	layout
}

// element is an element type of messages.
type element int

const (
	float64s element = iota
	float32s
	bytes // of GF(2⁸): the sum is the exclusive or
	none  // there is no message of the type: no variant has it
)

func elementOf[T gemm.Element]() element {
	return gemm.ByType(gemm.TypeOf[T]().Name, float64s, float32s, none, none, bytes)
}

func bufferOf[T gemm.Element](m gemm.Matrix[T]) (buffer, error) {
	l, err := layoutOf(m.Rows, m.Cols, m.Stride)
	b := buffer{kind: elementOf[T](), layout: l}
	if l.count > 0 {
		b.at = unsafe.Pointer(unsafe.SliceData(m.Data))
	}
	return b, err
}

// transfer logs, counts and makes a call with m, of a rank or of all (-1).
func transfer[T gemm.Element](c *Comm, name string, rank int, m gemm.Matrix[T], count func(bytes int64),
	call func(b buffer) error) error {
	defer c.logged(name, rank)()
	b, err := bufferOf(m)
	if err != nil {
		return err
	}
	count(bytesOf(m))
	return call(b)
}

// Send sends m. It returns when m may be overwritten.
func Send[T gemm.Element](c *Comm, m gemm.Matrix[T], to, tag int) error {
	return transfer(c, "send", to, m, func(bytes int64) { c.countSent(bytes, to) },
		func(b buffer) error { return c.send(b, to, tag) })
}

// Recv waits for a message and writes it to m.
func Recv[T gemm.Element](c *Comm, m gemm.Matrix[T], from, tag int) error {
	return transfer(c, "recv", from, m, func(bytes int64) { c.countReceived(bytes, from) },
		func(b buffer) error { return c.recv(b, from, tag) })
}

// Request is a message in flight. Its memory stays pinned until Wait returns or Test reports the arrival.
type Request struct {
	pending
	pin  runtime.Pinner
	log  *Log
	done bool
	then func() error // nil: nothing follows
}

// Then makes Wait or Test call f when the message has arrived, and returns the request.
func (r *Request) Then(f func() error) *Request {
	r.then = f
	return r
}

// completed calls the function that follows the message.
func (r *Request) completed() error {
	if r.then == nil {
		return nil
	}
	return r.then()
}

func request(c *Comm, b buffer, begin func(*Request) error) (*Request, error) {
	r := &Request{log: c.log}
	if b.at != nil {
		r.pin.Pin(b.at) // memory outside of Go's heap never moves
	}
	if err := begin(r); err != nil {
		r.pin.Unpin()
		return nil, err
	}
	inflight[r] = true
	return r, nil
}

// inflight has the requests in flight. After an error no caller may wait for a request, but MPI still writes to its
// memory.
var inflight = map[*Request]bool{}

// end unpins the memory.
func (r *Request) end() {
	r.done = true
	r.pin.Unpin()
	delete(inflight, r)
}

// Wait returns when the message has arrived. For a nil Request it returns at once.
func (r *Request) Wait() error {
	if r == nil || r.done {
		return nil
	}
	err := func() error {
		defer r.end()
		defer r.log.Call("wait", -1)(0)
		return r.wait()
	}()
	if err == nil {
		err = r.completed()
	}
	return err
}

// Test reports whether the message has arrived. It also lets MPI make progress on all messages in flight.
func (r *Request) Test() (bool, error) {
	if r == nil || r.done {
		return true, nil
	}
	done, err := r.test()
	if done || err != nil {
		r.end()
	}
	if done && err == nil {
		err = r.completed()
	}
	return done, err
}

// begin is transfer for a call that begins a message.
func begin[T gemm.Element](c *Comm, name string, rank int, m gemm.Matrix[T], count func(bytes int64),
	call func(b buffer, r *Request) error) (r *Request, err error) {
	err = transfer(c, name, rank, m, count, func(b buffer) error {
		r, err = request(c, b, func(r *Request) error { return call(b, r) })
		return err
	})
	return r, err
}

// Isend starts to send m, which must not be written until it has arrived.
func Isend[T gemm.Element](c *Comm, m gemm.Matrix[T], to, tag int) (*Request, error) {
	return begin(c, "isend", to, m, func(bytes int64) { c.countSent(bytes, to) },
		func(b buffer, r *Request) error { return c.isend(b, to, tag, r) })
}

// Irecv starts to receive m, which must not be used until it has arrived.
func Irecv[T gemm.Element](c *Comm, m gemm.Matrix[T], from, tag int) (*Request, error) {
	return begin(c, "irecv", from, m, func(bytes int64) { c.countReceived(bytes, from) },
		func(b buffer, r *Request) error { return c.irecv(b, from, tag, r) })
}

// Bcast sends the root's m to all.
//
//	rank        0     1     2
//	before      m     ·     ·
//	after       m     m     m      (root 0)
func Bcast[T gemm.Element](c *Comm, m gemm.Matrix[T], root int) error {
	return transfer(c, "bcast", -1, m, func(bytes int64) { c.countBcast(bytes, root) },
		func(b buffer) error { return c.bcast(b, root) })
}

// Ibcast starts Bcast.
func Ibcast[T gemm.Element](c *Comm, m gemm.Matrix[T], root int) (*Request, error) {
	return begin(c, "ibcast", -1, m, func(bytes int64) { c.countBcast(bytes, root) },
		func(b buffer, r *Request) error { return c.ibcast(b, root, r) })
}

// ScatterRows sends each rank its rows of the root's matrix; spans[r] are the rows of rank r.
//
//	spans [0,2) [2,3) [3,3)   rank        0         1      2
//	                          before   rows 0–2     ·      ·
//	                          after    rows 0, 1  row 2    –
func ScatterRows[T gemm.Element](c *Comm, root int, all gemm.Matrix[T], spans []plan.Span, mine gemm.Matrix[T]) error {
	return moveRows(c, root, all, spans, mine, sending)
}

// GatherRows is the inverse of ScatterRows.
func GatherRows[T gemm.Element](c *Comm, root int, mine, all gemm.Matrix[T], spans []plan.Span) error {
	return moveRows(c, root, all, spans, mine, receiving)
}

func moveRows[T gemm.Element](c *Comm, root int, all gemm.Matrix[T], spans []plan.Span, mine gemm.Matrix[T],
	way direction) error {
	defer c.logged(way.String(), -1)()
	b, err := countParts(c, root, spans, mine.Cols, 1, all, mine, way)
	if err != nil || mine.Cols == 0 { // on all ranks; Open MPI would wait for a message that no rank sends
		return err
	}
	counts, from := lengths(spans)
	return c.movev(wholeOf(all, layout{shape: rows, cols: all.Cols, stride: all.Stride}), counts, from, b, root, way)
}

// ScatterCols sends each rank its columns of the root's matrix; spans divides them evenly. There is
// one call for the ranks with one column more, and one for the others: in one call all ranks have
// whole numbers of one type, and the type is all columns of a rank.
//
//	spans [0,2) [2,4) [4,5)   first call:  columns 0, 1 → rank 0, columns 2, 3 → rank 1
//	                          second call: column 4 → rank 2
func ScatterCols[T gemm.Element](c *Comm, root int, all gemm.Matrix[T], spans []plan.Span, mine gemm.Matrix[T]) error {
	return moveCols(c, root, all, spans, mine, sending)
}

// GatherCols is the inverse of ScatterCols.
func GatherCols[T gemm.Element](c *Comm, root int, mine, all gemm.Matrix[T], spans []plan.Span) error {
	return moveCols(c, root, all, spans, mine, receiving)
}

func moveCols[T gemm.Element](c *Comm, root int, all gemm.Matrix[T], spans []plan.Span, mine gemm.Matrix[T],
	way direction) error {
	defer c.logged(way.String(), -1)()
	b, err := countParts(c, root, spans, mine.Rows, int64(len(widthsOf(spans))), all, mine, way)
	if err != nil || mine.Rows == 0 { // on all ranks; Open MPI would wait for a message that no rank sends
		return err
	}
	return byWidth(spans, func(width int, counts, from []int) error {
		part := b
		if counts[c.rank] == 0 {
			part.layout, part.at = layout{}, nil
		}
		return c.movev(wholeOf(all, layout{vector, mine.Rows, width, all.Stride}), counts, from, part, root, way)
	})
}

// wholeOf returns the root's matrix in the form from which parts are taken: as rows, or as vectors of its columns.
func wholeOf[T gemm.Element](m gemm.Matrix[T], l layout) buffer {
	return buffer{at: unsafe.Pointer(unsafe.SliceData(m.Data)), kind: elementOf[T](), layout: l}
}

// byWidth calls f for each different width of the spans, except 0. counts is 1 for the ranks with this width.
func byWidth(spans []plan.Span, f func(width int, counts, from []int) error) error {
	for _, width := range widthsOf(spans) {
		counts, from := make([]int, len(spans)), make([]int, len(spans))
		for r, s := range spans {
			if s.Len() == width {
				counts[r], from[r] = 1, s.Lo
			}
		}
		if err := f(width, counts, from); err != nil {
			return err
		}
	}
	return nil
}

// widthsOf returns the different widths of the spans, except 0.
func widthsOf(spans []plan.Span) []int {
	var widths []int
	for _, s := range spans {
		if s.Len() > 0 && !slices.Contains(widths, s.Len()) {
			widths = append(widths, s.Len())
		}
	}
	return widths
}

// countParts counts the parts that the root sends or receives, of some elements per index of the spans, in one call
// for each of some sizes of parts. It returns the buffer of this rank's part.
func countParts[T gemm.Element](c *Comm, root int, spans []plan.Span, each int, calls int64, all, mine gemm.Matrix[T],
	way direction) (buffer, error) {
	if len(spans) != c.size {
		panic(fmt.Sprintf("comm: %d parts for %d ranks", len(spans), c.size))
	}
	if _, err := layoutOf(all.Rows, all.Cols, all.Stride); err != nil {
		return buffer{}, err
	}
	b, err := bufferOf(mine)
	if err == nil {
		size := int64(each) * int64(gemm.TypeOf[T]().Size)
		c.countParts(root, func(r int) int64 { return int64(spans[r].Len()) * size }, calls, way)
	}
	return b, err
}

func lengths(spans []plan.Span) (counts, from []int) {
	for _, s := range spans {
		counts, from = append(counts, s.Len()), append(from, s.Lo)
	}
	return counts, from
}

// ScatterJoined sends each rank its part of the root's buffer. The parts are adjacent, each of len(first) + len(second)
// elements. It is one call with a combined type, whose two blocks go to two locations.
//
//	rank        0                 1        2
//	before   A₀ B A₁ B A₂ B       ·        ·
//	after       A₀, B           A₁, B    A₂, B
func ScatterJoined[T gemm.Element](c *Comm, root int, all, first, second []T) error {
	defer c.logged("scatter", -1)()
	if err := Countable(max(len(first), len(second)), "in a block for a rank", "use more ranks"); err != nil {
		return err
	}
	part := (int64(len(first)) + int64(len(second))) * int64(gemm.TypeOf[T]().Size)
	c.countParts(root, func(int) int64 { return part }, 1, sending)
	if part == 0 {
		return nil
	}
	return c.scatterJoined(elementOf[T](), unsafe.Pointer(unsafe.SliceData(all)),
		unsafe.Pointer(unsafe.SliceData(first)), len(first), unsafe.Pointer(unsafe.SliceData(second)), len(second), root)
}

// Gather collects the equal parts of all ranks in the root's buffer, one after the other.
func Gather[T gemm.Element](c *Comm, root int, mine, all []T) error {
	defer c.logged("gather", -1)()
	if err := Countable(len(mine), "of a rank", "use more ranks"); err != nil {
		return err
	}
	part := int64(len(mine)) * int64(gemm.TypeOf[T]().Size)
	c.countParts(root, func(int) int64 { return part }, 1, receiving)
	if part == 0 {
		return nil
	}
	return c.gather(elementOf[T](), unsafe.Pointer(unsafe.SliceData(mine)), len(mine),
		unsafe.Pointer(unsafe.SliceData(all)), root)
}

// ReduceScatter adds the matrices all of the ranks. Each rank receives its rows of the sum.
//
//	rank      0            1
//	before   x₀ x₁        y₀ y₁
//	after    x₀+y₀        x₁+y₁
func ReduceScatter[T gemm.Element](c *Comm, all gemm.Matrix[T], spans []plan.Span, mine gemm.Matrix[T]) error {
	defer c.logged("reduce-scatter", -1)()
	// Open MPI sums the counts in an int.
	if err := Countable(all.Rows*all.Cols, "to add", "use more ranks or fewer layers"); err != nil {
		return err
	}
	counts := make([]int, len(spans))
	for r, s := range spans {
		counts[r] = s.Len() * all.Cols
	}
	part := func(r int) int64 { return int64(counts[r]) * int64(gemm.TypeOf[T]().Size) }
	c.count(func(calls plan.Calls) { calls.ReduceScatter(plan.UpTo(c.size), part) })
	if all.Stride != all.Cols && all.Rows > 1 || mine.Stride != mine.Cols && mine.Rows > 1 {
		panic("comm: ReduceScatter wants rows side by side")
	}
	return c.reduceScatter(elementOf[T](), unsafe.Pointer(unsafe.SliceData(all.Data)), counts,
		unsafe.Pointer(unsafe.SliceData(mine.Data)))
}
