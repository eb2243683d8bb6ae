package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/document"
)

// sharing is what is said of the family parallel on one host: how its variants scale,
// what schedules, chunks and placement do to them, when their workers were busy, what
// sharing costs at all, and what becomes of the findings of the report of 2024.
func (b *builder) sharing(v *view) []document.Section {
	if !v.sharesWork() {
		return nil
	}
	var sections []document.Section
	for _, part := range []func(*view) (document.Section, bool){
		b.strong(overThreads), b.weak(overThreads), b.chunks, b.loads, b.placing(overThreads, "affinity"), b.placing(overThreads, "gomaxprocs"), b.overheads, b.findings,
	} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// sharesWork reports whether there is anything to say in the chapter on sharing.
func (v *view) sharesWork() bool {
	return v.has("parallel") || len(v.traces) > 0 || len(v.overheads()) > 0
}

// has reports whether there are rows of a family.
func (v *view) has(fam string) bool {
	return slices.ContainsFunc(v.records, func(r compare.Record) bool { return family(r.Variant) == fam })
}

// experiments are those of the families parallel and mpi, whose tables have the serial
// rows beside them that they are held against.
var experiments = []string{"strong", "weak", "chunk", "load", "affinity", "gomaxprocs", "panel", "schedule"}

// axis is what the rows of a series differ in.
type axis struct {
	param  string // as messages and parameters have it
	family string // whose rows it is of
	prefix string // of sections, figures and messages
	one    string // one of them, in letters of figures
}

// The axes: the threads of the family parallel, and the ranks of the family mpi.
var (
	overThreads = axis{"threads", "parallel", "", "thread"}
	overRanks   = axis{"ranks", "mpi", "mpi-", "rank"}
)

// fixed names the experiments that have a problem of a fixed size, the best first.
func (a axis) fixed() []string {
	if a == overRanks {
		return []string{"strong", "ladder"}
	}
	return []string{"strong", "chunk", "affinity", "gomaxprocs"}
}

// axisOf returns the axis of a variant's series.
func axisOf(variant string) axis {
	if family(variant) == overRanks.family {
		return overRanks
	}
	return overThreads
}

// count returns where a row is on the axis: its threads, or its ranks whatever threads
// each of them has. 0: the row does not say.
func (a axis) count(r compare.Record) int {
	if a == overThreads {
		return r.Threads
	}
	if ranks, ok := r.Params[a.param].(int); ok {
		return ranks
	}
	return len(r.Ranks)
}

// named puts the name of the axis into letters of a figure.
func (a axis) named(letters string) string { return strings.ReplaceAll(letters, "{one}", a.one) }

// shared returns the timed rows of the family parallel in the given experiments.
func (v *view) shared(typ string, experiments ...string) []compare.Record {
	return v.along(overThreads, typ, experiments...)
}

// along returns the timed rows of an axis in the given experiments.
func (v *view) along(a axis, typ string, experiments ...string) []compare.Record {
	return v.pick(func(r compare.Record) bool {
		return r.Type == typ && family(r.Variant) == a.family && a.count(r) > 0 && r.Speed() && r.Median > 0 && slices.Contains(experiments, r.Experiment)
	})
}

// sharedTypes returns the element types of the rows of the family parallel.
func (v *view) sharedTypes() []string { return v.typesOf(overThreads) }

// typesOf returns the element types of the rows of an axis.
func (v *view) typesOf(a axis) []string {
	return types(v.pick(func(r compare.Record) bool { return family(r.Variant) == a.family }))
}

// granted returns the number of processors that this host lets a product have: those
// that it may use, or as many as its quota is worth.
func (v *view) granted() float64 {
	if v.Quota.Known() {
		return min(float64(v.Cores), float64(v.Quota))
	}
	return float64(v.Cores)
}

// crowded reports whether so many threads do not run at the same time on the host;
// not where its processors are not known.
func (v *view) crowded(threads int) bool { return v.Cores > 0 && v.Crowded(threads) != "" }

// inTurn reports whether rows were sampled in one turn, which is one of a run.
func inTurn(rows ...compare.Record) bool {
	return rows[0].Turn != "" && !slices.ContainsFunc(rows, func(r compare.Record) bool {
		return r.Turn != rows[0].Turn || r.Run != rows[0].Run
	})
}

// beside compares two rows as contrast does where they were sampled in turn. Of others
// it gives the ratio alone: what the machine did between them is in no sample, so that
// neither an interval nor a test can speak of it.
func beside(a, b compare.Record) comparison {
	if inTurn(a, b) {
		return contrast(a, b)
	}
	return comparison{Ratio: float64(a.Median) / float64(b.Median), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}
}

// omit returns p without the parameters named.
func omit(p gemm.Params, names ...string) gemm.Params {
	out := maps.Clone(p)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// setting names parameters other than the threads as a reader would: the schedule by
// its name, the others as name=value, those that are off left out.
func setting(p gemm.Params) string {
	var parts []string
	if schedule, ok := p["schedule"].(string); ok {
		parts = append(parts, schedule)
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if value := p[name]; name != "schedule" && name != "threads" && value != 0 && value != "none" {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	return strings.Join(parts, " ")
}

// settingOf returns the setting of a row, with the schedule that was run where
// another word was asked for, as auto and default are.
func settingOf(r compare.Record) string {
	text := setting(r.Params)
	asked, ran := r.Params["schedule"], r.Resolved["schedule"]
	if asked == nil || ran == nil || asked == ran {
		return text
	}
	text += fmt.Sprintf(" → %v", ran)
	if chunk, ok := r.Resolved["chunk"].(int); ok && chunk > 0 {
		text += fmt.Sprintf(" %d", chunk)
	}
	return text
}

// settled returns a setting as a cell, in one line where it is short.
func settled(text string) document.Text {
	const short = 20 // characters
	switch {
	case text == "":
		return absent
	case len(text) <= short:
		text = strings.ReplaceAll(text, " ", "\u00a0")
	}
	return document.Escape(text)
}

// trait names those parameters of a row as setting does that tell rows of its variant
// apart: of the family mpi, whose rows have many, those that they do not all share.
func (v *view) trait(variant string, p gemm.Params) string {
	if family(variant) != overRanks.family {
		return setting(p)
	}
	alike, known := v.alike[variant]
	if !known {
		rows := v.pick(func(r compare.Record) bool { return r.Variant == variant })
		alike = constants(rows, overRanks.param)
		maps.DeleteFunc(alike, func(name string, _ any) bool {
			return slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Params[name] == nil })
		})
		v.alike[variant] = alike
	}
	text := setting(omit(p, append(slices.Collect(maps.Keys(alike)), overRanks.param)...))
	if alike["threads"] == nil && p["threads"] != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s threads=%v", text, p["threads"]))
	}
	return text
}

// series is the rows of one variant that differ in their place on an axis alone.
type series struct {
	problem    // of one thread
	axis       axis
	variant    string
	rest       gemm.Params      // asked for, but for the axis
	set        string           // rest in words
	rows       []compare.Record // along the axis, ascending
	experiment string
	grows      bool // along the axis, as m does: every worker has the same work
}

// seriesOf returns the series of rows in the order of their sizes. Where work grows, m
// is that of one thread or rank times their number.
func (v *view) seriesOf(a axis, rows []compare.Record, grows bool) []series {
	var out []series
	at := map[string]int{}
	for _, r := range rows {
		p := problemOf(r)
		if grows {
			if p.m%a.count(r) != 0 {
				continue
			}
			p = p.ofOne(a.count(r))
		}
		p.threads = 1
		rest := omit(r.Params, a.param)
		key := fmt.Sprint(r.Experiment, r.Variant, p, rest)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, series{problem: p, axis: a, variant: r.Variant, rest: rest, set: v.trait(r.Variant, rest), experiment: r.Experiment, grows: grows})
		}
		if !slices.ContainsFunc(out[i].rows, func(o compare.Record) bool { return a.count(o) == a.count(r) }) {
			out[i].rows = append(out[i].rows, r)
		}
	}
	out = slices.DeleteFunc(out, func(s series) bool { return len(s.rows) < 2 })
	for _, s := range out {
		slices.SortFunc(s.rows, func(x, y compare.Record) int { return cmp.Compare(a.count(x), a.count(y)) })
	}
	slices.SortStableFunc(out, func(x, y series) int { return x.problem.compare(y.problem) })
	return out
}

