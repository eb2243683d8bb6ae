package gemm

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Shape is the size of a product: C is M×N, A is M×K, B is K×N.
type Shape struct {
	M int `json:"m"`
	N int `json:"n"`
	K int `json:"k"`
}

// Cube returns the shape of a product of square matrices.
func Cube(n int) Shape { return Shape{n, n, n} }

// ParseShape reads a shape as String writes it: n, or MxNxK. Dimensions are positive.
func ParseShape(text string) (Shape, error) {
	var dims []int
	for field := range strings.SplitSeq(text, "x") {
		dim, err := strconv.Atoi(field)
		if err != nil || dim < 1 {
			dims = nil
			break
		}
		dims = append(dims, dim)
	}
	switch len(dims) {
	case 1:
		return Cube(dims[0]), nil
	case 3:
		return Shape{dims[0], dims[1], dims[2]}, nil
	}
	return Shape{}, fmt.Errorf("%q: must be a positive integer n, or MxNxK", text)
}

// IsCube reports whether all matrices of the product are square.
func (s Shape) IsCube() bool { return s.M == s.N && s.N == s.K }

// Terms returns m·n·k, the multiplications of a classical product.
func (s Shape) Terms() float64 { return float64(s.M) * float64(s.N) * float64(s.K) }

// Elements returns m·k + k·n + m·n, the elements of A, B and C.
func (s Shape) Elements() float64 {
	m, n, k := float64(s.M), float64(s.N), float64(s.K)
	return m*k + k*n + m*n
}

// String returns "n" for a cube and "MxNxK" otherwise, as flags have it.
func (s Shape) String() string { return s.join("x") }

// Label returns "n" for a cube and "m×n×k" otherwise, as tables show it.
func (s Shape) Label() string { return s.join("×") }

func (s Shape) join(sign string) string {
	if s.IsCube() {
		return strconv.Itoa(s.N)
	}
	return strconv.Itoa(s.M) + sign + strconv.Itoa(s.N) + sign + strconv.Itoa(s.K)
}

// Compare orders shapes by their terms, then by m, then by n.
func (s Shape) Compare(t Shape) int {
	return cmp.Or(cmp.Compare(s.Terms(), t.Terms()), cmp.Compare(s.M, t.M), cmp.Compare(s.N, t.N), cmp.Compare(s.K, t.K))
}
