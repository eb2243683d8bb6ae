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

size_t element_size(const struct product *p)
{
	switch (p->element) {
	case 'h': case 'b': return 2;
	case 's': return 4;
	case 'z': return 16;
	default: return 8;
	}
}

/* is_zero reports whether an element, or a real number, is 0. */
static int is_zero(const struct product *p, const void *x, int is_real)
{
	if (element_size(p) == 2)
		return *(const uint16_t *)x == 0;
	int parts = !is_real && (p->element == 'c' || p->element == 'z') ? 2 : 1;
	for (int i = 0; i < parts; i++)
		if (p->element == 's' || p->element == 'c' ? ((const float *)x)[i] != 0 : ((const double *)x)[i] != 0)
			return 0;
	return 1;
}

/* reads reports whether A is read, and B unless the result is there. */
static int reads(const struct product *p, int64_t m, int64_t k)
{
	return !is_zero(p, p->alpha, p->family == HERK) && m > 0 && p->n > 0 && k > 0;
}

struct fault product_check(const struct product *p)
{
	const enum family f = p->family;
	const int is_complex = p->element == 'c' || p->element == 'z';
	/* A and C of syrk have no conjugate forms, those of herk no others. */
	const int trans = f & HERMITIAN ? 1 << 2 | 1 : is_complex && f & (SYRK | SYR2K) ? 1 << 1 | 1 : 7;
	const struct {
		int families;
		const char *name;
		int value, first, valid; /* valid: bit i for first + i */
		const char *must;
	} flags[] = {
		{SIDED, "side", p->side, 141, 3, "must be 141 or 142"},
		{~GEMM, "uplo", p->uplo, 121, 3, "must be 121 or 122"},
		{~(SYMM | HEMM), "trans_a", p->trans_a, GEMM_NO_TRANS, trans,
		 trans == 7 ? "must be 111, 112 or 113" : trans == 3 ? "must be 111 or 112" : "must be 111 or 113"},
		{GEMM | GEMMTR, "trans_b", p->trans_b, GEMM_NO_TRANS, 7, "must be 111, 112 or 113"},
		{TRIANGULAR, "diag", p->diag, 131, 3, "must be 131 or 132"},
	};
	if (p->order != GEMM_ROW_MAJOR && p->order != GEMM_COL_MAJOR)
		return (struct fault){1, "order", p->order, "must be 101 (by rows) or 102 (by columns)", 0};
	int at = 2; /* the position of the next argument */
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		unsigned bit = (unsigned)flags[i].value - (unsigned)flags[i].first;
		if (!(f & flags[i].families))
			continue;
		if (bit > 2 || !(flags[i].valid >> bit & 1))
			return (struct fault){at, flags[i].name, flags[i].value, flags[i].must, 0};
		at++;
	}
	if (f & (GEMM | SIDED) && p->m < 0)
		return (struct fault){at, "m", p->m, NULL, 0};
	at += (f & (GEMM | SIDED)) != 0;
	if (p->n < 0)
		return (struct fault){at, "n", p->n, NULL, 0};
	at++;
	if (!(f & SIDED) && p->k < 0)
		return (struct fault){at, "k", p->k, NULL, 0};
	at += !(f & SIDED) + 1; /* alpha is never wrong */

	/* The dimensions of gemm, and the lines of the operands in memory. By rows, the lines of A are its rows: m of k
	 * elements, unless it is transposed. */
	const int64_t n = p->n, m = f & (GEMM | SIDED) ? p->m : n, k = !(f & SIDED) ? p->k : p->side == 141 ? m : n;
	const size_t element = element_size(p);
	const int used = p->batch == NULL || p->batch->count > 0, read = used && reads(p, m, k);
	const int by_rows = p->order == GEMM_ROW_MAJOR;
	const int a_rows = by_rows != (p->trans_a > GEMM_NO_TRANS), b_rows = by_rows != (p->trans_b > GEMM_NO_TRANS);
	struct operand {
		const char *names[2];
		const void *data;
		int64_t ld, lines, length;
		int used;
	} operands[] = {
		{{"a", "lda"}, p->a, p->lda, a_rows ? m : k, a_rows ? k : m, read},
		{{"b", "ldb"}, p->b, p->ldb, b_rows ? k : n, b_rows ? n : k, read},
		{{"c", "ldc"}, p->c, p->ldc, by_rows ? m : n, by_rows ? n : m, used},
	}, *x = operands;
	if (f & SIDED) {
		x[0].lines = x[0].length = k;
		x[1].lines = x[2].lines, x[1].length = x[2].length;
		x[1].used = f & TRIANGULAR ? used : read;
	} else if (f & (SYR2K | HER2K)) {
		x[1].lines = x[0].lines, x[1].length = x[0].length;
	}
	for (int i = 0; i < 3; i++) {
		if ((i == 1 && f & (SYRK | HERK)) || (i == 2 && f & TRIANGULAR))
			continue;
		at += i == 2; /* beta */
		struct fault wrong = matrix_check(at, x[i].names, x[i].data, x[i].ld, x[i].lines, x[i].length, x[i].used, element);
		if (wrong.position != 0)
			return wrong;
		at += 2;
	}
	if (p->batch == NULL)
		return (struct fault){0};
	const struct batch *s = p->batch;
	const int64_t strides[] = {s->stride_a, s->stride_b, s->stride_c};
	static const char *const names[] = {"stride_a", "stride_b", "stride_c"};
	if (s->count < 0)
		return (struct fault){-1, "count", s->count, NULL, 0};
	if (s->is_listed)
		return (struct fault){0};
	for (int i = 0; i < 3; i++) {
		struct fault wrong = batch_check(names[i], strides[i], s->count, matrix_size(x[i].lines, x[i].length, x[i].ld),
		                                 x[i].used, element);
		if (wrong.position != 0)
			return wrong;
	}
	return (struct fault){0};
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

