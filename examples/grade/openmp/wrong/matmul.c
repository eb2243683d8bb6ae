/* Wrong: threads add to one element of C at the same time. */
void matmul(int m, int n, int k, const double *A, const double *B, double *C) {
    for (int i = 0; i < m * n; i++) C[i] = 0;
#pragma omp parallel for collapse(2)
    for (int p = 0; p < k; p++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) C[(long)i * n + j] += A[(long)i * k + p] * B[(long)p * n + j];
}
