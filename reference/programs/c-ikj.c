// c-restrict with the two inner loops exchanged: all accesses are along rows, and the steps of the
// innermost loop add to different sums. A compiler with -O3 makes vector instructions of them.
#ifndef T
#define T double
#endif

void multiply(int m, int n, int k, const T *restrict A, const T *restrict B, T *restrict C) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++) {
            C[i * n + j] = 0;
        }
        for (long l = 0; l < k; l++) {
            T scale = A[i * k + l];
            for (long j = 0; j < n; j++) {
                C[i * n + j] += scale * B[l * n + j];
            }
        }
    }
}
