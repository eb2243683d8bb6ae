package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gemm/gf256"
)

// TestFieldElements multiplies every element by every element.
func TestFieldElements(t *testing.T) {
	f := BestField()
	n := 256
	b, c := make([]gf256.Elem, n), make([]gf256.Elem, n)
	for j := range b {
		b[j] = gf256.New(uint8(j))
	}
	packed := make([]uint64, f.Words(1))
	for x := range 256 {
		a := gf256.New(uint8(x))
		f.Pack(1, 1, packed, []gf256.Elem{a}, 1)
		f.Run(1, 1, n, packed, rowsOf(b, n), 0, rowsOf(c, n), 0, IntoSet)
		for j, got := range c {
			if want := gf256.Mul(a, b[j]); got != want {
				t.Fatalf("%s: %d·%d is %d, want %d", f.Name, x, j, got, want)
			}
		}
	}
}

// TestFieldRun compares the best kernel with the loop that it equals, for slivers of every height,
// and for one tile and several. The strides are longer than the columns, and columns are computed from some on; other
// elements must not change.
func TestFieldRun(t *testing.T) {
	f := BestField()
	rng := rand.New(rand.NewPCG(1, 2))
	for rows := 1; rows <= f.MR; rows++ {
		for _, n := range []int{0, f.NR, 2 * f.NR, 5 * f.NR, 9 * f.NR} {
			for _, k := range []int{1, 2, 3, 4, 8, 17} {
				for _, into := range []Into{IntoSet, IntoAdd, IntoStream} {
					testFieldRun(t, &f, rng, rows, k, n, into)
				}
			}
		}
	}
}

func testFieldRun(t *testing.T, f *Field, rng *rand.Rand, rows, k, n int, into Into) {
	lda, ldb, ldc, skip, from := k+2, n+9, n+12, rng.IntN(9), rng.IntN(9)
	if into == IntoStream {
		ldc, from = (n+191)/64*64, from/5*64
	}
	a, b, c := random(rng, rows*lda), random(rng, k*ldb), onLine(random(rng, rows*ldc+63))[:rows*ldc]
	was := append([]gf256.Elem(nil), c...)
	packed := make([]uint64, k*f.Words(rows))
	f.Pack(rows, k, packed, a, lda)
	f.Run(rows, k, n, packed, rowsOf(b, ldb), skip, rowsOf(c, ldc), from, into)
	for at, got := range c {
		i, j := at/ldc, at%ldc
		want := was[at]
		if from <= j && j < from+n {
			if into != IntoAdd {
				want = gf256.Elem{}
			}
			for l := range k {
				want = gf256.Add(want, gf256.Mul(a[i*lda+l], b[l*ldb+skip+j-from]))
			}
		}
		if got != want {
			t.Fatalf("%s: %d×%d×%d, into %v: element (%d, %d) is %v, want %v", f.Name, rows, n, k, into, i, j, got, want)
		}
	}
}

func random(rng *rand.Rand, n int) []gf256.Elem {
	x := make([]gf256.Elem, n)
	for i := range x {
		x[i] = gf256.New(uint8(rng.Uint32()))
	}
	return x
}

// rowsOf returns the rows of x, which are ld elements long.
func rowsOf(x []gf256.Elem, ld int) (rows [][]byte) {
	if ld == 0 {
		return nil
	}
	for row := range slices.Chunk(gf256.Bytes(x), ld) {
		rows = append(rows, row)
	}
	return rows
}

// onLine returns x from where a line of a cache begins.
func onLine(x []gf256.Elem) []gf256.Elem {
	for !Streams([][]byte{gf256.Bytes(x)}, 0) {
		x = x[1:]
	}
	return x
}

// TestFieldStreams checks that there is a panic, and C is unchanged, if a row of C does not begin
// at a cache line.
func TestFieldStreams(t *testing.T) {
	f := BestField()
	lines := onLine(make([]gf256.Elem, 2*256+64))
	b, packed := random(rand.New(rand.NewPCG(9, 10)), 64), make([]uint64, f.Words(2))
	f.Pack(2, 1, packed, []gf256.Elem{gf256.New(2), gf256.New(3)}, 1)
	for _, test := range []struct{ from, ldc int }{{1, 128}, {0, 96}, {32, 128}} {
		panics(t, fmt.Sprintf("C from %d on, rows %d apart", test.from, test.ldc), func() {
			f.Run(2, 1, 64, packed, rowsOf(b, 64), 0, rowsOf(lines, test.ldc), test.from, IntoStream)
		})
	}
	if !slices.Equal(lines, make([]gf256.Elem, len(lines))) {
		t.Fatal("C was written")
	}
}

// TestFieldPreconditions checks that there is a panic, and C is unchanged, for arguments that the
// kernel cannot compute and for slices that are too short.
func TestFieldPreconditions(t *testing.T) {
	f := BestField()
	const k = 3
	rows, n := f.MR, 2*f.NR
	short := func(x [][]byte) { x[len(x)-1] = x[len(x)-1][1:] }
	for name, spoil := range map[string]func(rows, at, n *int, a *[]uint64, b, c *[][]byte){
		"a row too many":         func(rows, _, _ *int, _ *[]uint64, _, _ *[][]byte) { *rows++ },
		"a column less":          func(_, _, n *int, _ *[]uint64, _, _ *[][]byte) { *n-- },
		"a column more than NR":  func(_, _, n *int, _ *[]uint64, _, _ *[][]byte) { *n = f.NR + 1 },
		"from before a row":      func(_, at, _ *int, _ *[]uint64, _, _ *[][]byte) { *at = -1 },
		"to behind a row":        func(_, at, _ *int, _ *[]uint64, _, _ *[][]byte) { *at = 1 },
		"A is a word short":      func(_, _, _ *int, a *[]uint64, _, _ *[][]byte) { *a = (*a)[1:] },
		"B is an element short":  func(_, _, _ *int, _ *[]uint64, b, _ *[][]byte) { short(*b) },
		"C is an element short":  func(_, _, _ *int, _ *[]uint64, _, c *[][]byte) { short(*c) },
		"there is nothing in B":  func(_, _, _ *int, _ *[]uint64, b, _ *[][]byte) { *b = nil },
		"there is no packed A":   func(_, _, _ *int, a *[]uint64, _, _ *[][]byte) { *a = nil },
		"there is nothing to C":  func(_, _, _ *int, _ *[]uint64, _, c *[][]byte) { *c = nil },
		"more rows than C holds": func(rows, _, _ *int, _ *[]uint64, _, c *[][]byte) { *c = (*c)[:*rows-1] },
	} {
		rows, at, cols := rows, 0, n
		a, elements, whole := make([]uint64, k*f.Words(rows)), make([]gf256.Elem, k*n), make([]gf256.Elem, rows*n)
		for i := range elements {
			elements[i] = gf256.New(1)
		}
		b, c := rowsOf(elements, n), rowsOf(whole, n)
		f.Pack(rows, k, a, random(rand.New(rand.NewPCG(3, 4)), rows*k), k)
		spoil(&rows, &at, &cols, &a, &b, &c)
		panics(t, name, func() { f.Run(rows, k, cols, a, b, at, c, at, IntoSet) })
		if !slices.Equal(whole, make([]gf256.Elem, len(whole))) {
			t.Fatalf("%s: C was written", name)
		}
	}
}
