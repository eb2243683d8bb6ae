package shard

import (
	"fmt"
	"iter"
	"math/bits"
	"strconv"
)

// blocks is a set of numbers of blocks, from 0 to n−1. It has one bit for each block up to the last that is in it,
// so 1 TiB of shards takes 2 MiB at most. A tail of blocks takes none.
type blocks struct {
	n     int64
	from  int64 // all blocks from this one on are in the set
	words []uint64
}

// noBlocks returns an empty set of the numbers from 0 to n−1.
func noBlocks(n int64) *blocks { return &blocks{n: n, from: n} }

// allBlocks returns the set of all numbers from 0 to n−1.
func allBlocks(n int64) *blocks { return &blocks{n: n} }

func (b *blocks) add(i int64) {
	if i >= b.from {
		return
	}
	for int64(len(b.words)) <= i/64 {
		b.words = append(b.words, 0)
	}
	b.words[i/64] |= 1 << (i % 64)
}

func (b *blocks) addFrom(i int64) { b.from = min(b.from, max(i, 0)) }

// has reports whether block i is in the set.
func (b *blocks) has(i int64) bool {
	return i >= b.from || i/64 < int64(len(b.words)) && b.words[i/64]>>(i%64)&1 == 1
}

// count returns the number of blocks in the set.
func (b *blocks) count() int64 {
	total := b.n - b.from
	for w, word := range b.words {
		if left := b.from - 64*int64(w); left < 64 { // the tail counts the rest
			word &= 1<<max(left, 0) - 1
		}
		total += int64(bits.OnesCount64(word))
	}
	return total
}

// next returns the first block from i on that is in the set, or is not in it; n if there is none.
func (b *blocks) next(i int64, in bool) int64 {
	start, found := i, false
	for i < b.from && i/64 < int64(len(b.words)) && !found {
		word := b.words[i/64]
		if !in {
			word = ^word
		}
		if word >>= i % 64; word != 0 {
			i += int64(bits.TrailingZeros64(word))
			found = true
		} else {
			i = 64 * (i/64 + 1)
		}
	}
	switch {
	case i < b.from && (found || !in): // a bit, or none for the blocks from i on
		return i
	case in:
		return max(start, b.from)
	}
	return b.n
}

// Span is a range of blocks or stripes, including both ends.
type Span [2]int64

// String formats the span, such as 3 or 17-19.
func (s Span) String() string {
	if s[0] == s[1] {
		return strconv.FormatInt(s[0], 10)
	}
	return fmt.Sprintf("%d-%d", s[0], s[1])
}

// spans returns the ranges of the set in ascending order.
func (b *blocks) spans(yield func(Span) bool) {
	for i := b.next(0, true); i < b.n; {
		end := b.next(i, false)
		if !yield(Span{i, end - 1}) {
			return
		}
		i = b.next(end, true)
	}
}

// first returns the first most elements of a sequence.
func first[T any](most int, seq iter.Seq[T]) (list []T) {
	for s := range seq {
		if len(list) == most {
			break
		}
		list = append(list, s)
	}
	return list
}

// The most ranges that texts and JSON have of one shard or file.
const (
	mostInTexts = 8
	mostInJSON  = 1000
)

// String formats the set, such as 7,12-13. After some ranges it says that there are more.
func (b *blocks) String() string {
	return shortened(first(mostInTexts+1, b.spans), ",")
}

// stretch is a range of stripes, from one to before another, in which the same shards have bad blocks.
type stretch struct {
	from, to int64
	bad      []int // shards
}

// stretches returns the stretches of n stripes in ascending order, with the bad blocks of each shard.
func stretches(n int64, bad []*blocks) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		in, next := make([]bool, len(bad)), make([]int64, len(bad)) // is the shard bad, and until which stripe
		for s := int64(0); s < n; {
			at := stretch{from: s, to: n}
			for i, b := range bad {
				if next[i] == s {
					in[i] = b.has(s)
					next[i] = b.next(s, !in[i])
				}
				at.to = min(at.to, next[i])
				if in[i] {
					at.bad = append(at.bad, i)
				}
			}
			if !yield(at) {
				return
			}
			s = at.to
		}
	}
}
