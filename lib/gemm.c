/* gemm.c: the functions of gemm.h. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"
#include "gemm.h"
#include "_cgo_export.h"

static _Thread_local char last_error[512];

const char *gemm_error(void) { return last_error; }

/* named_product checks the arguments and computes. */
static int named_product(const char *routine, const char *variant, int threads, struct product p)
{
	struct fault f = product_check(&p);
	if (f.position == 0 && (threads < 0 || threads > GEMM_MAX_THREADS))
		f = (struct fault){-1, "threads", threads, "must be from 0 to 16384", 0};
	if (f.position != 0) {
		fault_text(&f, routine, last_error, sizeof last_error);
		return GEMM_ERR_ARGUMENT;
	}
	p.variant = variant;
	p.variant_len = variant == NULL ? 0 : strlen(variant);
	p.threads = threads;
	p.is_checked = 1;

	/* The text of an error follows the name of the routine, which is written afterwards. */
	size_t name = strlen(routine);
	int code = product_run(&p, last_error + name + 2, sizeof last_error - name - 2);
	if (code != GEMM_OK) {
		memcpy(last_error, routine, name);
		memcpy(last_error + name, ": ", 2);
	}
	return code;
}

/* PRODUCTS defines the functions of an element type. */
#define PRODUCTS(T, ELEMENT, ONE, BATCH)                                                                             \
	int ONE(const char *variant, int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,  \
	        T alpha, const T *a, int64_t lda, const T *b, int64_t ldb, T beta, T *c, int64_t ldc)                    \
	{                                                                                                                \
		return named_product(#ONE, variant, threads, (struct product){GEMM, ELEMENT, order, 0, 0, trans_a, trans_b,  \
		                     0, m, n, k, lda, ldb, ldc, &alpha, &beta, a, b, c, NULL});                              \
	}                                                                                                                \
	int BATCH(int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, T alpha,            \
	          const T *a, int64_t lda, int64_t stride_a, const T *b, int64_t ldb, int64_t stride_b, T beta, T *c,    \
	          int64_t ldc, int64_t stride_c, int64_t count)                                                          \
	{                                                                                                                \
		struct batch s = {.stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .count = count};        \
		return named_product(#BATCH, NULL, threads, (struct product){GEMM, ELEMENT, order, 0, 0, trans_a, trans_b,   \
		                     0, m, n, k, lda, ldb, ldc, &alpha, &beta, a, b, c, &s});                                \
	}

PRODUCTS(float, 's', gemm_sgemm, gemm_sgemm_batch_strided)
PRODUCTS(double, 'd', gemm_dgemm, gemm_dgemm_batch_strided)

/* typed_product is named_product for C <- op(A)*op(B) of a type of gemm.h. */
static int typed_product(const char *routine, const char *variant, int threads, int64_t type, struct product p)
{
	static const union { double d; float s; uint16_t h; float c[2]; double z[2]; } zero, ones[] = {
		[GEMM_F64] = {.d = 1}, [GEMM_F32] = {.s = 1}, [GEMM_F16] = {.h = 0x3c00}, [GEMM_BF16] = {.h = 0x3f80},
		[GEMM_C64] = {.c = {1}}, [GEMM_C128] = {.z = {1}}};
	if (type < GEMM_F64 || type > GEMM_C128) {
		const struct fault f = {-1, "type", type, "must be from 0 (GEMM_F64) to 5 (GEMM_C128)", 0};
		fault_text(&f, routine, last_error, sizeof last_error);
		return GEMM_ERR_ARGUMENT;
	}
	p.element = "dshbcz"[type];
	p.alpha = &ones[type], p.beta = &zero;
	return named_product(routine, variant, threads, p);
}

int gemm_product(const struct gemm_product *x)
{
	int64_t lda = x->k > 1 ? x->k : 1, ldb = x->n > 1 ? x->n : 1;
	return typed_product("gemm_product", NULL, 0, x->type, (struct product){GEMM, 0, GEMM_ROW_MAJOR, 0, 0,
	                     GEMM_NO_TRANS, GEMM_NO_TRANS, 0, x->m, x->n, x->k, lda, ldb, ldb, NULL, NULL, x->a, x->b, x->c,
	                     NULL});
}

