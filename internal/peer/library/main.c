// Holds one library in a process of its own and multiplies with it.
//
// Requests on standard input and answers, "ok" or "error", on standard output are frames, as internal/ipc has them;
// here without the number of bytes. Matrices are their rows without what lies between them.
//
//     setenv NAME VALUE          before a library reads it
//     open FILE                  the library that is meant from here on
//     global FILE                opens one whose symbols others are to find
//     close                      unloads the library that is meant
//     find SYMBOL                -> its address
//     integer SYMBOL [ARGUMENT]  -> what the function of one or no integer returns
//     text SYMBOL [ARGUMENT]     -> the same of a function that returns a string
//     buffer SYMBOL              -> what f(char *, int) writes
//     stage f32|f64 ABI SYMBOL GUARDED OPS ALPHA BETA M N K PADA PADB PADC COUNT,
//                                then A and B as they are stored, and C unless BETA is 0
//     run N SEED STAGED DRY      -> the seconds of N products, and the seconds of the calls before the clock
//                                started; then C of each product, as it is stored. DRY is 1: all but the calls
//     drop                       releases A, B and C
//     pid                        -> the number of the process that holds the library
//     unconfined                 -> what the arguments of the program limit and the system does not, see confine.c
//
// The ABI is fortran, exchanged, cblas, rowmajor, square or strided; type ABI of the package
// has their meaning. OPS is two of N and T. A PAD is what the leading dimension of a matrix
// exceeds the least one by. COUNT products of the shape are one: the rows of each matrix
// follow the rows of the previous one.
//
// The clock runs while the library does and at no other time: what the line, the
// pipe and the scheduler cost is not in it.
//
// The operands of a product are what was staged, with new mantissas that SEED decides; product number STAGED has
// the old mantissas. C is filled with NaN before a product and copied after it. What C should be is nowhere in
// this process: the other side knows the operands, and compares every C.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The functions of the ABIs. The arguments of sgemm_ and dgemm_ are addresses, and the
// lengths of the strings, which compilers of Fortran append. An integer is stored in 64
// bits; a library whose integers have 32 reads the lower half, which is the first here.
// The arguments of cblas_sgemm and cblas_dgemm are passed in registers or words of the stack.
typedef void fortran(const char *ta, const char *tb, const long long *m, const long long *n, const long long *k,
                     const void *alpha, const void *a, const long long *lda, const void *b, const long long *ldb,
                     const void *beta, void *c, const long long *ldc, size_t, size_t);
typedef void cblas64(int order, int ta, int tb, long m, long n, long k, double alpha, const void *a, long lda,
                     const void *b, long ldb, double beta, void *c, long ldc);
typedef void cblas32(int order, int ta, int tb, long m, long n, long k, float alpha, const void *a, long lda,
                     const void *b, long ldb, float beta, void *c, long ldc);
typedef void strided64(int order, int ta, int tb, long m, long n, long k, double alpha, const void *a, long lda,
                       long step_a, const void *b, long ldb, long step_b, double beta, void *c, long ldc, long step_c,
                       long count);
typedef void strided32(int order, int ta, int tb, long m, long n, long k, float alpha, const void *a, long lda,
                       long step_a, const void *b, long ldb, long step_b, float beta, void *c, long ldc, long step_c,
                       long count);
typedef void rowmajor(int m, int n, int k, const void *a, const void *b, void *c);
typedef void square(int n, void *a, void *b, void *c);

enum abi { FORTRAN, EXCHANGED, CBLAS, ROWMAJOR, SQUARE, STRIDED };
static const char *const abis[] = {"fortran", "exchanged", "cblas", "rowmajor", "square", "strided"};

static FILE *in, *out; // requests and answers; what the library prints goes to standard error
static void *library;

// matrix is an operand: lines of ld elements, which are its columns or its rows. It has one place or several.
struct matrix {
    const char *name;
    long long rows, columns, ld;
    int by_columns;
    char *first, *data, *map;   // the first place, the one in use, and what is mapped around guarded places or NULL
    size_t bytes, step, mapped; // of a place, from one to the next, of map
    char *original;             // what was staged, as it is stored; NULL: C is not read
};

