package userkernel

import (
	"strings"
	"testing"

	"gemm"
)

// TestZones checks that operands and guard zones do not overlap, and what each byte is called.
func TestZones(t *testing.T) {
	z := ZonesOf(gemm.Shape{M: 1000, N: 300, K: 77}, 4)
	if z.B < z.A+4*1000*77+zoneBytes || z.C < z.B+4*77*300+zoneBytes || z.End != z.C+4*1000*300 ||
		z.Bytes < z.End+4*zoneRows*300 || z.A%zoneAlign+z.B%zoneAlign+z.C%zoneAlign+z.Bytes%zoneAlign != 0 ||
		z.Used < 4*(1000*77+77*300+1000*300) || z.Used > z.Bytes {
		t.Errorf("%+v", z)
	}
	for at, want := range map[int64]string{
		z.A:                 "it changes A: element (0, 0) was 1.5 and is 7",
		z.A + 4*(77*5+3):    "it changes A: element (5, 3) was",
		z.A + 4*77*1000 - 1: "it changes A: element (999, 76) was",
		z.B + 4*301 + 2:     "it changes B: element (1, 1) was",
		z.C - 4:             "it writes outside C, element 1 before its first one",
		z.B - 1:             "before its first one",
		0:                   "before its first one",
		z.End:               "it writes outside C, element 1 behind its last one",
		z.End + 1200:        "it writes outside C, element 301 behind its last one",
	} {
		if got := z.Trespass(at, 1.5, 7); !strings.Contains(got, want) {
			t.Errorf("byte %d: %s, want %s", at, got, want)
		}
	}
	for _, s := range []gemm.Shape{{}, {M: 5, N: 7}, {M: 5, K: 7}, {N: 5, K: 7}} {
		if z := ZonesOf(s, 8); z.Used < int64(8*s.M*s.N) || strings.Contains(z.Trespass(z.A-1, 0, 0), "changes") {
			t.Errorf("%v: %+v", s, z)
		}
	}
}
