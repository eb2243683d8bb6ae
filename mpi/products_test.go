//go:build mpi

package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/cpu"
	"gemm/internal/timeline"
	"gemm/mpi/plan"
)

// TestProducts has rank 0 run the tests of this file; with -short each at least once.
func TestProducts(t *testing.T) {
	for _, x := range []struct {
		ranks int
		run   string
	}{
		{1, "Refusal|Room|Deadline|Bounds"},
		{2, "Blocks|Helpers|Done|Local|Halve|Panels|Cancelled|Deadline|Refusal|Interleaved|FarAlpha|" +
			"Bytes|Bounds"},
		{3, "Blocks|Bounds|Bytes|Deadline"},
		{4, "Blocks|Grid|Replication|Used|Refusal|Interleaved|Bounds|Bytes"},
		{5, "Blocks"},
		{6, "Strided|Panels|Blocks"},
		{7, "Blocks"},
		{8, "Blocks"},
	} {
		if testing.Short() && !slices.Contains([]int{1, 2, 4, 6}, x.ranks) {
			continue
		}
		t.Run(fmt.Sprint(x.ranks), func(t *testing.T) { underMPI(t, x.ranks, "^TestRanks("+x.run+")$") })
	}
}

// operands are small integers, so that their product is exact.
type operands[T gemm.Element] struct{ c, a, b gemm.Matrix[T] }

func newOperands[T gemm.Float](m, n, k, gap int) operands[T] {
	fill := func(rows, cols, factor int) gemm.Matrix[T] {
		x := gemm.NewMatrix[T](rows, cols+gap)
		x.Cols = cols
		for i := range x.Data {
			x.Data[i] = T(i*factor%7 - 3)
		}
		return x
	}
	return operands[T]{fill(m, n, 1), fill(m, k, 3), fill(k, n, 5)}
}

// spoil makes every element of C wrong.
func (o operands[T]) spoil(x T) {
	for i := range o.c.Rows {
		for j := range o.c.Cols {
			o.c.Set(i, j, x)
		}
	}
}

// check returns an error unless C is A·B.
func check[T gemm.Float](o operands[T]) error {
	for i := range o.c.Rows {
		want := make([]T, o.c.Cols)
		for l, x := range o.a.Row(i) {
			for j, y := range o.b.Row(l) {
				want[j] += x * y
			}
		}
		for j, got := range o.c.Row(i) {
			if !(got == want[j]) {
				return fmt.Errorf("C(%d, %d) is %v, want %v", i, j, got, want[j])
			}
		}
	}
	return nil
}

// understood returns the parameters that the variant has.
func understood(v gemm.Variant, p gemm.Params) gemm.Params {
	out := gemm.Params{}
	for _, q := range v.Params {
		if x, ok := p[q.Name]; ok {
			out[q.Name] = x
		}
	}
	return out
}

// forVariants calls f for those that have all of the parameters. It fails if none has.
func forVariants(t *testing.T, p gemm.Params, f func(t *testing.T, v gemm.Variant)) {
	t.Helper()
	none := true
	for _, v := range Variants() {
		if len(understood(v, p)) < len(p) {
			continue
		}
		none = false
		t.Run(v.Name, func(t *testing.T) { f(t, v) })
	}
	if none {
		t.Fatalf("no variant has %v", p)
	}
}

// named returns the variant of that name.
func named(t *testing.T, name string) gemm.Variant {
	t.Helper()
	v, err := gemm.Lookup(Variants(), name)
	gemmtest.Must(t, err)
	return v
}

// staging stages a product.
func staging[T gemm.Float](t *testing.T, v gemm.Variant, p gemm.Params, o operands[T]) gemm.Run {
	t.Helper()
	m, err := gemm.New[T](v, p)
	gemmtest.Must(t, err)
	r, err := m.(gemm.Stager[T]).Stage(context.Background(), o.c, o.a, o.b)
	gemmtest.Must(t, err)
	return r
}

// multiplied multiplies, checks the result and returns what is said of it.
func multiplied[T gemm.Float](t *testing.T, v gemm.Variant, p gemm.Params,
	o operands[T]) (record.Distribution, gemm.Cost) {
	t.Helper()
	r := staging(t, v, p, o)
	o.spoil(T(math.NaN()))
	cost, err := r.Do(context.Background())
	if err == nil {
		err = r.Collect(context.Background())
	}
	if err == nil {
		err = check(o)
	}
	if err != nil {
		t.Fatalf("%v: %v", p, err)
	}
	d := r.(record.Distributed).Distribution()
	gemmtest.Must(t, r.Close())
	return d, cost
}

// TestRanksLocal has ranks compute by other variants, and on two threads.
func TestRanksLocal(t *testing.T) {
	forRank0(t)
	for _, x := range []struct {
		threads     int
		local, name string
	}{
		{1, "serial/naive", "serial/naive"}, {1, "serial/transposed", "serial/transposed"},
		{1, "serial/strassen", "serial/strassen"}, {1, rowsName, rowsName}, {2, packedName, threadName},
		{2, "serial/ikj", rowsName}, {2, threadName, threadName}, {2, "serial/strassen", "parallel/strassen"},
	} {
		p := gemm.Params{"local": x.local, "threads": x.threads}
		forVariants(t, p, func(t *testing.T, v gemm.Variant) {
			m, err := gemm.New[float32](v, p)
			gemmtest.Must(t, err)
			for _, n := range []int{9, 70} {
				o := newOperands[float32](n, n+3, n+1, 1)
				gemmtest.Must(t, m.Multiply(context.Background(), o.c, o.a, o.b))
				gemmtest.Must(t, check(o))
			}
			if got := m.(gemm.Explainer).Resolved(); got["threads"] != x.threads || got["local"] != x.name {
				t.Errorf("resolved %v, want %d threads of %s", got, x.threads, x.name)
			}
		})
	}
	if _, err := gemm.New[float64](named(t, "mpi/summa"),
		gemm.Params{"local": "serial/winograd", "threads": 2}); !errors.Is(err, gemm.ErrParam) {
		t.Errorf("a local variant of one thread on two: %v, want ErrParam", err)
	}
}

