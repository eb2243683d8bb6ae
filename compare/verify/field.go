package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"gemm"
	"gemm/gf256"
)

// fieldProbes are the random vectors over GF(2⁸): a wrong row or column passes with probability 2⁻¹²⁷ at most.
const fieldProbes = 16

// fieldVerifier is the Verifier of products over GF(2⁸), which are exact. The residual is the number of errors: of
// elements in a small product, of columns in a wide one, of rows in another large one.
type fieldVerifier struct {
	a, b  gemm.Matrix[gf256.Elem]
	exact gemm.Matrix[gf256.Elem] // A·B of a small product
	whole bool
	// The probes, random vectors without a zero, so that one wrong element is always seen.
	y, ya []multiples             // of a wide product: Y, of as many columns as C has rows, and Y·A
	x     gemm.Matrix[gf256.Elem] // of another: n×fieldProbes
	abx   gemm.Matrix[gf256.Elem] // A·(B·x)
}

func newFieldVerifier(op Operation[gf256.Elem], seed uint64) *fieldVerifier {
	v := &fieldVerifier{a: op.A, b: op.B}
	m, k, n := v.a.Rows, v.a.Cols, v.b.Cols
	v.whole = float64(m)*float64(n) <= fullElements && float64(m)*float64(n)*float64(k) <= fullTerms
	if v.whole {
		v.exact = fieldProduct(v.a, v.b)
		return v
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	if n >= m+k {
		y, transposed := fieldVectors(m, rng), gemm.NewMatrix[gf256.Elem](k, m)
		for i := range m {
			for l, x := range v.a.Row(i) {
				transposed.Set(l, i, x)
			}
		}
		v.y, v.ya = multiplesOf(y), multiplesOf(fieldProduct(transposed, y))
		return v
	}
	v.x = fieldVectors(n, rng)
	v.abx = fieldProduct(v.a, fieldProduct(v.b, v.x))
	return v
}

// fieldVectors returns fieldProbes random vectors without a zero, as columns.
func fieldVectors(n int, rng *rand.Rand) gemm.Matrix[gf256.Elem] {
	x := gemm.NewMatrix[gf256.Elem](n, fieldProbes)
	for i := range x.Data {
		x.Data[i] = gf256.New(uint8(1 + rng.IntN(255)))
	}
	return x
}

// multiples are a vector of fieldProbes elements times each element of GF(2⁸), eight elements in a word.
type multiples [256][fieldProbes / 8]uint64

func multiplesOf(x gemm.Matrix[gf256.Elem]) []multiples {
	tables := make([]multiples, x.Rows)
	for i := range tables {
		t := &tables[i]
		for bit := range 8 {
			for j, element := range x.Row(i) {
				t[1<<bit][j/8] |= uint64(gf256.Mul(element, gf256.New(1<<bit)).Byte()) << (j % 8 * 8)
			}
		}
		for f := 1; f < 256; f++ { // the sum of the entries for its lowest bit and for its other bits
			for w := range t[f] {
				t[f][w] = t[f&-f][w] ^ t[f&(f-1)][w]
			}
		}
	}
	return tables
}

// addProbed adds to sums, one for each column of x from the given one on, the products of the
// vectors in the tables and the elements of the rows of x.
func addProbed(sums [][fieldProbes / 8]uint64, tables []multiples, x gemm.Matrix[gf256.Elem], from int) {
	for l := range tables {
		t := &tables[l]
		for j, element := range x.Row(l)[from : from+len(sums)] {
			product := &t[element.Byte()]
			for w := range product {
				sums[j][w] ^= product[w]
			}
		}
	}
}

// wrongColumns returns how many columns of c differ from A·B, by Y·C = (Y·A)·B.
func (v *fieldVerifier) wrongColumns(c gemm.Matrix[gf256.Elem]) int {
	const block = 1 << 13 // columns, whose sums stay in cache
	var wrong atomic.Int64
	parallelFor((c.Cols+block-1)/block, (v.a.Rows+v.a.Cols)*block, func(from, to int) {
		for first := from * block; first < min(to*block, c.Cols); first += block {
			sums := make([][fieldProbes / 8]uint64, min(block, c.Cols-first))
			addProbed(sums, v.y, c, first)
			addProbed(sums, v.ya, v.b, first)
			for _, sum := range sums {
				if sum != [fieldProbes / 8]uint64{} { // what is added twice is gone
					wrong.Add(1)
				}
			}
		}
	})
	return int(wrong.Load())
}

// Finite implements Verifier.
func (v *fieldVerifier) Finite() bool { return true }

// Assures implements Verifier: the check is exact.
func (v *fieldVerifier) Assures(Limit) bool { return true }

// Check implements Verifier.
func (v *fieldVerifier) Check(c gemm.Matrix[gf256.Elem], limit Limit) Verdict {
	switch {
	case v.y != nil:
		return fieldVerdict(v.wrongColumns(c), "columns", c)
	case !v.whole:
		return fieldVerdict(wrongRows(fieldProduct(c, v.x), v.abx), "rows", c)
	case isEmpty(c):
		return fieldVerdict(0, "elements", c)
	}
	return fieldVerdict(wrongElements(c, v.exact), "elements", c)
}

// wrongElements returns how many elements of got differ from want, and wrongRows how many matrix rows.
func wrongElements(got, want gemm.Matrix[gf256.Elem]) (wrong int) {
	for i := range want.Rows {
		for j, x := range want.Row(i) {
			if got.At(i, j) != x {
				wrong++
			}
		}
	}
	return wrong
}

func wrongRows(got, want gemm.Matrix[gf256.Elem]) (wrong int) {
	for i := range want.Rows {
		if !slices.Equal(got.Row(i), want.Row(i)) {
			wrong++
		}
	}
	return wrong
}

// fieldVerdict is the verdict on c, of which something is wrong that many times.
func fieldVerdict(wrong int, what string, c gemm.Matrix[gf256.Elem]) Verdict {
	out := Verdict{Limit: Limit{Kind: gemm.Exact}, Residual: float64(wrong)}
	if wrong > 0 {
		out.Reason = fmt.Sprintf("%d %s of %v are wrong", wrong, what, c)
	}
	return out
}

// fieldProduct returns A·B by way of a table of the 256 multiples of each row
// element, apart from the implementations that it checks.
func fieldProduct(a, b gemm.Matrix[gf256.Elem]) gemm.Matrix[gf256.Elem] {
	c := gemm.NewMatrix[gf256.Elem](a.Rows, b.Cols)
	if isEmpty(c) || isEmpty(a) {
		return c
	}
	var table [256][256]gf256.Elem
	for x := range 256 {
		for y := range 256 {
			table[x][y] = gf256.Mul(gf256.New(uint8(x)), gf256.New(uint8(y)))
		}
	}
	parallelFor(a.Rows, a.Cols*b.Cols, func(from, to int) {
		for i := from; i < to; i++ {
			row := c.Row(i)
			for l, x := range a.Row(i) {
				multiples := &table[x.Byte()]
				for j, y := range b.Row(l) {
					row[j] = gf256.Add(row[j], multiples[y.Byte()])
				}
			}
		}
	})
	return c
}
