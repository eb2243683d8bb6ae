// Package number formats numbers for readers of a report: rounded, with units, and with a dash for a missing value.
package number

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Times returns a ratio with its interval.
func Times(ratio, lo, hi float64) string {
	text := Significant(ratio)
	if known := Extent(lo, hi, Significant); known != Absent {
		text += " (" + strings.ReplaceAll(known, " ", "") + ")"
	}
	return text
}

// Absent stands for a number that is not there.
const Absent = "—"

// Revision shortens a revision to twelve digits, which identify it.
func Revision(git string) string {
	hash, dirty, _ := strings.Cut(git, "+")
	if dirty != "" {
		dirty = "+" + dirty
	}
	return hash[:min(12, len(hash))] + dirty
}

// Significant returns x with three significant digits, absent if it is not
// finite. Very small and very large numbers are given as 1.23e-16.
func Significant(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return Absent
	case x == 0:
		return "0"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if a := math.Abs(rounded); a < 1e-3 || a >= 1e6 {
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(rounded, 'f', max(decimals, 0), 64)
}

// Seconds returns a duration with three significant digits and its unit.
func Seconds(s float64) string {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return Absent
	}
	if s == 0 || s >= 1 {
		return Significant(s) + " s"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(s, 'e', 2, 64), 64)
	value, prefix := humanize.ComputeSI(rounded)
	return Significant(value) + " " + prefix + "s"
}

// ByteSize returns a number of bytes with up to three significant digits and its binary unit.
func ByteSize(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return Absent
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for n >= 999.5 && i < len(units)-1 {
		n /= 1024
		i++
	}
	text := Significant(n)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + units[i]
}

// Extent returns "lo – hi", one value if both ends are written alike, absent if there is none.
func Extent(lo, hi float64, format func(float64) string) string {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return Absent
	}
	least, most := format(lo), format(hi)
	if least == most {
		return least
	}
	return least + " – " + most
}

// Share returns a share of a whole in percent. What is below 0 or, as written, above 100 % is no
// share: it is absent, and words have to say what it is.
func Share(x float64) string {
	if !IsShare(x) {
		return Absent
	}
	return Percent(x)
}

// IsShare reports whether x, as a percentage is written, is a share of a whole.
func IsShare(x float64) bool {
	const hundred = 1.005 // which is written as 100 %
	return x >= 0 && x < hundred
}

// OfPeak returns a share of the measured peak, in percent and without the sign, with a dagger if it is written as more
// than 100.
func OfPeak(percent float64) string {
	text := Significant(percent)
	if percent > 1 && !IsShare(percent/100) {
		text += "†"
	}
	return text
}

// Percent returns a ratio in percent, which may be above 100: an efficiency, an error. Share is for parts of a whole.
func Percent(x float64) string {
	text := Significant(100 * x)
	if text != Absent {
		text += " %"
	}
	return text
}
