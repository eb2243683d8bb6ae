package rs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/klauspost/reedsolomon"

	"gemm/gemmtest"
)

var (
	_ Encoder             = (*Code)(nil)
	_ reedsolomon.Encoder = (*Code)(nil)
)

// both returns a code and klauspost's.
func both(t testing.TB, data, parity int, cauchy bool) (*Code, reedsolomon.Encoder) {
	t.Helper()
	var mine []Option
	var other []reedsolomon.Option
	if cauchy {
		mine, other = append(mine, WithCauchyMatrix()), append(other, reedsolomon.WithCauchyMatrix())
	}
	ours, err := New(data, parity, mine...)
	gemmtest.Must(t, err)
	theirs, err := reedsolomon.New(data, parity, other...)
	gemmtest.Must(t, err)
	return ours, theirs
}

// drawn returns shards of random bytes, each in memory of its own that does not begin on a cache line.
func drawn(rng *rand.Rand, shards, n int) [][]byte {
	list := make([][]byte, shards)
	for i := range list {
		skip := rng.IntN(70)
		list[i] = make([]byte, skip+n)[skip:]
		for j := range list[i] {
			list[i][j] = byte(rng.Uint32())
		}
	}
	return list
}

func clone(shards [][]byte) [][]byte {
	list := make([][]byte, len(shards))
	for i, s := range shards {
		list[i] = bytes.Clone(s)
	}
	return list
}

func same(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("%s: the shards are wrong", what)
	}
}

// TestRandomCodes compares codes of up to 256 shards with klauspost's: every method that computes shards.
func TestRandomCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		data := 1 + rng.IntN([]int{4, 20, 200}[i%3])
		parity := rng.IntN(min(257-data, []int{4, 9, 60}[i%3]))
		if i == 0 {
			data, parity = 200, 56
		}
		n := 1 + rng.IntN([]int{100, 5000}[i%2])
		if i == 1 {
			data, parity, n = 10, 4, 300_001 // more than Verify computes at once
		}
		name := fmt.Sprintf("%d+%d, %d bytes", data, parity, n)
		ours, theirs := both(t, data, parity, i%5 == 0)
		shards := drawn(rng, data+parity, n)
		want := clone(shards)
		gemmtest.Must(t, errors.Join(ours.Encode(shards), theirs.Encode(want)))
		same(t, name+", Encode", shards, want)

		added := append(clone(shards[:data]), ours.AllocAligned(n)[data:]...)
		for i := range rng.Perm(data) {
			gemmtest.Must(t, ours.EncodeIdx(added[i], i, added[data:]))
		}
		same(t, name+", EncodeIdx", added, want)

		if ok, err := ours.Verify(shards); !ok || err != nil {
			t.Fatalf("%s: Verify returns %v, %v", name, ok, err)
		}
		for _, shard := range shards {
			at := rng.IntN(n)
			shard[at] ^= 4
			if ok, err := ours.Verify(shards); ok == (parity > 0) || err != nil {
				t.Fatalf("%s, one bit wrong: Verify returns %v, %v", name, ok, err)
			}
			shard[at] ^= 4
		}

		lost, required := rng.Perm(data + parity)[:rng.IntN(parity+1)], make([]bool, data+parity)
		erased := clone(want)
		for i, at := range lost {
			erased[at] = erased[at][:0:[]int{0, n}[i%2]] // without memory, and with it
			required[at] = i%3 == 0
		}
		some, dataOnly := clone(erased), clone(erased)
		gemmtest.Must(t, errors.Join(ours.ReconstructSome(some, required), ours.ReconstructData(dataOnly),
			ours.Reconstruct(erased)))
		same(t, name+", Reconstruct", erased, want)
		same(t, name+", ReconstructData", dataOnly[:data], want[:data])
		for _, at := range lost {
			if got := some[at]; required[at] && !bytes.Equal(got, want[at]) || !required[at] && len(got) > 0 {
				t.Fatalf("%s: ReconstructSome is wrong", name)
			}
			if at >= data && len(dataOnly[at]) > 0 {
				t.Fatalf("%s: ReconstructData makes parities", name)
			}
		}

		changed, old := make([][]byte, data), clone(want)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(data)
			changed[at] = drawn(rng, 1, n)[0]
			want[at] = changed[at]
		}
		for i := range data {
			if changed[i] == nil {
				old[i] = nil
			}
		}
		before := clone(old[:data])
		gemmtest.Must(t, errors.Join(ours.Update(old, changed), theirs.Encode(want)))
		same(t, name+", Update", old[data:], want[data:])
		same(t, name+", data after Update", old[:data], before)
	}
}

