package sharing

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// held returns the word for where the operands of a variant are.
func (b *builder) held(variant string) document.Text {
	if slices.Contains(analysis.SpreadVariants, variant) {
		return b.Say("mpi-bytes.ofspread")
	}
	return b.Say("mpi-bytes.ofroot")
}

// bytes is the section on the bytes that ranks sent.
func (b *builder) bytes(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-bytes", "mpi-bytes.title")
	s.Text(b.Say("mpi-bytes.intro"))
	found := false
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		rows := v.Counted(typ)
		if len(rows) == 0 {
			continue
		}
		found = true
		command := b.Rerun(v, rows)
		heads, cells := place(v)
		t := document.Table{
			ID:      "table-mpi-bytes-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-bytes.caption", text.Args{"Type": typ}), Command: command,
			Columns: b.Columns(append(heads, "operands", "#counted", "#planned", "#between", "agree", "#least",
				"#overleast")...),
		}
		wrong := 0
		for _, r := range rows {
			verdict, class := "yes", ""
			if r.BytesCounted != r.BytesPredicted || r.BytesBetween != r.BytesBetweenPredicted {
				verdict, class = "no", "wrong"
				wrong++
			}
			t.Rows = append(t.Rows, document.Row{Class: class, Cells: append(cells(r), b.held(r.Variant),
				document.Text(strconv.FormatInt(r.BytesCounted, 10)), document.Text(strconv.FormatInt(r.BytesPredicted, 10)),
				between(r), b.Say(verdict),
				document.Text(strconv.FormatFloat(math.Ceil(r.BytesBound), 'f', 0, 64)),
				document.Text(number.Significant(analysis.OverLeast(r))))})
		}
		if wrong > 0 {
			s.Text(b.Say("mpi-bytes.differ", text.Args{"Wrong": wrong, "Rows": len(rows)}))
		} else {
			s.Text(b.Say("mpi-bytes.equal", text.Args{
				"Rows": b.Join([]document.Text{document.Text(typ), b.Count("rows", len(rows))}),
			}))
		}
		var items []document.Text
		for _, kind := range []string{"rooted", "spread"} {
			own := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool {
				return slices.Contains(analysis.SpreadVariants, r.Variant) != (kind == "spread")
			})
			if least, most, ok := analysis.Ends(own, analysis.OverLeast); ok {
				lo, hi, same := number.Between(least.Ratio, most.Ratio, number.Significant)
				if same {
					items = append(items, b.Say("mpi-bytes.same."+kind, text.Args{"Ratio": lo}))
					continue
				}
				items = append(items, b.Say("mpi-bytes."+kind, text.Args{
					"Least": lo, "LeastRow": b.Where(v, least.Record), "Most": hi, "MostRow": b.Where(v, most.Record),
				}))
			}
		}
		s.List(items)
		b.Figure(&s, v, "mpi-bytes-"+typ, "fig.mpi-bytes", command, text.Args{"Type": typ})
		s.Add(t)
	}
	return s, found
}

// between returns the bytes that crossed between hosts; nothing if there is one host.
func between(r compare.Record) document.Text {
	if analysis.Hosts(r) < 2 {
		return "–"
	}
	return document.Text(strconv.FormatInt(r.BytesBetween, 10))
}

// shares is the section on the data and work of one process, for the grids that were run.
func (b *builder) shares(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-shares", "mpi-shares.title")
	s.Text(b.Say("mpi-shares.intro"))
	found := false
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		t := document.Table{
			ID:      "table-mpi-shares-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-shares.caption", text.Args{"Type": typ}),
			Columns: b.Columns("size", "#ranks", "#rowsdata1", "#rowswork1", "#rowsdata", "grid", "#blocksdata", "#sharework",
				"blocksless"),
		}
		var used []compare.Record
		type line struct{ m, n, k, ranks, p, q int }
		seen := map[line]bool{}
		for _, r := range v.OfRanksIn(typ) {
			p, q, ok := analysis.Sides(r.Resolved["grid"])
			ranks := analysis.OverRanks.Count(r)
			l := line{r.M, r.N, r.K, ranks, p, q}
			if !ok || ranks < 2 || p*q != ranks || slices.Contains(analysis.SpreadVariants, r.Variant) || seen[l] {
				continue
			}
			seen[l] = true
			used = append(used, r)
			idle, rows, blocks := analysis.RowPortion(r.M, r.N, r.K, ranks-1), analysis.RowPortion(r.M, r.N, r.K, ranks),
				analysis.BlockPortion(r.M, r.N, r.K, p, q)
			less := "no"
			if blocks.Data < rows.Data {
				less = "yes"
			}
			size := float64(gemm.TypeNamed(typ).Size)
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Escape(analysis.ProblemOf(r).Label()), document.Text(fmt.Sprint(ranks)),
				document.Text(number.ByteSize(size * idle.Data)), document.Text(number.Significant(idle.Work / 1e9)),
				document.Text(number.ByteSize(size * rows.Data)),
				document.Text(fmt.Sprintf("%d×%d", p, q)), document.Text(number.ByteSize(size * blocks.Data)),
				document.Text(number.Significant(blocks.Work / 1e9)), b.Say(less),
			}})
		}
		if len(t.Rows) > 0 {
			found = true
			t.Command = b.Rerun(v, used)
			s.Add(t)
		}
	}
	return s, found
}

