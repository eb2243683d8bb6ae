package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm/compare"
	"gemm/compare/report/chart"
	"gemm/compare/report/document"
)

// Performance is the page that holds the production variants against the libraries
// of others, with its figures: what was measured with the profile peers, every shape
// with all contenders and the ceiling in turn. It is in English. command is the
// program's name in commands to type; empty: gemm.
//
// A ratio is the peer's median time over ours: above 1 we are ahead. Geometric means
// of ratios have the intervals of the ratios, combined as those are (see contrast):
// the distances on the logarithmic scale add as the sides of a right angle. A share
// of the ceiling divides by that which was measured in turn with the row.
func Performance(doc compare.Document, command string) (document.Report, []chart.Drawing) {
	p := performance{program: cmp.Or(command, "gemm")}
	p.report = document.Report{
		Lang: "en", Title: "Performance beside the libraries of others", Figures: "performance",
	}
	for _, v := range views(doc) {
		c := newContest(v)
		if len(c.matches) > 0 {
			p.contests = append(p.contests, c)
		}
	}
	p.report.Subtitle = p.subtitle()
	p.introduction()
	for _, c := range p.contests {
		p.host(c)
	}
	return p.report, p.drawings
}

// performance builds the page.
type performance struct {
	program  string
	contests []contest
	report   document.Report
	drawings []chart.Drawing
}

// kind is a sort of shape that is averaged and tabled together.
type kind struct {
	id, title string
	has       func(p problem) bool
}

// kinds are all kinds of shapes, in the order of the page.
var kinds = []kind{
	{"square", "Square matrices", func(p problem) bool { return p.cube() && p.n >= 64 }},
	{"small", "Small matrices", func(p problem) bool { return p.cube() && p.n < 64 }},
	{"skinny", "Skinny matrices", func(p problem) bool { return !p.cube() }},
}

// match is one shape with all that was measured in turn on it at as many threads.
type match struct {
	problem
	own   compare.Record   // of the suite; its status says whether it has a speed
	peers []compare.Record // of others, those without a speed too
}

// contest is the matches of one host, by type, threads and size.
type contest struct {
	*view
	matches []match
	rows    []compare.Record // all of them
}

// newContest returns the matches of v: the rows of the ladder that were measured in
// turn. On one thread we are serial/packed, on several parallel/packed.
func newContest(v *view) contest {
	c := contest{view: v}
	in := func(r compare.Record) bool {
		return r.Experiment == "ladder" && r.Turn != "" && r.Type != "gf256" && (entrant(r) || !ours(r))
	}
	c.rows = v.pick(in)
	for _, typ := range types(c.rows) {
		var found []match
		for _, p := range problems(c.rows) {
			if p.typ != typ {
				continue
			}
			m := match{problem: p}
			for _, r := range c.rows {
				switch {
				case problemOf(r) != p:
				case entrant(r):
					m.own = r
				default:
					m.peers = append(m.peers, r)
				}
			}
			found = append(found, m)
		}
		slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(a.threads, b.threads) })
		c.matches = append(c.matches, found...)
	}
	return c
}

// entrant reports whether a row is the one that we enter: serial/packed on one thread
// and parallel/packed on several.
func entrant(r compare.Record) bool {
	return r.Variant == packed && r.Threads <= 1 || r.Variant == parallelPacked && r.Threads > 1
}

const parallelPacked = "parallel/packed"

// of returns the matches of a type, number of threads and kind.
func (c contest) of(typ string, threads int, k kind) []match {
	var out []match
	for _, m := range c.matches {
		if m.typ == typ && m.threads == threads && k.has(m.problem) {
			out = append(out, m)
		}
	}
	return out
}

// threads returns the numbers of threads of the matches of a type, ascending.
func (c contest) threads(typ string) []int {
	var out []int
	for _, m := range c.matches {
		if m.typ == typ && !slices.Contains(out, m.threads) {
			out = append(out, m.threads)
		}
	}
	slices.Sort(out)
	return out
}

// peer returns the row of a peer; false where it has no speed or we have none.
func (m match) peer(variant string) (compare.Record, bool) {
	for _, r := range m.peers {
		if r.Variant == variant && r.Speed() && m.own.Speed() {
			return r, true
		}
	}
	return compare.Record{}, false
}

// best returns the peer that takes the least time.
func (m match) best() (compare.Record, bool) {
	best := compare.Record{Median: compare.None()}
	for _, r := range m.peers {
		if r.Speed() && m.own.Speed() && !(r.Median >= best.Median) {
			best = r
		}
	}
	return best, best.Median.Known()
}

