package peer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
)

// ABI says how a function that multiplies is called. T is float or double.
type ABI string

// The ABIs. Matrices are column-major in Fortran and Square, and row-major in the others: an operand
// is copied into the process in that order.
const (
	// Fortran is sgemm_ and dgemm_. Their integers may have 32 or 64 bits.
	Fortran ABI = "fortran"
	// Exchanged is Fortran with row-major operands in exchanged places: the function sees the
	// transposes of all matrices, and computes the transpose of C.
	Exchanged ABI = "exchanged"
	// CBLAS is cblas_sgemm and cblas_dgemm, with the order CblasRowMajor.
	CBLAS ABI = "cblas"
	// RowMajor is f(int m, int n, int k, const T *A, const T *B, T *C), C = A·B.
	RowMajor ABI = "rowmajor"
	// Square is f(int n, T *A, T *B, T *C), C += A·B. C is 1 before the product, or 0.
	Square ABI = "square"
	// Strided is cblas_sgemm_batch_strided and cblas_dgemm_batch_strided, with the order CblasRowMajor.
	Strided ABI = "strided"
)

// Call says which function computes a product, and how.
type Call struct {
	ABI    ABI
	Symbol string
	// Guarded: the process looks after every request whether something was written outside the
	// operands or to A and B, and says so in the error.
	Guarded bool
	// Threads is the number of threads that the function may use; 0: 1.
	Threads int
}

// Operation is C ← α·op(A)·op(B) + β·C.
type Operation struct {
	TransA, TransB blas.Transpose
	Alpha, Beta    float64
}

// Multiplication is C = A·B.
var Multiplication = Operation{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1}

// Product is a product that is staged in a process. It implements gemm.Run and record.Repeater.
type Product[T gemm.Number] struct {
	Release func() // called by the first Close, if not nil: the process is free for another product

	process  *Process         // nil: there is nothing to multiply, or the product is closed
	verifier resultChecker[T] // nil: the process is no library's, and has requests of its own
	c        []gemm.Matrix[T] // of each product of a batch, otherwise one
	beta     T
}

// resultChecker is a verifier, of an element type that a library computes with.
type resultChecker[T gemm.Number] interface {
	once(ctx context.Context) (time.Duration, error)
	repeat(ctx context.Context, times int) (time.Duration, error)
	collect(c []gemm.Matrix[T]) error
	untouched() error
}

// Stage copies the operands into the process of the library. Leading dimensions exceed the least ones by as much as the
// strides of the operands do, if the ABI has leading dimensions. If β is not 0, each product begins with this C.
func Stage[T gemm.Float](ctx context.Context, l *Library, call Call, op Operation, c, a, b gemm.Matrix[T]) (*Product[T],
	error) {
	_, _, k, err := gemm.CheckGemm(op.TransA, op.TransB, a, b, c)
	if err != nil {
		return nil, err
	}
	one := func(x gemm.Matrix[T]) []gemm.Matrix[T] { return []gemm.Matrix[T]{x} }
	return stage(ctx, l, call, op, [3]int{c.Rows, c.Cols, k}, one(c), one(a), one(b))
}

// Workspace returns how many elements a product that is staged takes besides its operands: A and B as they are staged
// and as they are drawn, C and what is sent of it, and here the last C and the one that is kept.
func Workspace(m, n, k float64) float64 { return 2*(m*k+k*n) + 4*m*n }

// StageBatch is Stage for batches, by the ABIs Exchanged, whose function is called for each product, and Strided.
func StageBatch[T gemm.Float](ctx context.Context, l *Library, call Call, op Operation,
	c, a, b gemm.Batch[T]) (*Product[T], error) {
	m, n, k, err := gemm.CheckBatch(op.TransA, op.TransB, a, b, c)
	if err != nil {
		return nil, err
	}
	return stage(ctx, l, call, op, [3]int{m, n, k}, matrices(c), matrices(a), matrices(b))
}

func matrices[T gemm.Float](x gemm.Batch[T]) []gemm.Matrix[T] {
	out := make([]gemm.Matrix[T], x.Count)
	for i := range out {
		out[i] = x.Nth(i)
	}
	return out
}

// stage stages products of the shape m, n, k, each with a C, an A and a B. All matrices C have one form,
// and so have all A and all B.
func stage[T gemm.Float](ctx context.Context, l *Library, call Call, op Operation, shape [3]int,
	c, a, b []gemm.Matrix[T]) (*Product[T], error) {
	if slices.Contains(shape[:], 0) {
		return &Product[T]{c: c, beta: T(op.Beta)}, ctx.Err()
	}
	guarded := 0
	if call.Guarded {
		guarded = 1
	}
	pads := [3]int{a[0].Stride - a[0].Cols, b[0].Stride - b[0].Cols, c[0].Stride - c[0].Cols}
	if call.ABI == RowMajor || call.ABI == Square { // which have no leading dimensions
		pads = [3]int{}
	}
	request := fmt.Sprintf("stage %s %s %s %d %c%c %x %x %d %d %d %d %d %d %d", gemm.TypeOf[T]().Name, call.ABI,
		call.Symbol, guarded, Letter(op.TransA), Letter(op.TransB), op.Alpha, op.Beta, shape[0], shape[1], shape[2],
		pads[0], pads[1], pads[2], len(c))
	sent := slices.Concat(a, b)
	if op.Beta != 0 {
		sent = append(sent, c...)
	}
	p, err := send(ctx, l.Process, request, c, sent)
	if err == nil {
		p.verifier = newVerifier(l.Process, call, op, shape[2], c, a, b)
	}
	return p, err
}

