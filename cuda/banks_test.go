package cuda

import (
	"testing"

	"gemm"
)

// TestAccesses compares with what the headers of the kernels say, and with patterns done on
// paper.
func TestAccesses(t *testing.T) {
	type access struct {
		operand       string
		write         bool
		bytes         int
		passes, least float64
		lanes         float64
	}
	for _, test := range []struct {
		typ, name string
		tile      Tile
		want      []access
	}{
		{"f32", "smem", Tile{BM: 32, BN: 32, BK: 32},
			[]access{{"A", false, 4, 1, 1, 32}, {"B", false, 4, 1, 1, 1}, {"A", true, 4, 1, 1, 1}, {"B", true, 4, 1, 1, 1}}},
		// Two rows of threads in a warp: their rows of A are 64 words apart. Columns of
		// neighbours are 8 words apart: 16 of them meet by fours.
		{"f32", "blocktile2d", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8},
			[]access{{"A", false, 4, 2, 1, 16}, {"B", false, 4, 4, 1, 2}}},
		// "Two threads of each eight met in a bank."
		{"f32", "vectorized", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8},
			[]access{{"A", false, 16, 2, 2, 16}, {"B", false, 16, 8, 4, 2}}},
		// The two units of a row of A go to columns that are 512 words apart.
		{"f32", "transposed", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8},
			[]access{{"A", false, 16, 2, 2, 16}, {"B", false, 16, 8, 4, 2}, {"A", true, 4, 2, 1, 1},
				{"B", true, 16, 4, 4, 1}}},
		{"f32", "conflictfree", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8},
			[]access{{"A", false, 16, 2, 2, 16}, {"B", false, 16, 4, 4, 2}, {"A", true, 4, 1, 1, 1}, {"B", true, 16, 4, 4, 1}}},
		// Without padding the two columns of a row, and the rows of pairs of lanes, meet.
		{"f32", "conflictfree", Tile{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8, Pad: NoPad},
			[]access{{"A", false, 16, 2, 2, 16}, {"B", false, 16, 4, 4, 2}, {"A", true, 4, 2, 1, 1}}},
		// "In two passes instead of four."
		{"f32", "tuned", Tile{BM: 128, BN: 128, BK: 8, WM: 32, WN: 64, TM: 8, TN: 8, Stages: 4},
			[]access{{"A", false, 16, 2, 2, 8}, {"B", false, 16, 2, 2, 4}, {"A", true, 4, 1, 1, 1}}},
		// "Four of the eight that half a warp wants at once are in one bank."
		{"f64", "packed-smem", Tile{BM: 8, BN: 8, BK: 8},
			[]access{{"A", false, 8, 8, 2, 4}, {"B", false, 8, 1, 1, 8}, {"A", true, 8, 8, 2, 1},
				{"B", true, 8, 8, 2, 1}}},
		{"f64", "packed-conflictfree", Tile{BM: 8, BN: 8, BK: 8},
			[]access{{"A", false, 8, 2, 2, 4}, {"B", false, 8, 1, 1, 8}, {"A", true, 8, 2, 2, 1},
				{"B", true, 8, 8, 2, 1}}},
		{"f64", "conflictfree", Tile{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4},
			[]access{{"A", false, 16, 2, 2, 16}, {"B", false, 16, 4, 4, 2}}},
		// "The lanes that store A meet in one bank", and neighbours in a row of C read two pairs apart.
		{"f64", "transposed", Tile{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4},
			[]access{{"A", false, 16, 2, 2, 16}, {"B", false, 16, 8, 4, 2}, {"A", true, 8, 8, 2, 1}}},
		// "The 8 rows and 4 columns of registers lie in 32 different banks", as do the 8 rows of a matrix.
		{"f16", "mma-smem", Tile{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64},
			[]access{{"A", false, 4, 1, 1, 1}, {"B", false, 4, 1, 1, 1}}},
		{"f16", "mma-ldmatrix", Tile{BM: 128, BN: 128, BK: 32, WM: 64, WN: 64},
			[]access{{"A", false, 16, 4, 4, 1}, {"B", false, 16, 4, 4, 1}}},
		// "The 16 lanes cover all banks."
		{"f64", "tuned", Tile{BM: 128, BN: 128, BK: 16, WM: 64, WN: 32, Stages: 3},
			[]access{{"A", false, 8, 2, 2, 1}, {"B", false, 8, 2, 2, 1}}},
		// 32 bytes side by side are 8 words; four lanes share each.
		{"gf256", "tiled", Tile{BM: 4, BN: 64, BK: 10}, []access{{"A", false, 1, 1, 1, 32}, {"B", false, 1, 1, 1, 1}}},
		{"gf256", "word", Tile{BM: 4, BN: 1024, BK: 10, TM: 1, TN: 16},
			[]access{{"A", false, 1, 1, 1, 32}, {"B", false, 16, 4, 4, 1}}},
	} {
		r := rung(t, test.typ, test.name)
		got := r.Accesses(test.tile, r.Widest())
		if len(got) < len(test.want) {
			t.Errorf("%s/%s %v: %+v", test.typ, test.name, test.tile, got)
			continue
		}
		for i, want := range test.want {
			if a := got[i]; (access{a.Operand, a.Write, a.Bytes, a.Passes, a.Passes - a.Conflict, a.Lanes}) != want {
				t.Errorf("%s/%s %v: %+v, want %+v", test.typ, test.name, test.tile, a, want)
			}
		}
	}
}

