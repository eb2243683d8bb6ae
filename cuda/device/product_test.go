//go:build cuda

package device

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cuda"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/timeline"
)

// integers returns a matrix of small integers whose rows have 3 elements between them.
func integers[T gemm.Float](rows, cols, seed int) gemm.Matrix[T] {
	m := gemm.NewMatrix[T](rows, cols+3)
	for i := range m.Data {
		m.Data[i] = T((i*seed)%7 - 3)
	}
	return m.Slice(0, 0, rows, cols)
}

// Exact fails unless C is α·op(A)·op(B) + β·C of what it was, of numbers whose sums are exact, rounded once.
func Exact[T gemm.Number](t testing.TB, op cuda.Operation, a, b, was, c gemm.Matrix[T]) {
	t.Helper()
	at := func(transposed bool, x gemm.Matrix[T], i, j int) float64 {
		if transposed {
			i, j = j, i
		}
		return gemm.ToFloat64(x.At(i, j))
	}
	k := shapeOf(op, c, a).K
	for i := range c.Rows {
		for j := range c.Cols {
			sum := 0.0
			for l := range k {
				sum += at(op.TransA, a, i, l) * at(op.TransB, b, l, j)
			}
			want := gemm.FromFloat64[T](op.Alpha*sum + op.Beta*at(false, was, i, j))
			if got := c.At(i, j); !(gemm.ToFloat64(got) == gemm.ToFloat64(want)) {
				t.Fatalf("%d×%d, %+v: element (%d, %d) is %v, want %v", c.Rows, c.Cols, op, i, j, got, want)
			}
		}
	}
}

// Once computes a staged product once and collects it.
func Once(t testing.TB, run gemm.Run) {
	t.Helper()
	if _, err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	gemmtest.Must(t, run.Collect(t.Context()))
}

// TestPanels compares products from and to host memory, in overlapping panels of integers, with the
// exact result. The cases: a last panel with fewer rows, devices without a panel, transposed
// operands, and a C that is read.
func TestPanels(t *testing.T) {
	b := Several(t, 4)
	for _, v := range cuda.Variants(b) {
		if v.GF256 == nil && !v.Can.Has(gemm.Gemms) {
			continue
		}
		if v.F32 != nil {
			t.Run("f32/"+v.Name, func(t *testing.T) { inPanels[float32](t, b, v) })
		}
		if v.F64 != nil {
			t.Run("f64/"+v.Name, func(t *testing.T) { inPanels[float64](t, b, v) })
		}
		if v.GF256 != nil {
			t.Run("gf256/"+v.Name, func(t *testing.T) { bytesInPanels(t, b, v) })
		}
	}
}

func inPanels[T gemm.Float](t *testing.T, b *Backend, v gemm.Variant) {
	for _, s := range []struct{ m, n, k, edge, panels int }{{300, 70, 90, 1 << 20, 1}, {300, 70, 90, 40, 7},
		{33, 9, 17, 1, 7}, {9, 33, 17, 1, 7}, {64, 130, 40, 16, 8}} {
		b.panels = cuda.Panels{Edge: s.edge, Bytes: 1, Most: 8}
		multiplier, err := gemm.NewGemmer[T](v, nil)
		if errors.Is(err, gemm.ErrUnavailable) {
			t.Skip(err)
		}
		gemmtest.Must(t, err)
		if got := b.panels.Cut(gemm.Shape{M: s.m, N: s.n, K: s.k}, 4, 1<<30); got.Count != s.panels {
			t.Fatalf("%d×%d are the panels %+v, want %d", s.m, s.n, got, s.panels)
		}
		for _, op := range []cuda.Operation{cuda.Plain, {Alpha: 2, Beta: -1}, {TransA: true, Alpha: 1},
			{TransA: true, TransB: true, Alpha: -1, Beta: 2}, {Alpha: 0, Beta: 2}} {
			a, x, c := integers[T](s.m, s.k, 5), integers[T](s.k, s.n, 3), integers[T](s.m, s.n, 2)
			tA, tB := blas.NoTrans, blas.NoTrans
			if op.TransA {
				a, tA = integers[T](s.k, s.m, 5), blas.Trans
			}
			if op.TransB {
				x, tB = integers[T](s.n, s.k, 3), blas.Trans
			}
			was := c
			was.Data = slices.Clone(c.Data)
			gemmtest.Must(t, multiplier.Gemm(t.Context(), tA, tB, T(op.Alpha), a, x, T(op.Beta), c))
			Exact(t, op, a, x, was, c)
		}
	}
}

