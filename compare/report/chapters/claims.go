package chapters

import (
	"fmt"
	"slices"

	"gemm/compare/report/analysis"
	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/number"
	"gemm/compare/report/page"
)

// EvaluatedClaims is the claims of published texts with what the rows say of them, and the figures of the rules.
type EvaluatedClaims struct {
	Rows                     []Verdict // of the families that ran
	Lacking                  []Unmeasured
	Band, Far, Around, Drift float64 // Band in percent
	Enough                   int
}

// Verdict is a claim, and what the rows of a host say of it.
type Verdict struct {
	claim.Evaluation
	host *Host
}

// Unmeasured is the claims about a family that no host has cases of.
type Unmeasured struct {
	Family string
	Claims []*claim.Claim
	data   *Data
}

// Commands returns the commands that measure the claims.
func (l Unmeasured) Commands() []string {
	return claim.Commands(l.data.Hosts[0].View, l.data.Program, l.Claims...)
}

// Judged returns the evaluated claims. A claim that no host has cases of is there once.
func (d *Data) Judged() EvaluatedClaims {
	out := EvaluatedClaims{Band: 100 * claim.Band, Far: claim.Far, Around: claim.Around, Drift: analysis.Drift,
		Enough: claim.Enough}
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
		out.Rows = append(out.Rows, found...)
		if len(found) > 0 || len(d.Hosts) == 0 {
			continue
		}
		if len(lacking) > 0 {
			out.Rows = append(out.Rows, slices.MinFunc(lacking, func(x, y Verdict) int { return x.Needs - y.Needs }))
		}
		if n := len(out.Lacking); n == 0 || out.Lacking[n-1].Family != c.Rows.Family {
			out.Lacking = append(out.Lacking, Unmeasured{Family: c.Rows.Family, data: d})
		}
		last := &out.Lacking[len(out.Lacking)-1]
		last.Claims = append(last.Claims, c)
	}
	return out
}

// Host names the host that has the cases, if there are several.
func (x Verdict) Host() string {
	if len(x.Cases) == 0 || !x.host.Several() {
		return ""
	}
	return x.host.Title()
}

// Share says how many cases of all are decided.
func (x Verdict) Share() string {
	if len(x.Cases) == 0 {
		return ""
	}
	return fmt.Sprintf("%d / %d", x.Decided(), len(x.Cases))
}

// Class mutes claims without cases.
func (x Verdict) Class() string {
	if len(x.Cases) == 0 {
		return "muted"
	}
	return ""
}

// evidence is the least and the greatest ratio of a claim's cases, and where, or else what the host lacks.
func (s *formatter) evidence(x Verdict) page.Text {
	switch {
	case len(x.Cases) == 0 && x.Needs > 0:
		return page.Text(fmt.Sprint(x.Needs, " ")) + s.word("claim", "needs")
	case len(x.Cases) == 0:
		return ""
	}
	least, most := s.ratio(x, x.Least()), s.ratio(x, x.Most())
	if least == most {
		return least
	}
	return least + s.word("claim", "and") + most
}

// ratio is the ratio of a case, and where it was measured.
func (s *formatter) ratio(x Verdict, c claim.Case) page.Text {
	text := page.Text(number.Times(c.Ratio, c.Lo, c.Hi)) + s.word("claim", "at") +
		page.Escape(s.sizes([]analysis.Problem{analysis.OnOneThread(c.Fast)}))
	if !analysis.ByGPU(c.Fast) {
		text += s.mark2() + s.place(c.Fast)
	}
	if x.Vary != "" {
		text += s.mark2() + page.Code(fmt.Sprintf("%s %v / %v", x.Vary, c.Slow.Params[x.Vary], c.Fast.Params[x.Vary]))
	}
	return text
}
