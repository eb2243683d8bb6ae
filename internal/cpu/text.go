package cpu

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostLines is how many neighbours that are alike have a line each in the text of a tree; more share one.
const mostLines = 4

// Write writes the tree as text, a line for each box and one for cores that are alike. size formats bytes.
func (t *Topology) Write(w io.Writer, size func(bytes float64) string) {
	t.Tree().write(w, "", size)
	for _, n := range t.Nodes {
		if n.Processors == "" {
			fmt.Fprintf(w, "NUMA node %d,%s of memory alone\n", n.ID, sized(n.Bytes, size))
		}
	}
	for _, g := range t.GPUs {
		where := ""
		if g.Node >= 0 {
			where = fmt.Sprintf(", NUMA node %d", g.Node)
		}
		fmt.Fprintf(w, "GPU %s at %s%s\n", g.Name, g.PCI, where)
	}
}

func (b *Box) write(w io.Writer, indent string, size func(float64) string) {
	for _, run := range b.Runs() {
		first := run[0]
		if first.Level == LevelProcessor {
			return // the line of the core has them
		}
		if first.Level != LevelCore && len(run) <= mostLines {
			for _, inner := range run {
				fmt.Fprintf(w, "%s%s: processors %s\n", indent, inner.Title(size), SortedList(inner.Processors))
				inner.write(w, indent+"  ", size)
			}
			continue
		}
		var all []int
		for _, inner := range run {
			all = append(all, inner.Processors...)
		}
		fmt.Fprintf(w, "%s%s: processors %s\n", indent, first.Several(len(run), size), SortedList(all))
		first.write(w, indent+"  ", size)
	}
}

// Title returns the name of b and its size: package 0; NUMA node 1, 24 GiB; L3 32 MiB; core, L2 1 MiB, L1d 48 KiB.
func (b *Box) Title(size func(bytes float64) string) string { return b.Name() + b.what(size) }

// Several is Title for n boxes that are like b: 2 packages; 4 NUMA nodes, 24 GiB each; 8 × L3 32 MiB.
func (b *Box) Several(n int, size func(bytes float64) string) string {
	switch {
	case n == 1:
		return b.Title(size)
	case b.Level == LevelCache:
		return fmt.Sprintf("%d × %s", n, b.Title(size))
	}
	out := fmt.Sprintf("%d %ss%s", n, b.noun(), b.what(size))
	if b.Level == LevelNode && b.Bytes > 0 {
		out += " each"
	}
	return out
}

// what is what Title says after the name. Of a core it is how many processors it has if there are several, and its
// caches, the largest first.
func (b *Box) what(size func(float64) string) string {
	var out strings.Builder
	if b.Bytes > 0 && b.Level == LevelNode {
		out.WriteString(",")
	}
	out.WriteString(sized(b.Bytes, size))
	if n := len(b.Processors); b.Level == LevelCore && n > 1 {
		fmt.Fprintf(&out, " of %d processors", n)
	}
	for _, c := range slices.Backward(b.Caches) {
		out.WriteString(", " + c.Title(size))
	}
	return out.String()
}

// Title returns the level of the cache, what it is for, and its size: L1d 48 KiB.
func (c CoreCache) Title(size func(bytes float64) string) string {
	name := fmt.Sprintf("L%d", c.Level)
	if c.Kind == "data" {
		name += "d"
	}
	return name + sized(c.Bytes, size)
}

// sized returns bytes after a space; nothing if they are not known.
func sized(bytes int64, size func(float64) string) string {
	if bytes == 0 {
		return ""
	}
	return " " + size(float64(bytes))
}
