package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// absent stands for a number that is not there.
const absent = "—"

// revision shortens a revision to the twelve digits that tell it apart.
func revision(git string) string {
	hash, dirty, _ := strings.Cut(git, "+")
	if dirty != "" {
		dirty = "+" + dirty
	}
	return hash[:min(12, len(hash))] + dirty
}

// significant returns x with three significant digits, absent where it is not
// finite. Very small and very large numbers are given as 1.23e-16.
func significant(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return absent
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

// seconds returns a duration with three significant digits and its unit.
func seconds(s float64) string {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return absent
	}
	if s == 0 || s >= 1 {
		return significant(s) + " s"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(s, 'e', 2, 64), 64)
	value, prefix := humanize.ComputeSI(rounded)
	return significant(value) + " " + prefix + "s"
}

// byteSize returns a number of bytes with up to three significant digits and its
// binary unit.
func byteSize(n float64) string {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return absent
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for n >= 999.5 && i < len(units)-1 {
		n /= 1024
		i++
	}
	text := significant(n)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + units[i]
}

// extent returns "lo – hi", absent where there is none.
func extent(lo, hi float64, format func(float64) string) string {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return absent
	}
	return fmt.Sprintf("%s – %s", format(lo), format(hi))
}

// signed returns x with its sign and one decimal.
func signed(x float64) string { return fmt.Sprintf("%+.1f", x) }

// probability returns a p value: two significant digits, "< 0.0001" below that,
// which no line is broken in.
func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return absent
	case p < 1e-4:
		return "<\u00a00.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}
