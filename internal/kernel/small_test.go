package kernel

import (
	"math"
	"slices"
	"sync"
	"testing"
)

func TestSmall(t *testing.T) {
	t.Run("f32", testSmall[float32])
	t.Run("f64", testSmall[float64])
}

// testSmall compares the kernel for small products with the loop that it equals, on small integers, for which both
// are exact. Elements that must not be read or written are NaN.
func testSmall[T Float](t *testing.T) {
	k := Best[T]()
	for m := 1; m <= 2*k.MR+5; m++ {
		for n := 1; n <= 2*k.NR+2; n++ {
			if n > k.NR+2 && m > 3 && n%3 > 0 {
				continue // the same tiles as in fewer columns
			}
			for _, depth := range []int{1, 2, 7, 32} {
				for _, layout := range []struct {
					aRow, aCol int
					transposed bool // B
				}{{depth + 2, 1, false}, {1, m + 2, false}, {depth + 2, 1, true}} {
					if !layout.transposed || up4(n)*depth <= copied {
						testSmallLayout(t, &k, m, n, depth, layout.aRow, layout.aCol, layout.transposed)
					}
				}
			}
		}
	}
}

func testSmallLayout[T Float](t *testing.T, k *Kernel[T], m, n, depth, aRow, aCol int, transposed bool) {
	nan := T(math.NaN())
	ldb, bRow, bCol := n+1, n+1, 1
	if transposed {
		ldb, bRow, bCol = depth+1, 1, depth+1
	}
	ldc := n + 3
	a, b, c := filled((m-1)*aRow+(depth-1)*aCol+1, nan), filled(max(n, depth)*ldb, nan), filled(m*ldc, nan)
	for l := range depth {
		for i := range m {
			a[i*aRow+l*aCol] = T((3*i+l)%7 - 3)
		}
		for j := range n {
			b[l*bRow+j*bCol] = T((j+5*l)%5 - 2)
		}
	}
	for _, s := range [][2]T{{1, 0}, {-2, 3}, {1, T(math.Copysign(0, -1))}} {
		for i := range m {
			for j := range n {
				if c[i*ldc+j] = T(i - j); s[1] == 0 {
					c[i*ldc+j] = nan
				}
			}
		}
		if transposed {
			k.SmallTransposed(m, n, depth, &a[0], aRow, aCol, &b[0], ldb, &c[0], ldc, s[0], s[1])
		} else {
			k.Small(m, n, depth, &a[0], aRow, aCol, &b[0], ldb, &c[0], ldc, s[0], s[1])
		}
		for at, got := range c {
			i, j := at/ldc, at%ldc
			if j >= n {
				if !math.IsNaN(float64(got)) {
					t.Fatalf("%s: %d×%d×%d: wrote beside row %d", k.Name, m, n, depth, i)
				}
				continue
			}
			var want T
			for l := range depth {
				want += a[i*aRow+l*aCol] * b[l*bRow+j*bCol]
			}
			if want = s[0]*want + s[1]*T(i-j); !(got == want) {
				t.Fatalf("%s: %d×%d×%d, aCol=%d, B transposed %v, α=%v, β=%v: element (%d, %d) is %v, want %v",
					k.Name, m, n, depth, aCol, transposed, s[0], s[1], i, j, got, want)
			}
		}
	}
}

// TestSmallOnSmallStacks multiplies with a transposed B on stacks of which little is left, so that they move during the
// call. The copy of B is on them.
func TestSmallOnSmallStacks(t *testing.T) {
	k := Best[float64]()
	const n, depth = 7, 32
	x, want, got := make([]float64, n*depth), make([]float64, n*n), make([]float64, n*n)
	for i := range x {
		x[i] = float64(i%13 - 6)
	}
	multiply := func(c []float64) { k.SmallTransposed(n, n, depth, &x[0], depth, 1, &x[0], depth, &c[0], n, 1, 0) }
	multiply(want)
	if want[0] == 0 {
		t.Fatal("the first element is 0")
	}
	for calls := range 700 { // 50 bytes of stack each
		clear(got)
		var group sync.WaitGroup
		group.Go(func() { below(calls, func() { multiply(got) }) })
		group.Wait()
		if !slices.Equal(got, want) {
			t.Fatalf("%s below %d calls: %v, want %v", k.Name, calls, got, want)
		}
	}
}

// below calls f in a number of calls.
//
//go:noinline
func below(calls int, f func()) int {
	if calls == 0 {
		f()
		return 0
	}
	return below(calls-1, f) + 1
}
