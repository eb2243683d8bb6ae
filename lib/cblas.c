/* cblas.c: GEMM as CBLAS and BLAS declare it, under the names of the libraries that programs are
 * linked with. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "product.h"
#include "gemm.h"

/* Programs, R and BLAS libraries define these to handle errors. Where there is none, the error is
 * printed here. They are weak references, not definitions: a preloaded library that defined them would
 * take them away from the other routines of BLAS and LAPACK. */
extern void cblas_xerbla(int position, const char *routine, const char *form, ...) __attribute__((weak));
extern void xerbla_(const char *routine, const int *position, size_t routine_len) __attribute__((weak));

/* The reference computes products by rows as products by columns with exchanged operands. Its cblas_xerbla gets the
 * position in that call, and exchanges it back if this variable of the reference's library is 1. */
extern int RowMajorStrg __attribute__((weak));

/* report_cblas calls cblas_xerbla as the reference does. */
static void report_cblas(int order, int position, const char *routine, const char *text)
{
	static const int exchanged[] = {[4] = 5, [5] = 4, [9] = 11, [11] = 9};
	const int count = sizeof exchanged / sizeof exchanged[0], by_rows = order == GEMM_ROW_MAJOR;
	if (by_rows && position < count && exchanged[position] != 0)
		position = exchanged[position];
	if (&RowMajorStrg != NULL)
		RowMajorStrg = by_rows;
	cblas_xerbla(position, routine, "%s\n", text);
	if (&RowMajorStrg != NULL)
		RowMajorStrg = 0;
}

/* compute computes the product, or returns without writing C if an argument is wrong. from_cblas: the
 * routine is one of CBLAS; otherwise positions count from trans_a, and the name has six letters, as in BLAS. */
static void compute(const char *routine, int from_cblas, const struct operands *o, struct product *p)
{
	char text[256];
	struct fault f = operands_check(o, p->alpha, p->is_float ? sizeof(float) : sizeof(double));
	if (f.position == 0) {
		if (o->m == 0 || o->n == 0)
			return;
		operands_product(o, p);
		if (product_run(p, text, sizeof text) != GEMM_OK)
			fprintf(stderr, "libgemm: %s: %s\n", routine, text);
		return;
	}
	fault_text(&f, routine, text, sizeof text);
	if (!from_cblas)
		f.position--;
	if (from_cblas && cblas_xerbla != NULL)
		report_cblas(o->order, f.position, routine, text);
	else if (!from_cblas && xerbla_ != NULL)
		xerbla_(routine, &f.position, strlen(routine));
	else if (from_cblas)
		fprintf(stderr, "Parameter %d to routine %s was incorrect: %s\n", f.position, routine, text);
	else
		fprintf(stderr, "Parameter %d to routine %.*s was incorrect\n", f.position, (int)strcspn(routine, " "),
		        routine);
}

/* fortran_trans returns CBLAS's number for Fortran's letter, or 0. */
static int fortran_trans(char letter)
{
	switch (letter) {
	case 'N': case 'n': return GEMM_NO_TRANS;
	case 'T': case 't': return GEMM_TRANS;
	case 'C': case 'c': return GEMM_CONJ_TRANS;
	}
	return 0;
}

/* ROUTINES defines the routine of CBLAS and the one of BLAS for an element type and an integer type. */
#define ROUTINES(T, FLOAT, INT, CBLAS, CBLAS_NAME, BLAS, BLAS_NAME)                                                  \
	void CBLAS(int order, int trans_a, int trans_b, INT m, INT n, INT k, T alpha, const T *a, INT lda, const T *b,   \
	           INT ldb, T beta, T *c, INT ldc)                                                                       \
	{                                                                                                                \
		struct operands o = {order, trans_a, trans_b, m, n, k, lda, ldb, ldc, a, b, c};                              \
		struct product p = {.is_float = FLOAT, .alpha = alpha, .beta = beta};                                        \
		compute(CBLAS_NAME, 1, &o, &p);                                                                              \
	}                                                                                                                \
	void BLAS(const char *trans_a, const char *trans_b, const INT *m, const INT *n, const INT *k, const T *alpha,    \
	          const T *a, const INT *lda, const T *b, const INT *ldb, const T *beta, T *c, const INT *ldc)           \
	{                                                                                                                \
		struct operands o = {GEMM_COL_MAJOR, fortran_trans(*trans_a), fortran_trans(*trans_b), *m, *n, *k,           \
		                     *lda, *ldb, *ldc, a, b, c};                                                             \
		struct product p = {.is_float = FLOAT, .alpha = *alpha, .beta = *beta};                                      \
		compute(BLAS_NAME, 0, &o, &p);                                                                               \
	}

ROUTINES(float, 1, int, cblas_sgemm, "cblas_sgemm", sgemm_, "SGEMM ")
ROUTINES(double, 0, int, cblas_dgemm, "cblas_dgemm", dgemm_, "DGEMM ")
ROUTINES(float, 1, int64_t, cblas_sgemm_64, "cblas_sgemm_64", sgemm_64_, "SGEMM ")
ROUTINES(double, 0, int64_t, cblas_dgemm_64, "cblas_dgemm_64", dgemm_64_, "DGEMM ")

/* The names in builds of OpenBLAS with 64-bit integers, and in those that wheels of NumPy and SciPy bring. */
#define ALIAS(NAME, OF) extern __typeof__(OF) NAME __attribute__((alias(#OF)))
ALIAS(cblas_sgemm64_, cblas_sgemm_64);
ALIAS(cblas_dgemm64_, cblas_dgemm_64);
ALIAS(scipy_cblas_sgemm64_, cblas_sgemm_64);
ALIAS(scipy_cblas_dgemm64_, cblas_dgemm_64);
ALIAS(scipy_sgemm_64_, sgemm_64_);
ALIAS(scipy_dgemm_64_, dgemm_64_);
ALIAS(scipy_cblas_sgemm, cblas_sgemm);
ALIAS(scipy_cblas_dgemm, cblas_dgemm);
ALIAS(scipy_sgemm_, sgemm_);
ALIAS(scipy_dgemm_, dgemm_);
