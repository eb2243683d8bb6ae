package shard

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"gemm/gf256"
	"gemm/internal/output"
)

// A shard is, in this order and little-endian,
//
//	offset  bytes
//	     0      8  magic
//	     8      2  version, 1
//	    10      1  matrix: 1 vandermonde, 2 cauchy
//	    11      1  kind of the checksums: 1 CRC-32C
//	    12      2  data shards, k
//	    14      2  parity shards, m
//	    16      2  index of this shard; those below k are data
//	    18      2  0
//	    20      4  bytes of a block
//	    24      8  bytes of the file
//	    32     16  id, the same in all shards of one encoding and in no other
//	    48      4  CRC-32C of the table
//	    52      8  0
//	    60      4  CRC-32C of the 60 bytes before it, here in every version
//	    64      S  payload, S = ⌈bytes of the file / k⌉
//	  64+S         table: 4 bytes a block, the CRC-32C of each block of the payload
const (
	magic       = "gemm-rs\n"
	version     = 1
	checksums   = 1 // CRC-32C
	headerBytes = 64
	entryBytes  = 4 // of the table
)

// castagnoli is the polynomial of CRC-32C, which processors compute faster than memory delivers
// bytes. It detects every burst of up to 32 bits and, in blocks of 64 KiB, every three flipped bits
// (Koopman, "32-Bit Cyclic Redundancy Codes for Internet Applications", 2002). It misses one in 2³²
// of other damage.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Matrix names a generator matrix.
type Matrix uint8

// The matrices, with their numbers in a header.
const (
	Vandermonde Matrix = 1 // gf256.Vandermonde
	Cauchy      Matrix = 2 // gf256.Cauchy
)

// Matrices returns the names of all matrices, the default first.
func Matrices() []string { return []string{Vandermonde.String(), Cauchy.String()} }

// ParseMatrix returns the matrix with the name.
func ParseMatrix(name string) (Matrix, error) {
	for i, known := range Matrices() {
		if name == known {
			return Matrix(i + 1), nil
		}
	}
	return 0, fmt.Errorf("matrix %q: must be one of %s", name, strings.Join(Matrices(), ", "))
}

// String returns the name.
func (m Matrix) String() string {
	switch m {
	case Vandermonde:
		return "vandermonde"
	case Cauchy:
		return "cauchy"
	}
	return "matrix " + strconv.Itoa(int(m))
}

// MarshalText implements encoding.TextMarshaler.
func (m Matrix) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// ID identifies the shards of one encoding of a file. It is random: a file that is encoded twice has two IDs.
type ID [16]byte

// String returns the first digits, enough for people to compare.
func (id ID) String() string { return hex.EncodeToString(id[:4]) }

// MarshalText implements encoding.TextMarshaler, with all digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(id[:])), nil }

// Set has the common properties of the shards of a file.
type Set struct {
	ID     ID     `json:"id"`
	Data   int    `json:"data"`   // shards that are parts of the file
	Parity int    `json:"parity"` // parity shards
	Matrix Matrix `json:"matrix"`
	Length int64  `json:"length"` // bytes of the file
	Block  int    `json:"block"`  // bytes under one checksum
}

// Shards returns the number of shards.
func (s Set) Shards() int { return s.Data + s.Parity }

// Payload returns the bytes of a shard's payload: the file size divided by the data shards, rounded up. The rest is
// zeros.
func (s Set) Payload() int64 { return (s.Length-1)/int64(s.Data) + 1 }

// Size returns the bytes of a shard.
func (s Set) Size() int64 { return s.table() + entryBytes*((s.Payload()-1)/int64(s.Block)+1) }

// table returns the offset of the table.
func (s Set) table() int64 { return headerBytes + s.Payload() }

// String describes the shards.
func (s Set) String() string {
	return fmt.Sprintf("%d+%d %s shards of a file of %d bytes, id %v", s.Data, s.Parity, s.Matrix, s.Length, s.ID)
}

// generator returns the generator matrix of the code.
func (s Set) generator() (gf256.Matrix, error) {
	if s.Matrix == Cauchy {
		return gf256.Cauchy(s.Data, s.Parity)
	}
	return gf256.Vandermonde(s.Data, s.Parity)
}

// header is the header of a shard.
type header struct {
	Set
	index int
	table uint32 // checksum of the table
}

