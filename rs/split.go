package rs

import "io"

// allocate returns rows of zeros. Each begins on a cache line, an odd number of lines after the row before: rows whole
// pages apart would be in the same sets of a cache, which hold only a few of them.
func allocate(rows, each int) [][]byte {
	stride := (each+127)/128*128 + 64
	all, list := make([]byte, rows*stride), make([][]byte, rows)
	for i := range list {
		list[i] = all[i*stride:][:each:each]
	}
	return list
}

// AllocAligned returns TotalShards shards of some bytes, placed so that products of them are fast.
func (c *Code) AllocAligned(each int) [][]byte { return allocate(c.TotalShards(), each) }

// Split divides data into data shards, without a copy where it can, and adds parity shards of zeros. The last data
// shards end with zeros if the data cannot be divided evenly. Capacity behind the data is overwritten and used.
func (c *Code) Split(data []byte) ([][]byte, error) {
	if len(data) == 0 {
		return nil, ErrShortData
	}
	if c.TotalShards() == 1 {
		return [][]byte{data}, nil
	}
	n := (len(data)-1)/c.data + 1
	all := data[:min(cap(data), n*c.TotalShards())]
	clear(all[len(data):])
	shards := make([][]byte, c.TotalShards())
	whole := len(all) / n
	for i := range whole {
		shards[i] = all[i*n:][:n:n]
	}
	copy(shards[whole:], allocate(len(shards)-whole, n))
	for i := whole; i*n < len(data); i++ {
		copy(shards[i], data[i*n:])
	}
	return shards, nil
}

// Join writes the first outSize bytes of the data shards.
func (c *Code) Join(dst io.Writer, shards [][]byte, outSize int) error {
	if len(shards) < c.data {
		return ErrTooFewShards
	}
	left := max(outSize, 0)
	var parts [][]byte
	for i := 0; i < c.data && left > 0; i++ {
		if len(shards[i]) == 0 {
			return ErrReconstructRequired
		}
		parts = append(parts, shards[i][:min(left, len(shards[i]))])
		left -= len(parts[i])
	}
	if left > 0 {
		return ErrShortData
	}
	for _, part := range parts {
		if _, err := dst.Write(part); err != nil {
			return err
		}
	}
	return nil
}
