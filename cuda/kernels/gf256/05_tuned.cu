// tuned: products by look-ups in registers, and each byte of B read from memory once.
//
// Against word: multiplication by a constant is linear, a*(x + y) = a*x + a*y, so that a*b is
// the sum of what a makes of the bits 0 to 2, 3 to 5, and 6 and 7 of b. Tables of these have
// 8, 8 and 4 bytes: two, two and one registers, in which PRMT looks four bytes up at once. A
// product of a word costs 3 PRMT and, as exclusive ors of three operands go, 1.5 LOP3, where
// word takes 8 steps of 7. What PRMT wants of a word of B, three bits a byte packed into 16,
// costs 9 instructions for all rows of the thread, 3 of them multiplications, which are in
// another pipe. At m = 4 that is 4*4.5 + 6 = 24 of a pipe of 64 lanes for 4 bytes of B: with
// 132 multiprocessors at 1.75 GHz, 2.5 TB/s of B and 3.4 TB/s with C.
//
// A thread has TM rows of C, which are all that its block has, in registers; it goes down
// 16-byte columns of B, of which two rows are on their way while two are multiplied. Only the
// tables of BK columns of A are in shared memory, built by the block itself, where all
// threads of a warp read the same.
// VB and VC are how many bytes a copy of B and C has: 16, 8, 4, 2 or 1, as alignment and
// leading dimension of each allow. VA has no meaning here.
//
// Tile: a block of THREADS = BN/TN threads computes BM x BN elements of C, BM = TM.
// Launch: ceil(m/BM) * ceil(n/BN) blocks, those of the same columns side by side; 20*BK*TM
// bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: 20*BM*BN*BK/TN bytes a block and slice.

#ifndef BM
#define BM 4
#endif
#ifndef BN
#define BN 4096
#endif
#ifndef BK
#define BK 32
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
#define WORDS (TN / 4)

static_assert(BM == TM, "a thread has all rows of its block");
static_assert(TN % 16 == 0 && BN % TN == 0, "a thread has whole units of 16 bytes");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % 2 == 0, "two rows of B are multiplied at once");
static_assert(20 * BK * TM <= 48 * 1024, "static shared memory ends at 48 KiB");

// What one instruction copies.
template <int BYTES> struct Copy { typedef unsigned char Unit; };
template <> struct Copy<2> { typedef unsigned short Unit; };
template <> struct Copy<4> { typedef unsigned Unit; };
template <> struct Copy<8> { typedef uint2 Unit; };
template <> struct Copy<16> { typedef uint4 Unit; };
typedef Copy<VB>::Unit UnitB;
typedef Copy<VC>::Unit UnitC;

// load reads the 16 bytes at b, of which `inside` (or more) lie inside of the matrix. The
// others are 0.
static __device__ void load(unsigned *word, const unsigned char *b, int inside)
{
    alignas(16) unsigned x[4] = {};
    unsigned char *to = (unsigned char *)x;
    if (inside >= 16) {
        #pragma unroll
        for (int v = 0; v < 16; v += VB)
            *(UnitB *)(to + v) = *(const UnitB *)(b + v);
    } else {
        #pragma unroll
        for (int v = 0; v < 16; v++)
            if (v < inside)
                to[v] = b[v];
    }
    #pragma unroll
    for (int w = 0; w < 4; w++)
        word[w] = x[w];
}

// store is the reverse of load.
static __device__ void store(unsigned char *c, int inside, const unsigned *word)
{
    alignas(16) unsigned x[4];
    #pragma unroll
    for (int w = 0; w < 4; w++)
        x[w] = word[w];
    const unsigned char *from = (const unsigned char *)x;
    if (inside >= 16) {
        #pragma unroll
        for (int v = 0; v < 16; v += VC)
            *(UnitC *)(c + v) = *(const UnitC *)(from + v);
        return;
    }
    #pragma unroll
    for (int v = 0; v < 16; v++)
        if (v < inside)
            c[v] = from[v];
}

// Selectors are what PRMT takes to look up the bits 0 to 2, 3 to 5, and 6 and 7 of each of
// four bytes: a digit of four bits for each, in the order of the bytes.
struct Selectors { unsigned low, middle, high; };

static __device__ Selectors selectors(unsigned word)
{
    // The multiplications put the bits of byte i beside those of byte i + 1; of the bytes of
    // the result two have such pairs.
    const unsigned low = (word & 0x07070707) * 0x110, middle = (word & 0x38383838) * 0x22;
    const unsigned long long high = (word & 0xc0c0c0c0) * 0x440ull;
    Selectors s;
    s.low = __byte_perm(low, 0, 0x31);
    s.middle = __byte_perm(middle, 0, 0x31);
    s.high = __byte_perm((unsigned)high, (unsigned)(high >> 32), 0x42);
    return s;
}

