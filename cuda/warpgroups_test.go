package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/ladder"
	"gemm/half"
)

// halvesOf splits an element that has been scaled, as the source of f16x3 does.
func halvesOf(x float64) (h, l float64) {
	rounded := func(x float64) float64 { return float64(half.From64[half.F16](x).Float32()) }
	h = rounded(x)
	return h, rounded((x - h) * 0x1p11)
}

// TestHalves checks what splitting leaves of an element, from the least that fits to the largest, and that the
// ranges are no wider than said.
func TestHalves(t *testing.T) {
	source := rung(t, "f32", F16x3).source()
	limits := regexp.MustCompile(`fabsf\(y\) < (0x1p-?\d+)f`).FindAllStringSubmatch(source, -1)
	if len(limits) != 2 || !strings.Contains(source, "ilogbf(max) - 14") {
		t.Fatalf("the source does not say which elements fit: %q", limits)
	}
	above, _ := strconv.ParseFloat(limits[0][1], 64)
	least, _ := strconv.ParseFloat(limits[1][1], 64)
	if above != 0x1p15 || least != 0x1p-21 {
		t.Errorf("elements between %v and %v fit", least, above)
	}
	const (
		v       = 0x1p-11 / (1 + 0x1p-11)
		full    = 0x1p-14 // from which on both parts have all bits
		largest = 65504   // of f16
	)
	random, coarse := rand.New(rand.NewPCG(1, 2)), 0.0
	for x := least; x < above; x *= 2 {
		for i := range 2000 {
			y := x * (1 + float64(random.IntN(1<<23))*0x1p-23)
			if i == 0 {
				y = x * (2 - 0x1p-23)
			}
			h, l := halvesOf(y)
			err := math.Abs(y - h - l*0x1p-11)
			if !(err <= max(v*v*y, 0x1p-36)) || !(h <= largest) || !(math.Abs(l) <= max(y, 0x1p-14)) {
				t.Errorf("%v becomes %v + %v/2¹¹ with an error of %v", y, h, l, err)
			}
			if y < full {
				coarse = max(coarse, err/y)
			} else if !(err <= v*v*y) {
				t.Errorf("%v becomes %v + %v/2¹¹: not 22 bits", y, h, l)
			}
		}
	}
	if !(coarse > 0x1p-17) {
		t.Errorf("below %v elements have an error of at most %v: the range is wider than said", full, coarse)
	}
}

