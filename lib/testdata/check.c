/* check.c: a program in C that checks libgemm.
 *
 *     check random SEED COUNT     products and batches of random shapes by every entry, compared with plain loops
 *     check threads COUNT EACH    COUNT threads that compute EACH such products at the same time
 *     check fork SEED COUNT       random in a forked process, and in a process that it forks
 *     check exit                  exits while threads compute
 *     check standard COUNT        whether 0 stands for COUNT threads
 *     check errors                arguments that are wrong
 *     check positions             the position of each that cblas_xerbla gets; defined with -DXERBLA
 *     check descriptors LEFT      a daemon that has closed all descriptors, opens files and leaves LEFT unused
 *     check signals               handlers of the program, before and after a product
 *     check ended NUMBER          raises the signal without a handler, after a product
 *     check calls COUNT [threads] prints the time of a call for n = 8, in nanoseconds
 *
 * It exits with 0 if all is well. Otherwise it says what is not. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GEMM_CBLAS
#include "gemm.h"

void cblas_sgemm_64(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                    float, float *, int64_t);
void cblas_dgemm_64(int, int, int, int64_t, int64_t, int64_t, double, const double *, int64_t, const double *,
                    int64_t, double, double *, int64_t);
void sgemm_64_(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const float *,
               const float *, const int64_t *, const float *, const int64_t *, const float *, float *,
               const int64_t *);
void dgemm_64_(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const double *,
               const double *, const int64_t *, const double *, const int64_t *, const double *, double *,
               const int64_t *);

static int reported, reported_by_rows; /* what cblas_xerbla got last */

#ifdef XERBLA /* handle errors as a program may */
int RowMajorStrg; /* in the reference's library */

void cblas_xerbla(int position, const char *routine, const char *form, ...);
void cblas_xerbla(int position, const char *routine, const char *form, ...)
{
	(void)routine;
	va_list args;
	va_start(args, form);
	fprintf(stderr, "cblas_xerbla %d ", position);
	vfprintf(stderr, form, args);
	va_end(args);
	reported = position;
	reported_by_rows = RowMajorStrg;
}

void xerbla_(const char *routine, const int *position, size_t len);
void xerbla_(const char *routine, const int *position, size_t len)
{
	fprintf(stderr, "xerbla %d %.*s\n", *position, (int)len, routine);
}
#endif

static void fail(const char *what)
{
	fprintf(stderr, "check: %s\n", what);
	exit(1);
}

/* draw returns a random number below n. */
static uint64_t draw(uint64_t *state, uint64_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % n;
}

/* A shape: transposes, order, dimensions and leading dimensions. */
struct shape {
	int order, trans_a, trans_b;
	int64_t m, n, k, lda, ldb, ldc;
};

/* lines returns the number of lines of an operand that is rows x cols before op, and their length. */
static int64_t lines(int order, int trans, int64_t rows, int64_t cols, int64_t *length)
{
	int by_rows = (order == GEMM_ROW_MAJOR) != (trans != GEMM_NO_TRANS);
	*length = by_rows ? cols : rows;
	return by_rows ? rows : cols;
}

static int64_t draw_size(uint64_t *state)
{
	static const int limits[] = {2, 9, 33, 70, 150};
	return (int64_t)draw(state, limits[draw(state, 5)]);
}

static struct shape draw_shape(uint64_t *state)
{
	struct shape s = {.order = GEMM_ROW_MAJOR + (int)draw(state, 2),
	                  .trans_a = GEMM_NO_TRANS + (int)draw(state, 3),
	                  .trans_b = GEMM_NO_TRANS + (int)draw(state, 3),
	                  .m = draw_size(state), .n = draw_size(state), .k = draw_size(state)};
	int64_t a, b, c;
	lines(s.order, s.trans_a, s.m, s.k, &a);
	lines(s.order, s.trans_b, s.k, s.n, &b);
	lines(s.order, GEMM_NO_TRANS, s.m, s.n, &c);
	s.lda = (a > 0 ? a : 1) + (int64_t)draw(state, 4);
	s.ldb = (b > 0 ? b : 1) + (int64_t)draw(state, 4);
	s.ldc = (c > 0 ? c : 1) + (int64_t)draw(state, 4);
	return s;
}

