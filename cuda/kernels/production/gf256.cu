// tuned: products by look-ups in registers; each byte of B is read from memory once.
//
// Against word: multiplication by a constant is linear, a*(x + y) = a*x + a*y. So a*b is the sum of
// four products of a: by the bits 0 to 2 of b, by bit 3, by the bits 4 to 6, and by bit 7. The
// products by three bits are 8 bytes, which fit in two registers. PRMT looks up four of them at
// once, by four digits in the lower half of a third register; a digit has four bits, of which the
// highest must be 0.
//
// The halves of bytes have the layout of such digits. The halves of two words of B, alternating,
// are a word with digits for two PRMT, one half after the other, and nothing is packed. Products
// and sums alternate too, until C is written. The fourth bits of three rows of B form digits of
// their own. So for a row of C, 12 bytes of B take 8 PRMT and, with exclusive ors of three
// operands, 4 LOP3; word takes 8 steps of 7 instructions for 4 bytes. The digits take 17.5
// instructions for all rows of C, and shifts to the left that are multiplications, in another pipe.
// At m = 4 that is (4*12 + 17.5)/3 = 22 instructions of a pipe with 64 lanes for 4 bytes of B. With
// 132 multiprocessors at 1.75 GHz the limit is 2.7 TB/s of B, and 3.8 TB/s with C.
//
// A thread has TM rows of C in registers; its block has no other rows. It goes down a 16-byte
// column of B: three rows are in flight while three are multiplied. Shared memory holds only the
// tables of BK columns of A. The block builds them itself, and all threads of a warp read the same
// ones. VB and VC are the bytes of a copy of B and C: 16, 8 or 4, as alignment and leading
// dimension permit. If that is 2 or 1, copies are of aligned words nevertheless, and shifts convert
// between them and the bytes of the thread. VA has no meaning here.
//
// Tile: a block of THREADS = BN/TN threads computes BM x BN elements of C, BM = TM.
// Launch: ceil(m/BM) * ceil(n/BN) blocks, blocks of the same columns are neighbours; 64/3*BK*TM
// bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: 64/3*BM*BN*BK/TN bytes a block and slice.

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
#define WORDS (TN / 4)

static_assert(BM == TM, "a thread has all rows of its block");
static_assert(TN == 16, "a thread has 16 bytes of a row");
static_assert(BN % (32 * TN) == 0, "a block has whole warps");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BK % 3 == 0, "three rows of B are multiplied at once");
static_assert(64 * (BK / 3) * TM <= 48 * 1024, "static shared memory ends at 48 KiB");

// What one instruction copies: words where rows begin anywhere.
template <int BYTES> struct Copy { typedef unsigned Unit; };
template <> struct Copy<8> { typedef uint2 Unit; };
template <> struct Copy<16> { typedef uint4 Unit; };
typedef Copy<VB>::Unit UnitB;
typedef Copy<VC>::Unit UnitC;

// early returns by how many bytes the aligned word that contains p begins before p. It is 0 if rows
// begin at multiples of `width` bytes, 4 or more.
static __device__ int early(const void *p, int width)
{
    return width < 4 ? (unsigned long long)p % 4 : 0;
}

// load reads the 16 bytes at b; where rows begin anywhere, the five words that they lie in.
static __device__ void load(unsigned (&word)[WORDS], const unsigned char *b)
{
    alignas(16) unsigned x[WORDS];
    #pragma unroll
    for (int v = 0; v < TN; v += sizeof(UnitB))
        *(UnitB *)((unsigned char *)x + v) = *(const UnitB *)(b - early(b, VB) + v);
    #pragma unroll
    for (int w = 0; w < WORDS; w++)
        word[w] = x[w];
    if (VB < 4) {
        const unsigned last = *(const unsigned *)(b - early(b, VB) + TN);
        #pragma unroll
        for (int w = 0; w < WORDS; w++)
            word[w] = __funnelshift_r(x[w], w + 1 < WORDS ? x[w + 1] : last, 8 * early(b, VB));
    }
}