// ofOne returns the problem of one of so many threads or ranks where m grows with them.
func (p problem) ofOne(count int) problem {
	m := p.m / count
	if strings.HasPrefix(p.op, "t") { // A is stored in rows of m
		p.lda -= p.m - m
	}
	p.m, p.threads = m, 1
	return p
}

// name returns the variant and its setting, for prose.
func (s series) name() document.Text {
	text := document.Literal(s.variant)
	if s.set != "" {
		text += " (" + document.Escape(s.set) + ")"
	}
	return text
}

// legend returns the same for a figure.
func (s series) legend() string {
	if s.set != "" {
		return algorithm(s.variant) + ", " + s.set
	}
	return algorithm(s.variant)
}

// setting returns what a row was asked to do and did, but for its place on the axis.
func (s series) setting(r compare.Record) string {
	if s.axis == overThreads {
		return settingOf(r)
	}
	return s.set
}

// most returns the row of the most threads.
func (s series) most() compare.Record { return s.rows[len(s.rows)-1] }

// full returns the row of the most threads that v has processors for, that of the
// fewest threads where it has for none.
func (s series) full(v *view) compare.Record {
	for _, r := range slices.Backward(s.rows) {
		if !v.crowded(r.Threads) {
			return r
		}
	}
	return s.rows[0]
}

