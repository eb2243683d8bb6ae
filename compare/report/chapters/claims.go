package chapters

import (
	"fmt"
	"slices"
	"strings"

	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/number"
	"gemm/compare/report/page"
)

// EvaluatedClaims is the claims of published texts with what the rows say of them, and the figures of the rules.
type EvaluatedClaims struct {
	Rows              []Verdict // of the families that ran
	First             string    // the host of rows that name none, if there are several
	Commands          []string  // that measure the claims without cases
	Band, Far, Around float64   // Band in percent
}

// Verdict is a claim, and what the rows of a host say of it.
type Verdict struct {
	claim.Evaluation
	host *Host
}

// Judged returns the evaluated claims. A claim that no host has enough cases of is there once.
func (d *Data) Judged() EvaluatedClaims {
	out := EvaluatedClaims{Band: 100 * claim.Band, Far: claim.Far, Around: claim.Around}
	if len(d.Hosts) > 1 {
		out.First = d.Hosts[0].Title()
	}
	var without []*claim.Claim
	for i := range claim.Claims() {
		c := &claim.Claims()[i]
		var found, lacking []Verdict
		for _, h := range d.Hosts {
			if verdict := (Verdict{c.Evaluate(h.View), h}); len(verdict.Cases) > 0 {
				found = append(found, verdict)
			} else if c.Ran(h.View) {
				lacking = append(lacking, verdict)
			}
		}
		decided := analysis.Pick(found, func(x Verdict) bool { return x.Verdict() != claim.Undecided })
		if len(decided) == 0 { // no host has enough data
			decided = found[:min(len(found), 1)]
		}
		out.Rows = append(out.Rows, decided...)
		if len(found) > 0 || len(d.Hosts) == 0 {
			continue
		}
		if len(lacking) > 0 {
			out.Rows = append(out.Rows, slices.MinFunc(lacking, func(x, y Verdict) int { return x.Needs - y.Needs }))
		}
		without = append(without, c)
	}
	if len(without) > 0 {
		out.Commands = claim.Commands(d.Hosts[0].View, d.Program, without...)
	}
	return out
}

// Class mutes claims without cases.
func (x Verdict) Class() string {
	if len(x.Cases) == 0 {
		return "muted"
	}
	return ""
}

// evidence is the least and the greatest ratio of a claim's cases, where, and how many are decided, or else what the
// host lacks. The only ratio has its interval.
func (s *formatter) evidence(x Verdict) page.Text {
	switch {
	case len(x.Cases) == 0 && x.Needs > 0:
		return page.Text(fmt.Sprint(x.Needs, " ")) + s.word("claim", "needs")
	case len(x.Cases) == 0:
		return ""
	}
	least, most := x.Least(), x.Most()
	text := page.Text(number.Times(least.Ratio, least.Lo, least.Hi)) + s.at(x, least)
	var notes []string
	if len(x.Cases) > 1 {
		lo, hi := page.Text(number.Significant(least.Ratio)), page.Text(number.Significant(most.Ratio))
		if at := s.at(x, least); at != s.at(x, most) {
			text = lo + at + s.word("claim", "and") + hi + s.at(x, most)
		} else if lo != hi {
			text = lo + "–" + hi + at
		}
		notes = append(notes, fmt.Sprintf("%d/%d", x.Decided(), len(x.Cases)))
	}
	if x.host != x.host.Data.Hosts[0] {
		notes = append(notes, x.host.Title())
	}
	if notes != nil {
		text += " (" + page.Escape(strings.Join(notes, ", ")) + ")"
	}
	return text
}

// at is where a case was measured.
func (s *formatter) at(x Verdict, c claim.Case) page.Text {
	text := s.word("claim", "at") + page.Escape(s.sizes([]analysis.Problem{analysis.OnOneThread(c.Fast)}))
	if !analysis.ByGPU(c.Fast) {
		text += s.word("mark", "comma") + s.place(c.Fast)
	}
	if x.Vary != "" {
		text += s.word("mark", "comma") +
			page.Code(fmt.Sprintf("%s %v / %v", x.Vary, c.Slow.Params[x.Vary], c.Fast.Params[x.Vary]))
	}
	return text
}