// load reads the first `inside` bytes at b, 16 at most. The others are 0.
static __device__ void load(unsigned (&word)[WORDS], const unsigned char *b, int inside)
{
    unsigned x[WORDS] = {};
    #pragma unroll 1
    for (int v = inside - 1; v >= 0; v--) {
        #pragma unroll
        for (int w = WORDS - 1; w > 0; w--)
            x[w] = x[w] << 8 | x[w - 1] >> 24;
        x[0] = x[0] << 8 | b[v];
    }
    #pragma unroll
    for (int w = 0; w < WORDS; w++)
        word[w] = x[w];
}

// part writes the first n bytes of a word to c: 4 at most.
static __device__ void part(unsigned char *c, int n, unsigned word)
{
    #pragma unroll 1
    for (int v = 0; v < n; v++)
        c[v] = word >> 8 * v;
}

// store writes the first `inside` bytes to c, at most 16. All threads of a warp call it. If rows
// begin anywhere, a thread writes the words that end among its bytes; the first of them begins
// among the bytes of the thread before.
static __device__ void store(unsigned char *c, int inside, const unsigned (&word)[WORDS])
{
    const int before = early(c, VC), lane = threadIdx.x % 32;
    alignas(16) unsigned x[WORDS];
    #pragma unroll
    for (int w = 0; w < WORDS; w++)
        x[w] = word[w];
    if (VC < 4) {
        x[0] = __funnelshift_l(__shfl_up_sync(~0u, word[WORDS - 1], 1), word[0], 8 * before);
        #pragma unroll
        for (int w = 1; w < WORDS; w++)
            x[w] = __funnelshift_l(word[w - 1], word[w], 8 * before);
    }
    if (inside < TN) {
        #pragma unroll
        for (int w = 0; w < WORDS; w++)
            part(c + 4 * w, min(inside - 4 * w, 4), word[w]);
        return;
    }
    // The words at both ends of a warp's bytes, and at the edge, are not whole.
    const bool begins = before > 0 && lane == 0;
    if (begins)
        part(c, 4 - before, word[0]);
    #pragma unroll
    for (int v = 0; v < TN; v += sizeof(UnitC))
        if (v > 0 || !begins)
            *(UnitC *)(c - before + v) = *(const UnitC *)((const unsigned char *)x + v);
    if (before > 0 && (lane == 31 || inside < 2 * TN))
        part(c + TN - before, before, word[WORDS - 1] >> (32 - 8 * before));
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

// nibbles returns (x & 0x0f0f0f0f) | (y & 0xf0f0f0f0), of which the compiler makes two LOP3.
static __device__ unsigned nibbles(unsigned x, unsigned y)
{
    unsigned both;
    asm("lop3.b32 %0, %1, %2, 0x0f0f0f0f, 0xe4;" : "=r"(both) : "r"(x), "r"(y));
    return both;
}

// Digits are what PRMT takes to look up the bytes of ROWS rows of B: of each row the bits 0
// to 2 and 4 to 6, and last the bits 3 and 7 of all. Words w and w + 1, for even w, have in
// their lower halves the digits of the lower and the upper halves of the words w and w + 1 of B.
template <int ROWS> struct Digits { unsigned of[ROWS + 1][2][WORDS]; };

template <int ROWS> static __device__ Digits<ROWS> digits(const unsigned (&rows)[3][WORDS])
{
    Digits<ROWS> s;
    #pragma unroll
    for (int w = 0; w < WORDS; w += 2) {
        unsigned fourth[2] = {};
        #pragma unroll
        for (int q = 0; q < ROWS; q++) {
            const unsigned x = rows[q][w], y = rows[q][w + 1];
            const unsigned halves[2] = {nibbles(x, y << 4), nibbles(x >> 4, y)};
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                s.of[q][half][w] = halves[half] & 0x77777777;
                s.of[q][half][w + 1] = s.of[q][half][w] >> 16;
                fourth[half] = fourth[half] >> 1 | (halves[half] & 0x88888888);
            }
        }
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            s.of[ROWS][half][w] = fourth[half] >> (4 - ROWS);
            s.of[ROWS][half][w + 1] = s.of[ROWS][half][w] >> 16;
        }
    }
    return s;
}

