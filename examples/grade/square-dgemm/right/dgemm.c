/* By columns: the inner loop runs down a column of A and of C, and takes four columns of A at once. */
void square_dgemm(int n, double *A, double *B, double *C) {
    for (int j = 0; j < n; j++) {
        double *restrict c = C + (long)j * n;
        const double *b = B + (long)j * n;
        int k = 0;
        for (; k + 3 < n; k += 4) {
            const double *a = A + (long)k * n;
            for (int i = 0; i < n; i++)
                c[i] += a[i] * b[k] + a[i + n] * b[k + 1] + a[i + 2 * n] * b[k + 2] + a[i + 3 * n] * b[k + 3];
        }
        for (; k < n; k++)
            for (int i = 0; i < n; i++) c[i] += A[i + (long)k * n] * b[k];
    }
}
