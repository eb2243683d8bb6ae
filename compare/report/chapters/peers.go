package chapters

import (
	"fmt"
	"math"
	"strconv"

	"gemm/compare/report/analysis"
	"gemm/compare/report/number"
)

// LibraryComparisons returns the interleaved comparisons with libraries by host.
func (d *Data) LibraryComparisons() []Part[analysis.LibraryComparison] {
	return parts(d, func(v *analysis.View) (analysis.LibraryComparison, bool) {
		c := analysis.NewLibraryComparison(v)
		return c, len(c.Cases) > 0
	})
}

// mean is a mean ratio, half its 95 % interval, and the number of shapes if some are missing.
func mean(m analysis.Mean) string {
	text := number.Significant(m.Ratio)
	if half := 100 * (math.Sqrt(m.Hi/m.Lo) - 1); half >= 0 {
		text += " ±" + strconv.FormatFloat(half, 'f', max(0, 1-int(half/10)), 64)
	}
	if m.Count > 0 && m.Count < m.Of {
		text += fmt.Sprintf(" [%d]", m.Count)
	}
	return text
}

// Kernels returns the kernels of the user by host.
func (d *Data) Kernels() []Part[[]analysis.Kernel] { return some(d, (*analysis.View).Kernels) }
