package cuda

import (
	"math"
	"testing"

	"gemm"
)

// TestCut checks that panels lie along the longer edge and cover it, and that there are more of
// them if memory is short.
func TestCut(t *testing.T) {
	few := Panels{Edge: 512, Bytes: 64 << 20, Most: 8}
	many := few
	many.Most = math.MaxInt
	const gib = 1 << 30
	for _, c := range []struct {
		p    Panels
		s    gemm.Shape
		size int
		free int64
		want Cut
	}{
		{few, gemm.Cube(100), 8, gib, Cut{false, 100, 1, 1}},
		{few, gemm.Cube(8192), 4, 80 * gib, Cut{false, 1024, 8, 3}},
		{few, gemm.Shape{M: 64, N: 1 << 20, K: 64}, 4, 80 * gib, Cut{true, 1 << 17, 8, 3}},
		// 14 GiB of shards, and where they have 256 MiB three panels take half of that.
		{many, gemm.Shape{M: 4, N: gib, K: 10}, 1, 140 * gib, Cut{true, 4793491, 224, 3}},
		{many, gemm.Shape{M: 4, N: gib, K: 10}, 1, gib / 4, Cut{true, 2396746, 448, 3}},
		{few, gemm.Cube(8192), 4, gib / 2, Cut{false, 512, 16, 3}},
		{few, gemm.Shape{M: 3, N: 2, K: 1 << 30}, 4, gib / 2, Cut{false, 1, 3, 3}}, // what stays has no room
		{few, gemm.Shape{M: 0, N: 0, K: 7}, 4, gib, Cut{false, 1, 1, 1}},
	} {
		got := c.p.Cut(c.s, c.size, c.free)
		if got != c.want {
			t.Errorf("%v of %d bytes each in %d: %+v, want %+v", c.s, c.size, c.free, got, c.want)
		}
		at := 0
		for i := range got.Count {
			first, n := got.Panel(c.s, i)
			if first != at || n < 1 && max(c.s.M, c.s.N) > 0 {
				t.Fatalf("%v: panel %d of %+v has %d from %d", c.s, i, got, n, first)
			}
			at += n
		}
		if at != max(c.s.M, c.s.N) {
			t.Errorf("%v: the panels of %+v have %d together", c.s, got, at)
		}
	}
}