// one returns the row of one thread or rank.
func (s series) one() (compare.Record, bool) { return s.rows[0], s.axis.count(s.rows[0]) == 1 }

// count returns where a row is on the axis.
func (s series) count(r compare.Record) int { return s.axis.count(r) }

// speedup holds a row of the series against that of one thread: how many times as
// fast it is, or, where the work grows, how many times that of one thread it does in
// the same time.
func (s series) speedup(r compare.Record) (comparison, bool) {
	one, ok := s.one()
	if !ok || s.count(r) == 1 {
		return comparison{}, false
	}
	c := beside(one, r)
	if s.grows {
		p := float64(s.count(r))
		c.Ratio, c.Lo, c.Hi = p*c.Ratio, p*c.Lo, p*c.Hi
	}
	return c, true
}

// fit fits Amdahl's law, or Gustafson's where the work grows, to the rows on several
// threads, as many as there are processors at most. It needs one of those and the row
// of one thread, all sampled in turn. Rows of different numbers of ranks are of different
// launches and never in turn: their law is fitted, and what the scatter leaves for its
// fraction is not known.
func (s series) fit(v *view) (law, bool) {
	if s.axis == overThreads && !inTurn(s.rows...) {
		return law{}, false
	}
	var threads []int
	var values []float64
	for _, r := range s.rows {
		c, ok := s.speedup(r)
		if !ok || v.crowded(r.Threads) {
			continue
		}
		threads = append(threads, s.count(r))
		if s.grows {
			values = append(values, c.Ratio)
		} else {
			values = append(values, 1/c.Ratio)
		}
	}
	var l law
	switch {
	case len(threads) == 0:
		return law{}, false
	case s.grows:
		l = gustafson(threads, values)
	default:
		l = amdahl(threads, values)
	}
	if s.axis == overRanks {
		l.Lo, l.Hi = math.NaN(), math.NaN()
	}
	return l, true
}

// strongSeries returns, by variant, the series of one type over a fixed size: those of
// the experiment that has them, of those with several chunks the one with the chunk at
// its default, or else the quickest on the most threads.
func (v *view) strongSeries(a axis, typ string) []series {
	var out []series
	all := v.along(a, typ, a.fixed()...)
	for _, variant := range distinct(all, variantOf) {
		for _, experiment := range a.fixed() {
			found := v.seriesOf(a, slices.DeleteFunc(slices.Clone(all), func(r compare.Record) bool {
				return r.Variant != variant || r.Experiment != experiment
			}), false)
			if len(found) > 0 {
				out = append(out, oneChunk(found)...)
				break
			}
		}
	}
	return out
}

// oneChunk keeps one of the series that differ in the chunk alone.
func oneChunk(all []series) []series {
	var out []series
	at := map[string]int{}
	for _, s := range all {
		key := fmt.Sprint(s.problem, omit(s.rest, "chunk"))
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, s)
			continue
		}
		if own := chunkOf(s.rest) == 0; own || chunkOf(out[i].rest) != 0 && s.most().Median < out[i].most().Median {
			out[i] = s
		}
	}
	return out
}

// chunkOf returns the chunk asked for, 0 for the schedule's default.
func chunkOf(p gemm.Params) int {
	chunk, _ := p["chunk"].(int)
	return chunk
}

// mainSize returns the problem that the most variants have series for, the largest of
// those that are level.
func mainSize(all []series) problem {
	variants := map[problem]map[string]bool{}
	var best problem
	for _, s := range all {
		if variants[s.problem] == nil {
			variants[s.problem] = map[string]bool{}
		}
		variants[s.problem][s.variant] = true
	}
	for p, names := range variants {
		if n := len(names) - len(variants[best]); n > 0 || n == 0 && p.compare(best) > 0 {
			best = p
		}
	}
	return best
}

// leading returns one series a variant at a problem: the quickest on the most threads
// that there are processors for.
func (v *view) leading(all []series, p problem) []series {
	var out []series
	for _, s := range all {
		if s.problem != p {
			continue
		}
		i := slices.IndexFunc(out, func(o series) bool { return o.variant == s.variant })
		switch {
		case i < 0:
			out = append(out, s)
		case s.full(v).Threads > out[i].full(v).Threads,
			s.full(v).Threads == out[i].full(v).Threads && s.full(v).Median < out[i].full(v).Median:
			out[i] = s
		}
	}
	return out
}

// bestSerial returns the quickest serial row on the problem of one thread of s: of its
// own experiment, or else of the ladder.
func (v *view) bestSerial(s series) (compare.Record, bool) {
	for _, experiment := range []string{s.experiment, "ladder"} {
		if best, ok := quickest(v.records, s.problem, func(o compare.Record) bool {
			return family(o.Variant) == "serial" && o.Experiment == experiment
		}); ok {
			return best, true
		}
	}
	return compare.Record{}, false
}
