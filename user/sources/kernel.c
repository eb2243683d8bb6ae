// A kernel of your own: C = A*B. It is correct and slow. Make it faster, and measure again:
//
//   gemm serial --bring NAME --sizes 256,512,1000x300x77
//
// A is m x k, B is k x n, and C is m x n. Each matrix is stored by rows without gaps: element (i, j)
// of C is C[i * n + j]. gemm compiles this file with -O3 -march=native (--cflags), runs it in a process
// of its own, and verifies every result. C holds no numbers before the call: write each element, and
// do not read it first. Do not write to A and B.
//
// A first step: exchange the two inner loops, so that B and C are read along their rows.

void matmul(int m, int n, int k, const double *A, const double *B, double *C)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < k; p++)
                sum += A[(long)i * k + p] * B[(long)p * n + j];
            C[(long)i * n + j] = sum;
        }
    }
}
