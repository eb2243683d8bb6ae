package blas

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
	"gemm/gemmtest"
)

// problems are of all transposes and of shapes on every way: empty, small, direct, blocked, narrow, and shared by
// workers.
func problems() (out []Problem[float64]) {
	for _, s := range []gemm.Shape{{M: 0, N: 3, K: 2}, {M: 3, N: 4, K: 0}, {M: 1, N: 1, K: 1}, {M: 3, N: 4, K: 5},
		{M: 17, N: 13, K: 9}, {M: 1, N: 40, K: 33}, {M: 130, N: 150, K: 170}} {
		for i := range 4 {
			p := Problem[float64]{
				TransA: [2]blas.Transpose{0, Trans}[i%2], TransB: [2]blas.Transpose{NoTrans, ConjTrans}[i/2],
				M: s.M, N: s.N, K: s.K, Alpha: -0.5, Beta: []float64{0, 1, 2, 0}[i], Workers: i,
			}
			if i == 1 { // rows with gaps
				p.LDA, p.LDB, p.LDC = max(s.M, s.K)+3, max(s.K, s.N)+1, s.N+2
			}
			out = append(out, p)
		}
	}
	return out
}

// wantProduct is what gonum computes; a, b and c hold whole matrices.
func wantProduct(p *Plan[float64], a, b, c []float64) {
	q := p.problem
	if q.K == 0 { // gonum wants elements of A and B nevertheless
		a, b = make([]float64, q.M*q.LDA+q.M), make([]float64, q.N*q.LDB+q.N)
	}
	gonum.Implementation{}.Dgemm(q.TransA, q.TransB, q.M, q.N, q.K, q.Alpha, a, q.LDA, b, q.LDB, q.Beta, c, q.LDC)
}

func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*max(1, math.Abs(y)) })
}

func filled(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.Float64() - 0.5
	}
	return out
}

// TestPlan compares plans and batches with gonum. What lies between the rows and behind the matrices must stay.
func TestPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, q := range problems() {
		p, err := NewPlan(q)
		gemmtest.Must(t, err)
		for _, count := range []int{0, 1, 2, 7} {
			sa, sb, sc := max(1, p.needA)+2, max(1, p.needB), max(1, p.needC)+5
			a, b, c := filled(rng, count*sa), filled(rng, count*sb), filled(rng, count*sc)
			want, many, single := slices.Clone(c), slices.Clone(c), slices.Clone(c)
			var as, bs, cs [][]float64
			for i := range count {
				wantProduct(p, a[i*sa:], b[i*sb:], want[i*sc:])
				as, bs, cs = append(as, a[i*sa:]), append(bs, b[i*sb:]), append(cs, many[i*sc:])
				gemmtest.Must(t, p.Multiply(a[i*sa:], b[i*sb:], single[i*sc:]))
			}
			gemmtest.Must(t, errors.Join(p.BatchStrided(count, a, sa, b, sb, c, sc), p.Batch(as, bs, cs)))
			for name, got := range map[string][]float64{"Multiply": single, "Batch": many, "BatchStrided": c} {
				if !near(got, want) {
					t.Errorf("%+v, %d products: %s is wrong", q, count, name)
				}
			}
		}
	}
}

// TestBatchOfOneMatrix multiplies several B by one A, by the functions that make a plan themselves.
func TestBatchOfOneMatrix(t *testing.T) {
	q := Problem[float32]{M: 2, N: 1, K: 2, Alpha: 1}
	a, b, c := []float32{1, 2, 3, 4}, [][]float32{{1, 0}, {0, 1}}, [][]float32{make([]float32, 2), make([]float32, 2)}
	gemmtest.Must(t, GemmBatch(q, [][]float32{a, a}, b, c))
	if got := fmt.Sprint(c); got != "[[1 3] [2 4]]" {
		t.Errorf("the columns of A are %s", got)
	}
	d := make([]float32, 4)
	gemmtest.Must(t, GemmBatchStrided(q, 2, slices.Concat(a, a), 4, []float32{1, 0, 0, 1}, 2, d, 2))
	if got := fmt.Sprint(d); got != "[1 3 2 4]" {
		t.Errorf("the columns of A are %s", got)
	}
}