// TestHalvesBound computes products as f16x3 does, where each addition of the tensor cores truncates, and compares
// them with the bound.
func TestHalvesBound(t *testing.T) {
	r := rung(t, "f32", F16x3)
	source := r.source()
	const chunkOfK = 64
	for name, n := range map[string]int{"CHUNK": chunkOfK, "PART": partOfB} {
		if want := fmt.Sprintf("#define %s %d\n", name, n); !strings.Contains(source, want) {
			t.Errorf("the source has no %q", want)
		}
	}
	truncated := func(x float64) float64 {
		if y := float64(float32(x)); math.Abs(y) <= math.Abs(x) {
			return y
		}
		return float64(math.Nextafter32(float32(x), 0))
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{1, 2, 127, 129, 5000} {
		var exact, terms, high, low float64
		var sum float32
		for p := range k {
			a, b := 0x1p14*(1+random.Float64()), 0x1p14*(1+random.Float64())
			a, b = float64(float32(a)), float64(float32(b))
			if a >= 0x1p15 || b >= 0x1p15 {
				a, b = 0x1p14, 0x1p14
			}
			exact, terms = exact+a*b, terms+math.Abs(a*b)
			ha, la := halvesOf(a)
			hb, lb := halvesOf(b)
			high = truncated(high + ha*hb)
			low = truncated(truncated(low+ha*lb) + la*hb)
			if (p+1)%chunkOfK == 0 || p+1 == k {
				sum, high = sum+float32(high), 0
			}
		}
		got := float64(sum + float32(low)*0x1p-11)
		bound := r.Bound.Worst(gemm.Shape{M: 1, N: 1, K: k}, nil, 0x1p-24) * terms
		if err := math.Abs(got - exact); !(err <= bound) {
			t.Errorf("k = %d: the error is %v, above %v", k, err, bound)
		}
	}
}

// TestOrderOfK compares the order in which to_tf32 writes each 8 values of k with the k that the lanes read of B
// for them: a lane has values lane%4 and 4 further on of an instruction.
func TestOrderOfK(t *testing.T) {
	var order []string
	for _, to := range regexp.MustCompile(`make_float4\((.*)\)`).FindAllStringSubmatch(kernels.TF32, -1) {
		order = append(order, strings.Split(to[1], ", ")...)
	}
	if len(order) != 8 {
		t.Fatalf("to_tf32 writes %q", order)
	}
	for at, x := range order {
		lane, e := at%4, at/4
		if want := fmt.Sprintf("x[%d]", lane*2+e); x != want {
			t.Errorf("value %d of an instruction is %s, lanes have %s of B", at, x, want)
		}
	}
	for _, r := range rungs {
		if r.Operands == ladder.Rounded &&
			!regexp.MustCompile(`= (lane % 4 \* 2 \+ e|2 \* t \+ v),`).MatchString(r.source()) {
			t.Errorf("%s reads another k", r.Name)
		}
	}
}

// TestTensorMaps checks what the driver wants of maps: whole pieces of 16 bytes between rows, boxes of 128 bytes that
// are at most 256 high, and something in them.
func TestTensorMaps(t *testing.T) {
	maps := 0
	for _, r := range rungs {
		if !r.Mapped() {
			continue
		}
		for _, s := range []gemm.Shape{{M: 1, N: 1, K: 1}, {M: 1, N: 3, K: 1}, {M: 257, N: 1, K: 7},
			{M: 5, N: 4096, K: 0},
			{M: 64, N: 65, K: 1 << 20}, {M: 1, N: 1 << 29, K: 1}} {
			for _, address := range []uintptr{256, 260} {
				for op, stored := range map[Operation][2]int{Plain: {s.K, s.N}, {Alpha: 0, Beta: 1}: {s.K, s.N + 1},
					{TransA: true, TransB: true, Alpha: 1}: {s.M, s.K}} {
					a, b := Operand{256, max(1, stored[0])}, Operand{address, max(1, stored[1])}
					q, err := r.Sequence(h200, s, op, a, b, Operand{256, s.N}, nil)
					if err != nil {
						t.Fatalf("%s, %v: %v", r.Name, s, err)
					}
					for _, l := range q.Launches {
						for _, x := range l.Arguments {
							if x.Map == nil {
								continue
							}
							maps++
							if why := unmappable(*x.Map, map[Buffer]uint64{BufferA: 256, BufferB: uint64(address),
								BufferWork: workAlign}[x.Buffer]+x.Bits); why != "" {
								t.Errorf("%s, %v, %+v: %s: %+v", r.Name, s, op, why, *x.Map)
							}
						}
					}
				}
			}
		}
	}
	if maps == 0 {
		t.Error("no rung has maps")
	}
}

// unmappable returns why the driver would refuse the map at an address.
func unmappable(m TensorMap, address uint64) string {
	size := m.ElementSize()
	switch {
	case address%16 != 0 || m.LD*size%16 != 0:
		return "rows do not begin at multiples of 16 bytes"
	case m.Rows < 1 || m.Cols < 1 || max(int64(m.Rows), int64(m.Cols)) > math.MaxUint32 || m.LD < m.Cols:
		return "the matrix is empty, too large, or wider than its rows"
	case int64(m.LD)*int64(size) >= 1<<40:
		return "rows are too far apart"
	case m.BoxCols*size != 128 || m.BoxRows < 1 || m.BoxRows > 256:
		return "the box is no 128 bytes wide, or too high"
	}
	return ""
}
