package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"gemm/gemmtest"
)

func TestInstructionSets(t *testing.T) { gemmtest.InstructionSets(t, ".") }

func TestRun(t *testing.T) {
	t.Run("f32", testRun[float32])
	t.Run("f64", testRun[float64])
}

// testRun compares the best kernel with the loop that it equals, on small integers, for which both
// are exact. It has tiles of every height, edges of every width, and packed and strided operands.
// Elements that must not be read are NaN.
func testRun[T Float](t *testing.T) {
	k := Best[T]()
	var heights []int
	for m := 1; m <= k.MR+2; m++ {
		heights = append(heights, m)
	}
	heights = append(heights, 2*k.MR-1, 2*k.MR, 3*k.MR-2)
	for _, m := range heights {
		for n := range 2*k.NR + 2 {
			for _, depth := range []int{0, 1, 3, 4, 9, 40} {
				if depth == 40 && n%k.NR > 1 {
					continue // enough steps for every loop of a full tile
				}
				for _, layout := range []Tiles[T]{
					{ARow: 1, ACol: k.MR, ANext: k.MR * depth, BRow: k.NR, BNext: k.NR * max(1, depth)}, // packed
					{ARow: depth + 3, ACol: 1, BRow: n + 5, BNext: k.NR},                                // as they lie
					{ARow: 1, ACol: m + 2, BRow: n + 5, BNext: k.NR},                                    // A transposed
				} {
					for _, s := range [][2]T{{1, 0}, {1, 1}, {-2, 3}, {1, T(math.Copysign(0, -1))}} {
						tiles := layout
						tiles.N, tiles.K, tiles.Alpha, tiles.Beta = n, depth, s[0], s[1]
						testTiles(t, k, m, &tiles)
					}
				}
			}
		}
	}
}

func testTiles[T Float](t *testing.T, k Kernel[T], m int, tiles *Tiles[T]) {
	nan := T(math.NaN())
	n, depth, beta := tiles.N, tiles.K, tiles.Beta
	height, taller, slivers := k.Slivers(m)
	row := func(i int) int { // where row i of A begins
		if tiles.ANext == 0 {
			return i * tiles.ARow
		}
		s, r := i/height, i%height
		if s >= taller {
			rest := i - taller*height
			s, r = taller+rest/(height-1), rest%(height-1)
		}
		return s*tiles.ANext + r*tiles.ARow
	}
	a := filled(max(m*tiles.ARow, slivers*tiles.ANext)+depth*tiles.ACol+1, nan)
	b := filled((n+k.NR-1)/k.NR*tiles.BNext+depth*tiles.BRow+1, nan)
	tiles.LDC = n + 3
	c := filled(m*tiles.LDC, nan)
	at := func(l, j int) *T { return &b[j/k.NR*tiles.BNext+l*tiles.BRow+j%k.NR] }
	for l := range depth {
		for i := range m {
			a[row(i)+l*tiles.ACol] = T((3*i+l)%7 - 3)
		}
		for j := range n {
			*at(l, j) = T((j+5*l)%5 - 2)
		}
	}
	for i := range m {
		for j := range n {
			if beta != 0 {
				c[i*tiles.LDC+j] = T(i - j)
			}
		}
	}
	tiles.A, tiles.B, tiles.C = a, b, c
	k.Run(m, tiles)
	about := func() string {
		return fmt.Sprintf("%s m=%d n=%d k=%d aRow=%d aCol=%d bRow=%d α=%v β=%v", k.Name, m, n, depth, tiles.ARow, tiles.ACol,
			tiles.BRow, tiles.Alpha, beta)
	}
	for i := range m {
		for j := range tiles.LDC {
			got := c[i*tiles.LDC+j]
			if j >= n {
				if !math.IsNaN(float64(got)) {
					t.Fatalf("%s: wrote beside row %d", about(), i)
				}
				continue
			}
			var want T
			for l := range depth {
				want += a[row(i)+l*tiles.ACol] * *at(l, j)
			}
			want = tiles.Alpha*want + beta*T(i-j)
			if !(got == want) {
				t.Fatalf("%s: element (%d, %d) is %v, want %v", about(), i, j, got, want)
			}
		}
	}
}

