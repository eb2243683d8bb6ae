// macros: tiles of any shape, chosen when the kernel is compiled.
//
// Against square-tiled: the rows and columns of a tile of C and the depth of a slice are three
// macros. So a tile fits a few rows of C and B with very many columns, and no zeros are multiplied.
// Each shape of a tile is another program. The compiler unrolls the loop over the slice, and divides
// by constants. Tiles are numbered column by column: blocks that read the same columns of B run at the
// same time, and all but the first find them in the L2 cache.
//
// Tile: a block of THREADS = BM*BN threads computes BM x BN elements of C, one each.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; BM*BK + BK*BN bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: 2*BM*BN*BK bytes a block and slice.

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 32
#endif

#define THREADS (BM * BN)

static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK * (BM + BN) <= 48 * 1024, "static shared memory ends at 48 KiB");

// mul returns a*b, by Horner's rule over the bits of a.
static __device__ unsigned mul(unsigned a, unsigned b)
{
    unsigned product = 0;
    #pragma unroll
    for (int bit = 7; bit >= 0; bit--)
        product = product << 1 ^ (product >> 7) * 0x11d ^ (a >> bit & 1) * b;
    return product;
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    const unsigned char *A, long long lda, const unsigned char *B, long long ldb,
    unsigned char *C, long long ldc)
{
    __shared__ unsigned char As[BM][BK];
    __shared__ unsigned char Bs[BK][BN];

    // The element of this thread: neighbours in a warp are neighbours in a row.
    const int tiles_m = (m + BM - 1) / BM;
    const int row = threadIdx.x / BN, col = threadIdx.x % BN;
    const int i = (int)blockIdx.x % tiles_m * BM + row;
    const long long j = (long long)((int)blockIdx.x / tiles_m) * BN + col;

    unsigned sum = 0;

    for (int p0 = 0; p0 < k; p0 += BK) {
        // A row of threads copies a row of A's slice, a column of threads a column of B's;
        // beyond the edges of A and B they are 0.
        for (int p = col; p < BK; p += BN)
            As[row][p] = i < m && p0 + p < k ? A[i * lda + p0 + p] : 0;
        for (int p = row; p < BK; p += BM)
            Bs[p][col] = p0 + p < k && j < n ? B[(p0 + p) * ldb + j] : 0;
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll
        for (int p = 0; p < BK; p++)
            sum ^= mul(As[row][p], Bs[p][col]);

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    if (i < m && j < n)
        C[i * ldc + j] = sum;
}
