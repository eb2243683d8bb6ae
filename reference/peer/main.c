// Holds one BLAS library in a process of its own and multiplies with it.
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
//     stage f32|f64 M N K LDA LDB LDC, then A and B
//     run N                      -> the seconds that N products took
//     collect                    -> a line, then C
//     drop                       lets go of A, B and C
//
// The clock runs while the library does and at no other time: what the line, the
// pipe and the scheduler cost is not in it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// The arguments of sgemm_ and dgemm_ are addresses, and the lengths of the strings,
// which compilers of Fortran append. An integer is stored in 64 bits; a library whose
// integers have 32 reads the lower half, which is the first here.
typedef void gemm(const char *ta, const char *tb, const long long *m, const long long *n, const long long *k,
                  const void *alpha, const void *a, const long long *lda, const void *b, const long long *ldb,
                  const void *beta, void *c, const long long *ldc, size_t, size_t);

static FILE *out; // answers; what the library prints goes to standard error
static void *library;

static struct {
    gemm *routine;
    size_t size; // of an element; 0: nothing is staged
    long long m, n, k, lda, ldb, ldc;
    void *a, *b, *c;
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

// allocate returns rows × ld elements on huge pages where the system gives them, as
// the operands of the other contenders are.
static void *allocate(long long rows, long long ld) {
    const size_t huge = 2 << 20;
    size_t bytes = (size_t)rows * (size_t)ld * product.size;
    void *p;
    if (posix_memalign(&p, bytes < huge ? 64 : huge, bytes ? bytes : 1)) return NULL;
    if (bytes >= huge) madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

// receive reads the rows of a matrix.
static int receive(char *p, long long rows, long long columns, long long ld) {
    for (long long i = 0; i < rows; i++)
        if (fread(p + i * ld * product.size, product.size, columns, stdin) != (size_t)columns) return 0;
    return 1;
}

static void drop(void) {
    free(product.a);
    free(product.b);
    free(product.c);
    memset(&product, 0, sizeof product);
}

// stage places operands. What follows the line cannot be skipped: without memory for
// it the process ends.
static void stage(const char *arguments) {
    char type[4];
    drop();
    if (sscanf(arguments, "%3s %lld %lld %lld %lld %lld %lld", type, &product.m, &product.n, &product.k,
               &product.lda, &product.ldb, &product.ldc) != 7) {
        fprintf(stderr, "stage wants a type and six integers\n");
        exit(1);
    }
    product.size = strcmp(type, "f32") ? 8 : 4;
    product.a = allocate(product.m, product.lda);
    product.b = allocate(product.k, product.ldb);
    product.c = allocate(product.m, product.ldc);
    if (!product.a || !product.b || !product.c) {
        fprintf(stderr, "no memory for a copy of the operands\n");
        exit(1);
    }
    if (!receive(product.a, product.m, product.k, product.lda) || !receive(product.b, product.k, product.n, product.ldb)) exit(1);
    product.last = 1;
    product.routine = (gemm *)find(product.size == 8 ? "dgemm_" : "sgemm_");
    if (product.routine) fprintf(out, "ok\n");
}

// multiply computes C = A·B. The routine is column-major: it sees the transposes of
// all matrices, and computes the transpose of C as that of B times that of A.
static void multiply(void) {
    static const double one64 = 1, zero64 = 0;
    static const float one32 = 1, zero32 = 0;
    int f64 = product.size == 8;
    product.routine("N", "N", &product.n, &product.m, &product.k, f64 ? (void *)&one64 : (void *)&one32,
                    product.b, &product.ldb, product.a, &product.lda,
                    f64 ? (void *)&zero64 : (void *)&zero32, product.c, &product.ldc, 1, 1);
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

// run times the products. C is filled with NaN before, so that one that writes
// nothing cannot pass with an older result.
static void run(const char *arguments) {
    long times = atol(arguments);
    if (!product.routine || times < 1) {
        fail("nothing is staged");
        return;
    }
    for (long long i = 0; i < product.m; i++)
        memset((char *)product.c + i * product.ldc * product.size, 0xff, product.n * product.size);
    double start = now();
    if (product.last < shortest) {
        do multiply();
        while (now() - start < awake);
    }
    start = now();
    for (long i = 0; i < times; i++) multiply();
    double took = now() - start;
    product.last = took / (double)times;
    fprintf(out, "ok %.9g\n", took);
}

static void collect(void) {
    if (!product.routine) {
        fail("nothing is staged");
        return;
    }
    fprintf(out, "ok\n");
    for (long long i = 0; i < product.m; i++)
        fwrite((char *)product.c + i * product.ldc * product.size, product.size, product.n, out);
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
        fprintf(out, "ok %s\n", answer ? answer : "");
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

int main(void) {
    char line[4096];
    out = fdopen(dup(STDOUT_FILENO), "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
    while (fgets(line, sizeof line, stdin)) {
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
