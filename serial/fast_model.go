package serial

import (
	"cmp"
	"math"

	"gemm"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/tuned"
	"gemm/roundoff"
)

// scheme describes a level, its cost, and, of fewer than eight products, how errors grow. Temporaries and additions are
// counted for one level with the half dimensions m, n and k.
type scheme struct {
	products    int
	folds       bool                  // the additions of the last level are folded into foldingLeaf
	temporaries func(m, n, k int) int // elements
	a, b, c     int                   // additions of quarters of A, of B and of C
	again       int                   // quarters of C that an addition finds in L2, from the one before
	// grown returns the growth of errors in a product whose products, of k terms, have g.
	grown func(g growth, k, u float64) growth
	// untuned returns the cutoff on a host that was not tuned.
	untuned func() int
}

// foldingLeaf is the name of packed, the leaf that additions are folded into.
const foldingLeaf = "serial/packed"

// added returns the number of elements that are added, for quarters of that size.
func (s scheme) added(half size) float64 {
	return float64(s.a)*half.a + float64(s.b)*half.b + float64(s.c)*half.c
}

// workspace returns the elements of the temporaries of all levels, the last one excluded if it is folded. The
// temporaries of a level are at most a quarter of the operands, all together a third.
func (s scheme) workspace(m, n, k, cutoff int, fold bool) int {
	need := 0
	for divides(m, n, k, cutoff) && !(fold && lastLevel(m, n, k, cutoff)) {
		m, n, k = m/2, n/2, k/2
		need += s.temporaries(m, n, k)
	}
	return need
}

// divides reports whether an m×n×k product is halved. A level saves time in proportion to mnk, and
// costs time in proportion to mk + kn + mn. So it pays if the harmonic mean of m, n and k exceeds
// the cutoff, which is the break-even size of cubes (Higham, Exploiting Fast Matrix Multiplication
// Within the Level 3 BLAS, ACM TOMS 16(4), 1990, section 3).
func divides(m, n, k, cutoff int) bool {
	x, y, z := float64(m), float64(n), float64(k)
	return min(m, n, k) > 1 && 3*x*y*z > float64(cutoff)*(x*y+y*z+z*x)
}

// lastLevel reports whether the halves of an m×n×k product are left to the leaf. Their
// additions can then be folded into it.
func lastLevel(m, n, k, cutoff int) bool { return !divides(m/2, n/2, k/2, cutoff) }

// Undivided returns leaf if a recursion down to the cutoff does not halve the product once, and
// leaves all of it to the leaf. Otherwise it returns "".
func Undivided(s gemm.Shape, cutoff int, leaf string) string {
	if divides(s.M, s.N, s.K, cutoff) {
		return ""
	}
	return leaf
}

// leafPart is one kind of product that the leaf of a recursion computes.
type leafPart struct {
	times, zeroed float64 // how often, and the elements made zero before
	size
	gemm.Model
}

