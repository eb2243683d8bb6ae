package claim

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// Claim is what a published text says of the times of two settings.
type Claim struct {
	ID   string
	Text map[string]string // by language
	Page map[string]string // of the text, or a figure
	Rows Rows
	// Slow is the setting that the text calls slower, and Fast the other one.
	Slow, Fast Setting
	// Vary is a parameter, instead of the two: any two of its values are compared. Of is the setting of the rows, and
	// Values are those that the text has; none: all.
	Vary   string
	Of     Setting
	Values []any
	// Range is the claimed range of the time of Slow over the time of Fast: a word, inverse for the number of workers, or
	// else Times has its ends.
	Range string
	Times []float64
	// At says which cases count: largest, the cases at the largest size; or by the number of workers the least or the
	// most of each series, or fastest, the most of the fastest series of a problem. Empty: all.
	At string
	// Command makes the rows that are missing. {variants} stands for the variants of the settings, {textbook} for the
	// textbook loops.
	Command string
}

// Rows says which rows a claim is about.
type Rows struct {
	Family      string
	Experiments []record.Experiment // none: all
	Type        string              // on a GPU: only C = A·B counts, of square matrices or else of Shapes
	Shapes      []string            // those that the text has; none: all
	Size        int                 // the least n, of products with n³ terms
	From, To    int                 // workers of the faster row; To 0: no limit
	Textbook    bool                // ranks compute by the textbook loops
	Not         gemm.Params         // which they do not have
}

// Setting is what one side of a comparison has. As is what a row must say that it ran with: older records have other
// algorithms with the same name.
type Setting struct {
	Variant    string
	Params, As gemm.Params
}

//go:embed claims.yaml
var source []byte

// Claims are the claims of published texts that reports evaluate.
var Claims = sync.OnceValue(func() []Claim {
	var all []Claim
	d := yaml.NewDecoder(bytes.NewReader(source))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		panic(fmt.Sprintf("claim: claims.yaml: %v", err))
	}
	return all
})

// Case is two rows that a claim is about, and the ratio of their times.
type Case struct {
	Slow, Fast record.Record
	analysis.Comparison
	Outcome Outcome
}

// Evaluation is what the rows of a host say of a claim.
type Evaluation struct {
	*Claim
	Cases []Case
	Needs int // processors, if the host has too few; 0: it has enough
}

// Count returns how many cases have an outcome.
func (e Evaluation) Count(o Outcome) int {
	return len(analysis.Pick(e.Cases, func(c Case) bool { return c.Outcome == o }))
}

// Decided returns how many cases are decided.
func (e Evaluation) Decided() int { return len(e.Cases) - e.Count(TooFew) - e.Count(Open) }

// Verdict returns what the cases say together.
func (e Evaluation) Verdict() Verdict {
	enough, opposite := Enough, e.Count(Opposite)
	if e.At == "largest" {
		enough = 1
	}
	if e.Range == "same" { // of which nothing is the opposite
		opposite = 0
	}
	return verdict(len(e.Cases), e.Decided(), e.Count(Holds), opposite, enough)
}

func byRatio(x, y Case) int { return cmp.Compare(x.Ratio, y.Ratio) }

// Least returns the case with the least ratio.
func (e Evaluation) Least() Case { return slices.MinFunc(e.Cases, byRatio) }

// Most returns the case with the greatest ratio.
func (e Evaluation) Most() Case { return slices.MaxFunc(e.Cases, byRatio) }

// Ran reports whether a host has timed rows of the claim's family.
func (c *Claim) Ran(v *analysis.View) bool {
	return slices.ContainsFunc(v.Records, func(r record.Record) bool {
		return r.Speed() && analysis.Family(r.Variant) == c.Rows.Family
	})
}

// Commands returns the commands that measure claims on the variants of a document, one for all claims that have the
// same but for the variants.
func Commands(v *analysis.View, program string, claims ...*Claim) []string {
	var out []string
	for _, same := range analysis.GroupBy(claims, func(c *Claim) string { return c.Command }) {
		var variants []string
		for _, c := range same {
			for _, s := range []Setting{c.Slow, c.Fast, c.Of} {
				if s.Variant != "" && !slices.Contains(variants, s.Variant) {
					variants = append(variants, s.Variant)
				}
			}
		}
		out = append(out, program+" "+strings.NewReplacer("{textbook}", v.First(analysis.Serial),
			"{variants}", strings.Join(variants, ",")).Replace(same[0].Command))
	}
	return out
}

// Evaluate returns what the rows of a host say of the claim.
func (c *Claim) Evaluate(v *analysis.View) Evaluation {
	e := Evaluation{Claim: c}
	if c.Rows.From > 0 && v.Oversubscribed(c.Rows.From) {
		e.Needs = c.Rows.From
	}
	if rows := c.rows(v); c.Vary != "" {
		e.Cases = c.groups(rows)
	} else {
		e.Cases = c.pairs(rows)
	}
	return e
}

func (c *Claim) outcome(fast record.Record, x analysis.Comparison) Outcome {
	claimed := words[c.Range]
	switch p := float64(workers(fast)); {
	case len(c.Times) == 2:
		claimed = Times(c.Times[0], c.Times[1])
	case c.Range == "inverse":
		claimed = Range{p / (1 + Band), p * (1 + Band)}
	}
	return claimed.Evaluate(x.Lo, x.Hi)
}

