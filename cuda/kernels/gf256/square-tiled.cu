// square-tiled: square tiles of A and B in shared memory, k cut into slices.
//
// Against naive: a block copies a BM x BK tile of A and a BK x BN tile of B into shared memory,
// multiplies them from there, and continues with the next slice of k. A whole row or column of
// threads uses each byte that was read from global memory. This is good for A and B of similar
// sizes. With 4 rows of C and 10 rows of B, a 16 x 16 x 16 tile multiplies zeros in 12 of 16 rows
// and 6 of 16 k indices.
//
// Tile: a block of THREADS = BM*BN threads computes BM x BN elements of C, one each, and
// copies one byte of A and of B a slice; BM = BN = BK.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; BM*BK + BK*BN bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: 2*BM*BN*BK bytes a block and slice.

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#ifndef BK
#define BK 16
#endif

#define THREADS (BM * BN)

static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM == BN && BN == BK, "the tiles of A, B and C are squares");

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

    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (int)((n + BN - 1ll) / BN);
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const long long col0 = (long long)((int)blockIdx.x % tiles_n) * BN;

    // The element of this thread: neighbours in a warp are neighbours in a row.
    const int row = threadIdx.x / BN, col = threadIdx.x % BN;
    const int i = row0 + row;
    const long long j = col0 + col;

    unsigned sum = 0;

    for (int p0 = 0; p0 < k; p0 += BK) {
        // All threads together copy the slice; beyond the edges of A and B it is 0.
        As[row][col] = i < m && p0 + col < k ? A[i * lda + p0 + col] : 0;
        Bs[row][col] = p0 + row < k && j < n ? B[(p0 + row) * ldb + j] : 0;
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll 4
        for (int p = 0; p < BK; p++)
            sum ^= mul(As[row][p], Bs[p][col]);

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    if (i < m && j < n)
        C[i * ldc + j] = sum;
}
