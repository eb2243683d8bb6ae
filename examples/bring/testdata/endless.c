/* Wrong: the loop over k does not end, since k is an unsigned number that is never below 0. */
void square_dgemm(int n, double *A, double *B, double *C) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            volatile double sum = C[i + j * n];
            for (unsigned k = n - 1; k >= 0; k--)
                if (k < (unsigned)n) sum += A[i + k * n] * B[k + j * n];
            C[i + j * n] = sum;
        }
}
