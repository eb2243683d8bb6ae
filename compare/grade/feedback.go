package grade

import (
	"cmp"
	"embed"
	"math"
	"slices"
	"strconv"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chart"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/page"
	"gemm/internal/note"
)

//go:embed text/*.md
var texts embed.FS

// pages fills the templates of feedback in a language, until the first error.
type pages struct {
	lang string
	set  *page.Templates
	err  error
}

func newPages(c Class) *pages {
	p := &pages{lang: cmp.Or(c.Assignment.Language, "en")}
	p.set = page.New(chapters.Funcs(p.lang))
	p.set.Func("points", plainNumber)
	source, err := texts.ReadFile("text/" + p.lang + ".md")
	if p.err = err; err == nil {
		p.err = p.set.Add(p.lang, string(source))
	}
	return p
}

// fill returns the page of a template.
func (p *pages) fill(name string, data any) *page.Page {
	var text page.Text
	if p.err == nil {
		text, p.err = p.set.Fill(name, data)
	}
	return page.Parse(text, p.lang, chapters.Words(p.lang))
}

// plainNumber returns a number of points, with at most two decimals.
func plainNumber(x float64) string { return strconv.FormatFloat(math.Round(100*x)/100, 'f', -1, 64) }

// standing is a result with what templates say of it.
type standing struct {
	Result
	Assignment Assignment
	Place, Of  int // its place among Of submissions; Of is 0 if there is only one
}

// ranked returns the results of a class by points, then by speed. Equal points share a place.
func (c Class) ranked() []standing {
	out := make([]standing, len(c.Results))
	for i, r := range c.Results {
		out[i] = c.standing(r)
	}
	slices.SortStableFunc(out, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.Points, a.Points), cmp.Compare(b.speed(), a.speed()))
	})
	return out
}

// standing returns a result with its place.
func (c Class) standing(r Result) standing {
	s := standing{Result: r, Assignment: c.Assignment, Place: 1}
	if len(c.Results) > 1 {
		s.Of = len(c.Results)
	}
	for _, other := range c.Results {
		if other.Points > r.Points {
			s.Place++
		}
	}
	return s
}

// speed returns the value of the first criterion of speed, NaN if there is none.
func (s standing) speed() float64 {
	for _, m := range s.Marked() {
		if m.Rule.Speed != "" {
			return float64(m.Value)
		}
	}
	return math.NaN()
}

// marked is a mark with its criterion.
type marked struct {
	Mark
	Rule Criterion
}

// Marked returns the marks, each with its criterion.
func (s standing) Marked() []marked {
	out := make([]marked, len(s.Marks))
	for i, m := range s.Marks {
		out[i].Mark = m
		if i < len(s.Assignment.Rubric) {
			out[i].Rule = s.Assignment.Rubric[i]
		}
	}
	return out
}

// Lost returns the marks with less than all points.
func (s standing) Lost() []marked {
	return analysis.Pick(s.Marked(), func(m marked) bool { return m.Points < m.Most })
}

// Slow reports whether points for speed are missing.
func (s standing) Slow() bool {
	return slices.ContainsFunc(s.Lost(), func(m marked) bool { return m.Rule.Speed != "" })
}

// Known reports whether the mark has a value.
func (m marked) Known() bool { return m.Value.Known() }

// Brief returns the value of a mark, and Reached the value with its interval.
func (m marked) Brief() string { return m.format()(float64(m.Value)) }

func (m marked) Reached() string {
	if m.Interval == nil {
		return m.Brief()
	}
	return m.Brief() + " (" + number.Extent(m.Interval[0], m.Interval[1], m.format()) + ")"
}

func (m marked) format() func(float64) string {
	if m.share() {
		return number.Percent
	}
	return number.Significant
}

// Given and Needed return the values with no points and with all.
func (m marked) Given() string  { return m.threshold(m.Rule.From) }
func (m marked) Needed() string { return m.threshold(m.Rule.To) }

func (m marked) threshold(x float64) string {
	unit := ""
	if m.share() {
		x, unit = 100*x, " %"
	}
	return strconv.FormatFloat(x, 'g', 6, 64) + unit
}

// share reports whether the value is a share of a whole, in percent.
func (m marked) share() bool { return slices.Contains([]string{"", ofPeak, ofRank}, m.Rule.Speed) }

// outcome is a row of the submission, with its speed if it is right.
type outcome struct {
	record.Record
	Rate, Share float64   // the speed, and the percent of the peak
	Ratios      []float64 // of its speed to the references
}

// OK reports whether the result is right.
func (o outcome) OK() bool { return o.Status == record.OK }

// Name returns the shape, with what makes it more than a plain product.
func (o outcome) Name() string { return analysis.ProblemOf(o.Record).Label() }