// StageBy stages a product by a request of the process, which the rows of the sent matrices follow. If
// one of them is empty, there is nothing to multiply, and C is zero.
func StageBy[T gemm.Number](ctx context.Context, p *Process, request string, c gemm.Matrix[T],
	sent ...gemm.Matrix[T]) (*Product[T], error) {
	for _, x := range append(sent, c) {
		if x.Rows == 0 || x.Cols == 0 {
			return &Product[T]{c: []gemm.Matrix[T]{c}}, ctx.Err()
		}
	}
	return send(ctx, p, request, []gemm.Matrix[T]{c}, sent)
}

// send stages a product by a request of the process, which the rows of the sent matrices follow.
func send[T gemm.Number](ctx context.Context, p *Process, request string, c, sent []gemm.Matrix[T]) (*Product[T],
	error) {
	_, _, err := p.exchange(ctx, request, rows(sent), nil, 1)
	if err != nil {
		return nil, err
	}
	return &Product[T]{process: p, c: c}, nil
}

// Do implements gemm.Run.
func (p *Product[T]) Do(ctx context.Context) (gemm.Cost, error) {
	if p.verifier == nil || p.process == nil {
		return p.Repeat(ctx, 1)
	}
	took, err := p.verifier.once(ctx)
	return gemm.Cost{Time: took}, err
}

// Repeat computes the product the given number of times and returns the total cost, by the clock of
// the library's process. A verified product has other operands each time, and each result is checked.
func (p *Product[T]) Repeat(ctx context.Context, times int) (gemm.Cost, error) {
	if p.process == nil {
		return gemm.Cost{}, ctx.Err()
	}
	if p.verifier != nil {
		took, err := p.verifier.repeat(ctx, times)
		return gemm.Cost{Time: took}, err
	}
	took, err := p.process.Time(ctx, "run "+strconv.Itoa(times))
	return gemm.Cost{Time: took}, err
}

// Collect copies the C of the process into the C that was staged, for each product.
func (p *Product[T]) Collect(ctx context.Context) error {
	if p.process == nil {
		for _, c := range p.c {
			Scale(c, p.beta)
		}
		return ctx.Err()
	}
	if p.verifier != nil {
		return p.verifier.collect(p.c)
	}
	_, _, err := p.process.exchange(ctx, "collect", nil, rows(p.c), 1)
	return err
}

// Process returns the process; nil: there is nothing to multiply, or the product is closed.
func (p *Product[T]) Process() *Process { return p.process }

// Close releases the operands in the process. If that has ended, an earlier error has said why.
func (p *Product[T]) Close() (err error) {
	if p.process != nil && !p.process.Ended() {
		_, err = p.process.Request(context.Background(), "drop")
	}
	if p.process = nil; p.Release != nil {
		p.Release()
		p.Release = nil
	}
	return err
}

// Multiply stages a product, and computes, collects and closes it.
func Multiply[T gemm.Element](ctx context.Context, x gemm.Stager[T], c, a, b gemm.Matrix[T]) error {
	r, err := x.Stage(ctx, c, a, b)
	if err != nil {
		return err
	}
	return Once(ctx, r)
}

// Once computes a product that has been staged, and collects and closes it.
func Once(ctx context.Context, r gemm.Run) error {
	_, err := r.Do(ctx)
	if err == nil {
		err = r.Collect(ctx)
	}
	return errors.Join(err, r.Close())
}

// Scale multiplies c by beta, without reading it where beta is 0.
func Scale[T gemm.Number](c gemm.Matrix[T], beta T) {
	if c.Cols == 0 {
		return // however many rows there are
	}
	for i := range c.Rows {
		row := c.Row(i)
		if gemm.ToFloat64(beta) == 0 {
			clear(row)
			continue
		}
		for j, x := range row {
			row[j] = gemm.FromFloat64[T](gemm.ToFloat64(beta) * gemm.ToFloat64(x))
		}
	}
}

// Corrupted returns an error if the C that was kept has elements that the library did not write, or that it computed
// from what is around A and B. The process must hold a library.
func (p *Product[T]) Corrupted() error {
	if p.process == nil {
		return nil
	}
	return p.verifier.untouched()
}

// has reports whether x has the low bits of pattern.
func has[T gemm.Float](x T, pattern uint64) bool {
	if unsafe.Sizeof(x) == 4 {
		return math.Float32bits(float32(x)) == uint32(pattern)
	}
	return math.Float64bits(float64(x)) == pattern
}

// Letter returns t as BLAS knows it; real matrices have no other conjugate.
func Letter(t blas.Transpose) byte {
	if t == blas.NoTrans {
		return 'N'
	}
	return 'T'
}

func rows[T gemm.Number](matrices []gemm.Matrix[T]) (all [][]byte) {
	for _, x := range matrices {
		if x.Stride == x.Cols {
			all = append(all, raw(x.Data[:x.Rows*x.Cols]))
			continue
		}
		for i := range x.Rows {
			all = append(all, raw(x.Row(i)))
		}
	}
	return all
}

func raw[T gemm.Number](row []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), len(row)*int(unsafe.Sizeof(zero)))
}
