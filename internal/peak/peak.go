// Package peak measures the limits of the machine: the rate of multiply-adds on registers, and the bandwidth
// of memory. The speed of a product is reported as a share of them.
//
// Both are limits of the machine, not of this program's kernels: GEMM_CPU does not lower them. cpu.Hold does.
package peak

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"gemm/gf256"
	"gemm/internal/cpu"
)

//go:generate go run -C ../kernel/_asm ./peak -out ../../peak/fma_amd64.s -pkg peak
//go:generate go run -C ../kernel/_asm ./neon peak ../../peak/fma_arm64.s

// This is the last package with code of these generators; the sums of all of it are checked by internal/kernel.
//go:generate go test ../kernel -run ^TestGenerated$ -update

// loop is a loop of multiply-adds on registers.
type loop struct {
	isa   cpu.ISA
	flops float64 // operations of a call: two per multiply-add, one per multiply-add in GF(2⁸)
	// start returns a call of the loop with accumulators of its own. A call takes a few tens of microseconds:
	// assembly cannot be preempted, and the garbage collector would wait for it.
	start func() (call func())
}

// newLoop returns the loop of a function with accumulators X and that many operations a round.
func newLoop[X any](isa cpu.ISA, flops float64, run func(x *X)) loop {
	return loop{isa, flops * repetitions, func() func() {
		x := new(X)
		return func() { run(x) }
	}}
}

// repetitions is the number of rounds over all accumulators in a call of a loop.
const repetitions = 8192

// The factors of the multiply-adds. With them, no number of rounds leads to overflow or to subnormal
// numbers, which are slow on some processors.
const (
	factorA = 1.0 / 3
	factorB = 5.0 / 7
)

// FMA returns the rate of multiply-adds, in GFLOP/s of all threads together, and the instruction set of the
// loop: the widest one of the processor, or Generic if there is no loop for it.
//
// pipe is the element type, f32, f64 or gf256. For gf256 the rate is 10⁹ multiplications with addition per second. FMA
// measures for about d, in bursts that all threads begin together, and returns the median of the bursts. It returns NaN
// if ctx ends before. threads must not exceed GOMAXPROCS; otherwise they would share processors.
func FMA(ctx context.Context, pipe string, threads int, d time.Duration) (gflops float64, isa cpu.ISA) {
	l := widest(pipe, cpu.Supported())
	rate := together(ctx, threads, d, func(int) func() float64 {
		call := l.start()
		return func() float64 {
			call()
			return l.flops
		}
	})
	return rate / 1e9, l.isa
}

// widest returns the loop for the pipe in the first of the instruction sets that has one.
func widest(pipe string, sets []cpu.ISA) loop {
	if pipe != "f32" && pipe != "f64" && pipe != "gf256" {
		panic(fmt.Sprintf("peak: no pipe %q, only f32, f64 and gf256", pipe))
	}
	for _, isa := range sets {
		if l, ok := assembly(pipe, isa); ok {
			return l
		}
	}
	switch pipe {
	case "f32":
		return portable[float32]()
	case "f64":
		return portable[float64]()
	}
	return newLoop(cpu.Generic, 8, func(x *[8]uint8) { lookUp8(repetitions, &doubles, 3, x) })
}

// doubles is the table of the elements of GF(2⁸) times 2.
var doubles = func() (table [256]uint8) {
	for i := range table {
		table[i] = gf256.Mul(gf256.New(2), gf256.New(uint8(i))).Byte()
	}
	return table
}()

// nibbles returns the products with 2 of the elements 0 to 15, and of these times 16.
func nibbles() (low, high [16]uint8) {
	for i := range uint8(16) {
		low[i], high[i] = doubles[i], doubles[i<<4]
	}
	return low, high
}

// lookUp8 sets x[i] = table[x[i]] ^ b for every i, n times. Each look-up depends on the one before, so the
// compiler cannot drop any.
func lookUp8(n int, table *[256]uint8, b uint8, x *[8]uint8) {
	x0, x1, x2, x3, x4, x5, x6, x7 := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
	for range n {
		x0, x1, x2, x3 = table[x0]^b, table[x1]^b, table[x2]^b, table[x3]^b
		x4, x5, x6, x7 = table[x4]^b, table[x5]^b, table[x6]^b, table[x7]^b
	}
	*x = [8]uint8{x0, x1, x2, x3, x4, x5, x6, x7}
}

