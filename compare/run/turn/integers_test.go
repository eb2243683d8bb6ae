package turn

import (
	"testing"

	"gemm"
	"gemm/compare/plan"
	"gemm/gemmtest"
	"gemm/serial"
)

// TestTurnsShareIntegers checks that the operands of the exact check are drawn once for a turn,
// whatever the order of the magnitudes that the variants need.
func TestTurnsShareIntegers(t *testing.T) {
	wide, err := gemm.Lookup(serial.Variants(), "serial/naive")
	gemmtest.Must(t, err)
	wide.Bound = gemm.Classical
	narrow := wide
	narrow.Bound.Largest = func(gemm.Shape, gemm.Params) float64 { return 0x1p53 / 16 }
	for _, test := range []struct {
		turn  string
		drawn []int
	}{{"x", []int{64, 4, 4, 4}}, {"", []int{64, 4, 64, 4}}} {
		var b Bench
		for i, want := range test.drawn {
			v := []gemm.Variant{wide, narrow}[i%2]
			c := plan.Request{Variant: v, Type: "f64", Shape: gemm.Cube(8), Alpha: 1, Turn: test.turn}.Case()
			x := b.prepare(t.Context(), c, 1)
			x.begin(t.Context(), plan.Budget{})
			if x.err != nil || b.operands.f64.magnitude != want {
				t.Errorf("turn %q, case %d: integers up to %d, want %d; %v", test.turn, i, b.operands.f64.magnitude, want, x.err)
			}
		}
	}
}
