package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/text"
)

// onGPU is the family of the variants that a GPU computes.
const onGPU = "cuda"

// The variants of NVIDIA's library, in the arithmetic of the type and with operands
// rounded to TF32.
const (
	cublas     = onGPU + "/cublas"
	cublasTF32 = onGPU + "/cublas-tf32"
)

// The rungs of the ladders that goals are about.
const (
	tf32WMMA = onGPU + "/tf32-wmma"
	dmma     = onGPU + "/dmma"
)

// gpuOrder is the order of the ladders, NVIDIA's library last: rows of a resumed or
// narrowed run are in another one.
var gpuOrder = []string{
	"naive", "packed-global", "coalesced", "smem", "blocktile1d", "blocktile2d", "vectorized", "conflictfree", "doublebuffer", "async",
	"warptile", "tf32-wmma", "dmma-wmma", "dmma", "square-tiled", "tiled", "word", "tuned", "cublas", "cublas-tf32",
}

// copying are the rungs that copy several elements at once where alignment lets them.
var copying = []string{"vectorized", "conflictfree", "doublebuffer", "async", "warptile", "tf32-wmma", "dmma-wmma", "dmma"}

// copies reports whether a row is of a rung that copies several elements at once.
func copies(r compare.Record) bool {
	return byGPU(r) && slices.Contains(copying, algorithm(r.Variant))
}

// byGPU reports whether a GPU computed the row.
func byGPU(r compare.Record) bool { return family(r.Variant) == onGPU }

// vendor reports whether a variant is NVIDIA's library.
func vendor(variant string) bool { return variant == cublas || variant == cublasTF32 }

// exact reports whether a row computes in the arithmetic of its type.
func exact(r compare.Record) bool { return r.Compute == r.Type }

// simt reports whether a row is of a rung that computes without tensor cores.
func simt(r compare.Record) bool {
	return ours(r) && exact(r) && r.GPU != nil && r.GPU.Pipe == r.Type
}

// hasGPU reports whether a row of the family was timed.
func (v *view) hasGPU() bool { return slices.ContainsFunc(timed(v.records), byGPU) }

// hasCPU reports whether there are rows that a processor computes.
func (v *view) hasCPU() bool {
	return slices.ContainsFunc(v.records, func(r compare.Record) bool { return !byGPU(r) })
}

// gpu is what is said of the family cuda on one host: what its rungs reach and gain, what
// explains that, and what it costs to get operands to a GPU.
func (b *builder) gpu(v *view) []document.Section {
	if !v.has(onGPU) {
		return nil
	}
	if !v.hasGPU() {
		return []document.Section{b.noGPU(v)}
	}
	var sections []document.Section
	for _, part := range []func(*view) (document.Section, bool){
		b.gpuMachine, b.gpuTable1, b.gpuLadder, b.gpuWhy, b.gpuShapes, b.gpuPrecision, b.gpuTypes, b.gpuRagged,
		b.gpuTuned, b.gpuSettings, b.gpuHost,
	} {
		if s, ok := part(v); ok {
			sections = append(sections, s)
		}
	}
	return sections
}

// noGPU says why none of the rows was timed.
func (b *builder) noGPU(v *view) document.Section {
	s := b.of(v, "gpu-none", "gpu-none.title")
	rows := v.pick(byGPU)
	var reasons []document.Text
	for _, r := range rows {
		if reason := document.Escape(r.Reason); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		reasons = []document.Text{absent}
	}
	s.Text(b.Say("gpu-none.why", text.Args{"Rows": b.Count("rows", len(rows)), "Reasons": b.Clauses(reasons)}))
	return s
}

// plain reports whether p is C = A·B of operands without gaps.
func (p problem) plain() bool {
	return p.label() == compare.Record{M: p.m, N: p.n, K: p.k}.Shape()
}

