// Package plan says who owns what, and what is sent where: rows, columns and blocks,
// grids of ranks, panels and the order of steps. It is arithmetic alone, apart from the
// transport, and is tested without one.
package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gemm"
)

// Span is the indices Lo ≤ i < Hi.
type Span struct{ Lo, Hi int }

// Len returns the number of indices.
func (s Span) Len() int { return s.Hi - s.Lo }

// Split returns the i-th of parts of n indices that are shared out evenly: the first
// n mod parts have one more than the others.
//
//	Split(10, 4, i): [0,3) [3,6) [6,8) [8,10)
func Split(n, parts, i int) Span {
	least, more := n/parts, n%parts
	return Span{i*least + min(i, more), (i+1)*least + min(i+1, more)}
}

// Spans returns all parts of Split.
func Spans(n, parts int) []Span {
	out := make([]Span, parts)
	for i := range out {
		out[i] = Split(n, parts, i)
	}
	return out
}

// Owner returns the part of Split(n, parts) that index i is in.
func Owner(n, parts, i int) int {
	least, more := n/parts, n%parts
	if i < more*(least+1) {
		return i / (least + 1)
	}
	return more + (i-more*(least+1))/least
}

// Grid is P×Q ranks in C layers, one behind the other: rank (i, j) of layer l is
// (l·P + i)·Q + j.
//
//	2×3, one layer      layer 0   layer 1 of 2×2×2
//	0 1 2               0 1       4 5
//	3 4 5               2 3       6 7
type Grid struct{ P, Q, C int }

// Ranks returns the number of ranks.
func (g Grid) Ranks() int { return g.P * g.Q * g.C }

// At returns the place of a rank.
func (g Grid) At(rank int) (i, j, layer int) {
	return rank / g.Q % g.P, rank % g.Q, rank / (g.P * g.Q)
}

// Rank returns the rank at a place.
func (g Grid) Rank(i, j, layer int) int { return (layer*g.P+i)*g.Q + j }

// String returns "PxQ", or "PxQxC" of several layers.
func (g Grid) String() string {
	if g.C > 1 {
		return fmt.Sprintf("%dx%dx%d", g.P, g.Q, g.C)
	}
	return fmt.Sprintf("%dx%d", g.P, g.Q)
}

// Near returns the squarest grid of the given number of ranks in one layer. Its longer side is
// along the longer side of C.
func Near(ranks int, s gemm.Shape) Grid {
	p := int(math.Sqrt(float64(ranks)))
	for ranks%p != 0 {
		p--
	}
	if s.M > s.N {
		return Grid{ranks / p, p, 1}
	}
	return Grid{p, ranks / p, 1}
}

// Square returns the largest square grid of at most the given number of ranks.
func Square(ranks int) Grid {
	q := int(math.Sqrt(float64(ranks)))
	return Grid{q, q, 1}
}

// ParseGrid reads "PxQ". The error is a gemm.ErrParam.
func ParseGrid(text string) (Grid, error) {
	left, right, _ := strings.Cut(text, "x")
	p, errP := strconv.Atoi(left)
	q, errQ := strconv.Atoi(right)
	if errP != nil || errQ != nil || p < 1 || q < 1 || p > math.MaxInt32/q {
		return Grid{}, fmt.Errorf("%w: grid is %q, must be PxQ, such as 2x4, or auto", gemm.ErrParam, text)
	}
	return Grid{p, q, 1}, nil
}

// Layered returns the grid of all of the ranks in which the rank that receives most
// receives least in 25d, of those whose copies of C are at most replication (0: any
// number) and take at most room elements on a rank (0: any number); the one of the
// fewest layers and the squarest among equals. Where replication does not divide the
// ranks, as many as it divides are used.
func Layered(ranks int, s gemm.Shape, replication int, room float64) Grid {
	lo, hi := 1, ranks
	if replication > 0 {
		lo, hi = min(replication, ranks), min(replication, ranks)
		ranks -= ranks % lo
	}
	best, least := Near(ranks, s), math.Inf(1)
	for c := lo; c <= hi; c++ {
		if ranks%c != 0 {
			continue
		}
		for p := 1; p <= ranks/c; p++ {
			if ranks/c%p != 0 {
				continue
			}
			g := Grid{p, ranks / c / p, c}
			received := layeredReceived(g, s)
			block := float64(s.M) / float64(g.P) * float64(s.N) / float64(g.Q)
			fits := room <= 0 || c == lo || block <= room
			better := received < least*(1-1e-9) ||
				received <= least*(1+1e-9) && c == best.C && abs(g.P-g.Q) < abs(best.P-best.Q)
			if fits && better {
				best, least = g, received
			}
		}
	}
	return best
}