// TestPlanRefuses has arguments that name what is wrong; nothing is written.
func TestPlanRefuses(t *testing.T) {
	good := Problem[float64]{M: 2, N: 3, K: 4, Alpha: 1}
	with := func(change func(p *Problem[float64])) Problem[float64] {
		p := good
		change(&p)
		return p
	}
	for _, x := range []struct {
		p    Problem[float64]
		is   error
		says string
	}{
		{with(func(p *Problem[float64]) { p.K = -1 }), gemm.ErrShape, "negative"},
		{with(func(p *Problem[float64]) { p.TransB = 'x' }), gemm.ErrParam, "'x'"},
		{with(func(p *Problem[float64]) { p.Alpha = 0 }), gemm.ErrParam, "Alpha is 0"},
		{with(func(p *Problem[float64]) { p.Workers = -3 }), gemm.ErrParam, "-3 workers"},
		{with(func(p *Problem[float64]) { p.LDB = 2 }), gemm.ErrShape,
			"rows of B have 3 elements, its leading dimension is 2"},
		{with(func(p *Problem[float64]) { p.LDC = -5 }), gemm.ErrShape, "rows of C have 3"},
		{with(func(p *Problem[float64]) { p.LDA = math.MaxInt }), gemm.ErrShape, "more than memory"},
	} {
		if _, err := NewPlan(x.p); !errors.Is(err, x.is) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%+v: %v, want %q", x.p, err, x.says)
		}
	}
	p, err := NewPlan(good)
	gemmtest.Must(t, err)
	a, b, c := make([]float64, 16), make([]float64, 24), []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	for says, err := range map[string]error{
		"A, B and C have 7, 24 and 12": p.Multiply(a[:7], b, c),
		"2 matrices A, 1 B and 2 C":    p.Batch([][]float64{a, a}, [][]float64{b}, [][]float64{c, c}),
		"product 1: ":                  p.Batch([][]float64{a, a}, [][]float64{b, b}, [][]float64{c, c[:5]}),
		"a batch of -1":                p.BatchStrided(-1, a, 8, b, 12, c, 6),
		"C: gemm: shapes do not conform: the step of a batch is 5": p.BatchStrided(2, a, 8, b, 12, c, 5),
		"A: gemm: shapes do not conform: the step of a batch is 0": p.BatchStrided(2, a, 0, b, 12, c, 6),
		"the step of a batch is -12":                               p.BatchStrided(2, a, 8, b, -12, c, 6),
		"more than the 16 elements":                                p.BatchStrided(3, a, 8, b, 12, c, 6),
	} {
		if !errors.Is(err, gemm.ErrShape) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	all := make([]float64, 24)
	for says, err := range map[string]error{
		"C and A":     p.Multiply(c, b, c[:6]),
		"C and B":     p.Multiply(a, c, c),
		"product 1: ": p.Batch([][]float64{a, c}, [][]float64{b, b}, [][]float64{make([]float64, 6), c}),
		"C of product 1 and A of product 0": p.Batch([][]float64{c, a}, [][]float64{b, b},
			[][]float64{make([]float64, 6), c}),
		"C of the products 0 and": p.Batch([][]float64{a, a}, [][]float64{b, b}, [][]float64{c, c}),
		": C and B: ":             p.BatchStrided(1, a, 8, all, 12, all[11:], 6),
		": C and A: ":             p.BatchStrided(2, all, 8, b, 12, all[12:], 6),
	} {
		if !errors.Is(err, gemm.ErrOverlap) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	if slices.ContainsFunc(c, func(x float64) bool { return x != 1 }) {
		t.Errorf("C was written: %v", c)
	}
}

// TestBatchOverlap compares the check of random batches in one slice with their elements.
func TestBatchOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	data := make([]float64, 150)
	found := map[bool]int{}
	for range 20000 {
		q := Problem[float64]{M: rng.IntN(3), N: rng.IntN(3), K: rng.IntN(3), Alpha: 1, LDA: 2, LDB: 2, LDC: 2 + rng.IntN(3)}
		p, err := NewPlan(q)
		gemmtest.Must(t, err)
		var all [3][][]float64
		writes, uses := map[int]bool{}, [3][]int{} // the elements of C so far, and of all matrices
		want := false
		for range 1 + rng.IntN(4) {
			for x, f := range p.forms {
				at := rng.IntN(len(data) - 20)
				all[x] = append(all[x], data[at:])
				for i := range f.Rows {
					for j := range f.Cols {
						e := at + i*f.Stride + j
						want = want || x == 2 && writes[e]
						writes[e] = writes[e] || x == 2
						uses[x] = append(uses[x], e)
					}
				}
			}
		}
		for _, e := range slices.Concat(uses[0], uses[1]) {
			want = want || writes[e]
		}
		found[want]++
		if err := p.Batch(all[0], all[1], all[2]); (err != nil) != want || want && !errors.Is(err, gemm.ErrOverlap) {
			t.Fatalf("%+v: %v, want an overlap: %v", q, err, want)
		}
	}
	if found[true] < 1000 || found[false] < 1000 {
		t.Errorf("%d overlaps, %d without", found[true], found[false])
	}
}