static struct {
    void *routine; // NULL: nothing is staged
    enum abi abi;
    int guarded, trans_a, trans_b;
    double alpha, beta;
    size_t size; // of an element
    long long m, n, k, count;  // of each product, and how many there are
    struct matrix a, b, c;     // of all products, one below the other
    long places, group, calls; // of each matrix; calls between two readings of the clock; calls so far
    char *results, *line;      // C of each call of a request; room for a line of A or B
    double last;               // seconds of a call
} product;

// answer writes an answer of one line and the number of bytes that follow it.
static void answer(const char *word, long long length, const char *format, ...) {
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(out, "%s %lld %.*s\n", word, length, (int)strcspn(text, "\n"), text);
}

// ok answers that a request is met, and fail that it cannot be.
static void ok(void) { answer("ok", 0, ""); }
static void fail(const char *reason) { answer("error", 0, "%s", reason ? reason : "no reason given"); }

// find returns a symbol of the library under one of the names that builds of OpenBLAS
// give it, or answers that there is none.
static void *find(const char *symbol) {
    static const char *const names[] = {"%s", "%s64_", "scipy_%s", "scipy_%s64_"};
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
        char name[256];
        snprintf(name, sizeof name, names[i], symbol);
        void *address = dlsym(library, name);
        if (address) return address;
    }
    answer("error", 0, "no symbol %s", symbol);
    return NULL;
}

// lines and length of a matrix: its columns and their elements, or its rows and theirs.
static long long lines(const struct matrix *x) { return x->by_columns ? x->columns : x->rows; }
static long long length(const struct matrix *x) { return x->by_columns ? x->rows : x->columns; }

// Zones lie before and behind guarded places. The zones of A and B hold a NaN of both types and
// byte orders, so that a product with elements read there is wrong; it is none of the NaNs
// that reset fills C with. The zones of C hold ordinary numbers of both types, which change if
// anything is added to them. Behind the zones, nothing can be accessed.
static const unsigned char ordinary[8] = {0xfb, 0x59, 0x8c, 0x42, 0xca, 0xc0, 0xf3, 0x3f};
static const unsigned char not_a_number[8] = {0xff, 0xfe, 0xfe, 0xff, 0xff, 0xfe, 0xfe, 0xff};

// pattern returns the eight bytes that zones of x hold, from addresses that are multiples of eight.
static uint64_t pattern(const struct matrix *x) {
    uint64_t word;
    memcpy(&word, x == &product.c ? ordinary : not_a_number, sizeof word);
    return word;
}

static size_t page; // bytes of a page of memory

// all returns the bytes from the beginning of the first place to the end of the last one.
static size_t all(const struct matrix *x) { return (product.places - 1) * x->step + x->bytes; }

// before and behind return the bytes of the zones: one page, and the rest of the page that
// the places begin or end in. Between two places is a page, and more.
static size_t before(const struct matrix *x) { return page + (uintptr_t)x->first % page; }
static size_t behind(const struct matrix *x) { return 2 * page - ((uintptr_t)x->first + all(x)) % page; }

// The matrices of a group share the first cache. Larger ones have two places, which alternate. Above that there is one:
// a second would need as much memory again.
enum { HUGE_PAGE = 2 << 20, LINE = 64, MOST_PLACES = 8, GROUP_BYTES = 16 << 10, ALTERNATE_BYTES = 8 << 20 };

