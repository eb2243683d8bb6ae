package parallel

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/cpu"
	"gemm/pool"
)

// TestPinnedProduct checks that a variant's record says where its workers were.
func TestPinnedProduct(t *testing.T) {
	for _, v := range Variants() {
		m, err := gemm.New[float64](v, gemm.Params{"threads": 2, "affinity": "close"})
		if errors.Is(err, gemm.ErrUnavailable) {
			t.Skip(err)
		}
		gemmtest.Must(t, err)
		a := gemm.NewMatrix[float64](3, 3)
		gemmtest.Must(t, m.Multiply(t.Context(), gemm.NewMatrix[float64](3, 3), a, a))
		if got, _ := m.(gemm.Explainer).Resolved()["placement"].(string); !strings.Contains(got, ",") {
			t.Errorf("%s: placement %q", v.Name, got)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, test := range []struct{ n, load, first, last, total int }{
		{1, 0, 1, 1, 1}, {1, 3, 4, 4, 4}, {2, 3, 1, 4, 5}, {5, 4, 1, 5, 15}, {100, 0, 1, 1, 100}, {101, 10, 1, 11, 611},
	} {
		total := 0
		for i := range test.n {
			total += times(i, test.n, test.load)
		}
		if first, last := times(0, test.n, test.load), times(test.n-1, test.n, test.load); first != test.first ||
			last != test.last || total != test.total {
			t.Errorf("%d indices, load %d: %d … %d, %d in all; want %+v", test.n, test.load, first, last, total, test)
		}
	}
}

// TestAutoAfterCancellation has a product that is cancelled while auto tries, and then one without a
// loop.
func TestAutoAfterCancellation(t *testing.T) {
	m, err := gemm.New[float64](rowsVariant(), gemm.Params{"threads": 2, "schedule": "auto"})
	gemmtest.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := gemm.NewMatrix[float64](50, 50)
	if err := m.Multiply(ctx, gemm.NewMatrix[float64](50, 50), a, a); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	loop := m.(rows[float64]).schedule.(*pool.Auto)
	loop.Share(50, 2) // a loop that did not end
	empty := gemm.NewMatrix[float64](0, 0)
	if err := m.Multiply(t.Context(), empty, empty, empty); err != nil {
		t.Error(err)
	}
}

// TestHugeTile has a tile that is larger than any matrix.
func TestHugeTile(t *testing.T) {
	m, err := gemm.New[float64](tilesVariant(), gemm.Params{"threads": 2, "tile": math.MaxInt})
	gemmtest.Must(t, err)
	a, b := gemm.Matrix[float64]{Rows: 3, Cols: 1, Stride: 1, Data: []float64{1, 2, 3}},
		gemm.Matrix[float64]{Rows: 1, Cols: 1, Stride: 1, Data: []float64{2}}
	c := gemm.NewMatrix[float64](3, 1)
	if err := m.Multiply(t.Context(), c, a, b); err != nil || !slices.Equal(c.Data, []float64{2, 4, 6}) {
		t.Errorf("%v, %v", c.Data, err)
	}
}

// TestOneProcessor checks that two workers on one processor take hardly longer than one.
func TestOneProcessor(t *testing.T) {
	const n = 192
	for _, v := range []gemm.Variant{packedVariant(), rowsVariant(), tilesVariant(), strassenVariant()} {
		t.Run(v.Name, func(t *testing.T) {
			a, b, c := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
			onOneProcessor(t, func() func() {
				m, err := gemm.New[float64](v, gemm.Params{"threads": 2})
				gemmtest.Must(t, err)
				return func() { _ = m.Multiply(context.Background(), c, a, b) }
			})
		})
	}
}

// onOneProcessor pins this process to a single processor and compares the times of a function with GOMAXPROCS at two
// and at one. Workers that spin there take the processor from those that compute, which can make a product 10 to 100
// times slower. The limit is 1.5. build returns the function for the present GOMAXPROCS. The two are called
// alternately, and the shortest times are compared; on a busy host this is tried five times. The test is skipped if
// the system cannot pin threads, and with -short.
func onOneProcessor(t *testing.T, build func() func()) {
	t.Helper()
	places := cpu.Places()
	if testing.Short() || len(places) == 0 || cpu.Pin(places[:1]) != nil {
		t.Skip("with -short, or no threads are pinned here")
	}
	defer func() {
		if err := cpu.Pin(places); err != nil {
			t.Error(err)
		}
	}()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const limit, rounds, calls = 1.5, 5, 20
	var runs [2]func()
	for i := range runs {
		runtime.GOMAXPROCS(i + 1)
		runs[i] = build()
	}
	var ratio float64
	for range rounds {
		shortest := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for call := range 2 * calls {
			i := call % 2
			runtime.GOMAXPROCS(i + 1)
			runs[i]() // wakes the workers that the other one has parked
			begin := time.Now()
			runs[i]()
			shortest[i] = min(shortest[i], time.Since(begin))
		}
		if ratio = float64(shortest[1]) / float64(shortest[0]); ratio <= limit {
			return
		}
	}
	t.Errorf("with two workers on one processor it takes %.2f times as long as with one, limit %v", ratio, limit)
}
