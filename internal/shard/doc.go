// Package shard stores a file as Reed–Solomon shards. The data shards are equal parts of the file;
// the parity shards are redundant. Any shards, as many as there are data shards, are enough to
// reconstruct the file. The parity shards are a product of matrices over GF(2⁸),
//
//	P (parity×S) = G (parity×data) · D (data×S),
//
// where row j of D is data shard j, S bytes long, and G is the lower part of a generator matrix of
// package gf256. Lost shards are another such product. Both are streamed in slices of columns by
// any Multiplier, so the memory does not depend on the size of the file.
//
// A shard is a header of 64 bytes, a table of checksums, the payload, and the first two again;
// docs/rs.md has the offsets. The payload is what klauspost/reedsolomon's Split and Encode make of the
// file. Any good blocks of a stripe, as many as there are data shards, restore the others.
//
// Parity of a file that stays as it is consists of parity shards alone. The parts of the file are the
// data shards, and the parity shards have their checksums too.
package shard

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"gemm"
	"gemm/gf256"
)

// Coder makes shards, checks them and makes files of them.
type Coder struct {
	// Multiplier computes parities and lost shards; Verify does without.
	Multiplier gemm.Multiplier[gf256.Elem]
	// Progress is called with the current activity, and the done and total bytes of payload. It may be nil.
	Progress func(what string, done, total int64)

	block, buffer int // bytes, 0 for the defaults: tests take small ones
}

// defaultBlock is the bytes of payload under one checksum, and the least that is read at
// once. The table is then 1/16384 of the payload. Larger blocks are not read: memory would
// depend on the file.
const defaultBlock = 64 << 10

// defaultBuffer is the bytes of all rows of one slice of columns. There are three in
// memory, one that is read, one that is multiplied and one that is written. With 256
// shards a row of it is just a block.
const defaultBuffer = 16 << 20

func (c *Coder) blockBytes() int  { return cmp.Or(c.block, defaultBlock) }
func (c *Coder) bufferBytes() int { return cmp.Or(c.buffer, defaultBuffer) }

// meter counts bytes for Coder.Progress.
type meter struct {
	mu          sync.Mutex
	what        string
	done, total int64
	progress    func(what string, done, total int64)
}

func (c *Coder) meter(what string, total int64) *meter {
	return &meter{what: what, total: total, progress: c.Progress}
}

func (m *meter) add(n int64) {
	if m.progress == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	m.progress(m.what, m.done, m.total)
}

// transfer is one or more products of matrices of bytes, C = matrix·B, with rows of any length that
// are read and written in slices of columns.
type transfer struct {
	length int64 // bytes of a row
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

// source reads the bytes of a row from off on. Calls are in the order of off, without gaps; each except the last is for
// whole blocks.
type source interface {
	read(p []byte, off int64) error
}

// sink writes the bytes of a row from offset off on. Calls are in the same order as those of a source.
type sink interface {
	write(p []byte, off int64) error
}

// slice is some columns of B, and of C below them.
type slice struct {
	run
	off  int64
	rows gemm.Matrix[gf256.Elem]
	data []gf256.Elem // for any rows
}

// begin makes s the columns of a run from off on, as many as there is room for.
func (s *slice) begin(r run, off int64, block int) {
	height := len(r.in) + r.matrix.Rows
	width := int(min(int64(max(len(s.data)/(height*block), 1)*block), r.to-off))
	s.run, s.off = r, off
	s.rows = gemm.Matrix[gf256.Elem]{Rows: height, Cols: width, Stride: width, Data: s.data[:height*width]}
}

// probes is the number of columns of a slice that are computed twice.
const probes = 16

// errProduct says that the result of the multiplier is wrong.
var errProduct = errors.New("the product is wrong and was not kept: multiply by another variant")

// probe returns an errProduct unless rows, the rows of B followed by those of C, are a product with
// the matrix in the first, the last and some random columns. Otherwise a kernel that is wrong on
// this processor would show only when shards are lost.
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

// each calls f with the numbers below n, on at most as many goroutines as there are processors: to copy bytes from
// and to files takes one processor longer than to multiply them takes several. After an error there are no more
// calls; each returns the first.
func each(n int, f func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	var runners sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
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

// transfer runs t. While one slice is written, the next is multiplied and the one after it is read. The first error ends
// it.
func (c *Coder) transfer(ctx context.Context, t transfer, done *meter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	room := max(c.bufferBytes(), gf256.MaxShards*t.block) // of a block of each shard at least
	room = int(min(int64(room), gf256.MaxShards*t.length))

	const slices = 3 // channels have room for all, so no stage waits to send
	free, filled, multiplied := make(chan *slice, slices), make(chan *slice, slices), make(chan *slice, slices)
	for range slices {
		free <- &slice{data: make([]gf256.Elem, room)}
	}
	var stages sync.WaitGroup
	// After an error the slices still circulate, so the other stages do not wait for ever.
	stage := func(from <-chan *slice, to chan<- *slice, work func(*slice) error) {
		stages.Go(func() {
			defer close(to)
			for s := range from {
				if ctx.Err() == nil {
					if err := work(s); err != nil {
						cancel(err)
					}
				}
				to <- s
			}
		})
	}
	stage(filled, multiplied, func(s *slice) error {
		if s.matrix.Rows == 0 {
			return nil
		}
		m := s.matrix
		a := gemm.Matrix[gf256.Elem]{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols, Data: m.Data}
		below := s.rows.Slice(a.Cols, 0, a.Rows, s.rows.Cols)
		if err := c.Multiplier.Multiply(ctx, below, a, s.rows.Slice(0, 0, a.Cols, s.rows.Cols)); err != nil {
			return err
		}
		return probe(s.matrix, s.rows)
	})
	stage(multiplied, free, func(s *slice) error {
		err := each(len(s.out), func(i int) error {
			for _, to := range s.out[i] {
				if err := to.write(gf256.Bytes(s.rows.Row(i)), s.off); err != nil {
					return err
				}
			}
			return nil
		})
		done.add(int64(t.data) * int64(s.rows.Cols))
		return err
	})
	for r, err := range t.runs {
		if err != nil {
			cancel(err)
			break
		}
		for off := r.from; off < r.to && ctx.Err() == nil; {
			s := <-free
			s.begin(r, off, t.block)
			off += int64(s.rows.Cols)
			err := each(len(s.in), func(i int) error { return s.in[i].read(gf256.Bytes(s.rows.Row(i)), s.off) })
			if err != nil {
				cancel(err)
			}
			filled <- s
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(filled)
	stages.Wait()
	return context.Cause(ctx)
}
