package ladder

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"gemm"
	"gemm/roundoff"
)

// Moduli are what integers are reduced by: at most 256, no two with a common divisor, the largest first. 20 of them hold
// products of integers of 77 bits.
var Moduli = []int64{256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173}

// The least number of moduli, with which integers up to 64 are multiplied exactly for every k that has an exact sum in
// double precision, and the number that is chosen: with it an error that an integer is rounded by is at most the
// roundoff of double precision, 2⁻⁵³, relative to the norm of its vector.
const (
	LeastModuli   = 7
	DefaultModuli = 14
)

// Residues are the first moduli, as many as it says.
type Residues int

// ResiduesOf returns what the parameter moduli says: 0 is the default.
func ResiduesOf(p gemm.Params) (Residues, error) {
	n, _ := p["moduli"].(int)
	if n == 0 {
		n = DefaultModuli
	}
	if n < LeastModuli || n > len(Moduli) {
		return 0, fmt.Errorf("%w: moduli is %d, must be %d to %d", gemm.ErrParam, n, LeastModuli, len(Moduli))
	}
	return Residues(n), nil
}

// Product returns P, the product of the moduli.
func (r Residues) Product() *big.Int {
	p := big.NewInt(1)
	for _, m := range Moduli[:r] {
		p.Mul(p, big.NewInt(m))
	}
	return p
}

// words returns how many words of 32 bits the integers have. Norms with 16 moduli are less than 2⁶³.
func (r Residues) words() int { return 2 + int(r)/17 }

// Norm returns R, the largest norm of a vector of k integers before they are rounded. Rounding adds at most √k/2. So an
// element of the product is at most P/2·(1 − 2⁻¹¹), and 2⁻¹² are left for the error of the quotient by P: it is the sum
// of at most 20 residues, of at most 128, times 1/m with an error of 2⁻²⁴.
func (r Residues) Norm(k int) float64 {
	p, _ := new(big.Float).SetInt(r.Product()).Float64()
	return math.Sqrt(p/2*(1-0x1p-11))*(1-0x1p-40) - math.Sqrt(float64(k))/2
}

// Range returns R² as f·4ᵉ, 1 ≤ f < 4, rounded down.
func (r Residues) Range(k int) (f float32, e int) {
	norm := r.Norm(k)
	fraction, exponent := math.Frexp(norm * norm)
	e = (exponent - 1) >> 1
	return math.Nextafter32(float32(math.Ldexp(fraction, exponent-2*e)), 1), e
}

// symmetric returns x modulo m between −m/2 and m/2.
func symmetric(x *big.Int, m int64) int64 {
	y := new(big.Int).Mod(x, big.NewInt(m)).Int64()
	if 2*y >= m {
		y -= m
	}
	return y
}

// magic is a float32 whose neighbours are integers.
const magic = 3 << 22

// reduction returns the initialiser of a Reduction of residues.cu: with 256ⁱ·factor modulo m for the given number of bytes,
// four to a word.
func reduction(bytes int, factor *big.Int, m int64) string {
	var words []int32
	var word uint32
	for i := range bytes {
		w := symmetric(new(big.Int).Lsh(factor, uint(8*i)), m)
		word = word>>8 | uint32(uint8(w))<<24
		if i%4 == 3 {
			words = append(words, int32(word))
		}
	}
	base := magic / (256 * m) * 256 // times m: with it, a sum is an integer in a float32, and its low byte is the sum's
	bits := int64(math.Float32bits(float32(base * m)))
	bias := symmetric(new(big.Int).Lsh(factor, uint(8*bytes-1)), m)
	return fmt.Sprintf("{%d,%d,%d,%s}", m, bits-bias, magic-base, list(words))
}

// digits returns for each group of four numbers their byte d.
func digits(all []*big.Int, d int) string {
	words := make([]uint32, (len(all)+3)/4)
	for l, x := range all {
		digit := new(big.Int).And(new(big.Int).Rsh(x, uint(8*d)), big.NewInt(255))
		words[l/4] |= uint32(digit.Uint64()) << (l % 4 * 8)
	}
	return list(words)
}

