// Package rs is a codec for Reed–Solomon codes on slices of bytes: data shards get parity shards, and any shards, as
// many as there are data shards, restore the others.
//
// Functions, methods, options and errors have the names and the meaning that they have in
// github.com/klauspost/reedsolomon, and shards have the same bytes: a program that uses the package as reedsolomon can
// import this one instead, unless it has streams; gemm/shard makes shards of files. A code has at most 256 shards here,
// and products choose the number of goroutines by themselves. A Code is an Encoder, and may be used by several
// goroutines at the same time.
//
// Parities are a product over GF(2⁸), P = G·D. Row j of D is data shard j, and G is the lower part of a generator
// matrix of package gf256. Lost shards are another such product. The kernels read and write shards where they are.
package rs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"gemm/gf256"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/pool"
)

// The errors are returned as they are, since programs compare them by ==.
var (
	ErrInvShardNum         = errors.New("rs: there must be a data shard, and no negative number of parity shards")
	ErrMaxShardNum         = errors.New("rs: there may be 256 data and parity shards together")
	ErrTooFewShards        = errors.New("rs: too few shards")
	ErrShardNoData         = errors.New("rs: all shards are empty")
	ErrShardSize           = errors.New("rs: shards differ in size")
	ErrShortData           = errors.New("rs: there is less data than wanted")
	ErrInvalidInput        = errors.New("rs: invalid argument")
	ErrReconstructRequired = errors.New("rs: a data shard is missing: reconstruct it first")
)

// Encoder is what a Code does; its methods are described there.
type Encoder interface {
	Encode(shards [][]byte) error
	EncodeIdx(dataShard []byte, idx int, parity [][]byte) error
	Verify(shards [][]byte) (bool, error)
	Reconstruct(shards [][]byte) error
	ReconstructData(shards [][]byte) error
	ReconstructSome(shards [][]byte, required []bool) error
	Update(shards [][]byte, newDatashards [][]byte) error
	Split(data []byte) ([][]byte, error)
	Join(dst io.Writer, shards [][]byte, outSize int) error
}

// Option is an option of New.
type Option func(*options)

type options struct {
	generator func(data, parity int) (gf256.Matrix, error)
	workers   int
}

// WithCauchyMatrix takes gf256.Cauchy as generator matrix. Default: gf256.Vandermonde.
func WithCauchyMatrix() Option { return func(o *options) { o.generator = gf256.Cauchy } }

// WithMaxGoroutines limits the goroutines of a product, which has fewer if its shards are short. Default, also for n
// below 1: GOMAXPROCS.
func WithMaxGoroutines(n int) Option { return func(o *options) { o.workers = n } }

// Code is a Reed–Solomon code. Shards are listed with the data first. All have the same size.
type Code struct {
	data, parity int
	generator    gf256.Matrix
	engine       *block.Field
	width        int                     // columns that Verify computes at once
	sums         block.Idle[[][]byte]    // for Verify
	mu           sync.Mutex              // for decoders
	decoders     map[string]gf256.Matrix // by the shards that there are, and those that are wanted
}

// verifyBytes is the bytes that Verify computes at once on one processor, which L2 holds.
const verifyBytes = 1 << 18

// New returns the code with some data and parity shards.
func New(dataShards, parityShards int, opts ...Option) (*Code, error) {
	o := options{generator: gf256.Vandermonde}
	for _, opt := range opts {
		opt(&o)
	}
	if dataShards < 1 || parityShards < 0 {
		return nil, ErrInvShardNum
	}
	if dataShards > gf256.MaxShards || parityShards > gf256.MaxShards-dataShards {
		return nil, ErrMaxShardNum
	}
	if o.workers < 1 {
		o.workers = cpu.Workers()
	}
	generator, err := o.generator(dataShards, parityShards)
	return &Code{data: dataShards, parity: parityShards, generator: generator, decoders: map[string]gf256.Matrix{},
		engine: block.HostField(pool.New(o.workers)),
		width:  o.workers * verifyBytes / max(parityShards, 1) / 64 * 64}, err
}

// DataShards returns the number of data shards.
func (c *Code) DataShards() int { return c.data }

// ParityShards returns the number of parity shards.
func (c *Code) ParityShards() int { return c.parity }

// TotalShards returns the number of all shards.
func (c *Code) TotalShards() int { return c.data + c.parity }