// TestPlanFromManyGoroutines has 64 goroutines use one plan.
func TestPlanFromManyGoroutines(t *testing.T) {
	const n, count = 20, 30
	rng := rand.New(rand.NewPCG(2, 9))
	p, err := NewPlan(Problem[float64]{M: n, N: n, K: n, Alpha: 1, Workers: 3})
	gemmtest.Must(t, err)
	a, b, want := filled(rng, count*n*n), filled(rng, count*n*n), make([]float64, count*n*n)
	for i := range count {
		wantProduct(p, a[i*n*n:], b[i*n*n:], want[i*n*n:])
	}
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			c := make([]float64, count*n*n)
			if err := p.BatchStrided(count, a, n*n, b, n*n, c, n*n); err != nil || !near(c, want) {
				t.Errorf("a batch is wrong: %v", err)
			}
		})
	}
	all.Wait()
}

// counted is cancelled when it has been asked for its error a number of times.
type counted struct {
	context.Context
	left atomic.Int32
}

func (c *counted) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestBatchCancelled cancels batches between their products: some of C are computed, and no others are written.
func TestBatchCancelled(t *testing.T) {
	for _, q := range []Problem[float64]{{M: 2, N: 2, K: 2, Workers: 1}, {M: 40, N: 40, K: 40, Workers: 1},
		{M: 40, N: 40, K: 40, Workers: 2}} {
		const count = 1000
		q.Alpha = 1
		each := q.M * q.M
		a, want := filled(rand.New(rand.NewPCG(1, 1)), each), make([]float64, each)
		gemmtest.Must(t, GemmBatch(q, [][]float64{a}, [][]float64{a}, [][]float64{want}))
		as, cs := make([][]float64, count), make([][]float64, count)
		all, many, strided := slices.Repeat(a, count), make([]float64, count*each), make([]float64, count*each)
		for i := range cs {
			as[i], cs[i] = a, many[i*each:][:each]
		}
		for name, run := range map[string]func(ctx context.Context) (c []float64, err error){
			"GemmBatchContext": func(ctx context.Context) ([]float64, error) {
				return many, GemmBatchContext(ctx, q, as, as, cs)
			},
			"GemmBatchStridedContext": func(ctx context.Context) ([]float64, error) {
				return strided, GemmBatchStridedContext(ctx, q, count, all, each, all, each, strided, each)
			},
		} {
			ctx := &counted{Context: t.Context()}
			ctx.left.Store(2)
			c, err := run(ctx)
			done := 0
			for c := range slices.Chunk(c, each) {
				if near(c, want) {
					done++
				} else if slices.Max(c) != 0 || slices.Min(c) != 0 {
					t.Errorf("%s, %+v: a product is computed in part", name, q)
				}
			}
			if !errors.Is(err, context.Canceled) || done == 0 || done == count {
				t.Errorf("%s, %+v: %d products are computed, error %v", name, q, done, err)
			}
		}
	}
}
