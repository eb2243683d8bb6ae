package shard

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBlocks compares sets of blocks with slices of bools.
func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for turn := range 300 {
		n := 1 + r.IntN(300)
		b, want := noBlocks(int64(n)), make([]bool, n)
		for range r.IntN(1 + turn) {
			i := r.IntN(n)
			b.add(int64(i))
			want[i] = true
		}
		if turn%3 == 0 {
			from := r.IntN(n + 1)
			b.addFrom(int64(from))
			for i := from; i < n; i++ {
				want[i] = true
			}
		}
		count := 0
		for i, in := range want {
			if in {
				count++
			}
			if b.has(int64(i)) != in {
				t.Fatalf("%d of %d is %v", i, n, !in)
			}
			for _, in := range []bool{false, true} {
				next := n
				if j := slices.Index(want[i:], in); j >= 0 {
					next = i + j
				}
				if got := b.next(int64(i), in); got != int64(next) {
					t.Fatalf("after %d of %d, %v comes at %d, want %d", i, n, in, got, next)
				}
			}
		}
		if b.count() != int64(count) {
			t.Fatalf("%d of %d are in it, want %d", b.count(), n, count)
		}
		again := make([]bool, n)
		for s := range b.spans {
			for i := s[0]; i <= s[1]; i++ {
				again[i] = true
			}
		}
		if !slices.Equal(again, want) {
			t.Fatalf("the ranges are %v", b)
		}
	}
	few := noBlocks(1 << 50)
	for _, i := range []int64{7, 12, 13} {
		few.add(i)
	}
	many := noBlocks(100)
	for i := range int64(50) {
		many.add(2 * i)
	}
	for want, b := range map[string]*blocks{"": noBlocks(1 << 50), "0-1125899906842623": allBlocks(1 << 50),
		"7,12-13": few, "0,2,4,6,8,10,12,14,…": many} {
		if got := b.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStretches compares stretches with a look at each stripe.
func TestStretches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		n := 1 + r.Int64N(200)
		bad := make([]*blocks, 5)
		for i := range bad {
			bad[i] = noBlocks(n)
			for range r.IntN(4) {
				bad[i].add(r.Int64N(n))
			}
		}
		bad[4].addFrom(r.Int64N(n + 1))
		s, before := int64(0), []int{-1}
		for at := range stretches(n, bad) {
			if at.from != s || at.to <= s || slices.Equal(at.bad, before) {
				t.Fatalf("%+v after %v up to %d of %d", at, before, s, n)
			}
			for ; s < at.to; s++ {
				var want []int
				for i, b := range bad {
					if b.has(s) {
						want = append(want, i)
					}
				}
				if !slices.Equal(at.bad, want) {
					t.Fatalf("stripe %d of %d: %v, want %v", s, n, at.bad, want)
				}
			}
			before = at.bad
		}
		if s != n {
			t.Fatalf("%d of %d stripes", s, n)
		}
	}
}