// model predicts the cost of the recursion, level by level: the additions, the peeled parts and the leaves. leaf is the
// model of the leaf. folded is the workspace of a product that additions are folded into, nil if there is none.
func (s scheme) model(shape gemm.Shape, cutoff int, leaf func(gemm.Shape) gemm.Model,
	folded func(m, n, k int) int) gemm.Model {
	whole := sizeOf(shape)
	if whole.terms == 0 {
		return whole.model(0, nil)
	}
	m, n, k := shape.M, shape.N, shape.K
	var parts []leafPart
	products := 1.0            // of this level
	sums, moved := 0.0, 0.0    // elements that are added so far, and that are moved for it
	again := 0.0               // the moved elements that are in L2
	largest, zeros := 0.0, 1.0 // workspace of a leaf; share of its C that is made zero before
	count := func(times, zeroed float64, m, n, k int) {
		part := gemm.Shape{M: m, N: n, K: k}
		model := leaf(part)
		largest = max(largest, model.Workspace)
		parts = append(parts, leafPart{times, zeroed, sizeOf(part), model})
	}
	workspace := s.workspace(m, n, k, cutoff, folded != nil)
	for divides(m, n, k, cutoff) {
		last := lastLevel(m, n, k, cutoff)
		m2, n2, k2 := m&^1, n&^1, k&^1
		if k > k2 {
			count(products, 0, m2, n2, 1)
		}
		if n > n2 {
			count(products, float64(m2), m2, 1, k)
		}
		if m > m2 {
			count(products, float64(n), 1, n, k)
		}
		m, n, k = m/2, n/2, k/2
		half := sizeOf(gemm.Shape{M: m, N: n, K: k})
		sums += products * s.added(half)
		if folded != nil && last {
			// One more term is read as it is packed, one more quarter of C read and written.
			moved += products * (s.added(half) + float64(s.c)*half.c)
			largest, zeros = max(largest, float64(folded(m, n, k))), 0
		} else {
			// A sum reads two elements, and writes one after reading its line.
			moved += 4 * products * s.added(half)
			again += products * float64(s.again) * half.c
		}
		products *= float64(s.products)
	}
	count(products, zeros*float64(m)*float64(n), m, n, k)

	model := gemm.Model{Flops: sums, Accesses: 3 * sums, Workspace: float64(workspace) + largest}
	for _, part := range parts {
		model.Flops += part.times * part.Flops
		// The model of a leaf makes all of its C zero.
		model.Accesses += part.times * (part.Accesses - part.c + part.zeroed)
	}
	model.Traffic = func(cache, line float64) float64 {
		if whole.a+whole.b+whole.c+float64(workspace) <= cache {
			return whole.once()
		}
		traffic := moved
		if cache >= tilesHeld*tileRows*tileCols {
			traffic -= again
		}
		for _, part := range parts {
			traffic += part.times * part.Traffic(cache, line)
		}
		return max(traffic, whole.once())
	}
	return model
}

// serialModel is the model with the parameters cutoff and leaf.
func (s scheme) serialModel(shape gemm.Shape, p gemm.Params) gemm.Model {
	leaf := leafModel(p.Text("leaf"))
	var folded func(m, n, k int) int
	if s.folds && p.Text("leaf") == foldingLeaf {
		folded = sumWorkspace(block.Serial)
	}
	return s.model(shape, p.Int("cutoff"), leaf, folded)
}

// sumWorkspace returns the workspace of products of sums, in elements of the type that has more.
func sumWorkspace(loop Loop) func(m, n, k int) int {
	f64, f32 := block.Host[float64](loop), block.Host[float32](loop)
	return func(m, n, k int) int { return max(f64.SumWorkspace(m, n, k), f32.SumWorkspace(m, n, k)) }
}

// StrassenModel predicts the costs of NewStrassen's product.
func StrassenModel(shape gemm.Shape, cutoff int, loop Loop) gemm.Model {
	leaf := func(s gemm.Shape) gemm.Model { return PackedModel(s, loop) }
	return strassenScheme.model(shape, cutoff, leaf, sumWorkspace(loop))
}

// StrassenBound returns the bound on the error of NewStrassen's product. cutoff returns its cutoff.
func StrassenBound(cutoff func(gemm.Params) int) gemm.Bound { return strassenScheme.bound(cutoff) }

// StrassenCutoff describes the parameter cutoff of NewStrassen with several workers; see SharedCutoff.
func StrassenCutoff() gemm.Param {
	p := cutoffParam(0, meanDoc+"; 0: by the workers")
	p.Min = 0
	return p
}

// SharedCutoff returns the cutoff that NewStrassen uses for the parameters and the number of workers. If it is 0, it
// grows with that number: workers multiply that much faster, and memory, which limits the additions of a level, does
// not become faster with them. So the cutoff of w workers is w times the cutoff of one worker, measured or known.
// On 16 cores of a Xeon, a level at n = 4096 takes 0.96, 0.96, 0.98, 1.07 and 1.41 of the time of
// packed with 1, 2, 4, 8 and 16 workers.
func SharedCutoff(p gemm.Params, workers int) int {
	return cmp.Or(p.Int("cutoff"), tunedCutoff(strassenCutoff())*workers)
}

