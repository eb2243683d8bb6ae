/* cblas.c: level 3 of BLAS as CBLAS and BLAS declare it, under the names of the libraries that programs are linked
 * with. */
#include <ctype.h>
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
static void report_cblas(const struct product *p, int position, const char *routine, const char *text)
{
	static const struct {
		int families, positions[2];
	} exchanged[] = {{GEMM | SYMM | HEMM, {4, 5}}, {GEMM | GEMMTR, {9, 11}}, {TRIANGULAR, {6, 7}}};
	const int by_rows = p->order == GEMM_ROW_MAJOR;
	for (size_t i = 0; by_rows && i < sizeof exchanged / sizeof exchanged[0]; i++) {
		const int *x = exchanged[i].positions;
		if (p->family & exchanged[i].families && (position == x[0] || position == x[1])) {
			position = x[0] + x[1] - position;
			break;
		}
	}
	if (&RowMajorStrg != NULL)
		RowMajorStrg = by_rows;
	cblas_xerbla(position, routine, "%s\n", text);
	if (&RowMajorStrg != NULL)
		RowMajorStrg = 0;
}

/* report says that an argument is wrong. routine is the name in CBLAS or, without it, in lower case, of BLAS. There,
 * positions count from the argument after order, and names have six letters at least. */
static void report(const char *routine, int from_cblas, const struct product *p, struct fault *f)
{
	char text[256], name[] = "        ";
	fault_text(f, routine, text, sizeof text);
	if (from_cblas && cblas_xerbla != NULL) {
		report_cblas(p, f->position, routine, text);
		return;
	}
	if (from_cblas) {
		fprintf(stderr, "Parameter %d to routine %s was incorrect: %s\n", f->position, routine, text);
		return;
	}
	size_t len = strcspn(routine, "_");
	for (size_t i = 0; i < len; i++)
		name[i] = (char)toupper((unsigned char)routine[i]);
	f->position--;
	if (xerbla_ != NULL)
		xerbla_(name, &f->position, len > 6 ? len : 6);
	else
		fprintf(stderr, "Parameter %d to routine %.*s was incorrect\n", f->position, (int)len, name);
}

/* compute computes the product, or returns without writing the result if an argument is wrong. */
static void compute(const char *routine, int from_cblas, struct product *p)
{
	char text[256];
	struct fault f = product_check(p);
	if (f.position != 0)
		report(routine, from_cblas, p, &f);
	else if ((p->m != 0 || !(p->family & (GEMM | SIDED))) && p->n != 0 && product_run(p, text, sizeof text) != GEMM_OK)
		fprintf(stderr, "libgemm: %s: %s\n", routine, text);
}

/* letter returns CBLAS's number for one of Fortran's letters: first for the first of them, and so on, or 0. */
static int letter(const char *x, const char *letters, int first)
{
	const char *at = memchr(letters, toupper((unsigned char)*x), strlen(letters));
	return at == NULL ? 0 : first + (int)(at - letters);
}

/* The arguments of the families. F is a macro for flags, with their letters and the first number of CBLAS, D for
 * dimensions, A for alpha, P for matrices and B for beta. */
#define SIDE(F) F(side, "LR", 141), F(uplo, "UL", 121)
#define UPLO(F) F(uplo, "UL", 121), F(trans_a, "NTC", 111)
#define ARGS_GEMM(F, D, A, P, B) F(trans_a, "NTC", 111), F(trans_b, "NTC", 111), D(m), D(n), D(k), A(alpha), P(a), \
	D(lda), P(b), D(ldb), B(beta), P(c), D(ldc)
#define ARGS_GEMMTR(F, D, A, P, B) UPLO(F), F(trans_b, "NTC", 111), D(n), D(k), A(alpha), P(a), D(lda), P(b), \
	D(ldb), B(beta), P(c), D(ldc)
#define ARGS_SYMM(F, D, A, P, B) SIDE(F), D(m), D(n), A(alpha), P(a), D(lda), P(b), D(ldb), B(beta), P(c), D(ldc)
#define ARGS_HEMM ARGS_SYMM
#define ARGS_SYRK(F, D, A, P, B) UPLO(F), D(n), D(k), A(alpha), P(a), D(lda), B(beta), P(c), D(ldc)
#define ARGS_HERK ARGS_SYRK
#define ARGS_SYR2K(F, D, A, P, B) UPLO(F), D(n), D(k), A(alpha), P(a), D(lda), P(b), D(ldb), B(beta), P(c), D(ldc)
#define ARGS_HER2K ARGS_SYR2K
#define ARGS_TRMM(F, D, A, P, B) SIDE(F), F(trans_a, "NTC", 111), F(diag, "NU", 131), D(m), D(n), A(alpha), P(a), \
	D(lda), P(b), D(ldb)
