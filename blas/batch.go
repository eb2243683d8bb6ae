package blas

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/cpu"
	"gemm/pool"
)

// Problem is the operation C ← α·op(A)·op(B) + β·C with op(A) M×K, op(B) K×N and C M×N, without its operands.
// They are stored by rows.
type Problem[T gemm.Float] struct {
	TransA, TransB blas.Transpose // 0 is NoTrans
	M, N, K        int
	Alpha, Beta    T   // α = 0 has no use: K = 0 stands for C ← β·C
	LDA, LDB, LDC  int // elements from the beginning of one row to the next; 0: rows follow each other
	Workers        int // as in Implementation
}

// Plan is a Problem whose arguments are checked and whose algorithm is chosen. It multiplies any number of operands.
// Any number of goroutines may use a plan at the same time.
type Plan[T gemm.Float] struct {
	problem             Problem[T]
	forms               [3]gemm.Matrix[T] // A, B and C without elements
	needA, needB, needC int               // elements of an operand, from the first to the last
	few                 bool
	precision           *precision[T]
	workers             sync.Pool // of *batchWorkers[T]
	places              sync.Pool // of *[]place
}

// NewPlan returns the plan of a problem. The error is a gemm.ErrShape if a dimension is negative, or if a leading
// dimension is shorter than a row; it is a gemm.ErrParam if a transpose is none of the constants, if there are terms
// and α is 0, or if the number of workers is negative.
func NewPlan[T gemm.Float](p Problem[T]) (*Plan[T], error) {
	for _, t := range []*blas.Transpose{&p.TransA, &p.TransB} {
		if *t == 0 {
			*t = NoTrans
		}
		if !isTranspose(*t) {
			return nil, fmt.Errorf("%w: the transpose %q is none of NoTrans, Trans and ConjTrans", gemm.ErrParam,
				rune(*t))
		}
	}
	if p.M < 0 || p.N < 0 || p.K < 0 {
		return nil, fmt.Errorf("%w: %d×%d times %d×%d: a dimension is negative", gemm.ErrShape, p.M, p.K, p.K, p.N)
	}
	switch {
	case p.Alpha == 0 && p.K > 0:
		return nil, fmt.Errorf("%w: Alpha is 0: set it to 1 for products, or K to 0 to scale C", gemm.ErrParam)
	case p.Workers < 0:
		return nil, fmt.Errorf("%w: %d workers, must be at least 1, or 0 for all processors", gemm.ErrParam, p.Workers)
	}
	plan := &Plan[T]{precision: precisionOf[T]()}
	rowsA, colsA := ordered(p.TransA, p.M, p.K)
	rowsB, colsB := ordered(p.TransB, p.K, p.N)
	for i, x := range []struct {
		name       string
		rows, cols int
		ld, need   *int
	}{{"A", rowsA, colsA, &p.LDA, &plan.needA}, {"B", rowsB, colsB, &p.LDB, &plan.needB},
		{"C", p.M, p.N, &p.LDC, &plan.needC}} {
		if *x.ld == 0 {
			*x.ld = max(1, x.cols)
		}
		if *x.ld < x.cols {
			return nil, fmt.Errorf("%w: rows of %s have %d elements, its leading dimension is %d", gemm.ErrShape,
				x.name, x.cols, *x.ld)
		}
		var err error
		if *x.need, err = extent(x.rows, x.cols, *x.ld); err != nil {
			return nil, fmt.Errorf("%w: %s: %v", gemm.ErrShape, x.name, err)
		}
		plan.forms[i] = gemm.Matrix[T]{Rows: x.rows, Cols: x.cols, Stride: *x.ld}
	}
	plan.problem = p
	plan.few = plan.precision.isFew(p.TransB, p.M, p.N, p.K, p.Alpha)
	return plan, nil
}

// Multiply computes the operation. The operands begin with the first elements of the slices. The error is a
// gemm.ErrShape if a slice is too short, or a gemm.ErrOverlap if C overlaps A or B; then nothing is written.
func (p *Plan[T]) Multiply(a, b, c []T) error {
	if err := p.checkOperands(a, b, c); err != nil {
		return err
	}
	if p.few {
		p.small(a, b, c)
		return nil
	}
	w := p.precision.acquire(p.problem.Workers)
	p.compute(w, a, b, c)
	w.release()
	return nil
}

