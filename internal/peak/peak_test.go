package peak

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"gemm/gf256"
	"gemm/internal/cpu"
)

// TestFMA measures briefly; how fast the machine is, no test can say.
func TestFMA(t *testing.T) {
	for _, pipe := range []string{"f32", "f64", "gf256"} {
		for _, threads := range []int{1, 2} {
			gflops, isa := FMA(t.Context(), pipe, threads, 6*time.Millisecond)
			if !(gflops > 0) || math.IsInf(gflops, 0) {
				t.Errorf("%s on %d threads: %v GFLOP/s", pipe, threads, gflops)
			}
			if !slices.Contains(cpu.Supported(), isa) {
				t.Errorf("%s: instruction set %q is not one of %v", pipe, isa, cpu.Supported())
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a pipe that there is none of does not panic")
		}
	}()
	FMA(t.Context(), "f16", 1, 0)
}

func TestWidest(t *testing.T) {
	for _, pipe := range []string{"f32", "f64", "gf256"} {
		if isa := widest(pipe, []cpu.ISA{cpu.SSSE3, cpu.Generic}).isa; isa != cpu.Generic {
			t.Errorf("%s: SSSE3, which has no loop, gives %q", pipe, isa)
		}
		for _, isa := range cpu.Supported() {
			l := widest(pipe, []cpu.ISA{isa, cpu.Generic})
			withoutGFNI := pipe == "gf256" && isa == cpu.AVX512 && !slices.Contains(cpu.Supported(), cpu.AVX2)
			if isa != cpu.SSSE3 && !withoutGFNI && l.isa != isa {
				t.Errorf("%s: %q gives the loop of %q", pipe, isa, l.isa)
			}
			took := time.Hour
			for tries := 0; took > 100*time.Millisecond && tries < 20; tries++ {
				start := time.Now()
				l.start()()
				took = time.Since(start)
			}
			if took > 100*time.Millisecond {
				t.Errorf("%s %s: a call takes %v, want tens of microseconds", pipe, isa, took)
			}
		}
	}
}

// TestMultiplyAdd uses numbers whose products and sums are exact, so that fused
// and unfused code agree.
func TestMultiplyAdd(t *testing.T) {
	t.Run("f32", testMultiplyAdd[float32])
	t.Run("f64", testMultiplyAdd[float64])
}

func testMultiplyAdd[T float32 | float64](t *testing.T) {
	for _, n := range []int{0, 1, 10} {
		var x [12]T
		var y [24]T
		for i := range y {
			y[i] = T(i)
		}
		copy(x[:], y[:])
		multiplyAdd12(n, 2, 3, &x)
		multiplyAdd24(n, 2, 3, &y)
		for i := range y {
			power := T(int(1) << n)
			want := power*T(i) + 3*(power-1)
			if i < len(x) && x[i] != want || y[i] != want {
				t.Errorf("n=%d: sum %d is %v or %v, want %v", n, i, x[i%len(x)], y[i], want)
			}
		}
	}
}

// TestLookUp8 takes the polynomial's powers of 2 as its products.
func TestLookUp8(t *testing.T) {
	for _, n := range []int{0, 1, 10} {
		var x, want [8]uint8
		for i := range x {
			x[i] = uint8(40 * i)
			want[i] = x[i]
			for range n {
				want[i] = gf256.Mul(gf256.New(want[i]), gf256.New(2)).Byte() ^ 3
			}
		}
		lookUp8(n, &doubles, 3, &x)
		if x != want {
			t.Errorf("n=%d: %v, want %v", n, x, want)
		}
	}
}

func TestTogether(t *testing.T) {
	steps := make([]int, 3)
	rate := together(t.Context(), 3, 6*time.Millisecond, func(worker int) func() float64 {
		return func() float64 {
			steps[worker]++
			time.Sleep(100 * time.Microsecond)
			return 1
		}
	})
	for worker, n := range steps {
		if n < 1+bursts {
			t.Errorf("worker %d made %d steps, want at least one in each of %d bursts", worker, n, 1+bursts)
		}
	}
	if !(rate > 0 && rate <= 3*10000) {
		t.Errorf("three workers make %v steps a second; each takes at least 100 µs", rate)
	}
}

// TestEndsWithTheContext would take hours otherwise.
func TestEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rate := together(ctx, 2, time.Hour, func(int) func() float64 {
		return func() float64 {
			cancel()
			return 1
		}
	})
	if !math.IsNaN(rate) {
		t.Errorf("what has not been measured to the end has the rate %v", rate)
	}
	for _, pipe := range []string{"f32", "f64", "gf256"} {
		if gflops, _ := FMA(ctx, pipe, 2, time.Hour); !math.IsNaN(gflops) {
			t.Errorf("%s: %v GFLOP/s", pipe, gflops)
		}
	}
	if gbps := Triad(ctx, 2, 1<<20, time.Hour); !math.IsNaN(gbps) {
		t.Errorf("%v GB/s", gbps)
	}
	memory := make([]float64, 3)
	touch(ctx, memory[:1], memory[1:2], memory[2:])
	if want := []float64{0, 0, 0}; !slices.Equal(memory, want) {
		t.Errorf("memory was touched: %v", memory)
	}
	touch(t.Context(), memory[:1], memory[1:2], memory[2:])
	if want := []float64{0, 1, 2}; !slices.Equal(memory, want) {
		t.Errorf("memory is %v, want %v", memory, want)
	}
}

func TestTriad(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		if gbps := Triad(t.Context(), threads, 1<<20, 6*time.Millisecond); !(gbps > 0) || math.IsInf(gbps, 0) {
			t.Errorf("%d threads: %v GB/s", threads, gbps)
		}
	}
	if have := cpu.Available(); have > 0 {
		if gbps := Triad(t.Context(), 1, have/2, 0); !math.IsNaN(gbps) {
			t.Errorf("arrays larger than the memory give %v GB/s, want NaN", gbps)
		}
	}
	a, b, c := make([]float64, 5), []float64{1, 2, 3, 4, 5}, []float64{10, 20, 30, 40, 50}
	triad(a[:4], b, c, 0.5)
	if want := []float64{6, 12, 18, 24, 0}; !slices.Equal(a, want) {
		t.Errorf("triad gives %v, want %v", a, want)
	}
}