// add adds the products of the rows of B by TM elements of A each, whose tables are these.
template <int ROWS> static __device__ void add(unsigned (&sum)[TM][WORDS],
    const uint4 (&tables)[TM][4], const Digits<ROWS> &s)
{
    #pragma unroll
    for (int row = 0; row < TM; row++)
        #pragma unroll
        for (int q = 0; q <= ROWS; q++) {
            const uint4 t = tables[row][q < ROWS ? q : 3];
            #pragma unroll
            for (int w = 0; w < WORDS; w++)
                sum[row][w] ^= lookup(t.x, t.y, s.of[q][0][w]) ^ lookup(t.z, t.w, s.of[q][1][w]);
        }
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    const unsigned char *A, long long lda, const unsigned char *B, long long ldb,
    unsigned char *C, long long ldc)
{
    // Of three elements of a row of A: what each makes of the bits 0 to 2 (x, y) and 4 to 6
    // (z, w) of a byte; last, what all make of the bits 3 and of the bits 7 of three bytes.
    __shared__ uint4 tables[BK / 3][TM][4];

    // The first row of this block and the first column of this thread.
    const int tiles_m = (m + BM - 1) / BM;
    const int row0 = (int)blockIdx.x % tiles_m * BM;
    const long long col0 = (long long)((int)blockIdx.x / tiles_m) * BN + threadIdx.x * TN;

    // The columns of this thread and the next that lie inside of B and C: 32, but at the edge.
    const int inside = (int)min(max(n - col0, 0ll), 2ll * TN);

    // fetch reads three rows of B from p on, as far as B has them.
    unsigned now[3][WORDS] = {}, sum[TM][WORDS] = {};
    const unsigned char *b = B + col0;
    auto fetch = [&](int p) {
        if (inside >= (VB < 4 ? TN + 4 : TN)) {
            #pragma unroll
            for (int q = 0; q < 3; q++)
                if (p + q < k)
                    load(now[q], b + q * ldb);
        } else {
            #pragma unroll
            for (int q = 0; q < 3; q++)
                if (p + q < k)
                    load(now[q], b + q * ldb, min(inside, TN));
        }
        b += 3 * ldb;
    };
    fetch(0);

    for (int p0 = 0; p0 < k; p0 += BK) {
        // Barrier: all reads of the tables of the slice before are complete.
        __syncthreads();
        for (int e = threadIdx.x; e < BK / 3 * TM; e += THREADS) {
            const int set = e / TM, row = e % TM;
            unsigned fourth[2][3];
            #pragma unroll
            for (int q = 0; q < 3; q++) {
                const int p = p0 + 3 * set + q;
                unsigned power[8]; // of x, times the element
                power[0] = row0 + row < m && p < k ? A[(row0 + row) * lda + p] : 0;
                #pragma unroll
                for (int bit = 1; bit < 8; bit++)
                    power[bit] = power[bit - 1] << 1 ^ (power[bit - 1] >> 7) * 0x11d;
                const uint2 low = table(power[0], power[1], power[2]);
                const uint2 high = table(power[4], power[5], power[6]);
                tables[set][row][q] = make_uint4(low.x, low.y, high.x, high.y);
                fourth[0][q] = power[3];
                fourth[1][q] = power[7];
            }
            const uint2 low = table(fourth[0][0], fourth[0][1], fourth[0][2]);
            const uint2 high = table(fourth[1][0], fourth[1][1], fourth[1][2]);
            tables[set][row][3] = make_uint4(low.x, low.y, high.x, high.y);
        }
        // Barrier: all tables are complete.
        __syncthreads();

        const int depth = min(k - p0, BK);
        for (int set = 0; set < depth / 3; set++) {
            const Digits<3> s = digits<3>(now);
            fetch(p0 + 3 * set + 3);
            add(sum, tables[set], s);
        }
        if (depth % 3 == 2)
            add(sum, tables[depth / 3], digits<2>(now));
        else if (depth % 3 == 1)
            add(sum, tables[depth / 3], digits<1>(now));
    }

    #pragma unroll
    for (int row = 0; row < TM; row++)
        if (row0 + row < m) {
            unsigned word[WORDS];
            #pragma unroll
            for (int w = 0; w < WORDS; w += 2) {
                word[w] = __byte_perm(sum[row][w], sum[row][w + 1], 0x6420);
                word[w + 1] = __byte_perm(sum[row][w], sum[row][w + 1], 0x7531);
            }
            store(C + (row0 + row) * ldc + col0, inside, word);
        }
}