// checks is a context that is cancelled after a number of checks.
type checks struct {
	context.Context
	left *atomic.Int32
}

func (c checks) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestPanelsCancelled cancels a product in panels at each check of its context. The device can be used after that.
func TestPanelsCancelled(t *testing.T) {
	b := OnGPU(t)
	b.panels = cuda.Panels{Edge: 40, Bytes: 1, Most: 8}
	m, err := b.F32("naive", gemm.Params{"device": 0, "l2": "cold"})
	gemmtest.Must(t, err)
	a, x, c := integers[float32](300, 90, 5), integers[float32](90, 70, 3), integers[float32](300, 70, 2)
	err = context.Canceled
	for n := int32(0); err != nil; n++ {
		ctx := checks{t.Context(), &atomic.Int32{}}
		ctx.left.Store(n)
		if err = m.Multiply(ctx, c, a, x); err != nil && !errors.Is(err, context.Canceled) || b.Lost() {
			t.Fatalf("cancelled at check %d: %v", n, err)
		}
	}
	Exact(t, cuda.Plain, a, x, c, c)
}

// RandomBytes returns a matrix of elements of GF(2⁸) whose rows have the given number of elements between them.
func RandomBytes(rows, cols, gap int) gemm.Matrix[gf256.Elem] {
	m := gemm.NewMatrix[gf256.Elem](rows, cols+gap)
	for i := range m.Data {
		m.Data[i] = gf256.New(uint8(rand.Uint32()))
	}
	return m.Slice(0, 0, rows, cols)
}

// bytesInPanels is inPanels in GF(2⁸), with more panels than buffers.
func bytesInPanels(t *testing.T, b *Backend, v gemm.Variant) {
	for _, s := range []struct{ m, n, k, edge int }{{4, 5000, 10, 1 << 20}, {4, 5000, 10, 300}, {300, 70, 33, 40},
		{5, 90, 0, 16}} {
		b.panels = cuda.Panels{Edge: s.edge, Bytes: 1, Most: 8}
		multiplier, err := gemm.New[gf256.Elem](v, nil)
		gemmtest.Must(t, err)
		a, x, c := RandomBytes(s.m, s.k, 1), RandomBytes(s.k, s.n, 2), RandomBytes(s.m, s.n, 3)
		gemmtest.Must(t, multiplier.Multiply(t.Context(), c, a, x))
		SameProduct(t, c, a, x)
	}
}

// TestShared checks that products with the same operands share their copies on the device until the
// last one is closed. None may return the result of another.
func TestShared(t *testing.T) {
	b := OnGPU(t)
	d := b.devices[0]
	a, x, c := integers[float32](70, 40, 5), integers[float32](40, 50, 3), integers[float32](70, 50, 2)
	var runs []gemm.Run
	for _, name := range []string{"naive", "blocktile2d"} {
		m, err := b.F32(name, gemm.Params{"device": 0, "l2": "cold"})
		gemmtest.Must(t, err)
		run, err := m.(gemm.Stager[float32]).Stage(t.Context(), c, a, x)
		gemmtest.Must(t, err)
		runs = append(runs, run)
	}
	if len(d.placed) != 1 {
		t.Errorf("the operands are on the device %d times", len(d.placed))
	}
	for range 2 {
		for _, run := range runs {
			clear(c.Data)
			Once(t, run)
			Exact(t, cuda.Plain, a, x, c, c)
		}
	}
	if err := runs[0].Collect(t.Context()); !errors.Is(err, errCollect) {
		t.Errorf("what the other run has computed is collected: %v", err)
	}
	for i, run := range runs {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
		if left := len(d.placed); left != 1-i {
			t.Errorf("with %d runs closed the operands are on the device %d times", i+1, left)
		}
	}
}

