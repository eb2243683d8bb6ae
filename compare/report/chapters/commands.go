// Package report renders records. It measures nothing: every rendering is a pure
// function of a compare.Document, and the same records give the same bytes.
//
// Build turns records into a document, the words and tables of every format in
// reading order; Drawings turns them into figures; Write writes both in the formats
// that are wanted.
package chapters

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gemm/compare"
	"gemm/compare/report/analysis"
)

// Rerun returns the command that measures rows again.
//
// The command of a family runs the ladder of one family and its experiments, and the tuner runs its
// own. Everything else (several families, peers, builds, sweeps) needs gemm compare.
func (b *Builder) Rerun(v *analysis.View, rows []compare.Record) string {
	if len(rows) == 0 {
		return ""
	}
	if !slices.ContainsFunc(rows, func(r compare.Record) bool {
		return !slices.Contains(analysis.Experiments, r.Experiment) && analysis.Family(r.Variant) != analysis.OverRanks.Family
	}) {
		return b.RerunShared(v, rows)
	}
	families := analysis.Distinct(rows, analysis.Home)
	brought := slices.ContainsFunc(rows, analysis.Brought)
	if !slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Experiment != compare.TunedKernels }) {
		args := append([]string{b.Program, "tune", "--families", strings.Join(families, ",")}, v.Asked(rows, "time")...)
		return strings.Join(append(args, "--records", "tuned.json", "&&", b.Program, "report", "--in", "tuned.json", "--out",
			"again"), " ")
	}
	typ := strings.Join(analysis.Types(rows), ",")
	own := len(families) == 1 && !analysis.Foreign(families[0]) && slices.Contains(ofFamilies, rows[0].Experiment) &&
		!slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Experiment != rows[0].Experiment })

	args := []string{b.Program}
	if own {
		args = append(args, families[0])
	} else {
		args = append(args, "compare")
		args = append(args, v.Asked(rows, "profile")...)
		args = append(args, "--families", strings.Join(families, ","))
	}
	if brought {
		args = append(args, v.Asked(rows, "bring", "cflags", "grid", "block-dims", "smem")...)
	}
	if own || len(v.Asked(rows, "variants")) > 0 {
		args = append(args, "--variants", strings.Join(besideKernels(v, rows, families[0]), ","))
	}
	args = append(args, "--sizes", sizesOf(analysis.Problems(rows)), "--type", typ)
	if own {
		args = append(args, b.parameters(rows)...)
		args = append(args, v.Asked(rows, "reps", "time", "timeout", "seed")...)
		name := families[0] + "-" + typ + ".json"
		return strings.Join(append(args, "--json", name, "&&", b.Program, "report", "--in", name, "--out", "again"), " ")
	}
	return strings.Join(append(args, "--out", "again"), " ")
}

// ofFamilies are the experiments that the command of a family measures, with the parameters of their rows as flags.
var ofFamilies = []compare.Experiment{compare.MainLadder, compare.IteratedProduct, compare.Batches,
	compare.TileShapes}

// besideKernels returns the variants of rows without kernels of the user, which --bring names. If there
// are no others, it is the first rung of the family.
func besideKernels(v *analysis.View, rows []compare.Record, fam string) []string {
	names := analysis.Distinct(slices.DeleteFunc(slices.Clone(rows), analysis.Brought), analysis.VariantOf)
	if len(names) > 0 {
		return names
	}
	return []string{v.First(fam)}
}