// rungs returns the timed rows of the ladder on the GPU for plain products of a type, one
// a variant and shape: that with its parameters at their defaults, if it was measured
// with several.
func (v *view) rungs(typ string) []compare.Record {
	all := timed(v.pick(func(r compare.Record) bool {
		return r.Experiment == "ladder" && r.Type == typ && byGPU(r) && r.Median > 0 && problemOf(r).plain()
	}))
	variants := v.gpuVariants()
	var out []compare.Record
	for _, p := range problems(all) {
		for _, variant := range variants {
			if r, ok := at(all, variant, p); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// gpuVariants returns the variants of the family in the order of gpuOrder, others after
// them.
func (v *view) gpuVariants() []string {
	variants := distinct(v.pick(byGPU), variantOf)
	slices.SortStableFunc(variants, func(x, y string) int {
		rank := func(variant string) int {
			if i := slices.Index(gpuOrder, algorithm(variant)); i >= 0 {
				return i
			}
			return len(gpuOrder)
		}
		return cmp.Compare(rank(x), rank(y))
	})
	return variants
}

// gpuTypes returns the floating-point types of the rows of the family, f32 first: its
// ladder is the longer one. Products over GF(2⁸) have a chapter of their own.
func (v *view) gpuTypes() []string {
	out := types(v.pick(func(r compare.Record) bool { return byGPU(r) && r.Type != "gf256" }))
	slices.SortFunc(out, strings.Compare)
	return out
}

// pipe returns the measured peak of a pipe of the GPU, the highest where several runs
// measured it.
func (v *view) pipe(name string) (compare.Ceiling, bool) {
	var highest compare.Ceiling
	for _, c := range v.Ceilings {
		if c.Unit == "gpu" && c.Pipe == name && c.Gflops.Known() && c.Gflops > highest.Gflops {
			highest = c
		}
	}
	return highest, highest.Gflops > 0
}

// tflops returns the speed of a row in TFLOP/s as a cell.
func tflops(r compare.Record) document.Text {
	return document.Text(significant(known(r, r.Gflops) / 1e3))
}

// over returns as a cell how many times as fast as the first row the second is.
func overCell(a, r compare.Record, ok bool) document.Text {
	if !ok || !a.Speed() || !r.Speed() {
		return absent
	}
	c := beside(a, r)
	return times(c.Ratio, c.Lo, c.Hi)
}

// tileOf names the tile that a row was run with, with its stages and parts of k where it
// says them.
func tileOf(r compare.Record) string {
	value := func(name string) any { return cmp.Or(r.Resolved[name], r.Params[name]) }
	var parts []string
	if tile, ok := value("tile").(string); ok && tile != "" && tile != "auto" {
		parts = append(parts, tile)
	}
	if stages, ok := value("stages").(int); ok && stages > 0 {
		parts = append(parts, fmt.Sprintf("stages=%d", stages))
	}
	if split, ok := value("split").(int); ok && split > 1 {
		parts = append(parts, fmt.Sprintf("split=%d", split))
	}
	return strings.Join(parts, " ")
}

// held is the class of a row whose clock was held back.
func held(r compare.Record) string {
	if !r.Speed() || r.GPU != nil && r.GPU.Throttled != "" {
		return "muted"
	}
	return ""
}

// withNotes adds a table and the notes that its cells refer to.
func (b *builder) withNotes(s *document.Section, t document.Table, notes []document.Text) {
	s.Add(t)
	if len(notes) > 0 {
		s.Text(b.Say("results.notes"))
		s.Add(document.List{Ordered: true, Items: notes})
	}
}

// gpuMachine is the table of what is known of the GPU, and how it ran.
func (b *builder) gpuMachine(v *view) (document.Section, bool) {
	s := b.of(v, "gpu-machine", "gpu-machine.title")
	s.Text(b.Say("gpu-machine.intro"))
	t := document.Table{ID: "table-gpu-machine" + v.suffix, Caption: b.Say("gpu-machine.caption"), Columns: b.columns("property", "value"), Command: b.program + " info --peak"}
	row := func(key string, value document.Text) {
		if value != "" {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Say(key), value}})
		}
	}
	row("machine.gpus", document.Escape(strings.Join(v.GPUs, ", ")))
	row("machine.driver", document.Escape(v.Driver))
	row("machine.cuda", document.Escape(v.CUDA))
	for _, name := range []string{"f32", "tf32", "f64", "f64-tensor"} {
		if peak, ok := v.pipe(name); ok {
			row("gpu-machine."+name, b.Say("gpu-machine.tflops", text.Args{
				"Speed": significant(float64(peak.Gflops) / 1e3),
			}))
		}
	}
	var fastest compare.Number
	for _, w := range v.Bandwidths {
		if w.Unit == "gpu" && w.Name == "copy" && w.GBps.Known() {
			fastest = max(fastest, w.GBps)
		}
	}
	if fastest > 0 {
		row("gpu-machine.copy", b.Say("gpu-machine.gbps", text.Args{"Bandwidth": significant(float64(fastest))}))
	}
	rows := timed(v.pick(byGPU))
	low, high, slowed, warned := 0, 0, 0, 0
	for _, r := range rows {
		if r.GPU != nil && r.GPU.Clock > 0 {
			high = max(high, r.GPU.Clock)
			if low == 0 || r.GPU.Clock < low {
				low = r.GPU.Clock
			}
		}
		if r.GPU != nil && r.GPU.Throttled != "" {
			slowed++
		} else if len(r.Warnings) > 0 {
			warned++
		}
	}
	if high > 0 {
		row("gpu-machine.clock", b.Say("gpu-machine.mhz", text.Args{"Low": low, "High": high}))
	}
	row("gpu-machine.held", b.Say("gpu-machine.of", text.Args{"Rows": slowed, "All": len(rows)}))
	row("gpu-machine.warned", b.Say("gpu-machine.of", text.Args{"Rows": warned, "All": len(rows)}))
	s.Add(t)
	if _, known := v.pipe("tf32"); !known && slices.ContainsFunc(rows, func(r compare.Record) bool { return r.Compute == "tf32" }) {
		s.Text(b.Say("gpu-machine.notf32"))
	}
	return s, true
}