int gemm_bound(const char *variant, int threads, int type, int64_t m, int64_t n, int64_t k, double *bound)
{
	static const char name[] = "gemm_bound: ";
	const char *wrong = type < GEMM_F64 || type > GEMM_BF16 ? "type must be from 0 (GEMM_F64) to 3 (GEMM_BF16)" :
	                    m < 0 || n < 0 || k < 0 ? "m, n and k must be at least 0" :
	                    threads < 0 || threads > GEMM_MAX_THREADS ? "threads must be from 0 to 16384" : NULL;
	if (wrong != NULL || process_is_forked()) {
		snprintf(last_error, sizeof last_error, "%s%s", name, wrong != NULL ? wrong : "this process was forked");
		return wrong != NULL ? GEMM_ERR_ARGUMENT : GEMM_ERR_UNAVAILABLE;
	}
	size_t length = sizeof name - 1;
	int code = goBound((char *)variant, threads, threads_default(), type, m, n, k, bound, last_error + length,
	                   sizeof last_error - length);
	if (code != GEMM_OK)
		memcpy(last_error, name, length);
	return code;
}

/* first_address returns the first of count addresses, or NULL if one of them or the list is NULL. */
static const void *first_address(const void *const *list, int64_t count)
{
	for (int64_t i = 1; list != NULL && i < count; i++)
		if (list[i] == NULL)
			return NULL;
	return list != NULL && count > 0 ? list[0] : NULL;
}

int gemm_multiply(const char *variant, int threads, int type, int order, int trans_a, int trans_b, int64_t m,
                  int64_t n, int64_t k, const void *const *a, int64_t lda, const void *const *b, int64_t ldb,
                  void *const *c, int64_t ldc, int64_t count)
{
	struct batch s = {.count = count, .is_listed = 1, .a = a, .b = b, .c = c};
	return typed_product("gemm_multiply", variant, threads, type, (struct product){GEMM, 0, order, 0, 0, trans_a,
	                     trans_b, 0, m, n, k, lda, ldb, ldc, NULL, NULL, first_address(a, count),
	                     first_address(b, count), (void *)first_address((const void *const *)c, count),
	                     count == 1 ? NULL : &s});
}

/* once_text returns a text that Go makes once in a process, or NULL in a forked one that has none. */
static const char *once_text(_Atomic(const char *) *kept, char *(*make)(void), const char *routine)
{
	const char *text = atomic_load(kept);
	if (text != NULL)
		return text;
	if (process_is_forked()) {
		snprintf(last_error, sizeof last_error, "%s: this process was forked: call it before the fork", routine);
		return NULL;
	}
	text = make(); /* the same in every call */
	atomic_store(kept, text);
	return text;
}

const char *gemm_variants(void)
{
	static _Atomic(const char *) kept;
	return once_text(&kept, goVariants, "gemm_variants");
}

const char *gemm_version(void)
{
	static _Atomic(const char *) kept;
	return once_text(&kept, goVersion, "gemm_version");
}

int gemm_threads(void)
{
	if (process_is_forked())
		return 1;
	int threads = threads_default();
	return threads > 0 ? threads : goProcessors();
}

const char *gemm_cuda_variants(void)
{
	static _Atomic(const char *) kept;
	return once_text(&kept, goCudaVariants, "gemm_cuda_variants");
}

char *gemm_cuda_recipe(const char *request)
{
	const char *wrong = request == NULL ? "request is NULL, must be a JSON object" :
	                    process_is_forked() ? "this process was forked, and cannot compute on GPUs" : NULL;
	if (wrong != NULL) {
		snprintf(last_error, sizeof last_error, "gemm_cuda_recipe: %s", wrong);
		return NULL;
	}
	return goCudaRecipe((char *)request, strlen(request));
}

void gemm_free(void *text) { free(text); }
