package cuda

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/ladder"
	"gemm/gemmtest"
)

// TestResiduesCompile compiles the kernels before and after the product of planes, without warnings and spills.
func TestResiduesCompile(t *testing.T) {
	l := caching(t)
	for name, arch := range map[string]string{"ozaki-mma": "8.0", "ozaki-wgmma": "9.0"} {
		for _, count := range []int{ladder.LeastModuli, ladder.DefaultModuli, 16, len(ladder.Moduli)} {
			g := h200
			g.Capability = arch
			q, err := rung(t, "f64", name).Sequence(g, gemm.Cube(300), Plain, Operand{256, 300}, Operand{256, 300},
				Operand{256, 300}, gemm.Params{"moduli": count})
			gemmtest.Must(t, err)
			for _, launch := range q.Launches {
				image, err := l.Compile(launch.Program)
				if errors.Is(err, gemm.ErrUnavailable) {
					continue // the compiler is too old for the GPU
				}
				gemmtest.Must(t, err)
				k, ok := image.Kernels[launch.Kernel]
				t.Logf("%s, %d moduli, %s: %d registers, %d bytes spilled, %d shared", name, count, launch.Kernel,
					k.Registers, k.Spills, k.Shared)
				if !ok || image.Warnings != "" || k.Spills > 0 {
					t.Errorf("%s: %+v %s", launch.Kernel, k, image.Warnings)
				}
			}
		}
	}
}

// macro returns the numbers of a macro in the order in which they stand.
func macro(t *testing.T, options []string, name string) (out []*big.Int) {
	t.Helper()
	for _, o := range options {
		text, ok := strings.CutPrefix(o, "-D"+name+"=")
		for _, number := range regexp.MustCompile(`-?\d+`).FindAllString(text, -1) {
			if x, valid := new(big.Int).SetString(number, 10); ok && valid {
				out = append(out, x)
			}
		}
	}
	if out == nil {
		t.Fatalf("there is no %s in %q", name, options)
	}
	return out
}

// emulated is residues.cu and an engine in Go, with the macros of the kernels.
type emulated struct {
	r                    ladder.Residues
	planes, of, quotient []*big.Int
	product              *big.Int
	split                [2][]*big.Int // of A and of B
}

func emulate(t *testing.T, r ladder.Residues) emulated {
	o, product := r.Options(), new(big.Int)
	for i, word := range macro(t, o, "PRODUCT") {
		product.Or(product, word.Lsh(word, uint(16*i)))
	}
	return emulated{r, macro(t, o, "PLANES"), macro(t, o, "WEIGHTS"), macro(t, o, "QUOTIENT"), product,
		[2][]*big.Int{macro(t, o, "SPLIT_A"), macro(t, o, "SPLIT_B")}}
}

// reduced returns the residue of x by a Reduction, whose words are of 4 bytes each.
func reduced(x *big.Int, by []*big.Int) int64 {
	m, start, centre, words := by[0].Int64(), by[1].Int64(), float64(by[2].Int64()), by[3:]
	bytes := make([]byte, 4*len(words))
	new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes)-1))).FillBytes(bytes)
	for i, b := range bytes { // the highest first
		at := len(bytes) - 1 - i
		start += int64(b) * int64(int8(words[at/4].Int64()>>(8*(at%4))))
	}
	return residue(start, m, centre)
}

// residue returns what the kernels make of the bits of a float32.
func residue(bits, m int64, centre float64) int64 {
	x := math.Float32frombits(uint32(bits))
	if x < 1<<23 || x >= 1<<24 {
		panic("a sum is no integer in single precision")
	}
	q := float32(math.FMA(float64(x), float64(1/float32(m)), centre)) // the product is exact in double precision
	return int64(int8(bits - int64(math.Float32bits(q))*m))
}