// share returns the part of the ceiling that a row reaches, NaN where it is not known.
func share(r compare.Record) float64 { return known(r, r.PercentPeak) / 100 }

// mean is a geometric mean of ratios with its 95 % interval.
type mean struct {
	Ratio, Lo, Hi float64 // NaN where there is none
	Count         int
}

// meanOf returns the mean over the matches in which the peer was timed.
func meanOf(matches []match, variant string) mean {
	var sum, down, up float64
	n := 0
	for _, m := range matches {
		r, ok := m.peer(variant)
		if !ok {
			continue
		}
		c := contrast(r, m.own)
		sum += math.Log(c.Ratio)
		down += math.Pow(math.Log(c.Ratio/c.Lo), 2)
		up += math.Pow(math.Log(c.Hi/c.Ratio), 2)
		n++
	}
	if n == 0 {
		return mean{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	ratio := math.Exp(sum / float64(n))
	return mean{ratio, ratio * math.Exp(-math.Sqrt(down)/float64(n)), ratio * math.Exp(math.Sqrt(up)/float64(n)), n}
}

// times returns a ratio with its interval.
func times(ratio, lo, hi float64) document.Text {
	text := significant(ratio)
	if known := extent(lo, hi, significant); known != absent {
		text += " (" + strings.ReplaceAll(known, " ", "") + ")"
	}
	return document.Text(text)
}

// subtitle names the hosts and the day of the last run.
func (p *performance) subtitle() string {
	var names []string
	day := ""
	for _, c := range p.contests {
		names = append(names, cmp.Or(c.CPU, c.ID))
		for _, r := range c.runs {
			day = max(day, r.Time.UTC().Format("2006-01-02"))
		}
	}
	if len(names) == 0 {
		return "No records"
	}
	return strings.Trim(strings.Join(names, "; ")+", "+day, ", ")
}

// introduction says what the page is, and how to make it again.
func (p *performance) introduction() {
	s := document.Section{ID: "how", Title: "What is compared", Level: 1}
	s.Add(
		document.Paragraph{Text: document.Text(fmt.Sprintf("`%s` and `%s` beside OpenBLAS, Intel MKL, BLIS and gonum, as measured by `%s compare --profile peers`. "+
			"`make bench-peers` measures and renders all of this again.", packed, parallelPacked, p.program))},
		document.List{Items: []document.Text{
			"All contenders of a shape are measured in turn, A B A B, and so is the ceiling: multiply-adds on registers at as many threads. Figures of different shapes may come from different clocks of the processor; ratios of one shape do not.",
			"Each library has a process of its own, which times batches of products in C and is stopped in the turns of others. Every result is verified; one that is wrong has no speed.",
			"A ratio is the peer's median time over ours, with its 95 % interval: above 1 we are ahead. Shapes are m×n×k: C is m×n.",
			"[How time is measured](docs/measuring.md) has the rest.",
		}},
	)
	if len(p.contests) == 0 {
		s.Add(document.Paragraph{Text: document.Text(fmt.Sprintf("There are no records of it. `%s compare --profile peers` makes them.", p.program))})
	}
	p.report.Add(s)
}

// host adds the sections of one host.
func (p *performance) host(c contest) {
	section := func(id, title string, level int) document.Section {
		return document.Section{ID: id + c.suffix, Title: title, Level: level}
	}
	s := section("host", cmp.Or(c.CPU, c.ID), 1)
	s.Add(document.Paragraph{Text: p.machine(c)})
	s.Add(p.contenders(c))
	p.report.Add(s)

	s = section("means", "Geometric means", 2)
	s.Add(p.means(c))
	p.report.Add(s)

	s = section("goals", "Goals", 2)
	s.Add(goals(c))
	p.report.Add(s)

	s = section("lost", "Where we lose", 2)
	p.lost(&s, c)
	p.report.Add(s)

	for _, typ := range types(c.rows) {
		for _, threads := range c.threads(typ) {
			for _, k := range kinds {
				matches := c.of(typ, threads, k)
				if len(matches) == 0 {
					continue
				}
				s := section(fmt.Sprintf("shapes-%s-%s-%d", k.id, typ, threads), fmt.Sprintf("%s, %s, %s", k.title, typ, busy(threads)), 2)
				p.detail(&s, c, k, matches)
				p.report.Add(s)
			}
		}
	}
	s = section("ablation", "Where the time goes", 2)
	ablation(&s, c, p.program)
	p.report.Add(s)

	if notes := remarks(c.rows); len(notes) > 0 {
		s = section("remarks", "Rows without a speed, and warnings", 2)
		s.Add(document.List{Items: notes})
		p.report.Add(s)
	}
}

// busy returns "1 thread" or "n threads".
func busy(threads int) string {
	if threads == 1 {
		return "1 thread"
	}
	return fmt.Sprint(threads, " threads")
}

// machine describes the host and the program in a sentence.
func (p *performance) machine(c contest) document.Text {
	text := fmt.Sprintf("%d processors in use, %s", c.Cores, c.ISA)
	for _, k := range c.Caches {
		text += fmt.Sprintf(", L%d %s", k.Level, byteSize(float64(k.Bytes)))
	}
	out := document.Escape(text + "; " + c.OS + ".")
	for _, run := range c.runs {
		if slices.ContainsFunc(c.rows, func(r compare.Record) bool { return r.Run == run.ID }) {
			out += " Measured at revision " + document.Literal(revision(run.Git)) + " with " + document.Escape(run.Go) + " by " + document.Literal(run.Command) + "."
		}
	}
	return out
}

// contenders is the table of who takes part, by what each said of itself.
func (p *performance) contenders(c contest) document.Table {
	t := document.Table{
		ID: "contenders" + c.suffix, Caption: "The contenders.",
		Columns: []document.Column{{Title: "Variant"}, {Title: "Version"}, {Title: "Kernel"}, {Title: "Process"}},
	}
	type seen struct{ variant, version, kernel, process string }
	said := map[seen]bool{}
	for _, r := range c.rows {
		if !r.Speed() {
			continue
		}
		text := func(name string) string {
			if value, ok := r.Resolved[name]; ok {
				return fmt.Sprint(value)
			}
			return absent
		}
		who := seen{r.Variant, text("version"), text("kernel"), text("process")}
		if said[who] {
			continue
		}
		said[who] = true
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{document.Literal(who.variant), document.Escape(who.version), document.Escape(who.kernel), document.Escape(who.process)}})
	}
	slices.SortStableFunc(t.Rows, func(a, b document.Row) int { return cmp.Compare(rank(string(a.Cells[0])), rank(string(b.Cells[0]))) })
	return t
}

