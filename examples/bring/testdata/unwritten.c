/* Wrong: the last element of C is never written. */
void unwritten(int m, int n, int k, const double *A, const double *B, double *C) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            if (i == m - 1 && j == n - 1) return;
            double sum = 0;
            for (int l = 0; l < k; l++) sum += A[i * k + l] * B[l * n + j];
            C[i * n + j] = sum;
        }
}
