// The whole operation of BLAS for both types, in the ABIs fortran and cblas.
template <class T> static void gemm(bool ta, bool tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            T sum = 0;
            for (int l = 0; alpha != 0 && l < k; l++) sum += (ta ? a[l + i * lda] : a[i + l * lda]) * (tb ? b[j + l * ldb] : b[l + j * ldb]);
            c[i + j * ldc] = (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * c[i + j * ldc]);
        }
}
#define BOTH(T, f, g) \
extern "C" void f(const char *ta, const char *tb, const int *m, const int *n, const int *k, const T *alpha, const T *a, const int *lda, \
                  const T *b, const int *ldb, const T *beta, T *c, const int *ldc) { \
    gemm<T>(*ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc); \
} \
extern "C" void g(int, int ta, int tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) { \
    gemm<T>(tb != 111, ta != 111, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc); \
}
BOTH(double, dgemm_, cblas_dgemm)
BOTH(float, sgemm_, cblas_sgemm)