// guard returns memory for the places of x, between zones. Small matrices begin at
// different places of a page, as the operands of other variants do.
static char *guard(struct matrix *x) {
    size_t within = x->bytes >= HUGE_PAGE ? 0 : 21 * 64 * (x == &product.b ? 1 : x == &product.c ? 2 : 0);
    x->mapped = all(x) + 3 * HUGE_PAGE;
    x->map = mmap(NULL, x->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x->map == MAP_FAILED) return x->map = NULL;
    uintptr_t start = ((uintptr_t)x->map + 2 * HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    x->first = (char *)start + within;
    size_t bytes = before(x) + all(x) + behind(x);
    uint64_t word = pattern(x), *from = (uint64_t *)(x->first - before(x));
    if (mprotect(from, bytes, PROT_READ | PROT_WRITE)) return NULL;
    if (x->bytes >= HUGE_PAGE) madvise(x->first, all(x), MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / sizeof word; i++) from[i] = word;
    return x->first;
}

// shape says what x is.
static void shape(struct matrix *x, const char *name, long long rows, long long columns, long long pad) {
    *x = (struct matrix){.name = name, .rows = rows, .columns = columns,
                         .by_columns = product.abi == FORTRAN || product.abi == SQUARE};
    x->ld = length(x) + pad;
    if (x->ld < 1) x->ld = 1;
    x->bytes = (size_t)lines(x) * (size_t)x->ld * product.size;
}

// allocate places x, on huge pages where the system gives them, as the operands of the
// other variants are.
static int allocate(struct matrix *x) {
    x->step = (x->bytes + LINE - 1) / LINE * LINE + 3 * LINE + (product.guarded ? page : 0);
    if (product.guarded) return (x->data = guard(x)) != NULL;
    void *p;
    if (posix_memalign(&p, x->bytes < HUGE_PAGE ? LINE : HUGE_PAGE, all(x) ? all(x) : 1)) return 0;
    if (x->bytes >= HUGE_PAGE) madvise(p, all(x), MADV_HUGEPAGE);
    memset(p, 0, all(x));
    x->data = x->first = p;
    return 1;
}

static void release(struct matrix *x) {
    if (x->map) munmap(x->map, x->mapped);
    else free(x->first);
    free(x->original);
}

// receive reads the rows of a matrix.
static int receive(struct matrix *x) {
    char *row = x->by_columns ? malloc(x->columns * product.size + 1) : NULL;
    x->original = calloc(x->bytes + 1, 1);
    if (!x->original || (x->by_columns && !row)) return 0;
    for (long long i = 0; i < x->rows; i++) {
        char *to = row ? row : x->original + i * x->ld * product.size;
        if (fread(to, product.size, x->columns, in) != (size_t)x->columns) return 0;
        for (long long j = 0; row && j < x->columns; j++)
            memcpy(x->original + (i + j * x->ld) * product.size, row + j * product.size, product.size);
    }
    free(row);
    return 1;
}

static void drop(void) {
    release(&product.a);
    release(&product.b);
    release(&product.c);
    free(product.results);
    free(product.line);
    memset(&product, 0, sizeof product);
}

// last_words ends the process.
static void last_words(const char *reason) {
    fprintf(stderr, "%s\n", reason);
    exit(1);
}

// stage places operands, whose bytes follow the line.
static void stage(const char *arguments, long long sent) {
    char type[4], abi[16], symbol[256], ta, tb;
    long long pad_a, pad_b, pad_c;
    drop();
    if (sscanf(arguments, "%3s %15s %255s %d %c%c %lf %lf %lld %lld %lld %lld %lld %lld %lld", type, abi, symbol,
               &product.guarded, &ta, &tb, &product.alpha, &product.beta, &product.m, &product.n, &product.k, &pad_a,
               &pad_b, &pad_c, &product.count) != 15)
        last_words("stage wants a type and fourteen more words");
    size_t i = 0;
    while (i < sizeof abis / sizeof *abis && strcmp(abi, abis[i])) i++;
    if (i == sizeof abis / sizeof *abis) last_words("stage wants an ABI");
    product.abi = (enum abi)i;
    product.size = strcmp(type, "f32") ? 8 : 4;
    product.trans_a = ta == 'T';
    product.trans_b = tb == 'T';
    long long m = product.m, n = product.n, k = product.k, count = product.count;
    if (count < 1 || (count > 1 && product.abi != EXCHANGED && product.abi != STRIDED))
        last_words("stage wants one product, or several of the ABI exchanged or strided");
    struct matrix *a = &product.a, *b = &product.b, *c = &product.c;
    shape(a, "A", count * (product.trans_a ? k : m), product.trans_a ? m : k, pad_a);
    shape(b, "B", count * (product.trans_b ? n : k), product.trans_b ? k : n, pad_b);
    shape(c, "C", count * m, n, pad_c);
    size_t bytes = a->bytes + b->bytes + c->bytes;
    product.group = GROUP_BYTES / (bytes ? bytes : 1);
    if (product.group < 1) product.group = 1;
    if (product.group > MOST_PLACES) product.group = MOST_PLACES;
    product.places = product.group > 1 ? product.group : bytes <= ALTERNATE_BYTES ? 2 : 1;
    product.line = malloc((length(a) > length(b) ? length(a) : length(b)) * product.size + 1);
    if (!product.line || !allocate(a) || !allocate(b) || !allocate(c))
        last_words("no memory for a copy of the operands");
    size_t elements = a->rows * a->columns + b->rows * b->columns + (product.beta != 0 ? c->rows * c->columns : 0);
    if ((size_t)sent != elements * product.size) last_words("stage wants the bytes of its operands");
    if (!receive(a) || !receive(b) || (product.beta != 0 && !receive(c)))
        last_words("no memory for a copy of the operands, or an end within them");
    product.last = 1;
    product.routine = find(symbol);
    if (product.routine) ok();
}

// step returns the elements from a matrix of a batch to the next.
static long long step(const struct matrix *x) { return x->rows / product.count * x->ld; }

// multiply computes the product. The function of the ABI exchanged is column-major and the
// operands are not: it sees the transposes of all matrices, and computes the transpose of
// C from the transposes of B and A.
static void multiply(void) {
    const struct matrix *a = &product.a, *b = &product.b, *c = &product.c;
    float alpha32 = (float)product.alpha, beta32 = (float)product.beta;
    const void *alpha = product.size == 8 ? (void *)&product.alpha : (void *)&alpha32;
    const void *beta = product.size == 8 ? (void *)&product.beta : (void *)&beta32;
    long long m = product.m, n = product.n, k = product.k;
    int ta = product.trans_a, tb = product.trans_b;
    switch (product.abi) {
    case FORTRAN:
        ((fortran *)product.routine)(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &k, alpha, a->data, &a->ld, b->data, &b->ld,
                                     beta, c->data, &c->ld, 1, 1);
        break;
    case EXCHANGED:
        for (long long i = 0; i < product.count; i++)
            ((fortran *)product.routine)(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, alpha,
                                         b->data + i * step(b) * product.size, &b->ld,
                                         a->data + i * step(a) * product.size, &a->ld, beta,
                                         c->data + i * step(c) * product.size, &c->ld, 1, 1);
        break;
    case STRIDED:
        if (product.size == 8)
            ((strided64 *)product.routine)(101, 111 + ta, 111 + tb, m, n, k, product.alpha, a->data, a->ld, step(a),
                                           b->data, b->ld, step(b), product.beta, c->data, c->ld, step(c), product.count);
        else
            ((strided32 *)product.routine)(101, 111 + ta, 111 + tb, m, n, k, alpha32, a->data, a->ld, step(a), b->data,
                                           b->ld, step(b), beta32, c->data, c->ld, step(c), product.count);
        break;
    case CBLAS:
        if (product.size == 8)
            ((cblas64 *)product.routine)(101, 111 + ta, 111 + tb, m, n, k, product.alpha, a->data, a->ld, b->data, b->ld,
                                         product.beta, c->data, c->ld);
        else
            ((cblas32 *)product.routine)(101, 111 + ta, 111 + tb, m, n, k, alpha32, a->data, a->ld, b->data, b->ld,
                                         beta32, c->data, c->ld);
        break;
    case ROWMAJOR:
        ((rowmajor *)product.routine)((int)m, (int)n, (int)k, a->data, b->data, c->data);
        break;
    case SQUARE:
        ((square *)product.routine)((int)n, a->data, b->data, c->data);
    }
}

static double reading; // seconds of a reading of the clock

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// shortest is the length in seconds of a product from which on it does not matter
// that the process was stopped until now; a shorter one is made before the clock
// starts, once and for so long at least that caches, clocks and the upper halves of the
// vector units, which processors switch off, are as in a loop that never stopped.
static const double shortest = 20e-3, awake = 100e-6;

// accumulates reports whether the product is added to what C is before.
static int accumulates(void) { return product.abi == SQUARE || product.beta != 0; }

// use has the place computed with.
static void use(long place) {
    struct matrix *x[] = {&product.a, &product.b, &product.c};
    for (size_t i = 0; i < 3; i++) x[i]->data = x[i]->first + place * (long)x[i]->step;
}

static const uint64_t golden = 0x9e3779b97f4a7c15;

// mixed returns a number that looks random (SplitMix64), and spread the one of x times golden.
static inline uint64_t spread(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}
static uint64_t mixed(uint64_t x) { return spread(x * golden); }

// What the seed of a call decides, and of the calls before the clock starts. Seed 0: A and B are what was staged.
enum { OF_A = 1, OF_B, OF_C, WARM };

static uint64_t seed_of(uint64_t call, int what) { return call ? mixed(call + what) | 1 : 0; }

// draw writes line i of x: what was staged, with new mantissas.
static void draw(const struct matrix *x, uint64_t seed, long long i, void *to) {
    const char *from = x->original + i * x->ld * product.size;
    size_t n = length(x);
    if (!seed) {
        memcpy(to, from, n * product.size);
        return;
    }
    uint64_t at = (seed + (x->by_columns ? i : i * x->columns)) * golden;
    uint64_t step = x->by_columns ? x->columns * golden : golden;
    if (product.size == 8)
        for (size_t j = 0; j < n; j++, at += step) ((uint64_t *)to)[j] = ((const uint64_t *)from)[j] ^ spread(at) >> 12;
    else
        for (size_t j = 0; j < n; j++, at += step)
            ((uint32_t *)to)[j] = ((const uint32_t *)from)[j] ^ (uint32_t)(spread(at) >> 41);
}

// prepare draws the operands of a call, and prepares C. Where the product is added to it, it is what was staged, or of
// the ABI square 1, and 0 for operands as they were staged. Otherwise it is filled with a NaN that the seed decides, so that what is not written cannot pass.
static void prepare(uint64_t call, uint64_t nan) {
    struct matrix *operands[] = {&product.a, &product.b}, *c = &product.c;
    for (int x = 0; x < 2; x++)
        for (long long i = 0; i < lines(operands[x]); i++)
            draw(operands[x], seed_of(call, OF_A + x), i, operands[x]->data + i * operands[x]->ld * product.size);
    nan = mixed(nan + OF_C);
    uint64_t wide = 0x7ff8000000000000 | nan >> 13;
    uint32_t narrow = 0x7fc00000 | (uint32_t)(nan >> 42);
    const double one = 1;
    const float one32 = 1;
    if (accumulates() && call) memcpy(&wide, &one, sizeof wide), memcpy(&narrow, &one32, sizeof narrow);
    for (long long i = 0; i < lines(c); i++) {
        char *line = c->data + i * c->ld * product.size;
        size_t n = length(c);
        if (product.beta != 0) memcpy(line, c->original + (line - c->data), n * product.size);
        else if (accumulates() && !call) memset(line, 0, n * product.size);
        else if (product.size == 8) for (size_t j = 0; j < n; j++) ((uint64_t *)line)[j] = wide;
        else for (size_t j = 0; j < n; j++) ((uint32_t *)line)[j] = narrow;
    }
}

// changed returns the first of the bytes from data that is not of the pattern of x, or -1.
static long long changed(const struct matrix *x, const char *from, size_t bytes) {
    uint64_t word = pattern(x);
    for (size_t i = 0; i < bytes;) {
        size_t at = (uintptr_t)(from + i) % sizeof word;
        if (!at && bytes - i >= sizeof word && !memcmp(from + i, &word, sizeof word)) i += sizeof word;
        else if (from[i] == ((const char *)&word)[at]) i++;
        else return (long long)i;
    }
    return -1;
}

static double value(const char *at) {
    float f;
    double d;
    memcpy(&f, at, sizeof f);
    if (product.size == sizeof f) return f;
    memcpy(&d, at, sizeof d);
    return d;
}

// outside answers if something was written outside the places of x.
static int outside(const struct matrix *x) {
    long long size = (long long)product.size;
    for (long i = 0; i <= product.places; i++) {
        const char *to = x->first + i * (long)x->step, *from = i ? to - x->step + x->bytes : to - before(x);
        size_t bytes = i == product.places ? behind(x) : (size_t)(to - from);
        long long at = changed(x, from, bytes);
        if (at < 0) continue;
        int last = i == product.places || (i && at < (long long)bytes / 2);
        long long element = last ? at / size + 1 : ((long long)bytes - at + size - 1) / size;
        if (last) answer("error", 0, "it writes outside %s, element %lld behind its last one", x->name, element);
        else answer("error", 0, "it writes outside %s, element %lld before its first one", x->name, element);
        return 1;
    }
    size_t used = length(x) * product.size, pad = x->ld * product.size - used;
    for (long place = 0; pad > 0 && place < product.places; place++)
        for (long long i = 0; i < lines(x); i++) {
            if (changed(x, x->first + place * (long)x->step + i * x->ld * size + used, pad) < 0) continue;
            answer("error", 0, "it writes outside %s, between the elements of %s %lld and of the next one", x->name,
                   x->by_columns ? "column" : "row", i);
            return 1;
        }
    return 0;
}

// modified answers if an element of x is not what was drawn: the first one, by rows.
static int modified(const struct matrix *x, uint64_t seed) {
    long long row = -1, column = -1;
    double was = 0, is = 0;
    for (long long i = 0; i < lines(x); i++) {
        const char *now = x->data + i * x->ld * product.size;
        draw(x, seed, i, product.line);
        if (!memcmp(now, product.line, length(x) * product.size)) continue;
        size_t at = 0;
        while (!memcmp(now + at, product.line + at, product.size)) at += product.size;
        long long j = (long long)(at / product.size);
        if (row >= 0 && (!x->by_columns || j >= row)) continue;
        row = x->by_columns ? j : i;
        column = x->by_columns ? i : j;
        was = value(product.line + at);
        is = value(now + at);
    }
    if (row < 0) return 0;
    answer("error", 0, "it changes %s: element (%lld, %lld) was %.9g and is %.9g", x->name, row, column, was, is);
    return 1;
}

// The exit status of a process that a product returns in besides the one that called it.
enum { TWICE = 213 };

static pid_t self; // the process that holds the library

// returned ends a process that the library has forked and that returns from it.
static void returned(void) {
    if (getpid() != self) _exit(TWICE);
}

// left answers if a process that the product has started does not end: it would run while others are measured.
static int left(void) {
    for (int waited = 0; waited < 100;) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended < 0) return 0;
        if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == TWICE) {
            fail("it returns twice: it has forked, and both processes return");
            return 1;
        }
        if (ended > 0) continue;
        usleep(1000);
        waited++;
    }
    fail("it has returned, and a process that it has started still runs");
    return 1;
}