// Batch computes the operation for each i with a[i], b[i] and c[i]. The products are divided among the workers,
// unless there are few and each is large: then the workers share each product. A matrix may be an operand of several
// products. The error is a gemm.ErrShape if the numbers of matrices differ, or if a slice is too short; it is a
// gemm.ErrOverlap if a matrix of c has an element in common with any other matrix. Then nothing is written. The checks
// take some 10 ns a product, and up to 0.5 µs if matrices of a and b lie between matrices of c.
func (p *Plan[T]) Batch(a, b, c [][]T) error { return p.BatchContext(context.Background(), a, b, c) }

// BatchContext is Batch until ctx is cancelled. Then it returns the context's error after the products in progress, and
// each C is either computed or as it was.
func (p *Plan[T]) BatchContext(ctx context.Context, a, b, c [][]T) error {
	if len(a) != len(c) || len(b) != len(c) {
		return fmt.Errorf("%w: a batch of %d matrices A, %d B and %d C", gemm.ErrShape, len(a), len(b), len(c))
	}
	for i := range c {
		if err := p.checkOperands(a[i], b[i], c[i]); err != nil {
			return fmt.Errorf("product %d: %w", i, err)
		}
	}
	if err := p.checkDisjoint(a, b, c); err != nil {
		return err
	}
	return p.run(ctx, operands[T]{many: [3][][]T{a, b, c}}, len(c))
}

// BatchStrided is Batch for matrices that lie in one slice of A, one of B and one of C. Each begins a stride, in
// elements, behind the one before. A stride is at least as long as a matrix, so matrices of C do not overlap. To
// multiply by one A or B several times, Batch takes it several times. A count of 0 does nothing. The error is a
// gemm.ErrShape if the count is negative, or if a stride or a slice is too short; it is a gemm.ErrOverlap if a matrix
// of C overlaps one of A or B. Then nothing is written.
func (p *Plan[T]) BatchStrided(count int, a []T, strideA int, b []T, strideB int, c []T, strideC int) error {
	return p.BatchStridedContext(context.Background(), count, a, strideA, b, strideB, c, strideC)
}

// BatchStridedContext is BatchStrided until ctx is cancelled, as BatchContext is.
func (p *Plan[T]) BatchStridedContext(ctx context.Context, count int, a []T, strideA int, b []T, strideB int, c []T,
	strideC int) error {
	if count == 0 {
		return nil
	}
	var all [3]gemm.Batch[T]
	for i, x := range [3]struct {
		data   []T
		stride int
	}{{a, strideA}, {b, strideB}, {c, strideC}} {
		f := p.forms[i]
		all[i] = gemm.Batch[T]{Count: count, Step: x.stride, Rows: f.Rows, Cols: f.Cols, Stride: f.Stride, Data: x.data}
		if err := all[i].Check(); err != nil {
			return fmt.Errorf("%c: %w", "ABC"[i], err)
		}
	}
	if err := gemm.CheckBatchOverlap(all[2], all[0], all[1]); err != nil {
		return err
	}
	return p.run(ctx, operands[T]{one: [3][]T{a, b, c}, stride: [3]int{strideA, strideB, strideC}}, count)
}

// GemmBatch computes C[i] ← α·op(A[i])·op(B[i]) + β·C[i] for matrices of one shape, as Plan.Batch does.
func GemmBatch[T gemm.Float](p Problem[T], a, b, c [][]T) error {
	return GemmBatchContext(context.Background(), p, a, b, c)
}

// GemmBatchContext is GemmBatch until ctx is cancelled, as Plan.BatchContext is.
func GemmBatchContext[T gemm.Float](ctx context.Context, p Problem[T], a, b, c [][]T) error {
	plan, err := NewPlan(p)
	if err != nil {
		return err
	}
	return plan.BatchContext(ctx, a, b, c)
}

// GemmBatchStrided computes C[i] ← α·op(A[i])·op(B[i]) + β·C[i] for matrices of one shape, as Plan.BatchStrided does.
func GemmBatchStrided[T gemm.Float](p Problem[T], count int, a []T, strideA int, b []T, strideB int, c []T,
	strideC int) error {
	return GemmBatchStridedContext(context.Background(), p, count, a, strideA, b, strideB, c, strideC)
}

