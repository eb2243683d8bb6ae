// Package kernel holds the innermost loops of a packed matrix product: the
// micro-kernels, which multiply a sliver of A by a sliver of B and keep the tile
// of C in registers. gemm/internal/block packs the slivers and calls them.
//
// A micro-kernel is a value of type Kernel, so that the loops round it do not
// know whether it is portable Go or the assembly of one instruction set.
package kernel

// Float is the element types of floating-point kernels.
type Float interface{ float32 | float64 }

// Kernel is a micro-kernel and the shape of the tile that it computes.
type Kernel[T Float] struct {
	Name   string // instruction set and tile, as in "go-2x4"
	MR, NR int    // rows and columns of the tile
	Run    Func[T]
}

// Func computes one full tile,
//
//	C ← A·B + β·C
//
// with A of MR×kc, B of kc×NR and C of MR×NR. A and B are packed: column l of A
// is a[l·MR : (l+1)·MR], row l of B is b[l·NR : (l+1)·NR]. Row i of C begins at
// c[i·ldc]. β = 0 does not read C. A Func panics before it writes anything where
// a slice is too short; tiles that stick out over the edge of a matrix are the
// caller's, who lets them be computed elsewhere and copies what belongs to C.
// One call is short, some microseconds at most, since assembly cannot be
// preempted.
type Func[T Float] func(kc int, a, b []T, beta T, c []T, ldc int)

// Best returns the fastest kernel of this build on this processor.
func Best[T Float]() Kernel[T] {
	return Kernel[T]{Name: "go-2x4", MR: 2, NR: 4, Run: go2x4[T]}
}
