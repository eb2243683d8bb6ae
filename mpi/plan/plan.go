// Package plan decides which rank owns which elements, and what ranks send to each other: rows, columns and blocks,
// grids of ranks, panels, and the order of steps. It is pure arithmetic without any communication, and is tested
// without MPI.
package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gemm"
)

// Span is the range of indices Lo ≤ i < Hi.
type Span struct{ Lo, Hi int }

// Len returns the number of indices.
func (s Span) Len() int { return s.Hi - s.Lo }

// Split returns the i-th of parts of n indices that are divided evenly: the first n mod parts have one
// index more than the others.
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

// Owner returns the number of the part of Split(n, parts) that contains index i.
func Owner(n, parts, i int) int {
	least, more := n/parts, n%parts
	if i < more*(least+1) {
		return i / (least + 1)
	}
	return more + (i-more*(least+1))/least
}

// Grid is P×Q ranks in each of C layers. Rank (i, j) of layer l is (l·P + i)·Q + j.
//
//	2×3, one layer      layer 0   layer 1 of 2×2×2
//	0 1 2               0 1       4 5
//	3 4 5               2 3       6 7
type Grid struct{ P, Q, C int }

// Ranks returns the number of ranks.
func (g Grid) Ranks() int { return g.P * g.Q * g.C }

// At returns the coordinates of a rank.
func (g Grid) At(rank int) (i, j, layer int) {
	return rank / g.Q % g.P, rank % g.Q, rank / (g.P * g.Q)
}

// Rank returns the rank with the coordinates.
func (g Grid) Rank(i, j, layer int) int { return (layer*g.P+i)*g.Q + j }

// String returns "PxQ", or "PxQxC" if there are several layers.
func (g Grid) String() string {
	if g.C > 1 {
		return fmt.Sprintf("%dx%dx%d", g.P, g.Q, g.C)
	}
	return fmt.Sprintf("%dx%d", g.P, g.Q)
}

// Squarest returns the squarest grid of the given number of ranks in one layer. Its longer side is
// along the longer side of C.
func Squarest(ranks int, s gemm.Shape) Grid {
	p := int(math.Sqrt(float64(ranks)))
	for ranks%p != 0 {
		p--
	}
	if s.M > s.N {
		return Grid{ranks / p, p, 1}
	}
	return Grid{p, ranks / p, 1}
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

// Layered returns the grid for 25d in which the rank that receives most receives least. Every grid
// that it considers has at most replication copies of C, with at most room elements of copies on a
// rank; 0 means any number. Among equal grids it chooses fewer layers, then the squarest. If
// replication does not divide the number of ranks, it uses as many ranks as replication divides.
func Layered(ranks int, s gemm.Shape, replication int, room float64) Grid {
	lo, hi := 1, ranks
	if replication > 0 {
		lo, hi = min(replication, ranks), min(replication, ranks)
		ranks -= ranks % lo
	}
	best, least := Squarest(ranks, s), math.Inf(1)
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

// layeredReceived returns the elements that a rank receives in 25d if everything divides.
func layeredReceived(g Grid, s gemm.Shape) float64 {
	p, q, c := float64(g.P), float64(g.Q), float64(g.C)
	m, n, k := float64(s.M)/p, float64(s.N)/q, float64(s.K)/c
	return m*k*(1-1/q) + k*n*(1-1/p) + m*n*(1-1/c)
}

// Panel is a range of k that is broadcast at once. One column of ranks holds its columns of A, and one
// row of ranks its rows of B.
type Panel struct {
	K   Span
	Col int // the column of the grid with the columns K of A
	Row int // the row of the grid with the rows K of B
}

// Panels cuts the range k into panels of at most width. The columns of A are divided over q columns of
// ranks and the rows of B over p rows; every panel has one owner of each.
//
//	Panels([0,10), 2, 3, 4): [0,4) [4,5) | [5,7) [7,10): A's cuts are at 4 and 7, B's at 5
func Panels(k Span, p, q, width int) []Panel {
	var out []Panel
	n := k.Len()
	for at := 0; at < n; {
		col, row := Owner(n, q, at), Owner(n, p, at)
		a, b := Split(n, q, col), Split(n, p, row)
		// Panels of a range with one pair of owners differ by at most one index.
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

// Alternating returns the panels in another order, in which the pairs of owners alternate. The next panel is
// in flight while one is multiplied, and then they are sent by different ranks: if these are on
// different hosts, over different links, or over one in both directions.
//
//	owners (0,0) (0,0) (0,0) | (1,1) (1,1)     panels 0 3 1 4 2
func Alternating(panels []Panel) []Panel {
	var order []Panel // without K
	of := map[Panel][]Panel{}
	for _, p := range panels {
		o := Panel{Col: p.Col, Row: p.Row}
		if of[o] == nil {
			order = append(order, o)
		}
		of[o] = append(of[o], p)
	}
	out := make([]Panel, 0, len(panels))
	for turn := 0; len(out) < len(panels); turn++ {
		for _, o := range order {
			if turn < len(of[o]) {
				out = append(out, of[o][turn])
			}
		}
	}
	return out
}

// Steps combines panels that follow each other and have equal widths, two at a time or one.
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

// ceil returns ⌈n/width⌉, even if n + width overflows.
func ceil(n, width int) int { return n/width + min(n%width, 1) }

// Chunks cuts n indices into ranges of at most width that differ by at most one index.
func Chunks(n, width int) []Span {
	return Spans(n, ceil(n, width))
}

// Growing cuts n indices into ranges of at most width. The first range is a quarter as wide, and each
// is at most twice as wide as the one before. So the wait for the first is short, and each next range
// arrives while the one before is computed. The others differ by at most one index.
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

// Busy returns how many ranks have terms to compute if rows and columns of C are divided over the grid,
// with all of k on each rank.
func Busy(g Grid, s gemm.Shape) int {
	return min(g.P, s.M) * min(g.Q, s.N) * min(g.C, s.K)
}