// encode returns the bytes of h.
func (h header) encode() []byte {
	b := make([]byte, headerBytes)
	le := binary.LittleEndian
	copy(b, magic)
	le.PutUint16(b[8:], version)
	b[10], b[11] = uint8(h.Matrix), checksums
	le.PutUint16(b[12:], uint16(h.Data))
	le.PutUint16(b[14:], uint16(h.Parity))
	le.PutUint16(b[16:], uint16(h.index))
	le.PutUint32(b[20:], uint32(h.Block))
	le.PutUint64(b[24:], uint64(h.Length))
	copy(b[32:48], h.ID[:])
	le.PutUint32(b[48:], h.table)
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

// isShard reports whether b begins like a shard.
func isShard(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }

// damage is the error of a shard whose bytes have changed.
type damage struct{ what string }

func (d damage) Error() string { return "damaged: " + d.what }

// parseHeader reads a header of headerBytes bytes.
func parseHeader(b []byte) (header, error) {
	le := binary.LittleEndian
	h := header{
		Set: Set{
			Data: int(le.Uint16(b[12:])), Parity: int(le.Uint16(b[14:])), Matrix: Matrix(b[10]),
			Length: int64(le.Uint64(b[24:])), Block: int(le.Uint32(b[20:])),
		},
		index: int(le.Uint16(b[16:])),
		table: le.Uint32(b[48:]),
	}
	copy(h.ID[:], b[32:48])
	switch {
	case !isShard(b):
		return h, damage{"it does not begin as a shard does"}
	case le.Uint32(b[60:]) != crc32.Checksum(b[:60], castagnoli):
		return h, damage{"the header does not have its checksum"}
	case le.Uint16(b[8:]) != version || b[11] != checksums:
		return h, fmt.Errorf("its version is %d with checksums of kind %d, this program reads %d and %d: use a newer gemm",
			le.Uint16(b[8:]), b[11], version, checksums)
	case h.Data < 1 || h.Parity < 1 || h.Shards() > gf256.MaxShards || h.index >= h.Shards() ||
		h.Matrix != Vandermonde && h.Matrix != Cauchy || h.Length < 1 || h.Length > 1<<60 || h.Block < 1 ||
		h.Block > defaultBlock:
		return h, damage{fmt.Sprintf("the header says what cannot be: shard %d of %v in blocks of %d", h.index,
			h.Set, h.Block)}
	}
	return h, nil
}

// reader is the payload of a shard as a source.
type reader struct {
	header
	file  *os.File
	sum   uint32 // of the table so far
	entry []byte
}

// openShard opens a shard that has the header.
func openShard(name string, h header) (*reader, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, headerBytes)
	err = readFull(file, b, 0)
	if err == nil && !bytes.Equal(b, h.encode()) {
		err = damage{"the header has changed"}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &reader{header: h, file: file}, nil
}

// read implements source, for a shard that was verified before.
func (r *reader) read(p []byte, off int64) error {
	if err := r.readChecked(p, off); err != nil {
		return fmt.Errorf("%s: has changed since it was verified, try again: %w", r.file.Name(), cause(err))
	}
	return nil
}

// readChecked reads the payload; off must ascend. The error is a damage if a checksum is wrong, or an error of the
// system.
func (r *reader) readChecked(p []byte, off int64) error {
	if err := readFull(r.file, p, headerBytes+off); err != nil {
		return err
	}
	first := off / int64(r.Block)
	r.entry = append(r.entry[:0], make([]byte, entryBytes*((len(p)-1)/r.Block+1))...)
	if err := readFull(r.file, r.entry, r.Set.table()+entryBytes*first); err != nil {
		return err
	}
	r.sum = crc32.Update(r.sum, castagnoli, r.entry)
	for i := 0; len(p) > 0; i++ {
		n := min(r.Block, len(p))
		if crc32.Checksum(p[:n], castagnoli) != binary.LittleEndian.Uint32(r.entry[entryBytes*i:]) {
			return damage{fmt.Sprintf("block %d, bytes %d to %d of the payload, does not have its checksum", first+int64(i), off,
				off+int64(n)-1)}
		}
		p, off = p[n:], off+int64(n)
	}
	if off == r.Payload() && r.sum != r.header.table {
		return damage{"the table of checksums does not have its own"}
	}
	return nil
}

// readFull reads len(p) bytes from off on.
func readFull(f *os.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case errors.Is(err, io.EOF):
		return damage{"it ends within what was to be read"}
	}
	return err
}

// writer writes a shard, as a sink of its payload. Until finish, the header is zeros.
type writer struct {
	header
	file  *output.Pending
	entry []byte
}

// write implements sink.
func (w *writer) write(p []byte, off int64) error {
	if _, err := w.file.WriteAt(p, headerBytes+off); err != nil {
		return err
	}
	w.entry = w.entry[:0]
	for rest := p; len(rest) > 0; {
		n := min(w.Block, len(rest))
		w.entry = binary.LittleEndian.AppendUint32(w.entry, crc32.Checksum(rest[:n], castagnoli))
		rest = rest[n:]
	}
	w.header.table = crc32.Update(w.header.table, castagnoli, w.entry)
	_, err := w.file.WriteAt(w.entry, w.Set.table()+entryBytes*(off/int64(w.Block)))
	return err
}

// finish writes the header.
func (w *writer) finish() error {
	_, err := w.file.WriteAt(w.encode(), 0)
	return err
}
