package shard

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// spoil changes a byte of a block of a shard.
func spoil(t testing.TB, dir string, set Set, shard int, block int64) {
	t.Helper()
	b := read(t, dir, FileName(shard))
	b[set.payloadAt()+block*int64(set.Block)]++
	write(t, dir, FileName(shard), b)
}

// all returns the bytes of all shards.
func all(t testing.TB, dir string, set Set) (shards [][]byte) {
	t.Helper()
	for i := range set.Shards() {
		shards = append(shards, read(t, dir, FileName(i)))
	}
	return shards
}

// TestRepairByBlock damages more shards than there are parities, each in other stripes. The repair
// restores the file, and the shards byte for byte.
func TestRepairByBlock(t *testing.T) {
	c := newCoder(t)
	data := random(4*64*20-5, 1)
	dir, set := encode(t, c, data, 4, 2, Vandermonde)
	whole := all(t, dir, set)
	for i := range 6 { // two in each stripe, and some stripes of none
		for _, block := range []int64{int64(3 * i), int64(3*i+3) % 18, 19} {
			if block < 19 || i < 2 {
				spoil(t, dir, set, i, block)
			}
		}
	}
	r, err := c.Verify(t.Context(), dir)
	if err != nil || len(r.Good()) > 0 || r.Lost.Stripes > 0 || r.Enough() != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if s := r.Shards[1]; s.State != Damaged || s.BadBlocks != 3 || s.Reason != "3 of 20 blocks are bad: 3,6,19" ||
		!slices.Equal(s.Bad, []Span{{3, 3}, {6, 6}, {19, 19}}) {
		t.Errorf("shard 1 is %+v", s)
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: out}); err != nil ||
		!bytes.Equal(read(t, out), data) {
		t.Errorf("the file does not come back: %v", err)
	}
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(), Reconstruction{Dir: dir, Repair: true})))
	for i, b := range all(t, dir, set) {
		if !bytes.Equal(b, whole[i]) {
			t.Errorf("shard %d is not what it was", i)
		}
	}
}

// TestTooManyBadBlocks: one stripe with too many bad blocks is named, and nothing is written.
func TestTooManyBadBlocks(t *testing.T) {
	c := newCoder(t)
	dir, set := encode(t, c, random(4*64*20, 1), 4, 2, Vandermonde)
	for _, at := range [][2]int{{0, 7}, {3, 7}, {5, 7}, {1, 12}, {2, 12}, {3, 12}, {1, 13}, {2, 13}, {3, 13},
		{1, 2}, {2, 2}} {
		spoil(t, dir, set, at[0], int64(at[1]))
	}
	before, damaged, top := names(t, dir), all(t, dir, set), t.TempDir()
	r, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, File: filepath.Join(top, "out"), Repair: true})
	const want = "3 of 20 stripes have fewer than 4 good blocks: 7 (bad in shards 0,3,5), " +
		"12-13 (bad in shards 1-3): copy one"
	if err == nil || !strings.Contains(err.Error(), want) || r == nil || r.Lost.Stripes != 3 || len(r.Lost.Where) != 2 {
		t.Errorf("got %v, want an error with %q", err, want)
	}
	if after := names(t, dir); !slices.Equal(after, before) || len(names(t, top)) > 0 {
		t.Errorf("left are %v and %v", after, names(t, top))
	}
	for i, b := range all(t, dir, set) {
		if !bytes.Equal(b, damaged[i]) {
			t.Errorf("shard %d was changed", i)
		}
	}
}

// TestPartsOfShards: what is left of shards is used. In each case all six shards of a 4+2 code are damaged, the others
// in single blocks.
func TestPartsOfShards(t *testing.T) {
	c := newCoder(t)
	data := random(4*64*20, 1)
	const head, table, payload = 64, 4 * 20, 64 * 20
	for name, test := range map[string]struct {
		harm   func(b []byte) []byte
		bad    int64 // blocks of shard 0
		reason string
	}{
		"no end": {harm: func(b []byte) []byte { return b[:head+table+64*12+7] },
			bad: 8, reason: "8 of 20 blocks are bad: 12-19"},
		"no copies": {harm: func(b []byte) []byte { return b[:head+table+payload] },
			reason: "144 bytes are missing at its end"},
		"no header": {harm: func(b []byte) []byte { clear(b[:head]); return b },
			reason: "a header is damaged"},
		"no 2 tables": {harm: func(b []byte) []byte { b[head]++; b[len(b)-head-table]++; return b },
			bad: 1, reason: "the table of checksums is damaged"},
		"no start": {harm: func(b []byte) []byte { clear(b[:head+table+100]); return b },
			bad: 2, reason: "a copy of the table"},
		"too long": {harm: func(b []byte) []byte { return append(b, 1, 2) },
			reason: "2 bytes are too many"},
		"no headers": {harm: func(b []byte) []byte { clear(b[:head]); clear(b[len(b)-head:]); return b }, bad: 20,
			reason: "it does not begin as a shard does"},
		"forged": {harm: func(b []byte) []byte { // as a program would that knows the format
			copy(b[head+table:], b[head+table+64:head+table+128])
			copy(b[head:head+4], b[head+4:])
			copy(b[head+table+payload:], b[head:head+4])
			return b
		}, bad: 20, reason: "the table of checksums does not have its own"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, set := encode(t, c, data, 4, 2, Cauchy)
			whole := all(t, dir, set)
			write(t, dir, FileName(0), test.harm(read(t, dir, FileName(0))))
			for i := 1; i < 6; i++ {
				spoil(t, dir, set, i, int64(i))
			}
			r, err := c.Verify(t.Context(), dir)
			gemmtest.Must(t, err)
			s := r.Shards[0]
			if s.State == Good || s.BadBlocks != test.bad || !strings.Contains(s.Reason, test.reason) {
				t.Errorf("shard 0 is %+v, want %d bad blocks and %q", s, test.bad, test.reason)
			}
			gemmtest.Must(t, failure(c.Reconstruct(t.Context(), Reconstruction{Dir: dir, Repair: true})))
			for i, b := range all(t, dir, set) {
				if !bytes.Equal(b, whole[i]) {
					t.Errorf("shard %d is not what it was", i)
				}
			}
		})
	}
}

