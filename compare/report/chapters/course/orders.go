package course

import (
	"fmt"

	"gemm/compare/report/analysis/claim"
	"gemm/compare/report/analysis/coursework"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// contests says which orders are faster than others, and why.
func (b builder) contests(s *document.Section, orders []coursework.Order) {
	var items []document.Text
	for _, c := range coursework.Contests(orders) {
		items = append(items, b.contest(c))
	}
	s.Text(b.Say("course-orders.intro", text.Args{"Band": fmt.Sprint(100 * claim.Band)}))
	s.List(items)
}

// contest is one comparison. The reasons are given only if one order is faster.
func (b builder) contest(c coursework.Contest) document.Text {
	slow, quick := document.Literal(c.Slow.Name), document.Literal(c.Quick.Name)
	key := "orders.open"
	switch c.Outcome {
	case claim.Holds:
		key = "orders.faster"
	case claim.Level:
		key = "orders.level"
	case claim.TooFew:
		key = "orders.few"
	}
	sentence := b.Say(key, text.Args{"Slow": slow, "Quick": quick, "Ratio": number.Times(c.Ratio, c.Lo, c.Hi)})
	if c.Alike {
		sentence += b.Say("orders.alike")
	}
	if c.Outcome != claim.Holds {
		return sentence
	}
	if c.Chained {
		sentence += b.Say("orders.chained", text.Args{"Slow": slow})
	}
	switch {
	case c.Cache != "":
		sentence += b.Say("orders.traffic", text.Args{"Slow": slow, "Quick": quick, "More": number.Significant(c.More),
			"Cache": b.Say("orders.cache." + c.Cache)})
	case !c.Chained:
		sentence += b.Say("orders.unexplained")
	}
	return sentence
}