// portable returns the loop in Go. Twelve sums and two factors fit into the sixteen registers of amd64. Other 64-bit
// architectures have 32 registers and get 24 sums, enough for four pipes with a latency of four to six cycles.
func portable[T float32 | float64]() loop {
	if runtime.GOARCH == "amd64" {
		return newLoop(cpu.Generic, 2*12, func(x *[12]T) { multiplyAdd12(repetitions, factorA, factorB, x) })
	}
	return newLoop(cpu.Generic, 2*24, func(x *[24]T) { multiplyAdd24(repetitions, factorA, factorB, x) })
}

// multiplyAdd12 sets x[i] = x[i]·a + b for every i, n times. The compiler fuses this if the architecture always has the
// instruction. The assembly adds a·b to x[i]; the compiler would compute that product only once.
func multiplyAdd12[T float32 | float64](n int, a, b T, x *[12]T) {
	x0, x1, x2, x3, x4, x5 := x[0], x[1], x[2], x[3], x[4], x[5]
	x6, x7, x8, x9, x10, x11 := x[6], x[7], x[8], x[9], x[10], x[11]
	for range n {
		x0, x1, x2, x3, x4, x5 = x0*a+b, x1*a+b, x2*a+b, x3*a+b, x4*a+b, x5*a+b
		x6, x7, x8, x9, x10, x11 = x6*a+b, x7*a+b, x8*a+b, x9*a+b, x10*a+b, x11*a+b
	}
	*x = [12]T{x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11}
}

// multiplyAdd24 is multiplyAdd12 with twice as many sums.
func multiplyAdd24[T float32 | float64](n int, a, b T, x *[24]T) {
	x0, x1, x2, x3, x4, x5 := x[0], x[1], x[2], x[3], x[4], x[5]
	x6, x7, x8, x9, x10, x11 := x[6], x[7], x[8], x[9], x[10], x[11]
	x12, x13, x14, x15, x16, x17 := x[12], x[13], x[14], x[15], x[16], x[17]
	x18, x19, x20, x21, x22, x23 := x[18], x[19], x[20], x[21], x[22], x[23]
	for range n {
		x0, x1, x2, x3, x4, x5 = x0*a+b, x1*a+b, x2*a+b, x3*a+b, x4*a+b, x5*a+b
		x6, x7, x8, x9, x10, x11 = x6*a+b, x7*a+b, x8*a+b, x9*a+b, x10*a+b, x11*a+b
		x12, x13, x14, x15, x16, x17 = x12*a+b, x13*a+b, x14*a+b, x15*a+b, x16*a+b, x17*a+b
		x18, x19, x20, x21, x22, x23 = x18*a+b, x19*a+b, x20*a+b, x21*a+b, x22*a+b, x23*a+b
	}
	*x = [24]T{x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20,
		x21, x22, x23}
}

// bursts is the number of bursts that count. One more comes before them, in which the clock frequency becomes stable.
const bursts = 5

// together runs a worker on each of a number of locked threads, and returns the median of what all of them
// do in a second, over the bursts. Each worker calls prepare once. In a burst it repeats the step that
// prepare returned, until its share of d is over; a step returns how much it did. If ctx ends, the
// bursts end and the result is NaN. A long prepare must check ctx itself.
func together(ctx context.Context, threads int, d time.Duration,
	prepare func(worker int) (step func() float64)) float64 {
	var begin [1 + bursts]sync.WaitGroup
	for i := range begin {
		begin[i].Add(threads)
	}
	rates := make([][1 + bursts]float64, threads)
	var all sync.WaitGroup
	for worker := range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			step := prepare(worker)
			for i := range begin {
				begin[i].Done()
				begin[i].Wait()
				start := time.Now()
				var done float64
				var took time.Duration
				for took <= d/(1+bursts) && ctx.Err() == nil {
					done += step()
					took = time.Since(start)
				}
				rates[worker][i] = done / took.Seconds()
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return math.NaN()
	}
	var total [bursts]float64
	for _, r := range rates {
		for i := range total {
			total[i] += r[1+i]
		}
	}
	slices.Sort(total[:])
	return total[bursts/2]
}
