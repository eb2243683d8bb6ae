package shard

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"gemm"
	"gemm/gf256"
	"gemm/internal/timeline"
)

// transfer is one or more products of matrices of bytes, C = matrix·B, with rows of any length that
// are read and written in slices of columns.
type transfer struct {
	length int64 // bytes of a row
	shards int   // rows of B and C at most
	block  int   // bytes: rows are cut at multiples of it
	data   int   // rows that count as progress
	runs   iter.Seq2[run, error]
}

// run is a product of a range of columns, and ends where the next begins.
type run struct {
	from, to int64        // columns
	in       []source     // rows of B
	matrix   gf256.Matrix // len(in) columns
	out      [][]sink     // the sinks of each row of B, then of C
}

// source reads the bytes of a row from off on. It is called for different columns at the same time, in any order. Each
// call except that for the end of a row is for whole blocks.
type source interface {
	read(p []byte, off int64) error
}

// sink writes the bytes of a row from off on. It is called as a source is.
type sink interface {
	write(p []byte, off int64) error
}

// slice is some columns of B, and of C below them.
type slice struct {
	run
	off  int64
	rows gemm.Matrix[gf256.Elem]
	data []gf256.Elem // for any rows
	lane int          // of the timeline
}

// line is the bytes of a cache line: rows of a slice begin on one.
const line = 64

// begin makes s the columns of a run from off on, as many as there is room for.
func (s *slice) begin(r run, off int64, block int) {
	height := len(r.in) + r.matrix.Rows
	width := int(min(int64(max(len(s.data)/(height*block), 1)*block), r.to-off))
	stride := width
	if up := (width + line - 1) / line * line; up*height <= len(s.data) {
		stride = up
	}
	s.run, s.off = r, off
	s.rows = gemm.Matrix[gf256.Elem]{Rows: height, Cols: width, Stride: stride, Data: s.data[:height*stride]}
}

// probes is the number of columns of a slice that are computed twice.
const probes = 16

// errProduct says that the result of the multiplier is wrong.
var errProduct = errors.New("the product is wrong and was not kept: multiply by another variant")

// probe returns an errProduct unless C, the rows behind B, is matrix·B in the first, the last and some random columns.
// Otherwise a kernel that is wrong on this processor would show only when shards are lost.
func probe(matrix gf256.Matrix, rows gemm.Matrix[gf256.Elem]) error {
	columns := [probes]int{0, rows.Cols - 1}
	for p := range columns[2:] {
		columns[2+p] = rand.IntN(rows.Cols)
	}
	b := gf256.NewMatrix(matrix.Cols, probes)
	for i := range b.Rows {
		for p, j := range columns {
			b.Row(i)[p] = rows.At(i, j)
		}
	}
	c := matrix.Mul(b)
	for i := range c.Rows {
		for p, j := range columns {
			if c.Row(i)[p] != rows.At(b.Rows+i, j) {
				return errProduct
			}
		}
	}
	return nil
}

// each calls f with the numbers below n, on the given number of goroutines. After an error there are no more calls;
// each returns the first.
func each(n, goroutines int, f func(i int) error) error {
	if goroutines = min(n, goroutines); goroutines == 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var once sync.Once
	var first error
	var runners sync.WaitGroup
	for range goroutines {
		runners.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := f(int(i)); err != nil {
					once.Do(func() { first = err })
					next.Store(int64(n))
				}
			}
		})
	}
	runners.Wait()
	return first
}

// Allocator is a Multiplier with memory of its own, such as a GPU's page-locked buffers, that computes several products
// at the same time. It is a pointer.
type Allocator interface {
	gemm.Multiplier[gf256.Elem]
	// Allocate returns n bytes that the multiplier reaches without a copy. Its Close frees them.
	Allocate(n int) ([]gf256.Elem, error)
	// InFlight is the number of products that it computes at the same time.
	InFlight() int
	// Buffer is the bytes of all rows of one slice that it is fastest with.
	Buffer() int
}

// memory has the slices, for one file after the other: Go's by nil, others by their multiplier.
type memory map[Allocator][][]gf256.Elem

// noMemory is the error of a Allocator that has no memory for slices.
type noMemory struct{ error }

func (e noMemory) Unwrap() error { return e.error }

// slices returns n slices of some bytes.
func (m memory) slices(n, bytes int, of Allocator) (list [][]gf256.Elem, err error) {
	all := m[of]
	if len(all) > 0 && len(all[0]) < bytes {
		all = nil
	}
	for len(all) < n {
		var data []gf256.Elem
		if of == nil {
			data = make([]gf256.Elem, bytes)
		} else if data, err = of.Allocate(bytes); err != nil {
			return nil, noMemory{err}
		}
		all = append(all, data)
		m[of] = all
	}
	for _, data := range all[:n] {
		list = append(list, data[:bytes])
	}
	return list, nil
}

// The slices of columns. Several goroutines read the rows of a slice, and write them: each row is of another file or of
// another place, and the system lets only one write to a file at a time. On 16 processors, 18 slices in flight, each
// with one goroutine, took 1.4 times as long as 3.
const (
	sliceBytes   = 16 << 20 // of all rows of one
	fewestSlices = 3        // one is read, one multiplied and one written
	mostSlices   = 4
	ofSmall      = 8 // slices of a file that has few: smaller ones overlap
)

