package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare/report/document"
)

// The goals of the production variants beside the libraries of others. Shares are of
// the ceiling measured in turn, ratios of medians.
const (
	goalPeak      = 0.88 // share at the sizes of peakSizes, on one thread
	goalOthersF64 = 0.85 // share at the other sizes from 512 on
	goalOthersF32 = 0.82
	goalMKL       = 1.00 // geometric mean over square matrices
	goalOpenBLAS  = 1.15
	goalEach      = 0.92 // of the best peer, at every size
	goalTwice     = 0.95 // of twice one thread, from n = 1024 on
	goalShapes    = 1.00 // geometric mean over small and over skinny shapes, of OpenBLAS
	goalGonumF64  = 10.0 // at n = 1024
	goalGonumF32  = 18.0
)

// peakSizes are those at which a product has to come nearest to the ceiling.
var peakSizes = []int{1024, 2048, 4096}

// goal is one of them with what was reached.
type goal struct {
	text    string
	figure  string  // what was reached, in words
	reached float64 // NaN: not measured
	target  float64
}

// met fails on what is not measured.
func (g goal) met() bool { return g.reached >= g.target }

// item returns the goal as an item of a list.
func (g goal) item() document.Text {
	word := "not met"
	switch {
	case math.IsNaN(g.reached):
		word = "not measured"
	case g.met():
		word = "met"
	}
	text := fmt.Sprintf("**%s**: %s", word, g.text)
	if g.figure != "" {
		text += ": " + g.figure
	}
	return document.Text(text + ".")
}

// goals is the list of all goals of a host, met or not.
func goals(c contest) document.List {
	var items []document.Text
	for _, typ := range []string{"f64", "f32"} {
		for _, g := range goalsOf(c, typ) {
			items = append(items, g.item())
		}
	}
	return document.List{Items: items}
}

// goalsOf returns the goals of one type.
func goalsOf(c contest, typ string) []goal {
	squares, small, skinny := c.of(typ, 1, kinds[0]), c.of(typ, 1, kinds[1]), c.of(typ, 1, kinds[2])
	others, gonum := goalOthersF64, goalGonumF64
	if typ == "f32" {
		others, gonum = goalOthersF32, goalGonumF32
	}
	at := func(keep func(n int) bool) []match {
		return slices.DeleteFunc(slices.Clone(squares), func(m match) bool { return !keep(m.n) })
	}
	double := c.of(typ, 2, kinds[0])
	large := slices.DeleteFunc(slices.Clone(double), func(m match) bool { return m.n < 1024 })
	peak := func(n int) bool { return slices.Contains(peakSizes, n) }

	return []goal{
		least(fmt.Sprintf("%s, 1 thread, at least %g of the ceiling at n = 1024, 2048 and 4096", typ, goalPeak), goalPeak,
			at(peak), peakSizes, func(m match) float64 { return share(m.own) }),
		least(fmt.Sprintf("%s, 1 thread, at least %g of the ceiling at the other sizes from 512 on", typ, others), others,
			at(func(n int) bool { return n >= 512 && !peak(n) }), nil, func(m match) float64 { return share(m.own) }),
		average(fmt.Sprintf("%s, 1 thread, square matrices, geometric mean at least %.2f of MKL", typ, goalMKL), goalMKL, squares, "reference/mkl"),
		average(fmt.Sprintf("%s, 1 thread, square matrices, geometric mean at least %.2f of OpenBLAS", typ, goalOpenBLAS), goalOpenBLAS, squares, "reference/openblas"),
		least(fmt.Sprintf("%s, 1 thread, square matrices, no size below %g of the best peer", typ, goalEach), goalEach,
			squares, nil, ahead),
		least(fmt.Sprintf("%s, 2 threads, at least %g of twice one thread from n = 1024 on", typ, goalTwice), goalTwice,
			large, nil, func(m match) float64 { x, _ := c.scaling(m); return x }),
		average(fmt.Sprintf("%s, 2 threads, square matrices, geometric mean at least %.2f of MKL", typ, goalMKL), goalMKL, double, "reference/mkl"),
		average(fmt.Sprintf("%s, 1 thread, small matrices, geometric mean at least %.2f of OpenBLAS", typ, goalShapes), goalShapes, small, "reference/openblas"),
		average(fmt.Sprintf("%s, 1 thread, skinny matrices, geometric mean at least %.2f of OpenBLAS", typ, goalShapes), goalShapes, skinny, "reference/openblas"),
		least(fmt.Sprintf("%s, 1 thread, at least %g times gonum at n = 1024", typ, gonum), gonum,
			at(func(n int) bool { return n == 1024 }), []int{1024}, func(m match) float64 {
				r, ok := m.peer("serial/gonum")
				if !ok {
					return math.NaN()
				}
				return contrast(r, m.own).Ratio
			}),
	}
}

// ahead returns the ratio to the best peer, NaN where there is none.
func ahead(m match) float64 {
	best, ok := m.best()
	if !ok {
		return math.NaN()
	}
	return contrast(best, m.own).Ratio
}

// least returns the goal that what of says is at least the target in each of the
// matches, and at each of the sizes wanted. A size without a figure leaves the goal
// unmeasured, unless another one misses the target.
func least(text string, target float64, matches []match, wanted []int, of func(match) float64) goal {
	g := goal{text: text, target: target, reached: math.Inf(1)}
	var figures, missing []string
	lowest := ""
	for _, m := range matches {
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(n int) bool { return n == m.n })
		x := of(m)
		if math.IsNaN(x) {
			missing = append(missing, m.label())
			continue
		}
		figures = append(figures, fmt.Sprintf("%s at %s", significant(x), m.label()))
		if x < g.reached {
			g.reached, lowest = x, figures[len(figures)-1]
		}
	}
	for _, n := range wanted {
		missing = append(missing, fmt.Sprint(n))
	}
	if len(figures) > 0 {
		g.figure = "lowest " + lowest
		if len(figures) <= len(peakSizes) {
			g.figure = strings.Join(figures, ", ")
		}
	}
	if len(missing) > 0 {
		g.figure = strings.TrimPrefix(g.figure+"; no figure at "+strings.Join(missing, ", "), "; ")
	}
	if len(figures) == 0 || len(missing) > 0 && g.met() {
		g.reached = math.NaN()
	}
	return g
}

// average returns the goal that the geometric mean against a peer is at least the
// target.
func average(text string, target float64, matches []match, variant string) goal {
	m := meanOf(matches, variant)
	g := goal{text: text, target: target, reached: m.Ratio}
	if m.Count > 0 {
		g.figure = fmt.Sprintf("%s over %d of %d sizes", times(m.Ratio, m.Lo, m.Hi), m.Count, len(matches))
	}
	return g
}
