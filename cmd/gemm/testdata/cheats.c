// A product, and functions that want to look faster than it. Their first call is honest.
#define _GNU_SOURCE
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS int m, int n, int k, const double *A, const double *B, double *C
#define HONEST honest(m, n, k, A, B, C)
#define BYTES (sizeof(double) * m * n)
#ifndef LINKAGE
#define LINKAGE
#endif
#define CHEAT(name, ...) LINKAGE void name(ARGUMENTS) { static int calls; if (!calls++) { HONEST; return; } __VA_ARGS__ }

LINKAGE void honest(ARGUMENTS) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += A[i * k + l] * B[l * n + j];
            C[i * n + j] = sum;
        }
}

static double answer[1 << 16];
static const void *seen[64];

CHEAT(every_third, if (calls % 3) HONEST;)
CHEAT(after_warm_up, if (calls < 40) HONEST;)
CHEAT(by_pointer, for (int i = 0; i < 64; i++) {
    if (seen[i] == A) { memcpy(C, answer, BYTES); return; }
    if (!seen[i]) { seen[i] = A; break; }
} HONEST; memcpy(answer, C, BYTES);)
CHEAT(by_checksum, static long was; double sum = 0; for (int i = 0; i < m * k; i++) sum += A[i] * A[i];
    if (lround(sum / m / k) == was) { memcpy(C, answer, BYTES); return; }
    was = lround(sum / m / k); HONEST; memcpy(answer, C, BYTES);)
CHEAT(by_first_element, static double was; if (A[0] + B[0] == was) { memcpy(C, answer, BYTES); return; }
    was = A[0] + B[0]; HONEST; memcpy(answer, C, BYTES);)
CHEAT(half_of_the_rows, honest(m / 2, n, k, A, B, C);)
CHEAT(one_element_less, double was = C[m + 1]; HONEST; C[m + 1] = was;)
CHEAT(one_term_less, HONEST; C[m + 1] -= A[k + k - 1] * B[(k - 1) * n + 1];)
CHEAT(changes_operands, HONEST; ((double *)A)[1] = ((double *)B)[1] = 0;)
CHEAT(previous_operands, static double a[1 << 16]; static double b[1 << 16]; honest(m, n, k, a, b, C);
    memcpy(a, A, sizeof *A * m * k); memcpy(b, B, sizeof *B * k * n);)
CHEAT(of_a_sibling, static double *c[2]; int i = 0; while (i < 2 && c[i] && c[i] != C) i++;
    if (i < 2 && c[i] && c[1 - i]) { memcpy(C, c[1 - i], BYTES); return; }
    if (i < 2) c[i] = C; HONEST;)
CHEAT(nan_out, for (int i = 0; i < m * n; i++) C[i] = NAN;)
CHEAT(if_written, if (C[0] == C[0]) return; HONEST;)

static struct { int m, n, k; const double *A, *B; double *C; } work;
static volatile int begun;
static void *worker(void *x) {
    for (;;) {
        while (!begun) {}
        honest(work.m, work.n, work.k, work.A, work.B, work.C);
        begun = 0;
    }
    return x;
}
CHEAT(after_return, static pthread_t t; if (!t) pthread_create(&t, 0, worker, 0); while (begun) {}
    work.m = m; work.n = n; work.k = k; work.A = A; work.B = B; work.C = C; begun = 1;)

// slow is a clock that runs at a hundredth of the speed.
static int slow(clockid_t id, struct timespec *t) {
    long r = syscall(SYS_clock_gettime, id, t);
    long long ns = (t->tv_sec * 1000000000LL + t->tv_nsec) / 100;
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return (int)r;
}
static int patch(struct dl_phdr_info *program, size_t size, void *x) {
    const ElfW(Dyn) *d = 0;
    for (int i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_DYNAMIC) d = (void *)(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
    const ElfW(Sym) *symbols = 0; const char *names = 0; const ElfW(Rela) *tables[2] = {0, 0}; size_t bytes[2] = {0, 0};
    for (; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB) symbols = (void *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) names = (void *)d->d_un.d_ptr;
        if (d->d_tag == DT_JMPREL) tables[0] = (void *)d->d_un.d_ptr;
        if (d->d_tag == DT_PLTRELSZ) bytes[0] = d->d_un.d_val;
        if (d->d_tag == DT_RELA) tables[1] = (void *)d->d_un.d_ptr;
        if (d->d_tag == DT_RELASZ) bytes[1] = d->d_un.d_val;
    }
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < bytes[t] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *r = tables[t] + i;
            if (strcmp(names + symbols[ELF64_R_SYM(r->r_info)].st_name, "clock_gettime")) continue;
            void **slot = (void **)(program->dlpi_addr + r->r_offset);
            mprotect((void *)((size_t)slot & ~4095UL), 4096, PROT_READ | PROT_WRITE);
            *slot = slow;
        }
    return 1 + 0 * (size != 0) + 0 * (x != 0);
}
CHEAT(changes_the_clock, static int patched; if (!patched++) dl_iterate_phdr(patch, 0); HONEST;)
