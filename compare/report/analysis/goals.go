package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare"
)

// Goal is what the developers want a ratio to be at some places, with what records say of it.
// Goals are no part of a report.
type Goal struct {
	Text    string    // what is wanted, and where
	Least   float64   // the least ratio that meets it
	Reached []Reached // what was measured
	Missing []string  // places without a figure
}

// Reached is a ratio at one place.
type Reached struct {
	Place string
	Ratio float64 // NaN: it could not be computed
}

// Verdict returns whether the goal is met: one ratio below the least is enough to miss it, and
// all places are needed to meet it.
func (g Goal) Verdict() string {
	for _, r := range g.Reached {
		if !(r.Ratio >= g.Least) {
			return "missed"
		}
	}
	switch {
	case len(g.Reached) == 0:
		return "not measured"
	case len(g.Missing) > 0:
		return "met as far as measured"
	}
	return "met"
}

// String returns the goal with its verdict and the lowest ratio.
func (g Goal) String() string {
	text := fmt.Sprintf("%s: at least %.2f, %s", g.Verdict(), g.Least, g.Text)
	if len(g.Reached) > 0 {
		low := slices.MinFunc(g.Reached, func(a, b Reached) int {
			if math.IsNaN(a.Ratio) || a.Ratio < b.Ratio {
				return -1
			}
			return 1
		})
		text += fmt.Sprintf(": lowest %.3f at %s", low.Ratio, low.Place)
	}
	if len(g.Missing) > 0 {
		text += "; no figure at " + strings.Join(g.Missing, ", ")
	}
	return text
}

// Goals returns the goals of the hosts of a document that has rows which they are about.
func Goals(doc compare.Document) []Goal {
	var all []Goal
	for _, v := range Views(doc) {
		var goals []Goal
		if c := NewContest(v); len(c.Matches) > 0 {
			goals = append(goals, libraryGoals(c, "f64")...)
			goals = append(goals, libraryGoals(c, "f32")...)
		}
		if v.HasFamily(OnGPU) {
			goals = append(goals, v.gpuGoals()...)
		}
		for _, g := range goals {
			g.Text += " (" + v.ID + ")"
			all = append(all, g)
		}
	}
	return all
}

// libraryGoals are the goals of the packed products of one type compared with libraries.
func libraryGoals(c Contest, typ string) []Goal {
	others, gonum := 0.85, 10.0
	if typ == "f32" {
		others, gonum = 0.82, 18.0
	}
	squares, small, skinny := c.of(typ, 1, kinds[0]), c.of(typ, 1, kinds[1]), c.of(typ, 1, kinds[2])
	double := c.of(typ, 2, kinds[0])
	from := func(matches []Match, n int) []Match {
		return slices.DeleteFunc(slices.Clone(matches), func(m Match) bool { return m.N < n })
	}
	at := func(sizes ...int) []Match {
		return slices.DeleteFunc(slices.Clone(squares), func(m Match) bool { return !slices.Contains(sizes, m.N) })
	}
	ofCeiling := func(m Match) float64 { return Percent(m.Own) / 100 }
	ofTwice := func(m Match) float64 { x, _ := c.Scaling(m); return x }
	goals := []Goal{
		each("of the ceiling, 1 thread", 0.88, at(1024, 2048, 4096), ofCeiling, 1024, 2048, 4096),
		each("of the ceiling, 1 thread, other sizes", others, slices.DeleteFunc(from(squares, 512), func(m Match) bool {
			return slices.Contains([]int{1024, 2048, 4096}, m.N)
		}), ofCeiling),
		average("of MKL, 1 thread, square", 1, squares, MKL),
		average("of OpenBLAS, 1 thread, square", 1.15, squares, OpenBLAS),
		each("of the fastest library, 1 thread, square", 0.92, squares, ahead),
		each("of twice one thread, 2 threads", 0.95, from(double, 1024), ofTwice),
		average("of MKL, 2 threads, square", 1, double, MKL),
		average("of OpenBLAS, 1 thread, small", 1, small, OpenBLAS),
		average("of OpenBLAS, 1 thread, skinny", 1, skinny, OpenBLAS),
		each("of gonum, 1 thread", gonum, at(1024), func(m Match) float64 {
			r, ok := m.Peer(Gonum)
			if !ok {
				return math.NaN()
			}
			return Contrast(r, m.Own).Ratio
		}, 1024),
	}
	for i := range goals {
		goals[i].Text = typ + " " + goals[i].Text
	}
	return goals
}