// fullWidth reports whether the micro-kernels have AVX-512 vectors with full-width
// units. A core that multiplies twice as fast waits for the same memory, so a level pays later.
func fullWidth() bool { return kernel.Best[float64]().Lanes > 4 && cpu.FullWidthAVX512() }

// strassenCutoff is the cutoff of strassen on a host that was not tuned. With vectors of AVX2, or
// with AVX-512 in two halves, strassen is faster than packed from n ≈ 500 on. A core of a Xeon
// gains nothing at 1024, and an eighth of the time at 2048.
func strassenCutoff() int {
	if fullWidth() {
		return 1200
	}
	return 500
}

// winogradCutoff is the cutoff of winograd on a host that was not tuned. With vectors of AVX2, or
// with AVX-512 in two halves, a level pays from n ≈ 400 on.
func winogradCutoff() int {
	if fullWidth() {
		return 1200
	}
	return 380
}

// tunedCutoff returns the default cutoff of strassen and winograd: from gemm tune on this host, or
// else untuned. gemm tune measures strassen. Winograd's additions take another share of the time,
// and so do products on several workers; their cutoffs keep the ratio of the untuned ones. A
// variant has one default for both of its types. If they differ it is the larger one, at which
// neither loses. They seldom differ, since float32 halves the time of additions and products alike.
func tunedCutoff(untuned int) int {
	f64, _ := tuned.For("f64", kernel.Best[float64]().Name)
	f32, _ := tuned.For("f32", kernel.Best[float32]().Name)
	if cutoff := max(f64.Cutoff, f32.Cutoff); cutoff > 0 {
		return cutoff * untuned / strassenCutoff()
	}
	return untuned
}

// bound returns the bound on the error of the recursion down to the cutoff. It is normwise: for an element of C,
// compared with max|A|·max|B|. There is no componentwise bound, since the differences of the schemes cancel (Higham,
// 2nd ed., section 23.2.2).
//
// Worst follows the rounding errors through the recursion, to all orders, beginning with k·γ_k of the
// leaf. Its first-order part is
//
//	F = first(first(…(k₀²)…))
//
// for a leaf of k₀ terms. A peeled term adds its product and one rounding of an element of C, which is at
// most k. The peeled rows and columns of C are classical products.
//
// Random: to first order, the error of an element is Σ w_i·δ_i over all roundings δ_i, with Σ|w_i| ≤ F.
// Every |w_i| is at most W, the largest weight, so Σ w_i² ≤ W·F. If the δ_i are independent with mean
// zero and |δ_i| ≤ u, Hoeffding's inequality gives |Σ w_i·δ_i| ≤ λ·u·√(W·F), except with a probability
// of 2·exp(−λ²/2) per element. The higher orders of Worst are added.
func (s scheme) bound(cutoff func(gemm.Params) int) gemm.Bound {
	grown := func(shape gemm.Shape, p gemm.Params, u float64) growth {
		return s.growth(shape.M, shape.N, shape.K, cutoff(p), u)
	}
	return gemm.Bound{
		Kind:  gemm.Normwise,
		Worst: func(shape gemm.Shape, p gemm.Params, u float64) float64 { return grown(shape, p, u).worst },
		Random: func(shape gemm.Shape, p gemm.Params, u float64) float64 {
			g := grown(shape, p, u)
			lambda := roundoff.Confidence(float64(shape.M) * float64(shape.N))
			higher := max(0, g.worst-u*g.first)
			return math.Min(g.worst, lambda*u*math.Sqrt(g.weight*g.first)+higher)
		},
		// A rounding enters with the weight of the number that is rounded.
		Largest: func(shape gemm.Shape, p gemm.Params) float64 { return grown(shape, p, 0).weight },
	}
}

