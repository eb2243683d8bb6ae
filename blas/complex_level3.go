package blas

import (
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gemm"
)

// The other routines of level 3 for complex numbers. As for real ones, the special matrix is divided recursively into
// halves, and all but the blocks on the diagonal are products of full matrices.

// anyComplex is the element type of a complex matrix.
type anyComplex interface{ complex64 | complex128 }

// onDiagonal is the largest order of a block on the diagonal that is filled up to a full matrix, and onCorner the
// largest one that gonum multiplies or solves with.
const onDiagonal, onCorner = 64, 16

// complexRoutines are what the recursion ends with, and its buffer.
type complexRoutines[T gemm.Float, C anyComplex] struct {
	by   Implementation
	gemm func(i Implementation, tA, tB blas.Transpose, m, n, k int, alpha C, a []C, lda int, b []C, ldb int, beta C,
		c []C, ldc int)
	trmm, trsm triangleRoutine[C]         // by gonum
	block      [onDiagonal * onDiagonal]C // a block on the diagonal
}

// triangleRoutine is trmm or trsm.
type triangleRoutine[C anyComplex] func(i gonum.Implementation, s blas.Side, ul blas.Uplo, t blas.Transpose,
	d blas.Diag, m, n int, alpha C, a []C, lda int, b []C, ldb int)

// complexPool has the idle routines of an element type.
type complexPool[T gemm.Float, C anyComplex] struct{ sync.Pool }

var (
	zRoutines = complexPool[float64, complex128]{sync.Pool{New: func() any {
		return &complexRoutines[float64, complex128]{gemm: Implementation.Zgemm, trmm: gonum.Implementation.Ztrmm,
			trsm: gonum.Implementation.Ztrsm}
	}}}
	cRoutines = complexPool[float32, complex64]{sync.Pool{New: func() any {
		return &complexRoutines[float32, complex64]{gemm: Implementation.Cgemm, trmm: gonum.Implementation.Ctrmm,
			trsm: gonum.Implementation.Ctrsm}
	}}}
)

// acquire returns routines that multiply by i. The caller puts them back.
func (p *complexPool[T, C]) acquire(i Implementation) *complexRoutines[T, C] {
	r := p.Get().(*complexRoutines[T, C])
	r.by = i
	return r
}

