package verify

import (
	"slices"
	"testing"

	"gemm/gf256"
)

// TestDrawBytes checks that all elements of the field are drawn about equally often, in rows of any
// length.
func TestDrawBytes(t *testing.T) {
	const n = 1<<16 + 5
	o := Draw[gf256.Elem](layout(1, n, 1, "nn", 1, 0, 0), 3, nil)
	var counts [256]int
	for _, x := range o.B.Data {
		counts[x.Byte()]++
	}
	for x, got := range counts {
		if got < 170 || got > 350 { // 256, five standard deviations of 16 aside
			t.Errorf("%d of %d elements are %d", got, n, x)
		}
	}
	if tail := o.B.Data[n-5:]; slices.Equal(tail, make([]gf256.Elem, 5)) {
		t.Errorf("the end of a row was left out: %v", tail)
	}
}