// order is that of contenders in tables and figures.
var order = []string{packed, parallelPacked, "reference/openblas", "reference/mkl", "reference/blis", "serial/gonum"}

func rank(variant string) int {
	i := slices.Index(order, strings.Trim(variant, "`"))
	if i < 0 {
		return len(order)
	}
	return i
}

// rivals returns the peers of matches in the order of tables.
func rivals(matches []match) []string {
	var rows []compare.Record
	for _, m := range matches {
		rows = append(rows, m.peers...)
	}
	names := distinct(rows, variantOf)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return names
}

// means is the table of the geometric means of all kinds against all peers.
func (p *performance) means(c contest) document.Table {
	names := rivals(c.matches)
	t := document.Table{
		ID:      "table-means" + c.suffix,
		Caption: "Geometric means of the ratios over all shapes of a kind, with 95 % intervals and the number of shapes. Above 1 we are ahead.",
		Columns: []document.Column{{Title: "Shapes"}},
		Command: p.command(c.matches),
	}
	for _, name := range names {
		t.Columns = append(t.Columns, document.Column{Title: "against " + algorithm(name), Numeric: true})
	}
	for _, typ := range types(c.rows) {
		for _, threads := range c.threads(typ) {
			for _, k := range kinds {
				matches := c.of(typ, threads, k)
				if len(matches) == 0 {
					continue
				}
				row := document.Row{Cells: []document.Text{document.Text(fmt.Sprintf("[%s, %s, %s](#shapes-%s-%s-%d%s)", strings.ToLower(k.title), typ, busy(threads), k.id, typ, threads, c.suffix))}}
				for _, name := range names {
					m := meanOf(matches, name)
					cell := times(m.Ratio, m.Lo, m.Hi)
					if m.Count > 0 {
						cell += document.Text(fmt.Sprintf(", %d", m.Count))
					}
					row.Cells = append(row.Cells, cell)
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// lost lists every shape at which the best peer is ahead.
func (p *performance) lost(s *document.Section, c contest) {
	type loss struct {
		match
		peer compare.Record
		comparison
	}
	var losses []loss
	var level []document.Text
	compared := 0
	for _, m := range c.matches {
		best, ok := m.best()
		if !ok {
			continue
		}
		compared++
		l := loss{m, best, contrast(best, m.own)}
		switch {
		case l.Outcome == slower:
			losses = append(losses, l)
		case !(l.Ratio >= 1):
			level = append(level, document.Text(fmt.Sprintf("%s %s %s (%s)", m.label(), m.typ, busy(m.threads), significant(l.Ratio))))
		}
	}
	slices.SortStableFunc(losses, func(a, b loss) int { return cmp.Compare(a.Ratio, b.Ratio) })
	s.Add(document.Paragraph{Text: document.Text(fmt.Sprintf("Of %d shapes, types and numbers of threads on which we and a peer were timed, the best peer is ahead on %d, distinguishably (p < %g).",
		compared, len(losses), significance))})
	if len(losses) > 0 {
		t := document.Table{
			ID: "table-lost" + c.suffix, Caption: "Where the best peer is ahead, the worst first.",
			Columns: []document.Column{
				{Title: "Shape"}, {Title: "Type"}, {Title: "Threads", Numeric: true}, {Title: "Best peer"},
				{Title: "Ours, GFLOP/s", Numeric: true}, {Title: "Theirs", Numeric: true}, {Title: "Ratio (95 % interval)", Numeric: true}, {Title: "p", Numeric: true},
			},
		}
		var matches []match
		for _, l := range losses {
			matches = append(matches, l.match)
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Escape(l.label()), document.Text(l.typ), document.Text(fmt.Sprint(l.threads)), document.Literal(l.peer.Variant),
				document.Text(significant(float64(l.own.Gflops))), document.Text(significant(float64(l.peer.Gflops))),
				times(l.Ratio, l.Lo, l.Hi), document.Text(probability(l.P)),
			}})
		}
		t.Command = p.command(matches)
		s.Add(t)
	}
	if len(level) > 0 {
		s.Add(document.Paragraph{Text: "Below 1 too, but not distinguishable: " + document.Join(level, ", ") + "."})
	}
}

// detail adds the figure and the tables of one kind of shapes.
func (p *performance) detail(s *document.Section, c contest, k kind, matches []match) {
	names := rivals(matches)
	command := p.command(matches)
	own, threads, typ := matches[0].own.Variant, matches[0].threads, matches[0].typ
	if own == "" {
		own = packed
		if threads > 1 {
			own = parallelPacked
		}
	}
	id := fmt.Sprintf("%s-%s-%d%s", k.id, typ, threads, c.suffix)
	if curve, ok := rateCurve(matches, own, names); ok {
		curve.Title = fmt.Sprintf("%s, %s, %s", k.title, typ, busy(threads))
		p.drawings = append(p.drawings, chart.Drawing{ID: id, Title: curve.Title + ": GFLOP/s over n", Chart: curve})
		s.Add(document.Figure{
			ID:      id,
			Caption: document.Text(fmt.Sprintf("%s in %s on %s. The top of the axis is the ceiling, the median of those measured in turn; bars are 95 %% intervals of the medians.", k.title, typ, busy(threads))),
			Alt:     fmt.Sprintf("GFLOP/s over n of %s and its peers, %s, %s", own, typ, busy(threads)),
			Command: command,
		})
	}

	speeds := document.Table{
		ID: "table-" + id, Command: command,
		Caption: "Median GFLOP/s, and the share of the ceiling measured in turn.",
		Columns: []document.Column{{Title: "Shape"}, {Title: "Ceiling", Numeric: true}, {Title: own, Numeric: true}},
	}
	ratios := document.Table{
		ID: "table-ratios-" + id, Command: command,
		Caption: document.Text(fmt.Sprintf("`%s` against each peer: ratios with 95 %% intervals, and their geometric means.", own)),
		Columns: []document.Column{{Title: "Shape"}},
	}
	twice := threads > 1 && slices.ContainsFunc(matches, func(m match) bool { _, ok := c.scaling(m); return ok })
	if twice {
		speeds.Columns = append(speeds.Columns, document.Column{Title: fmt.Sprintf("over %d × %s", threads, packed), Numeric: true})
	}
	for _, name := range names {
		speeds.Columns = append(speeds.Columns, document.Column{Title: algorithm(name), Numeric: true})
		ratios.Columns = append(ratios.Columns, document.Column{Title: "against " + algorithm(name), Numeric: true})
	}
	for _, m := range matches {
		row := document.Row{Cells: []document.Text{document.Escape(m.label()), document.Text(significant(m.top())), rate(m.own)}}
		if twice {
			x, _ := c.scaling(m)
			row.Cells = append(row.Cells, document.Text(significant(x)))
		}
		against := document.Row{Cells: []document.Text{document.Escape(m.label())}}
		for _, name := range names {
			cell := document.Text(absent)
			for _, r := range m.peers {
				if r.Variant == name {
					cell = rate(r)
				}
			}
			row.Cells = append(row.Cells, cell)
			if r, ok := m.peer(name); ok {
				x := contrast(r, m.own)
				against.Cells = append(against.Cells, times(x.Ratio, x.Lo, x.Hi))
			} else {
				against.Cells = append(against.Cells, absent)
			}
		}
		speeds.Rows, ratios.Rows = append(speeds.Rows, row), append(ratios.Rows, against)
	}
	total := document.Row{Cells: []document.Text{"geometric mean"}, Class: "best"}
	for _, name := range names {
		m := meanOf(matches, name)
		total.Cells = append(total.Cells, times(m.Ratio, m.Lo, m.Hi))
	}
	ratios.Rows = append(ratios.Rows, total)
	s.Add(speeds, ratios)
}

// top returns the ceiling that was measured in turn with m, NaN where none was.
func (m match) top() float64 {
	for _, r := range append([]compare.Record{m.own}, m.peers...) {
		if r.Ceiling > 0 {
			return r.Ceiling
		}
	}
	return math.NaN()
}

// rate returns the speed of a row with its share of the ceiling.
func rate(r compare.Record) document.Text {
	if !r.Speed() {
		return document.Text(cmp.Or(string(r.Status), absent))
	}
	text := significant(float64(r.Gflops))
	if r.PercentPeak.Known() {
		text += fmt.Sprintf(" (%.0f %%)", float64(r.PercentPeak))
	}
	return document.Text(text)
}

// scaling returns our speed on several threads over as many times that on one; false
// where one of the two was not timed.
func (c contest) scaling(m match) (float64, bool) {
	one := m.problem
	one.threads = 1
	for _, o := range c.matches {
		if o.problem == one && o.own.Speed() && m.own.Speed() {
			return float64(o.own.Median) / float64(m.own.Median) / float64(m.threads), true
		}
	}
	return math.NaN(), false
}

// rateCurve is the speed of all contenders over n, up to the ceiling: of cubes at two
// sizes or more.
func rateCurve(matches []match, own string, names []string) (chart.Curve, bool) {
	var c collection
	var ceilings []float64
	for _, m := range matches {
		if x := m.top(); m.cube() && !math.IsNaN(x) {
			ceilings = append(ceilings, x)
		}
	}
	look := func(variant string) chart.Look { return chart.LookOf(max(rank(variant)-1, 0)) }
	for _, variant := range append([]string{own}, names...) {
		for _, m := range matches {
			for _, r := range append([]compare.Record{m.own}, m.peers...) {
				if r.Variant == variant && r.Speed() && r.Median > 0 && m.cube() {
					c.add(variant, look(variant), measured(r, float64(r.N), float64(r.Gflops)))
				}
			}
		}
	}
	curve := chart.Curve{XLabel: "n (matrices are n×n)", YLabel: "GFLOP/s", Sizes: c.places(), Series: c, Top: true}
	if len(ceilings) > 0 {
		level := middle(ceilings)
		curve.Limit = chart.Limit{Level: level, Label: fmt.Sprintf("measured ceiling, %s: %s GFLOP/s", busy(matches[0].threads), significant(level))}
	}
	for i := range curve.Series {
		if curve.Series[i].Label != own {
			curve.Series[i].Look.Dashes = []vg.Length{4, 2}
		}
	}
	return curve, len(curve.Sizes) >= 2
}

// command returns what measures the matches again.
func (p *performance) command(matches []match) string {
	var typs, threads, sizes []string
	add := func(set *[]string, s string) {
		if !slices.Contains(*set, s) {
			*set = append(*set, s)
		}
	}
	for _, m := range matches {
		add(&typs, m.typ)
		add(&threads, fmt.Sprint(m.threads))
		add(&sizes, strings.ReplaceAll(compare.Record{M: m.m, N: m.n, K: m.k}.Shape(), "×", "x"))
	}
	return fmt.Sprintf("%s compare --profile peers --type %s --threads %s --sizes %s --out again",
		p.program, strings.Join(typs, ","), strings.Join(threads, ","), strings.Join(sizes, ","))
}

// parts are the measurements of the parts of a packed product, in the order of their
// table.
var parts = []struct{ name, title string }{
	{"micro-kernel", "micro-kernel, operands in the first level of cache"},
	{"micro-kernel-l2", "micro-kernel, operands in the second level of cache"},
	{"packing", "packing alone"},
	{"update-c", "update of C alone"},
}

// ablation shows the measurements of the parts: kernels beside the ceiling of the
// host, parts of a product of a size beside that product.
func ablation(s *document.Section, c contest, program string) {
	t := document.Table{
		ID:      "table-ablation" + c.suffix,
		Caption: "Parts of a packed product on one thread: medians, with the lowest and the highest sample. The rate of packing and of the update is what the product would have if the rest took no time, so that its own rate over theirs is their share of its time.",
		Columns: []document.Column{
			{Title: "Part"}, {Title: "Parameters"}, {Title: "Median", Numeric: true}, {Title: "Range", Numeric: true}, {Title: "Unit"},
			{Title: "% of ceiling", Numeric: true}, {Title: "% of the product's time", Numeric: true},
		},
	}
	for _, part := range parts {
		for _, m := range c.measurements {
			if m.Name != part.name || len(m.Samples) == 0 {
				continue
			}
			median := middle(m.Samples)
			ceiling, time := math.NaN(), math.NaN()
			typ, _ := m.Params["type"].(string)
			if n, whole := m.Params["n"].(int); whole {
				time = 100 * c.rate(typ, n) / median
			} else if top, ok := c.ceiling(typ, 1); ok {
				ceiling = 100 * median / float64(top.Gflops)
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
				document.Text(part.title), document.Escape(m.Params.String()), document.Text(significant(median)),
				document.Text(extent(slices.Min(m.Samples), slices.Max(m.Samples), significant)), document.Escape(m.Unit),
				document.Text(significant(ceiling)), document.Text(significant(time)),
			}})
		}
	}
	if len(t.Rows) == 0 {
		s.Add(document.Paragraph{Text: document.Text(fmt.Sprintf("The records hold no measurement of the parts; `%s compare` makes them beside the rows of `%s`.", program, packed))})
		return
	}
	s.Add(t)
}

