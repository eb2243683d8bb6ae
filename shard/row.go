package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"gemm/internal/output"
)

// row is a source of the payload of a shard, with the checksums of its blocks.
type row struct {
	set  Set
	name string // of the file, for errors
	part        // the payload
	size int64  // bytes of the file

	sums       io.ReaderAt
	at, stride int64 // the checksum of block i has the offset at + i·stride

	close func()
}

// openShard opens a shard that has the header, for its payload. intact is the number of its tables of checksums that
// have their own checksum. If there is none, a checksum still counts for the block that has it.
func openShard(name string, h header) (r *row, intact int, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	at, intact := findTable(file, h)
	return &row{
		set: h.Set, name: name, part: part{file: file, start: h.payloadAt(), length: h.payloadAt() + h.Payload()},
		size: info.Size(), sums: file, at: at, stride: entryBytes, close: func() { _ = file.Close() },
	}, intact, nil
}

// findTable returns the number of tables that have the checksum in h, and the offset of the first of them, or else of
// the first table.
func findTable(file io.ReaderAt, h header) (at int64, intact int) {
	tables := h.tablesAt()
	at = tables[0]
	for _, t := range tables {
		if sum, err := tableSum(file, h.Set, t, nil); err == nil && sum == h.table {
			if intact == 0 {
				at = t
			}
			intact++
		}
	}
	return at, intact
}

// tableSum returns the checksum of the table at an offset. It calls each, if not nil, with the pieces that it reads.
func tableSum(file io.ReaderAt, s Set, at int64, each func(p []byte, off int64) error) (sum uint32, err error) {
	p := make([]byte, min(checkBytes, s.tableBytes()))
	for off := int64(0); off < s.tableBytes() && err == nil; off += int64(len(p)) {
		p = p[:min(int64(len(p)), s.tableBytes()-off)]
		if err = readFull(file, p, at+off); err == nil && each != nil {
			err = each(p, off)
		}
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum, err
}

// read implements source, for blocks that were good before.
func (r *row) read(p []byte, off int64) error {
	if err := r.readChecked(p, off, nil); err != nil {
		return fmt.Errorf("%s: has changed since it was verified, try again: %w", r.name, output.Cause(err))
	}
	return nil
}

// readChecked reads blocks of the payload from off on. The error is damage if a block does not have its checksum, or
// an error of the system. If bad is not nil, blocks without their checksums are added to it instead.
func (r *row) readChecked(p []byte, off int64, bad func(block int64)) error {
	switch err := r.part.read(p, off); {
	case errors.Is(err, io.EOF):
		return damage{"it ends too early"}
	case err != nil:
		return err
	}
	return r.compare(p, off, bad)
}

// compare compares blocks of the payload with their checksums, as readChecked says.
func (r *row) compare(p []byte, off int64, bad func(block int64)) error {
	first, n := off/int64(r.set.Block), int64((len(p)-1)/r.set.Block+1)
	entries := make([]byte, (n-1)*r.stride+entryBytes)
	if err := readFull(r.sums, entries, r.at+first*r.stride); err != nil {
		return err
	}
	for i := range n {
		block := p[:min(r.set.Block, len(p))]
		p = p[len(block):]
		switch {
		case crc32.Checksum(block, castagnoli) == binary.LittleEndian.Uint32(entries[i*r.stride:]):
		case bad == nil:
			return damage{fmt.Sprintf("block %d does not have its checksum", first+i)}
		default:
			bad(first + i)
		}
	}
	return nil
}

// proof is a sink that compares what is restored with its checksums.
type proof struct{ *row }

// write implements sink.
func (r proof) write(p []byte, off int64) error {
	if err := r.compare(p, off, nil); err != nil {
		return fmt.Errorf("%s: would not be what it was, so nothing was written: %w", r.name, err)
	}
	return nil
}

// check reads the whole payload and returns the bad blocks. If the system could not return some of them, err is the
// first error.
func (r *row) check(ctx context.Context, done *meter) (bad *blocks, err error) {
	bad = noBlocks(r.set.Stripes())
	block := int64(r.set.Block)
	if there := max(r.size-r.start, 0); there < min(r.length-r.start, r.set.Payload()) {
		bad.addFrom(there / block) // these are not read
	}
	width := max(checkBytes/block, 1)
	p := make([]byte, min(width*block, r.set.Payload()))
	read := int64(0)
	for i := int64(0); i < bad.from && ctx.Err() == nil; i += width {
		p = p[:min(int64(len(p)), r.set.Payload()-i*block)]
		if r.readChecked(p, i*block, bad.add) != nil { // which of them?
			for at := i; at < min(i+width, bad.from); at++ {
				one := p[:min(block, r.set.Payload()-at*block)]
				if failed := r.readChecked(one, at*block, bad.add); failed != nil {
					bad.add(at)
					if !errors.As(failed, &damage{}) && err == nil {
						err = failed
					}
				}
			}
		}
		done.add(int64(len(p)))
		read += int64(len(p))
	}
	if left := r.set.Payload() - read; left > 0 {
		done.add(left)
	}
	return bad, err
}

// check reads the payload of a shard whose header is known. It completes the state and the reason, and finds the bad
// blocks.
func (r *Report) check(ctx context.Context, f *found, done *meter) {
	f.bad = allBlocks(f.header.Stripes())
	in, intact, err := openShard(filepath.Join(r.Dir, f.name), f.header)
	if err != nil {
		f.setState(Unreadable, output.Cause(err).Error())
		return
	}
	defer in.close()
	f.bad, err = in.check(ctx, done)
	bad := f.bad.count()
	switch {
	case err != nil && bad == f.bad.n:
		f.setState(Unreadable, output.Cause(err).Error())
	case err != nil:
		f.setState(Damaged, fmt.Sprintf("%s (%v)", badText(f.bad), output.Cause(err)))
	case bad > 0:
		f.setState(Damaged, badText(f.bad))
	}
	switch {
	case intact == 0 && bad == 0: // blocks and checksums agree and are not what was written
		f.bad = allBlocks(f.bad.n)
		f.setState(Damaged, "the table of checksums does not have its own")
	case f.state == Truncated: // of course
	case intact == 0:
		f.setState(Damaged, "the table of checksums is damaged")
	case intact < len(f.header.tablesAt()):
		f.setState(Damaged, "a copy of the table of checksums is damaged")
	}
}

// badText says which blocks are bad.
func badText(bad *blocks) string {
	n := bad.count()
	switch {
	case n == bad.n:
		return "no block is good"
	case n == 1:
		return fmt.Sprintf("1 of %d blocks is bad: %v", bad.n, bad)
	}
	return fmt.Sprintf("%d of %d blocks are bad: %v", n, bad.n, bad)
}

// setState sets the state of a file, unless it has a bad one already, and adds the reason.
func (f *found) setState(state State, reason string) {
	switch f.state {
	case Good:
		f.state, f.reason = state, reason
	case Damaged, Truncated:
		f.reason += "; " + reason
	}
}

// checkBytes is the approximate number of bytes that are checked at once, readers the largest number of shards.
const (
	checkBytes = 1 << 20
	readers    = 16
)