// TestRanksHalve checks that a part that a rank computes in one call is halved by Strassen's
// algorithm. If the part is cut into columns that ranks share, or if messages are polled between
// pieces, it is not halved, and has the bits of packed.
func TestRanksHalve(t *testing.T) {
	forRank0(t)
	const n = 800 // 400 columns a rank, which is more than are computed between two looks at messages
	a, b := gemm.NewMatrix[float64](n, n), gemm.NewMatrix[float64](n, n)
	for i := range a.Data {
		a.Data[i], b.Data[i] = 1/float64(i%97+2), 1/float64(i%89+3)
	}
	for _, name := range []string{"mpi/summa", "mpi/srumma"} {
		for _, schedule := range []string{static, dynamic} {
			var found [][]float64
			for _, local := range []string{packedName, "serial/strassen"} {
				m, err := gemm.New[float64](named(t, name), gemm.Params{"local": local, "panel": n, "schedule": schedule})
				gemmtest.Must(t, err)
				c := gemm.NewMatrix[float64](n, n)
				gemmtest.Must(t, m.Multiply(context.Background(), c, a, b))
				found = append(found, c.Data)
			}
			if slices.Equal(found[0], found[1]) {
				t.Errorf("%s, schedule %s: serial/strassen has the bits of packed", name, schedule)
			}
		}
	}
}

// TestBoundOf checks that the bound is the local variant's plus the additions of parts.
func TestBoundOf(t *testing.T) {
	const n, u = 5000, 0x1p-53
	v := named(t, "mpi/summa")
	for _, local := range locals() {
		p, err := v.Resolve(gemm.Params{"local": local.Name})
		gemmtest.Must(t, err)
		q, err := local.Resolve(nil)
		gemmtest.Must(t, err)
		got, own := v.BoundWith("f64", p), local.Bound
		if got.Kind != own.Kind {
			t.Errorf("%s: the bound is %s, want %s", local.Name, got.Kind, own.Kind)
		}
		if got.Kind == gemm.Componentwise {
			continue
		}
		for name, x := range map[string][2]float64{
			"worst":   {got.Worst(gemm.Cube(n), p, u), own.Worst(gemm.Cube(n), q, u)},
			"random":  {got.Random(gemm.Cube(n), p, u), own.Random(gemm.Cube(n), q, u)},
			"largest": {got.Largest(gemm.Cube(n), p), own.Largest(gemm.Cube(n), q)},
		} {
			if !(x[0] >= x[1] && x[0] <= 2*x[1]) {
				t.Errorf("%s, %s: %g, the variant's own is %g", local.Name, name, x[0], x[1])
			}
		}
		// Halves of k, each with its own errors.
		parts := 2 * own.Worst(gemm.Shape{M: n, N: n, K: n / 2}, q, u)
		if !(got.Worst(gemm.Cube(n), p, u) > parts) {
			t.Errorf("%s: two parts have a bound of %g, their sum one of %g", local.Name, parts, got.Worst(gemm.Cube(n), p, u))
		}
	}
}

// TestRanksGrid gives grids to 4 ranks.
func TestRanksGrid(t *testing.T) {
	forRank0(t)
	for _, x := range []struct {
		grid string
		used int
	}{{"1x3", 3}, {"3x1", 3}, {"4x1", 4}, {"1x1", 1}, {"2x2", 4}} {
		forVariants(t, gemm.Params{"grid": x.grid}, func(t *testing.T, v gemm.Variant) {
			d, _ := multiplied(t, v, gemm.Params{"grid": x.grid}, newOperands[float64](13, 11, 12, 1))
			wantUsed(t, d, x.used)
		})
	}
	for _, grid := range []string{"3x2", "0x4", "x", "2x2x1", "all"} {
		forVariants(t, gemm.Params{"grid": grid}, func(t *testing.T, v gemm.Variant) {
			if _, err := gemm.New[float64](v, gemm.Params{"grid": grid}); !errors.Is(err, gemm.ErrParam) {
				t.Errorf("grid %q: %v, want ErrParam", grid, err)
			}
		})
	}
}

// wantUsed checks what is said of ranks without work.
func wantUsed(t *testing.T, d record.Distribution, used int) {
	t.Helper()
	warned := len(d.Warnings) == 1 && strings.HasPrefix(d.Warnings[0].Text,
		fmt.Sprintf("%d of %d ranks", len(d.Ranks)-used, len(d.Ranks)))
	if d.Used != used || used < len(d.Ranks) && !warned || used == len(d.Ranks) && len(d.Warnings) > 0 {
		t.Errorf("%d of %d ranks are used, warnings %q, want %d", d.Used, len(d.Ranks), d.Warnings, used)
	}
}

// TestRanksReplication gives layers to 4 ranks.
func TestRanksReplication(t *testing.T) {
	forRank0(t)
	for layers, used := range map[int]int{1: 4, 2: 4, 3: 3, 4: 4, 9: 4} {
		p := gemm.Params{"replication": layers, "schedule": static} // so that a rank without a layer does not help
		d, _ := multiplied(t, named(t, "mpi/25d"), p, newOperands[float64](13, 11, 12, 1))
		wantUsed(t, d, used)
		// Layers without terms.
		d, _ = multiplied(t, named(t, "mpi/25d"), p, newOperands[float64](8, 8, 1, 0))
		if d.Used > 4/min(layers, 4) {
			t.Errorf("%d layers: %d ranks are used where k is 1", layers, d.Used)
		}
	}
}

