package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/chart"
	"gemm/compare/report/number"
)

// look is how a variant of the GPU is drawn: NVIDIA's library in the colour of what is read against.
func (d drawn) look(variant string) chart.Look {
	look := d.looks[variant]
	if analysis.Vendor(d.Variant(variant)) {
		look = dashed(look, 5)
		look.Color = chart.Ink
	}
	return look
}

// drawnAt reports whether curves over n show a problem. They show cubes, but not a size next to a
// multiple of 32 that is shown itself; these have a table.
func drawnAt(rows []record.Record, p analysis.Problem) bool {
	return p.Cube() && !slices.ContainsFunc(rows, func(r record.Record) bool {
		return analysis.ProblemOf(r).Cube() && r.N%32 == 0 && (r.N == p.N+1 || r.N == p.N-1)
	})
}

// gpuRates adds the rows that compute in one arithmetic, or have its accuracy. For TF32 it also adds the best rung in
// single precision.
func (d drawn) gpuRates(compute string, c *chart.Curve) {
	typ := strings.Replace(compute, "tf32", "f32", 1)
	rows := d.Rungs(typ)
	add := func(label string, look chart.Look, r record.Record) {
		c.Add(label, look, Measured(r, float64(r.N), float64(r.Gflops)/1e3))
	}
	for _, r := range rows {
		if (r.Compute == compute || compute == typ && analysis.Emulates(r)) && drawnAt(rows, analysis.ProblemOf(r)) {
			add(analysis.Short(r.Variant), d.look(r.Variant), r)
		}
	}
	if compute != typ && len(c.Series) > 0 {
		for _, p := range analysis.Problems(rows) {
			if r, ok := analysis.FastestAt(rows, p, analysis.Simt); ok && drawnAt(rows, p) {
				add("best without tensor cores", grey, r)
			}
		}
	}
	pipe := compute
	if tensor, ok := d.Pipe("f64-tensor"); ok && compute == "f64" && tensor.Gflops > 0 {
		pipe = "f64-tensor"
		if plain, ok := d.Pipe("f64"); ok {
			for _, n := range c.Places() {
				c.Add("peak of the f64 pipe", flat, chart.At(n, float64(plain.Gflops)/1e3))
			}
		}
	}
	c.Title, c.YLabel = "GPU, "+strings.ReplaceAll(compute, "tf32", "TF32"), "TFLOP/s"
	if peak, ok := d.Pipe(pipe); ok {
		c.Limit = limit(fmt.Sprintf("measured peak, %s pipe", pipe), float64(peak.Gflops)/1e3, "TFLOP/s")
	}
}

// gpuRoofline adds the rungs in the arithmetic of a type at the size of the ladder, over the operations a byte of
// global memory that their tiles have.
func (d drawn) gpuRoofline(typ string, c *chart.Curve) {
	copies, highest := d.DeviceCopy(), record.Ceiling{}
	for _, r := range d.LadderRows(typ) {
		if r.GPU == nil || !(r.GPU.Intensity > 0) || !(copies > 0) || !analysis.Exact(r) {
			continue
		}
		peak, ok := d.Pipe(r.GPU.Pipe)
		if !ok {
			continue
		}
		if c.Title = fmt.Sprintf("GPU, %s, n = %d", typ, r.N); !(peak.Gflops <= highest.Gflops) {
			highest = peak
		}
		c.Add(analysis.Algorithm(r.Variant), d.look(r.Variant), Measured(r, r.GPU.Intensity, float64(r.Gflops)/1e3))
	}
	c.Limit = limit(fmt.Sprintf("measured peak, %s pipe", highest.Pipe), float64(highest.Gflops)/1e3, "TFLOP/s")
	c.Slope = chart.Slope{Rise: copies / 1e3, Label: limit("copies", copies, "GB/s").Label}
}

// errors adds the error of each row at one size over its speed, by the precision of its arithmetic. Errors relative to
// norms of all of A and B are divided by k, which |A||B| has in addition.
func (d drawn) errors(_ string, c *chart.Curve) {
	rows := d.Accuracies()
	found := map[string]bool{}
	for i, precision := range analysis.Precisions {
		for kind, marker := range []chart.Marker{chart.Disc, chart.Ring, chart.Square, chart.OpenSquare} {
			for _, r := range rows {
				host, library := kind/2 == 1, kind%2 == 1
				if r.Compute != precision || analysis.ByGPU(r) == host || analysis.Ours(r) == library {
					continue
				}
				label, residual := strings.ReplaceAll(precision, "tf32", "TF32"), float64(r.Residual)
				if host {
					label += ", processor"
				}
				if library {
					label += ", libraries"
				}
				if r.BoundKind == gemm.Normwise {
					residual /= float64(r.K)
				}
				found[precision] = true
				look := chart.Look{Color: chart.Palette[i%len(chart.Palette)], Marker: marker}
				c.Add(label, look, chart.At(float64(r.Gflops)/1e3, residual))
			}
		}
	}
	if len(found) < 2 {
		c.Series = nil
		return
	}
	c.Title = fmt.Sprintf("n = %d: error over speed", rows[0].N)
}