// symm is hemm or symm. It returns false if there is nothing to multiply or an argument is wrong: gonum does the rest.
func (p *complexPool[T, C]) symm(i Implementation, hermitian bool, s blas.Side, ul blas.Uplo, m, n int, alpha C, a []C,
	lda int, b []C, ldb int, beta C, c []C, ldc int) bool {
	if !symmFits(s, ul, m, n, a, lda, b, ldb, c, ldc) {
		return false
	}
	r := p.acquire(i)
	if alpha == 0 {
		r.multiplied(NoTrans, NoTrans, m, n, 0, alpha, b, ldb, b, ldb, beta, c, ldc)
	} else {
		r.symmetric(hermitian, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
	p.Put(r)
	return true
}

// rank is her2k or syr2k if two, otherwise herk or syrk, which have no B. It returns false as symm does.
func (p *complexPool[T, C]) rank(i Implementation, hermitian, two bool, ul blas.Uplo, t blas.Transpose, n, k int,
	alpha C, a []C, lda int, b []C, ldb int, beta C, c []C, ldc int) bool {
	second, ld := b, ldb
	if !two {
		second, ld = a, lda
	}
	if t != NoTrans && t != other(hermitian) || !rankFits(ul, t, n, k, a, lda, second, ld, c, ldc) {
		return false
	}
	r := p.acquire(i)
	switch {
	case k > 0 && alpha != 0:
		r.rank(hermitian, ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	case beta != 1:
		r.addTriangle(nil, hermitian, ul, n, beta, c, ldc)
	}
	p.Put(r)
	return true
}

// triangular is trmm, or trsm if solve. It returns false as symm does.
func (p *complexPool[T, C]) triangular(i Implementation, solve bool, s blas.Side, ul blas.Uplo, t blas.Transpose,
	d blas.Diag, m, n int, alpha C, a []C, lda int, b []C, ldb int) bool {
	if !triangularFits(s, ul, t, d, m, n, a, lda, b, ldb) || alpha == 0 {
		return false
	}
	r := p.acquire(i)
	if solve {
		factor := pair[T](alpha)
		after := func() {}
		if isModerate(factor) {
			r.scale(alpha, m, n, b, ldb)
		} else {
			vectors := view[T]{Data: pairs[T](b), Row: 2 * ldb, Col: 2}
			if s == blas.Right {
				vectors = transposed(vectors)
			}
			after = scaleFirst(2, order(s, m, n), m+n-order(s, m, n), factor, vectors)
		}
		r.solve(s, ul, t, d, m, n, a, lda, b, ldb)
		after()
	} else {
		r.multiply(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
	p.Put(r)
	return true
}

// Zhemm computes C ← α·A·B + β·C, or α·B·A + β·C if s is Right, with A Hermitian.
func (i Implementation) Zhemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if !zRoutines.symm(i, true, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Zhemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Chemm is Zhemm for complex64.
func (i Implementation) Chemm(s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int) {
	if !cRoutines.symm(i, true, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Chemm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zsymm is Zhemm with A symmetric.
func (i Implementation) Zsymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if !zRoutines.symm(i, false, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Zsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Csymm is Zsymm for complex64.
func (i Implementation) Csymm(s blas.Side, ul blas.Uplo, m, n int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int) {
	if !cRoutines.symm(i, false, s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Csymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zherk computes C ← α·A·Aᴴ + β·C, or α·Aᴴ·A + β·C if t is ConjTrans, in one triangle of C.
func (i Implementation) Zherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []complex128, lda int,
	beta float64, c []complex128, ldc int) {
	if !zRoutines.rank(i, true, false, ul, t, n, k, complex(alpha, 0), a, lda, nil, 0, complex(beta, 0), c, ldc) {
		i.Implementation.Zherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Cherk is Zherk for complex64.
func (i Implementation) Cherk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float32, a []complex64, lda int,
	beta float32, c []complex64, ldc int) {
	if !cRoutines.rank(i, true, false, ul, t, n, k, complex(alpha, 0), a, lda, nil, 0, complex(beta, 0), c, ldc) {
		i.Implementation.Cherk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Zsyrk is Zherk without conjugates: A·Aᵀ, or Aᵀ·A if t is Trans.
func (i Implementation) Zsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	beta complex128, c []complex128, ldc int) {
	if !zRoutines.rank(i, false, false, ul, t, n, k, alpha, a, lda, nil, 0, beta, c, ldc) {
		i.Implementation.Zsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Csyrk is Zsyrk for complex64.
func (i Implementation) Csyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	beta complex64, c []complex64, ldc int) {
	if !cRoutines.rank(i, false, false, ul, t, n, k, alpha, a, lda, nil, 0, beta, c, ldc) {
		i.Implementation.Csyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
	}
}

// Zher2k computes C ← α·A·Bᴴ + ᾱ·B·Aᴴ + β·C, or α·Aᴴ·B + ᾱ·Bᴴ·A + β·C if t is ConjTrans, in one triangle of C.
func (i Implementation) Zher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta float64, c []complex128, ldc int) {
	if !zRoutines.rank(i, true, true, ul, t, n, k, alpha, a, lda, b, ldb, complex(beta, 0), c, ldc) {
		i.Implementation.Zher2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Cher2k is Zher2k for complex64.
func (i Implementation) Cher2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta float32, c []complex64, ldc int) {
	if !cRoutines.rank(i, true, true, ul, t, n, k, alpha, a, lda, b, ldb, complex(beta, 0), c, ldc) {
		i.Implementation.Cher2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Zsyr2k is Zher2k without conjugates: α·A·Bᵀ + α·B·Aᵀ, or α·Aᵀ·B + α·Bᵀ·A if t is Trans.
func (i Implementation) Zsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex128, a []complex128, lda int,
	b []complex128, ldb int, beta complex128, c []complex128, ldc int) {
	if !zRoutines.rank(i, false, true, ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Zsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Csyr2k is Zsyr2k for complex64.
func (i Implementation) Csyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha complex64, a []complex64, lda int,
	b []complex64, ldb int, beta complex64, c []complex64, ldc int) {
	if !cRoutines.rank(i, false, true, ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		i.Implementation.Csyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ztrmm is Dtrmm for complex numbers.
func (i Implementation) Ztrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex128,
	a []complex128, lda int, b []complex128, ldb int) {
	if !zRoutines.triangular(i, false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Ztrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Ctrmm is Ztrmm for complex64.
func (i Implementation) Ctrmm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex64,
	a []complex64, lda int, b []complex64, ldb int) {
	if !cRoutines.triangular(i, false, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Ctrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Ztrsm is Dtrsm for complex numbers.
func (i Implementation) Ztrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex128,
	a []complex128, lda int, b []complex128, ldb int) {
	if !zRoutines.triangular(i, true, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Ztrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Ctrsm is Ztrsm for complex64.
func (i Implementation) Ctrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha complex64,
	a []complex64, lda int, b []complex64, ldb int) {
	if !cRoutines.triangular(i, true, s, ul, t, d, m, n, alpha, a, lda, b, ldb) {
		i.Implementation.Ctrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
	}
}

// multiplied computes C ← α·op(A)·op(B) + β·C.
func (r *complexRoutines[T, C]) multiplied(tA, tB blas.Transpose, m, n, k int, alpha C, a []C, lda int, b []C, ldb int,
	beta C, c []C, ldc int) {
	r.gemm(r.by, tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// other returns the transpose that makes the upper triangle of a Hermitian or a symmetric matrix from the lower.
func other(hermitian bool) blas.Transpose {
	if hermitian {
		return ConjTrans
	}
	return Trans
}

// symmetric computes C ← α·A·B + β·C, or α·B·A + β·C, with A Hermitian or symmetric:
//
//	C₁ ← α·A₁₁·B₁ + α·A₁₂·B₂ + β·C₁
//	C₂ ← α·A₂₂·B₂ + α·A₂₁·B₁ + β·C₂
//
// One of A₁₂ and A₂₁ is stored; it is the other one's transpose. On the right, B₁ and B₂ are columns.
func (r *complexRoutines[T, C]) symmetric(hermitian bool, s blas.Side, ul blas.Uplo, m, n int, alpha C, a []C, lda int,
	b []C, ldb int, beta C, c []C, ldc int) {
	k := order(s, m, n)
	if k <= onDiagonal {
		r.fill(hermitian, ul, k, a, lda)
		if s == blas.Left {
			r.multiplied(NoTrans, NoTrans, m, n, k, alpha, r.block[:], k, b, ldb, beta, c, ldc)
		} else {
			r.multiplied(NoTrans, NoTrans, m, n, k, alpha, b, ldb, r.block[:], k, beta, c, ldc)
		}
		return
	}
	top := half(k, onCorner)
	stored, t21, t12 := a[top*lda:], NoTrans, other(hermitian)
	if ul == blas.Upper {
		stored, t21, t12 = a[top:], t12, t21
	}
	a22 := a[top*lda+top:]
	if s == blas.Left {
		b2, c2 := b[top*ldb:], c[top*ldc:]
		r.symmetric(hermitian, s, ul, top, n, alpha, a, lda, b, ldb, beta, c, ldc)
		r.multiplied(t12, NoTrans, top, n, m-top, alpha, stored, lda, b2, ldb, 1, c, ldc)
		r.symmetric(hermitian, s, ul, m-top, n, alpha, a22, lda, b2, ldb, beta, c2, ldc)
		r.multiplied(t21, NoTrans, m-top, n, top, alpha, stored, lda, b, ldb, 1, c2, ldc)
		return
	}
	b2, c2 := b[top:], c[top:]
	r.symmetric(hermitian, s, ul, m, top, alpha, a, lda, b, ldb, beta, c, ldc)
	r.multiplied(NoTrans, t21, m, top, n-top, alpha, b2, ldb, stored, lda, 1, c, ldc)
	r.symmetric(hermitian, s, ul, m, n-top, alpha, a22, lda, b2, ldb, beta, c2, ldc)
	r.multiplied(NoTrans, t12, m, n-top, top, alpha, b, ldb, stored, lda, 1, c2, ldc)
}

// fill writes the whole of a matrix of order n, of which one triangle is stored, to the block. The imaginary parts on
// the diagonal of a Hermitian matrix are not read.
func (r *complexRoutines[T, C]) fill(hermitian bool, ul blas.Uplo, n int, a []C, lda int) {
	from, to := pairs[T](a), pairs[T](r.block[:])
	for i := range n {
		for j := range i + 1 {
			p, q := i, j
			if ul == blas.Upper {
				p, q = j, i
			}
			x := [2]T(from[2*(p*lda+q):])
			y := x // at the place that is not stored
			if hermitian {
				if p == q {
					x[1] = 0
				}
				y = [2]T{x[0], -x[1]}
			}
			copy(to[2*(q*n+p):], y[:])
			copy(to[2*(p*n+q):], x[:])
		}
	}
}

// rank computes one triangle of C ← α·op(A)·op(A)′ + β·C, where the mark is the conjugate transpose or the transpose,
// or with B of C ← α·op(A)·op(B)′ + α′·op(B)·op(A)′ + β·C. A block on the diagonal is computed whole.
func (r *complexRoutines[T, C]) rank(hermitian bool, ul blas.Uplo, t blas.Transpose, n, k int, alpha C, a []C, lda int,
	b []C, ldb int, beta C, c []C, ldc int) {
	if n <= onDiagonal {
		r.product(hermitian, t, n, n, k, alpha, a, a, lda, b, b, ldb, 0, r.block[:], n)
		r.addTriangle(pairs[T](r.block[:]), hermitian, ul, n, beta, c, ldc)
		return
	}
	top := half(n, onCorner)
	second := func(x []C, ld int) []C {
		switch {
		case x == nil:
			return nil
		case t == NoTrans:
			return x[top*ld:]
		}
		return x[top:]
	}
	a2, b2 := second(a, lda), second(b, ldb)
	r.rank(hermitian, ul, t, top, k, alpha, a, lda, b, ldb, beta, c, ldc)
	r.rank(hermitian, ul, t, n-top, k, alpha, a2, lda, b2, ldb, beta, c[top*ldc+top:], ldc)
	if ul == blas.Lower {
		r.product(hermitian, t, n-top, top, k, alpha, a2, a, lda, b2, b, ldb, beta, c[top*ldc:], ldc)
	} else {
		r.product(hermitian, t, top, n-top, k, alpha, a, a2, lda, b, b2, ldb, beta, c[top:], ldc)
	}
}

// product computes the m×n block C ← α·op(A)·op(A₂)′ + β·C of rank, or C ← α·op(A)·op(B₂)′ + α′·op(B)·op(A₂)′ + β·C.
func (r *complexRoutines[T, C]) product(hermitian bool, t blas.Transpose, m, n, k int, alpha C, a, a2 []C, lda int,
	b, b2 []C, ldb int, beta C, c []C, ldc int) {
	left, right := NoTrans, other(hermitian)
	if t != NoTrans {
		left, right = right, left
	}
	if b == nil {
		r.multiplied(left, right, m, n, k, alpha, a, lda, a2, lda, beta, c, ldc)
		return
	}
	r.multiplied(left, right, m, n, k, alpha, a, lda, b2, ldb, beta, c, ldc)
	if hermitian {
		x := pair[T](alpha)
		x[1] = -x[1]
		alpha = number[C](x)
	}
	r.multiplied(left, right, m, n, k, alpha, b, ldb, a2, lda, 1, c, ldc)
}

// addTriangle computes one triangle of C ← X + β·C. The block X is nil if it is 0. The imaginary parts on the diagonal
// of a Hermitian C are not read; they become 0.
func (r *complexRoutines[T, C]) addTriangle(block []T, hermitian bool, ul blas.Uplo, n int, beta C, c []C, ldc int) {
	factor, out := pair[T](beta), pairs[T](c)
	for i := range n {
		lo, hi := 0, i+1
		if ul == blas.Upper {
			lo, hi = i, n
		}
		for j := lo; j < hi; j++ {
			at := out[2*(i*ldc+j):][:2]
			var re, im T
			if factor != [2]T{} {
				old := at[1]
				if hermitian && i == j {
					old = 0
				}
				re, im = scaled(factor, at[0], old)
			}
			if block != nil {
				re, im = re+block[2*(i*n+j)], im+block[2*(i*n+j)+1]
			}
			if hermitian && i == j {
				im = 0
			}
			at[0], at[1] = re, im
		}
	}
}

// offDiagonal returns the block of op(A) off its diagonal blocks, of which the first has order top: it is below the
// diagonal if op(A) is a lower triangle.
func offDiagonal[C anyComplex](ul blas.Uplo, t blas.Transpose, top int, a []C, lda int) (block []C, lower bool) {
	if ul == blas.Lower {
		return a[top*lda:], t == NoTrans
	}
	return a[top:], t != NoTrans
}

// multiply computes B ← α·op(A)·B or α·B·op(A) with A triangular. The part of B that the other part still needs is
// computed last.
func (r *complexRoutines[T, C]) multiply(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha C,
	a []C, lda int, b []C, ldb int) {
	k := order(s, m, n)
	if k <= onCorner {
		r.multiplyCorner(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	top := half(k, onCorner)
	across, isLower := offDiagonal(ul, t, top, a, lda)
	if s == blas.Left {
		first, second := r.parts(top, m-top, a, lda, b, b[top*ldb:], isLower)
		r.multiply(s, ul, t, d, first.order, n, alpha, first.a, lda, first.b, ldb)
		r.multiplied(t, NoTrans, first.order, n, second.order, alpha, across, lda, second.b, ldb, 1, first.b, ldb)
		r.multiply(s, ul, t, d, second.order, n, alpha, second.a, lda, second.b, ldb)
		return
	}
	first, second := r.parts(top, n-top, a, lda, b, b[top:], !isLower)
	r.multiply(s, ul, t, d, m, first.order, alpha, first.a, lda, first.b, ldb)
	r.multiplied(NoTrans, t, m, first.order, second.order, alpha, second.b, ldb, across, lda, 1, first.b, ldb)
	r.multiply(s, ul, t, d, m, second.order, alpha, second.a, lda, second.b, ldb)
}

// solve computes op(A)⁻¹·B or B·op(A)⁻¹ with A triangular. The part of B that needs nothing of the other is computed
// first.
func (r *complexRoutines[T, C]) solve(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, a []C,
	lda int, b []C, ldb int) {
	k := order(s, m, n)
	if k <= onCorner {
		if gonumFits[T](true, s, ul, d, m, n, a, lda, b, ldb) {
			r.trsm(r.by.Implementation, s, ul, t, d, m, n, 1, a, lda, b, ldb)
		} else {
			cornerOf[T](s, ul, t, d, m, n, a, lda, b, ldb).solve()
		}
		return
	}
	top := half(k, onCorner)
	across, isLower := offDiagonal(ul, t, top, a, lda)
	if s == blas.Left {
		second, first := r.parts(top, m-top, a, lda, b, b[top*ldb:], isLower)
		r.solve(s, ul, t, d, first.order, n, first.a, lda, first.b, ldb)
		r.multiplied(t, NoTrans, second.order, n, first.order, -1, across, lda, first.b, ldb, 1, second.b, ldb)
		r.solve(s, ul, t, d, second.order, n, second.a, lda, second.b, ldb)
		return
	}
	second, first := r.parts(top, n-top, a, lda, b, b[top:], !isLower)
	r.solve(s, ul, t, d, m, first.order, first.a, lda, first.b, ldb)
	r.multiplied(NoTrans, t, m, second.order, first.order, -1, first.b, ldb, across, lda, 1, second.b, ldb)
	r.solve(s, ul, t, d, m, second.order, second.a, lda, second.b, ldb)
}

// halfOf is one half of a triangular matrix and of B.
type halfOf[C anyComplex] struct {
	order int
	a, b  []C
}

// parts returns the halves: the second one first if secondFirst.
func (r *complexRoutines[T, C]) parts(top, rest int, a []C, lda int, b1, b2 []C, secondFirst bool) (x, y halfOf[C]) {
	x, y = halfOf[C]{top, a, b1}, halfOf[C]{rest, a[top*lda+top:], b2}
	if secondFirst {
		return y, x
	}
	return x, y
}
