// Submissions of a class, behind cheats.c: a product with one thing done before it, after it or in its place. The test
// defines the folders OTHER and RESULTS, which no submission may read or write, and OUTSIDE, the process namespace of
// the test: what would end processes does so only in another one.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define STUDENT(name, ...) static void name(ARGUMENTS) { __VA_ARGS__ }

STUDENT(fast, memset(C, 0, BYTES); for (int i = 0; i < m; i++) for (int l = 0; l < k; l++) {
    double a = A[i * k + l];
    for (int j = 0; j < n; j++) C[i * n + j] += a * B[l * n + j];
})
STUDENT(too_slow, for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) {
    volatile double sum = 0;
    for (int l = 0; l < k; l++) sum += A[i * k + l] * B[l * n + j];
    C[i * n + j] = sum;
})

// Wrong results.
STUDENT(odd_k, for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
    double s = 0; double t = 0;
    for (int l = 0; l + 1 < k; l += 2) s += A[i * k + l] * B[l * n + j], t += A[i * k + l + 1] * B[(l + 1) * n + j];
    C[i * n + j] = s + t;
})
STUDENT(adds, double was = C[m * n - 1]; HONEST; C[m * n - 1] += was;)
STUDENT(not_a_number, HONEST; C[m * n / 2] = NAN;)
STUDENT(single, for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
    float sum = 0;
    for (int l = 0; l < k; l++) sum += (float)A[i * k + l] * (float)B[l * n + j];
    C[i * n + j] = sum;
})
STUDENT(outside, HONEST; C[m * n] = 0;)

// Faults.
STUDENT(crashes, HONEST; *(volatile int *)8 = 0;)
STUDENT(hangs, for (volatile int i = 0;;) i = 1;)
STUDENT(stubborn, for (int s = 1; s < 65; s++) signal(s, SIG_IGN); for (volatile int i = 0;;) i = 1;)
STUDENT(exits, exit(0);)
STUDENT(forks, for (int i = 0; i < 200; i++) if (fork() == 0) for (;;) pause(); HONEST;)
STUDENT(lingers, if (fork() == 0) { setsid(); if (fork()) _exit(0); for (;;) pause(); } HONEST;)
STUDENT(allocates, for (int i = 0; i < 100; i++) memset(malloc(1L << 30), 1, 1L << 30); HONEST;)
STUDENT(fills_disk, static char text[1 << 20]; FILE *f = fopen("/tmp/big", "w");
    for (int i = 0; i < 10240; i++) fwrite(text, 1, sizeof text, f); fclose(f); HONEST;)
static int confined(void) {
    char name[64] = "";
    return readlink("/proc/self/ns/pid", name, 63) > 0 && strcmp(name, OUTSIDE);
}
STUDENT(kills_all, if (!confined()) abort(); kill(-1, SIGKILL); HONEST;)
STUDENT(kills_parent, if (!confined()) abort(); kill(getppid(), SIGKILL); HONEST;)
__attribute__((constructor)) static void at_load(void) {
#ifdef LEAVES
    exit(0);
#endif
}

// What does no harm.
STUDENT(prints, puts("ok 1\n\x1b[31m<script>"); fflush(stdout); fputs("no\n", stderr); HONEST;)
STUDENT(reads, if (getchar() == EOF) HONEST;)
STUDENT(rounds, fesetround(FE_UPWARD); HONEST;)
STUDENT(handles, for (int s = 1; s < 65; s++) signal(s, SIG_IGN); HONEST;)

// What must fail: then the product is right.
STUDENT(reads_other, FILE *f = fopen(OTHER "/fast/product.c", "r"); if (!f) HONEST;)
STUDENT(writes_results, FILE *f = fopen(RESULTS "/planted", "w"); if (!f) HONEST;)
STUDENT(uses_network, struct sockaddr_in to = {AF_INET, htons(PORT), {htonl(INADDR_LOOPBACK)}};
    if (connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&to, sizeof to)) HONEST;)
STUDENT(opens_blas, void (*f)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *,
    int) = dlsym(dlopen("libopenblas.so.0", RTLD_NOW), "cblas_dgemm"); f(101, 111, 111, m, n, k, 1, A, k, B, n, 0, C, n);)
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
STUDENT(calls_blas, cblas_dgemm(101, 111, 111, m, n, k, 1, A, k, B, n, 0, C, n);)
