package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gemm"
	"gemm/compare/record"
	"gemm/internal/timeline"
)

// ScheduleTraces is the traces of one variant on one case that differ in the schedule and its chunk. They
// are drawn over one time axis.
type ScheduleTraces struct {
	Problem
	Variant string
	Rest    gemm.Params // the other parameters, but for the threads
	Traces  []record.Trace
}

// ScheduleTraces groups the traces of a host. Traces with the most work and the most workers come first.
func (v *View) ScheduleTraces() []ScheduleTraces {
	var out []ScheduleTraces
	rest := func(t record.Trace) gemm.Params { return Omit(t.Params, "threads", "schedule", "chunk") }
	problem := func(t record.Trace) Problem { return plainOf(t.Type, t.Shape, t.Workers) }
	whole := Pick(v.traces, func(t record.Trace) bool { return t.Workers >= 1 && t.Seconds > 0 && len(t.Spans) > 0 })
	for _, own := range GroupBy(whole, func(t record.Trace) string {
		return fmt.Sprint(t.Experiment, t.Variant, problem(t), rest(t))
	}) {
		out = append(out, ScheduleTraces{Problem: problem(own[0]), Variant: own[0].Variant, Rest: rest(own[0]), Traces: own})
	}
	slices.SortStableFunc(out, func(x, y ScheduleTraces) int { return y.Problem.Compare(x.Problem) })
	return out
}

// PhaseTraces is the traces of what the ranks of several variants did, or the streams of GPUs, in one
// product. They are drawn over one time axis.
type PhaseTraces struct {
	Problem
	Lanes  int
	Traces []record.Trace
}

// mostPhaseTraces is how many traces one drawing has.
const mostPhaseTraces = 4

// OnGPUs stands for the traces of products on several GPUs, which are apart from other traces of their family.
const OnGPUs = "gpus"

// PhaseTraces returns the traces of a family of a host that most of its variants have in common: those with
// the most lanes, and of these the largest product. Among the settings of a variant it has the first. Kernels that
// note their steps are compiled within the product that is traced, so that their traces are left out.
func (v *View) PhaseTraces(family string) (e PhaseTraces, ok bool) {
	for _, t := range v.traces {
		of, lanes := Family(t.Variant), len(t.Ranks)
		if of == OnGPU {
			lanes = len(t.Lanes)
		}
		if t.GPUs > 1 {
			of = OnGPUs
		}
		if of != family || lanes == 0 || len(t.Phases) == 0 || !(t.Seconds > 0) || len(t.Inside) > 0 {
			continue
		}
		p := plainOf(t.Type, t.Shape, t.Workers)
		if order := cmp.Or(cmp.Compare(lanes, e.Lanes), p.Compare(e.Problem)); order > 0 || e.Traces == nil {
			e = PhaseTraces{Problem: p, Lanes: lanes}
		} else if order < 0 {
			continue
		}
		same := func(other record.Trace) bool { return other.Variant == t.Variant }
		if len(e.Traces) < mostPhaseTraces && !slices.ContainsFunc(e.Traces, same) {
			e.Traces = append(e.Traces, t)
		}
	}
	return e, len(e.Traces) > 0
}

// Clocks returns within how many seconds the times of ranks on different hosts are known; 0: on one host.
func (e PhaseTraces) Clocks() float64 {
	return MaxOf(e.Traces, func(t record.Trace) float64 { return t.ClockError })
}

// ScheduleOf names the schedule of a trace in the letters that figures have, with the requested chunk.
func ScheduleOf(t record.Trace) string {
	asked := gemm.Params{"schedule": cmp.Or(t.Params["schedule"], t.Resolved["schedule"], any("static")),
		"chunk": ChunkOf(t.Params)}
	text, ran := Setting(asked), t.Resolved["schedule"]
	if ran == nil || asked["schedule"] == ran {
		return text
	}
	text += fmt.Sprintf(" = %v", ran)
	if chunk := ChunkOf(t.Resolved); chunk > 0 {
		text += fmt.Sprintf(" %d", chunk)
	}
	return text
}

// WarpTrace is what the groups of warps on one multiprocessor did inside of a kernel. Groups of a role that follow each
// other there are one lane.
type WarpTrace struct {
	record.Trace
	Lanes []WarpLane
}

// WarpLane is the steps of groups of one role, in the order of time.
type WarpLane struct {
	Name  string // such as consumer 2
	Steps []timeline.Step
}

// WarpTraces returns the traces of a type with steps inside of kernels, in the order of the ladder: of each variant the
// largest product.
func (v *View) WarpTraces(typ string) []WarpTrace {
	var out []WarpTrace
	for _, variant := range v.gpuVariants() {
		is := func(t record.Trace) bool { return t.Variant == variant && t.Type == typ && len(t.Inside) > 0 }
		if largest, ok := leastOf(v.traces, is, func(t record.Trace) float64 { return -t.Shape.Terms() }); ok {
			out = append(out, warpTraceOf(largest))
		}
	}
	return out
}

func warpTraceOf(t record.Trace) WarpTrace {
	c := WarpTrace{Trace: t}
	for _, g := range t.Inside {
		if g.Multiprocessor != t.Inside[0].Multiprocessor || len(g.Phases) == 0 {
			continue
		}
		name := g.Role
		switch g.Role {
		case "consumer": // the warpgroup before them is the producer
			name = fmt.Sprint(name, " ", g.Warpgroup)
		case "worker":
			name = fmt.Sprint(name, " ", g.Warpgroup+1)
		}
		at := slices.IndexFunc(c.Lanes, func(l WarpLane) bool {
			return l.Name == name && l.Steps[len(l.Steps)-1].End <= g.Phases[0].Begin
		})
		if at < 0 {
			at = len(c.Lanes)
			c.Lanes = append(c.Lanes, WarpLane{Name: name})
		}
		c.Lanes[at].Steps = append(c.Lanes[at].Steps, g.Phases...)
	}
	return c
}

// Step returns the median time of a slice of k, from one wait of a group to its next one; NaN if there are none.
func (c WarpTrace) Step() float64 {
	var took []float64
	for _, l := range c.Lanes {
		if l.Name == "producer" {
			continue
		}
		for i := 2; i < len(l.Steps); i++ {
			if l.Steps[i].Name == timeline.Waiting && l.Steps[i-2].Name == timeline.Waiting {
				took = append(took, l.Steps[i].Begin-l.Steps[i-2].Begin)
			}
		}
	}
	if len(took) == 0 {
		return math.NaN()
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// Window returns the times around the end of the first tile: some slices before a group stores it, and after. Without a
// tile that ends, it is the first slices.
func (c WarpTrace) Window() (from, to float64) {
	const before, after = 5, 8 // slices
	step := c.Step()
	from, to = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lanes {
		i := slices.IndexFunc(l.Steps, func(s timeline.Step) bool { return s.Name == "store" })
		if i >= 0 {
			from, to = min(from, l.Steps[i].Begin), max(to, l.Steps[i].End)
		}
	}
	if to < from {
		from = c.Lanes[0].Steps[0].Begin
		return from, from + (before+after)*step
	}
	return from - before*step, to + after*step
}