func abs(x int) int { return max(x, -x) }

// layeredReceived returns the elements that a rank receives in 25d where everything
// divides.
func layeredReceived(g Grid, s gemm.Shape) float64 {
	p, q, c := float64(g.P), float64(g.Q), float64(g.C)
	m, n, k := float64(s.M)/p, float64(s.N)/q, float64(s.K)/c
	return m*k*(1-1/q) + k*n*(1-1/p) + m*n*(1-1/c)
}

// Panel is a range of k that is broadcast at once: one column of ranks holds A's, one
// row of ranks holds B's.
type Panel struct {
	K   Span
	Col int // that holds the columns K of A
	Row int // that holds the rows K of B
}

// Panels cuts the range k, whose columns of A are shared out over q columns of ranks and
// whose rows of B over p rows, into panels of at most width that no two ranks share.
//
//	Panels([0,10), 2, 3, 4): [0,4) [4,5) | [5,7) [7,10): A's cuts are at 4 and 7, B's at 5
func Panels(k Span, p, q, width int) []Panel {
	var out []Panel
	n := k.Len()
	for at := 0; at < n; {
		col, row := Owner(n, q, at), Owner(n, p, at)
		a, b := Split(n, q, col), Split(n, p, row)
		// Panels of a stretch that one pair of ranks holds are alike.
		from, to := max(a.Lo, b.Lo), min(a.Hi, b.Hi)
		pieces := ceil(to-from, width)
		for i := range pieces {
			s := Split(to-from, pieces, i)
			out = append(out, Panel{K: Span{k.Lo + from + s.Lo, k.Lo + from + s.Hi}, Col: col, Row: row})
		}
		at = to
	}
	return out
}

// Steps puts panels together that follow each other and are equally wide, two at a time or
// one.
//
//	Steps([0,4) [4,5) [5,7) [7,9), 2): [0,1) [1,2) [2,4), the last of the columns [5,9)
func Steps(panels []Panel, together int) []Span {
	var out []Span
	for i := 0; i < len(panels); {
		n := 1
		if together == 2 && i+1 < len(panels) && panels[i].K.Len() == panels[i+1].K.Len() {
			n = 2
		}
		out = append(out, Span{i, i + n})
		i += n
	}
	return out
}

// ceil returns ⌈n/width⌉, also where n + width overflows.
func ceil(n, width int) int { return n/width + min(n%width, 1) }

// Chunks cuts n indices into ranges of at most width, all alike to within one.
func Chunks(n, width int) []Span {
	return Spans(n, ceil(n, width))
}

// Growing cuts n indices into ranges of at most width, of which the first is a quarter as
// wide and each is at most twice as wide as the one before: who waits for the first has
// little to wait for, and the next arrives while it is worked on. The others are alike to
// within one.
//
//	Growing(20, 8): [0,2) [2,6) [6,13) [13,20)
func Growing(n, width int) []Span {
	var out []Span
	at := 0
	for w := ceil(width, 4); w < width && w < n-at; w *= 2 {
		out = append(out, Span{at, at + w})
		at += w
	}
	for _, s := range Chunks(n-at, width) {
		out = append(out, Span{at + s.Lo, at + s.Hi})
	}
	return out
}

// Busy returns how many of the ranks have terms to compute where rows and columns of C
// are shared out over a grid, with all of k.
func Busy(g Grid, s gemm.Shape) int {
	if s.K == 0 {
		return 0
	}
	return min(g.P, s.M) * min(g.Q, s.N) * min(g.C, s.K)
}
