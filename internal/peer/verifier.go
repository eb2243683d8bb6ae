package peer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/internal/note"
	"gemm/roundoff"
)

// verifier has products computed in the process of a library, and trusts nothing that the library does. Each call has
// operands of its own: those that were staged, with new mantissas. Before the call, the process fills C with a NaN, or
// with 1 for the ABI square, and it sends C afterwards. The verifier compares C·x with α·op(A)·(op(B)·x) + β·C₀·x; the
// signs x are drawn when C is here.
//
// One of the calls, each with the same probability, has the operands as they were staged. Its C is kept whole. The time
// that the process reports is compared with the time here and with the processor time that the system counts.
type verifier[T gemm.Float] struct {
	process *Process
	op      Operation
	columns bool // matrices are stored by columns in the process
	sums    bool // the product is added to C, which is therefore not filled with a NaN
	k       int
	a, b    []gemm.Matrix[T] // as staged, of each product of a batch, otherwise one
	c0      []gemm.Matrix[T] // if β is not 0
	c       gemm.Matrix[T]   // the form of each C
	tol     float64          // of an element of C·x

	calls   int // so far
	results []T // of the last request, call after call, as the process stores them
	kept    []T // of the call with the operands as they were staged
	call    uint64
	clock   clockCheck
}

func newVerifier[T gemm.Float](p *Process, call Call, op Operation, k int, c, a, b []gemm.Matrix[T]) *verifier[T] {
	j := &verifier[T]{process: p, op: op, columns: call.ABI == Fortran || call.ABI == Square,
		sums: op.Beta != 0 || call.ABI == Square, k: k, a: a, b: b, c: c[0],
		clock: clockCheck{threads: call.Threads}}
	j.tol = Tolerance(op.Alpha, op.Beta, k, c, a, b)
	if call.ABI == Square {
		one := gemm.NewMatrix[T](1, c[0].Cols)
		one.Set(0, 0, 1)
		j.tol = Tolerance(op.Alpha, 1, k, []gemm.Matrix[T]{one}, a, b)
	}
	if op.Beta != 0 {
		for _, x := range c {
			copied := gemm.NewMatrix[T](x.Rows, x.Cols)
			for i := range x.Rows {
				copy(copied.Row(i), x.Row(i))
			}
			j.c0 = append(j.c0, copied)
		}
	}
	return j
}

// Tolerance returns by how much an element of C·x may differ from α·A·(B·x) + β·C₀·x for signs x, if both are computed
// in float64, and A and B are op(A) and op(B) with other mantissas. An element of C errs by γ·|A||B| at most, whatever
// the order of its sum, and a sum of n of them with random signs by 8·√n times it but for once in 10¹³ rows
// (Hoeffding). The sums in float64 have their worst case.
func Tolerance[T gemm.Float](alpha, beta float64, k int, c, a, b []gemm.Matrix[T]) float64 {
	scale := math.Abs(alpha) * float64(k) * limitOf(a) * limitOf(b)
	if beta != 0 {
		scale += math.Abs(beta) * limitOf(c)
	}
	n := float64(c[0].Cols)
	return scale * (8*math.Sqrt(n)*roundoff.Gamma(float64(k)+3, gemm.TypeOf[T]().UnitRoundoff) +
		n*roundoff.Gamma(n+float64(k)+6, 0x1p-53))
}

// limitOf returns a power of two that no element exceeds, also with other mantissas.
func limitOf[T gemm.Float](matrices []gemm.Matrix[T]) float64 {
	most := 0.0
	for _, x := range matrices {
		for i := range x.Rows {
			for _, v := range x.Row(i) {
				most = max(most, math.Abs(float64(v)))
			}
		}
	}
	_, exponent := math.Frexp(most)
	return math.Ldexp(1, exponent)
}