// TestRanksUsed counts the ranks that have terms if there are fewer rows than ranks.
func TestRanksUsed(t *testing.T) {
	forRank0(t)
	for name, used := range map[string]int{
		"mpi/p2p-rows": 2, "mpi/p2p-rows-overlap": 2, "mpi/scatter-rows": 2, "mpi/bcast-rows": 2,
		"mpi/summa": 4, "mpi/cannon": 4, "mpi/grid-blocks": 4,
	} {
		d, _ := multiplied(t, named(t, name), nil, newOperands[float64](2, 20, 20, 0))
		wantUsed(t, d, used)
	}
}

// TestSeveralHosts has products of ranks that are spread over hosts, whose grids are laid on these.
func TestSeveralHosts(t *testing.T) {
	for _, x := range []struct {
		ranks      int
		hosts, run string
	}{{4, "2", "Blocks|Bytes|Spread|Bounds|Strided|Panels"}, {7, "3", "Blocks|Bytes"}} {
		if testing.Short() && x.ranks > 4 {
			continue
		}
		underMPI(t, x.ranks, "^TestRanks("+x.run+")$", several+"="+x.hosts)
	}
	// Hosts that lack the memory for a copy of B that their ranks share.
	underMPI(t, 4, "^TestRanks(Bytes|Tight)$", several+"=2", cramped+"=yes")
}

// TestRanksTight has a B that fills more than the memory to share: each rank gets its own copy.
func TestRanksTight(t *testing.T) {
	forRank0(t)
	multiplied(t, named(t, "mpi/scatter-blocks"), nil, newOperands[float64](20, 400, 500, 0))
	r := staging(t, named(t, "mpi/bcast-rows"), nil, newOperands[float64](20, 400, 500, 0)).(*leader[float64])
	if got := r.product.(*bcastRows[float64]).b; got.notifier.window != nil || len(got.hosts) != plan.Count(got.hosts) {
		t.Errorf("the copies are shared on the hosts %v", got.hosts)
	}
	gemmtest.Must(t, r.Close())
	multiplied(t, named(t, "mpi/bcast-rows"), nil, newOperands[float64](20, 400, 500, 0))
}

// TestRanksSpread checks that the rows of a grid are on one host, though the ranks there are not next to
// each other, if A is larger than B.
func TestRanksSpread(t *testing.T) {
	forRank0(t)
	if theJob.Size() != 4 {
		return
	}
	for _, name := range []string{"mpi/summa", "mpi/cannon", "mpi/25d", "mpi/grid-blocks"} {
		v := named(t, name)
		params := understood(v, gemm.Params{"replication": 1})
		r := staging(t, v, params, newOperands[float64](60, 30, 30, 0)).(*leader[float64])
		var got plan.Layout
		switch x := r.product.(type) {
		case *summa[float64]:
			got = x.own.grid
		case *cannon[float64]:
			got = x.own.grid
		case *layers[float64]:
			got = x.grid
		case *gridBlocks[float64]:
			got = x.grid
		}
		if hosts := got.Hosts(theJob.hosts); hosts[0] != hosts[1] || hosts[2] != hosts[3] {
			t.Errorf("%s: the places of the grid %v are on the hosts %v", name, got.Grid, hosts)
		}
		gemmtest.Must(t, r.Close())
	}
}

// TestRanksBlocks has cannon on grids of any sides, with shapes that are ragged, and with fewer indices of
// k than there are blocks.
func TestRanksBlocks(t *testing.T) {
	forRank0(t)
	v, ranks := named(t, "mpi/cannon"), theJob.Size()
	for p := 1; p <= ranks; p++ {
		if ranks%p != 0 {
			continue
		}
		grid := fmt.Sprintf("%dx%d", p, ranks/p)
		for _, s := range [][3]int{{33, 31, 37}, {3, 50, 3}, {50, 2, 1}, {64, 64, 64}} {
			r := gemm.Params{"grid": grid, "schedule": static}
			d, _ := multiplied(t, v, r, newOperands[float64](s[0], s[1], s[2], 1))
			wantUsed(t, d, min(s[0], p)*min(s[1], ranks/p))
			multiplied(t, v, gemm.Params{"grid": grid}, newOperands[float32](s[0], s[1], s[2], 0))
		}
		// These blocks are too large for Send to return before Recv is called.
		multiplied(t, v, gemm.Params{"grid": grid, "exchange": evenOdd}, newOperands[float64](400, 380, 390, 0))
	}
}

