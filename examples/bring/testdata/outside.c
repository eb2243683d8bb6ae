/* Wrong: the loop over columns ends one too late, so the element behind C is written. */
void square_dgemm(int n, double *A, double *B, double *C) {
    for (int j = 0; j <= n; j++)
        for (int i = 0; i < (j < n ? n : 1); i++) {
            double sum = C[i + j * n];
            for (int k = 0; k < n; k++) sum += A[i + k * n] * (j < n ? B[k + j * n] : 1);
            C[i + j * n] = sum;
        }
}
