/* gemm.h: matrix products by libgemm.
 *
 *     C <- alpha * op(A) * op(B) + beta * C
 *
 * with op(A) m x k, op(B) k x n and C m x n. op(X) is X or its transpose. If beta = 0, C is not
 * read, so C need not be initialised. If alpha = 0 or a dimension is 0, A and B are not read. C must
 * not overlap A or B. Elements of A and B, and the elements between the columns (rows) of C, are not written.
 *
 *     cc program.c -lgemm
 *
 * All functions may be called by any number of threads at the same time, and by a process that
 * was forked: see docs/libgemm.md, which also says how threads are chosen. */
#ifndef GEMM_H
#define GEMM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How matrices are stored and whether they are transposed. The numbers are those of CBLAS, so the
 * constants of <cblas.h> can be passed. */
enum { GEMM_ROW_MAJOR = 101, GEMM_COL_MAJOR = 102 };
enum { GEMM_NO_TRANS = 111, GEMM_TRANS = 112, GEMM_CONJ_TRANS = 113 };

/* The most threads of a product. */
#define GEMM_MAX_THREADS 16384

/* What gemm_sgemm and gemm_dgemm return. After any of the errors, gemm_error has its text, and
 * nothing was written to C unless the error is GEMM_ERR_FAILED. */
enum {
	GEMM_OK = 0,
	GEMM_ERR_ARGUMENT = 1,    /* an argument has a value that it cannot have */
	GEMM_ERR_VARIANT = 2,     /* there is no such variant, or it does not compute this operation */
	GEMM_ERR_UNAVAILABLE = 3, /* the variant cannot run on this host */
	GEMM_ERR_FAILED = 4       /* the product failed; C is undefined */
};

/* gemm_sgemm and gemm_dgemm compute C <- alpha*op(A)*op(B) + beta*C in float and in double.
 *
 * variant    the name of the implementation, such as "serial/naive"; NULL: the fastest for the shape
 *            and the threads. gemm_variants lists the names. A variant whose "gemm" is false computes
 *            C = A*B only: no transposes, alpha = 1 and beta = 0.
 * threads    how many threads may compute, at most GEMM_MAX_THREADS. 0: the number in the environment
 *            variable GEMM_NUM_THREADS, otherwise in OMP_NUM_THREADS, otherwise all processors that
 *            the process may use.
 *            A variant whose "threads" is false has one thread: 0 or 1.
 * order      GEMM_ROW_MAJOR or GEMM_COL_MAJOR, of all three matrices
 * trans_a    GEMM_NO_TRANS, GEMM_TRANS or GEMM_CONJ_TRANS (here the same as GEMM_TRANS)
 * m, n, k    at least 0
 * lda        leading dimension of A: the distance of two rows (by columns: two columns) in elements,
 *            at least 1 and at least the length of a row (a column). ldb and ldc likewise.
 *
 * The dimensions have 64 bits on every system. */
