package lapack

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
)

// negligible is what may be set to 0 in a matrix whose largest element is about 1.
const negligible = 8 * 0x1p-53

// bidiagonal is an upper bidiagonal matrix B = U·Σ·Vᵀ of which some rows are decomposed. It is scaled: the largest
// element is from 1/2 to 1.
type bidiagonal struct {
	impl   Implementation
	d, e   []float64 // the diagonal, in which the singular values replace the elements, and the superdiagonal
	ut, vt []float64 // Uᵀ, nil if it is not wanted, and Vᵀ, with the leading dimension ld
	ld     int
	z      []float64 // the row between two parts, multiplied by their vectors
	// M is what is left to decompose if two parts are joined: first is its first row, and its other rows have the
	// poles on the diagonal, in ascending order. poles[0] is 0.
	poles, first []float64
	x, rows      []float64 // vectors of M by rows, and a copy of Uᵀ or Vᵀ
	order        []int
}

// decomposeBidiagonal computes the singular values of the n×n matrix with the diagonal d and the superdiagonal e, in
// descending order, and the vectors Uᵀ, unless ut is nil, and Vᵀ, with the leading dimension n. The values replace d.
//
// It divides and conquers (Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16(1), 1995): nearly all work is products. The
// error of each value is of the order of the rounding error of the largest.
func (impl Implementation) decomposeBidiagonal(d, e, ut, vt []float64) {
	n, largest := len(d), 0.0
	for _, x := range append(d[:n:n], e...) {
		largest = max(largest, math.Abs(x))
	}
	_, exponent := math.Frexp(largest)
	scale := func(x []float64, exponent int) {
		for i := range x {
			x[i] = math.Ldexp(x[i], exponent)
		}
	}
	scale(d, -exponent)
	scale(e, -exponent)
	clear(ut)
	clear(vt)
	all, done := buffer(2*n*n + 3*n + 1)
	defer done()
	part := func(n int) (x []float64) { x, all = all[:n:n], all[n:]; return x }
	b := bidiagonal{impl: impl, d: d, e: e, ut: ut, vt: vt, ld: n, z: part(n + 1), poles: part(n), first: part(n),
		order: make([]int, n), x: part(n * n), rows: part(n * n)}
	b.divide(0, n, 0)
	scale(d, exponent)
	for i := range b.order {
		b.order[i] = i
	}
	slices.SortFunc(b.order, func(i, j int) int { return cmp.Compare(d[j], d[i]) })
	copy(b.z, d)
	for i, from := range b.order {
		d[i] = b.z[from]
	}
	for _, vectors := range [][]float64{ut, vt} {
		copy(b.rows, vectors)
		for i := 0; i < len(vectors); i += n {
			copy(vectors[i:i+n], b.rows[b.order[i/n]*n:])
		}
	}
}

// divide decomposes the n rows of B from row f on. They have n columns, or n+1 if extra is 1. Then row n of Vᵀ is
// orthogonal to all rows of B.
func (b *bidiagonal) divide(f, n, extra int) {
	if n == 0 {
		if extra == 1 {
			b.vt[f*b.ld+f] = 1
		}
		return
	}
	middle := n / 2
	b.divide(f, middle, 1)
	b.divide(f+middle+1, n-middle-1, extra)
	b.join(f, n, middle, extra)
}

// join decomposes n rows, of which all but the one in the middle are decomposed. Vectors of M whose element of z is
// negligible, or whose values are nearly equal, need no more work.
func (b *bidiagonal) join(f, n, middle, extra int) {
	ld, at, bi := b.ld, f*b.ld+f, b.impl.blas()
	d, z, vt, ut := b.d[f:][:n], b.z[:n+extra], b.vt[at:], b.ut
	if ut != nil {
		ut = ut[at:]
		ut[middle*ld+middle] = 1
	}
	for i := range z {
		if i <= middle {
			z[i] = d[middle] * vt[i*ld+middle]
		} else {
			z[i] = b.e[f+middle] * vt[i*ld+middle+1]
		}
	}
	if r := math.Hypot(z[middle], z[len(z)-1]); extra == 1 && r > negligible {
		bi.Drot(n+1, vt[middle*ld:], 1, vt[n*ld:], 1, z[middle]/r, z[n]/r)
		z[middle] = r
	}
	if math.Abs(z[middle]) <= negligible {
		z[middle] = negligible
	}
	d[middle] = 0
	order, kept, done := b.order[:0], []int{middle}, []int(nil)
	for i := range n {
		if i != middle {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(d[i], d[j]) })
	for _, i := range order {
		last := kept[len(kept)-1]
		switch {
		case math.Abs(z[i]) <= negligible:
			done = append(done, i)
		case last != middle && d[i]-d[last] <= negligible:
			r := math.Hypot(z[i], z[last])
			c, s := z[i]/r, -z[last]/r
			bi.Drot(n+extra, vt[last*ld:], 1, vt[i*ld:], 1, c, s)
			if ut != nil {
				bi.Drot(n, ut[last*ld:], 1, ut[i*ld:], 1, c, s)
			}
			z[i] = r
			done, kept[len(kept)-1] = append(done, last), i
		default:
			kept = append(kept, i)
		}
	}
	b.conquer(f, n, extra, kept, done)
}

