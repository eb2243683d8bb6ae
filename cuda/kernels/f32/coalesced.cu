// coalesced: each thread computes one element of C, a warp runs along a row.
//
// Against naive: threads are numbered along the columns of C instead of down the rows.
// At each step of k a warp now reads 32 neighbouring elements of B and one element of A
// (a broadcast), and stores 32 neighbouring elements of C: each is one memory
// transaction of 128 bytes. The number of reads is the same.
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

    // The element of this thread: neighbours in a warp are neighbours in a row.
    const int row = threadIdx.x / BN;
    const int col = threadIdx.x % BN;
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