int gemm_sgemm(const char *variant, int threads, int order, int trans_a, int trans_b,
               int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
int gemm_dgemm(const char *variant, int threads, int order, int trans_a, int trans_b,
               int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
               const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

/* The element types of gemm_product and gemm_multiply: double, float, IEEE binary16, bfloat16, which is the upper half
 * of a float, and complex numbers of two floats or doubles. Products of binary16 and bfloat16 are summed in float, and
 * an element of C is rounded once. */
enum { GEMM_F64 = 0, GEMM_F32 = 1, GEMM_F16 = 2, GEMM_BF16 = 3, GEMM_C64 = 4, GEMM_C128 = 5 };

/* gemm_product computes C <- A*B of matrices by rows without gaps, where a call with many arguments is slow, as
 * in Python. It returns what gemm_sgemm and gemm_dgemm return. */
struct gemm_product {
	int64_t type; /* of the elements: GEMM_F64 and so on */
	int64_t m, n, k;
	const void *a, *b;
	void *c;
};
int gemm_product(const struct gemm_product *p);

/* gemm_sgemm_batch_strided and gemm_dgemm_batch_strided compute count products of one shape, with one
 * alpha and one beta. The matrices A lie at equal distances: the next begins stride_a elements after the one
 * before, and likewise for B and C. The threads share the products, unless there are few and each is large.
 *
 * count      at least 0
 * stride_a   at least 1 and at least the elements of A from its first to its last; stride_b and stride_c
 *            likewise. So matrices C do not overlap.
 *
 * The other arguments, and what is returned, are those of gemm_dgemm. The variant is the fastest. */
int gemm_sgemm_batch_strided(int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                             float alpha, const float *a, int64_t lda, int64_t stride_a,
                             const float *b, int64_t ldb, int64_t stride_b,
                             float beta, float *c, int64_t ldc, int64_t stride_c, int64_t count);
int gemm_dgemm_batch_strided(int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                             double alpha, const double *a, int64_t lda, int64_t stride_a,
                             const double *b, int64_t ldb, int64_t stride_b,
                             double beta, double *c, int64_t ldc, int64_t stride_c, int64_t count);

/* gemm_multiply computes count products C <- op(A)*op(B) of one shape and one element type. a, b and c are arrays
 * of count addresses, none of which is NULL unless its matrix has no elements. A matrix may be A or B of several
 * products. No matrix C may overlap another matrix of the call.
 * The threads share the products, unless there are few and each is large, or variant is not NULL.
 *
 * The other arguments, and what is returned, are those of gemm_dgemm. Complex products have no variants. */
int gemm_multiply(const char *variant, int threads, int type, int order, int trans_a, int trans_b,
                  int64_t m, int64_t n, int64_t k, const void *const *a, int64_t lda,
                  const void *const *b, int64_t ldb, void *const *c, int64_t ldc, int64_t count);

/* gemm_bound writes the largest error of an element of A*B to bound, relative to the product of the magnitudes of A and
 * B there, and for fast algorithms to the largest magnitude of A times that of B. It holds for all operands, unless the
 * product leaves the range of the type. A variant of NULL is "parallel/packed". type is at most GEMM_BF16. The
 * function returns what gemm_dgemm returns, and GEMM_ERR_UNAVAILABLE in a forked process. */
int gemm_bound(const char *variant, int threads, int type, int64_t m, int64_t n, int64_t k, double *bound);

/* gemm_error returns the text of the last error of the calling thread, one line without a line
 * break: "gemm_dgemm: lda is 3, must be at least 4". It is "" before the first error. A call
 * that succeeds does not change it. The text is valid until the thread's next call of this library. */
const char *gemm_error(void);

/* gemm_variants returns the variants as a JSON array of objects, valid for the life of the process:
 *
 *     name       the name that gemm_sgemm and gemm_dgemm take
 *     doc        what it does, in one sentence
 *     types      "f32" for gemm_sgemm, "f64" for gemm_dgemm, "f16" and "bf16" for gemm_multiply
 *     gemm       whether it computes the whole operation, and not only C = A*B
 *     threads    whether it has more than one thread
 *     available  whether it runs on this host
 *     reason     why it does not; "" if it does
 *
 * It returns NULL, and gemm_error the reason, in a forked process whose parent has not called it. */
const char *gemm_variants(void);

/* gemm_threads returns the number of threads that 0 stands for: 1 in a forked process. */
int gemm_threads(void);

/* gemm_version returns the version of the library, valid for the life of the process. */
const char *gemm_version(void);

/* gemm_cuda_recipe returns how a kernel of this library computes C = A*B on an NVIDIA GPU, for a
 * program that compiles and launches kernels itself: the sources with the options of NVRTC, and the
 * launches with their arguments. It needs no GPU. request and recipe are JSON objects; the file
 * lib/cuda.go of the source describes their members. After an error the object has the members
 * error, the text, and unavailable, whether the GPU cannot do it. gemm_free frees the recipe. The
 * function returns NULL, and gemm_error the reason, in a forked process. */
char *gemm_cuda_recipe(const char *request);
void gemm_free(void *text);

/* gemm_cuda_variants returns the variants that have recipes as a JSON array, valid for the life of
 * the process: name, doc and types as in gemm_variants, and params, the name and doc of each
 * parameter. It returns NULL where gemm_variants does. */
const char *gemm_cuda_variants(void);

/* The library also has level 3 of CBLAS and BLAS, real and complex, with 32-bit integers, cblas_dgemm and dgemm_, and
 * with 64-bit integers, cblas_dgemm_64, dgemm_64_ and so on. All are declared by <cblas.h> of any BLAS. Those of gemm
 * for float and double are declared here, if GEMM_CBLAS is defined. order, trans_a and trans_b are the constants
 * above. */
#ifdef GEMM_CBLAS
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
void sgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);
void dgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);
#endif

#ifdef __cplusplus
}
#endif

#endif
