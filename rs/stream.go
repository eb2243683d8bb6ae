package rs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// StreamEncoder is what a Stream does; its methods are described there.
type StreamEncoder interface {
	Encode(data []io.Reader, parity []io.Writer) error
	Verify(shards []io.Reader) (bool, error)
	Reconstruct(valid []io.Reader, fill []io.Writer) error
	Split(data io.Reader, dst []io.Writer, size int64) error
	Join(dst io.Writer, shards []io.Reader, outSize int64) error
}

// StreamReadError is an error of the reader of a shard.
type StreamReadError struct {
	Err    error
	Stream int // the reader, from 0
}

// Error implements error.
func (e StreamReadError) Error() string {
	return fmt.Sprintf("rs: reading shard %d: %v", e.Stream, e.Err)
}

// Unwrap returns the error of the reader.
func (e StreamReadError) Unwrap() error { return e.Err }

// StreamWriteError is an error of the writer of a shard.
type StreamWriteError struct {
	Err    error
	Stream int // the writer, from 0; of Encode, the first parity shard is 0
}

// Error implements error.
func (e StreamWriteError) Error() string {
	return fmt.Sprintf("rs: writing shard %d: %v", e.Stream, e.Err)
}

// Unwrap returns the error of the writer.
func (e StreamWriteError) Unwrap() error { return e.Err }

// Stream is a Code for shards that are read and written one block after the other. It is a StreamEncoder. All readers
// must have the same number of bytes, else the error is an ErrShardSize.
type Stream struct {
	code  *Code
	block int
}

// NewStream returns the code with some data and parity shards, for streams.
func NewStream(dataShards, parityShards int, opts ...Option) (*Stream, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.streams < 1 {
		o.streams = 256 << 10
	}
	code, err := New(dataShards, parityShards, opts...)
	return &Stream{code, o.streams}, err
}

// blocks reads a block of each shard that has a reader, calls f with the shards, and so on until their ends. Shards
// without a reader are empty, with the capacity of a block.
func (s *Stream) blocks(in []io.Reader, f func(shards [][]byte, n int) error) error {
	shards := s.code.AllocAligned(s.block)
	for first, n := true, s.block; n == s.block; first = false {
		n = -1
		for i := range shards {
			shards[i] = shards[i][:0]
			if i >= len(in) || in[i] == nil {
				continue
			}
			got, err := io.ReadFull(in[i], shards[i][:s.block])
			switch {
			case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
				return StreamReadError{err, i}
			case n >= 0 && got != n:
				return ErrShardSize
			}
			n, shards[i] = got, shards[i][:got]
		}
		if n > 0 {
			if err := f(shards, n); err != nil {
				return err
			}
		} else if first {
			return ErrShardNoData
		}
	}
	return nil
}

func write(out []io.Writer, shards [][]byte) error {
	for i, w := range out {
		if w == nil {
			continue
		}
		n, err := w.Write(shards[i])
		if err == nil && n < len(shards[i]) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return StreamWriteError{err, i}
		}
	}
	return nil
}

// Encode reads the data shards and writes the parity shards.
func (s *Stream) Encode(data []io.Reader, parity []io.Writer) error {
	if len(data) != s.code.data || len(parity) != s.code.parity {
		return ErrTooFewShards
	}
	return s.blocks(data, func(shards [][]byte, n int) error {
		out := shards[s.code.data:]
		for i := range out {
			out[i] = out[i][:n]
		}
		if err := s.code.Encode(shards); err != nil {
			return err
		}
		return write(parity, out)
	})
}

// errWrong ends Verify.
var errWrong = errors.New("rs: a parity shard is wrong")

// Verify reports whether the parity shards belong to the data.
func (s *Stream) Verify(shards []io.Reader) (bool, error) {
	if len(shards) != s.code.TotalShards() {
		return false, ErrTooFewShards
	}
	err := s.blocks(shards, func(shards [][]byte, _ int) error {
		ok, err := s.code.Verify(shards)
		if err == nil && !ok {
			err = errWrong
		}
		return err
	})
	if err == errWrong {
		return false, nil
	}
	return err == nil, err
}

// Reconstruct reads the shards valid and writes the shards fill. Both have an element for each shard, which may be nil;
// one of the two must be.
func (s *Stream) Reconstruct(valid []io.Reader, fill []io.Writer) error {
	if total := s.code.TotalShards(); len(valid) != total || len(fill) != total {
		return ErrTooFewShards
	}
	for i := range valid {
		if valid[i] != nil && fill[i] != nil {
			return ErrReconstructMismatch
		}
	}
	return s.blocks(valid, func(shards [][]byte, _ int) error {
		if err := s.code.reconstruct(shards, func(i int) bool { return fill[i] != nil }); err != nil {
			return err
		}
		return write(fill, shards)
	})
}

// Split reads size bytes and writes them as data shards. Zeros follow the end if the size cannot be divided evenly.
func (s *Stream) Split(data io.Reader, dst []io.Writer, size int64) error {
	k := int64(s.code.data)
	switch {
	case size < 1:
		return ErrShortData
	case len(dst) != s.code.data:
		return ErrInvShardNum
	}
	n := (size-1)/k + 1
	data = io.MultiReader(io.LimitReader(data, size), bytes.NewReader(make([]byte, n*k-size)))
	for i, w := range dst {
		if w == nil {
			return StreamWriteError{ErrShardNoData, i}
		}
		if _, err := io.CopyN(w, data, n); err == io.EOF {
			return ErrShortData
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Join reads the data shards and writes their first outSize bytes.
func (s *Stream) Join(dst io.Writer, shards []io.Reader, outSize int64) error {
	if len(shards) < s.code.data {
		return ErrTooFewShards
	}
	for i, r := range shards[:s.code.data] {
		if r == nil {
			return StreamReadError{ErrShardNoData, i}
		}
	}
	_, err := io.CopyN(dst, io.MultiReader(shards[:s.code.data]...), outSize)
	if err == io.EOF {
		return ErrShortData
	}
	return err
}
