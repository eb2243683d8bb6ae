// Measures what parallel loops of libgomp, GNU's runtime of OpenMP, cost.
//
// Requests and answers are frames without bytes, as in internal/peer/library/main.c. An answer is "ok"
// with the seconds that TIMES of them took or "error" with the reason.
//
//     fork-join THREADS TIMES               parallel regions with nothing in them
//     static THREADS CHUNK N TIMES          loops of N empty bodies by that schedule
//     dynamic THREADS CHUNK N TIMES
//     guided THREADS CHUNK N TIMES
//     auto THREADS CHUNK N TIMES            libgomp ignores the chunk
//     atomic THREADS N TIMES                merges of a private array of N numbers of
//     critical THREADS N TIMES              each thread into a shared one: an atomic
//     reduce THREADS N TIMES                add an element, a critical section a
//                                           thread, the clause reduction
//
// The program is compiled by gcc -O2 -fopenmp and changes no setting of libgomp, but
// reduce has its private arrays on the stacks of the threads: OMP_STACKSIZE must leave
// room for them.
#ifdef __clang__
#error "this compiler is clang, which has another runtime of OpenMP: install gcc"
#endif
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// work is what a request asks for.
static struct {
    int threads, chunk;
    long n;
    double *shared, **private; // n numbers, and as many of each thread
} work;

// Each of these does what is measured as often as that and returns the seconds.

static double fork_join(long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
#pragma omp parallel num_threads(work.threads)
        __asm__ volatile("");
    }
    return now() - start;
}

// loop has empty bodies; nothing of them is left but the calls that ask libgomp for the
// next chunk.
static double loop(long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
        long n = work.n;
#pragma omp parallel for num_threads(work.threads) schedule(runtime)
        for (long i = 0; i < n; i++) {
        }
    }
    return now() - start;
}

static double merge_atomic(long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
#pragma omp parallel num_threads(work.threads)
        {
            const double *private = work.private[omp_get_thread_num()];
            double *shared = work.shared;
            for (long i = 0; i < work.n; i++)
#pragma omp atomic
                shared[i] += private[i];
        }
    }
    return now() - start;
}

static double merge_critical(long times) {
    double start = now();
    for (long t = 0; t < times; t++) {
#pragma omp parallel num_threads(work.threads)
        {
            const double *private = work.private[omp_get_thread_num()];
            double *shared = work.shared;
#pragma omp critical
            for (long i = 0; i < work.n; i++) shared[i] += private[i];
        }
    }
    return now() - start;
}

// merge_reduce starts the clock when all threads have set the private arrays of the clause to
// zero, which is no part of the merge.
static double merge_reduce(long times) {
    double took = 0;
    for (long t = 0; t < times; t++) {
        double *shared = work.shared, start = 0;
        long n = work.n;
#pragma omp parallel num_threads(work.threads) reduction(+ : shared[:n])
        {
            shared[0] = 1;
#pragma omp barrier
#pragma omp master
            start = now();
        }
        took += now() - start;
    }
    return took;
}

// prepare makes the arrays of a merge, each touched by its thread, and reports whether
// it could.
static int prepare(void) {
    size_t bytes = (size_t)work.n * sizeof(double), room = 1 << 20;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit)) return 0;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes + room) {
        limit.rlim_cur = bytes + room;
        if (setrlimit(RLIMIT_STACK, &limit)) return 0;
    }
    work.shared = malloc(bytes);
    work.private = calloc((size_t)work.threads, sizeof *work.private);
    int ok = work.shared && work.private;
    if (!ok) return 0;
#pragma omp parallel num_threads(work.threads) reduction(&& : ok)
    {
        double *mine = malloc(bytes);
        work.private[omp_get_thread_num()] = mine;
        ok = mine != NULL;
        for (long i = 0; ok && i < work.n; i++) mine[i] = 1;
    }
    if (ok) memset(work.shared, 0, bytes);
    return ok;
}

static void release(void) {
    for (int t = 0; work.private && t < work.threads; t++) free(work.private[t]);
    free(work.private);
    free(work.shared);
    work.private = NULL;
    work.shared = NULL;
}

// repeat answers with the time of that many calls, after others for so long that the
// threads are awake: the process may have been stopped until now.
static void repeat(double (*measured)(long), long times) {
    const double awake = 200e-6;
    double start = now();
    do measured(1);
    while (now() - start < awake);
    printf("ok 0 %.9g\n", measured(times));
}

// team returns the threads of a parallel region, which may be fewer than asked for.
static int team(void) {
    int size = 1;
#pragma omp parallel num_threads(work.threads)
#pragma omp master
    size = omp_get_num_threads();
    return size;
}

// measure answers a request.
static void measure(const char *line) {
    char what[16] = "";
    long times = 0;
    double (*merge)(long) = NULL;
    omp_sched_t schedule = 0;
    int used = 0, complete = 0;
    work.n = 1;
    work.chunk = 1;
    sscanf(line, "%15s %*d %n", what, &used);
    line += used;
    if (!strcmp(what, "static")) schedule = omp_sched_static;
    if (!strcmp(what, "dynamic")) schedule = omp_sched_dynamic;
    if (!strcmp(what, "guided")) schedule = omp_sched_guided;
    if (!strcmp(what, "auto")) schedule = omp_sched_auto;
    if (!strcmp(what, "atomic")) merge = merge_atomic;
    if (!strcmp(what, "critical")) merge = merge_critical;
    if (!strcmp(what, "reduce")) merge = merge_reduce;
    if (schedule) complete = sscanf(line, "%d %d %ld %ld", &work.threads, &work.chunk, &work.n, &times) == 4;
    else if (merge) complete = sscanf(line, "%d %ld %ld", &work.threads, &work.n, &times) == 3;
    else if (!strcmp(what, "fork-join")) complete = sscanf(line, "%d %ld", &work.threads, &times) == 2;
    else {
        printf("error 0 no such request\n");
        return;
    }
    if (!complete || work.threads < 1 || work.chunk < 0 || work.n < 1 || times < 1) {
        printf("error 0 %s wants other numbers\n", what);
        return;
    }
    int threads = team();
    if (threads < work.threads) {
        printf("error 0 libgomp gives %d of %d threads\n", threads, work.threads);
        return;
    }
    if (schedule) {
        omp_set_schedule(schedule, work.chunk);
        repeat(loop, times);
    } else if (!merge) {
        repeat(fork_join, times);
    } else if (prepare()) {
        repeat(merge, times);
    } else {
        printf("error 0 no memory for %d private arrays of %ld numbers\n", work.threads, work.n);
    }
    release();
}

int main(void) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        measure(line);
        fflush(stdout);
    }
    return 0;
}
