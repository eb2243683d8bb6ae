package cuda

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/internal/tuned"
)

// Class is a kind of product for which one setting of a kernel is about the best: what gemm tune finds a setting for.
type Class string

// The classes of products whose operands permit copies of 16 bytes. The names of the other classes end in Narrow.
const (
	Large  Class = "large"  // C has more than 4 tiles of 128×128 a multiprocessor
	Medium Class = "medium" // up to 4
	Small  Class = "small"  // fewer than there are multiprocessors
	Tall   Class = "tall"   // up to 128 columns, and 8 times as many rows
	Wide   Class = "wide"   // up to 128 rows, and 8 times as many columns
	Deep   Class = "deep"   // k is 8 times as long as rows and columns
)

// Narrow is the end of the name of a class of products whose addresses or leading dimensions do not
// permit the widest copies of the kernel, such as 4095.
const Narrow = "-narrow"

// The classes of products in GF(2⁸), by the rows of C, as codes have them.
const (
	Rows4  Class = "4-rows"  // up to 4
	Rows16 Class = "16-rows" // up to 16
	Rows   Class = "rows"    // more
)

// classEdge is the edge of the tiles of C by which classes say how full a GPU is.
const classEdge = 128

// Class returns the class of a product of the rung on the GPU. Where wide is false its operands do
// not let the kernel copy all it could at once.
func (r Rung) Class(g GPU, s gemm.Shape, wide bool) Class {
	tiles, each := ceil(s.M, classEdge)*ceil(s.N, classEdge), max(1, g.Multiprocessors)
	class := Large
	switch field := r.Type == "gf256"; {
	case field && s.M <= 4:
		class = Rows4
	case field && s.M <= 16:
		class = Rows16
	case field:
		class = Rows
	case s.K >= 8*max(s.M, s.N):
		class = Deep
	case s.N <= classEdge && s.M >= 8*s.N:
		class = Tall
	case s.M <= classEdge && s.N >= 8*s.M:
		class = Wide
	case tiles < each:
		class = Small
	case tiles <= 4*each:
		class = Medium
	}
	if !wide {
		class += Narrow
	}
	return class
}

// Classes returns the classes of products of the rung on the GPU, the most used ones first.
func (r Rung) Classes(g GPU) []Class {
	if r.Type == "gf256" {
		out := []Class{Rows4, Rows16, Rows}
		if r.Copies {
			out = append(out, Rows4+Narrow, Rows16+Narrow, Rows+Narrow)
		}
		return out
	}
	out := []Class{Large, Medium, Large + Narrow, Small, Tall, Deep, Wide, Medium + Narrow, Small + Narrow, Tall + Narrow,
		Deep + Narrow, Wide + Narrow}
	return slices.DeleteFunc(out, func(c Class) bool {
		return r.Class(g, c.Shape(g), !c.narrow()) != c || c.narrow() && !r.Copies
	})
}

func (c Class) narrow() bool { return strings.HasSuffix(string(c), Narrow) }

// Shape returns the product that stands for the class on the GPU.
func (c Class) Shape(g GPU) gemm.Shape {
	// cube returns the edge of a square with about the given number of tiles per multiprocessor.
	cube := func(each float64) int {
		return classEdge * max(1, int(math.Sqrt(each*float64(max(1, g.Multiprocessors)))))
	}
	// rows of as many tiles as half of the multiprocessors
	half := classEdge * max(8, 1<<int(math.Log2(float64(max(2, g.Multiprocessors)/2))))
	var s gemm.Shape
	switch Class(strings.TrimSuffix(string(c), Narrow)) {
	case Small:
		s = gemm.Cube(cube(0.5))
	case Medium:
		s = gemm.Cube(cube(2))
	case Tall:
		s = gemm.Shape{M: half, N: classEdge / 2, K: half}
	case Wide:
		s = gemm.Shape{M: classEdge / 2, N: half, K: half}
	case Deep:
		s = gemm.Shape{M: cube(0.125), N: cube(0.125), K: 16 * cube(0.125)}
	case Rows4:
		s = gemm.Shape{M: 4, N: 1 << 24, K: 10}
	case Rows16:
		s = gemm.Shape{M: 16, N: 1 << 24, K: 16}
	case Rows:
		s = gemm.Shape{M: 64, N: 1 << 22, K: 64}
	default:
		s = gemm.Cube(cube(8))
	}
	if c.narrow() {
		s = gemm.Shape{M: s.M - 1, N: s.N - 1, K: s.K - 1}
	}
	return s
}

// Parts returns the numbers of parts of k that are worth a try for a product with the tile.
func (r Rung) Parts(t Tile, g GPU, s gemm.Shape) []int { return r.splits(t, g, s, 0) }

// wide reports whether the operands let the rung copy all it could at once.
func (r Rung) wide(a, b, c Operand) bool {
	most := r.Widest()
	if r.Single {
		most.A = 1
	}
	return r.widths(a, b, c) == most
}

// open reports whether the parameters leave all that is tuned to be chosen.
func open(p gemm.Params) bool {
	chosen := func(name string) bool { v, ok := p[name]; return ok && v != 0 && v != Auto }
	return !slices.ContainsFunc([]string{"tile", "stages", "split", "block", "bk", "maxregs"}, chosen)
}

// tuned returns the plan of a product from the settings of gemm tune for its class on this GPU, if the parameters leave
// the choice open. The plan has no tile if there are no such settings; ignored says why settings cannot be used.
func (r Rung) tuned(g GPU, s gemm.Shape, wide bool, p gemm.Params) (plan Plan, ignored string) {
	if !open(p) {
		return Plan{}, ""
	}
	class := r.Class(g, s, wide)
	k, ok := tuned.ForKernel(g.Name, r.Type, r.Name, string(class))
	if !ok {
		return Plan{}, ""
	}
	t, err := r.setting(k, g)
	if err != nil {
		return Plan{}, fmt.Sprintf("the tuned setting of %s in %s for the class %s is ignored: %v; gemm tune --families cuda measures it anew", r.Name, r.Type, class, err)
	}
	plan = Plan{Rung: r, Tile: r.Fit(t, s), Split: 1, Shape: s}
	// No more parts than the shape has room for: shapes of a class differ. Where every tile is whole, the last may
	// be cut.
	parts := 1
	for _, n := range r.Parts(t, g, s) {
		if n <= k.Split {
			parts = n
		}
	}
	candidates := plan.cuts(g, parts)
	if r.Splits && parts == 1 {
		candidates = append(candidates, plan.tails(g)...)
	}
	return fastest(candidates, g), ""
}

// setting returns the tile that k says, with its stages. The error says why the kernel cannot have it on the GPU.
func (r Rung) setting(k tuned.Kernel, g GPU) (Tile, error) {
	t, err := r.ParseTile(k.Tile)
	if err != nil {
		return t, err
	}
	t.Stages = k.Stages
	if err := r.everyWidth(t); err != nil {
		return t, err
	}
	return t, r.fits(t, g)
}
