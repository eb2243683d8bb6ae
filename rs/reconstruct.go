package rs

import "gemm/gf256"

// Reconstruct makes the shards that are empty, from any that are not, as many as there are data shards. It takes their
// memory if their capacity is large enough. It does not verify the shards that there are.
func (c *Code) Reconstruct(shards [][]byte) error {
	return c.reconstruct(shards, func(int) bool { return true })
}

// ReconstructData is Reconstruct for the data shards.
func (c *Code) ReconstructData(shards [][]byte) error {
	return c.reconstruct(shards, func(i int) bool { return i < c.data })
}

// ReconstructSome is Reconstruct for the shards that required lists, which has a value for each shard or for each data
// shard.
func (c *Code) ReconstructSome(shards [][]byte, required []bool) error {
	if len(required) != c.data && len(required) != c.TotalShards() {
		return ErrInvalidInput
	}
	return c.reconstruct(shards, func(i int) bool { return i < len(required) && required[i] })
}

// reconstruct makes the shards that are empty and wanted.
func (c *Code) reconstruct(shards [][]byte, wanted func(i int) bool) error {
	n, err := c.check(shards, true)
	if err != nil {
		return err
	}
	have, want := make([]int, 0, c.data), make([]int, 0, c.parity)
	in, out := make([][]byte, 0, c.data), make([][]byte, 0, c.parity)
	for i, shard := range shards {
		switch {
		case len(shard) == 0 && wanted(i):
			want = append(want, i)
		case len(shard) > 0 && len(have) < c.data:
			have, in = append(have, i), append(in, shard)
		}
	}
	switch {
	case len(want) == 0:
		return nil
	case len(have) < c.data:
		return ErrTooFewShards
	}
	m, err := c.Decoder(have, want)
	if err != nil {
		return err
	}
	for _, i := range want {
		if cap(shards[i]) < n {
			shards[i] = make([]byte, n)
		}
		shards[i] = shards[i][:n]
		out = append(out, shards[i])
	}
	c.multiply(n, m, in, out, false)
	return nil
}

// mostDecoders bounds the memory of decoders, to 4 MiB.
const mostDecoders = 64

// Decoder returns the matrix that computes the shards want from the shards have, as many as there are data shards, like
// gf256.Matrix.Decoder. It keeps matrices for later calls: losses are few, and the same for many shards.
func (c *Code) Decoder(have, want []int) (m gf256.Matrix, err error) {
	if len(want) == 0 {
		return gf256.NewMatrix(0, len(have)), nil
	}
	key := make([]byte, 0, 2*gf256.MaxShards)
	for _, list := range [...][]int{have, want} {
		for _, i := range list {
			key = append(key, byte(i))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.decoders[string(key)]; ok && m.Cols == len(have) {
		return m, nil
	}
	if len(c.decoders) == mostDecoders {
		clear(c.decoders)
	}
	if m, err = c.generator.Decoder(have, want); err == nil {
		c.decoders[string(key)] = m
	}
	return m, err
}