// TestFallback checks that a product says what has computed it: not before it is done, and not of the last one.
func TestFallback(t *testing.T) {
	b := OnGPU(t)
	m, err := b.F32(cuda.F16x3, gemm.Params{"device": 0, "l2": "cold"})
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err) // the GPU is of another compute capability
	}
	gemmtest.Must(t, err)
	a, x, c := integers[float32](70, 40, 5), integers[float32](40, 50, 3), integers[float32](70, 50, 2)
	said := func() any { return m.(gemm.Explainer).Resolved()["fallback"] }
	for _, test := range []struct {
		element float64
		want    any
	}{{math.Inf(1), cuda.Family + "/tuned"}, {1, nil}} {
		a.Set(3, 4, float32(test.element))
		run, err := m.(gemm.Stager[float32]).Stage(t.Context(), c, a, x)
		gemmtest.Must(t, err)
		if before := said(); before != nil {
			t.Errorf("before the product with %v: %v", test.element, before)
		}
		cost, err := run.Do(t.Context())
		gemmtest.Must(t, err)
		if !(cost.Phases["host"] > 0) {
			t.Errorf("the phases are %v, without the product from the host", cost.Phases)
		}
		gemmtest.Must(t, run.Collect(t.Context()))
		if got := said(); got != test.want {
			t.Errorf("with the element %v: %v, want %v", test.element, got, test.want)
		}
		gemmtest.Must(t, run.Close())
	}
}

// TestTimelineInside checks what warps record in a product: a producer and consumers, whose steps follow each other
// within the call of the kernel, and a right result.
func TestTimelineInside(t *testing.T) {
	b := OnGPU(t)
	m, err := b.F32("tuned-tf32", gemm.Params{"device": 0, "l2": "cold"})
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err)
	}
	gemmtest.Must(t, err)
	const n, k = 2048, 300
	a, x, c := integers[float32](n, k, 5), integers[float32](k, n, 3), integers[float32](n, n, 2)
	run, err := m.(gemm.Stager[float32]).Stage(t.Context(), c, a, x)
	gemmtest.Must(t, err)
	var line timeline.Recorder
	if _, err := run.Do(timeline.With(t.Context(), &line)); err != nil {
		t.Fatal(err)
	}
	gemmtest.Must(t, run.Collect(t.Context()))
	for _, at := range [][2]int{{0, 0}, {n - 1, n - 1}, {77, 1029}} {
		want := float32(0)
		for l := range k {
			want += a.At(at[0], l) * x.At(l, at[1])
		}
		if got := c.At(at[0], at[1]); got != want {
			t.Errorf("element %v is %v, want %v", at, got, want)
		}
	}
	did := line.Activity()
	call := slices.IndexFunc(did.Phases, func(p timeline.Phase) bool { return p.Call == cuda.MainKernel })
	steps := map[string]int{}
	for _, g := range did.Inside {
		end := did.Phases[call].Begin
		for _, p := range g.Phases {
			steps[g.Role+" "+p.Name]++
			if !(p.Begin >= end) || !(p.End >= p.Begin) || !(p.End <= did.Phases[call].End+1e-6) {
				t.Fatalf("%s: %+v after %v in %+v", g.Role, p, end, did.Phases[call])
			}
			end = p.End
		}
	}
	for _, want := range []string{"producer wait", "producer copy", "consumer wait", "consumer multiply",
		"consumer store"} {
		if steps[want] == 0 {
			t.Errorf("the steps are %v, without %s", steps, want)
		}
	}
	gemmtest.Must(t, run.Close())
}

