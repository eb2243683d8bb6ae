/* product.c: the way of a product from the entries to Go, and the check of its arguments. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "product.h"
#include "gemm.h"
#include "_cgo_export.h"

/* forked is set in the child of a fork, before fork returns there. */
static atomic_int forked;

static void note_fork(void) { atomic_store(&forked, 1); }

__attribute__((constructor)) static void loaded(void)
{
	const unsigned long long least = 2500000; /* KiB; docs/libgemm.md says what for */
	struct rlimit space;
	pthread_atfork(NULL, NULL, note_fork);
	/* If an address space is too small, Go's runtime ends the process, here or in a later call. */
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && space.rlim_cur >> 10 < least)
		fprintf(stderr, "libgemm: the limit of the address space is %llu KiB; Go's runtime may end this process: raise it "
		                "to %llu (ulimit -v)\n", (unsigned long long)space.rlim_cur >> 10, least);
}

int process_is_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }

/* warn_forked says once in a process that its products are slow. */
static void warn_forked(void)
{
	static atomic_int warned;
	if (!atomic_exchange(&warned, 1))
		fputs("libgemm: this process was forked from one that uses libgemm; its products are computed by a plain "
		      "loop on one thread: for fast products start processes by exec (in Python: method spawn)\n", stderr);
}

/* environment_threads returns the number in the environment variable name, or 0. */
static int environment_threads(const char *name)
{
	const char *text = getenv(name);
	if (text == NULL || *text == '\0')
		return 0;
	char *end;
	errno = 0;
	long threads = strtol(text, &end, 10);
	/* OpenMP permits a list, with a number for each level of nested regions. */
	if (errno != 0 || end == text || (*end != '\0' && *end != ',') || threads < 1 || threads > GEMM_MAX_THREADS) {
		fprintf(stderr, "libgemm: %s is \"%s\", must be a number from 1 to %d; it is ignored\n", name, text,
		        GEMM_MAX_THREADS);
		return 0;
	}
	return (int)threads;
}

static int threads_wanted;

static void read_environment(void)
{
	threads_wanted = environment_threads("GEMM_NUM_THREADS");
	if (threads_wanted == 0)
		threads_wanted = environment_threads("OMP_NUM_THREADS");
}

int threads_default(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_environment);
	return threads_wanted;
}

static int is_trans(int trans) { return trans == GEMM_TRANS || trans == GEMM_CONJ_TRANS; }

/* misfit returns whether a matrix of lines of the given length, ld elements apart, is longer than memory. */
static int misfit(int64_t lines, int64_t length, int64_t ld, size_t element)
{
	int64_t size;
	return lines > 0 && (__builtin_mul_overflow(lines - 1, ld, &size) || __builtin_add_overflow(size, length, &size) ||
	                     __builtin_mul_overflow(size, (int64_t)element, &size) || size > PTRDIFF_MAX);
}

/* matrix_size returns the elements of a matrix from its first to its last. */
static int64_t matrix_size(int64_t lines, int64_t length, int64_t ld)
{
	return lines > 0 && length > 0 ? (lines - 1) * ld + length : 0;
}

/* batch_check checks the stride of an operand that has passed matrix_check. The matrices before the last one,
 * too, must fit into memory. */
static struct fault batch_check(const char *name, int64_t stride, int64_t count, int64_t size, int used,
                                size_t element)
{
	int64_t least = used && size > 1 ? size : 1;
	if (stride < least)
		return (struct fault){-1, name, stride, NULL, least};
	if (used && misfit(count, size, stride, element))
		return (struct fault){-1, name, stride, "must be so small that the matrices fit into memory", 0};
	return (struct fault){0};
}

/* matrix_check checks the operand at position, whose name is that of its leading dimension without
 * "ld", and which has lines of the given length. used: it is read or written. */
static struct fault matrix_check(int position, const char *const names[2], const void *data, int64_t ld, int64_t lines,
                                 int64_t length, int used, size_t element)
{
	int64_t least = length > 1 ? length : 1;
	if (used && lines > 0 && length > 0 && data == NULL)
		return (struct fault){position, names[0], 0, "must be the address of its elements", 0};
	if (ld < least)
		return (struct fault){position + 1, names[1], ld, NULL, least};
	if (used && misfit(lines, length, ld, element))
		return (struct fault){position + 1, names[1], ld, "must be so small that the matrix fits into memory", 0};
	return (struct fault){0};
}

