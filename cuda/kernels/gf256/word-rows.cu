// word-rows: a thread has TM rows of C; a word of B is read once for them, into registers.
//
// Against word: a thread has all rows of its block, so no other thread needs its words of B, and they do not pass
// through shared memory. A word is multiplied by x seven times for all rows together. Each row adds the products
// that the bits of its element of A select: per row, bit and four bytes, one instruction remains of seven. Sums are
// in registers, so the tile is given when the kernel is compiled. Shared memory holds BK columns of A.
//
// Tile: a block of THREADS = BN/TN threads computes BM x BN elements of C, BM = TM.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; BK*TM bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: BM*BN*BK/TN bytes a block and slice.

#ifndef BM
#define BM 4
#endif
#ifndef BN
#define BN 2048
#endif
#ifndef BK
#define BK 48
#endif
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 16
#endif
#ifndef VB
#define VB 16
#endif
#ifndef VC
#define VC 16
#endif

#define THREADS (BN / TN)

static_assert(BM == TM, "a thread has all rows of its block");
static_assert(BN % (32 * TN) == 0 && THREADS <= 1024, "a block has whole warps, at most 32");
static_assert(BK * TM <= 48 * 1024, "static shared memory ends at 48 KiB");
static_assert(TN == 4 || TN == 8 || TN == 16, "a thread has 4, 8 or 16 bytes");

// What a thread has of a row.
struct alignas(TN) Word { unsigned x[TN / 4]; };

// What one instruction copies.
template <int BYTES> struct Copy { typedef unsigned char Unit; };
template <> struct Copy<2> { typedef unsigned short Unit; };
template <> struct Copy<4> { typedef unsigned Unit; };
template <> struct Copy<8> { typedef uint2 Unit; };
template <> struct Copy<16> { typedef uint4 Unit; };
typedef Copy<(VB < TN ? VB : TN)>::Unit UnitB;
typedef Copy<(VC < TN ? VC : TN)>::Unit UnitC;

// load reads the word at b, of which `inside` bytes (or more) lie inside of the matrix. The
// others are 0.
static __device__ Word load(const unsigned char *b, long long inside)
{
    Word word = {};
    unsigned char *to = (unsigned char *)&word;
    if (inside >= TN) {
        #pragma unroll
        for (int v = 0; v < TN; v += sizeof(UnitB))
            *(UnitB *)(to + v) = *(const UnitB *)(b + v);
        return word;
    }
    #pragma unroll
    for (int v = 0; v < TN; v++)
        if (v < inside)
            to[v] = b[v];
    return word;
}

// store is the reverse of load.
static __device__ void store(unsigned char *c, long long inside, const Word &word)
{
    const unsigned char *from = (const unsigned char *)&word;
    if (inside >= TN) {
        #pragma unroll
        for (int v = 0; v < TN; v += sizeof(UnitC))
            *(UnitC *)(c + v) = *(const UnitC *)(from + v);
        return;
    }
    #pragma unroll
    for (int v = 0; v < TN; v++)
        if (v < inside)
            c[v] = from[v];
}

// twice multiplies each of four elements by x.
static __device__ unsigned twice(unsigned w)
{
    return (w & 0x7f7f7f7f) << 1 ^ (w >> 7 & 0x01010101) * 0x1d;
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    const unsigned char *A, long long lda, const unsigned char *B, long long ldb,
    unsigned char *C, long long ldc)
{
    __shared__ unsigned char As[BK][TM];

    // The first row of this block, and the word of this thread: neighbours in a warp are neighbours in a row.
    const int tiles_m = (m + BM - 1) / BM;
    const int row0 = (int)blockIdx.x % tiles_m * BM;
    const long long j = (long long)((int)blockIdx.x / tiles_m) * BN + threadIdx.x * TN;

    Word sum[TM] = {};

    for (int p0 = 0; p0 < k; p0 += BK) {
        // All threads together copy columns of A; beyond the edges of A they are 0.
        for (int e = threadIdx.x; e < BK * TM; e += THREADS) {
            const int p = p0 + e / TM, i = row0 + e % TM;
            As[e / TM][e % TM] = i < m && p < k ? A[i * lda + p] : 0;
        }
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll 2
        for (int p = 0; p < min(k - p0, BK); p++) {
            Word b = load(B + (p0 + p) * ldb + j, n - j);
            #pragma unroll
            for (int bit = 0; bit < 8; bit++) {
                #pragma unroll
                for (int row = 0; row < TM; row++)
                    #pragma unroll
                    for (int w = 0; w < TN / 4; w++)
                        sum[row].x[w] ^= b.x[w] & -(As[p][row] >> bit & 1);
                #pragma unroll
                for (int w = 0; w < TN / 4; w++)
                    b.x[w] = twice(b.x[w]);
            }
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    #pragma unroll
    for (int row = 0; row < TM; row++)
        if (row0 + row < m)
            store(C + (row0 + row) * ldc + j, n - j, sum[row]);
}