/* An operand lies between two pages that cannot be accessed, and touches one of them. */
struct operand {
	char *pages;
	size_t size; /* of all pages */
	void *data, *before;
	size_t bytes;
};

static struct operand new_operand(size_t bytes, int at_end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page) / page * page;
	struct operand o = {.size = inside + 2 * page, .bytes = bytes};
	o.pages = mmap(NULL, o.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	o.before = malloc(bytes + 1);
	if (o.pages == MAP_FAILED || o.before == NULL || mprotect(o.pages + page, inside, PROT_READ | PROT_WRITE) != 0)
		fail("there is no memory");
	o.data = o.pages + page + (at_end ? inside - bytes : 0);
	return o;
}

static void free_operand(struct operand *o)
{
	munmap(o->pages, o->size);
	free(o->before);
}

#define T float
#define NAME(x) x##_float
#define ROUNDOFF 0x1p-24
#define GEMM gemm_sgemm
#define GEMM_BATCH gemm_sgemm_batch_strided
#define CBLAS cblas_sgemm
#define CBLAS_64 cblas_sgemm_64
#define BLAS sgemm_
#define BLAS_64 sgemm_64_
#include "check.inc"
#undef T
#undef NAME
#undef ROUNDOFF
#undef GEMM
#undef GEMM_BATCH
#undef CBLAS
#undef CBLAS_64
#undef BLAS
#undef BLAS_64
#define T double
#define NAME(x) x##_double
#define ROUNDOFF 0x1p-53
#define GEMM gemm_dgemm
#define GEMM_BATCH gemm_dgemm_batch_strided
#define CBLAS cblas_dgemm
#define CBLAS_64 cblas_dgemm_64
#define BLAS dgemm_
#define BLAS_64 dgemm_64_
#include "check.inc"

static void check_random(uint64_t seed, int count)
{
	for (int i = 0; i < count; i++) {
		check_float(&seed);
		check_double(&seed);
		check_batch_float(&seed);
		check_batch_double(&seed);
	}
}

struct caller {
	uint64_t seed;
	int each;
};

static void *caller(void *x)
{
	struct caller *c = x;
	check_random(c->seed, c->each);
	return NULL;
}

/* check_threads runs count threads, and meanwhile does a part of its own, if that is not NULL. */
static void check_threads(int count, int each, void (*meanwhile)(void))
{
	pthread_t *threads = calloc((size_t)count, sizeof *threads);
	struct caller *callers = calloc((size_t)count, sizeof *callers);
	for (int i = 0; i < count; i++) {
		callers[i] = (struct caller){.seed = (uint64_t)i + 1, .each = each};
		if (pthread_create(&threads[i], NULL, caller, &callers[i]) != 0)
			fail("a thread could not be started");
	}
	if (meanwhile != NULL)
		meanwhile();
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(callers);
}

/* check_child runs random products in a forked process, and in one that it forks, if it may. */
static void check_child(uint64_t seed, int count, int deep)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		alarm(60); /* a call that hangs ends the process */
		check_random(seed, count);
		if (deep > 0)
			check_child(seed + 1, count, deep - 1);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		fail("there is no child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail("the forked process failed");
}

static void exit_soon(void)
{
	usleep(20000);
	exit(0);
}

static void fork_some(void)
{
	for (uint64_t i = 0; i < 5; i++)
		check_child(100 + i, 5, 0);
}

static void check_fork(uint64_t seed, int count)
{
	check_child(seed, count, 0); /* before the first product */
	check_random(seed, 3);
	check_child(seed, count, 1);
	check_random(seed, 3); /* the parent goes on */
	check_threads(4, 100, fork_some);
	if (gemm_variants() == NULL)
		fail(gemm_error());
}

static void expect_error(int got, int want, const char *text)
{
	if (got != want || (got != GEMM_OK && strcmp(gemm_error(), text) != 0)) {
		fprintf(stderr, "check: error %d, \"%s\"; want %d, \"%s\"\n", got, gemm_error(), want, text);
		exit(1);
	}
}