struct fault operands_check(const struct operands *o, double alpha, size_t element)
{
	static const char *const a[] = {"a", "lda"}, *const b[] = {"b", "ldb"}, *const c[] = {"c", "ldc"};
	struct fault f;
	if (o->order != GEMM_ROW_MAJOR && o->order != GEMM_COL_MAJOR)
		return (struct fault){1, "order", o->order, "must be 101 (by rows) or 102 (by columns)", 0};
	if (o->trans_a != GEMM_NO_TRANS && !is_trans(o->trans_a))
		return (struct fault){2, "trans_a", o->trans_a, "must be 111, 112 or 113", 0};
	if (o->trans_b != GEMM_NO_TRANS && !is_trans(o->trans_b))
		return (struct fault){3, "trans_b", o->trans_b, "must be 111, 112 or 113", 0};
	if (o->m < 0)
		return (struct fault){4, "m", o->m, NULL, 0};
	if (o->n < 0)
		return (struct fault){5, "n", o->n, NULL, 0};
	if (o->k < 0)
		return (struct fault){6, "k", o->k, NULL, 0};
	/* By rows, the lines of A are its rows: m of k elements, unless it is transposed. */
	int used = o->batch == NULL || o->batch->count > 0;
	int by_rows = o->order == GEMM_ROW_MAJOR, read = used && alpha != 0 && o->m > 0 && o->n > 0 && o->k > 0;
	int a_rows = by_rows != is_trans(o->trans_a), b_rows = by_rows != is_trans(o->trans_b);
	f = matrix_check(8, a, o->a, o->lda, a_rows ? o->m : o->k, a_rows ? o->k : o->m, read, element);
	if (f.position == 0)
		f = matrix_check(10, b, o->b, o->ldb, b_rows ? o->k : o->n, b_rows ? o->n : o->k, read, element);
	if (f.position == 0)
		f = matrix_check(13, c, o->c, o->ldc, by_rows ? o->m : o->n, by_rows ? o->n : o->m, used, element);
	const struct batch *s = o->batch;
	if (f.position != 0 || s == NULL)
		return f;
	if (s->count < 0)
		return (struct fault){-1, "count", s->count, NULL, 0};
	f = batch_check("stride_a", s->stride_a, s->count,
	                matrix_size(a_rows ? o->m : o->k, a_rows ? o->k : o->m, o->lda), read, element);
	if (f.position == 0)
		f = batch_check("stride_b", s->stride_b, s->count,
		                matrix_size(b_rows ? o->k : o->n, b_rows ? o->n : o->k, o->ldb), read, element);
	if (f.position == 0)
		f = batch_check("stride_c", s->stride_c, s->count,
		                matrix_size(by_rows ? o->m : o->n, by_rows ? o->n : o->m, o->ldc), used, element);
	return f;
}

void fault_text(const struct fault *f, const char *routine, char *text, size_t size)
{
	int len = snprintf(text, size, "%s: %s is %lld, ", routine, f->name, (long long)f->value);
	if (len < 0 || (size_t)len >= size)
		return;
	if (f->must != NULL)
		snprintf(text + len, size - len, "%s", f->must);
	else
		snprintf(text + len, size - len, "must be at least %lld", (long long)f->least);
}

void operands_product(const struct operands *o, struct product *p)
{
	p->k = o->k;
	p->c = o->c;
	p->ldc = o->ldc;
	if (o->order == GEMM_ROW_MAJOR) {
		p->m = o->m, p->n = o->n;
		p->a = o->a, p->lda = o->lda, p->trans_a = is_trans(o->trans_a);
		p->b = o->b, p->ldb = o->ldb, p->trans_b = is_trans(o->trans_b);
	} else {
		p->m = o->n, p->n = o->m;
		p->a = o->b, p->lda = o->ldb, p->trans_a = is_trans(o->trans_b);
		p->b = o->a, p->ldb = o->lda, p->trans_b = is_trans(o->trans_a);
	}
	if (o->batch == NULL)
		return;
	p->is_batch = 1;
	p->batch = *o->batch;
	if (o->order == GEMM_COL_MAJOR) {
		p->batch.stride_a = o->batch->stride_b;
		p->batch.stride_b = o->batch->stride_a;
	}
}

/* batch_plain computes the products of a batch one by one. */
static void batch_plain(const struct product *p)
{
	size_t element = p->is_float ? sizeof(float) : sizeof(double);
	struct product one = *p;
	for (int64_t i = 0; i < p->batch.count; i++) {
		size_t offset = (size_t)i * element; /* of a matrix, for each element of its stride */
		one.a = (const char *)p->a + offset * (size_t)p->batch.stride_a;
		one.b = (const char *)p->b + offset * (size_t)p->batch.stride_b;
		one.c = (char *)p->c + offset * (size_t)p->batch.stride_c;
		product_plain(&one);
	}
}

int product_run(struct product *p, char *text, size_t size)
{
	if (process_is_forked()) {
		warn_forked();
		if (p->is_batch)
			batch_plain(p);
		else
			product_plain(p);
		return GEMM_OK;
	}
	p->threads_default = threads_default();
	return p->is_batch ? goBatch(p, text, size) : goProduct(p, text, size);
}
