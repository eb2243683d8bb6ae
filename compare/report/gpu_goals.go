package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// The goals of the ladder: ratios of the median of the row that it is held against over
// its own, except for the share that is kept, which is one of speeds.
const (
	goalSIMTLarge  = 1.00 // best rung without tensor cores over cuBLAS, at simtLarge
	goalSIMTRagged = 1.05 // at 4095
	goalSIMTOthers = 0.95 // at simtOthers, and at the shapes of the SGEMM collection
	goalTF32       = 2.50 // tf32-wmma over the best rung without tensor cores, at 4096
	goalDMMA       = 0.90 // dmma over cuBLAS, at dmmaLarge
	goalDMMARagged = 1.10 // at 4095
	goalRagged     = 0.80 // of its rate at 4096 that a rung with wide copies keeps at 4095
)

// The sizes of the goals.
var (
	simtLarge  = []problem{cubeOf("f32", 4096), cubeOf("f32", 6144), cubeOf("f32", 8192)}
	simtOthers = []problem{cubeOf("f32", 2048), cubeOf("f32", 2049), cubeOf("f32", 3072)}
	dmmaLarge  = []problem{cubeOf("f64", 4096), cubeOf("f64", 8192)}
)

// sgemmShapes are the eight of the SGEMM collection.
var sgemmShapes = func() []problem {
	var out []problem
	for _, m := range []int{2048, 4096} {
		for _, n := range []int{2048, 4096} {
			for _, k := range []int{512, 1024} {
				out = append(out, shapeOf("f32", m, n, k))
			}
		}
	}
	return out
}()

// shapeOf returns the plain product of a type and shape.
func shapeOf(typ string, m, n, k int) problem {
	return problem{typ: typ, op: "nn", alpha: 1, m: m, n: n, k: k, lda: k, ldb: n, ldc: n, threads: 1}
}

func cubeOf(typ string, n int) problem { return shapeOf(typ, n, n, n) }

// aim is a goal with what was reached at each of its places.
type aim struct {
	key     string
	target  float64
	reached []reached
	missing []problem // places without a figure
}

// reached is a ratio at one place, by a rung where the goal leaves it open.
type reached struct {
	problem
	by string
	comparison
}

// verdict returns the word for a: one figure below the target is enough to miss it, and
// all are needed to meet it.
func (a aim) verdict() string {
	for _, r := range a.reached {
		if !(r.Ratio >= a.target) {
			return "aim.missed"
		}
	}
	switch {
	case len(a.reached) == 0:
		return "aim.unmeasured"
	case len(a.missing) > 0:
		return "aim.sofar"
	}
	return "aim.met"
}

// aims returns all goals.
func (v *view) aims() []aim {
	f32, f64 := v.rungs("f32"), v.rungs("f64")
	best := func(p problem) (compare.Record, bool) { return quickest(f32, p, simt) }
	of := func(rows []compare.Record, variant string) func(problem) (compare.Record, bool) {
		return func(p problem) (compare.Record, bool) { return at(rows, variant, p) }
	}
	hold := func(key string, target float64, places []problem, ours, theirs func(problem) (compare.Record, bool)) aim {
		a := aim{key: key, target: target}
		for _, p := range places {
			r, ok := ours(p)
			o, too := theirs(p)
			if !ok || !too {
				a.missing = append(a.missing, p)
				continue
			}
			a.reached = append(a.reached, reached{p, r.Variant, beside(o, r)})
		}
		return a
	}
	all := []aim{
		hold("aim.simt.large", goalSIMTLarge, simtLarge, best, of(f32, cublas)),
		hold("aim.simt.ragged", goalSIMTRagged, []problem{cubeOf("f32", 4095)}, best, of(f32, cublas)),
		hold("aim.simt.others", goalSIMTOthers, simtOthers, best, of(f32, cublas)),
		hold("aim.simt.shapes", goalSIMTOthers, sgemmShapes, best, of(f32, cublas)),
		hold("aim.tf32", goalTF32, []problem{cubeOf("f32", 4096)}, of(f32, tf32WMMA), best),
		hold("aim.dmma.large", goalDMMA, dmmaLarge, of(f64, dmma), of(f64, cublas)),
		hold("aim.dmma.ragged", goalDMMARagged, []problem{cubeOf("f64", 4095)}, of(f64, dmma), of(f64, cublas)),
	}
	for _, typ := range []string{"f32", "f64"} {
		a := aim{key: "aim.ragged", target: goalRagged, missing: []problem{cubeOf(typ, 4095)}}
		for _, k := range v.kept(typ) {
			if k.ragged.N == 4095 && k.even.N == 4096 && copies(k.ragged) {
				nan := math.NaN()
				a.missing = nil
				a.reached = append(a.reached, reached{problemOf(k.ragged), k.ragged.Variant, comparison{Ratio: k.share(), Lo: nan, Hi: nan, P: nan}})
			}
		}
		if len(a.reached) > 0 || len(v.rungs(typ)) > 0 {
			all = append(all, a)
		}
	}
	return all
}