/* simple calls gemm_dgemm for 4 x 4 matrices, by rows. */
static int simple(const char *variant, int threads, int order, int trans, int64_t m, double alpha, int64_t lda,
                  const double *a)
{
	static const double b[16];
	static double c[16];
	return gemm_dgemm(variant, threads, order, trans, GEMM_NO_TRANS, m, 4, 4, alpha, a, lda, b, 4, 0, c, 4);
}

static void check_standard(int threads)
{
	uint64_t seed = 3;
	check_random(seed, 20);
	expect_error(simple("serial/packed", 0, GEMM_ROW_MAJOR, GEMM_NO_TRANS, 4, 0, 4, NULL), GEMM_OK, "");
	if (gemm_threads() != threads) {
		fprintf(stderr, "check: gemm_threads() is %d, want %d\n", gemm_threads(), threads);
		exit(1);
	}
}

/* simple_batch calls gemm_dgemm_batch_strided for two products of 2 x 2 matrices. */
static int simple_batch(int64_t stride_a, int64_t stride_b, int64_t stride_c, int64_t count, const double *a)
{
	static const double b[16];
	static double c[16];
	return gemm_dgemm_batch_strided(0, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 2, 2, 2, 1, a, 2, stride_a, b, 2,
	                                stride_b, 0, c, 3, stride_c, count);
}

static void check_batch_errors(const double *a)
{
	const int wrong = GEMM_ERR_ARGUMENT;
	expect_error(simple_batch(3, 4, 5, 2, a), wrong,
	             "gemm_dgemm_batch_strided: stride_a is 3, must be at least 4");
	expect_error(simple_batch(4, 0, 5, 2, a), wrong,
	             "gemm_dgemm_batch_strided: stride_b is 0, must be at least 4");
	expect_error(simple_batch(4, 4, -5, 2, a), wrong,
	             "gemm_dgemm_batch_strided: stride_c is -5, must be at least 5");
	expect_error(simple_batch(4, 4, 5, -1, a), wrong, "gemm_dgemm_batch_strided: count is -1, must be at least 0");
	expect_error(simple_batch(INT64_MAX / 8, 4, 5, 2, a), wrong,
	             "gemm_dgemm_batch_strided: stride_a is 1152921504606846975, must be so small that the matrices fit "
	             "into memory");
	expect_error(simple_batch(4, 4, 5, 2, NULL), wrong,
	             "gemm_dgemm_batch_strided: a is 0, must be the address of its elements");
	expect_error(simple_batch(4, 4, 5, 0, NULL), GEMM_OK, "");
	expect_error(simple_batch(4, 4, 5, 2, a), GEMM_OK, "");

	const float x[] = {1, 2}, y[] = {3, 4, 5, 6};
	float z[2] = {0};
	struct gemm_product p = {1, 1, 2, 2, x, y, z};
	expect_error(gemm_product(&p), GEMM_OK, "");
	if (z[0] != 13 || z[1] != 16)
		fail("gemm_product is wrong");
	p.m = -1;
	expect_error(gemm_product(&p), wrong, "gemm_product: m is -1, must be at least 0");
	p.m = 1, p.type = 6;
	expect_error(gemm_product(&p), wrong, "gemm_product: type is 6, must be from 0 (GEMM_F64) to 5 (GEMM_C128)");

	const uint16_t two = 0x4000; /* in f16 */
	uint16_t rounded[2];
	const void *halves[] = {&two, NULL};
	void *to[] = {&rounded[0], &rounded[1]};
	for (int64_t count = 0; count < 2; count++)
		expect_error(gemm_multiply(NULL, 0, GEMM_F16, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 1, 1, 1, halves, 1,
		                           halves, 1, to, 1, count), GEMM_OK, "");
	if (rounded[0] != 0x4400)
		fail("gemm_multiply is wrong");
	expect_error(gemm_multiply(NULL, 0, GEMM_F16, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 1, 1, 1, halves, 1,
	                           halves, 1, to, 1, 2), wrong, "gemm_multiply: a is 0, must be the address of its elements");
}

