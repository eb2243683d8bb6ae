/* product.h: what the C files of libgemm share. It is not installed. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include <stddef.h>
#include <stdint.h>

/* batch is a number of products whose matrices lie at equal distances, in elements, or at listed addresses. */
struct batch {
	int64_t stride_a, stride_b, stride_c, count;
	int is_listed;
	const void *const *a, *const *b; /* if is_listed */
	void *const *c;
};

/* The families of routines. Sets of them are sums. */
enum family {
	GEMM = 1, GEMMTR = 2, SYMM = 4, HEMM = 8, SYRK = 16, HERK = 32, SYR2K = 64, HER2K = 128, TRMM = 256, TRSM = 512,
	SIDED = SYMM | HEMM | TRMM | TRSM, /* A is square, on the left or on the right */
	TRIANGULAR = TRMM | TRSM,          /* without C and beta; the result is in B */
	HERMITIAN = HERK | HER2K
};

/* product is a call of a routine: its arguments, as the caller gave them until product_by_rows, and more. Arguments
 * that the family does not have are 0. */
struct product {
	enum family family;
	char element; /* of the matrices: s, d, c or z, and for products by gemm_multiply h (f16) or b (bf16) */
	int order, side, uplo, trans_a, trans_b, diag;
	int64_t m, n, k, lda, ldb, ldc;
	const void *alpha, *beta; /* elements; alpha of herk and beta of herk and her2k are real */
	const void *a, *b;
	void *c;
	const struct batch *batch; /* NULL: one product */
	/* The following are for products by gemm.h only. */
	const char *variant; /* NULL: the fastest */
	size_t variant_len;
	int threads;         /* 0: threads_default */
	int threads_default; /* 0: all processors */
	int is_checked; /* it is an error if C overlaps A or B, which in BLAS is undefined */
};

/* fault describes an argument that is wrong. */
struct fault {
	int position;     /* of the argument in CBLAS's list, from 1 for order; -1: not in it; 0: none is wrong */
	const char *name; /* of the argument */
	int64_t value;
	const char *must; /* what the value must be; NULL: at least the following */
	int64_t least;
};

/* element_size returns the bytes of an element. */
size_t element_size(const struct product *p);

/* product_check returns the first argument that is wrong. */
struct fault product_check(const struct product *p);

/* fault_text writes what is wrong, one line that begins with the name of the routine. */
void fault_text(const struct fault *f, const char *routine, char *text, size_t size);

/* product_run computes p, which has been checked and is changed: by Go, or by product_plain in a forked process. It
 * returns a code of gemm.h and writes the text of an error to text. */
int product_run(struct product *p, char *text, size_t size);

/* product_plain computes p, by rows and no batch, by loops in C, on the calling thread. */
void product_plain(const struct product *p);

/* process_is_forked reports whether this process is a copy that fork() made of one in which the
 * library was loaded. The Go runtime has no threads there, and a call of it would never return. */
int process_is_forked(void);

/* threads_default returns the threads that the environment asks for, or 0. */
int threads_default(void);

#endif