#define ARGS_TRSM ARGS_TRMM

/* How an argument is declared, and how it becomes a member of struct product. */
#define NUMBER(X, LETTERS, FIRST) int X
#define LETTER(X, LETTERS, FIRST) const char *X
#define INT(X) int X
#define INT64(X) int64_t X
#define INT_AT(X) const int *X
#define INT64_AT(X) const int64_t *X
#define FLOAT(X) float X
#define DOUBLE(X) double X
#define AT(X) void *X
#define SET_NUMBER(X, LETTERS, FIRST) .X = X
#define SET_LETTER(X, LETTERS, FIRST) .X = letter(X, LETTERS, FIRST)
#define SET(X) .X = X
#define SET_FROM(X) .X = *X
#define SET_FLOAT(X) .X = &X
#define SET_DOUBLE(X) .X = &X
#define SET_AT(X) .X = X

#define CBLAS(NAME, E, F, I, A, B)                                                                                   \
	void NAME(int order, ARGS_##F(NUMBER, I, A, AT, B))                                                              \
	{                                                                                                                \
		struct product p = {.family = F, .element = E, .order = order,                                               \
		                    ARGS_##F(SET_NUMBER, SET, SET_##A, SET, SET_##B)};                                       \
		compute(#NAME, 1, &p);                                                                                       \
	}
#define BLAS(NAME, E, F, I)                                                                                          \
	void NAME(ARGS_##F(LETTER, I, AT, AT, AT))                                                                       \
	{                                                                                                                \
		struct product p = {.family = F, .element = E, .order = GEMM_COL_MAJOR,                                      \
		                    ARGS_##F(SET_LETTER, SET_FROM, SET, SET, SET)};                                          \
		compute(#NAME, 0, &p);                                                                                       \
	}
#define ALIAS(NAME, OF) extern __typeof__(OF) NAME __attribute__((alias(#OF)));

/* ROUTINE defines all names of a routine: with integers of 32 bits, with integers of 64 bits, in builds of OpenBLAS with
 * these, and in those that wheels of NumPy and SciPy bring. A and B are how CBLAS passes alpha and beta. */
#define ROUTINE(X, NAME, E, F, A, B)                                                                                 \
	CBLAS(cblas_##X##NAME, E, F, INT, A, B)                                                                          \
	CBLAS(cblas_##X##NAME##_64, E, F, INT64, A, B)                                                                   \
	BLAS(X##NAME##_, E, F, INT_AT)                                                                                   \
	BLAS(X##NAME##_64_, E, F, INT64_AT)                                                                              \
	ALIAS(cblas_##X##NAME##64_, cblas_##X##NAME##_64)                                                                \
	ALIAS(scipy_cblas_##X##NAME, cblas_##X##NAME)                                                                    \
	ALIAS(scipy_cblas_##X##NAME##64_, cblas_##X##NAME##_64)                                                          \
	ALIAS(scipy_##X##NAME##_, X##NAME##_)                                                                            \
	ALIAS(scipy_##X##NAME##_64_, X##NAME##_64_)
#define COMPLEX(NAME, F) ROUTINE(c, NAME, 'c', F, AT, AT) ROUTINE(z, NAME, 'z', F, AT, AT)
#define ALL(NAME, F) ROUTINE(s, NAME, 's', F, FLOAT, FLOAT) ROUTINE(d, NAME, 'd', F, DOUBLE, DOUBLE) COMPLEX(NAME, F)

ALL(gemm, GEMM)
ALL(gemmtr, GEMMTR)
ALL(gemmt, GEMMTR) /* its name in OpenBLAS and MKL */
ALL(symm, SYMM)
COMPLEX(hemm, HEMM)
ALL(syrk, SYRK)
ROUTINE(c, herk, 'c', HERK, FLOAT, FLOAT)
ROUTINE(z, herk, 'z', HERK, DOUBLE, DOUBLE)
ALL(syr2k, SYR2K)
ROUTINE(c, her2k, 'c', HER2K, AT, FLOAT)
ROUTINE(z, her2k, 'z', HER2K, AT, DOUBLE)
ALL(trmm, TRMM)
ALL(trsm, TRSM)