static void check_errors(void)
{
	static const double a[16];
	const int rows = GEMM_ROW_MAJOR, none = GEMM_NO_TRANS, wrong = GEMM_ERR_ARGUMENT;
	if (strcmp(gemm_error(), "") != 0)
		fail("there is the text of an error, and no error");
	expect_error(simple(NULL, 0, 100, none, 4, 1, 4, a), wrong,
	             "gemm_dgemm: order is 100, must be 101 (by rows) or 102 (by columns)");
	expect_error(simple(NULL, 0, rows, 'N', 4, 1, 4, a), wrong,
	             "gemm_dgemm: trans_a is 78, must be 111, 112 or 113");
	expect_error(simple(NULL, 0, rows, none, -1, 1, 4, a), wrong, "gemm_dgemm: m is -1, must be at least 0");
	expect_error(simple(NULL, 0, rows, none, 4, 1, 3, a), wrong, "gemm_dgemm: lda is 3, must be at least 4");
	expect_error(simple(NULL, 0, rows, none, 4, 1, -5, a), wrong, "gemm_dgemm: lda is -5, must be at least 4");
	expect_error(simple(NULL, 0, rows, none, 4, 1, INT64_MAX, a), wrong,
	             "gemm_dgemm: lda is 9223372036854775807, must be so small that the matrix fits into memory");
	expect_error(simple(NULL, 0, rows, none, 4, 1, 4, NULL), wrong,
	             "gemm_dgemm: a is 0, must be the address of its elements");
	expect_error(simple(NULL, -1, rows, none, 4, 1, 4, a), wrong,
	             "gemm_dgemm: threads is -1, must be from 0 to 16384");
	expect_error(simple("serial/naive", 0, rows, none, 4, 2, 4, a), GEMM_ERR_VARIANT,
	             "gemm_dgemm: bad variant: serial/naive computes C = A*B only, without transposes, with alpha = 1 and beta = 0: "
	             "serial/packed and parallel/packed compute all products");
	expect_error(simple("serial/packed", 2, rows, none, 4, 1, 4, a), GEMM_ERR_VARIANT,
	             "gemm_dgemm: bad variant: serial/packed has one thread, and 2 are requested: pass 0 or 1");
	if (simple("serial/quick", 0, rows, none, 4, 1, 4, a) != GEMM_ERR_VARIANT ||
	    strstr(gemm_error(), "serial/quick") == NULL || strstr(gemm_error(), "serial/naive") == NULL)
		fail(gemm_error());
	expect_error(simple(NULL, 0, rows, none, 4, 0, 4, NULL), GEMM_OK, ""); /* alpha = 0: A is not read */
	expect_error(gemm_dgemm(NULL, 0, rows, none, none, 0, 4, 4, 1, NULL, 4, NULL, 4, 0, NULL, 4), GEMM_OK, "");
	expect_error(gemm_dgemm(NULL, 0, rows, none, none, 4, 0, 4, 1, NULL, 4, NULL, 4, 0, NULL, 4), GEMM_OK, "");
	double whole[24] = {1};
	const char *overlap = "gemm_dgemm: operands overlap: c needs memory apart from a and b";
	for (int order = rows; order <= GEMM_COL_MAJOR; order++) {
		expect_error(gemm_dgemm(NULL, 0, order, none, none, 4, 4, 4, 1, whole, 4, a, 4, 0, whole, 4), wrong, overlap);
		expect_error(gemm_dgemm("serial/packed", 0, order, none, none, 4, 4, 4, 1, a, 4, whole, 4, 0, whole + 8, 4), wrong,
		             overlap);
	}
	if (whole[0] != 1)
		fail("a product that overlaps has written C");
	check_batch_errors(a);
	cblas_dgemm(rows, none, none, 4, 4, 4, 1, a, 4, a, 3, 0, NULL, 4);
	double alpha = 1, c[16] = {7};
	int four = 4, three = 3;
	dgemm_("N", "X", &four, &four, &four, &alpha, a, &four, a, &four, &alpha, c, &four);
	dgemm_("N", "N", &four, &four, &four, &alpha, a, &three, a, &four, &alpha, c, &four);
	if (c[0] != 7)
		fail("an error has written C");
}

