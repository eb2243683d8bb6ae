package gf256

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/reedsolomon"
)

// filled returns a rows×cols matrix of the bytes, repeated.
func filled(rows, cols int, with []byte) Matrix {
	m := NewMatrix(rows, cols)
	for i := range m.Data {
		m.Data[i] = New(with[i%len(with)])
	}
	return m
}

func (m Matrix) transposed() Matrix {
	t := NewMatrix(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, e := range m.Row(i) {
			t.Row(j)[i] = e
		}
	}
	return t
}

func equal(a, b Matrix) bool {
	return a.Rows == b.Rows && a.Cols == b.Cols && bytes.Equal(Bytes(a.Data), Bytes(b.Data))
}

func TestMatrixMul(t *testing.T) {
	a, b := filled(3, 4, []byte{1, 2, 0, 77, 255, 3, 128}), filled(4, 2, []byte{9, 0, 200, 1, 17})
	c := a.Mul(b)
	for i := range 3 {
		for j := range 2 {
			var want Elem
			for k := range 4 {
				want = Add(want, Mul(a.Row(i)[k], b.Row(k)[j]))
			}
			if got := c.Row(i)[j]; got != want {
				t.Errorf("element (%d, %d) is %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestSingular(t *testing.T) {
	zero := NewMatrix(1, 1)
	twice := filled(3, 3, []byte{1, 2, 3, 4, 5, 6, 1, 2, 3})
	multiple := filled(2, 2, []byte{3, 5, 6, 10}) // the second row is 2 times the first
	for _, m := range []Matrix{zero, twice, multiple} {
		if inverse, err := m.Inverse(); !errors.Is(err, ErrSingular) {
			t.Errorf("%v has the inverse %v, %v", m, inverse, err)
		}
	}
	swap := filled(2, 2, []byte{0, 1, 1, 0}) // wants a pivot from below
	if inverse, err := swap.Inverse(); err != nil || !equal(inverse, swap) {
		t.Errorf("the inverse of an exchange is %v, %v", inverse, err)
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"NewMatrix of more elements than an int counts": func() {
			NewMatrix(1<<(bits.UintSize/2), 1<<(bits.UintSize/2))
		},
		"NewMatrix −1×−1": func() { NewMatrix(-1, -1) },
		"Mul 1×2 1×2":     func() { NewMatrix(1, 2).Mul(NewMatrix(1, 2)) },
		"Inverse 1×2":     func() { _, _ = NewMatrix(1, 2).Inverse() },
		"Inv(0)":          func() { Inv(Elem{}) },
		"Div(1, 0)":       func() { Div(New(1), Elem{}) },
		"AddScaled 1 2":   func() { AddScaled(make([]Elem, 1), New(1), make([]Elem, 2)) },
		"Decoder":         func() { _, _ = Identity(2).Decoder([]int{0}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}

// codes are the generator matrices, and klauspost's options for them.
var codes = []struct {
	name      string
	generator func(data, parity int) (Matrix, error)
	options   []reedsolomon.Option
}{
	{"vandermonde", Vandermonde, nil},
	{"cauchy", Cauchy, []reedsolomon.Option{reedsolomon.WithCauchyMatrix()}},
}

// TestGenerators compares every element with klauspost/reedsolomon, which encodes the
// identity.
func TestGenerators(t *testing.T) {
	for _, code := range codes {
		for _, c := range [][2]int{{1, 1}, {1, 255}, {255, 1}, {2, 3}, {4, 2}, {10, 4}, {17, 3}, {50, 20},
			{128, 32}, {200, 56}} {
			data, parity := c[0], c[1]
			theirs, err := reedsolomon.New(data, parity, code.options...)
			if err != nil {
				t.Fatal(err)
			}
			shards := make([][]byte, data+parity)
			for i := range shards {
				shards[i] = make([]byte, data)
				if i < data {
					shards[i][i] = 1
				}
			}
			if err := theirs.Encode(shards); err != nil {
				t.Fatal(err)
			}
			ours, err := code.generator(data, parity)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range shards {
				if !bytes.Equal(Bytes(ours.Row(i)), want) {
					t.Errorf("%s %d+%d: row %d is %v, want %v", code.name, data, parity, i, ours.Row(i), want)
				}
			}
		}
	}
}

func TestNoSuchCode(t *testing.T) {
	for _, code := range codes {
		for _, c := range [][2]int{{0, 1}, {-1, 2}, {1, -1}, {200, 57}} {
			if _, err := code.generator(c[0], c[1]); !errors.Is(err, ErrCode) {
				t.Errorf("%s %d+%d: %v", code.name, c[0], c[1], err)
			}
		}
	}
}

// subsets calls f with every choice of k of the numbers below n.
func subsets(n, k int, f func(chosen []int)) {
	var choose func(from int, chosen []int)
	choose = func(from int, chosen []int) {
		if len(chosen) == k {
			f(chosen)
			return
		}
		for i := from; i < n; i++ {
			choose(i+1, append(chosen, i))
		}
	}
	choose(0, nil)
}

// TestEverySubset: of all codes of at most 10 shards, any shards in the number of the data
// shards give all of them back.
func TestEverySubset(t *testing.T) {
	for _, code := range codes {
		for n := 1; n <= 10; n++ {
			for data := 1; data <= n; data++ {
				generator, err := code.generator(data, n-data)
				if err != nil {
					t.Fatal(err)
				}
				all := make([]int, n)
				for i := range all {
					all[i] = i
				}
				subsets(n, data, func(have []int) {
					decoder, err := generator.Decoder(have, all)
					if err != nil {
						t.Fatalf("%s %d+%d from %v: %v", code.name, data, n-data, have, err)
					}
					if !equal(decoder.Mul(generator.Select(have)), generator) {
						t.Fatalf("%s %d+%d from %v: not what was encoded", code.name, data, n-data, have)
					}
				})
			}
		}
	}
}

// TestPlainVandermonde: with the rows iʲ as they are below an identity, some shards are
// lost for good, and the inverse is refused.
func TestPlainVandermonde(t *testing.T) {
	const data, parity = 214, 4
	plain := NewMatrix(data+parity, data)
	copy(plain.Data, Identity(data).Data)
	for j := range data {
		power := New(1)
		for i := range parity {
			plain.Row(data + i)[j] = power
			power = Mul(power, New(uint8(j+1)))
		}
	}
	// The cubes of 1 and of 214 = 2⁸⁵ are both 1: parities 0 and 3 agree on shards 0 and 213.
	have := []int{data, data + 3}
	for i := 1; i < data-1; i++ {
		have = append(have, i)
	}
	if _, err := plain.Decoder(have, nil); !errors.Is(err, ErrSingular) {
		t.Errorf("got %v, want an error", err)
	}
	sound, err := Vandermonde(data, parity)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sound.Decoder(have, nil); err != nil {
		t.Error(err)
	}
}

func FuzzInverse(f *testing.F) {
	f.Add(uint8(1), []byte{0})
	f.Add(uint8(3), []byte{1, 2, 3, 4, 5, 6, 1, 2, 3})
	f.Add(uint8(20), []byte(fmt.Sprint(rand.New(rand.NewPCG(1, 2)).Perm(200))))
	f.Fuzz(func(t *testing.T, size uint8, data []byte) {
		n := int(size) % 40
		if len(data) == 0 {
			data = []byte{0}
		}
		m := filled(n, n, data)
		inverse, err := m.Inverse()
		if _, other := m.transposed().Inverse(); (err == nil) != (other == nil) {
			t.Fatalf("%v, but of the transpose %v", err, other)
		}
		if err != nil {
			if !errors.Is(err, ErrSingular) {
				t.Fatal(err)
			}
			return
		}
		if !equal(m.Mul(inverse), Identity(n)) || !equal(inverse.Mul(m), Identity(n)) {
			t.Fatalf("%v times %v is not the identity", m, inverse)
		}
	})
}
