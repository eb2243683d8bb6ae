package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// view is what one host contributed to a document. Rows are compared within a
// view only.
type view struct {
	compare.Host
	suffix       string // of anchors: empty, or "-" and the host's id where there are several
	runs         []compare.RunInfo
	records      []compare.Record
	measurements []compare.Measurement
	traces       []compare.Trace
	chunkTests   map[string][]bout      // by type: thousands of tests, and read twice
	alike        map[string]gemm.Params // by variant of the family mpi: what its rows share
}

// views splits a document by host, in the document's order. A host that rows
// name but that is not described has only its id.
func views(doc compare.Document) []*view {
	var list []*view
	byID := map[string]*view{}
	at := func(id string) *view {
		v := byID[id]
		if v == nil {
			v = &view{Host: compare.Host{ID: id}, chunkTests: map[string][]bout{}, alike: map[string]gemm.Params{}}
			byID[id] = v
			list = append(list, v)
		}
		return v
	}
	for _, h := range doc.Hosts {
		at(h.ID).Host = h
	}
	for _, r := range doc.Runs {
		v := at(r.Host)
		v.runs = append(v.runs, r)
	}
	for _, r := range doc.Records {
		v := at(r.Host)
		v.records = append(v.records, r)
	}
	for _, m := range doc.Measurements {
		v := at(m.Host)
		v.measurements = append(v.measurements, m)
	}
	for _, t := range doc.Traces {
		v := at(t.Host)
		v.traces = append(v.traces, t)
	}
	for _, v := range list {
		if len(list) > 1 {
			v.suffix = "-" + anchor(v.ID)
		}
	}
	return list
}

// problem is a case: what must be equal of two rows for their times to be compared.
type problem struct {
	typ, op                string
	alpha, beta            float64
	m, n, k                int
	lda, ldb, ldc, threads int
}

func problemOf(r compare.Record) problem {
	return problem{r.Type, r.Op, r.Alpha, r.Beta, r.M, r.N, r.K, r.LDA, r.LDB, r.LDC, max(r.Threads, 1)}
}

// cube reports whether p is C = A·B with square operands.
func (p problem) cube() bool {
	return p.m == p.n && p.n == p.k && (p.op == "nn" || p.op == "") && p.alpha == 1 && p.beta == 0
}

// compare orders points by work, then by shape.
func (p problem) compare(q problem) int {
	return cmp.Or(
		cmp.Compare(float64(p.m)*float64(p.n)*float64(p.k), float64(q.m)*float64(q.n)*float64(q.k)),
		cmp.Compare(p.m, q.m), cmp.Compare(p.n, q.n), cmp.Compare(p.threads, q.threads),
		cmp.Compare(p.op, q.op), cmp.Compare(p.alpha, q.alpha), cmp.Compare(p.beta, q.beta),
		cmp.Compare(p.lda, q.lda), cmp.Compare(p.ldb, q.ldb), cmp.Compare(p.ldc, q.ldc))
}

// label returns the shape of p, with what makes it more than a plain product.
func (p problem) label() string {
	text := compare.Record{M: p.m, N: p.n, K: p.k}.Shape()
	if p.op != "nn" && p.op != "" {
		text += " " + p.op
	}
	if p.alpha != 1 || p.beta != 0 {
		text += fmt.Sprintf(" α=%g β=%g", p.alpha, p.beta)
	}
	if p.lda > p.k || p.ldb > p.n || p.ldc > p.n {
		text += fmt.Sprintf(" ld %d,%d,%d", p.lda, p.ldb, p.ldc)
	}
	return text
}

// anchor returns text with everything but letters and digits as a dash, fit for
// the ID of a section.
func anchor(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
}

// pick returns the rows of the view that keep says to keep.
func (v *view) pick(keep func(compare.Record) bool) []compare.Record {
	var out []compare.Record
	for _, r := range v.records {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// ladder returns the main rows of one type: those of the experiment "ladder".
func (v *view) ladder(typ string) []compare.Record {
	return v.pick(func(r compare.Record) bool { return r.Experiment == "ladder" && r.Type == typ })
}

// types returns the element types of rows, in the order f64, f32, gf256.
func types(rows []compare.Record) []string {
	rank := func(t string) int { return (slices.Index([]string{"f64", "f32", "gf256"}, t) + 4) % 4 }
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.Type] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// distinct returns what of says of each row, in order of first appearance.
func distinct[R any, K comparable](rows []R, of func(R) K) []K {
	var out []K
	seen := map[K]bool{}
	for _, r := range rows {
		if k := of(r); !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

func variantOf(r compare.Record) string { return r.Variant }

// points returns the cases of rows, the smallest first.
func problems(rows []compare.Record) []problem {
	out := distinct(rows, problemOf)
	slices.SortFunc(out, problem.compare)
	return out
}

// at returns the row of a variant at a point: with its default parameters if it
// was measured with several.
func at(rows []compare.Record, variant string, p problem) (compare.Record, bool) {
	var found *compare.Record
	for i, r := range rows {
		if r.Variant == variant && problemOf(r) == p && (found == nil || len(r.Params) < len(found.Params)) {
			found = &rows[i]
		}
	}
	if found == nil {
		return compare.Record{}, false
	}
	return *found, true
}

// quickest returns the row of the least time at p among those that keep says.
func quickest(rows []compare.Record, p problem, keep func(compare.Record) bool) (compare.Record, bool) {
	best := compare.Record{Median: compare.None()}
	for _, r := range rows {
		if r.Speed() && problemOf(r) == p && keep(r) && !(r.Median >= best.Median) {
			best = r
		}
	}
	return best, best.Median.Known()
}

// speed returns a row's speed in the unit of its type: GFLOP/s, or for the field
// of bytes Gmul/s. It is absent where the row is not ok.
func speed(r compare.Record) (compare.Number, string) {
	value, unit := r.Gflops, "GFLOP/s"
	if r.Type == "gf256" {
		value, unit = r.Rate, "Gmul/s"
	}
	if !r.Speed() {
		return compare.None(), unit
	}
	return value, unit
}

// ceiling returns the measured peak of a type at a number of busy threads, the
// highest where several runs measured it.
func (v *view) ceiling(typ string, threads int) (compare.Ceiling, bool) {
	var highest compare.Ceiling
	for _, c := range v.Ceilings {
		if c.Unit == "cpu" && c.Pipe == typ && c.Threads == threads && c.Gflops.Known() && c.Gflops > highest.Gflops {
			highest = c
		}
	}
	return highest, highest.Gflops > 0
}

// bandwidth returns the measured triad at a number of busy threads, the highest
// where several runs measured it.
func (v *view) bandwidth(threads int) (compare.Bandwidth, bool) {
	var highest compare.Bandwidth
	for _, w := range v.Bandwidths {
		if w.Unit == "cpu" && w.Name == "triad" && w.Threads == threads && w.GBps.Known() && w.GBps > highest.GBps {
			highest = w
		}
	}
	return highest, highest.GBps > 0
}