// gpuGoals is the list of goals, if there is a figure for any.
func (b *builder) gpuGoals(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-goals", "gpu-goals.title")
	s.Text(b.Say("gpu-goals.intro"))
	aims := v.aims()
	if !slices.ContainsFunc(aims, func(a aim) bool { return len(a.reached) > 0 }) {
		return s, false
	}
	var items []document.Text
	for _, a := range aims {
		args := text.Args{"Type": a.typ(), "Target": fmt.Sprintf("%.2f", a.target)}
		if a.key != "aim.simt.shapes" {
			args["Sizes"] = a.places(b)
		}
		sentence := b.Say("aim", text.Args{"Verdict": b.Say(a.verdict()), "Aim": b.Say(a.key, args)})
		sentence += b.figures(a)
		if len(a.missing) > 0 {
			sentence += b.Say("aim.missing", text.Args{"Sizes": b.sizes(a.missing)})
		}
		items = append(items, sentence+b.Say("stop"))
	}
	var bad, good int
	for _, r := range v.pick(byGPU) {
		switch {
		case r.Status == compare.OK:
			good++
		case r.Status == compare.Wrong || r.Status == compare.Failed || r.Status == compare.Timeout:
			bad++
		}
	}
	word := "aim.met"
	if bad > 0 {
		word = "aim.missed"
	}
	items = append(items, b.Say("aim", text.Args{
		"Verdict": b.Say(word), "Aim": b.Say("aim.ok", text.Args{"Good": good, "Bad": bad}),
	})+b.Say("stop"))
	s.List(items)
	return s, true
}

// figures has what was reached, the places and the rungs where they differ.
func (b *builder) figures(a aim) document.Text {
	if len(a.reached) == 0 {
		return ""
	}
	first := a.reached[0]
	differ := func(other func(reached) bool) bool { return slices.ContainsFunc(a.reached, other) }
	places := differ(func(r reached) bool { return r.problem != first.problem })
	rungs := differ(func(r reached) bool { return r.by != first.by })
	var figures []document.Text
	for _, r := range a.reached {
		figure := document.Text(thousandths(r.Ratio))
		if known := extent(r.Lo, r.Hi, thousandths); known != absent {
			figure += " (" + document.Text(strings.ReplaceAll(known, " ", "")) + ")"
		}
		if places {
			figure = b.Say("aim.at", text.Args{"Figure": figure, "Size": r.label()})
		}
		if rungs {
			figure = b.Say("aim.by", text.Args{"Figure": figure, "Rung": document.Literal(algorithm(r.by))})
		}
		figures = append(figures, figure)
	}
	sentence := b.Join(figures)
	if !rungs {
		key := "aim.by"
		if places {
			key = "aim.all"
		}
		sentence = b.Say(key, text.Args{"Figure": sentence, "Rung": document.Literal(algorithm(first.by))})
	}
	return b.Say("aim.figures", text.Args{"Figures": sentence})
}

// thousandths returns a ratio so that it can be told from its goal.
func thousandths(x float64) string { return fmt.Sprintf("%.3f", x) }

// places names where a goal is to be reached.
func (a aim) places(b *builder) document.Text {
	var ps []problem
	for _, r := range a.reached {
		if !slices.Contains(ps, r.problem) {
			ps = append(ps, r.problem)
		}
	}
	ps = append(ps, a.missing...)
	slices.SortFunc(ps, problem.compare)
	return b.sizes(ps)
}

// typ is the element type of a goal.
func (a aim) typ() string {
	if len(a.reached) > 0 {
		return a.reached[0].problem.typ
	}
	return a.missing[0].typ
}
