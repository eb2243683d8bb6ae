// C = A·B as the definition has it: the loops in the order i, j, k, and every sum in C itself. The
// compiler may not keep the sum in a register: for all it knows, C overlaps A or B.
#ifndef T
#define T double
#endif

void multiply(int m, int n, int k, const T *A, const T *B, T *C) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) {
            C[i * n + j] = 0;
            for (long l = 0; l < k; l++) {
                C[i * n + j] += A[i * k + l] * B[l * n + j];
            }
        }
    }
}
