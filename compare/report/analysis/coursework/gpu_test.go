package coursework

import (
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// TestElements counts the elements of C that a thread computes: a warpgroup that only starts copies computes none.
func TestElements(t *testing.T) {
	for _, test := range []struct {
		variant, tile string
		threads, want int
		access        string
	}{
		{"cuda/doublebuffer", "128x128x8/8x8", 256, 64, "wide"},
		{"cuda/tf32-wgmma", "128x128x32", 256, 64, "engine"},
		{"cuda/tf32-wgmma-ws", "256x128x32", 384, 128, "engine"},
		{"cuda/f16x3", "128x128x64", 384, 64, "engine"},
		{"cuda/smem", "", 1024, 0, "shared"},
	} {
		r := record.Record{Of: reporttest.Variant(test.variant)}
		r.Variant, r.Type, r.Resolved = test.variant, "f32", gemm.Params{"tile": test.tile}
		r.GPU = &record.Device{Threads: test.threads}
		if got := Elements(r); got != test.want {
			t.Errorf("%s: %d elements, want %d", test.variant, got, test.want)
		}
		if got := Access(r); got != test.access {
			t.Errorf("%s: access %s, want %s", test.variant, got, test.access)
		}
	}
}