// scale returns the power of two of a vector, and its integers.
func (e emulated) scale(v []float64) (int, []*big.Int) {
	most, sum := 0.0, new(big.Float).SetPrec(200)
	for _, x := range v {
		most = max(most, math.Abs(x))
		y := new(big.Float).SetPrec(200).SetFloat64(x)
		sum.Add(sum, y.Mul(y, y))
	}
	out := make([]*big.Int, len(v))
	for i := range v {
		out[i] = new(big.Int)
	}
	if most == 0 {
		return 0, out
	}
	f, shift := e.r.Range(len(v))
	limit := new(big.Float).SetMantExp(big.NewFloat(float64(f)), 2*shift)
	s := 0
	for new(big.Float).SetMantExp(sum, 2*s).Cmp(limit) > 0 {
		s--
	}
	for new(big.Float).SetMantExp(sum, 2*s+2).Cmp(limit) <= 0 {
		s++
	}
	for i, x := range v {
		y, _ := new(big.Float).SetMantExp(new(big.Float).SetFloat64(x), s).Float64()
		big.NewFloat(math.Round(y)).Int(out[i])
	}
	return s, out
}

// multiply returns the product of two vectors.
func (e emulated) multiply(t *testing.T, a, b []float64) float64 {
	t.Helper()
	scaleA, x := e.scale(a)
	scaleB, y := e.scale(b)
	exact, sum, shares := new(big.Int), new(big.Int), int64(0)
	for p := range x {
		exact.Add(exact, new(big.Int).Mul(x[p], y[p]))
	}
	groups, words := (int(e.r)+3)/4, len(e.split[0])/int(e.r)
	for l := range int(e.r) {
		byA, byB := e.split[0][words*l:words*(l+1)], e.split[1][words*l:words*(l+1)]
		var product int32
		for p := range x {
			u, v := reduced(x[p], byA), reduced(y[p], byB)
			if d := new(big.Int).Sub(x[p], big.NewInt(u)); d.Rem(d, big.NewInt(ladder.Moduli[l])).Sign() != 0 {
				t.Fatalf("%d modulo %d is not %d", x[p], ladder.Moduli[l], u)
			}
			product += int32(u * v)
		}
		z := reduced(big.NewInt(int64(product)), e.planes[4*l:4*l+4])
		byteOf := func(all []*big.Int, d int) int64 {
			return all[d*groups+l/4].Int64() >> (l % 4 * 8) & 255
		}
		for d := range len(e.of) / groups {
			part := new(big.Int).Mul(big.NewInt(z), big.NewInt(byteOf(e.of, d)))
			sum.Add(sum, part.Lsh(part, uint(8*d)))
		}
		shares += z * (byteOf(e.quotient, 0) + byteOf(e.quotient, 1)<<8)
	}
	q := big.NewInt((shares + 1<<22) >> 23)
	sum.Sub(sum, q.Mul(q, e.product))
	if sum.Cmp(exact) != 0 {
		t.Fatalf("%d moduli: the integer is %v, want %v", e.r, sum, exact)
	}
	c, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(exact), -scaleA-scaleB).Float64()
	return c
}

