package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/flow"
	"gonum.org/v1/gonum/graph/simple"
)

// successors returns the instructions that can follow the i-th.
func (c code) successors(i int) []int {
	in := c.instructions[i]
	var out []int
	if at, ok := c.labels[in.target]; ok && in.base() == "BRA" && at < len(c.instructions) {
		out = append(out, at)
	}
	ends := slices.Contains([]string{"BRA", "EXIT", "RET"}, in.base()) && !in.conditional
	if !ends && i+1 < len(c.instructions) {
		out = append(out, i+1)
	}
	return out
}

// flowGraph is which instructions can follow which, and which come before others on every way.
type flowGraph struct {
	code
	edges *simple.DirectedGraph
	tree  flow.DominatorTree
}

func (c code) graph() flowGraph {
	g := flowGraph{code: c, edges: simple.NewDirectedGraph()}
	for i := range c.instructions {
		g.edges.AddNode(simple.Node(i))
	}
	for i := range c.instructions {
		for _, next := range c.successors(i) {
			if next != i {
				g.edges.SetEdge(g.edges.NewEdge(simple.Node(i), simple.Node(next)))
			}
		}
	}
	g.tree = flow.Dominators(simple.Node(0), g.edges)
	return g
}

// returns reports whether the way from an instruction to another goes back to the head of a loop. A branch backwards is
// no sign of that: compilers move what is rarely executed behind the loop.
func (g flowGraph) returns(from, to int) bool {
	if to > from {
		return false
	}
	for n := int64(from); n != int64(to); {
		above := g.tree.DominatorOf(n)
		if above == nil {
			return false
		}
		n = above.ID()
	}
	return true
}

// loops returns which instructions are in each loop, by its head.
func (g flowGraph) loops() map[int]map[int]bool {
	bodies := map[int]map[int]bool{}
	for i := range g.instructions {
		for _, head := range g.successors(i) {
			if !g.returns(i, head) {
				continue
			}
			body := bodies[head]
			if body == nil {
				body = map[int]bool{head: true}
				bodies[head] = body
			}
			for todo := []int{i}; len(todo) > 0; {
				n := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				if body[n] {
					continue
				}
				body[n] = true
				for before := g.edges.To(int64(n)); before.Next(); {
					todo = append(todo, int(before.Node().ID()))
				}
			}
		}
	}
	return bodies
}

// turn is a way through a loop, from an instruction to the end of the turn.
type turn struct {
	multiplyAdds, copies float64 // copies are bytes to shared memory, and 1 for each barrier
	instructions         int
	next                 int // -1: back to the head
	closed               bool
}

// compare orders ways by what they do: first by products, then by copies, then by how few instructions that takes.
func (x turn) compare(y turn) int {
	return cmp.Or(cmp.Compare(x.multiplyAdds, y.multiplyAdds), cmp.Compare(x.copies, y.copies),
		cmp.Compare(y.instructions, x.instructions))
}

// turns returns the best way through the loop from each of its instructions on. Loops inside are left at once.
func (g flowGraph) turns(head int, body map[int]bool) map[int]turn {
	found := map[int]turn{}
	var from func(i int) turn
	from = func(i int) turn {
		if x, ok := found[i]; ok {
			return x
		}
		var best turn
		for _, next := range g.successors(i) {
			x := turn{next: -1, closed: true}
			if next != head {
				if !body[next] || g.returns(i, next) {
					continue
				}
				x = from(next)
				x.next = next
			}
			if x.closed && (!best.closed || x.compare(best) > 0) {
				best = x
			}
		}
		best.multiplyAdds += multiplyAddsOf(g.instructions[i : i+1])
		best.copies += copied(g.instructions[i])
		best.instructions++
		found[i] = best
		return best
	}
	from(head)
	return found
}

// copied returns the bytes that a lane copies from global to shared memory, or to registers and from there, and 1 for a
// barrier. A copy of the copy engine counts as the widest.
func copied(in instruction) float64 {
	switch in.base() {
	case "UTMALDG":
		return 16
	case "BAR": // only the last turn is without
		return 1
	case "LDG", "LDGSTS", "STS":
		for _, suffix := range strings.Split(in.name, ".") {
			if n := width[suffix]; n > 0 {
				return n
			}
		}
		return 4
	}
	return 0
}

// stores are the instructions that write to global memory.
var stores = []string{"ST", "STG", "RED", "UTMASTG", "UTMAREDG"}

// kLoop returns the loop over k, for slices with the given multiply-adds of a warp. It is the loop with the most
// multiply-adds in a turn, that writes nothing to global memory; the loop over tiles does. A turn makes all
// of its copies, as wide as they can be. If a slice takes turns of an inner loop, they are counted. It
// returns nil if no loop multiplies.
func (c code) kLoop(multiplyAdds float64) *Loop {
	g := c.graph()
	var best turn
	at := -1
	loops := g.loops()
	turns := map[int]map[int]turn{}
	for _, head := range slices.Sorted(maps.Keys(loops)) {
		turns[head] = g.turns(head, loops[head])
		writes := func(i int) bool { return slices.Contains(stores, c.instructions[i].base()) }
		x := turns[head][head]
		body := slices.Collect(maps.Keys(loops[head]))
		if x.multiplyAdds > 0 && x.compare(best) > 0 && !slices.ContainsFunc(body, writes) {
			best, at = x, head
		}
	}
	if at < 0 {
		return nil
	}
	out := &Loop{Slices: max(1, math.Round(best.multiplyAdds/multiplyAdds)), Instructions: map[string]float64{}}
	count := func(head int, times float64) {
		for i := head; i >= 0; i = turns[head][i].next {
			out.Instructions[c.instructions[i].kind()] += times
		}
	}
	count(at, 1/out.Slices)
	const most = 0.9 // some multiply-adds of a slice may be before the loop
	if best.multiplyAdds > most*multiplyAdds {
		return out
	}
	inner := -1
	for i := range loops[at] {
		if x := turns[i][i]; i != at && x.multiplyAdds > 0 && (inner < 0 || x.compare(turns[inner][inner]) > 0) {
			inner = i
		}
	}
	if inner < 0 { // a slice takes several turns
		out.Slices = best.multiplyAdds / multiplyAdds
		for name := range out.Instructions {
			out.Instructions[name] /= out.Slices
		}
		return out
	}
	count(inner, (multiplyAdds-best.multiplyAdds)/turns[inner][inner].multiplyAdds)
	return out
}
