package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
)

// Codes is the ID of the figure over codes at a width of shards.
func Codes(width int) string {
	return "codes-" + analysis.Anchor(number.ByteSize(float64(width)))
}

// lookOfCoder returns the look of a coder. The library has the colour of limits.
func (d drawn) lookOfCoder(c analysis.Coder) chart.Look {
	if d.Variant(c.Variant).Role == gemm.Library {
		look := chart.Look{Color: chart.Ink, Marker: chart.OpenDiamond}
		if c.Threads > 1 {
			look.Dashes = []vg.Length{5, 2}
		}
		return look
	}
	of := func(production bool) []string {
		return d.Named(func(v compare.Variant) bool {
			return v.Role.Ours() && (v.Role == gemm.Production) == production && v.Location != gemm.OnRanks &&
				slices.Contains(v.Types, "gf256")
		})
	}
	rungs := of(false)
	slices.Reverse(rungs) // the last one is the fastest
	all := append(of(true), rungs...)
	if i := slices.Index(all, c.Variant); i >= 0 {
		return chart.LookOf(i)
	}
	return chart.LookOf(len(all))
}

// codeCurves is the data rate of each coder on one thread, on the most threads, and on GPUs, at the
// place of each row, with the limits there.
func (d drawn) codeCurves(rows []compare.Record, place func(compare.Record) float64) collection {
	threads := d.CodeThreads(rows)
	if len(threads) > 2 {
		threads = []int{threads[0], threads[len(threads)-1]}
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool {
		return !analysis.ByGPU(r) && !slices.Contains(threads, analysis.CoderOf(r).Threads) || !(r.DataGBps > 0)
	})
	places := map[analysis.Coder]map[float64]bool{}
	for _, r := range rows {
		c := analysis.CoderOf(r)
		if places[c] == nil {
			places[c] = map[float64]bool{}
		}
		places[c][place(r)] = true
	}
	var c collection
	for _, r := range rows {
		who := analysis.CoderOf(r)
		label := strings.TrimPrefix(who.Variant, analysis.Reference+"/")
		if who.Threads > 1 {
			label += fmt.Sprintf(", %d threads", who.Threads)
		}
		if len(places[who]) >= 2 {
			c.add(label, d.lookOfCoder(who), measured(r, place(r), float64(r.DataGBps)))
		}
	}
	// Of each place once.
	limit := func(label string, dashes []vg.Length, of func(compare.Record) float64, keep func(compare.Record) bool) {
		seen := map[float64]bool{}
		for _, r := range rows {
			x, y := place(r), of(r)
			if keep(r) && len(places[analysis.CoderOf(r)]) >= 2 && !seen[x] && y > 0 && !math.IsInf(y, 0) {
				seen[x] = true
				c.add(label, chart.Look{Color: chart.Mid, Dashes: dashes, Marker: chart.Bare},
					chart.Point{X: x, Y: y, Lo: y, Hi: y})
			}
		}
	}
	for _, n := range threads {
		busy := onThreads(n)
		own := func(r compare.Record) bool { return analysis.CoderOf(r).Threads == n }
		limit("limit: multiplying, "+busy, []vg.Length{6, 2.5}, func(r compare.Record) float64 {
			peak, _ := d.Ceiling("gf256", n)
			return float64(peak.Gflops) / float64(r.M)
		}, own)
		limit("limit: memory, "+busy, []vg.Length{1.5, 2}, d.DataLimit, own)
	}
	limit("limit: memory of the GPU", []vg.Length{1.5, 2}, d.DataLimit, analysis.ByGPU)
	return c
}

// codesCurve is the data rate over codes at one width. Codes with few parity shards come first.
func (d drawn) codesCurve(rows []compare.Record, width int) (chart.Curve, bool) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return r.N != width })
	codes := analysis.Distinct(rows, func(r compare.Record) [2]int { return [2]int{r.M, r.K} })
	slices.SortFunc(codes, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	// The axis is logarithmic: powers of two are as far from one another.
	place := func(r compare.Record) float64 { return math.Exp2(float64(slices.Index(codes, [2]int{r.M, r.K}))) }
	curve := chart.Curve{
		Title: "GF(2⁸), shards of " + number.ByteSize(float64(width)), XLabel: "code: data + parity shards",
		YLabel: "data, GB/s", LogY: true,
		Series: d.codeCurves(rows, place),
	}
	for i, c := range codes {
		curve.Sizes = append(curve.Sizes, math.Exp2(float64(i)))
		curve.Names = append(curve.Names, fmt.Sprintf("%d+%d", c[1], c[0]))
	}
	return curve, len(curve.Series) > 0
}

// codesDrawings adds the figures of the chapter on codes.
func codesDrawings(d drawn, add adder) {
	rows := analysis.Timed(d.CodeRows())
	if len(rows) == 0 {
		return
	}
	widths, _ := analysis.AtWidths(rows)
	for _, width := range widths {
		size := number.ByteSize(float64(width))
		ch, ok := d.codesCurve(rows, width)
		add(Codes(width), "drawing.codes", ch, ok, text.Args{"Width": size})
	}
}
