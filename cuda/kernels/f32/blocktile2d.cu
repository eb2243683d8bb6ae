// blocktile2d: each thread computes TM x TN elements of C.
//
// Against blocktile1d: a thread reads a column of TM elements of A and a row of TN
// elements of B into registers and adds their outer product: TM*TN products for TM + TN
// reads. The rest is the same.
//
// Tile: a block of THREADS = (BM/TM)*(BN/TN) threads computes BM x BN elements of C;
// BM = BN = 64 is a block of 8 x 8 threads, BM = BN = 128 one of 16 x 16.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 4*(BM*BK + BK*BN) bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/TM + 1/TN) elements a block and slice,
// m*n*k*(1/TM + 1/TN) in all.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif

#define THREADS ((BM / TM) * (BN / TN))

// How many blocks a multiprocessor shall hold at once at least: the compiler keeps a thread
// within 65536/(BLOCKS*THREADS) registers.
#ifndef BLOCKS
#define BLOCKS 1
#endif

static_assert(BM % TM == 0 && BN % TN == 0, "a tile of C is a whole number of thread tiles");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
    "each thread copies the same number of elements");
static_assert(4 * BK * (BM + BN) <= 48 * 1024, "static shared memory ends at 48 KiB");

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm(int m, int n, int k,
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
    const int row = threadIdx.x / (BN / TN) * TM;
    const int col = threadIdx.x % (BN / TN) * TN;

    float sum[TM][TN] = {};

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
            float a[TM], b[TN];
            #pragma unroll
            for (int x = 0; x < TM; x++)
                a[x] = As[row + x][p];
            #pragma unroll
            for (int y = 0; y < TN; y++)
                b[y] = Bs[p][col + y];
            #pragma unroll
            for (int x = 0; x < TM; x++)
                #pragma unroll
                for (int y = 0; y < TN; y++)
                    sum[x][y] += a[x] * b[y];
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    // beta == 0 must not read C: it may hold NaN.
    #pragma unroll
    for (int x = 0; x < TM; x++)
        #pragma unroll
        for (int y = 0; y < TN; y++) {
            const int i = row0 + row + x;
            const int j = col0 + col + y;
            if (i < m && j < n) {
                float *c = &C[i * ldc + j];
                *c = beta == 0 ? alpha * sum[x][y] : alpha * sum[x][y] + beta * *c;
            }
        }
}
