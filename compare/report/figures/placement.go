package figures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/internal/cpu"
)

// workers draws where workers run, if a row with pinned workers exists.
func (d drawn) workers(string) chart.Chart {
	rows := d.placedRows(func(r record.Record) bool {
		return analysis.Family(r.Variant) == analysis.Parallel && r.Threads > 1
	})
	if !bound(rows) {
		return nil
	}
	return d.placement(rows)
}

// ranks draws where several ranks run.
func (d drawn) ranks(string) chart.Chart {
	return d.placement(d.placedRows(func(r record.Record) bool { return len(r.Ranks) > 1 }))
}

// workersOf returns the number of workers or ranks.
func workersOf(r record.Record) int { return cmp.Or(len(r.Ranks), r.Threads) }

// bound reports whether the place of a worker or a rank is known.
func bound(rows []record.Record) bool {
	return slices.ContainsFunc(rows, func(r record.Record) bool {
		on, _ := placements(r)
		return len(on) > 0
	})
}

// placed returns where the workers or ranks of a row run, as the record has it.
func placed(r record.Record) string {
	var parts []string
	for _, rank := range r.Ranks {
		parts = append(parts, rank.CPUs)
	}
	place, _ := r.Resolved["placement"].(string)
	return place + strings.Join(parts, " ")
}

// placedRows chooses, among the timed rows that keep accepts, the rows of one product with the most different known
// places, in the order of affinities. If several products are level, it is one with the most workers or ranks, and the
// largest.
func (d drawn) placedRows(keep func(record.Record) bool) []record.Record {
	all := analysis.GroupBy(analysis.Pick(d.Records, func(r record.Record) bool {
		return affinityOf(r) != nil && r.Speed() && keep(r)
	}), func(r record.Record) string {
		return fmt.Sprint(r.Experiment, r.Variant, analysis.ProblemOf(r), analysis.Omit(r.Params, "affinity"))
	})
	if len(all) == 0 {
		return nil
	}
	places := func(rows []record.Record) int {
		if !bound(rows) {
			return 0
		}
		return len(analysis.Distinct(rows, placed))
	}
	best := slices.MaxFunc(all, func(a, b []record.Record) int {
		return cmp.Or(cmp.Compare(places(a), places(b)), cmp.Compare(workersOf(a[0]), workersOf(b[0])),
			cmp.Compare(a[0].N, b[0].N))
	})
	order := []any{"close", "spread", "none"}
	slices.SortStableFunc(best, func(a, b record.Record) int {
		return cmp.Compare(slices.Index(order, affinityOf(a)), slices.Index(order, affinityOf(b)))
	})
	return best
}

func affinityOf(r record.Record) any {
	if affinity, ok := r.Resolved["affinity"]; ok {
		return affinity
	}
	return r.Params["affinity"]
}

// placement is the picture of where the workers or ranks of rows run: the host, once for each set of places.
func (d drawn) placement(rows []record.Record) chart.Chart {
	if d.Topology == nil || len(rows) == 0 {
		return nil
	}
	first := rows[0]
	noun, mark := "worker", "w"
	if len(first.Ranks) > 0 {
		noun, mark = "rank", "r"
	}
	size := analysis.ProblemOf(first).Label()
	if analysis.ProblemOf(first).Cube() {
		size = fmt.Sprint("n = ", first.N)
	}
	out := chart.Boxes{
		Title: fmt.Sprintf("%s, %s, %s, %d %ss", first.Variant, first.Type, size, workersOf(first), noun),
		Names: []string{fmt.Sprintf("%s0 is %s 0", mark, noun)},
	}
	for _, where := range analysis.Distinct(rows, placed) {
		var names []string
		var row record.Record
		for _, r := range rows {
			if placed(r) == where {
				names, row = append(names, fmt.Sprint(affinityOf(r))), r
			}
		}
		s := newSketch(d.Topology)
		on, remark := placements(row)
		s.on, s.mark, s.brief = on, mark, true
		title := "affinity " + strings.Join(slices.Compact(names), ", ") + remark
		if len(s.on) == 0 && len(out.Boxes) > 0 {
			out.Boxes = append(out.Boxes, chart.Box{Lines: []string{title}, Frame: chart.Unframed})
			continue
		}
		out.Boxes = append(out.Boxes, s.panel(title))
	}
	return out
}

// placements returns the workers or ranks of a row by processor, and a remark on workers without a known place.
func placements(r record.Record) (on map[int][]int, remark string) {
	if len(r.Ranks) > 0 {
		return rankPlacements(r.Ranks)
	}
	on = map[int][]int{}
	place, _ := r.Resolved["placement"].(string)
	if place == "" {
		return on, ": the system chooses the processors"
	}
	for w, id := range cpu.ParseList(place) {
		on[id] = append(on[id], w)
	}
	return on, ""
}

// rankPlacements is placements for ranks, on the host of rank 0. A rank that shares several processors with another one
// is not bound to a place.
func rankPlacements(all []record.Rank) (on map[int][]int, remark string) {
	on = map[int][]int{}
	sharing := map[int]int{} // ranks by processor
	for _, x := range all {
		if x.Host == all[0].Host {
			for _, id := range cpu.ParseList(x.CPUs) {
				sharing[id]++
			}
		}
	}
	var elsewhere, free, may []int
	for _, x := range all {
		ids := cpu.ParseList(x.CPUs)
		switch {
		case x.Host != all[0].Host:
			elsewhere = append(elsewhere, x.Rank)
		case len(ids) != 1 && (len(ids) == 0 || slices.ContainsFunc(ids, func(id int) bool { return sharing[id] > 1 })):
			free, may = append(free, x.Rank), append(may, ids...)
		default:
			for _, id := range ids {
				on[id] = append(on[id], x.Rank)
			}
		}
	}
	if len(free) > 0 {
		remark = fmt.Sprintf(": the system chooses the processors of ranks %s", cpu.SortedList(free))
		if len(may) > 0 {
			slices.Sort(may)
			remark += " among " + cpu.SortedList(slices.Compact(may))
		}
	}
	if len(elsewhere) > 0 {
		remark += fmt.Sprintf("; ranks %s are on other hosts", cpu.SortedList(elsewhere))
	}
	return on, remark
}