// GemmBatchStridedContext is GemmBatchStrided until ctx is cancelled, as Plan.BatchContext is.
func GemmBatchStridedContext[T gemm.Float](ctx context.Context, p Problem[T], count int, a []T, strideA int, b []T,
	strideB int, c []T, strideC int) error {
	plan, err := NewPlan(p)
	if err != nil {
		return err
	}
	return plan.BatchStridedContext(ctx, count, a, strideA, b, strideB, c, strideC)
}

// matrix returns the operand i of A, B and C with its elements.
func (p *Plan[T]) matrix(i int, data []T) gemm.Matrix[T] {
	x := p.forms[i]
	x.Data = data
	return x
}

// checkOperands returns an error if a slice is too short, or if C overlaps A or B.
func (p *Plan[T]) checkOperands(a, b, c []T) error {
	if len(a) >= p.needA && len(b) >= p.needB && len(c) >= p.needC {
		if gemm.Disjoint(c[:p.needC], a[:p.needA]) && gemm.Disjoint(c[:p.needC], b[:p.needB]) {
			return nil
		}
		return gemm.CheckOverlap(p.matrix(2, c), p.matrix(0, a), p.matrix(1, b))
	}
	return fmt.Errorf("%w: A, B and C have %d, %d and %d elements, they need %d, %d and %d", gemm.ErrShape, len(a),
		len(b), len(c), p.needA, p.needB, p.needC)
}

// checkDisjoint returns a gemm.ErrOverlap if a matrix of c has an element in common with another one. All are long
// enough. It compares matrices whose ranges of addresses overlap, and finds them in the order of the addresses of c.
func (p *Plan[T]) checkDisjoint(a, b, c [][]T) error {
	size := unsafe.Sizeof(*new(T))
	width := uintptr(p.needC) * size
	kept, ok := p.places.Get().(*[]place)
	if !ok {
		kept = new([]place)
	}
	defer p.places.Put(kept)
	places, last, ascending := (*kept)[:0], uintptr(0), true
	for i, x := range c {
		at := address(x)
		ascending = ascending && at >= last
		last = at + width
		places = append(places, place{at, i})
	}
	*kept = places
	if !ascending {
		slices.SortFunc(places, func(x, y place) int { return cmp.Compare(x.at, y.at) })
		for i, x := range places {
			for _, y := range places[i+1:] {
				if y.at >= x.at+width {
					break
				}
				if p.overlap(c[x.i], 2, c[y.i], p.needC) {
					return fmt.Errorf("%w: C of the products %d and %d", gemm.ErrOverlap, min(x.i, y.i), max(x.i, y.i))
				}
			}
		}
	}
	for x, others := range [2][][]T{a, b} {
		need, near := []int{p.needA, p.needB}[x], 0
		for i, data := range others {
			lo := address(data)
			hi := lo + uintptr(need)*size
			if hi <= places[0].at || lo >= places[len(places)-1].at+width {
				continue
			}
			near = after(places, lo, width, near)
			for _, z := range places[near:] {
				if z.at >= hi {
					break
				}
				if p.overlap(c[z.i], x, data, need) {
					return fmt.Errorf("%w: C of product %d and %c of product %d", gemm.ErrOverlap, z.i, "AB"[x], i)
				}
			}
		}
	}
	return nil
}

// place is the address of matrix i of a batch.
type place struct {
	at uintptr
	i  int
}

func address[T gemm.Float](x []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }

// after returns the first of the ascending places, each of a width, that ends behind lo. It is often near, or the next.
func after(places []place, lo, width uintptr, near int) int {
	for range 2 {
		if near < len(places) && places[near].at+width > lo && (near == 0 || places[near-1].at+width <= lo) {
			return near
		}
		near++
	}
	return sort.Search(len(places), func(i int) bool { return places[i].at+width > lo })
}

// overlap reports whether a matrix C has an element in common with operand x of A, B and C, of which need are read.
func (p *Plan[T]) overlap(c []T, x int, data []T, need int) bool {
	other := p.matrix(x, data[:need])
	return gemm.CheckOverlap(p.matrix(2, c[:p.needC]), other, other) != nil
}

// small computes one small product, whose operands are long enough.
func (p *Plan[T]) small(a, b, c []T) {
	q := &p.problem
	p.precision.small(q.TransA, q.TransB, q.M, q.N, q.K, q.Alpha, unsafe.SliceData(a), q.LDA, unsafe.SliceData(b),
		q.LDB, q.Beta, unsafe.SliceData(c), q.LDC)
}

