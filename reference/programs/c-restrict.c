// c-naive with pointers that are restrict and a sum that is a local variable. The compiler may now
// keep the sum in a register: no store to C changes A or B.
#ifndef T
#define T double
#endif

void multiply(int m, int n, int k, const T *restrict A, const T *restrict B, T *restrict C) {
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