// list writes an initialiser of C.
func list[T any](all []T) string {
	text := make([]string, len(all))
	for i, x := range all {
		text[i] = fmt.Sprint(x)
		if _, ok := any(x).(uint32); ok {
			text[i] += "u"
		}
	}
	return "{" + strings.Join(text, ",") + "}"
}

// Options returns the macros of residues.cu.
func (r Residues) Options() []string {
	product, one := r.Product(), big.NewInt(1)
	var split [2][]string
	var planes, of, quotient []string
	var parts, shares []*big.Int
	for _, m := range Moduli[:r] {
		part := new(big.Int).Div(product, big.NewInt(m))
		for i, factor := range []*big.Int{one, new(big.Int).ModInverse(part, big.NewInt(m))} {
			split[i] = append(split[i], reduction(4*r.words(), factor, m))
		}
		planes = append(planes, reduction(4, one, m))
		parts, shares = append(parts, part), append(shares, big.NewInt((1<<23+m/2)/m))
	}
	var whole []uint16 // P
	for d := range 4 * (r.words() + 2) {
		of = append(of, digits(parts, d))
		if d%2 == 0 {
			word := new(big.Int).Rsh(product, uint(8*d))
			whole = append(whole, uint16(word.And(word, big.NewInt(math.MaxUint16)).Uint64()))
		}
	}
	for d := range 2 {
		quotient = append(quotient, digits(shares, d))
	}
	return []string{fmt.Sprintf("-DCOUNT=%d", r), fmt.Sprintf("-DWORDS=%d", r.words()), "-DSPLIT_A=" + list(split[0]),
		"-DSPLIT_B=" + list(split[1]), "-DPLANES=" + list(planes), "-DWEIGHTS=" + list(of),
		"-DQUOTIENT=" + list(quotient), "-DPRODUCT=" + list(whole)}
}

// unit returns what an element changes by when it is rounded, at most, relative to the norm of its vector. The scale is
// the largest power of two with which a vector's norm is at most R; so the norm is more than R/2 if its upper bound is
// exact. That is the sum of k/32 squares by each of 32 lanes, whose magnitudes are rounded up to 24 bits, in single
// precision.
func (r Residues) unit(k float64) float64 {
	const ulp = 0x1p-23
	above := math.Exp(4*ulp + (k/32+8)*ulp) // of the squared norm
	return math.Sqrt(above) / r.Norm(int(k))
}

// ByResidues is the arithmetic of products by residues (Ozaki, Uchino and Imamura, Ozaki Scheme II, arXiv:2504.08009,
// 2025; the scales are by norms, as in its fast mode). With â = a + δ, |δ_p| ≤ ε‖a‖₂, and the same for b,
//
//	|Σ â_p·b̂_p − Σ a_p·b_p| ≤ ε‖a‖₂·‖b‖₁ + ε‖b‖₂·‖a‖₁ + kε²·‖a‖₂‖b‖₂
//	  ≤ (2√k·ε + kε²)·‖a‖₂‖b‖₂,
//
// and the sum of the left side is exact and rounded once. If the errors of the 2k elements are independent, with mean
// zero, the first two terms are at most λ√2·ε·‖a‖₂‖b‖₂ by Hoeffding's inequality.
var ByResidues = Arithmetic{Pipe: "int8", Compute: "ozaki", Bound: gemm.Bound{
	Kind: gemm.Euclidean, Largest: gemm.Classical.Largest,
	Worst: func(s gemm.Shape, p gemm.Params, u float64) float64 {
		return byResidues(s, p, u, 2*math.Sqrt(float64(s.K)))
	},
	Random: func(s gemm.Shape, p gemm.Params, u float64) float64 {
		k := float64(s.K)
		probable := roundoff.Confidence(float64(s.M)*float64(s.N)*k) * math.Sqrt2
		return byResidues(s, p, u, math.Min(2*math.Sqrt(k), probable))
	},
}}

func byResidues(s gemm.Shape, p gemm.Params, u, terms float64) float64 {
	r, err := ResiduesOf(p)
	if err != nil {
		return math.Inf(1)
	}
	k := float64(s.K)
	e := r.unit(k)
	x := e*terms + k*e*e
	return x + u*(1+x)
}