// RerunShared returns the command that measures experiments on threads or ranks again.
// The serial rows among them come by themselves. With flags, those are given too.
func (b *Builder) RerunShared(v *analysis.View, rows []compare.Record, flags ...string) string {
	a := analysis.OverThreads
	if slices.ContainsFunc(rows,
		func(r compare.Record) bool { return analysis.Family(r.Variant) == analysis.OverRanks.Family }) {
		a = analysis.OverRanks
	}
	var own []compare.Record
	for _, r := range rows {
		if analysis.Family(r.Variant) == a.Family {
			own = append(own, r)
		}
	}
	if len(own) == 0 {
		own = rows
	}
	shapes := analysis.Problems(own)
	if slices.ContainsFunc(own, func(r compare.Record) bool { return r.Experiment == compare.WeakScaling }) {
		flags = append(flags, "--weak")
		shapes = nil
		for _, r := range own {
			shapes = append(shapes, analysis.ProblemOf(r).OfOne(max(1, a.Count(r))))
		}
		slices.SortFunc(shapes, analysis.Problem.Compare)
	}
	typ := strings.Join(analysis.Types(own), ",")
	before, after, own := overHosts(own)
	args := append(before, b.Program, a.Family, "--variants",
		strings.Join(analysis.Distinct(own, analysis.VariantOf), ","), "--sizes", sizesOf(shapes), "--type", typ)
	args = append(args, b.parameters(own)...)
	args = append(args, flags...)
	args = append(args, v.Asked(rows, "reps", "time", "timeout", "seed")...)
	name := a.Family + "-" + typ + ".json"
	args = append(append(args, "--json", name), after...)
	return strings.Join(append(args, "&&", b.Program, "report", "--in", name, "--out", "again"), " ")
}

// overHosts returns what starts the ranks of rows on the hosts of a file, if rows are on several, and what
// ends the command: a launch for each number of ranks, and as many ranks on each host if all rows agree. The
// rows that it returns do not request ranks.
func overHosts(rows []compare.Record) (before, after []string, rest []compare.Record) {
	if !slices.ContainsFunc(rows, func(r compare.Record) bool { return analysis.Hosts(r) > 1 }) {
		return nil, nil, rows
	}
	counts, each := analysis.Distinct(rows, analysis.OverRanks.Count), analysis.Distinct(rows, analysis.RanksOfHost)
	slices.Sort(counts)
	before = []string{"for", "n", "in"}
	for _, n := range counts {
		before = append(before, strconv.Itoa(n))
	}
	before[len(before)-1] += ";"
	before = append(before, "do", "mpirun", "--hostfile", "hosts", "-n", "$n", "--bind-to", "none")
	if len(each) == 1 && each[0] > 0 {
		before = append(before, "--map-by", fmt.Sprintf("ppr:%d:node", each[0]))
	}
	rest = slices.Clone(rows)
	for i, r := range rest {
		rest[i].Params = analysis.Omit(r.Params, analysis.OverRanks.Param)
	}
	return before, []string{"--resume;", "done"}, rest
}

// sizesOf returns shapes as the flag takes them.
func sizesOf(ps []analysis.Problem) string {
	var sizes []string
	for _, p := range ps {
		size := p.Shape.String()
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return strings.Join(sizes, ",")
}

// parameters returns the flags for the operation and the parameters of rows, but
// for those that all have at the default.
func (b *Builder) parameters(rows []compare.Record) []string {
	values := map[string][]string{}
	note := func(flag, value string) {
		if !slices.Contains(values[flag], value) {
			values[flag] = append(values[flag], value)
		}
	}
	for _, r := range rows {
		note("trans", cmp.Or(r.Op, "nn"))
		note("alpha", fmt.Sprint(r.Alpha))
		note("beta", fmt.Sprint(r.Beta))
		note("ld", fmt.Sprint(max(r.LDC-r.N, 0)))
		if r.Batch > 0 {
			note("batch", fmt.Sprint(r.Batch))
		}
		for name, value := range r.Params {
			if name == "ranks" {
				name = "np"
			}
			if name == "chain" && value == 0 {
				continue // one product, which is measured next to every chain
			}
			note(name, fmt.Sprint(value))
		}
	}
	for flag, value := range map[string]string{"trans": "nn", "alpha": "1", "beta": "0", "ld": "0"} {
		if slices.Equal(values[flag], []string{value}) {
			delete(values, flag) // the default
		}
	}
	var args []string
	for _, flag := range slices.Sorted(maps.Keys(values)) {
		slices.SortFunc(values[flag], ByNumber)
		args = append(args, "--"+flag, strings.Join(values[flag], ","))
	}
	return args
}

// ByNumber orders numbers by their size and before other texts.
func ByNumber(a, b string) int {
	x, err := strconv.ParseFloat(a, 64)
	y, too := strconv.ParseFloat(b, 64)
	switch {
	case err == nil && too == nil:
		return cmp.Compare(x, y)
	case err == nil:
		return -1
	case too == nil:
		return 1
	}
	return strings.Compare(a, b)
}