// rounding returns how the processor rounds; 0: to nearest, or it is not known here.
static int rounding(void) {
#ifdef __x86_64__
    unsigned short x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (int)(__builtin_ia32_stmxcsr() & 0x6000) | (x87 & 0xc00);
#else
    return 0;
#endif
}

// place_of returns the place of a call of the group. The places of a group follow each other; a single one alternates.
static long place_of(long i) { return product.group > 1 ? i : product.calls % product.places; }

// run computes products between two readings of the clock, a group at a time, and copies the C of each at once.
static void run(const char *arguments) {
    long times, staged, dry;
    unsigned long long seed;
    if (!product.routine || sscanf(arguments, "%ld %llu %ld %ld", &times, &seed, &staged, &dry) != 4 || times < 1) {
        fail("nothing is staged");
        return;
    }
    const struct matrix *a = &product.a, *b = &product.b, *c = &product.c;
    size_t line = length(c) * product.size, bytes = lines(c) * line;
    char *results = realloc(product.results, times * bytes + 1);
    if (!results) last_words("no memory for the results");
    product.results = results;
    double took = 0, warm = 0, start;
    int rounds = rounding();
    for (long done = 0, n; done < times; done += n) {
        n = times - done < product.group ? times - done : product.group;
        if (!done && (dry || product.last < shortest)) {
            use(place_of(0));
            prepare(mixed(seed + WARM), seed);
            for (start = now(); !dry && warm < awake; warm = now() - start) {
                multiply();
                returned();
            }
        }
        for (long i = 0; i < n; i++) {
            use(place_of(i));
            prepare(done + i == staged ? 0 : mixed(seed ^ mixed(done + i)), mixed(seed ^ mixed(done + i)));
        }
        use(place_of(0));
        start = now();
        for (long i = 0; i < n && !dry; i++) {
            multiply();
            if (n > 1) { // to the next place
                product.a.data += product.a.step;
                product.b.data += product.b.step;
                product.c.data += product.c.step;
            }
        }
        double span = now() - start - reading;
        took += span > 0 ? span : 0;
        returned();
        if (rounding() != rounds) {
            fail("it returns with another rounding mode than it was called with");
            return;
        }
        for (long i = 0; i < n; i++) {
            use(place_of(i));
            for (long long j = 0; j < lines(c); j++)
                memcpy(results + (done + i) * bytes + j * line, c->data + j * c->ld * product.size, line);
        }
        for (long i = 0; i < n && product.guarded; i++) {
            use(place_of(i));
            uint64_t call = done + i == staged ? 0 : mixed(seed ^ mixed(done + i));
            if (modified(a, seed_of(call, OF_A)) || modified(b, seed_of(call, OF_B))) return;
        }
        product.calls += n;
    }
    if (!dry) product.last = took / (double)times;
    if (product.guarded && (outside(c) || outside(a) || outside(b) || left())) return;
    answer("ok", (long long)bytes * times, "%.9g %.9g", took, warm);
    fwrite(results, bytes, times, out);
}