// mixed is mixed of the process: a number that looks random (SplitMix64).
func mixed(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// What the seed of a call decides, as the process has it.
const (
	ofA = 1 + iota
	ofB
	ofC
)

// once computes the product of the operands as they were staged, and keeps it.
func (j *verifier[T]) once(ctx context.Context) (time.Duration, error) { return j.request(ctx, 1, 0) }

// mostResults is the number of elements of C in an answer, at most if there are several C.
const mostResults = 1 << 20

// repeat computes that many products, each of other operands, and returns the time that the process reports.
func (j *verifier[T]) repeat(ctx context.Context, times int) (total time.Duration, err error) {
	most := 1 // a power of two, as a batch of a sampler is: then all requests are of one length
	for 2*most*len(j.a)*j.c.Rows*j.c.Cols <= mostResults {
		most *= 2
	}
	for ; times > 0 && err == nil; times -= most {
		var took time.Duration
		took, err = j.batch(ctx, min(times, most))
		total += took
	}
	return total, err
}

// batch is repeat for products whose results fit into an answer.
func (j *verifier[T]) batch(ctx context.Context, times int) (time.Duration, error) {
	for j.clock.begins(times) {
		at, err := j.exchange(ctx, fmt.Sprintf("run %d %d -1 1", times, rand.Uint64()), times, new([2]float64))
		if err != nil {
			return 0, err
		}
		j.clock.idle(at)
	}
	staged := -1
	if j.calls += times; rand.IntN(j.calls) < times {
		staged = rand.IntN(times)
	}
	return j.request(ctx, times, staged)
}

// request computes products, of which one has the operands as they were staged (-1: none), and checks the others.
func (j *verifier[T]) request(ctx context.Context, times, staged int) (time.Duration, error) {
	seed := rand.Uint64()
	var said [2]float64
	at, err := j.exchange(ctx, fmt.Sprintf("run %d %d %d 0", times, seed, staged), times, &said)
	if err != nil {
		return 0, err
	}
	took, before := duration(said[0]), duration(said[1])
	j.clock.add(at, took+before)
	size := len(j.results) / times
	signs := make([]float64, j.c.Cols)
	for i := range signs {
		signs[i] = float64(2*rand.IntN(2) - 1)
	}
	for i := range times {
		call, result := mixed(seed^mixed(uint64(i))), j.results[i*size:(i+1)*size]
		if i == staged {
			j.kept, j.call = append(j.kept[:0], result...), call
		} else if err := j.check(result, call, signs); err != nil {
			return 0, err
		}
	}
	return took, nil
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// exchange sends a request for that many products and reads the answer and the results. It returns the time until the
// answer.
func (j *verifier[T]) exchange(ctx context.Context, request string, times int, said *[2]float64) (at clocks,
	err error) {
	if size := times * len(j.a) * j.c.Rows * j.c.Cols; len(j.results) != size {
		j.results = nil // frees it before
		j.results = make([]T, size)
	}
	text, at, err := j.process.exchange(ctx, request, nil, [][]byte{raw(j.results)}, times)
	if err != nil {
		return at, err
	}
	if n, err := fmt.Sscan(text, &said[0], &said[1]); n != 2 {
		return at, fmt.Errorf("its process answers %q for two times: %w", text, err)
	}
	return at, nil
}

// check compares the result of a call with the product of its operands.
func (j *verifier[T]) check(result []T, call uint64, signs []float64) error {
	k, m, n := j.k, j.c.Rows, j.c.Cols
	y, want, got, room := make([]float64, k), make([]float64, m), make([]float64, m), make([]float64, max(k, m, n))
	for x := range j.a {
		a, b := j.a[x], j.b[x]
		apply(y, b, mixed(call+ofB)|1, x*b.Rows*b.Cols, j.op.TransB, signs, room)
		apply(want, a, mixed(call+ofA)|1, x*a.Rows*a.Cols, j.op.TransA, y, room)
		is := gemm.Matrix[T]{Rows: m, Cols: n, Stride: n, Data: result[x*m*n : (x+1)*m*n]}
		turned := blas.NoTrans
		if j.columns {
			is.Rows, is.Cols, is.Stride, turned = n, m, m, blas.Trans
		}
		apply(got, is, 0, 0, turned, signs, room)
		for i := range m {
			sum := j.op.Alpha * want[i]
			switch {
			case j.op.Beta == 0 && j.sums: // of the ABI square: C was 1
				for _, x := range signs {
					sum += x
				}
			case j.op.Beta != 0:
				for l, v := range j.c0[x].Row(i) {
					sum += j.op.Beta * float64(v) * signs[l]
				}
			}
			if math.Abs(got[i]-sum) <= j.tol {
				continue
			}
			if err := j.corrupted(result, call); err != nil {
				return note.Wrong{Reason: err.Error()}
			}
			return note.Wrong{Reason: fmt.Sprintf(
				"row %d of C is wrong in a call that was timed: its sum with random signs is %.9g, not %.9g", i,
				got[i], sum)}
		}
	}
	return nil
}

// apply stores op(X)·v in out. X is x with the mantissas that the seed gives elements from the index first on; 0: as
// it is. room has the length of a row at least.
func apply[T gemm.Float](out []float64, x gemm.Matrix[T], seed uint64, first int, op blas.Transpose,
	v, room []float64) {
	clear(out)
	for i := range x.Rows {
		row := room[:x.Cols]
		fresh(row, x.Row(i), seed, uint64(first+i*x.Cols))
		if op != blas.NoTrans {
			for l, y := range row {
				out[l] += v[i] * y
			}
			continue
		}
		sum := 0.0
		for l, y := range row {
			sum += v[l] * y
		}
		out[i] = sum
	}
}

// fresh stores a row with the mantissas that the seed gives elements from the index first on; 0: as it is.
func fresh[T gemm.Float](out []float64, row []T, seed, first uint64) {
	switch {
	case seed == 0:
		for l, x := range row {
			out[l] = float64(x)
		}
	case unsafe.Sizeof(*new(T)) == 4:
		for l, x := range row {
			bits := math.Float32bits(float32(x)) ^ uint32(mixed(seed+first+uint64(l))>>41)
			out[l] = float64(math.Float32frombits(bits))
		}
	default:
		for l, x := range row {
			out[l] = math.Float64frombits(math.Float64bits(float64(x)) ^ mixed(seed+first+uint64(l))>>12)
		}
	}
}

// corrupted returns an error if the result of a call has the NaN that C is filled with before, or the one around A and
// B.
func (j *verifier[T]) corrupted(result []T, call uint64) error {
	bits := mixed(call + ofC)
	unwritten := uint64(0x7ff8<<48) | bits>>13
	if unsafe.Sizeof(*new(T)) == 4 {
		unwritten = 0x7fc00000 | bits>>42
	}
	const outside = 0xfffefeff_fffefeff
	across := j.c.Cols
	if j.columns {
		across = j.c.Rows
	}
	for at, x := range result {
		row, column := at/across, at%across
		if j.columns {
			row, column = column, row
		}
		switch {
		case has(x, outside):
			return fmt.Errorf("it reads outside A or B for element (%d, %d) of C", row, column)
		case has(x, unwritten) && !j.sums:
			return fmt.Errorf("it does not write element (%d, %d) of C, or adds to what was there before", row, column)
		}
	}
	return nil
}

// untouched is corrupted for the C that was kept.
func (j *verifier[T]) untouched() error { return j.corrupted(j.kept, j.call) }

// collect copies the C that was kept, unless the times that the process has reported cannot be.
func (j *verifier[T]) collect(to []gemm.Matrix[T]) error {
	size := j.c.Rows * j.c.Cols
	if len(j.kept) == 0 {
		return errors.New("no product was computed")
	}
	for x, c := range to {
		for i := range c.Rows {
			for l := range c.Cols {
				at := i*c.Cols + l
				if j.columns {
					at = l*c.Rows + i
				}
				c.Set(i, l, j.kept[x*size+at])
			}
		}
	}
	return j.clock.err()
}
