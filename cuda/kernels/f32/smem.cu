// smem: tiles of A and B in shared memory, k cut into slices.
//
// Against coalesced: a block copies a BM x BK tile of A and a BK x BN tile of B into shared memory,
// multiplies them from there, and continues with the next slice of k. A whole row or column of
// threads uses every element that was read from global memory.
//
// Tile: a block of THREADS = BM*BN threads computes BM x BN elements of C, one each.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 4*(BM*BK + BK*BN) bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: 2*BM*BN*BK elements a block and slice, 2*m*n*k in all.

#ifndef BM
#define BM 32
#endif
#ifndef BN
#define BN 32
#endif
#ifndef BK
#define BK 32
#endif

#define THREADS (BM * BN)

static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
    "each thread copies the same number of elements");
static_assert(4 * BK * (BM + BN) <= 48 * 1024, "static shared memory ends at 48 KiB");

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;

    // The element of this thread: neighbours in a warp are neighbours in a row.
    const int row = threadIdx.x / BN;
    const int col = threadIdx.x % BN;

    float sum = 0;

    for (int p0 = 0; p0 < k; p0 += BK) {
        // All threads together copy the slice; beyond the edges of A and B it is 0.
        #pragma unroll 2
        for (int u = 0; u < BM * BK / THREADS; u++) {
            const int e = threadIdx.x + u * THREADS;
            const int i = row0 + e / BK, p = p0 + e % BK;
            As[e / BK][e % BK] = i < m && p < k ? A[i * lda + p] : 0;
        }
        #pragma unroll 2
        for (int u = 0; u < BK * BN / THREADS; u++) {
            const int e = threadIdx.x + u * THREADS;
            const int p = p0 + e / BN, j = col0 + e % BN;
            Bs[e / BN][e % BN] = p < k && j < n ? B[p * ldb + j] : 0;
        }
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll
        for (int p = 0; p < BK; p++)
            sum += As[row][p] * Bs[p][col];

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    // beta == 0 must not read C: it may hold NaN.
    const int i = row0 + row;
    const int j = col0 + col;
    if (i < m && j < n) {
        float *c = &C[i * ldc + j];
        *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    }
}