// TestResidues computes products as the kernels do, of adversarial operands, and compares the integers with the exact
// ones and the results with the bound.
func TestResidues(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	normal := func(int) float64 { return random.NormFloat64() }
	operands := map[string][2]func(p int) float64{
		"normal":   {normal, normal},
		"positive": {func(int) float64 { return random.Float64() }, func(int) float64 { return random.Float64() }},
		"mixed":    {func(p int) float64 { return math.Ldexp(1+random.Float64(), -30*(p%2)) }, normal},
		"opposite": {func(p int) float64 { return math.Ldexp(1, -30*(p%2)) }, func(p int) float64 {
			return math.Ldexp(1, -30*(1-p%2))
		}},
		"cancel":  {func(p int) float64 { return 1 + float64(p/2)/3 }, func(p int) float64 { return float64(1 - p%2*2) }},
		"hilbert": {func(p int) float64 { return 1 / float64(p+1) }, func(p int) float64 { return 1 / float64(p+7) }},
		"graded":  {func(p int) float64 { return math.Exp2(float64(-p)) }, func(p int) float64 { return math.Exp2(float64(p)) }},
		"one":     {func(p int) float64 { return float64(1/(p+1)) * 0x1.fffffffffffffp0 }, normal},
		"huge": {func(int) float64 { return 1e300 * random.Float64() },
			func(int) float64 { return 1e-300 * random.NormFloat64() }},
		"tiny": {func(int) float64 { return 0x1p-1060 * random.Float64() },
			func(int) float64 { return 0x1p1000 * random.NormFloat64() }},
		"zero": {func(int) float64 { return 0 }, normal},
	}
	for count := ladder.LeastModuli; count <= len(ladder.Moduli); count++ {
		e := emulate(t, ladder.Residues(count))
		for name, of := range operands {
			for _, k := range []int{1, 2, 33, 700} {
				a, b, exact := make([]float64, k), make([]float64, k), new(big.Float).SetPrec(4000)
				normA, normB := 0.0, 0.0
				for p := range k {
					a[p], b[p] = of[0](p), of[1](p)
					normA, normB = math.Hypot(normA, a[p]), math.Hypot(normB, b[p])
					product := new(big.Float).SetPrec(200).SetFloat64(a[p])
					exact.Add(exact, product.Mul(product, new(big.Float).SetFloat64(b[p])))
				}
				got := e.multiply(t, a, b)
				err, _ := exact.Sub(exact, new(big.Float).SetFloat64(got)).Float64()
				bound := ladder.ByResidues.Bound.Worst(gemm.Shape{M: 1, N: 1, K: k}, gemm.Params{"moduli": count}, 0x1p-53)
				if !(math.Abs(err) <= normA*normB*bound+0x1p-1074) {
					t.Errorf("%d moduli, %s, k = %d: the error is %v, above %v", count, name, k, err, normA*normB*bound)
				}
			}
		}
	}
}

// TestModuli checks that no two moduli have a common divisor, what the constants say of them, and that every sum of twelve
// bytes times weights is reduced to a byte.
func TestModuli(t *testing.T) {
	planes := emulate(t, ladder.Residues(len(ladder.Moduli))).planes
	for i, x := range ladder.Moduli {
		centre := planes[4*i+2].Int64()
		for sum := int64(-12 * 255 * 128); sum <= 12*255*128; sum++ {
			bits := int64(math.Float32bits(float32((3<<22-centre)*x))) + sum
			if r := residue(bits, x, float64(centre)); (sum-r)%x != 0 {
				t.Fatalf("%d modulo %d is not %d", sum, x, r)
			}
		}
		for _, y := range ladder.Moduli[:i] {
			if new(big.Int).GCD(nil, nil, big.NewInt(x), big.NewInt(y)).Int64() != 1 || x >= y {
				t.Errorf("%d comes after %d", x, y)
			}
		}
	}
	all, fewest := ladder.Residues(len(ladder.Moduli)), ladder.Residues(ladder.LeastModuli)
	if n, wide := ladder.Residues(16).Norm(1), all.Norm(1); !(n > 1<<62 && n < 1<<63) || !(wide > 1<<77 && wide < 1<<78) {
		t.Errorf("the largest norms are %v and %v", n, wide)
	}
	if n := ladder.Residues(ladder.DefaultModuli).Norm(1 << 17); !(n > 1<<54) || !(fewest.Norm(1<<17) > 0x1p26) {
		t.Errorf("norms are %v and %v", n, fewest.Norm(1<<17))
	}
	for _, n := range []int{1, 6, 21} {
		if _, err := ladder.ResiduesOf(gemm.Params{"moduli": n}); !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%d moduli: %v", n, err)
		}
	}
}

