package lapack

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// A matrix of the order leastSchur is reduced by this package, down to blocks of less than leastSweep rows.
const leastSchur, leastSweep = 144, 76

// Dgeev computes the eigenvalues of an n×n matrix, and the left and right eigenvectors that are wanted, in the steps of
// gonum's Dgeev, with schur for Dhseqr.
func (impl Implementation) Dgeev(jobvl lapack.LeftEVJob, jobvr lapack.RightEVJob, n int, a []float64, lda int,
	wr, wi, vl []float64, ldvl int, vr []float64, ldvr int, work []float64, lwork int) (first int) {
	left, right := jobvl == lapack.LeftEVCompute, jobvr == lapack.RightEVCompute
	if n < max(leastSweep, cmp.Or(impl.least, leastSchur)) || !left && jobvl != lapack.LeftEVNone ||
		!right && jobvr != lapack.RightEVNone || !holds(a, n, n, lda) || len(wr) != n || len(wi) != n ||
		min(ldvl, ldvr) < 1 || left && !holds(vl, n, n, ldvl) || right && !holds(vr, n, n, ldvr) ||
		lwork < 4*n || len(work) < lwork ||
		!ordinary(impl.Dlange(lapack.MaxAbs, n, n, a, lda, nil)) {
		return impl.Implementation.Dgeev(jobvl, jobvr, n, a, lda, wr, wi, vl, ldvl, vr, ldvr, work, lwork)
	}
	side, z, ldz := lapack.EVRight, vr, ldvr
	if left {
		side, z, ldz = lapack.EVLeft, vl, ldvl
	}
	scale, tau, blocks := make([]float64, n), make([]float64, n-1), make([]float64, 64*n+65*64)
	ilo, ihi := impl.Dgebal(lapack.PermuteScale, n, a, lda, scale)
	impl.Dgehrd(n, ilo, ihi, a, lda, tau, blocks, len(blocks))
	for i := range n {
		wr[i], wi[i] = a[i*lda+i], 0
	}
	if left || right {
		impl.Dlacpy(blas.Lower, n, n, a, lda, z, ldz)
		impl.Dorghr(n, ilo, ihi, z, ldz, tau, blocks, len(blocks))
	}
	first = impl.schur(left || right, n, ilo, ihi, a, lda, wr, wi, z, ldz, blocks)
	work[0] = float64(lwork)
	if first > 0 || !left && !right {
		return first
	}
	if left && right {
		side = lapack.EVBoth
		impl.Dlacpy(blas.All, n, n, vl, ldvl, vr, ldvr)
	}
	impl.Dtrevc3(side, lapack.EVAllMulQ, nil, n, a, lda, vl, ldvl, vr, ldvr, n, blocks, len(blocks))
	if left {
		impl.Dgebak(lapack.PermuteScale, lapack.EVLeft, n, ilo, ihi, scale, n, vl, ldvl)
		impl.normalize(n, wi, vl, ldvl)
	}
	if right {
		impl.Dgebak(lapack.PermuteScale, lapack.EVRight, n, ilo, ihi, scale, n, vr, ldvr)
		impl.normalize(n, wi, vr, ldvr)
	}
	return 0
}

// schur computes the eigenvalues of an upper Hessenberg matrix, which is triangular outside of rows ilo to ihi. If want
// is true, it computes the Schur form too, and multiplies z by its vectors. It returns how many values have not
// converged, as Dhseqr.
//
// Dhseqr makes all sweeps with 4 shifts or less, because the switch in gonum's Iparmq ends at its first case. Here
// sweeps have as many shifts as in LAPACK, so that most work is products (Braman, Byers and Mathias, SIAM J. Matrix
// Anal. Appl. 23(4), 2002). gonum finishes small blocks, and those where no value converges.
func (impl Implementation) schur(want bool, n, ilo, ihi int, h []float64, ldh int, wr, wi, z []float64, ldz int,
	work []float64) (first int) {
	const most = 10 // deflations without a value that converges
	all, done := buffer(3 * n * n)
	defer done()
	u, rows, columns, bottom := all[:n*n], all[n*n:2*n*n], all[2*n*n:], ihi
	for stalled := 0; bottom >= ilo; {
		top := bottom
		for top > ilo && h[top*ldh+top-1] != 0 {
			top--
		}
		order := bottom - top + 1
		if order < leastSweep || stalled == most {
			first = impl.Dlaqr04(want, want, n, top, bottom, h, ldh, wr[:bottom+1], wi[:bottom+1], 0, n-1, z, ldz, work,
				len(work), 1)
			if first > 0 {
				return first
			}
			bottom, stalled = top-1, 0
			continue
		}
		shifts := min(max(10, int(float64(order)/math.Log2(float64(order)))&^1), 128)
		window := 3 * shifts / 2
		others, converged := impl.Dlaqr23(want, want, n, top, bottom, window, h, ldh, 0, n-1, z, ldz, wr[:bottom+1],
			wi[:bottom+1], u, window, n, rows, n, n, columns, window, work, len(work), 1)
		bottom -= converged
		if stalled++; converged > 0 {
			stalled = 0
		}
		if 100*converged > 14*window || others < 2 {
			continue
		}
		re, im := wr[:bottom+1], wi[:bottom+1]
		for i := bottom; i > bottom-others+2; i -= 2 { // pairs are real, or conjugate
			if im[i] != -im[i-1] {
				re[i], re[i-1], re[i-2] = re[i-1], re[i-2], re[i]
				im[i], im[i-1], im[i-2] = im[i-1], im[i-2], im[i]
			}
		}
		shifts = min(shifts, others&^1)
		impl.Dlaqr5(want, want, 1, n, top, bottom, shifts, re[bottom+1-shifts:], im[bottom+1-shifts:], h, ldh, 0, n-1,
			z, ldz, work, 3, u, 2*shifts, n, columns, 2*shifts, n, rows, n)
	}
	return 0
}

// normalize scales eigenvectors to the norm 1, complex ones so that the largest element is real.
func (impl Implementation) normalize(n int, im, v []float64, ldv int) {
	bi := impl.blas()
	for i := 0; i < n; i++ {
		x := v[i:]
		if im[i] == 0 {
			bi.Dscal(n, 1/bi.Dnrm2(n, x, ldv), x, ldv)
			continue
		}
		i++ // the next column is the imaginary part
		r := 1 / math.Hypot(bi.Dnrm2(n, x, ldv), bi.Dnrm2(n, x[1:], ldv))
		largest, at := -1.0, 0
		for j := 0; j < n*ldv; j += ldv {
			x[j], x[j+1] = r*x[j], r*x[j+1]
			if size := x[j]*x[j] + x[j+1]*x[j+1]; size > largest {
				largest, at = size, j
			}
		}
		c, s, _ := impl.Dlartg(x[at], x[at+1])
		bi.Drot(n, x, ldv, x[1:], ldv, c, s)
		x[at+1] = 0
	}
}