// TestTimelineOfGPUs checks the timeline of a product on four GPUs, of an A that is transposed: what a stream does
// follows what it did before, within the product, and the bytes are as planned.
func TestTimelineOfGPUs(t *testing.T) {
	const gpus = 4
	b := Several(t, gpus)
	m, err := ofMulti[float32](b, gemm.Params{"devices": gpus, "local": "cuda/naive", "l2": "cold"})
	gemmtest.Must(t, err)
	a, x, c := integers[float32](90, 300, 5), integers[float32](90, 200, 3), integers[float32](300, 200, 2)
	run, err := m.StageGemm(t.Context(), blas.Trans, blas.NoTrans, 1, a, x, 0, c)
	gemmtest.Must(t, err)
	var line timeline.Recorder
	cost, err := run.Do(timeline.With(t.Context(), &line))
	gemmtest.Must(t, err)
	gemmtest.Must(t, run.Collect(t.Context()))
	Exact(t, cuda.Operation{TransA: true, Alpha: 1}, a, x, c, c)
	did, took := line.Activity(), cost.Time.Seconds()+1e-6
	ends, bytes := make([]float64, 2*gpus), make([]int64, gpus)
	for _, p := range did.Phases {
		if !(p.Begin >= ends[p.Lane]-1e-6) || !(p.End >= p.Begin) || !(p.End <= took) {
			t.Errorf("%+v begins before %v or ends after %v", p, ends[p.Lane], took)
		}
		ends[p.Lane] = p.End
		if p.Peer != nil {
			bytes[p.Lane/2] += p.Bytes
		}
	}
	for gpu, want := range run.(*spread[float32]).Traffic(make([]int, gpus)) {
		if bytes[gpu] == 0 || bytes[gpu] != want.Inside.Recv || !(ends[2*gpu] > 0) {
			t.Errorf("GPU %d copies %d bytes, want %+v; it ends after %v s", gpu, bytes[gpu], want, ends[2*gpu])
		}
	}
	if did.GPUs != gpus || len(did.Lanes) != 2*gpus || !(did.ClockError >= 0) || !(did.ClockError <= took) {
		t.Errorf("the lanes of %d GPUs are %q, with an error of %v s", did.GPUs, did.Lanes, did.ClockError)
	}
	gemmtest.Must(t, run.Close())
}

// TestTimeline checks that a product with a timeline is right, that its copies and kernels follow each
// other, and that kernels lie in their phase.
func TestTimeline(t *testing.T) {
	b := OnGPU(t)
	a, x, c := integers[float64](70, 40, 5), integers[float64](40, 50, 3), integers[float64](70, 50, 2)
	m, err := b.F64("packed-global", gemm.Params{"device": 0, "l2": "cold"})
	gemmtest.Must(t, err)
	run, err := m.(gemm.Stager[float64]).Stage(t.Context(), c, a, x)
	gemmtest.Must(t, err)
	var line timeline.Recorder
	cost, err := run.Do(timeline.With(t.Context(), &line))
	gemmtest.Must(t, err)
	clear(c.Data)
	gemmtest.Must(t, run.Collect(t.Context()))
	Exact(t, cuda.Plain, a, x, c, c)
	did := line.Activity()
	var phases, kernels []string
	var within timeline.Phase
	end := 0.0
	for _, p := range did.Phases {
		if !(p.Begin >= 0) || !(p.End >= p.Begin) || !(p.End <= cost.Time.Seconds()+1e-6) {
			t.Errorf("of a product that takes %v: %+v", cost.Time, p)
		}
		if p.Call != "" {
			kernels = append(kernels, p.Call)
			if p.Name != within.Name || !(p.Begin >= within.Begin && p.End <= within.End) {
				t.Errorf("%+v is not in %+v", p, within)
			}
			continue
		}
		if phases = append(phases, p.Name); !(p.Begin >= end) || p.Lane != len(phases)-1 {
			t.Errorf("%+v begins before the end of another at %v", p, end)
		}
		end, within = p.End, p
	}
	if want := []string{phaseUp, phaseKernels, phaseDown}; !slices.Equal(phases, want) || len(did.Lanes) != len(want) ||
		len(kernels) < 4 || !slices.Contains(kernels, cuda.MainKernel) {
		t.Errorf("the phases are %q and the parts %q on the lanes %q", phases, kernels, did.Lanes)
	}
	gemmtest.Must(t, run.Close())
}
