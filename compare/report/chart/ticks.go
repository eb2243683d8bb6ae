package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
)

// sizeTicks returns a tick for each size on a logarithmic axis. Labels are given in this order while there is
// room: the ends, powers of two, the others.
func sizeTicks(sizes []float64, lo, hi float64) []plot.Tick {
	place := func(x float64) float64 { return math.Log(x/lo) / math.Log(hi/lo) }
	rank := func(i int) int {
		switch _, exp := math.Frexp(sizes[i]); {
		case i == 0 || i == len(sizes)-1:
			return 0
		case sizes[i] == math.Ldexp(1, exp-1):
			return 1
		}
		return 2
	}
	order := make([]int, len(sizes))
	ticks := make([]plot.Tick, len(sizes))
	for i, x := range sizes {
		order[i], ticks[i].Value = i, x
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	const character = 0.026 // of the length of the axis
	var taken [][2]float64
	for _, i := range order {
		label := strconv.FormatFloat(sizes[i], 'f', -1, 64)
		half := character * (float64(len(label)) + 1) / 2
		from, to := place(sizes[i])-half, place(sizes[i])+half
		if slices.ContainsFunc(taken, func(t [2]float64) bool { return from < t[1] && t[0] < to }) {
			continue
		}
		taken = append(taken, [2]float64{from, to})
		ticks[i].Label = label
	}
	return ticks
}

// leastWritten and mostWritten are the powers of ten that ticks write in full.
const leastWritten, mostWritten = -4, 12

// logTicks returns the ticks of a logarithmic axis, at all digits of all decades. Powers of ten are
// labelled. If fewer than three of them are in range, 2 and 5 times a power of ten are labelled too; if
// that is still not enough, all digits are.
func logTicks(lo, hi float64) []plot.Tick {
	if !(lo > 0 && hi <= math.MaxFloat64) {
		return nil // an axis of nothing
	}
	type mark struct{ digit, exponent int }
	var marks []mark
	first := int(math.Floor(math.Log10(lo)))
	step := 1 + int(math.Log10(hi)-math.Log10(lo))/40 // more decades than any figure has: some of them
	for e := first; e <= 308 && math.Pow10(e) <= hi; e += step {
		for d := 1; d < 10; d++ {
			if v := float64(d) * math.Pow10(e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				marks = append(marks, mark{d, e})
			}
		}
	}
	var ticks []plot.Tick
	for _, digits := range [][]int{{1}, {1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		ticks = nil
		labelled := 0
		for _, m := range marks {
			t := plot.Tick{Value: float64(m.digit) * math.Pow10(m.exponent)}
			if slices.Contains(digits, m.digit) {
				t.Label = strconv.FormatFloat(t.Value, 'f', max(0, -m.exponent), 64)
				if m.exponent < leastWritten || m.exponent > mostWritten {
					t.Label = fmt.Sprintf("%de%d", m.digit, m.exponent)
				}
				labelled++
			}
			ticks = append(ticks, t)
		}
		if labelled >= 3 {
			break
		}
	}
	return ticks
}

// far is what numbers on axes are within.
const far = 1e100

// linearTicks returns labelled ticks that are 1, 2 or 5 times a power of ten apart, the widest distance with at
// least three steps between lo and hi. from is the tick at or below lo, and to is a little above hi. If
// lo equals hi, the axis has some height nevertheless.
func linearTicks(lo, hi float64) (ticks []plot.Tick, from, to float64) {
	if !(lo >= -far && hi <= far && lo <= hi) {
		lo, hi = 0, 1 // an axis of nothing
	}
	if thin := 0.1*math.Abs(hi) - (hi - lo); thin > 0 {
		lo, hi = lo-thin/2, hi+thin/2
	}
	if hi-lo < 1/far { // both are 0, or nearly
		hi = lo + 1
	}
	span := hi - lo
	step := math.Pow10(int(math.Floor(math.Log10(span / 3))))
	for _, f := range []float64{5, 2} {
		if span/(step*f) >= 3 {
			step *= f
			break
		}
	}
	first := math.Floor(lo/step + 1e-9)
	to = hi + 0.04*span
	for i := first; i*step <= to*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks, first * step, to
}

// threeDigits returns x with three significant digits and no exponent.
func threeDigits(x float64) string {
	if x == 0 {
		return "0"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(rounded))))), 64)
}
