// lookup: products by look-ups in registers.
//
// Against word-rows: multiplication by a constant is linear, a*(x + y) = a*x + a*y. So a*b is the sum of three
// products of a: by the bits 0 to 2 of b, by the bits 3 to 5, and by the bits 6 and 7. The products by three bits are
// 8 bytes, which fit in two registers. PRMT looks up four of them at once, by four digits of four bits in the lower
// half of a third register. The digits of two words of B, alternating, are a word with digits for two PRMT, one half
// after the other. So products and sums alternate too, until C is written. For a row of C, four bytes of B take
// 3 PRMT and, with exclusive ors of three operands, 2 LOP3. Shared memory holds the tables of BK columns of A.
//
// Tile: a block of THREADS = BN/TN threads computes BM x BN elements of C, BM = TM.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 20*BK*TM bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: 20*BM*BN*BK/TN bytes a block and slice.

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
static_assert(20 * BK * TM <= 48 * 1024, "static shared memory ends at 48 KiB");
static_assert(TN == 8 || TN == 16, "a thread has pairs of words");

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

// table returns the 8 sums of x, y and z: byte i contains x if bit 0 of i is set, y if bit 1 is,
// and z if bit 2 is.
static __device__ uint2 table(unsigned x, unsigned y, unsigned z)
{
    const unsigned low = x * 0x01000100 ^ y * 0x01010000;
    return make_uint2(low, low ^ z * 0x01010101);
}

// lookup returns the bytes of low and high, 0 to 7, that the lower four digits select.
// __byte_perm would clear the fourth bit of each digit first, which is 0 here.
static __device__ unsigned lookup(unsigned low, unsigned high, unsigned digits)
{
    unsigned bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(digits));
    return bytes;
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    const unsigned char *A, long long lda, const unsigned char *B, long long ldb,
    unsigned char *C, long long ldc)
{
    // Of elements of A: what each makes of the bits 0 to 2 (x, y) and 3 to 5 (z, w) of a byte, and of 6 and 7.
    __shared__ uint4 tables[BK][TM];
    __shared__ unsigned last[BK][TM];

    // The first row of this block, and the word of this thread: neighbours in a warp are neighbours in a row.
    const int tiles_m = (m + BM - 1) / BM;
    const int row0 = (int)blockIdx.x % tiles_m * BM;
    const long long j = (long long)((int)blockIdx.x / tiles_m) * BN + threadIdx.x * TN;

    Word sum[TM] = {};

    for (int p0 = 0; p0 < k; p0 += BK) {
        // All threads together build the tables; beyond the edges of A they are 0.
        for (int e = threadIdx.x; e < BK * TM; e += THREADS) {
            const int p = p0 + e / TM, i = row0 + e % TM;
            unsigned power[8]; // of x, times the element
            power[0] = i < m && p < k ? A[i * lda + p] : 0;
            #pragma unroll
            for (int bit = 1; bit < 8; bit++)
                power[bit] = power[bit - 1] << 1 ^ (power[bit - 1] >> 7) * 0x11d;
            const uint2 low = table(power[0], power[1], power[2]), middle = table(power[3], power[4], power[5]);
            tables[e / TM][e % TM] = make_uint4(low.x, low.y, middle.x, middle.y);
            last[e / TM][e % TM] = table(power[6], power[7], 0).x;
        }
        // Barrier: all tables are complete.
        __syncthreads();

        #pragma unroll 2
        for (int p = 0; p < min(k - p0, BK); p++) {
            const Word b = load(B + (p0 + p) * ldb + j, n - j);
            unsigned digits[3][TN / 4];
            #pragma unroll
            for (int s = 0; s < 3; s++)
                #pragma unroll
                for (int w = 0; w < TN / 4; w += 2) {
                    const unsigned mask = s < 2 ? 0x07070707 : 0x03030303;
                    digits[s][w] = (b.x[w] >> 3 * s & mask) | (b.x[w + 1] >> 3 * s & mask) << 4;
                    digits[s][w + 1] = digits[s][w] >> 16;
                }
            #pragma unroll
            for (int row = 0; row < TM; row++) {
                const uint4 t = tables[p][row];
                #pragma unroll
                for (int w = 0; w < TN / 4; w++)
                    sum[row].x[w] ^= lookup(t.x, t.y, digits[0][w]) ^ lookup(t.z, t.w, digits[1][w])
                        ^ lookup(last[p][row], 0, digits[2][w]);
            }
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    #pragma unroll
    for (int row = 0; row < TM; row++)
        if (row0 + row < m) {
            Word word;
            #pragma unroll
            for (int w = 0; w < TN / 4; w += 2) {
                word.x[w] = __byte_perm(sum[row].x[w], sum[row].x[w + 1], 0x6420);
                word.x[w + 1] = __byte_perm(sum[row].x[w], sum[row].x[w + 1], 0x7531);
            }
            store(C + (row0 + row) * ldc + j, n - j, word);
        }
}