// conquer decomposes M, which has the kept rows, and replaces all rows of Uᵀ and Vᵀ.
func (b *bidiagonal) conquer(f, n, extra int, kept, done []int) {
	k, at, bi := len(kept), f*b.ld+f, b.impl.blas()
	d, poles, first := b.d[f:][:n], b.poles[:k], b.first[:k]
	for i, from := range kept {
		poles[i], first[i] = d[from], b.z[from]
	}
	if k > 1 {
		poles[1] = max(poles[1], negligible/2)
	}
	z := b.z[:n]
	for i, from := range done {
		z[k+i] = d[from]
	}
	copy(d[k:], z[k:])
	for i := range k {
		d[i] = secular(i, poles, first, b.x[i*k:][:k])
	}
	// The values are exact for another z, which Löwner's formula gives. So the vectors are orthogonal.
	for j := range k {
		z[j] = -b.x[(k-1)*k+j]
	}
	for i := range k - 1 {
		for j, y := range b.x[i*k:][:k] {
			p := poles[i]
			if i >= j {
				p = poles[i+1]
			}
			z[j] *= y / ((poles[j] - p) * (poles[j] + p))
		}
	}
	for j, y := range first {
		first[j] = math.Copysign(math.Sqrt(math.Abs(z[j])), y)
	}
	for i := range k {
		row := b.x[i*k:][:k]
		for j, y := range row {
			row[j] = first[j] / y
		}
		z[i] = 1 / bi.Dnrm2(k, row, 1)
		bi.Dscal(k, z[i], row, 1)
	}
	rows := append(kept, done...)
	b.multiply(n+extra, k, rows, b.vt[at:])
	if b.ut == nil {
		return
	}
	for i := range k {
		row := b.x[i*k:][:k]
		for j, p := range poles {
			row[j] *= p
		}
		row[0] = -z[i]
		bi.Dscal(k, 1/bi.Dnrm2(k, row, 1), row, 1)
	}
	b.multiply(n, k, rows, b.ut[at:])
}

// multiply replaces rows of vectors by the products of the k vectors of M with the first of them, and by the others.
func (b *bidiagonal) multiply(cols, k int, rows []int, vectors []float64) {
	for i, from := range rows {
		copy(b.rows[i*cols:][:cols], vectors[from*b.ld:])
	}
	b.impl.blas().Dgemm(blas.NoTrans, blas.NoTrans, k, cols, k, 1, b.x, k, b.rows, cols, 0, vectors, b.ld)
	for i := k; i < len(rows); i++ {
		copy(vectors[i*b.ld:][:cols], b.rows[i*cols:])
	}
}

// secular computes the root ω between poles i and i+1 of f(ω) = 1 + Σ z²/(p²−ω²), and the differences p²−ω². The
// relative error of each difference is small, because x = ω²−p² is computed for the nearest pole p.
//
// In each iteration, the sums over the poles up to i and after i are replaced by functions of one pole each (Bunch,
// Nielsen and Sorensen, Numer. Math. 31, 1978).
func secular(i int, poles, z, differences []float64) float64 {
	const most = 30 // iterations before bisection
	var nearest, lo, hi float64
	from := func(pole float64) {
		nearest = pole
		for j, p := range poles {
			differences[j] = (p - pole) * (p + pole)
		}
	}
	from(poles[i])
	last := i == len(poles)-1
	if last {
		for _, z := range z {
			hi += z * z
		}
	} else {
		hi = differences[i+1] / 2
	}
	x := hi
	for count := 0; ; count++ {
		psi, dpsi := sums(z[:i+1], differences, x)
		phi, dphi := sums(z[i+1:], differences[i+1:], x)
		f := 1 + psi + phi
		if count == 0 && f < 0 && !last {
			from(poles[i+1])
			lo, hi, x = -x, 0, -x
		}
		if math.Abs(f) <= negligible*(1-psi+phi) {
			break
		}
		if f < 0 {
			lo = x
		} else {
			hi = x
		}
		left := differences[i] - x
		a := f - dpsi*left
		step := left * f / a
		if !last {
			right := differences[i+1] - x
			a -= dphi * right
			b, c := (left+right)*f-left*right*(dpsi+dphi), left*right*f
			root := math.Sqrt(max(0, b*b-4*a*c))
			if b <= 0 {
				step = (b - root) / (2 * a)
			} else {
				step = 2 * c / (b + root)
			}
		}
		next := x + step
		if !(lo < next && next < hi) || count > most {
			next = lo + (hi-lo)/2
		}
		if next == x || next == lo || next == hi {
			break
		}
		x = next
	}
	for j := range differences {
		differences[j] -= x
	}
	return nearest + x/(nearest+math.Sqrt(nearest*nearest+x))
}

// sums returns Σ z²/(δ−x) and its derivative.
func sums(z, differences []float64, x float64) (sum, slope float64) {
	differences = differences[:len(z)]
	for i, z := range z {
		t := z / (differences[i] - x)
		sum += z * t
		slope += t * t
	}
	return sum, slope
}
