// naive: C = alpha*A*B + beta*C, each thread computes one element of C.
//
// The first rung. The threads of a warp are numbered down the rows of C, the worst order. At each
// step of k a warp reads one element of B (a broadcast), but 32 elements of A that are lda apart.
// Its 32 stores to C are ldc apart. Each takes 32 memory transactions in place of one.
//
// Tile: a block of THREADS = BM*BN threads computes BM x BN elements of C, one each.
// Launch: ceil(m/BM) * ceil(n/BN) blocks.
// Global reads of A and B: 2*m*n*k elements, every operand of every product.

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif

#define THREADS (BM * BN)

static_assert(THREADS <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc)
{
    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;

    // The element of this thread: neighbours in a warp are neighbours in a column.
    const int row = threadIdx.x % BM;
    const int col = threadIdx.x / BM;
    const int i = row0 + row;
    const int j = col0 + col;

    if (i < m && j < n) {
        float sum = 0;
        for (int p = 0; p < k; p++)
            sum += A[i * lda + p] * B[p * ldb + j];

        // beta == 0 must not read C: it may hold NaN.
        float *c = &C[i * ldc + j];
        *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    }
}
