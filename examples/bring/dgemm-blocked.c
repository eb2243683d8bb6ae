/* A blocked product in the form that courses hand out: square matrices by columns, C += A*B.
 *
 *     gemm serial --bring examples/bring/dgemm-blocked.c
 */

/* Three blocks of 64 x 64 doubles are 96 KiB: they stay in the second-level cache. */
enum { BLOCK = 64 };

static int least(int a, int b) { return a < b ? a : b; }

/* Adds the product of an M x K and a K x N block to an M x N block of C. */
static void block(int lda, int M, int N, int K, const double *A, const double *B, double *C) {
    for (int j = 0; j < N; j++)
        for (int k = 0; k < K; k++) {
            double b = B[k + j * lda];
            for (int i = 0; i < M; i++) C[i + j * lda] += A[i + k * lda] * b;
        }
}

void square_dgemm(int n, double *A, double *B, double *C) {
    for (int j = 0; j < n; j += BLOCK)
        for (int k = 0; k < n; k += BLOCK)
            for (int i = 0; i < n; i += BLOCK)
                block(n, least(BLOCK, n - i), least(BLOCK, n - j), least(BLOCK, n - k), A + i + k * n, B + k + j * n,
                      C + i + j * n);
}