// TestAccessesCover checks, for every setting, that the accesses reach each element of the tiles'
// slices. Each is written once and read as often as equations 14 and 15 say.
func TestAccessesCover(t *testing.T) {
	for _, typ := range gemm.TypeNames() {
		for _, r := range Ladder(typ) {
			for _, tile := range r.Tiles {
				_, block := r.Reads(tile)
				if (r.Banks != nil) != (block > 0) && r.Size() > 1 && !r.Mapped() { // tables, or slices that only wgmma reads
					t.Errorf("%s/%s has requests: %v", typ, r.Name, r.Banks != nil)
				}
				if r.Banks == nil {
					continue
				}
				size, read, threads := r.Size(), 0, r.Threads(tile)
				for _, q := range r.Banks(tile, r.Widest()) {
					written := map[int]int{}
					for thread := range threads {
						for i := range q.Count {
							if at := q.At(thread, i); at >= 0 {
								for e := at / size; e < (at+q.Bytes)/size; e++ {
									written[e]++
								}
								if at%q.Bytes != 0 {
									t.Fatalf("%s/%s %v: %d bytes of %s at %d", typ, r.Name, tile, q.Bytes, q.Operand, at)
								}
							}
						}
					}
					elements := map[string]int{"A": tile.BM * tile.BK, "B": tile.BK * tile.BN}[q.Operand]
					if len(written) != elements {
						t.Errorf("%s/%s %v: %d elements of %s, written %v; the slice has %d", typ, r.Name, tile, len(written), q.Operand,
							q.Write, elements)
					}
					if q.Write {
						for e, n := range written {
							if n != 1 {
								t.Fatalf("%s/%s %v: element %d of %s is written %d times", typ, r.Name, tile, e, q.Operand, n)
							}
						}
					} else {
						read += threads * q.Count * q.Bytes / size
					}
				}
				// A lane of a warp tile reads for the others too.
				want := block * float64(tile.BM*tile.BN*tile.BK)
				if float64(read) != want && read > 0 {
					t.Errorf("%s/%s %v: %d elements are read, want %v", typ, r.Name, tile, read, want)
				}
			}
		}
	}
}

// TestSectors checks the sectors that a warp reads for one k index: 32 rows of A and one element of B
// down a column, or 16 rows and two elements; one or two rows of A and 128 bytes of B along a row; and 8 rows and
// 4 columns of 8×8 blocks of doubles.
func TestSectors(t *testing.T) {
	for _, test := range []struct {
		typ, name string
		want      float64
	}{{"f32", "naive", 33}, {"f32", "coalesced", 5}, {"f32", "smem", 0}, {"f64", "naive", 17}, {"f64", "coalesced", 6},
		{"f64", "packed-rowmajor", 9}, {"f64", "packed-global", 12}, {"f64", "tuned", 0}, {"gf256", "naive", 2}} {
		r := rung(t, test.typ, test.name)
		if got := r.Sectors(r.Tiles[0]); got != test.want {
			t.Errorf("%s/%s: %v sectors, want %v", test.typ, test.name, got, test.want)
		}
		_, block := r.Reads(r.Tiles[0])
		if (block == 0) != (test.want > 0) {
			t.Errorf("%s/%s reads %v elements from shared memory", test.typ, test.name, block)
		}
	}
}
