// word: a thread reads, multiplies and writes 4, 8 or 16 bytes as words.
//
// Against tiled: a thread has TN neighbouring elements of C, packed four to a word. One instruction
// reads or writes up to 16 bytes of B and C in place of one, and each step of the product by a byte
// of A doubles and adds four elements at once. VB and VC are the bytes of a copy of B and C: 16, 8,
// 4, 2 or 1, as alignment and leading dimension permit. VA has no meaning here.
//
// Tile: a block of rows*cols/TN threads computes rows x cols elements of C.
// Launch: ceil(m/rows) * ceil(n/cols) blocks; dynamic shared memory of rows*depth bytes, up
// to the next multiple of 16, and depth*cols.
// Global reads of A and B: m*n*k*(1/rows + 1/cols) bytes.
// Shared reads: rows*cols*depth*(1 + 1/TN) bytes a block and slice.

#ifndef TN
#define TN 16
#endif
#ifndef VB
#define VB 16
#endif
#ifndef VC
#define VC 16
#endif

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

extern "C" __global__ void __launch_bounds__(1024) gemm(int m, int n, int k,
    const unsigned char *A, long long lda, const unsigned char *B, long long ldb,
    unsigned char *C, long long ldc, int rows, int cols, int depth)
{
    extern __shared__ uint4 shared[];
    unsigned char *As = (unsigned char *)shared;              // [rows][depth]
    Word *Bs = (Word *)(shared + (rows * depth + 15) / 16);   // [depth][words]

    // The word of this thread: neighbours in a warp are neighbours in a row.
    const int tiles_m = (m + rows - 1) / rows, words = cols / TN;
    const int row = threadIdx.x / words, col = threadIdx.x % words;
    const int i = (int)blockIdx.x % tiles_m * rows + row;
    const long long j = (long long)((int)blockIdx.x / tiles_m) * cols + col * TN;

    Word sum = {};

    for (int p0 = 0; p0 < k; p0 += depth) {
        // A row of threads copies a row of A's slice, a column of threads a column of words
        // of B's; beyond the edges of A and B they are 0.
        for (int p = col; p < depth; p += words)
            As[row * depth + p] = i < m && p0 + p < k ? A[i * lda + p0 + p] : 0;
        for (int p = row; p < depth; p += rows)
            Bs[p * words + col] = load(B + (p0 + p) * ldb + j, p0 + p < k ? n - j : 0);
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll 2
        for (int p = 0; p < depth; p++) {
            const unsigned a = As[row * depth + p];
            const Word b = Bs[p * words + col];
            Word product = {};
            #pragma unroll
            for (int bit = 7; bit >= 0; bit--)
                #pragma unroll
                for (int w = 0; w < TN / 4; w++)
                    product.x[w] = twice(product.x[w]) ^ (b.x[w] & -(a >> bit & 1));
            #pragma unroll
            for (int w = 0; w < TN / 4; w++)
                sum.x[w] ^= product.x[w];
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    if (i < m)
        store(C + i * ldc + j, n - j, sum);
}
