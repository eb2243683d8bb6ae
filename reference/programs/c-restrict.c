// c-naive with pointers that are restrict: no store to C changes A or B. A compiler that optimizes may now keep the
// sum in a register, though the program adds to C itself.
#ifndef T
#define T double
#endif

void multiply(int m, int n, int k, const T *restrict A, const T *restrict B, T *restrict C) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) {
            C[i * n + j] = 0;
            for (long l = 0; l < k; l++) {
                C[i * n + j] += A[i * k + l] * B[l * n + j];
            }
        }
    }
}
