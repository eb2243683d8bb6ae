package figures

import (
	"fmt"
	"slices"
	"strings"

	"gemm/compare/report/chart"
	"gemm/compare/report/number"
	"gemm/internal/cpu"
)

// The largest hosts that are drawn in full: beyond fewCores, the caches of a core are named once for its neighbours,
// and beyond fewProcessors only the first of several neighbours that are alike is drawn.
const (
	fewCores      = 16
	fewProcessors = 64
)

type sketch struct {
	of     *cpu.Topology
	usable []int         // processors; none: not known
	on     map[int][]int // the workers or ranks on each processor; nil: they are not shown
	mark   string        // in front of their numbers
	brief  bool          // what a host of many cores has room for
	folded bool          // neighbours that are alike are one line each
}

func newSketch(t *cpu.Topology) sketch {
	return sketch{
		of: t, usable: cpu.ParseList(t.Usable),
		brief: len(t.Cores) > fewCores, folded: len(cpu.ParseList(t.Processors)) > fewProcessors,
	}
}

func (d drawn) machine(string) chart.Chart {
	if d.Topology == nil {
		return nil
	}
	return chart.Boxes{Title: d.CPU, Boxes: []chart.Box{newSketch(d.Topology).panel()}}
}

// panel is the whole host under the given lines.
func (s sketch) panel(lines ...string) chart.Box {
	tree := s.of.Tree()
	b := chart.Box{Lines: lines, Frame: chart.Unframed, Inner: s.inner(tree)}
	var rest []chart.Box
	for _, n := range s.of.Nodes {
		if n.Processors == "" {
			rest = append(rest, chart.Box{Lines: []string{fmt.Sprintf("NUMA node %d, %s of memory alone", n.ID,
				number.ByteSize(float64(n.Bytes)))}})
		}
	}
	for i, g := range s.of.GPUs {
		if g.Node < 0 || !slices.ContainsFunc(s.of.Nodes, func(n cpu.Node) bool { return n.ID == g.Node }) {
			rest = append(rest, gpu(i, g))
		}
	}
	if len(rest) > 0 {
		b.Inner = append(b.Inner, rest)
	}
	return b
}

func gpu(i int, g cpu.AttachedGPU) chart.Box {
	return chart.Box{Lines: []string{fmt.Sprintf("GPU %d, %s", i, g.Name)}}
}

// inner is what a box of the tree has in it.
func (s sketch) inner(b *cpu.Box) [][]chart.Box {
	var rows [][]chart.Box
	for _, run := range b.Runs() {
		var row, folded []chart.Box
		for i, inner := range run {
			if line, short := s.summary(inner); s.folded && i > 0 && len(inner.Processors) > 1 && short &&
				inner.Level != cpu.LevelCore {
				folded = append(folded, chart.Box{Lines: []string{line}})
				continue
			}
			row = append(row, s.box(inner))
		}
		rows = append(rows, row)
		if len(folded) > 0 {
			rows = append(rows, folded)
		}
	}
	if b.Level == cpu.LevelNode {
		for i, g := range s.of.GPUs {
			if g.Node == b.ID {
				rows = append(rows, []chart.Box{gpu(i, g)})
			}
		}
	}
	return rows
}

// box draws a box of the tree. Of one in another with the same processors, only the title is drawn if there is little
// room.
func (s sketch) box(b *cpu.Box) chart.Box {
	switch {
	case b.Level == cpu.LevelProcessor:
		return s.processor(b.ID)
	case b.Level == cpu.LevelCore:
		return s.core(b)
	}
	title := b.Title(number.ByteSize)
	for s.brief && len(b.Inner) == 1 && b.Inner[0].Level < cpu.LevelCore {
		b = b.Inner[0]
		title += "; " + b.Title(number.ByteSize)
	}
	if s.brief && s.on == nil && len(b.Inner) > 0 && b.Inner[0].Level == cpu.LevelCore {
		var cores []string
		for _, run := range b.Runs() {
			cores = append(cores, run[0].Several(len(run), number.ByteSize))
		}
		title += ": " + strings.Join(cores, "; ")
	}
	return chart.Box{Lines: []string{title}, Inner: s.inner(b)}
}

func (s sketch) core(b *cpu.Box) chart.Box {
	if s.brief && len(b.Processors) == 1 && b.Kind == "" {
		return s.processor(b.Processors[0])
	}
	out := chart.Box{Inner: s.inner(b)}
	if b.Kind != "" {
		out.Lines = append(out.Lines, b.Kind)
	}
	if !s.brief {
		for _, c := range slices.Backward(b.Caches) {
			out.Lines = append(out.Lines, c.Title(number.ByteSize))
		}
	}
	return out
}

// processor draws a processor with what runs on it.
func (s sketch) processor(id int) chart.Box {
	b := chart.Box{Lines: []string{s.called(id)}}
	if s.on != nil {
		b.Room = s.longest()
	}
	if len(s.usable) > 0 && !slices.Contains(s.usable, id) {
		b.Frame = chart.Muted
	}
	if len(s.on[id]) > 0 {
		b.Frame = chart.Coloured
	}
	return b
}

// called names a processor and what runs on it: 3: w1.
func (s sketch) called(id int) string {
	if on := s.marked(s.on[id]); on != "" {
		return fmt.Sprintf("%d: %s", id, on)
	}
	return fmt.Sprint(id)
}

// longest returns the longest name of a processor.
func (s sketch) longest() string {
	var longest string
	for id := range s.on {
		if name := s.called(id); len(name) > len(longest) || len(name) == len(longest) && name > longest {
			longest = name
		}
	}
	return longest
}

// marked names workers or ranks: w0, w4-7; nothing if there are none.
func (s sketch) marked(ids []int) string {
	if len(ids) == 0 {
		return ""
	}
	return s.mark + cpu.SortedList(ids)
}

// summary is a box of the tree in one line, with what runs in it. It is not short if that would be a long list.
func (s sketch) summary(b *cpu.Box) (line string, short bool) {
	const most = 80 // characters, in the width of the drawing
	line = fmt.Sprintf("%s: processors %s", b.Title(number.ByteSize), cpu.SortedList(b.Processors))
	var usable int
	var on []int
	for _, id := range b.Processors {
		on = append(on, s.on[id]...)
		if slices.Contains(s.usable, id) {
			usable++
		}
	}
	if len(s.usable) > 0 && usable < len(b.Processors) {
		line += fmt.Sprintf(", %d usable", usable)
	}
	if len(on) > 0 {
		slices.Sort(on)
		line += "; " + s.marked(slices.Compact(on))
	}
	return line, len(line) <= most
}