// TestErasures reconstructs every set of lost shards of small codes.
func TestErasures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for data := 1; data <= 6; data++ {
		for parity := range 5 {
			c, _ := both(t, data, parity, data%2 == 0)
			want := drawn(rng, data+parity, 100)
			gemmtest.Must(t, c.Encode(want))
			for lost := range 1<<(data+parity) - 1 {
				shards, missing := clone(want), 0
				for i := range shards {
					if lost>>i&1 == 1 {
						shards[i], missing = nil, missing+1
					}
				}
				switch err := c.Reconstruct(shards); {
				case missing > parity && err != ErrTooFewShards:
					t.Fatalf("%d+%d, %b lost: the error is %v", data, parity, lost, err)
				case missing <= parity:
					gemmtest.Must(t, err)
					same(t, fmt.Sprintf("%d+%d, %b lost", data, parity, lost), shards, want)
				}
			}
		}
	}
}

// TestErrors compares the errors for bad arguments with klauspost's. Nothing is written then.
func TestErrors(t *testing.T) {
	names := map[error]error{
		nil: nil, reedsolomon.ErrInvShardNum: ErrInvShardNum, reedsolomon.ErrMaxShardNum: ErrMaxShardNum,
		reedsolomon.ErrTooFewShards: ErrTooFewShards, reedsolomon.ErrShardNoData: ErrShardNoData,
		reedsolomon.ErrShardSize: ErrShardSize, reedsolomon.ErrShortData: ErrShortData,
		reedsolomon.ErrInvalidInput: ErrInvalidInput, reedsolomon.ErrReconstructRequired: ErrReconstructRequired,
	}
	for _, code := range [][2]int{{0, 1}, {-1, 3}, {1, -1}, {1, 0}, {256, 0}, {1, 255}} {
		_, got := New(code[0], code[1])
		if _, want := reedsolomon.New(code[0], code[1]); got != names[want] {
			t.Errorf("New%v: %v, want %v", code, got, want)
		}
	}
	for _, code := range [][2]int{{256, 1}, {1, 256}, {math.MaxInt, math.MaxInt}} { // others have more
		if _, err := New(code[0], code[1]); err != ErrMaxShardNum {
			t.Errorf("New%v: %v", code, err)
		}
	}
	ours, theirs := both(t, 3, 2, false)
	shards := func(sizes ...int) (list [][]byte) {
		for _, n := range sizes {
			list = append(list, bytes.Repeat([]byte{7}, n)[:n:n])
		}
		return list
	}
	lists := [][][]byte{nil, shards(0, 0, 0, 0, 0), shards(8, 8, 8), shards(8, 8, 8, 8), shards(8, 8, 8, 8, 8),
		shards(8, 8, 8, 8, 7), shards(9, 8, 8, 8, 8), shards(8, 0, 8, 8, 8), shards(0, 0, 0, 8, 8),
		shards(8, 8, 8, 8, 0),
		shards(8, 8), shards(8, 7), shards(0, 8, 0), shards(0, 0, 0), shards(9, 0, 0), shards(8, 8, 8, 8, 8, 8)}
	for _, list := range lists {
		calls := map[string]func(e reedsolomon.Encoder, shards [][]byte) error{
			"Encode": reedsolomon.Encoder.Encode,
			"Verify": func(e reedsolomon.Encoder, s [][]byte) error {
				_, err := e.Verify(s)
				return err
			},
			"Reconstruct": reedsolomon.Encoder.Reconstruct, "ReconstructData": reedsolomon.Encoder.ReconstructData,
		}
		for i := range 6 {
			calls[fmt.Sprint("ReconstructSome, ", i)] = func(e reedsolomon.Encoder, s [][]byte) error {
				return e.ReconstructSome(s, make([]bool, i))
			}
			calls[fmt.Sprint("EncodeIdx, ", i-1)] = func(e reedsolomon.Encoder, s [][]byte) error {
				return e.EncodeIdx(make([]byte, 8), i-1, s)
			}
		}
		for i, changed := range lists {
			calls[fmt.Sprint("Update by ", i)] = func(e reedsolomon.Encoder, s [][]byte) error {
				return e.Update(s, changed)
			}
		}
		for name, call := range calls {
			got := clone(list)
			err := call(ours, got)
			if want := call(theirs, clone(list)); err != names[want] {
				t.Errorf("%s of %v: %v, want %v", name, list, err, want)
			}
			if err != nil {
				same(t, name, got, list)
			}
		}
	}
}