// TestPanels runs the launches of a product whose planes do not fit, on integers in place of residues.
func TestPanels(t *testing.T) {
	value := func(i int) int32 { return int32(i*i%11) - 5 }
	for _, test := range []struct {
		name         string
		s            gemm.Shape
		free         int64
		transA       bool
		splits, join int
	}{
		{"ozaki-mma", gemm.Shape{M: 40, N: 70, K: 300}, 0, false, 1, 1},
		{"ozaki-mma", gemm.Shape{M: 300, N: 520, K: 300}, 3 << 20, false, 2 * 3 * 3, 2 * 3},
		{"ozaki-wgmma", gemm.Shape{M: 300, N: 520, K: 100}, 3 << 20, true, 2 * 3, 2 * 3},
		{"ozaki-wgmma", gemm.Shape{M: 600, N: 64, K: 100}, 2_500_000, false, 3, 3},
	} {
		g, s, lda, ldb, ldc := h200, test.s, test.s.K+1, test.s.N+2, test.s.N+3
		g.Free = test.free
		op := Plain
		if op.TransA = test.transA; test.transA {
			lda = s.M + 1
		}
		q, err := rung(t, "f64", test.name).Sequence(g, s, op, Operand{256, lda}, Operand{256, ldb}, Operand{256, ldc}, nil)
		gemmtest.Must(t, err)
		if test.free > 0 && q.Work > test.free {
			t.Errorf("%v: %d bytes", test, q.Work)
		}
		work, c, splits, joins := make([]int32, q.Work), make([]int32, s.M*ldc), 0, 0
		for _, l := range q.Launches {
			x := func(i int) int { return int(uint32(l.Arguments[i].Bits)) }
			switch l.Kernel {
			case "split":
				splits++
				for o := range 2 { // of A and of B
					at, ld, to, deep := x(4+3*o)/8, x(5+3*o), x(12+o), x(14)
					for v := range ceil(x(o), vectorsOfBlock) * vectorsOfBlock {
						for p := range deep {
							element := (x(3)+p)*ld + v
							if x(6+3*o) != 0 { // along
								element = v*ld + x(3) + p
							}
							if work[to+v*deep+p] = 0; v < x(o) && p < x(2) {
								work[to+v*deep+p] = value(at + element + o)
							}
						}
					}
				}
			case MainKernel:
				for i := range x(0) {
					for j := range x(2) {
						sum := &work[x(9)+i*x(2)+j]
						if x(8) == 0 {
							*sum = 0
						}
						for p := range x(3) {
							*sum += work[x(5)+i*x(3)+p] * work[x(6)+j*x(3)+p]
						}
					}
				}
			case "join":
				joins++
				row, column := x(15)/8/ldc, x(15)/8%ldc
				scales := q.Launches[0].Arguments[11:]
				if x(10) != int(scales[0].Bits)+4*row || x(11) != int(scales[1].Bits)+4*column {
					t.Errorf("%v: scales of %d, %d", test, row, column)
				}
				for i := range x(0) {
					for j := range x(1) {
						c[x(15)/8+i*ldc+j] = work[x(12)+i*x(13)+j]
					}
				}
			}
		}
		if splits != test.splits || joins != test.join {
			t.Errorf("%v: %d splits, %d joins", test, splits, joins)
		}
		for i := range s.M {
			for j := range s.N {
				want := int32(0)
				for p := range s.K {
					at := i*lda + p
					if test.transA {
						at = p*lda + i
					}
					want += value(at) * value(p*ldb+j+1)
				}
				if got := c[i*ldc+j]; got != want {
					t.Fatalf("%v: element %d, %d is %d, want %d", test, i, j, got, want)
				}
			}
		}
	}
	g := h200
	g.Free = 2 << 20
	if _, err := rung(t, "f64", "ozaki-wgmma").Sequence(g, gemm.Cube(1000), Plain, Operand{256, 1000}, Operand{256, 1000},
		Operand{256, 1000}, nil); !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "are lacking") {
		t.Error(err)
	}
}
