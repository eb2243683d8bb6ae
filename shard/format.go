package shard

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"gemm/gf256"
	"gemm/internal/output"
	"gemm/rs"
)

// A shard is, in this order and little-endian,
//
//	offset  bytes
//	     0      8  magic
//	     8      2  version, 2
//	    10      1  matrix: 1 vandermonde, 2 cauchy
//	    11      1  kind of the checksums: 1 CRC-32C
//	    12      2  data shards, k
//	    14      2  parity shards, m
//	    16      2  index of this shard; those below k are data
//	    18      2  bytes of the description, D: 0, or more if the data shards are a file that stays as it is
//	    20      4  bytes of a block
//	    24      8  bytes of the file
//	    32     16  id, the same in all shards of one encoding and in no other
//	    48      4  CRC-32C of the table
//	    52      4  CRC-32C of the description, 0 without one
//	    56      4  0
//	    60      4  CRC-32C of the 60 bytes before it, here in every version
//	    64      D  description: see description
//	  64+D      T  table: 4 bytes a block, the CRC-32C of each block of the payload; if there is a description,
//	               also of each block of the k data shards, first the k blocks of stripe 0, then of stripe 1
//	64+D+T      S  payload, S = ⌈bytes of the file / k⌉
//
// and then the table, the description and the header again, so that neither a lost beginning nor a lost end takes
// them.
const (
	magic       = "gemm-rs\n"
	version     = 2
	checksums   = 1 // CRC-32C
	headerBytes = 64
	entryBytes  = 4 // of the table
)

// castagnoli is the polynomial of CRC-32C, which processors compute faster than memory delivers bytes. It detects every
// burst of up to 32 bits and, in blocks of 64 KiB, every three flipped bits (Koopman, "32-Bit Cyclic Redundancy Codes
// for Internet Applications", 2002). It misses one in 2³² of other damage.
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

	Version     int    `json:"version"` // of the format
	description string // of a file that stays as it is; empty: the data shards are files
}

// Shards returns the number of shards.
func (s Set) Shards() int { return s.Data + s.Parity }

// Payload returns the bytes of a shard's payload: the file size divided by the data shards, rounded up. The rest is
// zeros.
func (s Set) Payload() int64 { return (s.Length-1)/int64(s.Data) + 1 }

// Stripes returns the number of stripes: stripe i consists of block i of each shard.
func (s Set) Stripes() int64 { return (s.Payload()-1)/int64(s.Block) + 1 }

func (s Set) headBytes() int64 { return headerBytes + int64(len(s.description)) }

// tableBytes returns the bytes of a table.
func (s Set) tableBytes() int64 {
	if s.description != "" {
		return entryBytes * s.Stripes() * int64(1+s.Data)
	}
	return entryBytes * s.Stripes()
}

// payloadAt returns the offset of the payload.
func (s Set) payloadAt() int64 { return s.headBytes() + s.tableBytes() }

// tablesAt returns the offsets of the tables, which are equal.
func (s Set) tablesAt() [2]int64 { return [2]int64{s.headBytes(), s.payloadAt() + s.Payload()} }

// Size returns the bytes of a shard.
func (s Set) Size() int64 { return 2*s.payloadAt() + s.Payload() }

// String describes the shards.
func (s Set) String() string {
	return fmt.Sprintf("%d+%d %s shards of a file of %d bytes, id %v", s.Data, s.Parity, s.Matrix, s.Length, s.ID)
}

func (s Set) code() (*rs.Code, error) {
	var options []rs.Option
	if s.Matrix == Cauchy {
		options = append(options, rs.WithCauchyMatrix())
	}
	code, err := rs.New(s.Data, s.Parity, options...)
	if err != nil {
		err = fmt.Errorf("%d data and %d parity shards: %w", s.Data, s.Parity, err)
	}
	return code, err
}

// header is the header of a shard.
type header struct {
	Set
	index int
	table uint32 // checksum of the table
}