// TestCopiesWithBadBlocks: of several copies of a shard, the one with the fewest bad blocks is used.
func TestCopiesWithBadBlocks(t *testing.T) {
	c := newCoder(t)
	dir, set := encode(t, c, random(4*64*20, 1), 4, 2, Vandermonde)
	spoil(t, dir, set, 1, 5)
	write(t, dir, "copy", read(t, dir, FileName(1)))
	spoil(t, dir, set, 1, 6)
	r, err := c.Verify(t.Context(), dir)
	if err != nil || r.Shards[1].File != "copy" || r.Shards[1].BadBlocks != 1 ||
		!slices.Equal(r.Warnings, []string{"copy is shard 1 by its header, whatever it is called: it is used as that",
			"shard 1 is there 2 times: copy is used"}) {
		t.Fatalf("%+v, %q, %v", r.Shards[1], r.Warnings, err)
	}
	gemmtest.Must(t, failure(c.Reconstruct(t.Context(), Reconstruction{Dir: dir, Repair: true})))
	if r, err := c.Verify(t.Context(), dir); err != nil || len(r.Good()) != 6 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRepairProves: if a block has a checksum that is not its own, a repair of that shard is refused, since the
// table of its checksums is not the one that its header has.
func TestRepairProves(t *testing.T) {
	c := newCoder(t)
	dir, set := encode(t, c, random(4*64*20, 1), 4, 2, Vandermonde)
	b := read(t, dir, FileName(0))
	at := set.payloadAt()
	copy(b[at:], b[at+64:at+128]) // block 0 is block 1, with its checksum
	for _, table := range set.tablesAt() {
		copy(b[table:table+4], b[table+4:])
		b[table+40]++ // so that a block is bad
	}
	write(t, dir, FileName(0), b)
	before := read(t, dir, FileName(0))
	_, err := c.Reconstruct(t.Context(), Reconstruction{Dir: dir, Repair: true})
	if err == nil || !strings.Contains(err.Error(), "000.shard: would not be what it was") ||
		!bytes.Equal(read(t, dir, FileName(0)), before) {
		t.Errorf("got %v", err)
	}
}

// FuzzHeader reads any bytes as a shard.
func FuzzHeader(f *testing.F) {
	s := Set{Data: 2, Parity: 1, Matrix: Cauchy, Length: 5, Block: 2, Version: version}
	f.Add(header{Set: s, index: 1}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, front, whole, err := readHead(bytes.NewReader(b), int64(len(b)))
		if len(front) != headerBytes {
			t.Fatalf("%d bytes of a header", len(front))
		}
		if err != nil {
			return
		}
		if h.Size() <= 0 || h.payloadAt() < headerBytes || h.Stripes() < 1 || h.index >= h.Shards() {
			t.Fatalf("%+v is taken for a header", h)
		}
		if !whole || !bytes.Equal(b[:headerBytes], h.encode()) {
			back := b[len(b)-headerBytes:]
			if !bytes.Equal(back, h.encode()) && !bytes.Equal(b[:headerBytes], h.encode()) {
				t.Fatalf("%+v is not in % x", h, b)
			}
		}
		dir := t.TempDir()
		write(t, dir, FileName(h.index), b)
		r, err := newCoder(t).Verify(t.Context(), dir)
		if err != nil {
			return
		}
		if _, err := os.Stat(filepath.Join(dir, r.Shards[h.index].File)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestForgedLength verifies shards whose headers claim the largest file of all: what is not there costs nothing.
func TestForgedLength(t *testing.T) {
	c := newCoder(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	c.Progress = func(string, int64, int64) {
		if steps++; steps > 100 {
			cancel()
		}
	}
	dir := t.TempDir()
	set := Set{Data: 4, Parity: 2, Matrix: Cauchy, Length: mostBytes, Block: defaultBlock, Version: version}
	for i := range set.Shards() {
		write(t, dir, FileName(i), append(header{Set: set, index: i}.encode(), make([]byte, 3*defaultBlock)...))
	}
	r, err := c.Verify(ctx, dir)
	if err != nil || r.Lost.Stripes != set.Stripes() || len(r.Good()) > 0 {
		t.Errorf("%v after %d steps", err, steps)
	}
	if _, err := c.Reconstruct(ctx, Reconstruction{Dir: dir, File: filepath.Join(dir, "out")}); err == nil ||
		!strings.Contains(err.Error(), "4 shards are needed and 0 are good") {
		t.Errorf("reconstruct says %v", err)
	}
}
