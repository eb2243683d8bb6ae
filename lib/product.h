/* product.h: what the C files of libgemm share. It is not installed. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include <stddef.h>
#include <stdint.h>

/* batch is a number of products whose matrices lie at equal distances, in elements. */
struct batch {
	int64_t stride_a, stride_b, stride_c, count;
};

/* product is one product C <- alpha*op(A)*op(B) + beta*C of matrices stored by rows, or a batch. float
 * operands have alpha and beta in double, which holds them exactly. */
struct product {
	const char *variant; /* NULL: the fastest */
	size_t variant_len;
	int threads;         /* 0: threads_default */
	int threads_default; /* 0: all processors */
	int is_float;
	int is_checked; /* it is an error if C overlaps A or B, which in BLAS is undefined */
	int trans_a, trans_b; /* 0 or 1 */
	int64_t m, n, k, lda, ldb, ldc;
	double alpha, beta;
	const void *a, *b;
	void *c;
	int is_batch;
	struct batch batch; /* if is_batch */
};

/* operands has the arguments of a routine as its caller gave them, from order on. */
struct operands {
	int order, trans_a, trans_b;
	int64_t m, n, k, lda, ldb, ldc;
	const void *a, *b;
	void *c;
	const struct batch *batch; /* NULL: one product */
};

/* fault describes an argument that is wrong. */
struct fault {
	int position;     /* of the argument in CBLAS's list, from 1 for order; -1: not in it; 0: none is wrong */
	const char *name; /* of the argument */
	int64_t value;
	const char *must; /* what the value must be; NULL: at least the following */
	int64_t least;
};

/* operands_check returns the first argument that is wrong. alpha only matters as zero or not. */
struct fault operands_check(const struct operands *o, double alpha, size_t element);

/* fault_text writes what is wrong, one line that begins with the name of the routine. */
void fault_text(const struct fault *f, const char *routine, char *text, size_t size);

/* operands_product fills in p, by rows. The transpose of a product of columns is a product of rows,
 * Ct = Bt*At, so the operands are exchanged. */
void operands_product(const struct operands *o, struct product *p);

/* product_run computes p, by Go, or by product_plain in a forked process. It returns a code of gemm.h
 * and writes the text of an error to text. */
int product_run(struct product *p, char *text, size_t size);

/* product_plain computes p, which is no batch, by loops in C, on the calling thread. */
void product_plain(const struct product *p);

/* process_is_forked reports whether this process is a copy that fork() made of one in which the
 * library was loaded. The Go runtime has no threads there, and a call of it would never return. */
int process_is_forked(void);

/* threads_default returns the threads that the environment asks for, or 0. */
int threads_default(void);

#endif