// call answers with the address of a function, or with what it returns or writes.
static void call(const char *request, const char *arguments) {
    char symbol[256], text[256] = "";
    long argument = 0;
    if (sscanf(arguments, "%255s %ld", symbol, &argument) < 1) {
        fail("wants a symbol");
        return;
    }
    void *address = find(symbol);
    if (!address) return;
    if (!strcmp(request, "find")) {
        answer("ok", 0, "%lu", (unsigned long)address);
    } else if (!strcmp(request, "integer")) {
        answer("ok", 0, "%d", (int)((long (*)(long))address)(argument));
    } else if (!strcmp(request, "text")) {
        const char *said = ((const char *(*)(long))address)(argument);
        answer("ok", 0, "%s", said ? said : "");
    } else {
        ((void (*)(char *, int))address)(text, sizeof text - 1);
        answer("ok", 0, "%s", text);
    }
}

// open_library opens the library that is meant, or one whose symbols others are to find.
static void open_library(const char *file, int global) {
    void *opened = dlopen(file, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (opened && !global) library = opened;
    if (opened) ok();
    else fail(dlerror());
}

// put writes text and a number to standard error, in a handler of signals.
static void put(const char *text, long long number) {
    char line[128];
    int n = snprintf(line, sizeof line, text, number);
    if (write(STDERR_FILENO, line, n) < 0) _exit(1);
}

// crashed says where memory was accessed that cannot be, and has the signal end the process
// when the handler returns, also if the function has raised it.
static void crashed(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    const char *at = info->si_addr;
    const struct matrix *all[] = {&product.a, &product.b, &product.c};
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    if (info->si_code <= 0) return; // no access to memory
    for (size_t i = 0; i < 3; i++) {
        const struct matrix *x = all[i];
        if (!x->map || at < x->map || at >= x->map + x->mapped) continue;
        char text[64];
        int is_behind = at >= x->data;
        snprintf(text, sizeof text, "%%lld bytes %s %s\n", is_behind ? "behind the last element of" : "before the first element of",
                 x->name);
        put(text, is_behind ? at - (x->data + x->bytes) : x->data - at);
        return;
    }
    put("at the address 0x%llx\n", (long long)(uintptr_t)at);
}

// catch has crashed called for accesses to memory, on a stack of its own: the
// stack of the function may be what overflows.
static void catch(void) {
    static char stack[1 << 16];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&own, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

// detach takes standard input and output from the library: requests and answers have
// descriptors of their own, which no other program inherits.
static int detach(void) {
    int requests = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100), answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (requests < 0 || answers < 0 || nothing < 0) return 0;
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 0;
    in = fdopen(requests, "r");
    out = fdopen(answers, "w");
    return in && out;
}

// end_children sends SIGKILL to all children of this process, as far as /proc has them.
static int end_children(void) {
    DIR *processes = opendir("/proc");
    if (!processes) return 0;
    for (struct dirent *entry; (entry = readdir(processes));) {
        char name[300], text[512], *behind;
        int parent;
        if (!isdigit((unsigned char)*entry->d_name)) continue;
        snprintf(name, sizeof name, "/proc/%s/stat", entry->d_name);
        int file = open(name, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        ssize_t got = read(file, text, sizeof text - 1);
        close(file);
        if (got <= 0) continue;
        text[got] = 0;
        behind = strrchr(text, ')');
        if (behind && sscanf(behind, ") %*c %d", &parent) == 1 && parent == getpid())
            kill(atoi(entry->d_name), SIGKILL);
    }
    closedir(processes);
    return 1;
}

// supervise returns in a new process, which holds the library. This one waits for its end, and then kills all that
// it has started: orphans are given to this process, whatever session or group they are in. It leaves its process
// group, which is stopped between requests. SIGTERM, which comes when the process ends that has started it,
// ends all of them.
static void supervise(void) {
    sigset_t every, before, wanted;
    int left[2], *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED || pipe(left)) last_words("it has no memory for its status, or no pipe");
    *told = 0;
    signal(SIGCHLD, SIG_DFL);
    sigfillset(&every);
    sigprocmask(SIG_BLOCK, &every, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    if (limits.any) separate();
    pid_t holder = fork();
    if (holder < 0) last_words("it has no process of its own: raise ulimit -u");
    if (!holder) {
        char end;
        prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
        close(left[1]);
        while (read(left[0], &end, 1) < 0) {} // until the other one has left the group, or signals would reach both
        close(left[0]);
        if (getppid() == 1) _exit(1);
        // The first process of a namespace gets no signals that it does not handle: it waits for another one.
        pid_t inner = limits.processes_alone ? fork() : 0;
        if (inner < 0) last_words("it has no process of its own: raise ulimit -u");
        if (inner) {
            while (waitpid(-1, told, 0) != inner) {}
            _exit(1);
        }
        prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L); // for left
        sigprocmask(SIG_SETMASK, &before, NULL);
        return;
    }
    if (!limits.program) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
    }
    if (setpgid(0, getpgid(getppid()))) kill(holder, SIGKILL);
    close(left[0]);
    close(left[1]);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    int status = 0, other, got;
    for (pid_t ended = 0; ended != holder;) {
        if (!sigwait(&wanted, &got) && got == SIGTERM) kill(holder, SIGKILL);
        while ((ended = waitpid(-1, &other, WNOHANG)) > 0 && ended != holder) {}
        status = other;
    }
    if (limits.processes_alone && WIFEXITED(status)) status = *told;
    while (end_children() && (waitpid(-1, &other, 0) > 0 || errno != ECHILD)) {}
    if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &every, NULL);
    raise(WTERMSIG(status));
}

