/* Each thread has rows of C, and adds multiples of rows of B to them. */
void matmul(int m, int n, int k, const double *A, const double *B, double *C) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < m; i++) {
        double *restrict c = C + (long)i * n;
        for (int j = 0; j < n; j++) c[j] = 0;
        for (int p = 0; p < k; p++)
            for (int j = 0; j < n; j++) c[j] += A[(long)i * k + p] * B[(long)p * n + j];
    }
}
