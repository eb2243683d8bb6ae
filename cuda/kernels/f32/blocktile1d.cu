// blocktile1d: each thread computes TM elements of a column of C.
//
// Against smem: an element of B that was read from shared memory stays in a register for TM
// products. So shared memory is read (1 + 1/TM)/2 as often. With the same number of threads the
// tile can be larger, so global memory is read less.
//
// Tile: a block of THREADS = (BM/TM)*BN threads computes BM x BN elements of C.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 4*(BM*BK + BK*BN) bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/TM + 1) elements a block and slice, m*n*k*(1/TM + 1) in all.

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif

#define THREADS ((BM / TM) * BN)

static_assert(BM % TM == 0, "a tile of C is a whole number of thread tiles");
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

    // The first element of this thread: neighbours in a warp are neighbours in a row.
    const int row = threadIdx.x / BN * TM;
    const int col = threadIdx.x % BN;

    float sum[TM] = {};

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
        for (int p = 0; p < BK; p++) {
            const float b = Bs[p][col];
            #pragma unroll
            for (int x = 0; x < TM; x++)
                sum[x] += As[row + x][p] * b;
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    // beta == 0 must not read C: it may hold NaN.
    #pragma unroll
    for (int x = 0; x < TM; x++) {
        const int i = row0 + row + x;
        const int j = col0 + col;
        if (i < m && j < n) {
            float *c = &C[i * ldc + j];
            *c = beta == 0 ? alpha * sum[x] : alpha * sum[x] + beta * *c;
        }
    }
}