// Cause returns the reason without how the result was checked.
func (o outcome) Cause() note.Note {
	n := o.Reason
	for at := 0; at >= 0 && strings.HasPrefix(n.Code, "wrong-"); {
		if at = strings.LastIndex(n.Text, ": "); at >= 0 {
			n = note.Read(n.Text[at+2:])
		}
	}
	return n
}

// Unmeasured returns why nothing was measured, without the file.
func (s standing) Unmeasured() note.Note {
	_, rest, _ := strings.Cut(s.Fault.Text, ": ")
	if inner := note.Read(rest); s.Fault.Code == "" && inner.Code != "" {
		return inner
	}
	return s.Fault
}

// own reports whether a row is of the submission.
func (s standing) own(r record.Record) bool { return r.Variant == s.name() }

// References returns what the submission is compared with.
func (s standing) References() []string {
	rows := analysis.Pick(s.Rows, func(r record.Record) bool { return r.Speed() && !s.own(r) })
	return analysis.Distinct(rows, func(r record.Record) string { return r.Variant })
}

// Unit returns the unit of speeds.
func (s standing) Unit() string {
	r, _ := analysis.Find(s.Rows, record.Record.Speed)
	_, unit := analysis.Speed(r)
	return unit
}

// Shapes returns the rows of the submission, the smallest first.
func (s standing) Shapes() []outcome {
	var out []outcome
	references := s.References()
	for _, r := range analysis.Pick(s.Rows, s.own) {
		rate, _ := analysis.Speed(r)
		o := outcome{r, float64(rate), analysis.Percent(r), nil}
		for _, variant := range references {
			base := *s.row(r.Shape, variant)
			o.Ratios = append(o.Ratios, analysis.Known(base, base.Median)/analysis.Known(r, r.Median))
		}
		out = append(out, o)
	}
	slices.SortStableFunc(out, func(a, b outcome) int { return a.Shape.Compare(b.Shape) })
	return out
}

// Bad returns the rows without a right result.
func (s standing) Bad() []outcome {
	return analysis.Pick(s.Shapes(), func(o outcome) bool { return !o.OK() })
}

// fault is why some shapes have no right result.
type fault struct {
	outcome  // the smallest
	Problems []analysis.Problem
}

// Faults returns what is wrong, with the shapes.
func (s standing) Faults() (out []fault) {
	for _, same := range analysis.GroupBy(s.Bad(), func(o outcome) string { return string(o.Status) + o.Cause().Text }) {
		f := fault{outcome: same[0]}
		for _, o := range same {
			f.Problems = append(f.Problems, analysis.ProblemOf(o.Record))
		}
		out = append(out, f)
	}
	return out
}

// Odd reports whether results are wrong for shapes with an odd dimension, and only for these.
func (s standing) Odd() bool {
	odd := func(o outcome) bool { return (o.M|o.N|o.K)&1 == 1 }
	shapes := s.Shapes()
	return slices.ContainsFunc(shapes, outcome.OK) &&
		!slices.ContainsFunc(shapes, func(o outcome) bool { return o.OK() == odd(o) })
}

// Advice returns the codes of what went wrong, timeout for a row that took too long.
func (s standing) Advice() []string {
	return analysis.Distinct(s.Bad(), func(o outcome) string {
		if o.Status == record.Timeout {
			return string(record.Timeout)
		}
		return o.Cause().Code
	})
}

// figureID is the name of the figure of speed.
const figureID = "speed"

// Figure returns the name of the figure, nothing if there are speeds at fewer than two n.
func (s standing) Figure() string {
	if ch := s.curve(); len(ch.Places()) < 2 {
		return ""
	}
	return figureID
}

// curve returns the speed of square products over n.
func (s standing) curve() chart.Curve {
	ch := chart.Curve{Title: "speed of the submission", XLabel: "n (matrices are n×n)", YLabel: s.Unit(), LogY: true,
		Top: true}
	references := s.References()
	square := func(r record.Record) bool { return r.Speed() && r.IsCube() && r.Batch == 0 }
	for _, r := range analysis.Pick(s.Rows, square) {
		label, look := "submission", chart.Look{Color: chart.Ink}
		if !s.own(r) {
			label, look = r.Variant, chart.LookOf(slices.Index(references, r.Variant))
		}
		rate, _ := analysis.Speed(r)
		ch.Add(label, look, figures.Measured(r, float64(r.N), float64(rate)))
		ch.Limit.Level = max(ch.Limit.Level, r.Ceiling)
	}
	if ch.Limit.Level > 0 {
		ch.Limit.Label = "measured peak: " + number.Significant(ch.Limit.Level) + " " + ch.YLabel
	}
	return ch
}
