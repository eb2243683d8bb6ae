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
		for _, count := range []int{ladder.LeastModuli, ladder.DefaultModuli, len(ladder.Moduli)} {
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
	r                             ladder.Residues
	planes, of, quotient, product []*big.Int
	split                         [2][]*big.Int // of A and of B
}

func emulate(t *testing.T, r ladder.Residues) emulated {
	o := r.Options()
	return emulated{r, macro(t, o, "PLANES"), macro(t, o, "WEIGHTS"), macro(t, o, "QUOTIENT"),
		[]*big.Int{macro(t, o, "P_LOW")[0], macro(t, o, "P_HIGH")[0]},
		[2][]*big.Int{macro(t, o, "SPLIT_A"), macro(t, o, "SPLIT_B")}}
}

// reduced returns the residue of x by a Reduction, whose words are of 4 bytes each.
func reduced(x int64, by []*big.Int) int64 {
	m, start, centre, words := by[0].Int64(), by[1].Int64(), float64(by[2].Int64()), by[3:]
	y := uint64(x) + 1<<(32*len(words)-1)
	for i, w := range words {
		for e := range 4 {
			start += int64(uint8(y>>(32*i+8*e))) * int64(int8(w.Int64()>>(8*e)))
		}
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
func (e emulated) scale(v []float64) (int, []int64) {
	most, sum := 0.0, new(big.Float).SetPrec(200)
	for _, x := range v {
		most = max(most, math.Abs(x))
		y := new(big.Float).SetPrec(200).SetFloat64(x)
		sum.Add(sum, y.Mul(y, y))
	}
	out := make([]int64, len(v))
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
		out[i] = int64(math.Round(y))
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
		exact.Add(exact, new(big.Int).Mul(big.NewInt(x[p]), big.NewInt(y[p])))
	}
	groups := (int(e.r) + 3) / 4
	for l := range int(e.r) {
		byA, byB := e.split[0][5*l:5*l+5], e.split[1][5*l:5*l+5]
		var product int32
		for p := range x {
			u, v := reduced(x[p], byA), reduced(y[p], byB)
			if (x[p]-u)%ladder.Moduli[l] != 0 {
				t.Fatalf("%d modulo %d is not %d", x[p], ladder.Moduli[l], u)
			}
			product += int32(u * v)
		}
		z := reduced(int64(product), e.planes[4*l:4*l+4])
		byteOf := func(all []*big.Int, d int) int64 {
			return all[d*groups+l/4].Int64() >> (l % 4 * 8) & 255
		}
		for d := range 16 {
			part := new(big.Int).Mul(big.NewInt(z), big.NewInt(byteOf(e.of, d)))
			sum.Add(sum, part.Lsh(part, uint(8*d)))
		}
		shares += z * (byteOf(e.quotient, 0) + byteOf(e.quotient, 1)<<8)
	}
	q := big.NewInt((shares + 1<<22) >> 23)
	sum.Sub(sum, q.Mul(q, new(big.Int).Add(e.product[0], new(big.Int).Lsh(e.product[1], 64))))
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

// TestModuli checks that no two moduli have a common divisor, what the constants say of them, and that every sum of eight
// bytes times weights is reduced to a byte.
func TestModuli(t *testing.T) {
	planes := emulate(t, ladder.Residues(len(ladder.Moduli))).planes
	for i, x := range ladder.Moduli {
		centre := planes[4*i+2].Int64()
		for sum := int64(-8 * 255 * 128); sum <= 8*255*128; sum++ {
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
	if n := all.Norm(1); !(n > 1<<62 && n < 1<<63) {
		t.Errorf("the largest norm is %v", n)
	}
	if n := ladder.Residues(ladder.DefaultModuli).Norm(1 << 17); !(n > 1<<54) || !(fewest.Norm(1<<17) > 0x1p26) {
		t.Errorf("norms are %v and %v", n, fewest.Norm(1<<17))
	}
	for _, n := range []int{1, 6, 17} {
		if _, err := ladder.ResiduesOf(gemm.Params{"moduli": n}); !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%d moduli: %v", n, err)
		}
	}
}

// TestPanels checks that planes of large products are cut into panels that fit, which have all columns and k indices.
func TestPanels(t *testing.T) {
	for _, free := range []int64{0, 1 << 30, 100 << 20, 4 << 20} {
		g, s := h200, gemm.Shape{M: 1000, N: 5000, K: 200_000}
		g.Free = free
		q, err := rung(t, "f64", "ozaki-wgmma").Sequence(g, s, Plain, Operand{256, s.K}, Operand{256, s.N},
			Operand{256, s.N}, nil)
		if free == 4<<20 {
			if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "are lacking") {
				t.Errorf("%d bytes: %v", free, err)
			}
			continue
		}
		gemmtest.Must(t, err)
		var area, columns uint64
		for _, l := range q.Launches {
			switch l.Kernel {
			case "split":
				area += l.Arguments[1].Bits * l.Arguments[2].Bits
			case "join":
				columns += l.Arguments[1].Bits
			}
		}
		if area != uint64(s.N*s.K) || columns != uint64(s.N) || free > 0 && q.Work > free {
			t.Errorf("%d bytes: %d columns, %d elements, %d bytes", free, columns, area, q.Work)
		}
	}
}
