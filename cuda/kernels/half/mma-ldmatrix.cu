// mma-ldmatrix: fragments are read by ldmatrix, B's transposed on the way.
//
// Against mma-smem: one instruction reads four matrices of 8 x 8 elements. Each lane gives the address of a row of
// 16 bytes, and gets the elements that mma wants of it. It can transpose them, so B's slice lies as in memory, and
// its copies do not meet in a bank. Rows of both slices are 16 bytes longer than they need: the 8 rows of a matrix
// lie in different banks.
// Types: elements are f16, or bf16 with BF16. Products are exact, sums are in f32, and C is rounded once.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 2*(BM*(BK + 8) + BK*(BN + 8)) bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/WM + 1/WN) elements a block and slice.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 32
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif

#ifdef BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

#define THREADS (32 * (BM / WM) * (BN / WN))

static_assert(BM % WM == 0 && BN % WN == 0, "a tile of C is a whole number of warp tiles");
static_assert(WM % 16 == 0 && WN % 16 == 0 && BK % 16 == 0, "fragments are 16 x 16");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
    "each thread copies the same number of elements");
static_assert(2 * (BM * (BK + 8) + BK * (BN + 8)) <= 48 * 1024, "static shared memory ends at 48 KiB");

// shared_address is the address within shared memory that copies and ldmatrix want.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// load_matrices reads four matrices of 8 x 8 elements from shared memory, whose rows lanes 0 to 7, 8 to 15, and
// so on give. A lane gets two elements of row lane/4, or of column lane/4 if they are transposed.
template <int TRANSPOSED> static __device__ void load_matrices(unsigned (&x)[4], unsigned row)
{
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
}

// multiply adds the product of 16 x 16 and 16 x 8 elements to the sums of a warp.
static __device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
        " {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// pack rounds two numbers to nearest even. The first is in the low half.
static __device__ unsigned pack(float x, float y)
{
    unsigned pair;
    asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

// widen returns the element as a float.
static __device__ float widen(unsigned x)
{
#ifdef BF16
    return __uint_as_float(x << 16);
#else
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"((unsigned short)x));
    return y;
#endif
}

// store sets two neighbouring elements of C, of which `left` exist, to beta*C + (x, y), rounded once. Both are
// copied at once if the address permits. beta == 0 must not read C: it may hold NaN.
static __device__ void store(unsigned short *c, int left, float x, float y, float beta)
{
    if (left > 1 && (unsigned long long)c % 4 == 0) {
        if (beta != 0) {
            const unsigned pair = *(const unsigned *)c;
            x += beta * widen(pair & 0xffff);
            y += beta * widen(pair >> 16);
        }
        *(unsigned *)c = pack(x, y);
        return;
    }
    if (left > 0)
        c[0] = (unsigned short)pack(beta == 0 ? x : x + beta * widen(c[0]), 0);
    if (left > 1)
        c[1] = (unsigned short)pack(beta == 0 ? y : y + beta * widen(c[1]), 0);
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k, float alpha,
    const unsigned short *A, long long lda, const unsigned short *B, long long ldb,
    float beta, unsigned short *C, long long ldc)
{
    __shared__ __align__(16) unsigned short As[BM][BK + 8];
    __shared__ __align__(16) unsigned short Bs[BK][BN + 8];

    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;

    // The rows of matrices that a lane gives to ldmatrix: k indices 8 to 15 of A and columns 8 to 15 of B come last.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int low = lane % 8, middle = lane / 8 % 2 * 8, high = lane / 16 * 8;
    const unsigned a_lane = shared_address(&As[warp_row + middle + low][high]);
    const unsigned b_lane = shared_address(&Bs[middle + low][warp_col + high]);

    unsigned a[WM / 16][4], b[WN / 16][4];
    float sum[WM / 16][WN / 8][4] = {};
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
        for (int p = 0; p < BK; p += 16) {
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                load_matrices<0>(a[x], a_lane + 2 * (16 * x * (BK + 8) + p));
            #pragma unroll
            for (int y = 0; y < WN / 16; y++)
                load_matrices<1>(b[y], b_lane + 2 * (p * (BN + 8) + 16 * y));
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 8; y++)
                    multiply(sum[x][y], a[x], b[y / 2][y % 2 * 2], b[y / 2][y % 2 * 2 + 1]);
        }
        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    // C: a lane has columns 2*(lane%4) and the next of each 8, and rows lane/4 and 8 further on of each 16.
    #pragma unroll
    for (int x = 0; x < WM / 8; x++) {
        const int i = row0 + warp_row + 8 * x + lane / 4;
        #pragma unroll
        for (int y = 0; y < WN / 8; y++) {
            const float *d = &sum[x / 2][y][x % 2 * 2];
            const int j = col0 + warp_col + 8 * y + lane % 4 * 2, left = i < m ? n - j : 0;
            store(C + i * ldc + j, left, alpha * d[0], alpha * d[1], beta);
        }
    }
}