// Parities returns the rows of the generator matrix for the parity shards. They are shared.
func (c *Code) Parities() gf256.Matrix {
	return gf256.Matrix{Rows: c.parity, Cols: c.data, Data: c.generator.Data[c.data*c.data:]}
}

// multiply computes the first n columns of out = m·in, or adds them to out.
func (c *Code) multiply(n int, m gf256.Matrix, in, out [][]byte, add bool) {
	_ = c.engine.MultiplyRows(context.Background(), n, m.Data, m.Cols, in, out, add) // only a context has errors
}

// sizeOf returns the size of shards. Some of them may be empty if missing is true.
func sizeOf(shards [][]byte, missing bool) (n int, err error) {
	for i := 0; i < len(shards) && n == 0; i++ {
		n = len(shards[i])
	}
	if n == 0 {
		return 0, ErrShardNoData
	}
	for _, shard := range shards {
		if len(shard) != n && (len(shard) > 0 || !missing) {
			return 0, ErrShardSize
		}
	}
	return n, nil
}

// check returns the size of the shards, whose number the code determines.
func (c *Code) check(shards [][]byte, missing bool) (int, error) {
	if len(shards) != c.TotalShards() {
		return 0, ErrTooFewShards
	}
	return sizeOf(shards, missing)
}

// Encode writes the parity shards.
func (c *Code) Encode(shards [][]byte) error {
	n, err := c.check(shards, false)
	if err == nil {
		c.multiply(n, c.Parities(), shards[:c.data], shards[c.data:], false)
	}
	return err
}

// EncodeIdx adds what data shard idx contributes to the parity shards. They are complete when each data shard was
// added once to parities that were zero.
func (c *Code) EncodeIdx(dataShard []byte, idx int, parity [][]byte) error {
	switch n, err := sizeOf(parity, false); {
	case len(parity) != c.parity:
		return ErrTooFewShards
	case c.parity == 0:
		return nil
	case idx < 0 || idx >= c.data:
		return ErrInvShardNum
	case err != nil:
		return err
	case n != len(dataShard):
		return ErrShardSize
	}
	m := c.Parities()
	m.Data = m.Data[idx:] // column idx
	c.multiply(len(dataShard), m, [][]byte{dataShard}, parity, true)
	return nil
}

// Update changes the parity shards as the data does. newDatashards has the new shard for each data shard that changes,
// and nil for the others. shards has the old shard there, and all parity shards; other data shards may be nil. Data
// shards stay as they are, which is not so in klauspost/reedsolomon.
func (c *Code) Update(shards [][]byte, newDatashards [][]byte) error {
	if len(shards) != c.TotalShards() || len(newDatashards) != c.data {
		return ErrTooFewShards
	}
	n, err := sizeOf(shards, true)
	if err != nil {
		return err
	}
	if size, err := sizeOf(newDatashards, true); err != nil || size != n {
		return cmp.Or(err, ErrShardSize)
	}
	var in [][]byte // parities change by G·old + G·new
	var columns []int
	for i, shard := range newDatashards {
		if len(shard) > 0 {
			in, columns = append(in, shards[i], shard), append(columns, i, i)
		}
	}
	for _, shard := range append(in, shards[c.data:]...) {
		if len(shard) == 0 {
			return ErrInvalidInput
		}
	}
	m := gf256.NewMatrix(c.parity, len(in))
	for i := range m.Rows {
		for at, j := range columns {
			m.Row(i)[at] = c.Parities().Row(i)[j]
		}
	}
	c.multiply(n, m, in, shards[c.data:], true)
	return nil
}

// Verify reports whether the parity shards belong to the data.
func (c *Code) Verify(shards [][]byte) (bool, error) {
	n, err := c.check(shards, false)
	if err != nil || c.parity == 0 {
		return err == nil, err
	}
	sums := c.sums.Take()
	if sums == nil {
		rows := allocate(c.parity, c.width)
		sums = &rows
	}
	defer c.sums.Give(sums)
	in := make([][]byte, c.data)
	for at := 0; at < n; at += c.width {
		width := min(c.width, n-at)
		for i := range in {
			in[i] = shards[i][at:][:width]
		}
		c.multiply(width, c.Parities(), in, *sums, false)
		for i, sum := range *sums {
			if !bytes.Equal(sum[:width], shards[c.data+i][at:][:width]) {
				return false, nil
			}
		}
	}
	return true, nil
}
