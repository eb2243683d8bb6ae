// A product in every ABI, and faults.
#include <signal.h>
#include <stdlib.h>
#define AT(x, t, i, l, ld) ((t) ? x[(l) + (i) * (ld)] : x[(i) + (l) * (ld)])
#define WHOLE(name, T) \
void name(const char *ta, const char *tb, const int *m, const int *n, const int *k, const T *alpha, const T *a, const int *lda, \
          const T *b, const int *ldb, const T *beta, T *c, const int *ldc) { \
    int at = *ta != 'N', bt = *tb != 'N'; \
    for (int j = 0; j < *n; j++) for (int i = 0; i < *m; i++) { \
        T sum = 0, *to = c + i + j * *ldc; \
        for (int l = 0; l < *k; l++) sum += AT(a, at, i, l, *lda) * AT(b, bt, l, j, *ldb); \
        *to = *alpha * sum + (*beta == 0 ? 0 : *beta * *to); \
    } \
}
WHOLE(dgemm_, double)
WHOLE(sgemm_, float)
#define ROWS(name, T, wide) \
void name(int order, int ta, int tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) { \
    char x[2] = {ta == 111 ? 'N' : 'T', tb == 111 ? 'N' : 'T'}; \
    if (order == 101) wide(x + 1, x, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc); \
}
ROWS(cblas_dgemm, double, dgemm_)
ROWS(cblas_sgemm, float, sgemm_)
void square(int n, double *A, double *B, double *C) {
    for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) for (int k = 0; k < n; k++)
        C[i + j * n] += A[i + k * n] * B[k + j * n];
}
void rows(int m, int n, int k, const float *A, const float *B, float *C) {
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        float sum = 0;
        for (int l = 0; l < k; l++) sum += A[i * k + l] * B[l * n + j];
        C[i * n + j] = sum;
    }
}
// overwrites computes C = A·B.
void overwrites(int n, double *A, double *B, double *C) {
    for (int i = 0; i < n * n; i++) C[i] = 0;
    square(n, A, B, C);
}
#define FAULT(name, what) void name(int n, double *A, double *B, double *C) { square(n, A, B, C); what; }
FAULT(behind, C[n * n + 2] += 1)
FAULT(before, C[-1] = 0)
FAULT(far, C[n * n + 100000] = 0)
FAULT(behindA, A[n * n] = 0)
FAULT(beforeB, B[-3] = 0)
FAULT(changesA, A[1 + 2 * n] += 1)
FAULT(changesB, B[0] = 7)
FAULT(nowhere, *(volatile int *)16 = 1)
FAULT(leaves, exit(n))
FAULT(aborts, abort())
FAULT(raises, raise(SIGSEGV))
FAULT(page, C[-800] = 0)
static int deeper(int n) { volatile char room[1 << 16]; room[n] = 1; return n < 0 ? 0 : deeper(n + 1) + room[n]; }
FAULT(deep, deeper(0))
void reads(int n, double *A, double *B, double *C) { square(n, A, B, C); C[0] += A[n * n]; }
void gap(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha, const double *a, const int *lda,
          const double *b, const int *ldb, const double *beta, double *c, const int *ldc) {
    dgemm_(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    c[*m + *ldc] = 1;
}