// TestLayout compares the fields of Tiles with the offsets that the generator of the
// assembly has for them.
func TestLayout(t *testing.T) {
	var d Tiles[float64]
	var s Tiles[float32]
	for i, got := range []uintptr{
		unsafe.Offsetof(d.Height), unsafe.Offsetof(d.Taller), unsafe.Offsetof(d.Slivers), unsafe.Offsetof(d.N),
		unsafe.Offsetof(d.K),
		unsafe.Offsetof(d.A), unsafe.Offsetof(d.ARow), unsafe.Offsetof(d.ACol), unsafe.Offsetof(d.ANext),
		unsafe.Offsetof(d.B), unsafe.Offsetof(d.BRow), unsafe.Offsetof(d.BNext), unsafe.Offsetof(d.C), unsafe.Offsetof(d.LDC),
		unsafe.Offsetof(d.Alpha), unsafe.Offsetof(d.Beta), unsafe.Offsetof(s.Alpha), unsafe.Offsetof(s.Beta),
	} {
		want := []uintptr{0, 8, 16, 24, 32, 40, 64, 72, 80, 88, 112, 120, 128, 152, 160, 168, 160, 164}[i]
		if unsafe.Sizeof(uintptr(0)) == 8 && got != want {
			t.Errorf("field %d is at %d, the generator has %d", i, got, want)
		}
	}
}

// filled returns a slice of n elements x.
func filled[T Float](n int, x T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// TestRunScalars checks that the result is NaN if α or β is NaN.
func TestRunScalars(t *testing.T) {
	k := Best[float64]()
	nan := math.NaN()
	for _, s := range [][2]float64{{nan, 0}, {1, nan}} {
		c := filled(k.NR, 1.0)
		k.Run(1, &Tiles[float64]{
			N: k.NR, K: 1, A: filled(1, 1.0), ARow: 1, ACol: 1, B: filled(k.NR, 1.0), BRow: k.NR, BNext: k.NR, C: c, LDC: k.NR,
			Alpha: s[0], Beta: s[1],
		})
		for j, x := range c {
			if !math.IsNaN(x) {
				t.Errorf("%s α=%v β=%v: element %d is %v, want NaN", k.Name, s[0], s[1], j, x)
			}
		}
	}
}

// panics checks that call panics.
func panics(t *testing.T, when string, call func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", when)
		}
	}()
	call()
}

// TestPreconditions checks that there is a panic, and C is unchanged, for slices that are too
// short.
func TestPreconditions(t *testing.T) {
	k := Best[float64]()
	const depth = 5
	m, n := 2*k.MR-1, 2*k.NR-1
	_, _, slivers := k.Slivers(m)
	full := [3]int{slivers*depth*k.MR - 1, k.NR*depth + (depth-1)*k.NR + k.NR - 1, (m-1)*n + n}
	for which := range full {
		lens := full
		lens[which]--
		c := make([]float64, lens[2])
		panics(t, fmt.Sprintf("slice %d one element short", which), func() {
			a, b := filled(lens[0], 1.0), filled(lens[1], 1.0)
			k.Run(m, &Tiles[float64]{
				N: n, K: depth, A: a, ARow: 1, ACol: k.MR, ANext: k.MR * depth, B: b, BRow: k.NR, BNext: k.NR * depth, C: c,
				LDC: n, Alpha: 1,
			})
		})
		if !slices.Equal(c, make([]float64, len(c))) {
			t.Errorf("slice %d one element short: C was written", which)
		}
	}
}

func TestCopies(t *testing.T) {
	t.Run("f32", func(t *testing.T) { testCopies(t, Best[float32]()) })
	t.Run("f64", func(t *testing.T) { testCopies(t, Best[float64]()) })
}