#define EXCHANGE(T, X, Y) do { T kept = X; X = Y; Y = kept; } while (0)

/* product_by_rows makes p a product of matrices by rows, with the letters of Fortran as flags. Columns are rows of the
 * transpose, so results are computed transposed: of gemm Ct = Bt*At, of her2k with A and B exchanged too, which
 * conjugates alpha. m and k are filled in. If alpha = 0, so is k, and a product with a square matrix, which has no k,
 * becomes one of gemm. */
static void product_by_rows(struct product *p, struct batch *batch)
{
	static const double zero[2];
	const enum family f = p->family;
	const int is_real = p->element != 'c' && p->element != 'z';
	if (!(f & (GEMM | SIDED)))
		p->m = p->n;
	if (f & SIDED)
		p->k = p->side == 141 ? p->m : p->n;
	if (p->order == GEMM_COL_MAJOR) {
		if (!(f & (SIDED | SYRK | HERK))) {
			EXCHANGE(const void *, p->a, p->b);
			EXCHANGE(int64_t, p->lda, p->ldb);
			if (p->batch != NULL) {
				*batch = *p->batch;
				EXCHANGE(int64_t, batch->stride_a, batch->stride_b);
				EXCHANGE(const void *const *, batch->a, batch->b);
				p->batch = batch;
			}
		}
		EXCHANGE(int64_t, p->m, p->n);
		p->side = 141 + 142 - p->side;
		p->uplo = 121 + 122 - p->uplo;
		if (f & (GEMM | GEMMTR))
			EXCHANGE(int, p->trans_a, p->trans_b);
		else if (!(f & SIDED))
			p->trans_a = p->trans_a != GEMM_NO_TRANS ? GEMM_NO_TRANS : f & HERMITIAN ? GEMM_CONJ_TRANS : GEMM_TRANS;
	}
	p->order = GEMM_ROW_MAJOR;
	p->side = p->side == 141 ? 'L' : 'R';
	p->uplo = p->uplo == 121 ? 'U' : 'L';
	p->diag = p->diag == 132 ? 'U' : 'N';
	p->trans_a = p->trans_a <= GEMM_NO_TRANS ? 'N' : p->trans_a == GEMM_TRANS || is_real ? 'T' : 'C';
	p->trans_b = p->trans_b <= GEMM_NO_TRANS ? 'N' : p->trans_b == GEMM_TRANS || is_real ? 'T' : 'C';
	if (p->m > 0 && p->n > 0 && !is_zero(p, p->alpha, f == HERK))
		return;
	p->k = 0;
	if (f & SIDED)
		p->family = GEMM;
	if (f & TRIANGULAR)
		p->c = (void *)p->b, p->ldc = p->ldb, p->beta = zero;
}

/* batch_plain computes the products of a batch one by one. */
static void batch_plain(const struct product *p)
{
	const struct batch *s = p->batch;
	struct product one = *p;
	for (int64_t i = 0; i < s->count; i++) {
		size_t offset = (size_t)i * element_size(p); /* of a matrix, for each element of its stride */
		one.a = s->is_listed ? s->a[i] : (const char *)p->a + offset * (size_t)s->stride_a;
		one.b = s->is_listed ? s->b[i] : (const char *)p->b + offset * (size_t)s->stride_b;
		one.c = s->is_listed ? s->c[i] : (char *)p->c + offset * (size_t)s->stride_c;
		product_plain(&one);
	}
}

int product_run(struct product *p, char *text, size_t size)
{
	struct batch batch;
	product_by_rows(p, &batch);
	if (process_is_forked()) {
		warn_forked();
		if (p->batch != NULL)
			batch_plain(p);
		else
			product_plain(p);
		return GEMM_OK;
	}
	p->threads_default = threads_default();
	return goProduct(p, text, size);
}
