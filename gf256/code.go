package gf256

import (
	"errors"
	"fmt"
)

// MaxShards is the most shards of a code, data and parity together: one for each
// element of the field.
const MaxShards = 256

// ErrCode says that there is no code with the given numbers of shards.
var ErrCode = errors.New("gf256: no such code")

// checkCode returns an ErrCode unless there is a code with the given numbers of shards.
func checkCode(data, parity int) error {
	if data < 1 || parity < 0 || data+parity > MaxShards {
		return fmt.Errorf("%w: %d data and %d parity shards; wants 1 or more of data and %d in all at most",
			ErrCode, data, parity, MaxShards)
	}
	return nil
}

// Vandermonde returns the (data+parity)×data generator matrix of a Reed–Solomon code, V·V₁⁻¹. V has the
// elements (i, j) = iʲ, and V₁ is its first data rows. So the first data rows of the result are the
// identity.
//
// Any data rows of V form a Vandermonde matrix of distinct points, which is invertible. The factor V₁⁻¹
// preserves that. Rows of V below an identity would not do, since some of their minors are zero (Plank
// and Ding, "Note: Correction to the 1997 tutorial on Reed–Solomon coding", 2005). Vandermonde is the
// default matrix of klauspost/reedsolomon.
func Vandermonde(data, parity int) (Matrix, error) {
	if err := checkCode(data, parity); err != nil {
		return Matrix{}, err
	}
	v := NewMatrix(data+parity, data)
	for i := range v.Rows {
		power := New(1) // 0⁰ is 1
		for j := range v.Row(i) {
			v.Row(i)[j] = power
			power = Mul(power, New(uint8(i)))
		}
	}
	top := Matrix{Rows: data, Cols: data, Data: v.Data[:data*data]}
	inverse, err := top.Inverse()
	if err != nil {
		return Matrix{}, err
	}
	return v.Mul(inverse), nil
}

// Cauchy returns the (data+parity)×data generator matrix of a Reed–Solomon code. Its first data
// rows are the identity. The other rows, i ≥ data, have the elements (i, j) = 1/(i+j).
// Every square block of a Cauchy matrix is invertible (Blömer et al., "An XOR-based
// erasure-resilient coding scheme", 1995). It is the matrix of klauspost/reedsolomon's
// WithCauchyMatrix.
func Cauchy(data, parity int) (Matrix, error) {
	if err := checkCode(data, parity); err != nil {
		return Matrix{}, err
	}
	m := NewMatrix(data+parity, data)
	copy(m.Data, Identity(data).Data)
	for i := data; i < m.Rows; i++ {
		for j := range m.Row(i) {
			m.Row(i)[j] = Inv(Add(New(uint8(i)), New(uint8(j))))
		}
	}
	return m, nil
}

// Decoder returns the matrix that computes the shards want from the shards have. m is a generator
// matrix. have lists as many shards as there are data shards; otherwise Decoder panics. The result is
// len(want)×m.Cols, with columns in the order of have. The error is ErrSingular if the shards have do
// not determine the data. For the codes above and distinct shards that cannot happen.
func (m Matrix) Decoder(have, want []int) (Matrix, error) {
	inverse, err := m.Select(have).Inverse()
	if err != nil {
		return Matrix{}, err
	}
	return m.Select(want).Mul(inverse), nil
}