/* check_position calls cblas_dgemm with one wrong argument. In a call by rows, the reference exchanges the
 * positions of M and N, and those of lda and ldb. */
static int check_position(int wrong, int order, int trans_a, int trans_b)
{
	static const int exchanged[15] = {0, 1, 2, 3, 5, 4, 6, 0, 0, 11, 0, 9, 0, 0, 14};
	const double a[4] = {0};
	double c[4] = {7};
	int x[15] = {0, order, trans_a, trans_b, 2, 2, 2, 0, 0, 2, 0, 2, 0, 0, 2};
	int by_rows = wrong != 1 && order == GEMM_ROW_MAJOR, want = by_rows ? exchanged[wrong] : wrong;
	x[wrong] = wrong <= 3 ? 99 : wrong <= 6 ? -1 : 1;
	reported = 0;
	cblas_dgemm(x[1], x[2], x[3], x[4], x[5], x[6], 1, a, x[9], a, x[11], 0, c, x[14]);
	if (reported != want || reported_by_rows != by_rows || c[0] != 7)
		printf("order %d, transposes %d and %d, wrong argument %d: position %d, by rows %d; want %d, %d\n", order, trans_a,
		       trans_b, wrong, reported, reported_by_rows, want, by_rows);
	return 1;
}

/* check_positions calls with each wrong argument, under each order and transpose: 60 calls, as in the reference's
 * tests. */
static void check_positions(void)
{
	int calls = 0;
	for (int order = GEMM_ROW_MAJOR; order <= GEMM_COL_MAJOR; order++)
		for (int a = GEMM_NO_TRANS; a <= GEMM_TRANS; a++) {
			calls += check_position(2, order, GEMM_NO_TRANS, a);
			calls += check_position(3, order, a, GEMM_NO_TRANS);
			for (int b = GEMM_NO_TRANS; b <= GEMM_TRANS; b++) {
				calls += order == GEMM_COL_MAJOR ? check_position(1, order, a, b) : 0;
				for (int wrong = 4; wrong <= 14; wrong++)
					calls += wrong <= 6 || wrong == 9 || wrong == 11 || wrong == 14 ? check_position(wrong, order, a, b) : 0;
			}
		}
	printf("%d calls\n", calls);
}

enum { DESCRIPTORS = 256 };

/* check_large computes a product that threads share, of ones. */
static void check_large(int n)
{
	double *a = malloc((size_t)n * n * sizeof *a), *c = malloc((size_t)n * n * sizeof *c);
	for (int i = 0; i < n * n; i++)
		a[i] = 1, c[i] = NAN;
	if (gemm_dgemm(NULL, 4, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, n, n, n, 1, a, n, a, n, 0, c, n) != GEMM_OK)
		fail(gemm_error());
	for (int i = 0; i < n * n; i++)
		if (c[i] != n)
			fail("a product that threads share is wrong");
	free(a);
	free(c);
}

/* check_collected has Go's garbage collector give memory back to the system, which it does in steps, by a timer. */
static void check_collected(void)
{
	for (int i = 0; i < 600; i++) {
		if (i % 200 == 0)
			check_large(300 + i);
		gemm_free(gemm_cuda_recipe("{\"variant\": \"cuda/tuned\", \"type\": \"f64\", \"m\": 64, \"n\": 64, \"k\": 64,"
		                           "\"a\": {\"ld\": 64}, \"b\": {\"ld\": 64}, \"c\": {\"ld\": 64}, \"gpu\": "
		                           "{\"cc\": \"8.0\", \"multiprocessors\": 100, \"clock_mhz\": 1000}}"));
	}
}

/* check_descriptors closes all descriptors, opens files under their numbers, and computes. The library must not
 * write to the files, nor have descriptors of its own. left: how many more could be opened. */