int main(int count, char **words) {
    char line[8192]; // the longest path, and more
    const struct rlimit none = {0, 0};
    if (!read_limits(count, words)) last_words("the arguments must be limits");
    setrlimit(RLIMIT_CORE, &none); // a crash leaves no file in the user's folder
    page = sysconf(_SC_PAGESIZE);
    supervise();
    self = getpid();
    snprintf(limits.pid, sizeof limits.pid, "%ld", (long)self);
    if (limits.any) confine();
    if (limits.program) {
        execvp(*limits.program, limits.program);
        last_words(strerror(errno));
    }
    for (int i = 0; i < 100; i++) {
        double start = now(), took = now() - start;
        if (!i || took < reading) reading = took;
    }
    if (!detach()) last_words("standard input and output cannot be moved: raise ulimit -n");
    catch();
    while (fgets(line, sizeof line, in)) {
        char word[16];
        long long length;
        int used = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%15s %lld%n", word, &length, &used) != 2) last_words("a request is not a frame");
        char *arguments = line + used + (line[used] == ' ');
        if (!strcmp(word, "setenv")) {
            char *value = strchr(arguments, ' ');
            if (value) *value++ = 0;
            if (value && !setenv(arguments, value, 1)) ok();
            else fail("wants a name and a value");
        } else if (!strcmp(word, "open") || !strcmp(word, "global")) {
            open_library(arguments, *word == 'g');
        } else if (!strcmp(word, "close")) {
            if (library) dlclose(library);
            library = NULL;
            ok();
        } else if (!strcmp(word, "find") || !strcmp(word, "integer") || !strcmp(word, "text") ||
                   !strcmp(word, "buffer")) {
            call(word, arguments);
        } else if (!strcmp(word, "stage")) {
            stage(arguments, length);
        } else if (!strcmp(word, "run")) {
            run(arguments);
        } else if (!strcmp(word, "pid")) {
            answer("ok", 0, "%s", limits.pid);
        } else if (!strcmp(word, "unconfined")) {
            answer("ok", 0, "%s", limits.unconfined);
        } else if (!strcmp(word, "drop")) {
            drop();
            ok();
        } else {
            fail("no such request");
        }
        returned();
        fflush(out);
    }
    return 0;
}
