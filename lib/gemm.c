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

/* named_product checks the operands and computes. p has alpha, beta and is_float. */
static int named_product(const char *routine, const char *variant, int threads, const struct operands *o,
                         struct product *p)
{
	struct fault f = operands_check(o, p->alpha, p->is_float ? sizeof(float) : sizeof(double));
	if (f.position == 0 && (threads < 0 || threads > GEMM_MAX_THREADS))
		f = (struct fault){-1, "threads", threads, "must be from 0 to 16384", 0};
	if (f.position != 0) {
		fault_text(&f, routine, last_error, sizeof last_error);
		return GEMM_ERR_ARGUMENT;
	}
	p->variant = variant;
	p->variant_len = variant == NULL ? 0 : strlen(variant);
	p->threads = threads;
	p->is_checked = 1;
	operands_product(o, p);

	/* The text of an error follows the name of the routine, which is written afterwards. */
	size_t name = strlen(routine);
	int code = product_run(p, last_error + name + 2, sizeof last_error - name - 2);
	if (code != GEMM_OK) {
		memcpy(last_error, routine, name);
		memcpy(last_error + name, ": ", 2);
	}
	return code;
}

int gemm_sgemm(const char *variant, int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
               float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	struct operands o = {order, trans_a, trans_b, m, n, k, lda, ldb, ldc, a, b, c};
	struct product p = {.is_float = 1, .alpha = alpha, .beta = beta};
	return named_product("gemm_sgemm", variant, threads, &o, &p);
}

int gemm_dgemm(const char *variant, int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
               double alpha, const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
               int64_t ldc)
{
	struct operands o = {order, trans_a, trans_b, m, n, k, lda, ldb, ldc, a, b, c};
	struct product p = {.alpha = alpha, .beta = beta};
	return named_product("gemm_dgemm", variant, threads, &o, &p);
}

int gemm_product(const struct gemm_product *x)
{
	int64_t lda = x->k > 1 ? x->k : 1, ldb = x->n > 1 ? x->n : 1;
	struct operands o = {GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, x->m, x->n, x->k, lda, ldb, ldb,
	                     x->a, x->b, x->c};
	struct product p = {.is_float = x->is_float != 0, .alpha = 1};
	return named_product("gemm_product", NULL, 0, &o, &p);
}

int gemm_sgemm_batch_strided(int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                             float alpha, const float *a, int64_t lda, int64_t stride_a, const float *b, int64_t ldb,
                             int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c, int64_t count)
{
	struct batch s = {stride_a, stride_b, stride_c, count};
	struct operands o = {order, trans_a, trans_b, m, n, k, lda, ldb, ldc, a, b, c, &s};
	struct product p = {.is_float = 1, .alpha = alpha, .beta = beta};
	return named_product("gemm_sgemm_batch_strided", NULL, threads, &o, &p);
}

int gemm_dgemm_batch_strided(int threads, int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                             double alpha, const double *a, int64_t lda, int64_t stride_a, const double *b,
                             int64_t ldb, int64_t stride_b, double beta, double *c, int64_t ldc, int64_t stride_c,
                             int64_t count)
{
	struct batch s = {stride_a, stride_b, stride_c, count};
	struct operands o = {order, trans_a, trans_b, m, n, k, lda, ldb, ldc, a, b, c, &s};
	struct product p = {.alpha = alpha, .beta = beta};
	return named_product("gemm_dgemm_batch_strided", NULL, threads, &o, &p);
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
