// c-naive with a sum that is a local variable. The compiler may keep it in a register, whatever C overlaps: C is
// written once for each element.
#ifndef T
#define T double
#endif

void multiply(int m, int n, int k, const T *A, const T *B, T *C) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) {
            T sum = 0;
            for (long l = 0; l < k; l++) {
                sum += A[i * k + l] * B[l * n + j];
            }
            C[i * n + j] = sum;
        }
    }
}