// smallSeries is series for small products.
func (p *Plan[T]) smallSeries(o *operands[T], lo, hi int) {
	q, kernel := &p.problem, &p.precision.kernel
	if o.many[2] != nil || q.TransB != NoTrans {
		for i := lo; i < hi; i++ {
			p.small(o.at(i))
		}
		return
	}
	aRow, aCol := q.LDA, 1
	if q.TransA != NoTrans {
		aRow, aCol = 1, q.LDA
	}
	multiply, m, n, k := kernel.Small, q.M, q.N, q.K
	for i := lo; i < hi; i++ {
		multiply(m, n, k, &o.one[0][i*o.stride[0]], aRow, aCol, &o.one[1][i*o.stride[1]], q.LDB,
			&o.one[2][i*o.stride[2]], q.LDC, q.Alpha, q.Beta)
	}
}

// series computes the products lo ≤ i < hi of a batch, one after the other, until ctx is cancelled.
func (p *Plan[T]) series(ctx context.Context, o *operands[T], workers, lo, hi int) {
	if p.few {
		const piece = 256 // a few microseconds
		for ; lo < hi && ctx.Err() == nil; lo += piece {
			p.smallSeries(o, lo, min(lo+piece, hi))
		}
		return
	}
	w := p.precision.acquire(workers)
	for i := lo; i < hi && ctx.Err() == nil; i++ {
		a, b, c := o.at(i)
		p.compute(w, a, b, c)
	}
	w.release()
}

// compute computes one product, whose operands are long enough.
func (p *Plan[T]) compute(w *workspace[T], a, b, c []T) {
	q := &p.problem
	w.multiply(q.M, q.N, q.K, q.Alpha, stored(q.TransA, a, q.LDA), stored(q.TransB, b, q.LDB), q.Beta,
		stored(NoTrans, c, q.LDC))
}

const (
	// mostAlone is the most multiplications of a batch that one worker computes: less time than it takes to wake
	// another.
	mostAlone = 1 << 16
	// leastShared is the least multiplications of a product that several workers share, if there are fewer products
	// than workers.
	leastShared = 1 << 20
)

// run computes a batch of products. The error is the context's.
func (p *Plan[T]) run(ctx context.Context, o operands[T], count int) error {
	q := &p.problem
	if q.M == 0 || q.N == 0 {
		return ctx.Err()
	}
	workers := q.Workers
	if workers < 1 {
		workers = cpu.Workers()
	}
	each := terms(q.M, q.N, q.K)
	switch {
	case workers == 1 || count == 1 || count < workers && each >= leastShared || each*int64(count) <= mostAlone:
		if each*int64(count) <= mostAlone {
			workers = 1
		}
		p.series(ctx, &o, workers, 0, count)
	default:
		g, ok := p.workers.Get().(*batchWorkers[T])
		if !ok || g.pool.Workers() != workers {
			g = newBatchWorkers(p, workers)
		}
		g.ctx, g.operands = ctx, o
		g.pool.Run(workers, count, g.body)
		g.ctx, g.operands = nil, operands[T]{} // leaves them to the garbage collector
		p.workers.Put(g)
	}
	return ctx.Err()
}

// operands are the matrices of a batch.
type operands[T gemm.Float] struct {
	many   [3][][]T // A, B and C; nil: they are in one slice each
	one    [3][]T
	stride [3]int
}

// at returns the matrices of product i.
func (o *operands[T]) at(i int) (a, b, c []T) {
	if o.many[2] != nil {
		return o.many[0][i], o.many[1][i], o.many[2][i]
	}
	return o.part(0, i), o.part(1, i), o.part(2, i)
}

// part returns operand x of product i. If it has no elements, it may be behind the end of the slice.
func (o *operands[T]) part(x, i int) []T { return o.one[x][min(i*o.stride[x], len(o.one[x])):] }

// batchWorkers is a pool of workers with a workspace each, which share the products of a batch.
type batchWorkers[T gemm.Float] struct {
	ctx      context.Context
	operands operands[T]
	pool     *pool.Pool
	body     func(worker, lo, hi int)
}

func newBatchWorkers[T gemm.Float](p *Plan[T], workers int) *batchWorkers[T] {
	g := &batchWorkers[T]{pool: pool.New(workers)}
	g.body = func(_, lo, hi int) { p.series(g.ctx, &g.operands, 1, lo, hi) }
	return g
}
