// Holds one library in a process of its own and multiplies with it.
//
// A request is a line on standard input, the answer a line on standard output, "ok"
// with what was asked for or "error" with the reason. Matrices follow their line as
// rows without what lies between them, in the bytes of this machine.
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
//     run N                      -> the seconds that N products took
//     collect                    -> a line, then C
//     drop                       lets go of A, B and C
//
// The ABI is fortran, exchanged, cblas, rowmajor, square or strided; type ABI of the package
// has their meaning. OPS is two of N and T. A PAD is what the leading dimension of a matrix
// exceeds the least one by. COUNT products of the shape are one: the rows of each matrix
// follow those of the one before.
//
// The clock runs while the library does and at no other time: what the line, the
// pipe and the scheduler cost is not in it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// The functions of the ABIs. The arguments of sgemm_ and dgemm_ are addresses, and the
// lengths of the strings, which compilers of Fortran append. An integer is stored in 64
// bits; a library whose integers have 32 reads the lower half, which is the first here.
// Those of cblas_sgemm and cblas_dgemm are passed in registers or words of the stack.
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

// matrix is an operand: lines of ld elements, which are its columns or its rows.
struct matrix {
    const char *name;
    long long rows, columns, ld;
    int by_columns;
    char *data, *map; // map: what is mapped around guarded data, otherwise NULL
    size_t bytes, mapped;
    char *original; // the bytes as they were staged, NULL: they are not kept
};

static struct {
    void *routine; // NULL: nothing is staged
    enum abi abi;
    int guarded, trans_a, trans_b;
    double alpha, beta;
    size_t size; // of an element
    long long m, n, k, count;  // of each product, and how many there are
    struct matrix a, b, c;     // of all products, one below the other
    double last; // seconds of a call
} product;

// fail answers that a request cannot be met.
static void fail(const char *reason) {
    fprintf(out, "error %s\n", reason ? reason : "no reason given");
}

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
    fprintf(out, "error no symbol %s\n", symbol);
    return NULL;
}

// lines and length of a matrix: its columns and their elements, or its rows and theirs.
static long long lines(const struct matrix *x) { return x->by_columns ? x->columns : x->rows; }
static long long length(const struct matrix *x) { return x->by_columns ? x->rows : x->columns; }

// element returns the address of an element.
static char *element(const struct matrix *x, long long row, long long column) {
    long long at = x->by_columns ? row + column * x->ld : row * x->ld + column;
    return x->data + at * product.size;
}

// Zones lie before and behind guarded data. Those of A and B hold a NaN of both types and
// byte orders, so that a product with elements read there is wrong; it is not the NaN that
// reset fills C with. Those of C hold ordinary numbers of both types, which change if
// anything is added to them. Behind the zones, nothing can be accessed.
static const unsigned char ordinary[8] = {0xfb, 0x59, 0x8c, 0x42, 0xca, 0xc0, 0xf3, 0x3f};
static const unsigned char not_a_number[8] = {0xff, 0xfe, 0xfe, 0xff, 0xff, 0xfe, 0xfe, 0xff};

static unsigned char pattern(const struct matrix *x, size_t at) {
    return (x == &product.c ? ordinary : not_a_number)[at % sizeof ordinary];
}

static void fill(const struct matrix *x, char *from, size_t bytes) {
    unsigned char word[sizeof ordinary];
    for (size_t i = 0; i < sizeof word; i++) word[i] = pattern(x, i);
    for (size_t i = 0; i < bytes; i += sizeof word)
        memcpy(from + i, word, bytes - i < sizeof word ? bytes - i : sizeof word);
}

static size_t page; // bytes of a page of memory

// before and behind return the bytes of the zones: one page, and the rest of the page that
// the data begins or ends in.
static size_t before(const struct matrix *x) { return page + (uintptr_t)x->data % page; }
static size_t behind(const struct matrix *x) { return 2 * page - ((uintptr_t)x->data + x->bytes) % page; }

enum { HUGE_PAGE = 2 << 20 };