// pipeline is how a transfer is computed.
type pipeline struct {
	slices   int // in flight
	room     int // bytes of one
	products int // at the same time
	helpers  int // goroutines that read, or write, the rows of a slice
	slicer   Allocator
}

// pipeline plans a transfer. A slice has at least one block of each shard.
func (c *Coder) pipeline(t transfer) pipeline {
	p := pipeline{helpers: runtime.GOMAXPROCS(0)}
	var owns bool
	if p.slicer, owns = c.multiplier().(Allocator); owns {
		p.products = p.slicer.InFlight()
		p.slices = p.products + fewestSlices - 1
		p.room = max(p.slicer.Buffer(), gf256.MaxShards*t.block)
		return p
	}
	p.slices = min(max(p.helpers, fewestSlices), mostSlices)
	p.products = cmp.Or(c.Products, p.slices)
	all := int64(t.shards) * ((t.length-1)/line + 1) * line
	p.room = max(int(min(int64(cmp.Or(c.buffer, sliceBytes)), all/ofSmall)), t.shards*t.block)
	p.room = int(min(int64(p.room), all))
	return p
}

// feed gives out the columns of a transfer.
type feed struct {
	transfer
	next func() (run, error, bool)
	run
	off int64 // of the next columns of the run
}

// more goes on to the run of the next columns. It returns false if there is none.
func (f *feed) more() (bool, error) {
	for f.off >= f.to {
		r, err, ok := f.next()
		if !ok || err != nil {
			return false, err
		}
		f.run, f.off = r, r.from
	}
	return true, nil
}

// fill makes s the next columns. It returns false after the last ones.
func (f *feed) fill(s *slice) (bool, error) {
	if more, err := f.more(); !more || err != nil {
		return false, err
	}
	s.begin(f.run, f.off, f.block)
	f.off += int64(s.rows.Cols)
	return true, nil
}

// transfer runs t.
func (c *Coder) transfer(ctx context.Context, t transfer, done *meter) error {
	defer begin(ctx, fileLane, coding)(t.length * int64(t.data))
	next, stop := iter.Pull2(t.runs)
	defer stop()
	f := &feed{transfer: t, next: next}
	if c.Autotuner != nil {
		if err := c.choose(ctx, f, done); err != nil {
			return err
		}
	}
	_, err := c.pass(ctx, f, done, math.MaxInt64)
	return err
}

// pass computes at least the given number of columns, or the rest: several slices at the same time, which are read,
// multiplied and written independently of each other. It returns the number of columns. The first error ends it.
func (c *Coder) pass(ctx context.Context, f *feed, done *meter, columns int64) (count int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := c.pipeline(f.transfer)
	if c.memory == nil {
		c.memory = memory{}
	}
	slices, err := c.memory.slices(p.slices, p.room, p.slicer)
	if err != nil {
		return 0, err
	}
	free, begun := make(chan *slice, len(slices)), make(chan *slice)
	turns := make(chan struct{}, p.products)
	var runners sync.WaitGroup
	for i, data := range slices {
		free <- &slice{data: data, lane: fileLane + 1 + i}
		runners.Go(func() {
			for s := range begun {
				if err := c.work(ctx, s, p, turns); err != nil {
					cancel(err)
				} else {
					done.add(int64(f.data) * int64(s.rows.Cols))
				}
				free <- s
			}
		})
	}
	for count < columns && ctx.Err() == nil {
		s := <-free
		more, err := f.fill(s)
		if err != nil {
			cancel(err)
		}
		if !more {
			break
		}
		count += int64(s.rows.Cols)
		begun <- s
	}
	close(begun)
	runners.Wait()
	return count, context.Cause(ctx)
}

// work reads, multiplies and writes a slice. Each product takes a turn.
func (c *Coder) work(ctx context.Context, s *slice, p pipeline, turns chan struct{}) error {
	end := begin(ctx, s.lane, reading)
	err := each(len(s.in), p.helpers, func(i int) error { return s.in[i].read(gf256.Bytes(s.rows.Row(i)), s.off) })
	end(int64(len(s.in)) * int64(s.rows.Cols))
	if err != nil {
		return err
	}
	if s.matrix.Rows > 0 {
		end := begin(ctx, s.lane, timeline.Waiting)
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		end(0)
		err := product(ctx, s.lane, int64(s.rows.Rows)*int64(s.rows.Cols),
			func(ctx context.Context) error { return s.multiply(ctx, c.multiplier()) })
		<-turns
		if err != nil {
			return err
		}
	}
	end = begin(ctx, s.lane, storing)
	var bytes atomic.Int64
	err = each(len(s.out), p.helpers, func(i int) error {
		for _, to := range s.out[i] {
			if err := to.write(gf256.Bytes(s.rows.Row(i)), s.off); err != nil {
				return err
			}
			bytes.Add(int64(s.rows.Cols))
		}
		return nil
	})
	end(bytes.Load())
	return err
}

// multiply computes the rows of C.
func (s *slice) multiply(ctx context.Context, by gemm.Multiplier[gf256.Elem]) error {
	m, rows := s.matrix, s.rows
	a := gemm.Matrix[gf256.Elem]{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols, Data: m.Data}
	if err := by.Multiply(ctx, rows.Slice(a.Cols, 0, a.Rows, rows.Cols), a,
		rows.Slice(0, 0, a.Cols, rows.Cols)); err != nil {
		return err
	}
	return probe(m, rows)
}
