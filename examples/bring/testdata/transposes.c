/* Wrong: A is transposed in place to be read by rows, and stays so. */
void square_dgemm(int n, double *A, double *B, double *C) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double x = A[i + j * n];
            A[i + j * n] = A[j + i * n];
            A[j + i * n] = x;
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) C[i + j * n] += A[k + i * n] * B[k + j * n];
}
