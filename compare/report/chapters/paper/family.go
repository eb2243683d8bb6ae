package paper

import (
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chapters/gpu"
	"gemm/compare/report/chapters/sharing"
	"gemm/compare/report/document"
	"gemm/compare/report/listing"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// family is the chapter of one family.
func (b builder) family(fam string) []document.Section {
	chapter := b.Section("paper-"+fam, 1)
	theoretical := b.part(fam, "analysis")
	for _, p := range theory[fam] {
		if p.key == "" {
			theoretical.Add(p.equation)
		} else {
			theoretical.Text(b.Say(p.key))
		}
	}
	sections := []document.Section{chapter, theoretical}
	if s := b.part(fam, "algorithms"); b.algorithms(&s, fam) {
		sections = append(sections, s)
	}
	if s := b.part(fam, "implementation"); b.implementation(&s, fam) {
		sections = append(sections, s)
	}
	measured := b.part(fam, "measurements")
	var claims []document.Section
	for _, v := range b.Views {
		b.measurements(&measured, v, fam)
		claims = append(claims, b.outside(v, fam)...)
		claims = append(claims, b.claims(v, fam)...)
	}
	if len(measured.Blocks) == 0 {
		measured.Text(b.fate(fam))
		if fam == analysis.OnGPU {
			gpu.Numbers(b.Builder, &measured)
		}
	}
	sections = append(sections, measured)
	for _, v := range b.Views {
		if s, ok := b.yourKernels(v, fam); ok {
			sections = append(sections, s)
		}
	}
	return append(sections, claims...)
}

// part is a section of the chapter of a family.
func (b builder) part(fam, key string) document.Section {
	return document.Section{ID: fam + "-" + key, Title: b.Plain("paper." + key), Level: 2}
}

// algorithms adds the pseudo-code of the variants of a family. It reports false if there is none.
func (b builder) algorithms(s *document.Section, fam string) bool {
	var block document.Algorithms
	for _, v := range b.Doc.Variants {
		if v.Pseudocode == "" || b.homeOf(v) != fam {
			continue
		}
		title := document.Literal(v.Name)
		if v.Location == gemm.OnGPU {
			title += b.Say("paper.oftype", text.Args{"Type": kernelType(v)})
		}
		block.Items = append(block.Items,
			document.Algorithm{ID: "algorithm-" + analysis.Anchor(v.Name), Title: title, Text: v.Pseudocode})
	}
	if len(block.Items) == 0 {
		return false
	}
	s.Text(b.Say("paper.notation"))
	s.Add(block)
	return true
}

// kernelType is the element type whose kernel the pseudo-code of a variant on a GPU is: f32, if it has that.
func kernelType(v compare.Variant) string {
	if slices.Contains(v.Types, "f32") {
		return "f32"
	}
	return strings.Join(v.Types[:min(1, len(v.Types))], "")
}

// homeOf returns the family whose chapter has the pseudo-code of a variant. Libraries of others and
// programs in C are with what they are compared with.
func (b builder) homeOf(v compare.Variant) string {
	for _, parent := range b.Doc.Variants {
		if parent.Name == v.Parent && parent.Name != v.Name && v.Role == gemm.Program {
			return b.homeOf(parent)
		}
	}
	if analysis.Foreign(v.Name) {
		return analysis.Serial
	}
	return v.Family()
}

// implementation adds the excerpt of a family's source.
func (b builder) implementation(s *document.Section, fam string) bool {
	i := slices.IndexFunc(b.Excerpts, func(e listing.Excerpt) bool { return e.Family == fam })
	if i < 0 {
		return false
	}
	e := b.Excerpts[i]
	s.Text(b.Say("implementation." + fam))
	s.Add(document.Listing{ID: "listing-" + fam, Caption: document.Literal(e.Path), Text: e.Text})
	return true
}

// drawn is a figure of the chapter of a family: its ID begins with id, and args are of its caption.
type drawn struct {
	id, key string
	args    func(v *analysis.View, typ string) text.Args
}

func ofType(_ *analysis.View, typ string) text.Args { return text.Args{"Type": typ} }

// shown are the figures of each family. Those that a host has no data for are left out.
var shown = map[string][]drawn{
	analysis.Serial: {
		{"gflops-serial-", "fig.gflops", ofFamily(analysis.Serial)}, {"loops-", "fig.loops", ofType},
		{"roofline-", "fig.roofline", ofType},
		{"strassen-crossover-", "fig.crossover", ofType}, {"compiler-", "fig.compiler", ofType},
	},
	analysis.OnRanks: {
		{"mpi-distribution-", "fig.mpi-distribution", ofType}, {"mpi-phases-", "fig.mpi-phases", ofType},
		{"mpi-bytes-", "fig.mpi-bytes", ofType}, {"mpi-strong-speedup-", "fig.mpi-strong-speedup", ofType},
	},
	analysis.Parallel: {
		{"gflops-parallel-", "fig.gflops", ofFamily(analysis.Parallel)}, {"strong-speedup-", "fig.strong-speedup", ofType},
		{"chunk-static-", "fig.chunk", ofSchedule("static")}, {"chunk-dynamic-", "fig.chunk", ofSchedule("dynamic")},
		{"times-", "fig.times", ofType},
	},
	analysis.OnGPU: {
		{"gpu-rates-", "fig.gpu-rates", ofType},
	},
}

func ofFamily(fam string) func(*analysis.View, string) text.Args {
	return func(_ *analysis.View, typ string) text.Args { return text.Args{"Family": fam, "Type": typ} }
}

func ofSchedule(schedule string) func(*analysis.View, string) text.Args {
	return func(_ *analysis.View, typ string) text.Args { return text.Args{"Schedule": schedule, "Type": typ} }
}

// measurements adds the figures of a family on one host, and then its table.
func (b builder) measurements(s *document.Section, v *analysis.View, fam string) {
	if !slices.ContainsFunc(v.Records, func(r compare.Record) bool {
		return analysis.Home(r) == fam && r.Speed()
	}) {
		return
	}
	before := len(s.Blocks)
	if v.Suffix != "" {
		s.Text(b.Say("summary.host", text.Args{"Host": b.HostName(v)}))
	}
	started := len(s.Blocks)
	types := []string{v.MainType()}
	if fam == analysis.OnGPU {
		types = v.GPUTypes()
	}
	for _, typ := range types {
		for _, d := range shown[fam] {
			b.Figure(s, v, d.id+typ, d.key, "", d.args(v, typ))
		}
		if fam == analysis.OnGPU && typ == "f32" {
			b.Figure(s, v, "gpu-rates-tf32", "fig.gpu-rates-tf32", "")
		}
	}
	if fam == analysis.Parallel || fam == analysis.OnRanks {
		b.Places(s, v, fam)
	}
	switch fam {
	case analysis.Parallel:
		b.timeline(s, v)
	case analysis.OnRanks, analysis.OnGPU:
		sharing.Ensemble(b.Builder, s, v, fam, "")
	}
	if fam == analysis.OnGPU {
		for _, typ := range types {
			b.Figure(s, v, "gpu-host-"+typ, "fig.gpu-host", "", ofType(v, typ))
		}
		for _, typ := range types {
			b.Figure(s, v, "gpu-inside-"+typ, "fig.gpu-inside", "", text.Args{"Type": typ})
		}
		b.Figure(s, v, "gpu-errors", "fig.gpu-errors", "")
	}
	for _, typ := range types {
		if t, ok := b.table(v, fam, typ); ok {
			s.Add(t)
		}
	}
	if items := b.StepsOf(v, fam, v.MainType()); len(items) > 0 && (fam == analysis.Serial || fam == analysis.Parallel) {
		s.Text(b.Say("paper.steps"))
		s.List(items)
	}
	if len(s.Blocks) == started { // products of other types only
		s.Blocks = s.Blocks[:before]
	}
}

// timeline adds the first timeline of workers.
func (b builder) timeline(s *document.Section, v *analysis.View) {
	for _, c := range v.Concerts() {
		b.Figure(s, v, "timeline-1", "fig.timeline", "", sharing.TimelineArgs(b.Builder, c))
		return
	}
}

// table has every variant of a family at the largest size that all but a few were timed at.
func (b builder) table(v *analysis.View, fam, typ string) (document.Table, bool) {
	a := v.Answer(typ)
	rows := a.FamilyAt(fam)
	if len(rows) == 0 {
		return document.Table{}, false
	}
	n := rows[0].N
	t := document.Table{ID: "table-" + fam + "-" + typ + v.Suffix,
		Caption: b.Say("paper.table", text.Args{"Family": b.Say("family." + fam), "Size": n, "Type": typ}),
		Columns: b.Columns("variant", "on", "#gflops", "#peak", "#naive", "#median"), Command: b.Rerun(v, rows)}
	first := v.First(analysis.Serial)
	gpu := fam == analysis.OnGPU
	if gpu {
		first = v.First(fam)
		t.Columns = b.Columns("variant", "on", "computes", "#gflops", "#peak", "#naive", "#median")
		t.Caption = b.captionOf(rows, typ, n)
		for i := range rows { // kernels alone
			rows[i].Phases = nil
		}
	}
	naive, timed := a.Of(first, n)
	naive.Phases = nil
	best := rows[0]
	for _, r := range rows {
		if analysis.Whole(r) < analysis.Whole(best) {
			best = r
		}
	}
	for _, r := range rows {
		ratio := math.NaN()
		if timed {
			ratio = analysis.Whole(naive) / analysis.Whole(r)
		}
		row := document.Row{Cells: []document.Text{
			document.Literal(r.Variant), b.place(r), b.rate(r),
			chapters.PeakCell(r, analysis.WholeShare(r)), document.Text(number.Significant(ratio)),
			document.Text(number.Seconds(analysis.Whole(r))),
		}}
		if gpu {
			row.Cells = slices.Insert(row.Cells, 2, pipeOf(r))
		}
		if r.Variant == best.Variant && r.Median == best.Median {
			row.Class = "best"
		}
		t.Rows = append(t.Rows, row)
	}
	if gpu && timed {
		t.Caption += b.Say("paper.overnaive")
	} else if gpu {
		speedups := func(c document.Column) bool { return c.Title == b.Plain("col.naive") }
		t = without(t, slices.IndexFunc(t.Columns, speedups))
	}
	for _, r := range a.Borrowed(v, fam, n) {
		row := document.Row{Class: "muted", Cells: []document.Text{
			document.Literal(r.Variant), b.Say("paper.same", text.Args{"Variant": document.Literal(analysis.Ran(r))}),
		}}
		for range t.Columns[len(row.Cells):] {
			row.Cells = append(row.Cells, number.Absent)
		}
		t.Rows = append(t.Rows, row)
	}
	if spread := spreadOf(rows); len(spread) > 0 {
		t.Caption += b.Say("paper.spread", text.Args{"Variants": b.Names(spread)})
	}
	if missing := a.Missing(v, fam, n); len(missing) > 0 {
		t.Caption += b.Say("paper.missing", text.Args{"Variants": b.Names(missing)})
	}
	return t, true
}

// captionOf is the caption of a table of kernels alone.
func (b builder) captionOf(rows []compare.Record, typ string, n int) document.Text {
	caption := b.Say("paper.kernels", text.Args{"Size": n, "Type": typ})
	if slices.ContainsFunc(rows, analysis.Emulates) {
		caption += b.Say("paper.threeproducts")
	}
	return caption
}

// without returns a table without one of its columns.
func without(t document.Table, column int) document.Table {
	t.Columns = slices.Delete(slices.Clone(t.Columns), column, column+1)
	for i, row := range t.Rows {
		t.Rows[i].Cells = slices.Delete(row.Cells, column, column+1)
	}
	return t
}

// pipeOf names the units of a GPU that computed a row.
func pipeOf(r compare.Record) document.Text {
	if r.GPU == nil || r.GPU.Pipe == "" {
		return number.Absent
	}
	return document.Escape(r.GPU.Pipe)
}

// spreadOf returns the variants among rows whose operands are on all ranks before the product begins.
func spreadOf(rows []compare.Record) []string {
	var out []string
	for _, r := range rows {
		if analysis.Of(r).Spread {
			out = append(out, r.Variant)
		}
	}
	return out
}

// place says on what a row of a family's table ran. The table of a GPU is of kernels alone.
func (b builder) place(r compare.Record) document.Text {
	if analysis.ByGPU(r) {
		return b.Say("paper.device")
	}
	return b.Busy(r)
}

// outside are the sections that compare a family with the same loops in C.
func (b builder) outside(v *analysis.View, fam string) []document.Section {
	switch fam {
	case analysis.Serial:
		return b.CompilersOfC(v)
	case analysis.Parallel:
		return sharing.OpenMP(b.Builder, v)
	}
	return nil
}

// claims are the claims of the course report of 2024 about a family, held against the rows.
func (b builder) claims(v *analysis.View, fam string) []document.Section {
	switch fam {
	case analysis.Parallel:
		return sharing.ThreadClaims(b.Builder, v)
	case analysis.OnRanks:
		return sharing.RankClaims(b.Builder, v)
	case analysis.OnGPU:
		return gpu.Lab(b.Builder, v)
	}
	return nil
}

// fate says in one line why a family has no rows.
func (b builder) fate(fam string) document.Text {
	command := document.Literal(b.Program + " compare --families " + fam)
	for _, r := range b.Doc.Records {
		if analysis.Family(r.Variant) == fam && r.Reason.Text != "" {
			return b.Say("paper.idle", text.Args{"Reason": b.Note(r.Reason), "Command": command})
		}
	}
	return b.Say("backend.absent", text.Args{"Command": command})
}

// codes is the chapter on products over GF(2⁸).
func (b builder) codes() []document.Section {
	s := b.Section("paper-codes", 1)
	s.Text(b.Say("theory.codes.field"))
	n := len(s.Blocks)
	for _, v := range b.Views {
		b.Figure(&s, v, "rate-gf256", "fig.rate", "")
		a := v.Answer("gf256")
		for _, fam := range families {
			if best, ok := a.Best(fam, a.Main); ok {
				s.Text(b.Say("paper.code", text.Args{
					"Variant": document.Literal(best.Variant), "Threads": b.Busy(best), "Speed": b.speed(best),
					"Size": a.Main,
				}))
			}
		}
	}
	if len(s.Blocks) == n {
		return nil
	}
	return []document.Section{s}
}