// rate returns our GFLOP/s on one thread for n×n matrices, NaN where it was not
// measured.
func (c contest) rate(typ string, n int) float64 {
	for _, m := range c.matches {
		if m.typ == typ && m.threads == 1 && m.cube() && m.n == n {
			return known(m.own, m.own.Gflops)
		}
	}
	return math.NaN()
}

// middle returns the median of samples.
func middle(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// mostNamed is the number of shapes that a remark names; of more it says how many.
const mostNamed = 12

// remarks lists the rows without a speed and the warnings of the others, those of one
// variant with the same words together.
func remarks(rows []compare.Record) []document.Text {
	type remark struct{ variant, words string }
	shapes := map[remark][]string{}
	var all []remark
	note := func(r compare.Record, words string) {
		k := remark{r.Variant, words}
		if shapes[k] == nil {
			all = append(all, k)
		}
		shapes[k] = append(shapes[k], fmt.Sprintf("%s %s", problemOf(r).label(), r.Type)+onThreads(r.Threads))
	}
	for _, r := range rows {
		if !r.Speed() {
			note(r, strings.Trim(string(r.Status)+": "+r.Reason, ": "))
		}
		for _, w := range r.Warnings {
			note(r, w)
		}
	}
	slices.SortStableFunc(all, func(a, b remark) int { return cmp.Compare(rank(a.variant), rank(b.variant)) })
	total := map[string]int{}
	for _, r := range rows {
		total[r.Variant]++
	}
	var items []document.Text
	for _, k := range all {
		where := strings.Join(shapes[k], ", ")
		switch n := len(shapes[k]); {
		case n == total[k.variant]:
			where = "all rows"
		case n > mostNamed:
			where = fmt.Sprintf("%d of %d rows", n, total[k.variant])
		}
		items = append(items, document.Literal(k.variant)+": "+document.Escape(k.words)+" ("+document.Escape(where)+")")
	}
	return items
}

// onThreads returns ", n threads" for several.
func onThreads(threads int) string {
	if threads <= 1 {
		return ""
	}
	return " on " + busy(threads)
}