// TestSplit compares Split and Join with klauspost's, for data without and with capacity behind it.
func TestSplit(t *testing.T) {
	for _, code := range [][2]int{{1, 0}, {1, 1}, {3, 2}, {10, 4}, {7, 0}} {
		ours, theirs := both(t, code[0], code[1], false)
		for n := range 50 {
			for _, more := range []int{0, 1, 7, 100} {
				data := bytes.Repeat([]byte{1, 2, 3}, 60)[: n : n+more]
				want, wrong := theirs.Split(slices.Clone(data))
				got, err := ours.Split(data)
				if (err == ErrShortData) != (wrong == reedsolomon.ErrShortData) {
					t.Fatalf("%v: the error of %d bytes is %v, want %v", code, n, err, wrong)
				}
				same(t, fmt.Sprintf("%v, %d bytes", code, n), got, want)
				var joined bytes.Buffer
				if err == nil {
					gemmtest.Must(t, ours.Join(&joined, got, n))
				}
				if !bytes.Equal(joined.Bytes(), data) {
					t.Fatalf("%v: Join returns %v of %v", code, joined.Bytes(), data)
				}
			}
		}
	}
	c, _ := both(t, 3, 2, false)
	shards := [][]byte{{1}, nil, {3}}
	for i, test := range []struct{ got, want error }{
		{c.Join(io.Discard, shards[:2], 1), ErrTooFewShards}, {c.Join(io.Discard, shards, 3), ErrReconstructRequired},
		{c.Join(io.Discard, [][]byte{{1}, {2}, {3}}, 4), ErrShortData}, {c.Join(broken{}, shards, 1), io.ErrClosedPipe},
		{c.Join(broken{}, shards, -1), nil},
	} {
		if test.got != test.want {
			t.Errorf("Join %d: %v, want %v", i, test.got, test.want)
		}
	}
}

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestConcurrent: several goroutines use one code, which has a product of several goroutines itself.
func TestConcurrent(t *testing.T) {
	c, _ := both(t, 10, 4, false)
	rng := rand.New(rand.NewPCG(7, 8))
	var all sync.WaitGroup
	for range 4 {
		want := drawn(rng, 14, 70_000)
		gemmtest.Must(t, c.Encode(want))
		all.Go(func() {
			for i := range 20 {
				shards := clone(want)
				shards[i%14], shards[(i+5)%14] = nil, nil
				if err := c.Reconstruct(shards); err != nil || !slices.EqualFunc(shards, want, bytes.Equal) {
					t.Errorf("Reconstruct: %v, or wrong shards", err)
				}
				if ok, err := c.Verify(shards); !ok || err != nil {
					t.Errorf("Verify: %v, %v", ok, err)
				}
			}
		})
	}
	all.Wait()
}

// TestAllocations: Encode and Verify allocate nothing after their first call, but for a list of shards.
func TestAllocations(t *testing.T) {
	c, _ := both(t, 10, 4, false)
	shards := c.AllocAligned(4096)
	if n := testing.AllocsPerRun(20, func() { gemmtest.Must(t, c.Encode(shards)) }); n > 0 {
		t.Errorf("Encode allocates %v times", n)
	}
	verify := func() {
		if ok, err := c.Verify(shards); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	if n := testing.AllocsPerRun(20, verify); n > 1 {
		t.Errorf("Verify allocates %v times", n)
	}
}
