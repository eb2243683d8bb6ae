package sharing

import (
	"cmp"
	"fmt"
	"slices"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// OpenMP is the section that compares our pool with OpenMP, in short: without the table of all
// settings.
func OpenMP(base *chapters.Builder, v *analysis.View) []document.Section {
	b := &builder{base}
	if s, ok := b.openMP(v); ok {
		return []document.Section{s}
	}
	return nil
}

// openMP compares the pool with OpenMP on the same product, by threads, schedules and chunks.
func (b *builder) openMP(v *analysis.View) (document.Section, bool) {
	s := b.Of(v, "openmp", "openmp.title")
	s.Text(b.Say("openmp.intro", text.Args{"Pool": document.Literal(kernel(v)),
		"OpenMP": document.Literal(v.Twin(kernel(v)))}))
	found := false
	for _, typ := range v.SharedTypes() {
		pairs := v.OpenMPPairs(typ)
		if len(pairs) == 0 {
			continue
		}
		found = true
		var rows []compare.Record
		for _, p := range pairs {
			rows = append(rows, p.Pool, p.OpenMP)
		}
		command := b.Rerun(v, rows)
		size := analysis.OpenMPProblem(pairs[0].Pool)
		s.Text(b.Say("openmp.of", text.Args{"Type": typ, "Size": b.Sizes([]analysis.Problem{size})}))
		s.List(b.openMPConclusion(pairs))
		b.Figure(&s, v, "openmp-"+typ, "fig.openmp", command, text.Args{"Type": typ, "Size": size.Label()})
		t := b.openMPThreads(v, typ, pairs)
		t.Command = command
		s.Add(t)
	}
	return s, found
}

// byThreads returns the pairs on each number of threads, ascending.
func byThreads(pairs []analysis.OpenMPPair) [][]analysis.OpenMPPair {
	var out [][]analysis.OpenMPPair
	for i, p := range pairs {
		if i == 0 || p.Threads != pairs[i-1].Threads {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// outcomes counts the settings at which the pool is faster, not distinguishable, and slower.
func outcomes(pairs []analysis.OpenMPPair) (faster, level, slower int) {
	for _, p := range pairs {
		switch p.Outcome {
		case analysis.Quicker:
			faster++
		case analysis.Slower:
			slower++
		default:
			level++
		}
	}
	return faster, level, slower
}

// openMPConclusion says on each number of threads which of the two is faster, and what chunks do to
// each on the most threads.
func (b *builder) openMPConclusion(pairs []analysis.OpenMPPair) []document.Text {
	var items []document.Text
	groups := byThreads(pairs)
	for _, group := range groups {
		faster, level, slower := outcomes(group)
		items = append(items, b.Say("openmp.threads", text.Args{
			"Threads": b.Count("threads", group[0].Threads), "Settings": len(group), "Faster": faster, "Level": level,
			"Slower": slower, "Ratio": number.Significant(analysis.GeometricMean(group)),
		}))
	}
	most := groups[len(groups)-1]
	if one := groups[0]; one[0].Threads == 1 && len(groups) > 1 {
		gain := func(of func(analysis.OpenMPPair) compare.Record) document.Text {
			alone, _ := extremes(one, of)
			together, _ := extremes(most, of)
			return document.Text(number.Significant(float64(alone.Median / together.Median)))
		}
		items = append(items, b.Say("openmp.scaling", text.Args{"Threads": b.Count("threads", most[0].Threads),
			"Pool": gain(ofPool), "OpenMP": gain(ofOpenMP)}))
	}
	for _, schedule := range []string{"static", "dynamic", "guided"} {
		own := slices.DeleteFunc(slices.Clone(most), func(p analysis.OpenMPPair) bool { return p.Schedule != schedule })
		if len(own) < 2 {
			continue
		}
		pool, poolSlow := extremes(own, ofPool)
		other, otherSlow := extremes(own, ofOpenMP)
		items = append(items, b.Say("openmp.chunks", text.Args{"Schedule": document.Literal(schedule),
			"Threads":   b.Count("threads", own[0].Threads),
			"PoolRatio": number.Significant(float64(poolSlow.Median / pool.Median)), "PoolChunk": b.chunk(pool),
			"Ratio": number.Significant(float64(otherSlow.Median / other.Median)), "Chunk": b.chunk(other)}))
	}
	return items
}

func ofPool(p analysis.OpenMPPair) compare.Record { return p.Pool }

func ofOpenMP(p analysis.OpenMPPair) compare.Record { return p.OpenMP }

// extremes returns the fastest and the slowest row of pairs.
func extremes(pairs []analysis.OpenMPPair, of func(analysis.OpenMPPair) compare.Record) (fast, slow compare.Record) {
	order := func(x, y analysis.OpenMPPair) int { return cmp.Compare(of(x).Median, of(y).Median) }
	return of(slices.MinFunc(pairs, order)), of(slices.MaxFunc(pairs, order))
}

// chunk names the chunk of a row.
func (b *builder) chunk(r compare.Record) document.Text { return b.ValueOf(r, "chunk") }

// openMPThreads is the table over threads: outcomes, and the fastest setting of each.
func (b *builder) openMPThreads(v *analysis.View, typ string, pairs []analysis.OpenMPPair) document.Table {
	t := document.Table{ID: "table-openmp-" + typ + v.Suffix, Caption: b.Say("openmp.caption", text.Args{"Type": typ}),
		Columns: b.Columns("#threads", "#settings", "#poolfaster", "#alike", "#poolslower", "#openmpratio", "poolbest",
			"#gflops", "openmpbest", "#gflops")}
	setting := func(r compare.Record) document.Text {
		return document.Escape(fmt.Sprint(r.Params["schedule"])) + b.Say("comma") + b.chunk(r)
	}
	for _, group := range byThreads(pairs) {
		faster, level, slower := outcomes(group)
		pool, _ := extremes(group, ofPool)
		other, _ := extremes(group, ofOpenMP)
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{
			document.Text(fmt.Sprint(group[0].Threads)), document.Text(fmt.Sprint(len(group))),
			document.Text(fmt.Sprint(faster)), document.Text(fmt.Sprint(level)), document.Text(fmt.Sprint(slower)),
			document.Text(number.Significant(analysis.GeometricMean(group))),
			setting(pool), document.Text(number.Significant(float64(pool.Gflops))),
			setting(other), document.Text(number.Significant(float64(other.Gflops))),
		}})
	}
	return t
}