static void check_descriptors(int left)
{
	struct rlimit limit = {DESCRIPTORS + left, DESCRIPTORS + left};
	char link[32], file[32] = "";
	gemm_threads(); /* Go's runtime has started */
	for (int i = 3; i < DESCRIPTORS; i++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", i);
		if (readlink(link, file, sizeof file - 1) > 0 && (strncmp(file, "/sys", 4) == 0 || strstr(file, "[event") != NULL))
			fail("the library holds a descriptor of the system");
		close(i);
	}
	for (int i = 3; i < DESCRIPTORS; i++)
		if (memfd_create("file", 0) != i)
			fail("a file has not the least free descriptor");
	setrlimit(RLIMIT_NOFILE, &limit);
	check_large(64);
	check_random(11, 40);
	check_large(500);
	check_threads(8, 20, NULL);
	check_collected();
	if (gemm_variants() == NULL)
		fail(gemm_error());
	struct stat state;
	for (int i = 3; i < DESCRIPTORS; i++)
		if (fstat(i, &state) != 0 || state.st_size != 0 || lseek(i, 0, SEEK_CUR) != 0)
			fail("the library wrote to a file of the program");
	for (int i = DESCRIPTORS; i < DESCRIPTORS + left; i++)
		if (fcntl(i, F_GETFD) != -1)
			fail("the library holds a descriptor");
}

static volatile sig_atomic_t interrupted;
static sigjmp_buf before_fault;

static void on_interrupt(int number) { interrupted = number; }

static void on_fault(int number)
{
	(void)number;
	siglongjmp(before_fault, 1);
}

/* check_handlers interrupts this process and has it access memory that is not there. */
static void check_handlers(const char *when)
{
	interrupted = 0;
	raise(SIGINT);
	if (interrupted != SIGINT)
		fail(when);
	char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sigsetjmp(before_fault, 1) == 0) {
		*(volatile char *)nowhere = 1;
		fail(when);
	}
	munmap(nowhere, 4096);
}

/* check_ended expects a signal without a handler to end a forked process. */
static void check_ended(int number)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		alarm(60);
		raise(number);
		exit(0);
	}
	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) == SIGALRM)
		fail("the default handling of a signal does not end a forked process");
}

static void check_signals(void)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt}, fault = {.sa_handler = on_fault};
	uint64_t seed = 5;
	check_ended(SIGINT);
	check_ended(SIGSEGV);
	sigaction(SIGINT, &interrupt, NULL);
	fault.sa_flags = SA_ONSTACK;
	sigaction(SIGSEGV, &fault, NULL);
	check_handlers("a handler is not called before the first product");
	check_random(seed, 20);
	check_handlers("a handler is not called after products");
}

static double nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void time_calls(long count, int threads)
{
	double a[64], b[64], c[64] = {0};
	for (int i = 0; i < 64; i++)
		a[i] = b[i] = i;
	for (long i = -1000; i < 0; i++)
		gemm_dgemm(NULL, threads, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 8, 8, 8, 1, a, 8, b, 8, 0, c, 8);
	double begin = nanoseconds();
	for (long i = 0; i < count; i++)
		gemm_dgemm(NULL, threads, GEMM_ROW_MAJOR, GEMM_NO_TRANS, GEMM_NO_TRANS, 8, 8, 8, 1, a, 8, b, 8, 0, c, 8);
	printf("%.1f\n", (nanoseconds() - begin) / (double)count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;
	if (strcmp(what, "random") == 0)
		check_random((uint64_t)first, (int)second);
	else if (strcmp(what, "threads") == 0)
		check_threads((int)first, (int)second, NULL);
	else if (strcmp(what, "fork") == 0)
		check_fork((uint64_t)first, (int)second);
	else if (strcmp(what, "errors") == 0)
		check_errors();
	else if (strcmp(what, "positions") == 0)
		check_positions();
	else if (strcmp(what, "descriptors") == 0)
		check_descriptors((int)first);
	else if (strcmp(what, "signals") == 0)
		check_signals();
	else if (strcmp(what, "exit") == 0)
		check_threads(8, 1 << 20, exit_soon);
	else if (strcmp(what, "standard") == 0)
		check_standard((int)first);
	else if (strcmp(what, "ended") == 0) {
		check_random(7, 20);
		raise((int)first);
	} else if (strcmp(what, "calls") == 0)
		time_calls(first, (int)second);
	else
		fail("the first argument is random, threads, fork, exit, standard, errors, positions, descriptors, signals, ended or calls");
	return 0;
}