// lookup returns the bytes of low and high, 0 to 7, that four digits select. __byte_perm would
// clear the fourth bit of each digit first, which is 0 here.
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
    // The products of elements of A by all values of the bits 0 to 2 (x, y) and 3 to 5
    // (z, w); and, of two columns, by those of the bits 6 and 7.
    __shared__ uint4 sixes[BK][TM];
    __shared__ uint2 twos[BK / 2][TM];

    // The first row of this block and the first column of this thread.
    const int tiles_m = (m + BM - 1) / BM;
    const int row0 = (int)blockIdx.x % tiles_m * BM;
    const long long col0 = (long long)((int)blockIdx.x / tiles_m) * BN + threadIdx.x * 16;

    // The columns of each unit that lie inside of B and C: 16 or more, but at the edge.
    int inside[TN / 16];
    #pragma unroll
    for (int u = 0; u < TN / 16; u++) {
        const long long columns = n - col0 - u * 16 * THREADS;
        inside[u] = columns < 0 ? 0 : columns < 16 ? (int)columns : 16;
    }

    // fetch reads the rows p and p + 1 of B. One that B does not have stays as it was: its
    // tables are 0.
    auto fetch = [&](unsigned (&to)[2][WORDS], int p) {
        #pragma unroll
        for (int q = 0; q < 2; q++)
            if (p + q < k)
                #pragma unroll
                for (int u = 0; u < TN / 16; u++)
                    load(&to[q][4 * u], B + (p + q) * ldb + col0 + u * 16 * THREADS, inside[u]);
    };

    unsigned now[2][WORDS] = {}, next[2][WORDS] = {}, sum[TM][WORDS] = {};
    fetch(now, 0);

    for (int p0 = 0; p0 < k; p0 += BK) {
        // Nobody builds tables before all have used those of the slice before.
        __syncthreads();
        for (int e = threadIdx.x; e < BK * TM; e += THREADS) {
            const int q = e / TM, row = e % TM;
            unsigned a = row0 + row < m && p0 + q < k ? A[(row0 + row) * lda + p0 + q] : 0;
            // Byte i of `pair` is a times the bits of i, as of 0 to 3, of `four` times 4.
            unsigned pair[3], four[3];
            #pragma unroll
            for (int bits = 0; bits < 3; bits++) {
                unsigned power[3];
                #pragma unroll
                for (int b = 0; b < 3; b++) {
                    power[b] = a;
                    if (bits < 2 || b < 2)
                        a = a << 1 ^ (a >> 7) * 0x11d;
                }
                pair[bits] = power[0] * 0x01000100 ^ power[1] * 0x01010000;
                four[bits] = power[2] * 0x01010101;
            }
            sixes[q][row] = make_uint4(pair[0], pair[0] ^ four[0], pair[1], pair[1] ^ four[1]);
            ((unsigned *)&twos[q / 2][row])[q % 2] = pair[2];
        }
        // Nobody multiplies before all have built.
        __syncthreads();

        const int depth = k - p0 < BK ? k - p0 : BK;
        for (int p = 0; p < depth; p += 2) {
            fetch(next, p0 + p + 2);
            Selectors s[2][WORDS];
            #pragma unroll
            for (int q = 0; q < 2; q++)
                #pragma unroll
                for (int w = 0; w < WORDS; w++)
                    s[q][w] = selectors(now[q][w]);
            #pragma unroll
            for (int row = 0; row < TM; row++) {
                const uint4 t = sixes[p][row], u = sixes[p + 1][row];
                const uint2 high = twos[p / 2][row];
                #pragma unroll
                for (int w = 0; w < WORDS; w++)
                    sum[row][w] ^=
                        lookup(t.x, t.y, s[0][w].low) ^ lookup(t.z, t.w, s[0][w].middle) ^
                        lookup(high.x, 0, s[0][w].high) ^
                        lookup(u.x, u.y, s[1][w].low) ^ lookup(u.z, u.w, s[1][w].middle) ^
                        lookup(high.y, 0, s[1][w].high);
            }
            #pragma unroll
            for (int q = 0; q < 2; q++)
                #pragma unroll
                for (int w = 0; w < WORDS; w++)
                    now[q][w] = next[q][w];
        }
    }

    #pragma unroll
    for (int row = 0; row < TM; row++)
        #pragma unroll
        for (int u = 0; u < TN / 16; u++)
            if (row0 + row < m)
                store(C + (row0 + row) * ldc + col0 + u * 16 * THREADS, inside[u], &sum[row][4 * u]);
}
