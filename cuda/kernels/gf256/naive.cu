// naive: C = A*B over GF(2^8), each thread computes one element of C.
//
// The first rung. Elements are bytes: polynomials over GF(2) modulo x^8 + x^4 + x^3 + x^2 + 1
// (0x11d). A sum is an exclusive or. A product is computed bit by bit, one byte at a time. The
// threads of a warp go along a row: at each step of k they read 32 bytes of B, a sector, and all
// read the same byte of A.
//
// Tile: a block of THREADS = BM*BN threads computes BM x BN elements of C, one each.
// Launch: ceil(m/BM) * ceil(n/BN) blocks.
// Global reads of A and B: 2*m*n*k bytes, every operand of every product.

#ifndef BM
#define BM 4
#endif
#ifndef BN
#define BN 64
#endif

#define THREADS (BM * BN)

static_assert(THREADS <= 1024, "a block has at most 1024 threads");

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
    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (int)((n + BN - 1ll) / BN);
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const long long col0 = (long long)((int)blockIdx.x % tiles_n) * BN;

    // The element of this thread: neighbours in a warp are neighbours in a row.
    const int i = row0 + threadIdx.x / BN;
    const long long j = col0 + threadIdx.x % BN;

    if (i < m && j < n) {
        unsigned sum = 0;
        for (int p = 0; p < k; p++)
            sum ^= mul(A[i * lda + p], B[p * ldb + j]);
        C[i * ldc + j] = sum;
    }
}
