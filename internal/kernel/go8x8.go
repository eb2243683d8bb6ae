package kernel

import (
	"encoding/binary"

	"gemm/gf256"
)

// portableField returns the micro-kernel in GF(2⁸) in portable Go.
func portableField() Field {
	return Field{Name: "go-8x8", MR: 8, NR: 8, words: func(int) int { return 256 }, pack: packWords, run: go8x8}
}

// packWords packs column l of a sliver of up to eight rows as a table of 256 words. Byte i of word x is
// x times element (i, l). The entry of each power of two is twice the one before, and the other
// entries are sums of these.
func packWords(rows, k int, dst []uint64, a []gf256.Elem, lda int) {
	for l := range k {
		var power uint64
		for i := range rows {
			power |= uint64(a[i*lda+l].Byte()) << (8 * i)
		}
		table := (*[256]uint64)(dst[256*l:])
		table[0] = 0
		for v := 1; v < 256; v *= 2 {
			for x := range v {
				table[v+x] = table[x] ^ power
			}
			// Multiply each byte by t, with t⁸ = t⁴ + t³ + t² + 1.
			power = power&0x7f7f7f7f7f7f7f7f<<1 ^ power>>7&0x0101010101010101*0x1d
		}
	}
}

// go8x8 computes a sliver of up to eight rows that packWords packed. One look-up and one addition
// multiply an element of B by eight elements of A. Each column of C has its sums in one word; eight
// words are then transposed into eight rows.
func go8x8(rows, k, n int, a []uint64, b [][]byte, bAt int, c [][]byte, cAt int, into uint8) {
	for j := 0; j < n; j += 8 {
		var s0, s1, s2, s3, s4, s5, s6, s7 uint64
		for l := range k {
			table, x := (*[256]uint64)(a[256*l:]), (*[8]byte)(b[l][bAt+j:])
			s0 ^= table[x[0]]
			s1 ^= table[x[1]]
			s2 ^= table[x[2]]
			s3 ^= table[x[3]]
			s4 ^= table[x[4]]
			s5 ^= table[x[5]]
			s6 ^= table[x[6]]
			s7 ^= table[x[7]]
		}
		sums := [8]uint64{s0, s1, s2, s3, s4, s5, s6, s7}
		transpose(&sums)
		for i, sum := range sums[:rows] {
			to := c[i][cAt+j:]
			if Into(into) == IntoAdd {
				sum ^= binary.LittleEndian.Uint64(to)
			}
			binary.LittleEndian.PutUint64(to, sum)
		}
	}
}

// transpose exchanges byte i of word j with byte j of word i. It exchanges blocks of 4×4 bytes, then
// blocks of 2×2 within them, then single bytes (Warren, Hacker's Delight, 2nd ed., section 7-3).
func transpose(x *[8]uint64) {
	for step, mask := 4, uint64(0xffffffff); step > 0; step, mask = step/2, mask^mask<<(4*step) {
		for i := range 8 {
			if i&step != 0 {
				continue
			}
			t := (x[i]>>(8*step) ^ x[i+step]) & mask
			x[i] ^= t << (8 * step)
			x[i+step] ^= t
		}
	}
}
