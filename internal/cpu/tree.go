package cpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Level says what a Box is.
type Level int

// The levels, from the outside to the inside if they have the same processors.
const (
	LevelMachine Level = iota
	LevelPackage
	LevelNode
	LevelCache // that several cores share
	LevelCore
	LevelProcessor
)

// Box is a part of a host and what is in it.
type Box struct {
	Level      Level
	ID         int         // of a package, a NUMA node or a processor
	Cache      int         // the level of a cache
	Kind       string      // of a core of a hybrid processor
	Bytes      int64       // of a node's memory or a cache; 0: not known
	Caches     []CoreCache // of a core alone, smallest level first
	Processors []int       // in the order of the topology
	Inner      []*Box
}

// CoreCache is a cache of one core.
type CoreCache struct {
	Level int
	Kind  string
	Bytes int64
}

// Tree returns the host as nested boxes. Of two sets of processors that overlap, the smaller one is left out unless it
// is within the other.
func (t *Topology) Tree() *Box {
	order := ParseList(t.Processors)
	root := &Box{Level: LevelMachine, Processors: order}
	var boxes []*Box
	add := func(b Box, list string) {
		for _, id := range order {
			if slices.Contains(ParseList(list), id) {
				b.Processors = append(b.Processors, id)
			}
		}
		if len(b.Processors) > 0 {
			boxes = append(boxes, &b)
		}
	}
	for _, p := range t.Packages {
		add(Box{Level: LevelPackage, ID: p.ID}, p.Processors)
	}
	for _, n := range t.Nodes {
		add(Box{Level: LevelNode, ID: n.ID, Bytes: n.Bytes}, n.Processors)
	}
	cores := len(boxes)
	for _, list := range t.Cores {
		add(Box{Level: LevelCore}, list)
	}
	own := slices.Clone(boxes[cores:])
	for _, c := range t.Caches {
		for _, list := range c.Sets {
			first := len(boxes)
			add(Box{Level: LevelCache, Cache: c.Level, Bytes: c.Bytes}, list)
			if first == len(boxes) {
				continue
			}
			if i := slices.IndexFunc(own, boxes[first].within); i >= 0 {
				boxes = boxes[:first]
				own[i].Caches = append(own[i].Caches, CoreCache{c.Level, c.Kind, c.Bytes})
			}
		}
	}
	for _, b := range own {
		b.Kind = t.kind(b.Processors[0])
		b.Caches = slices.Compact(b.Caches) // a processor of the core each may have had its own
	}
	for _, id := range order {
		boxes = append(boxes, &Box{Level: LevelProcessor, ID: id, Processors: []int{id}})
	}
	place := func(id int) int { return slices.Index(order, id) }
	slices.SortStableFunc(boxes, func(a, b *Box) int {
		return cmp.Or(cmp.Compare(len(b.Processors), len(a.Processors)), cmp.Compare(a.Level, b.Level),
			cmp.Compare(b.Cache, a.Cache), cmp.Compare(place(a.Processors[0]), place(b.Processors[0])))
	})
	for _, b := range boxes {
		root.insert(b)
	}
	root.sort(place)
	return root
}

// kind returns the name of the kind of cores that a processor belongs to; empty if there is only one.
func (t *Topology) kind(processor int) string {
	for _, k := range t.Kinds {
		if slices.Contains(ParseList(k.Processors), processor) {
			return k.Name
		}
	}
	return ""
}

// within reports whether outer has all processors of b.
func (b *Box) within(outer *Box) bool {
	return !slices.ContainsFunc(b.Processors, func(id int) bool { return !slices.Contains(outer.Processors, id) })
}

// insert puts c, which has no more processors than the boxes inserted before, into the innermost box that contains it.
func (b *Box) insert(c *Box) {
	for _, inner := range b.Inner {
		if c.within(inner) {
			inner.insert(c)
			return
		}
	}
	for _, inner := range b.Inner {
		if slices.ContainsFunc(c.Processors, func(id int) bool { return slices.Contains(inner.Processors, id) }) {
			return
		}
	}
	b.Inner = append(b.Inner, c)
}

// sort sorts what is in b by the place of the first processor.
func (b *Box) sort(place func(id int) int) {
	slices.SortStableFunc(b.Inner, func(x, y *Box) int {
		return cmp.Compare(place(x.Processors[0]), place(y.Processors[0]))
	})
	for _, inner := range b.Inner {
		inner.sort(place)
	}
}

// Like reports whether b and c are the same but for numbers, and for a twentieth of the memory of NUMA nodes: the
// firmware keeps some of the first one.
func (b *Box) Like(c *Box) bool {
	near := b.Bytes == c.Bytes || b.Level == LevelNode && 20*max(b.Bytes-c.Bytes, c.Bytes-b.Bytes) <= max(b.Bytes, c.Bytes)
	return b.Level == c.Level && b.Cache == c.Cache && b.Kind == c.Kind && near &&
		slices.Equal(b.Caches, c.Caches) && slices.EqualFunc(b.Inner, c.Inner, (*Box).Like)
}

// Runs returns what is in b, neighbours together that are alike.
func (b *Box) Runs() [][]*Box {
	var runs [][]*Box
	for _, inner := range b.Inner {
		if n := len(runs); n > 0 && runs[n-1][0].Like(inner) {
			runs[n-1] = append(runs[n-1], inner)
			continue
		}
		runs = append(runs, []*Box{inner})
	}
	return runs
}

// Name returns what b is, with its number if it has one: NUMA node 1, L3, core.
func (b *Box) Name() string {
	switch b.Level {
	case LevelPackage, LevelNode, LevelProcessor:
		return fmt.Sprintf("%s %d", b.noun(), b.ID)
	}
	return b.noun()
}

// noun returns what b is without its number.
func (b *Box) noun() string {
	switch b.Level {
	case LevelPackage:
		return "package"
	case LevelNode:
		return "NUMA node"
	case LevelCache:
		return fmt.Sprintf("L%d", b.Cache)
	case LevelCore:
		return strings.TrimSpace(b.Kind + " core")
	case LevelProcessor:
		return "processor"
	}
	return "machine"
}