// guard returns memory for the bytes of x between two zones. Small matrices begin at
// different places of a page, as those of other contenders do.
static char *guard(struct matrix *x) {
    size_t within = x->bytes >= HUGE_PAGE ? 0 : 21 * 64 * (x == &product.b ? 1 : x == &product.c ? 2 : 0);
    x->mapped = x->bytes + 3 * HUGE_PAGE;
    x->map = mmap(NULL, x->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (x->map == MAP_FAILED) return x->map = NULL;
    uintptr_t start = ((uintptr_t)x->map + 2 * HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    x->data = (char *)start + within;
    if (mprotect(x->data - before(x), before(x) + x->bytes + behind(x), PROT_READ | PROT_WRITE)) return NULL;
    if (x->bytes >= HUGE_PAGE) madvise(x->data, x->bytes, MADV_HUGEPAGE);
    fill(x, x->data - before(x), before(x));
    fill(x, x->data, x->bytes);
    fill(x, x->data + x->bytes, behind(x));
    return x->data;
}

// allocate places x, on huge pages where the system gives them, as the operands of the
// other contenders are.
static int allocate(struct matrix *x, const char *name, long long rows, long long columns, long long pad) {
    *x = (struct matrix){.name = name, .rows = rows, .columns = columns,
                         .by_columns = product.abi == FORTRAN || product.abi == SQUARE};
    x->ld = length(x) + pad;
    if (x->ld < 1) x->ld = 1;
    x->bytes = (size_t)lines(x) * (size_t)x->ld * product.size;
    if (product.guarded) return guard(x) != NULL;
    void *p;
    if (posix_memalign(&p, x->bytes < HUGE_PAGE ? 64 : HUGE_PAGE, x->bytes ? x->bytes : 1)) return 0;
    if (x->bytes >= HUGE_PAGE) madvise(p, x->bytes, MADV_HUGEPAGE);
    memset(p, 0, x->bytes);
    x->data = p;
    return 1;
}

static void release(struct matrix *x) {
    if (x->map) munmap(x->map, x->mapped);
    else free(x->data);
    free(x->original);
}

// receive reads the rows of a matrix, and keeps a copy if asked to.
static int receive(struct matrix *x, int keep) {
    char *row = x->by_columns ? malloc(x->columns * product.size + 1) : NULL;
    if (x->by_columns && !row) return 0;
    for (long long i = 0; i < x->rows; i++) {
        char *to = row ? row : element(x, i, 0);
        if (fread(to, product.size, x->columns, in) != (size_t)x->columns) return 0;
        for (long long j = 0; row && j < x->columns; j++)
            memcpy(element(x, i, j), row + j * product.size, product.size);
    }
    free(row);
    if (!keep) return 1;
    x->original = malloc(x->bytes + 1);
    if (x->original) memcpy(x->original, x->data, x->bytes);
    return x->original != NULL;
}

static void drop(void) {
    release(&product.a);
    release(&product.b);
    release(&product.c);
    memset(&product, 0, sizeof product);
}

// last_words ends the process, since what follows a line cannot be skipped.
static void last_words(const char *reason) {
    fprintf(stderr, "%s\n", reason);
    exit(1);
}

// stage places operands.
static void stage(const char *arguments) {
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
    if (!allocate(&product.a, "A", count * (product.trans_a ? k : m), product.trans_a ? m : k, pad_a) ||
        !allocate(&product.b, "B", count * (product.trans_b ? n : k), product.trans_b ? k : n, pad_b) ||
        !allocate(&product.c, "C", count * m, n, pad_c))
        last_words("no memory for a copy of the operands");
    if (!receive(&product.a, product.guarded) || !receive(&product.b, product.guarded) ||
        (product.beta != 0 && !receive(&product.c, 1)))
        last_words("no memory for a copy of the operands, or an end within them");
    product.last = 1;
    product.routine = find(symbol);
    if (product.routine) fprintf(out, "ok\n");
}

// step returns the elements from a matrix of a batch to the next.
static long long step(const struct matrix *x) { return x->rows / product.count * x->ld; }

// multiply computes the product. The function of the ABI exchanged is column-major and the
// operands are not: it sees the transposes of all matrices, and computes the transpose of
// C as that of B times that of A.
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

// reset prepares C. It is what was staged or zero where the product is added to it.
// Otherwise it is filled with NaN, so that a product that writes nothing cannot pass with
// an older result.
static void reset(void) {
    const struct matrix *c = &product.c;
    if (product.beta != 0) {
        memcpy(c->data, c->original, c->bytes);
        return;
    }
    for (long long i = 0; i < lines(c); i++)
        memset(c->data + i * c->ld * product.size, accumulates() ? 0 : 0xff, length(c) * product.size);
}

// changed returns the first of the bytes from data that is not of the pattern of x, or -1.
static long long changed(const struct matrix *x, const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)from[i] != pattern(x, i)) return (long long)i;
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

// outside answers if something was written outside x.
static int outside(const struct matrix *x) {
    long long at = changed(x, x->data - before(x), before(x));
    if (at >= 0) {
        fprintf(out, "error it writes outside %s, element %lld before its first one\n", x->name,
                ((long long)before(x) - at + (long long)product.size - 1) / (long long)product.size);
        return 1;
    }
    at = changed(x, x->data + x->bytes, behind(x));
    if (at >= 0) {
        fprintf(out, "error it writes outside %s, element %lld behind its last one\n", x->name,
                at / (long long)product.size + 1);
        return 1;
    }
    size_t used = length(x) * product.size, pad = x->ld * product.size - used;
    for (long long i = 0; pad > 0 && i < lines(x); i++) {
        const char *from = x->data + i * x->ld * product.size + used;
        for (size_t j = 0; j < pad; j++) {
            if ((unsigned char)from[j] == pattern(x, (size_t)(from - x->data) + j)) continue;
            fprintf(out, "error it writes outside %s, between the elements of %s %lld and of the next one\n", x->name,
                    x->by_columns ? "column" : "row", i);
            return 1;
        }
    }
    return 0;
}

// modified answers if an element of x is not what it was.
static int modified(const struct matrix *x) {
    if (!memcmp(x->data, x->original, x->bytes)) return 0;
    for (long long i = 0; i < x->rows; i++)
        for (long long j = 0; j < x->columns; j++) {
            const char *is = element(x, i, j), *was = x->original + (is - x->data);
            if (!memcmp(is, was, product.size)) continue;
            fprintf(out, "error it changes %s: element (%lld, %lld) was %.9g and is %.9g\n", x->name, i, j, value(was),
                    value(is));
            return 1;
        }
    return 0;
}

// run times the products. If they are added to C, the last one is made again from the C
// that was staged, after the clock.
static void run(const char *arguments) {
    long times = atol(arguments);
    if (!product.routine || times < 1) {
        fail("nothing is staged");
        return;
    }
    reset();
    double start = now();
    if (product.last < shortest) {
        do multiply();
        while (now() - start < awake);
        if (accumulates()) reset();
    }
    start = now();
    for (long i = 0; i < times; i++) multiply();
    double took = now() - start;
    product.last = took / (double)times;
    if (accumulates() && times > 1) {
        reset();
        multiply();
    }
    const struct matrix *a = &product.a, *b = &product.b;
    if (product.guarded && (outside(&product.c) || outside(a) || outside(b) || modified(a) || modified(b))) return;
    fprintf(out, "ok %.9g\n", took);
}

static void collect(void) {
    const struct matrix *c = &product.c;
    if (!product.routine) {
        fail("nothing is staged");
        return;
    }
    fprintf(out, "ok\n");
    for (long long i = 0; i < c->rows; i++) {
        if (!c->by_columns) {
            fwrite(element(c, i, 0), product.size, c->columns, out);
            continue;
        }
        for (long long j = 0; j < c->columns; j++) fwrite(element(c, i, j), product.size, 1, out);
    }
}

// call calls a function of one or no integer.
static void call(const char *arguments, int text) {
    char symbol[256];
    long argument = 0;
    if (sscanf(arguments, "%255s %ld", symbol, &argument) < 1) {
        fail("wants a symbol");
        return;
    }
    void *address = find(symbol);
    if (!address) return;
    if (text) {
        const char *answer = ((const char *(*)(long))address)(argument);
        fprintf(out, "ok %.*s\n", answer ? (int)strcspn(answer, "\n") : 0, answer ? answer : "");
    } else {
        fprintf(out, "ok %d\n", (int)((long (*)(long))address)(argument));
    }
}

static void open_library(const char *file) {
    void *opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        fail(dlerror());
        return;
    }
    library = opened;
    fprintf(out, "ok\n");
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

// catch has crashed called for accesses to memory, on a stack of its own: that of the
// function may be what overflows.
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

int main(void) {
    char line[8192]; // the longest path, and more
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); // a crash leaves no file in the user's folder
    page = sysconf(_SC_PAGESIZE);
    if (!detach()) last_words("standard input and output cannot be moved: raise ulimit -n");
    catch();
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        char *arguments = strchr(line, ' ');
        if (arguments) *arguments++ = 0;
        else arguments = line + strlen(line);
        if (!strcmp(line, "setenv")) {
            char *value = strchr(arguments, ' ');
            if (value) *value++ = 0;
            if (value && !setenv(arguments, value, 1)) fprintf(out, "ok\n");
            else fail("wants a name and a value");
        } else if (!strcmp(line, "open")) {
            open_library(arguments);
        } else if (!strcmp(line, "global")) {
            if (dlopen(arguments, RTLD_NOW | RTLD_GLOBAL)) fprintf(out, "ok\n");
            else fail(dlerror());
        } else if (!strcmp(line, "close")) {
            if (library) dlclose(library);
            library = NULL;
            fprintf(out, "ok\n");
        } else if (!strcmp(line, "find")) {
            void *address = find(arguments);
            if (address) fprintf(out, "ok %lu\n", (unsigned long)address);
        } else if (!strcmp(line, "integer")) {
            call(arguments, 0);
        } else if (!strcmp(line, "text")) {
            call(arguments, 1);
        } else if (!strcmp(line, "buffer")) {
            char text[256] = "";
            void *address = find(arguments);
            if (address) {
                ((void (*)(char *, int))address)(text, sizeof text - 1);
                text[strcspn(text, "\n")] = 0;
                fprintf(out, "ok %s\n", text);
            }
        } else if (!strcmp(line, "stage")) {
            stage(arguments);
        } else if (!strcmp(line, "run")) {
            run(arguments);
        } else if (!strcmp(line, "collect")) {
            collect();
        } else if (!strcmp(line, "drop")) {
            drop();
            fprintf(out, "ok\n");
        } else {
            fail("no such request");
        }
        fflush(out);
    }
    return 0;
}