// ahead returns the ratio to the fastest library, NaN if there is none.
func ahead(m Match) float64 {
	best, ok := m.best()
	if !ok {
		return math.NaN()
	}
	return Contrast(best, m.Own).Ratio
}

// each returns the goal that what of says is at least so much in each of the matches, and at
// each of the sizes.
func each(text string, least float64, matches []Match, of func(Match) float64, sizes ...int) Goal {
	g := Goal{Text: text, Least: least}
	for _, m := range matches {
		sizes = slices.DeleteFunc(sizes, func(n int) bool { return n == m.N })
		if x := of(m); math.IsNaN(x) {
			g.Missing = append(g.Missing, m.Label())
		} else {
			g.Reached = append(g.Reached, Reached{m.Label(), x})
		}
	}
	for _, n := range sizes {
		g.Missing = append(g.Missing, fmt.Sprint(n))
	}
	return g
}

// average returns the goal that the geometric mean against a library is at least so much.
func average(text string, least float64, matches []Match, variant string) Goal {
	g := Goal{Text: text + ", geometric mean", Least: least}
	if m := MeanOf(matches, variant); m.Count > 0 {
		g.Reached = []Reached{{fmt.Sprintf("%d of %d sizes", m.Count, len(matches)), m.Ratio}}
	}
	return g
}

// gpuGoals are the goals of the ladder on the GPU.
func (v *View) gpuGoals() []Goal {
	f32, f64 := v.Rungs("f32"), v.Rungs("f64")
	best := func(p Problem) (compare.Record, bool) { return Quickest(f32, p, Simt) }
	rounded := func(p Problem) (compare.Record, bool) { return Quickest(f32, p, InTF32) }
	of := func(rows []compare.Record, variant string) func(Problem) (compare.Record, bool) {
		return func(p Problem) (compare.Record, bool) { return At(rows, variant, p) }
	}
	cubes := func(typ string, sizes ...int) (out []Problem) {
		for _, n := range sizes {
			out = append(out, cubeOf(typ, n))
		}
		return out
	}
	hold := func(text string, least float64, places []Problem, ours, theirs func(Problem) (compare.Record, bool)) Goal {
		g := Goal{Text: text, Least: least}
		for _, p := range places {
			r, ok := ours(p)
			o, too := theirs(p)
			if !ok || !too {
				g.Missing = append(g.Missing, p.Label())
				continue
			}
			g.Reached = append(g.Reached, Reached{p.Label() + " by " + Algorithm(r.Variant), Versus(o, r).Ratio})
		}
		return g
	}
	goals := []Goal{
		hold("f32 without tensor cores, of cuBLAS", 1, cubes("f32", 4096, 6144, 8192), best, of(f32, CuBLAS)),
		hold("f32 without tensor cores, of cuBLAS", 1.05, cubes("f32", 4095), best, of(f32, CuBLAS)),
		hold("f32 without tensor cores, of cuBLAS, where tiles do not fill the multiprocessors", 0.95,
			cubes("f32", 2048, 2049, 3072), best, of(f32, CuBLAS)),
		hold("f32 without tensor cores, of cuBLAS, shapes of the SGEMM collection", 0.95, SgemmShapes, best, of(f32, CuBLAS)),
		hold("TF32, of the fastest rung without tensor cores", 2.5, cubes("f32", 4096), rounded, best),
		hold("dmma, of cuBLAS", 0.9, cubes("f64", 4096, 8192), of(f64, DMMA), of(f64, CuBLAS)),
		hold("dmma, of cuBLAS", 1.1, cubes("f64", 4095), of(f64, DMMA), of(f64, CuBLAS)),
	}
	for _, typ := range []string{"f32", "f64"} {
		g := Goal{Text: typ + " rungs that copy 16 bytes at once, speed at 4095 of that at 4096", Least: 0.8}
		for _, k := range v.Kept(typ) {
			if k.Ragged.N == 4095 && k.Even.N == 4096 && Copies(k.Ragged) {
				g.Reached = append(g.Reached, Reached{Algorithm(k.Ragged.Variant), k.Share()})
			}
		}
		if len(g.Reached) == 0 {
			g.Missing = []string{"4095"}
		}
		if len(v.Rungs(typ)) > 0 {
			goals = append(goals, g)
		}
	}
	return goals
}
