package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/reporttest"
)

// TestReads checks which accesses are reported: those of the tile that ran; those of the model if
// threads share nothing or if the tile is unknown; none for NVIDIA's library.
func TestReads(t *testing.T) {
	ran := func(tile string) func(*compare.Record) {
		return func(r *compare.Record) { r.Resolved = gemm.Params{"tile": tile} }
	}
	for _, test := range []struct {
		row  compare.Record
		want float64
	}{
		{reporttest.Kernel("warptile", 64, 1, ran("128x256x16/64x64/8x16")), 1./128 + 1./256 + 1./64},
		{reporttest.Kernel("warptile", 64, 1, ran("auto")), 1}, {reporttest.Kernel("warptile", 64, 1, ran("0x0x8")), 1},
		{reporttest.Kernel("packed-global", 64, 1, ran("16x16x16")), 1}, {reporttest.Kernel("naive", 64, 1, ran("32x32")), 1},
		{reporttest.Kernel("smem", 64, 1, reporttest.Unpredicted), 0},
		{reporttest.Kernel("cublas", 64, 1, ran("128x128x8")), 0},
	} {
		if got := ReadsOf(test.row); !(math.Abs(got-test.want) <= 1e-12) {
			t.Errorf("%s %v: %g, want %g", test.row.Variant, test.row.Resolved, got, test.want)
		}
	}
}

// TestGains checks that a row that is slower, level, or faster by less than leastGain has no gain.
func TestGains(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		c    Comparison
		want bool
	}{
		{Comparison{Ratio: 1.5, Outcome: Quicker}, true}, {Comparison{Ratio: 1.5, P: nan}, true},
		{Comparison{Ratio: 1.5, Outcome: Level}, false},
		{Comparison{Ratio: 1.01, Outcome: Quicker}, false}, {Comparison{Ratio: 0.5, Outcome: Slower}, false},
		{Comparison{Ratio: nan}, false},
	} {
		if got := (Climb{Comparison: test.c}).Gains(); got != test.want {
			t.Errorf("%+v: %v", test.c, got)
		}
	}
}

// TestRungs checks that there is one row for each variant and shape, in the order of the ladder. It
// is the row of a plain product with default parameters.
func TestRungs(t *testing.T) {
	v := Views(reporttest.Planted(
		reporttest.Kernel("cublas", 64, 1e-3),
		reporttest.Kernel("naive", 64, 1e-3, func(r *compare.Record) { r.Params = gemm.Params{"l2": "warm"} }),
		reporttest.Kernel("naive", 64, 2e-3),
		reporttest.Kernel("smem", 64, 1e-3, func(r *compare.Record) { r.Op = "nt" }),
		reporttest.Kernel("smem", 64, 1e-3, func(r *compare.Record) { r.LDA++ }),
		reporttest.Kernel("smem", 64, 1, reporttest.Came(compare.Wrong, "x")),
		reporttest.Kernel("smem", 64, 1e-3, reporttest.Of("block", "block", 8)),
		reporttest.Kernel("dmma", 64, 1e-3, reporttest.Double),
		reporttest.Row("serial/packed", 64, 1e-3, reporttest.Single)))[0]
	var got []string
	for _, r := range v.Rungs("f32") {
		got = append(got, fmt.Sprint(r.Variant, " ", float64(r.Median)))
	}
	if want := "cuda/naive 0.002 cuda/cublas 0.001"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestWins checks that the result is the size from which on the GPU is faster at every size.
func TestWins(t *testing.T) {
	at := func(n int, ratio float64) Facing {
		return Facing{Problem: cubeOf("f32", n), CPU: reporttest.Row("serial/packed", n, 1e-3),
			Kernel: reporttest.Kernel("naive", n, 1e-3/ratio)}
	}
	alone := at(512, 9)
	alone.CPU = compare.Record{}
	for _, test := range []struct {
		all  []Facing
		want int
	}{
		{nil, 0}, {[]Facing{alone}, 0}, {[]Facing{at(64, 2)}, 64}, {[]Facing{at(64, 0.5), at(128, 2)}, 128},
		{[]Facing{at(64, 2), at(128, 0.5), at(256, 2), at(512, 3)}, 256},
		{[]Facing{at(64, 2), at(128, 1)}, 0}, {[]Facing{at(64, 0.5), at(128, 2), alone}, 128},
	} {
		if got, _ := Wins(test.all, func(f Facing) float64 { return float64(f.Kernel.Median) }); got != test.want {
			t.Errorf("%d sizes: %d, want %d", len(test.all), got, test.want)
		}
	}
}

// TestCopies checks that the smaller of the times with and without overlap is taken, and NaN if
// neither was measured.
func TestCopies(t *testing.T) {
	for _, test := range []struct {
		change func(*compare.Record)
		want   float64
	}{
		{func(*compare.Record) {}, math.NaN()}, {reporttest.Copied(1, 2, 0), 4}, {reporttest.Copied(1, 2, 3), 3},
		{reporttest.Copied(1, 2, 5), 4},
		{func(r *compare.Record) { r.Phases = map[string]float64{"h2d": 1} }, math.NaN()},
		{func(r *compare.Record) { r.Phases = map[string]float64{"host": 7} }, 7},
	} {
		if got := WithCopies(reporttest.Kernel("naive", 64, 1, test.change)); got != test.want &&
			!(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("got %g, want %g", got, test.want)
		}
	}
}

// TestDigits checks the number of decimal digits. It is NaN if there is no error or it is unknown.
func TestDigits(t *testing.T) {
	a, b := reporttest.Kernel("naive", 64, 1, func(r *compare.Record) { r.Residual = 1e-7 }),
		reporttest.Kernel("tf32-mma", 64, 1)
	if got := DigitsLost(a, b); !(math.Abs(got-4) <= 1e-9) {
		t.Errorf("%g digits", got)
	}
	for _, residual := range []compare.Number{0, compare.None()} {
		a.Residual = residual
		if got := Digits(a); !math.IsNaN(got) {
			t.Errorf("residual %g: %g digits", float64(residual), got)
		}
	}
}