// Codes is the ID of the figure over codes at a width of shards.
func Codes(width int) string {
	return "codes-" + analysis.Anchor(number.ByteSize(float64(width)))
}

// widths are the widths of shards at which several codes were measured.
func widths(d drawn) (out []string) {
	all, _ := analysis.AtWidths(analysis.Timed(d.CodeRows()))
	for _, width := range all {
		out = append(out, strings.TrimPrefix(Codes(width), "codes-"))
	}
	return out
}

// lookOfCoder returns the look of a coder. The library has the colour of limits.
func (d drawn) lookOfCoder(c analysis.Coder) chart.Look {
	if d.Variant(c.Variant).Role == gemm.Library {
		look := chart.Look{Color: chart.Ink, Marker: chart.OpenDiamond}
		if c.Threads > 1 {
			look = dashed(look, 5)
		}
		return look
	}
	of := func(production bool) []string {
		return d.Named(func(v record.Variant) bool {
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

// codes adds the data rate at one width of each coder on one thread, on the most threads, and on GPUs, if it has
// several codes, with the limits there. Codes with few parity shards come first.
func (d drawn) codes(of string, c *chart.Curve) {
	rows := analysis.Timed(d.CodeRows())
	all, _ := analysis.AtWidths(rows)
	width := all[slices.IndexFunc(all, func(width int) bool { return Codes(width) == "codes-"+of })]
	rows = analysis.Pick(rows, func(r record.Record) bool { return r.N == width })
	codes := analysis.Distinct(rows, func(r record.Record) [2]int { return [2]int{r.M, r.K} })
	slices.SortFunc(codes, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	// The axis is logarithmic: powers of two are as far from one another.
	place := func(r record.Record) float64 { return math.Exp2(float64(slices.Index(codes, [2]int{r.M, r.K}))) }
	c.Title = "GF(256), shards of " + number.ByteSize(float64(width))
	for i, code := range codes {
		c.Sizes = append(c.Sizes, math.Exp2(float64(i)))
		c.Names = append(c.Names, fmt.Sprintf("%d+%d", code[1], code[0]))
	}
	host := analysis.Pick(rows, func(r record.Record) bool { return !analysis.ByGPU(r) })
	threads := analysis.Ascending(host, func(r record.Record) int { return max(r.Threads, 1) })
	if len(threads) > 2 {
		threads = []int{threads[0], threads[len(threads)-1]}
	}
	rows = analysis.Pick(rows, func(r record.Record) bool {
		return r.DataGBps > 0 && (analysis.ByGPU(r) || slices.Contains(threads, analysis.CoderOf(r).Threads))
	})
	type spot struct {
		analysis.Coder
		at float64
	}
	places := map[analysis.Coder]int{}
	for _, x := range analysis.Distinct(rows, func(r record.Record) spot { return spot{analysis.CoderOf(r), place(r)} }) {
		places[x.Coder]++
	}
	rows = analysis.Pick(rows, func(r record.Record) bool { return places[analysis.CoderOf(r)] >= 2 })
	for _, r := range rows {
		coder := analysis.CoderOf(r)
		label := strings.TrimPrefix(coder.Variant, analysis.Reference+"/")
		if coder.Threads > 1 {
			label += fmt.Sprintf(", %d threads", coder.Threads)
		}
		c.Add(label, d.lookOfCoder(coder), Measured(r, place(r), float64(r.DataGBps)))
	}
	// A limit is drawn once at each place.
	limit := func(label string, look chart.Look, of func(record.Record) float64, keep func(record.Record) bool) {
		seen := map[float64]bool{}
		for _, r := range analysis.Pick(rows, keep) {
			if x, y := place(r), of(r); !seen[x] && y > 0 && !math.IsInf(y, 0) {
				seen[x] = true
				c.Add(label, look, chart.At(x, y))
			}
		}
	}
	dots, long := dashed(flat, 1.5), flat
	long.Dashes = []vg.Length{6, 2.5}
	for _, n := range threads {
		own := func(r record.Record) bool { return analysis.CoderOf(r).Threads == n }
		limit("limit: multiplying, "+onThreads(n), long, func(r record.Record) float64 {
			peak, _ := d.Ceiling("gf256", n)
			return float64(peak.Gflops) / float64(r.M)
		}, own)
		limit("limit: memory, "+onThreads(n), dots, d.DataLimit, own)
	}
	limit("limit: memory of the GPU", dots, d.DataLimit, analysis.ByGPU)
}