func workers(r record.Record) int { return analysis.AxisOf(r.Variant).Count(r) }

func (c *Claim) rows(v *analysis.View) []record.Record {
	w := c.Rows
	return v.Pick(func(r record.Record) bool {
		leaf := v.Variant(r.Variant).Leaf
		if w.Textbook {
			leaf = v.First(analysis.Serial)
		}
		return analysis.Family(r.Variant) == w.Family && r.Speed() && r.Median > 0 && !v.Oversubscribes(r) &&
			(len(w.Experiments) == 0 || slices.Contains(w.Experiments, r.Experiment)) &&
			(w.Type == "" || r.Type == w.Type && analysis.ProblemOf(r).Plain() && (r.IsCube() || len(w.Shapes) > 0)) &&
			(len(w.Shapes) == 0 || slices.Contains(w.Shapes, r.Shape.String())) &&
			r.Terms() >= gemm.Cube(w.Size).Terms() && (leaf == "" || analysis.Local(r) == leaf) &&
			(w.Not == nil || !has(r.Params, w.Not))
	})
}

func (s Setting) applies(r record.Record) bool {
	return r.Variant == s.Variant && has(r.Params, s.Params) && has(r.Resolved, s.As)
}

// has reports whether a row has parameters. One that it lacks is off.
func has(row, params gemm.Params) bool {
	for name, value := range params {
		if got, ok := row[name]; got != value && (ok || value != 0) {
			return false
		}
	}
	return true
}

// pairs returns the rows of the two settings that are alike in everything else.
func (c *Claim) pairs(rows []record.Record) []Case {
	but := slices.AppendSeq(slices.Collect(maps.Keys(c.Slow.Params)), maps.Keys(c.Fast.Params))
	problem := analysis.ProblemOf
	if slices.Contains(but, analysis.OverThreads.Param) {
		problem = analysis.OnOneThread
	}
	var out []Case
	for _, slow := range rows {
		if !c.Slow.applies(slow) {
			continue
		}
		for _, fast := range rows {
			n := workers(fast)
			if !c.Fast.applies(fast) || n < c.Rows.From || c.Rows.To > 0 && n > c.Rows.To ||
				slow.Experiment != fast.Experiment || problem(slow) != problem(fast) ||
				!analysis.Agree(slow, fast, but...) || !analysis.Interleaved(slow, fast) {
				continue
			}
			x := Case{Slow: slow, Fast: fast, Comparison: analysis.Contrast(slow, fast)}
			x.Outcome = c.outcome(fast, x.Comparison)
			out = append(out, x)
		}
	}
	return c.chosen(out)
}

// chosen returns the cases that At says to take.
func (c *Claim) chosen(all []Case) []Case {
	series := func(x Case) string {
		return fmt.Sprint(x.Fast.Experiment, analysis.OnOneThread(x.Fast), analysis.Omit(x.Fast.Params, "threads"))
	}
	fewer := func(x, y Case) int { return cmp.Compare(workers(x.Fast), workers(y.Fast)) }
	switch c.At {
	case "largest": // with an interval
		if some := analysis.Pick(all, func(x Case) bool { return x.Outcome != TooFew }); len(some) > 0 {
			all = some
		}
		return best(all, func(Case) string { return "" },
			func(x, y Case) int { return y.Fast.Shape.Compare(x.Fast.Shape) })
	case "least":
		return best(all, series, fewer)
	case "most":
		return best(all, series, func(x, y Case) int { return fewer(y, x) })
	case "fastest":
		return best(all, func(x Case) string { return analysis.OnOneThread(x.Fast).String() }, func(x, y Case) int {
			return cmp.Or(fewer(y, x), cmp.Compare(x.Fast.Median, y.Fast.Median))
		})
	}
	return all
}

// best returns the first case of each key in an order, and cases level with it.
func best(all []Case, key func(Case) string, order func(x, y Case) int) []Case {
	return slices.DeleteFunc(slices.Clone(all), func(x Case) bool {
		return slices.ContainsFunc(all, func(y Case) bool { return key(x) == key(y) && order(y, x) < 0 })
	})
}

// groups returns a case for each group of rows that differ in the varied parameter alone: the two of them that differ
// most. They are the same only if all pairs are.
func (c *Claim) groups(rows []record.Record) []Case {
	rows = slices.DeleteFunc(rows, func(r record.Record) bool {
		return !c.Of.applies(r) || analysis.Starves(r) ||
			len(c.Values) > 0 && !slices.Contains(c.Values, r.Params[c.Vary])
	})
	var out []Case
	for _, v := range analysis.Variations(rows, c.Vary) {
		g := analysis.CompareAll(v.Rows)
		if g.Turn == "" {
			continue
		}
		x := Case{g.Slow, g.Fast, g.Comparison, c.outcome(g.Fast, g.Clearest)}
		if x.Outcome == Holds && !g.Bounded {
			x.Outcome = Open
		}
		out = append(out, x)
	}
	return out
}
