package mpi

import (
	"testing"
	"unsafe"

	"gemm"
)

// TestArena checks that the matrices of an arena are zero, begin at a cache line, and do not
// overlap. They must fit in the bytes that were counted.
func TestArena(t *testing.T) {
	shapes := [][2]int{{3, 5}, {0, 7}, {1, 1}, {8, 8}, {2, 9}}
	count, elements := needed(func(take taker[float64]) {
		for _, s := range shapes {
			take(nil, s[0], s[1])
		}
	})
	if count != len(shapes) || elements != 15+0+1+64+18 {
		t.Fatalf("%d matrices with %d elements are needed", count, elements)
	}
	data := make([]float64, sharedBytes[float64](count, elements)/8)
	for i := range data {
		data[i] = -1
	}
	a := arena[float64]{base: unsafe.Pointer(unsafe.SliceData(data))}
	var all []gemm.Matrix[float64]
	for i, s := range shapes {
		if a.used%line != 0 {
			t.Errorf("matrix %d begins at byte %d", i, a.used)
		}
		all = append(all, a.matrix(s[0], s[1]))
	}
	if int(a.used) > 8*len(data) {
		t.Fatalf("%d bytes are used, %d were counted", a.used, 8*len(data))
	}
	for i, m := range all {
		for r := range m.Rows {
			for c := range m.Cols {
				if got := m.At(r, c); got != 0 {
					t.Fatalf("matrix %d has %v at (%d, %d), want 0", i, got, r, c)
				}
				m.Set(r, c, float64(i+1))
			}
		}
	}
}
