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
	"sync"

	"gemm"
	"gemm/gf256"
)

// Coder makes shards, checks them and makes files of them, one file after the other.
type Coder struct {
	// Multiplier computes parities and lost shards; Verify does without. If it is a Slicer, slices are in its memory.
	Multiplier gemm.Multiplier[gf256.Elem]
	// Products is the number of products that the Multiplier computes at the same time. 0: any.
	Products int
	// Choice sets both. It may be nil.
	Choice *Choice
	// Progress is called with the current activity, and the done and total bytes of payload. It may be nil.
	Progress func(what string, done, total int64)
	// Timeline records what is done with slices. It may be nil.
	Timeline *Timeline

	block, buffer int   // bytes, 0 for the defaults: tests take small ones
	leastChoice   int64 // bytes

	memory memory
}

// defaultBlock is the bytes of payload under one checksum, and the least that is read at once. The table is then
// 1/16384 of the payload. Larger blocks are not read: memory would depend on the file.
const defaultBlock = 64 << 10

func (c *Coder) blockBytes() int { return cmp.Or(c.block, defaultBlock) }

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