// TestRanksHelpers has cannon on a grid of one of 2 ranks, so that the second has no block. It computes chunks of the
// first one's product under the schedule dynamic, and nothing under the schedule static.
func TestRanksHelpers(t *testing.T) {
	forRank0(t)
	for schedule, helpers := range map[string]any{static: nil, dynamic: 1} {
		if schedule == dynamic && theJob.oversubscribed() {
			helpers = nil
		}
		r := staging(t, named(t, "mpi/cannon"), gemm.Params{"schedule": schedule, "grid": "1x1"},
			newOperands[float64](600, 600, 600, 0)).(*leader[float64])
		if _, err := r.Do(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r.resolved["grid"] != "1x1" || r.resolved["helpers"] != helpers {
			t.Errorf("%s: resolved to %v, want the grid 1x1 and the helpers %v", schedule, r.resolved, helpers)
		}
		d, used := r.Distribution(), 1
		if d.Ranks[1].Phases[computing] > 0 {
			used = 2
		}
		wantUsed(t, d, used)
		if used > 1 && helpers == nil || d.Counted != 0 {
			t.Errorf("%s: %d ranks computed, and %d bytes were sent", schedule, used, d.Counted)
		}
		gemmtest.Must(t, r.Close())
	}
}

// TestRanksPanels has one panel, as many as there are columns, and some.
func TestRanksPanels(t *testing.T) {
	forRank0(t)
	for _, panel := range []int{1, 5, 1000} {
		forVariants(t, gemm.Params{"panel": panel}, func(t *testing.T, v gemm.Variant) {
			multiplied(t, v, gemm.Params{"panel": panel}, newOperands[float64](31, 33, 35, 2))
			master := understood(v, gemm.Params{"master": works})
			master["panel"] = panel
			multiplied(t, v, master, newOperands[float32](31, 33, 35, 0))
			// Two panels a step, and a rank's part of the last one a product that is halved.
			halving := gemm.Params{"panel": panel, "local": "serial/winograd"}
			multiplied(t, v, halving, newOperands[float64](31, 33, 35, 2))
			if panel > 35 { // two ranks have halves of the columns
				multiplied(t, v, halving, newOperands[float64](halves+70, 2*halves+71, halves+72, 0))
			}
		})
	}
}

// TestSpareProcessors has products of ranks that have one for their messages.
func TestSpareProcessors(t *testing.T) {
	underMPI(t, 3, "^TestRanks(Spare|Panels|Cancelled|Bytes)$", roomy+"=yes")
}

// TestRanksSpare checks that the ranks compute while messages are under way: everything that they
// compute during a panel runs on a thread of its own.
func TestRanksSpare(t *testing.T) {
	forRank0(t)
	forVariants(t, gemm.Params{"panel": 16}, func(t *testing.T, v gemm.Variant) {
		p := understood(v, gemm.Params{"panel": 16, "schedule": static})
		r := staging(t, v, p, newOperands[float64](150, 140, 130, 1))
		if got := r.(*leader[float64]).running; got != 2 {
			t.Errorf("%d threads run, one computes", got)
		}
		gemmtest.Must(t, r.Close())
		multiplied(t, v, p, newOperands[float64](150, 140, 130, 1))
	})
}

// TestLittleShared has products of ranks that can hardly share memory.
func TestLittleShared(t *testing.T) {
	underMPI(t, 2, "^TestRanks(Little|Strided)$", cramped+"=yes")
}

// TestRanksLittle checks that each rank computes its own part, and that rows of srumma say that
// panels are sent, why, and what to do.
func TestRanksLittle(t *testing.T) {
	forRank0(t)
	forVariants(t, gemm.Params{"schedule": dynamic}, func(t *testing.T, v gemm.Variant) {
		d, _ := multiplied(t, v, nil, newOperands[float64](300, 300, 300, 0))
		if v.Name == "mpi/srumma" {
			wantSent(t, d, "/dev/shm has 1.0 MiB left: make it larger")
		}
	})
}

// wantSent checks that a row says that owners of panels send them, and why.
func wantSent(t *testing.T, d record.Distribution, why string) {
	t.Helper()
	says := func(w record.Note) bool {
		return w.Code == "owners-send" && strings.Contains(w.Text, why)
	}
	if !slices.ContainsFunc(d.Warnings, says) {
		t.Errorf("the warnings are %q, want why owners send: %s", d.Warnings, why)
	}
}

// TestWindowless has products of ranks whose MPI has no component for windows: none at all,
// or none that shares memory.
func TestWindowless(t *testing.T) {
	forOpenMPI(t)
	for _, ranks := range []int{2, 3, 4, 6} { // in grids of 1×2, 1×3, 2×2 and 2×3
		underMPI(t, ranks, "^TestRanksWindowless$", "OMPI_MCA_osc=^ucx,rdma,pt2pt,sm")
	}
	underMPI(t, 2, "^TestRanksUnshared$", "OMPI_MCA_osc=^sm", roomy+"=yes")
}

// TestRanksWindowless checks that products are right without windows, and that rows say how they
// were computed.
func TestRanksWindowless(t *testing.T) {
	forRank0(t)
	v := named(t, "mpi/srumma")
	for _, p := range []gemm.Params{nil, {"panel": 3}, {"panel": 1, "local": "serial/strassen"},
		{"grid": "1x2", "panel": 5}} {
		for _, s := range [][3]int{{33, 33, 33}, {100, 7, 61}, {1, 40, 9}, {2, 3, 400}} {
			d, _ := multiplied(t, v, p, newOperands[float64](s[0], s[1], s[2], 1))
			wantSent(t, d, "MPI_Win_allocate: MPI_ERR_WIN")
		}
	}
	gemmtest.Run(t, ofType(v, theJob.Size()), gemm.Params{"panel": 4})
}

// TestRanksUnshared checks that the schedule dynamic works without help from other ranks if MPI
// shares no memory.
func TestRanksUnshared(t *testing.T) {
	forRank0(t)
	forVariants(t, gemm.Params{"schedule": dynamic}, func(t *testing.T, v gemm.Variant) {
		multiplied(t, v, gemm.Params{"schedule": dynamic}, newOperands[float64](90, 110, 100, 1))
	})
	if !theJob.noSlots {
		t.Error("the ranks share memory")
	}
}

// TestRanksDone checks that the time of a rank without work is the time of the whole product.
func TestRanksDone(t *testing.T) {
	forRank0(t)
	p := gemm.Params{"grid": "2x1", "schedule": static, "local": "serial/naive"}
	r := staging(t, named(t, "mpi/srumma"), p, newOperands[float64](1, 1500, 1500, 0)).(*leader[float64])
	gemmtest.Must(t, theJob.broadcast(command{Do: doMultiply, Run: r.number}))
	_, all, err := r.multiply(context.Background())
	gemmtest.Must(t, err)
	if computed := all[0].Phases[computing]; all[1].Phases[computing] > 0 || !(all[1].Seconds >= computed/2) {
		t.Errorf("rank 0 computes for %v s, rank 1 says that the product took %v s", computed, all[1].Seconds)
	}
	gemmtest.Must(t, r.Close())
}

// TestRanksStrided has long messages from where the operands lie, not side by side.
func TestRanksStrided(t *testing.T) {
	forRank0(t)
	forVariants(t, nil, func(t *testing.T, v gemm.Variant) {
		multiplied(t, v, nil, newOperands[float64](310, 301, 307, 9))
	})
}

// TestRanksBytes compares what was moved with what was planned.
func TestRanksBytes(t *testing.T) {
	forRank0(t)
	forVariants(t, nil, func(t *testing.T, v gemm.Variant) {
		o := newOperands[float64](12, 18, 24, 1)
		d, cost := multiplied(t, v, nil, o)
		if d.Counted != d.Predicted {
			t.Errorf("%d bytes were counted, %d predicted", d.Counted, d.Predicted)
		}
		if len(d.Ranks) != theJob.Size() || cost.Sent != d.Ranks[0].Sent || cost.Recv != d.Ranks[0].Recv {
			t.Errorf("rank 0 sent %d and received %d bytes, the ranks %+v", cost.Sent, cost.Recv, d.Ranks)
		}
		r := staging(t, v, nil, o).(*leader[float64])
		_, all, err := func() (report, []report, error) {
			if err := theJob.broadcast(command{Do: doMultiply, Run: r.number}); err != nil {
				return report{}, nil, err
			}
			return r.multiply(context.Background())
		}()
		gemmtest.Must(t, err)
		if err := r.describe(all); err != nil {
			t.Errorf("what was moved is refused: %v", err)
		}
		for rank := range all {
			for _, fault := range []func(*report){
				func(r *report) { r.Moved.Inside.Sent++ }, func(r *report) { r.Moved.Between.Recv-- },
				func(r *report) { r.Moved.Inside.Messages++ },
			} {
				wrong := slices.Clone(all)
				fault(&wrong[rank])
				if err := r.describe(wrong); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rank %d ", rank)) {
					t.Errorf("rank %d moved a byte that was not planned: %v, want an error that says so", rank, err)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestRanksBounds checks that no product sends less than the lower bound of its ranks, if rows,
// columns and terms divide evenly.
func TestRanksBounds(t *testing.T) {
	forRank0(t)
	forVariants(t, nil, func(t *testing.T, v gemm.Variant) {
		for _, s := range [][3]int{{60, 60, 60}, {24, 24, 120}, {120, 24, 24}} {
			d, _ := multiplied(t, v, nil, newOperands[float64](s[0], s[1], s[2], 0))
			if !(float64(d.Counted) >= d.Bound*(1-1e-9)) {
				t.Errorf("%v: %d bytes are counted, no product has less than %v", s, d.Counted, d.Bound)
			}
		}
	})
}

// TestRanksInterleaved alternates between two staged products of different element types.
func TestRanksInterleaved(t *testing.T) {
	forRank0(t)
	ctx := context.Background()
	all := Variants()
	for i, v := range all {
		w := all[(i+1)%len(all)]
		t.Run(v.Name+" and "+w.Name, func(t *testing.T) {
			one, two := newOperands[float64](21, 17, 19, 0), newOperands[float32](16, 23, 11, 2)
			first := staging(t, v, nil, one)
			second := staging(t, w, understood(w, gemm.Params{"threads": 2, "affinity": none}), two)
			for range 3 {
				one.spoil(math.NaN())
				two.spoil(-1)
				for _, r := range []gemm.Run{first, second} {
					if _, err := r.Do(ctx); err != nil {
						t.Fatal(err)
					}
				}
				for _, r := range []gemm.Run{second, first} {
					gemmtest.Must(t, r.Collect(ctx))
				}
				gemmtest.Must(t, errors.Join(check(one), check(two)))
			}
			if err := errors.Join(first.Close(), second.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRanksCancelled has contexts that have ended before.
func TestRanksCancelled(t *testing.T) {
	forRank0(t)
	forVariants(t, nil, func(t *testing.T, v gemm.Variant) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		o := newOperands[float64](9, 8, 7, 0)
		m, err := gemm.New[float64](v, nil)
		gemmtest.Must(t, err)
		if _, err := m.(gemm.Stager[float64]).Stage(ended, o.c, o.a, o.b); !errors.Is(err, context.Canceled) {
			t.Errorf("Stage: %v, want %v", err, context.Canceled)
		}
		r := staging(t, v, nil, o)
		if _, err := r.Do(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Do: %v, want %v", err, context.Canceled)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		multiplied(t, v, nil, o)
	})
}

// TestRanksDeadline has deadlines in the middle of a product, which leave the ranks in
// step.
func TestRanksDeadline(t *testing.T) {
	forRank0(t)
	const soon = 2 * time.Millisecond // a product of 3 ranks takes 40 ms
	forVariants(t, nil, func(t *testing.T, v gemm.Variant) {
		slow := gemm.Params{"local": "serial/naive"}
		// Few rows: where ranks share processors, a message of each may wait for a turn of the scheduler.
		r := staging(t, v, slow, newOperands[float64](100, 400, 1600, 0))
		for range 2 {
			ctx, cancel := context.WithTimeout(context.Background(), soon)
			began := time.Now()
			if _, err := r.Do(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want %v", err, context.DeadlineExceeded)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			cancel()
		}
		if theJob.Size() == 1 {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(soon, cancel)
			if _, err := r.Do(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want %v", err, context.Canceled)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		multiplied(t, v, slow, newOperands[float64](20, 21, 22, 0))
	})
	if theJob.broken != nil {
		t.Error(theJob.broken)
	}
}

// coreOf returns a multiplier of the variant called name, and the multiplier within.
func coreOf(t *testing.T, name string) (gemm.Multiplier[float64], *multiplier[float64]) {
	t.Helper()
	m, err := gemm.New[float64](named(t, name), nil)
	gemmtest.Must(t, err)
	return m, m.(interface{ core() *multiplier[float64] }).core()
}

// TestRanksRefusal has rank 0 refuse what the others would stage.
func TestRanksRefusal(t *testing.T) {
	forRank0(t)
	for _, name := range []string{"mpi/p2p-rows", "mpi/summa"} {
		m, core := coreOf(t, name)
		form := core.make
		core.make = func(*task[float64]) (product[float64], error) { return nil, errors.New("planted") }
		o := newOperands[float64](11, 12, 13, 0)
		if _, err := core.Stage(context.Background(), o.c, o.a, o.b); err == nil ||
			!strings.Contains(err.Error(), "rank 0: planted") {
			t.Errorf("%s: %v, want an error that names the rank", name, err)
		}
		if theJob.broken != nil {
			t.Fatal(theJob.broken)
		}
		core.make = form
		gemmtest.Must(t, m.Multiply(context.Background(), o.c, o.a, o.b))
		if err := check(o); err != nil {
			t.Errorf("%s, after a refusal: %v", name, err)
		}
	}
}

// TestRanksRoom stages what no memory has room for; rank 0, which is alone, takes none.
func TestRanksRoom(t *testing.T) {
	forRank0(t)
	if cpu.Available() == 0 {
		t.Skip("this system does not say how much memory it has")
	}
	for _, name := range []string{"mpi/scatter-rows", "mpi/scatter-blocks"} {
		_, core := coreOf(t, name)
		c := command{Shape: gemm.Cube(1 << 24)}
		empty := gemm.Matrix[float64]{}
		if _, err := stage(theJob, core, c, empty, empty, empty); err == nil || !strings.Contains(err.Error(), "GiB") {
			t.Errorf("%s: %v, want an error with the memory", name, err)
		}
		multiplied(t, named(t, name), nil, newOperands[float64](5, 6, 7, 0))
	}
}

// TestRanksFarAlpha checks products in which A·B overflows or underflows, and α·A·B does not.
func TestRanksFarAlpha(t *testing.T) {
	forRank0(t)
	g, err := gemm.NewGemmer[float64](named(t, "mpi/summa"), nil)
	gemmtest.Must(t, err)
	for _, x := range [][4]float64{{1e300, 1e-200, 1e-200, 1e-100}, {1e-300, 1e200, 1e200, 1e100}} {
		o := newOperands[float64](4, 5, 6, 3)
		for i := range o.a.Data {
			o.a.Data[i] = x[1]
		}
		for i := range o.b.Data {
			o.b.Data[i] = x[2]
		}
		gemmtest.Must(t, g.Gemm(context.Background(), blas.NoTrans, blas.NoTrans, x[0], o.a, o.b, 0, o.c))
		if got, want := o.c.At(2, 3), float64(o.a.Cols)*x[3]; !(math.Abs(got/want-1) < 1e-12) {
			t.Errorf("%g·%g·%g, %d terms: %g, want %g", x[0], x[1], x[2], o.a.Cols, got, want)
		}
	}
}

// monitored names the file to which rank 0 writes what its ranks moved, after as many
// products as repeated says.
const (
	monitored = "GEMM_TEST_MONITORED"
	repeated  = "GEMM_TEST_REPEATED"
)

// TestMonitoring compares what was counted with what Open MPI's monitoring saw in messages
// between ranks. Two runs differ by some products and the commands for them.
func TestMonitoring(t *testing.T) {
	forOpenMPI(t)
	const few, many = 1, 4
	dir := t.TempDir()
	t.Setenv(monitored, filepath.Join(dir, "ranks"))
	seen := map[int]map[[2]int]int64{}
	for _, n := range []int{few, many} {
		t.Setenv(repeated, fmt.Sprint(n))
		prefix := filepath.Join(dir, fmt.Sprint(n))
		out := underMPI(t, 3, "^TestRanksMonitored$", "OMPI_MCA_pml_monitoring_enable=2",
			"OMPI_MCA_pml_monitoring_enable_output=3", "OMPI_MCA_pml_monitoring_filename="+prefix)
		seen[n] = monitoring(t, prefix, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "ranks"))
	gemmtest.Must(t, err)
	var ranks []record.Rank
	gemmtest.Must(t, json.Unmarshal(data, &ranks))
	sent, err := json.Marshal(command{Do: doMultiply, Run: 1})
	gemmtest.Must(t, err)
	if len(ranks) != 3 || ranks[1].Sent == 0 {
		t.Fatalf("the ranks moved %+v", ranks)
	}
	for r := 1; r < 3; r++ {
		to, from := [2]int{0, r}, [2]int{r, 0}
		if got, want := seen[many][to]-seen[few][to], (many-few)*(ranks[r].Recv+int64(len(sent))); got != want {
			t.Errorf("rank 0 sent %d bytes to rank %d, counted are %d", got, r, want)
		}
		if got, want := seen[many][from]-seen[few][from], (many-few)*ranks[r].Sent; got != want {
			t.Errorf("rank %d sent %d bytes to rank 0, counted are %d", r, got, want)
		}
	}
}

// monitoring returns the bytes of the program's own messages from each rank to each other.
func monitoring(t *testing.T, prefix, out string) map[[2]int]int64 {
	t.Helper()
	files, err := filepath.Glob(prefix + ".*.prof")
	if err != nil || len(files) != 3 {
		t.Fatalf("monitoring wrote %q, %v, want a file for each of 3 ranks\n%s", files, err, out)
	}
	line := regexp.MustCompile(`(?m)^E\t(\d+)\t(\d+)\t(\d+) bytes`)
	found := map[[2]int]int64{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		gemmtest.Must(t, err)
		for _, x := range line.FindAllStringSubmatch(string(data), -1) {
			from, _ := strconv.Atoi(x[1])
			to, _ := strconv.Atoi(x[2])
			bytes, _ := strconv.ParseInt(x[3], 10, 64)
			found[[2]int{from, to}] += bytes
		}
	}
	return found
}

func TestRanksMonitored(t *testing.T) {
	forRank0(t)
	file := os.Getenv(monitored)
	n, err := strconv.Atoi(os.Getenv(repeated))
	if file == "" || err != nil {
		t.Skip("for TestMonitoring")
	}
	// The cost of messages is given: the number of messages that measure it differs from run to run.
	for _, p := range theJob.Patterns() {
		for _, size := range p.Sizes() {
			theJob.pings[ping{p, size}] = []float64{1e-6 + float64(size)/1e10}
		}
	}
	r := staging(t, named(t, "mpi/p2p-rows"), nil, newOperands[float64](37, 41, 43, 2))
	for range n {
		if _, err := r.Do(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(r.(record.Distributed).Distribution().Ranks)
	gemmtest.Must(t, err)
	gemmtest.Must(t, os.WriteFile(file, data, 0o644))
	gemmtest.Must(t, r.Close())
}

// TestShare shares out the processors of hosts.
func TestShare(t *testing.T) {
	all := []int{0, 1, 2, 3, 8, 9}
	peers := []identity{{Host: "a", CPUs: all}, {Host: "b", CPUs: all}, {Host: "a", CPUs: all},
		{Host: "b", CPUs: []int{8}}}
	for r, want := range [][]int{{0, 1, 2}, nil, {3, 8, 9}, nil} {
		if got := share(peers, r, peers[r].CPUs); !slices.Equal(got, want) {
			t.Errorf("rank %d has %v, want %v", r, got, want)
		}
	}
	bound := []identity{{Host: "a", CPUs: []int{0, 1}}, {Host: "a", CPUs: []int{2, 3}}, {Host: "a", CPUs: []int{2, 3}}}
	for r, want := range [][]int{{0, 1}, {2}, {3}} {
		if got := share(bound, r, bound[r].CPUs); !slices.Equal(got, want) {
			t.Errorf("rank %d, which mpirun has bound, has %v, want %v", r, got, want)
		}
	}
}

// placed is a local variant that notes where it computes.
type placed struct{ cpus []int }

func (p *placed) Multiply(context.Context, gemm.Matrix[float64], gemm.Matrix[float64], gemm.Matrix[float64]) error {
	p.cpus = cpu.Allowed()
	return nil
}

// TestComputeOnThread checks that a rank computes on one processor while its messages wait on another.
// Afterwards both threads may run anywhere in the rank's set of processors.
func TestComputeOnThread(t *testing.T) {
	j := &Job{share: cpu.Places()}
	places := j.twoProcessors(closeBy)
	if places == nil {
		t.Skip("there are no two processors whose numbers are known")
	}
	if places[0] == places[1] {
		t.Fatalf("messages and computing share processor %d", places[0])
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	share := slices.Sorted(slices.Values(j.share))
	computing := &placed{}
	x := &task[float64]{job: j, pinned: places, local: &local[float64]{Multiplier: computing}}
	var none gemm.Matrix[float64]
	prof := &profile{ctx: context.Background()}
	gemmtest.Must(t, x.computeOnThread(func() error { return x.local.part(prof, none, none, none, false) }, nil))
	if !slices.Equal(computing.cpus, places[1:]) {
		t.Errorf("it computes on %v, want %d", computing.cpus, places[1])
	}
	if got := cpu.Allowed(); !slices.Equal(got, share) {
		t.Errorf("the thread of messages may run on %v afterwards, want %v", got, share)
	}
	release := x.pin(0)
	if got := cpu.Allowed(); !slices.Equal(got, places[:1]) {
		t.Errorf("the thread of messages is on %v, want %d", got, places[0])
	}
	release()
}

// TestTwoProcessors chooses the two processors.
func TestTwoProcessors(t *testing.T) {
	j := &Job{share: []int{3, 4, 5, 6}} // two cores of two threads
	if got := j.twoProcessors(closeBy); !slices.Equal(got, []int{3, 5}) {
		t.Errorf("they are %v, want those of two cores", got)
	}
	if got := j.twoProcessors(none); got != nil {
		t.Errorf("%v are chosen with affinity none", got)
	}
	if got := (&Job{share: []int{3}}).twoProcessors(closeBy); got != nil {
		t.Errorf("%v are chosen of one", got)
	}
}

// TestCheckIdentities checks that the error names the rank that differs.
func TestCheckIdentities(t *testing.T) {
	one := identity{Arguments: []string{"-x"}, Revision: "1", Mask: "avx2"}
	for want, change := range map[string]func(*identity){
		"":                                 func(*identity) {},
		"rank 2 is another program":        func(g *identity) { g.Revision = "2" },
		`rank 2 has GEMM_CPU="generic"`:    func(g *identity) { g.Mask = "generic" },
		"rank 2 was given other arguments": func(g *identity) { g.Arguments = []string{"-y"} },
	} {
		other := one
		change(&other)
		err := checkIdentities([]identity{one, one, other})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestTimelines has products with timelines, on ranks that read one clock and on ranks that do not.
func TestTimelines(t *testing.T) {
	underMPI(t, 2, "^TestRanks(Timeline|Steals)$")
	underMPI(t, 4, "^TestRanks(Timeline|Clocks)$", apart+"=yes")
}

// recorded returns what the ranks did in a product with a timeline.
func recorded[T gemm.Element](t *testing.T, l *leader[T]) timeline.Activity {
	t.Helper()
	var line timeline.Recorder
	if _, err := l.Do(timeline.With(t.Context(), &line)); err != nil {
		t.Fatal(err)
	}
	if spans := line.Spans(); len(spans) > 0 {
		t.Errorf("rank 0 alone adds %d chunks", len(spans))
	}
	return line.Activity()
}

// TestRanksTimeline checks that phases follow each other on every rank, that calls lie in their phases,
// and that both add up to the totals that the rank reports.
func TestRanksTimeline(t *testing.T) {
	forRank0(t)
	forVariants(t, nil, func(t *testing.T, v gemm.Variant) {
		l := staging(t, v, nil, newOperands[float64](60, 50, 70, 1)).(*leader[float64])
		a := recorded(t, l)
		if ranks := theJob.Size(); (a.ClockError > 0) != (ranks > 2) || !(a.ClockError < 1) {
			t.Errorf("the clocks of %d ranks differ by %v s at most", ranks, a.ClockError)
		}
		const rounding = 1e-6
		totals, bytes := make([]map[string]float64, theJob.Size()), make([]int64, theJob.Size())
		ends := make([]float64, theJob.Size())
		var within timeline.Phase
		for _, p := range a.Phases {
			switch {
			case p.Begin < -rounding || !(p.End >= p.Begin):
				t.Errorf("it lasts from %v to %v: %+v", p.Begin, p.End, p)
			case p.Call != "":
				inside := p.Begin >= within.Begin-rounding && p.End <= within.End+rounding
				if p.Lane != within.Lane || p.Name != within.Name || !inside {
					t.Errorf("%+v is not in %+v", p, within)
				}
				continue
			case p.Begin < ends[p.Lane]-rounding:
				t.Errorf("%+v begins before the end of another at %v", p, ends[p.Lane])
			}
			if totals[p.Lane] == nil {
				totals[p.Lane] = map[string]float64{}
			}
			totals[p.Lane][p.Name] += p.End - p.Begin
			bytes[p.Lane] += p.Bytes
			ends[p.Lane], within = p.End, p
		}
		for _, r := range l.Distribution().Ranks {
			for name, want := range r.Phases {
				if got := totals[r.Rank][name]; !(math.Abs(got-want) < rounding) {
					t.Errorf("rank %d: %s takes %v s in its timeline, %v s together", r.Rank, name, got, want)
				}
			}
			if len(totals[r.Rank]) != len(r.Phases)+1 || !(totals[r.Rank][timeline.Waiting] > 0) {
				t.Errorf("rank %d has the phases %v, want %v and the time that it waits", r.Rank, totals[r.Rank],
					r.Phases)
			}
			if bytes[r.Rank] != r.Sent+r.Recv {
				t.Errorf("rank %d moved %d bytes in its timeline, %d together", r.Rank, bytes[r.Rank], r.Sent+r.Recv)
			}
		}
		if _, err := l.Do(t.Context()); err != nil || theJob.world.Log().On() || len(theJob.world.Log().Stop()) > 0 {
			t.Errorf("a product without a timeline: %v, and the log is in use", err)
		}
		gemmtest.Must(t, l.Close())
	})
}

// TestRanksClocks checks that nothing arrives before it was sent, although the clocks are far apart.
func TestRanksClocks(t *testing.T) {
	forRank0(t)
	l := staging(t, named(t, "mpi/p2p-rows"), nil, newOperands[float64](60, 50, 70, 1)).(*leader[float64])
	a := recorded(t, l)
	sent := map[int]float64{}
	received := 0
	for _, p := range a.Phases {
		switch {
		case p.Call == "send" && p.Lane == 0 && sent[*p.Peer] == 0:
			sent[*p.Peer] = p.Begin
		case p.Call == "recv" && p.Lane > 0:
			received++
			if p.End < sent[p.Lane]-a.ClockError || p.End > 60 {
				t.Errorf("rank %d has at %v s what was sent at %v s; the clocks differ by %v s at most", p.Lane, p.End,
					sent[p.Lane], a.ClockError)
			}
		}
	}
	if received != 2*(theJob.Size()-1) {
		t.Errorf("%d messages are received", received)
	}
	gemmtest.Must(t, l.Close())
}

// TestRanksSteals checks that a chunk of another rank is in the timeline, with the rank that has it. The
// second rank has no part of its own in a grid of 1×1.
func TestRanksSteals(t *testing.T) {
	forRank0(t)
	l := staging(t, named(t, "mpi/cannon"), nil, newOperands[float64](256, 256, 256, 1)).(*leader[float64])
	if l.resolved["helpers"] == nil {
		t.Log("ranks do not steal on this host")
	} else {
		stolen := func(a timeline.Activity) bool {
			return slices.ContainsFunc(a.Phases, func(p timeline.Phase) bool {
				return p.Call == "steal" && p.Lane == 1 && *p.Peer == 0 && p.Name == computing
			})
		}
		tries := 0
		for !stolen(recorded(t, l)) {
			if tries++; tries == 100 {
				t.Fatal("the second rank helps, and no timeline says so")
			}
		}
	}
	gemmtest.Must(t, l.Close())
}