// modelled is the section on predicted times and the constants of their model.
func (b *builder) modelled(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "mpi-model", "mpi-model.title")
	s.Text(b.Say("mpi-model.intro"))
	found := b.networks(&s, v)
	for _, typ := range v.TypesOf(analysis.OverRanks) {
		rows := slices.DeleteFunc(v.OfRanksIn(typ), func(r compare.Record) bool { return math.IsNaN(analysis.OverModel(r)) })
		if len(rows) == 0 {
			continue
		}
		found = true
		tame := slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return v.Crowds(r) })
		if least, most, ok := analysis.Ends(tame, analysis.OverModel); ok {
			lo, hi, same := number.Between(least.Ratio, most.Ratio, number.Significant)
			if same {
				s.Text(b.Say("mpi-model.same", text.Args{"Type": typ, "Ratio": lo}))
			} else {
				s.Text(b.Say("mpi-model.range", text.Args{
					"Type": typ, "Least": lo, "LeastRow": b.Where(v, least.Record), "Most": hi, "MostRow": b.Where(v,
						most.Record),
				}))
			}
		}
		heads, cells := place(v)
		t := document.Table{
			ID:      "table-mpi-model-" + analysis.Anchor(typ) + v.Suffix,
			Caption: b.Say("mpi-model.caption", text.Args{"Type": typ}), Command: b.Rerun(v, rows),
			Columns: b.Columns(append(heads, "#latencies", "#transfer", "#computation", "#modelled", "#median",
				"#interval", "#overmodel")...),
		}
		for _, r := range rows {
			t.Rows = append(t.Rows, document.Row{Class: v.Muted(r), Cells: append(cells(r),
				known(r.ModelLatency, r), known(r.ModelTransfer, r), known(r.ModelCompute, r),
				document.Text(number.Seconds(r.ModelSeconds)), document.Text(b.Median(r)), document.Text(b.Ci(r)),
				document.Text(number.Significant(analysis.OverModel(r))))})
		}
		s.Add(t)
	}
	return s, found
}

// known returns a part of a predicted time; old records have none.
func known(seconds float64, r compare.Record) document.Text {
	if r.ModelCompute == 0 {
		return "–"
	}
	return document.Text(number.Seconds(seconds))
}

// way says which ranks send the messages of a measurement.
func (b *builder) way(w analysis.Network) document.Text {
	if w.Path == "" {
		return b.Say("mpi-way.first")
	}
	return b.Say("mpi-way." + w.Path + "." + strings.ReplaceAll(w.Pairs, " ", "-"))
}

// networks says what messages take, and adds their figure and table.
func (b *builder) networks(s *document.Section, v *analysis.View) bool {
	all := v.Networks()
	if len(all) == 0 {
		return false
	}
	command := b.Rerun(v, v.OfRanks())
	t := document.Table{
		ID: "table-mpi-network" + v.Suffix, Caption: b.Say("mpi-network.caption"), Command: command,
		Columns: b.Columns("#ranks", "way", "#bytes", "#oneway", "#interval", "#rate", "#fitted"),
	}
	var items []document.Text
	for _, w := range all {
		way := b.way(w)
		least, most := 0, len(w.Sizes)-1
		rate := func(i int) string { return number.ByteSize(float64(w.Sizes[i]) / float64(w.Rows[i].Median)) }
		phrase, args := "mpi-network.stream", text.Args{
			"Ranks": b.Count("ranks", w.Ranks), "Way": way, "Large": number.ByteSize(float64(w.Sizes[most])),
			"LargeRate": rate(most),
		}
		if w.Pairs == "" || w.Pairs == "one" {
			phrase = "mpi-network.fit"
			maps.Copy(args, text.Args{
				"Latency": number.Seconds(w.Latency), "Bandwidth": number.ByteSize(1 / w.Each),
				"Error": number.Percent(w.Largest), "Small": number.ByteSize(float64(w.Sizes[least])),
				"SmallTime": number.Seconds(float64(w.Rows[least].Median)),
			})
		}
		items = append(items, b.Say(phrase, args))
		for i, r := range w.Rows {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Text(fmt.Sprint(w.Ranks)), way, document.Text(fmt.Sprint(w.Sizes[i])),
				document.Text(b.Median(r)),
				document.Text(b.Ci(r)), document.Text(rate(i)), document.Text(number.Seconds(w.Time(float64(w.Sizes[i])))),
			}})
		}
	}
	s.List(items)
	b.Figure(s, v, "mpi-network", "fig.mpi-network", command)
	s.Add(t)
	return true
}