func testCopies[T Float](t *testing.T, k Kernel[T]) {
	for rows := range 12 {
		for cols := range 100 {
			src := make([]T, rows*(cols+3))
			for i := range src {
				src[i] = T(i + 1)
			}
			dst := filled(rows*(cols+2), T(-1))
			k.Copy(rows, cols, dst, cols+2, src, cols+3)
			for i := range rows {
				for j := range cols + 2 {
					want := T(-1)
					if j < cols {
						want = src[i*(cols+3)+j]
					}
					if got := dst[i*(cols+2)+j]; got != want {
						t.Fatalf("%s: copy %d×%d: (%d, %d) is %v, want %v", k.Name, rows, cols, i, j, got, want)
					}
				}
			}
			next := rows*k.NR + 1
			dst = filled((cols/k.NR+1)*next, T(-1))
			k.Split(rows, cols, dst, next, src, cols+3)
			for at, got := range dst {
				want := T(-1)
				i, j := at%next/k.NR, at/next*k.NR+at%next%k.NR
				if i < rows && j < cols {
					want = src[i*(cols+3)+j]
				}
				if got != want {
					t.Fatalf("%s: split %d×%d: element %d is %v, want %v", k.Name, rows, cols, at, got, want)
				}
			}
			ldd := (rows+3)/4*4 + 1
			dst = filled(cols*ldd, T(-1))
			k.Transpose(rows, cols, dst, ldd, src, cols+3)
			for l := range cols {
				for i := range rows {
					if got, want := dst[l*ldd+i], src[i*(cols+3)+l]; got != want {
						t.Fatalf("%s: transpose %d×%d: (%d, %d) is %v, want %v", k.Name, rows, cols, i, l, got, want)
					}
				}
				if got := dst[l*ldd+ldd-1]; got != -1 {
					t.Fatalf("%s: transpose %d×%d wrote beside column %d", k.Name, rows, cols, l)
				}
			}
		}
	}
}

func TestAdd(t *testing.T) {
	t.Run("f32", testAdd[float32])
	t.Run("f64", testAdd[float64])
}

// testAdd adds blocks whose neighbours are NaN, to a third one and in place.
func testAdd[T Float](t *testing.T) {
	k := Best[T]()
	nan := T(math.NaN())
	for rows := range 12 {
		for cols := range 70 {
			ldx, ldy := cols+2, cols+3
			for _, alpha := range []T{1, -1, 2} {
				for into := range 3 {
					x, y := filled(rows*ldx, nan), filled(rows*ldy, nan)
					dst, ldd := filled(rows*(cols+1), nan), cols+1
					for i := range rows {
						for j := range cols {
							x[i*ldx+j], y[i*ldy+j] = T(i-3*j), T(2*i+j)
						}
					}
					switch into {
					case 1:
						dst, ldd = x, ldx
					case 2:
						dst, ldd = y, ldy
					}
					k.Add(rows, cols, dst, ldd, x, ldx, alpha, y, ldy)
					for at, got := range dst {
						i, j := at/ldd, at%ldd
						if j >= cols {
							if !math.IsNaN(float64(got)) {
								t.Fatalf("%s: %d×%d: wrote beside row %d", k.Name, rows, cols, i)
							}
							continue
						}
						if want := T(i-3*j) + alpha*T(2*i+j); !(got == want) {
							t.Fatalf("%s: %d×%d, α=%v, into %d: (%d, %d) is %v, want %v", k.Name, rows, cols, alpha, into, i, j, got, want)
						}
					}
				}
			}
		}
	}
}

// TestAddPreconditions checks that there is a panic, and nothing is written, for slices that are
// too short.
func TestAddPreconditions(t *testing.T) {
	k := Best[float64]()
	const rows, cols, stride = 3, 5, 7
	for which := range 3 {
		var s [3][]float64
		for i := range s {
			s[i] = filled((rows-1)*stride+cols, 1.0)
		}
		s[which] = s[which][:len(s[which])-1]
		panics(t, fmt.Sprintf("slice %d one element short", which), func() {
			k.Add(rows, cols, s[0], stride, s[1], stride, 1, s[2], stride)
		})
		if !slices.Equal(s[0], filled(len(s[0]), 1.0)) {
			t.Errorf("slice %d one element short: dst was written", which)
		}
	}
}