// growth is how the errors of a product have grown, for max|A| = max|B| = 1.
type growth struct {
	worst  float64 // bound on |Ĉ − C|
	first  float64 // its first-order part, over u
	weight float64 // bound on the weight of one rounding
}

func (s scheme) growth(m, n, k, cutoff int, u float64) growth {
	terms := float64(k)
	classical := growth{worst: terms * roundoff.Gamma(terms, u), first: terms * terms, weight: terms}
	if !divides(m, n, k, cutoff) {
		return classical
	}
	g := s.grown(s.growth(m/2, n/2, k/2, cutoff, u), float64(k/2), u)
	if k%2 != 0 {
		g = growth{(g.worst+u)*(1+u) + terms*u, g.first + 1 + terms, max(g.weight, terms)}
	}
	if m%2 != 0 || n%2 != 0 {
		g = growth{max(g.worst, classical.worst), max(g.first, classical.first), max(g.weight, terms)}
	}
	return g
}

// rounding returns (1+u)^times − 1, the relative error of the given number of roundings.
func rounding(times, u float64) float64 { return math.Expm1(times * math.Log1p(u)) }

// strassenGrown returns the growth of errors in a level of strassen, whose products have k terms and the growth g.
// For max|A| = max|B| = 1 and the error ε of a product:
//
//	M₁, M₆, M₇  at most 4k, with an error of 4ε, and 8k·u for the two sums
//	M₂ to M₅    at most 2k; 2ε + 2k·u
//	M₇ + M₁     six products of quarters do not cancel: 6k·u for its own rounding
//	+ M₄ − M₅   four, then two: 4k·u + 2k·u
//
// In all 12ε + 32k·u for C₁₁, and as much for C₂₂, the largest. Higham's recurrence is F(2k) = 12·F(k) + 25·2k.
func strassenGrown(g growth, k, u float64) growth {
	four := 4*math.Pow(1+u, 2)*g.worst + 4*k*rounding(2, u)
	two := 2*(1+u)*g.worst + 2*k*u
	c := 2*four*(1+u) + 6*k*u
	c = (c+two)*(1+u) + 4*k*u
	return growth{worst: (c+two)*(1+u) + 2*k*u, first: 12*g.first + 32*k, weight: max(4*g.weight, 6*k)}
}

// winogradGrown is strassenGrown for winograd:
//
//	P₁, P₂   at most k, with the error ε of a product
//	P₃, P₄   at most 4k; 4ε, and 9k·u for T₄ or for S₄, of whose four terms one
//	         is rounded once, one twice and two three times
//	P₅, P₇   at most 4k; 4ε + 8k·u
//	P₆       at most 9k; 9ε, and 30k·u for S₂ and T₂, of whose terms one is rounded once and two twice
//	U₂       10k·u for its own rounding: 10ε + 40k·u in all
//	U₃, U₄   14k·u for their own: 14ε + 62k·u
//	C₁₂, C₂₁ 18k·u for their own: 18ε + 89k·u, the largest
//
// A weight: P₆ is a product of operands up to 3. The last sums are at most 18k on the way. An element of S₁ or T₁
// is at most 2, and enters three products with factors of 6 in all. Higham's recurrence is
// F(2k) = 18·F(k) + 48·2k, with 96k in place of 89k.
func winogradGrown(g growth, k, u float64) growth {
	e, once, twice, thrice := g.worst, rounding(1, u), rounding(2, u), rounding(3, u)
	p3 := 4*math.Pow(1+u, 3)*e + k*(once+twice+2*thrice)
	p7 := 4*math.Pow(1+u, 2)*e + 4*k*twice
	p6 := 9*math.Pow(1+u, 4)*e + k*(once+2*twice)*(6+once+2*twice) // (3+δ)² − 3²
	u2 := (e+p6)*(1+u) + 10*k*u
	u3 := (u2+p7)*(1+u) + 14*k*u
	return growth{worst: (u3+p3)*(1+u) + 18*k*u, first: 18*g.first + 89*k, weight: max(9*g.weight, 18*k, 12)}
}
