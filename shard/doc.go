// Package shard stores a file as Reed–Solomon shards, so that some of them may be lost or damaged.
//
// A set is the shards of one file: k data shards, which are equal parts of the file, and m parity shards. The file is
// reconstructed from any k of them. The parity shards are a product of matrices over GF(2⁸),
//
//	P (m×S) = G (m×k) · D (k×S),
//
// where row j of D is data shard j, S bytes long, and G is the lower part of a generator matrix of package gf256.
// Lost shards are another such product.
//
// Shards are divided into blocks of 64 KiB, each with a checksum. Stripe i consists of block i of every shard. Damage
// in one block does not make the rest of its shard useless: a stripe is restored from any k of its blocks that are
// good, and is lost if there are fewer.
//
// The zero Coder is ready for use:
//
//   - Encode makes the shards of a file. Verify finds bad shards and blocks. Reconstruct makes the file, and the
//     shards that are lost or damaged.
//   - Protect leaves a file as it is, and writes parity shards only; the parts of the file are the data shards. Check
//     finds damage in the file and in its parity. Repair restores both. ProtectAll, CheckAll and RepairAll do the same
//     for all files of a folder.
//
// Files are read and written in slices of columns, so the memory does not depend on their size. New files get their
// names when all of them are complete and on disk.
//
// A shard is a header of 64 bytes, a table of checksums, the payload, and the first two again; docs/rs.md has the
// offsets. The payload is what klauspost/reedsolomon's Split and Encode make of the file.
package shard

import (
	"context"
	"sync"

	"gemm"
	"gemm/gf256"
	"gemm/internal/block"
)

// Coder makes shards, checks them and makes files of them, one file after the other.
type Coder struct {
	// Multiplier computes parities and lost shards. nil: the kernels of this module, on all processors. If it is an
	// Allocator, slices are in its memory.
	Multiplier gemm.Multiplier[gf256.Elem]
	// Products is the number of products that the Multiplier computes at the same time. 0: any.
	Products int
	// Autotuner sets both. It may be nil.
	Autotuner *Autotuner
	// Progress is called with the current activity, and the done and total bytes of payload. It may be nil.
	Progress func(what string, done, total int64)

	block, buffer int // bytes, 0 for the defaults: tests take small ones

	memory memory
}

// kernels multiplies by the kernels of this module, on the calling goroutine.
type kernels struct{ engine *block.Field }

var newKernels = sync.OnceValue(func() kernels { return kernels{block.HostField(block.Serial)} })

// Multiply implements gemm.Multiplier.
func (k kernels) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	return k.engine.Multiply(ctx, c.Rows, c.Cols, a.Cols, a.Data, a.Stride, b.Data, b.Stride, c.Data, c.Stride)
}

// multiplier returns Coder.Multiplier, or the default.
func (c *Coder) multiplier() gemm.Multiplier[gf256.Elem] {
	if c.Multiplier == nil {
		return newKernels()
	}
	return c.Multiplier
}

// defaultBlock is the bytes of payload under one checksum, and the least that is read at once. The table is then
// 1/16384 of the payload. Larger blocks are not read: memory would depend on the file.
const defaultBlock = 64 << 10

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