// encode returns the bytes of h, without the description.
func (h header) encode() []byte {
	b := make([]byte, headerBytes)
	le := binary.LittleEndian
	copy(b, magic)
	le.PutUint16(b[8:], uint16(h.Version))
	b[10], b[11] = uint8(h.Matrix), checksums
	le.PutUint16(b[12:], uint16(h.Data))
	le.PutUint16(b[14:], uint16(h.Parity))
	le.PutUint16(b[16:], uint16(h.index))
	le.PutUint16(b[18:], uint16(len(h.description)))
	le.PutUint32(b[20:], uint32(h.Block))
	le.PutUint64(b[24:], uint64(h.Length))
	copy(b[32:48], h.ID[:])
	le.PutUint32(b[48:], h.table)
	le.PutUint32(b[52:], crc32.Checksum([]byte(h.description), castagnoli))
	le.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

// isShard reports whether b begins like a shard.
func isShard(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }

// damage is the error of a shard whose bytes have changed, which begins with damaged.
type damage struct{ what string }

const damaged = "damaged: "

func (d damage) Error() string { return damaged + d.what }

// mostBytes are the bytes of a file at most, so that sizes fit in 64 bits.
const mostBytes = 1 << 52

// parseHeader reads a header of headerBytes bytes. describe returns the n bytes of the description.
func parseHeader(b []byte, describe func(n int) ([]byte, error)) (header, error) {
	le := binary.LittleEndian
	h := header{
		Set: Set{
			Data: int(le.Uint16(b[12:])), Parity: int(le.Uint16(b[14:])), Matrix: Matrix(b[10]),
			Length: int64(le.Uint64(b[24:])), Block: int(le.Uint32(b[20:])), Version: int(le.Uint16(b[8:])),
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
	case h.Version != version || b[11] != checksums:
		return h, fmt.Errorf("its version is %d with checksums of kind %d, this program reads %d and %d: use a newer gemm",
			h.Version, b[11], version, checksums)
	case h.Data < 1 || h.Parity < 1 || h.Shards() > gf256.MaxShards || h.index >= h.Shards() ||
		h.Matrix != Vandermonde && h.Matrix != Cauchy || h.Length < 1 || h.Length > mostBytes || h.Block < 1 ||
		h.Block > defaultBlock:
		return h, damage{fmt.Sprintf("the header says what cannot be: shard %d of %v in blocks of %d", h.index,
			h.Set, h.Block)}
	}
	if n := int(le.Uint16(b[18:])); n > 0 {
		text, err := describe(n)
		if err != nil {
			return h, err
		}
		h.description = string(text)
		if _, err := parseDescription(h.description); err != nil {
			return h, err
		}
	}
	if !bytes.Equal(b, h.encode()) {
		return h, damage{"the description does not have its checksum"}
	}
	return h, nil
}

// readHead reads the header of a shard of size bytes at its beginning, or else its copy at the end. With an error it
// returns also the bytes at the beginning. whole is false if one of the two is not intact.
func readHead(file io.ReaderAt, size int64) (h header, front []byte, whole bool, err error) {
	front = make([]byte, headerBytes)
	if err = readFull(file, front, 0); err != nil {
		return h, front, false, err
	}
	h, err = parseHeader(front, describer(file, func(int) int64 { return headerBytes }))
	back := make([]byte, headerBytes)
	if readFull(file, back, max(size-headerBytes, 0)) != nil {
		return h, front, false, err
	}
	last, lastErr := parseHeader(back, describer(file, func(n int) int64 { return size - headerBytes - int64(n) }))
	switch {
	case lastErr != nil || last.Size() != size:
		return h, front, false, err
	case err != nil:
		return last, front, false, nil
	}
	return h, front, h == last, nil
}

// describer returns a function that reads the n bytes of a description at the offset that at returns.
func describer(file io.ReaderAt, at func(n int) int64) func(n int) ([]byte, error) {
	return func(n int) ([]byte, error) {
		if n > mostDescription || at(n) < 0 {
			return nil, damage{fmt.Sprintf("a description of %d bytes cannot be", n)}
		}
		b := make([]byte, n)
		return b, readFull(file, b, at(n))
	}
}

// readFull reads len(p) bytes from off on.
func readFull(f io.ReaderAt, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case errors.Is(err, io.EOF):
		return damage{"it ends within what was to be read"}
	}
	return err
}

// writer writes a shard, as a sink of its payload. Until finish, both headers are zeros or not there.
type writer struct {
	header
	known bool // header.table is what the table must have
	file  *output.Pending
}

// write implements sink.
func (w *writer) write(p []byte, off int64) error {
	if _, err := w.file.WriteAt(p, w.payloadAt()+off); err != nil {
		return err
	}
	_, err := w.file.WriteAt(w.entries(p), w.tablesAt()[0]+entryBytes*(off/int64(w.Block)))
	return err
}

// entries returns the entries of a table for some blocks.
func (s Set) entries(p []byte) []byte {
	list := make([]byte, 0, entryBytes*((len(p)-1)/s.Block+1))
	for len(p) > 0 {
		n := min(s.Block, len(p))
		list = binary.LittleEndian.AppendUint32(list, crc32.Checksum(p[:n], castagnoli))
		p = p[n:]
	}
	return list
}

// finish writes the copy of the table, and the headers.
func (w *writer) finish() error {
	tables := w.tablesAt()
	sum, err := tableSum(w.file, w.Set, tables[0], func(p []byte, off int64) error {
		_, err := w.file.WriteAt(p, tables[1]+off)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: its table cannot be completed: %w", w.file.Name(), output.Cause(err))
	}
	if w.known && w.table != sum {
		return fmt.Errorf("%s: would not be what it was, so nothing was written: a block has changed with its "+
			"checksum; restore the file, look whether it is right, and encode it again", w.file.Name())
	}
	w.table = sum
	head := append(w.encode(), w.description...)
	if _, err := w.file.WriteAt(head, 0); err != nil {
		return err
	}
	_, err = w.file.WriteAt(append([]byte(w.description), head[:headerBytes]...), w.Size()-w.headBytes())
	return err
}
