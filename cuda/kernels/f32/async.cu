// async: slices are copied from global to shared memory without registers.
//
// Against doublebuffer: cp.async (compute capability 8.0) copies in the background, so the slice on
// its way needs no registers, and a thread has no store to wait for before it can go on. It waits for
// its own copies when it has multiplied, and the barrier waits for the copies of the others. The tile of A
// is still transposed: its elements are copied one by one to their places, BM*BK/THREADS copies of 4
// bytes per thread. The alternative is 16-byte copies of A without a transpose, and fragments of 4
// columns at once. It saves three of four of these copies (1 % of the instructions at 128 x 128 x 8),
// but holds TM*4 registers of A in place of TM, and works only if the rows of A are aligned. VA has
// no meaning here.
//
// Tile: a block of THREADS = (BM/TM)*(BN/TN) threads computes BM x BN elements of C;
// BM = BN = 64 is a block of 8 x 8 threads, BM = BN = 128 one of 16 x 16.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 8*BK*(BM + 4 + BN) bytes of shared memory.
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
#ifndef VB
#define VB 4
#endif
#ifndef VC
#define VC 4
#endif

#define THREADS ((BM / TM) * (BN / TN))

// How many blocks a multiprocessor shall hold at once at least: the compiler keeps a thread
// within 65536/(BLOCKS*THREADS) registers.
#ifndef BLOCKS
#define BLOCKS 1
#endif

static_assert(BM % TM == 0 && BN % TN == 0, "a tile of C is a whole number of thread tiles");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read in units of 4 elements");
static_assert(BK % 8 == 0 && BM % (THREADS / 8) == 0,
    "each thread copies the same number of elements of A, 8 threads along k");
static_assert(BK * BN % (THREADS * VB) == 0 &&
    (BN % (THREADS * VB) == 0 || THREADS * VB % BN == 0),
    "each thread copies the same number of units of B, from one column or one row");
static_assert(8 * BK * (BM + 4 + BN) <= 48 * 1024, "static shared memory ends at 48 KiB");

struct alignas(4 * VC) UnitC { float x[VC]; };

// shared_address is the address within shared memory that cp.async wants.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// copy_async4 starts the copy of one element to shared memory: 0 if it is not inside.
static __device__ void copy_async4(unsigned to, const float *from, bool inside)
{
    asm volatile("{ .reg .pred outside; setp.eq.s32 outside, %2, 0;\n"
        "cp.async.ca.shared.global.L2::128B [%0], [%1], 4, outside; }"
        :: "r"(to), "l"(from), "r"((int)inside));
}

// copy_async_b is copy_async4 for a unit of B; 16 bytes go past the L1 cache.
static __device__ void copy_async_b(unsigned to, const float *from, bool inside)
{
    if (VB == 4)
        asm volatile("{ .reg .pred outside; setp.eq.s32 outside, %2, 0;\n"
            "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, outside; }"
            :: "r"(to), "l"(from), "r"((int)inside));
    else
        asm volatile("{ .reg .pred outside; setp.eq.s32 outside, %2, 0;\n"
            "cp.async.ca.shared.global.L2::128B [%0], [%1], %3, outside; }"
            :: "r"(to), "l"(from), "r"((int)inside), "n"(4 * VB));
}

// wait returns when all copies of this thread have arrived.
static __device__ void wait()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// store_c updates the unit of C at c, of which `inside` elements (or more) lie inside.
// beta == 0 must not read C: it may hold NaN.
static __device__ void store_c(float *c, int inside, float alpha, const float *sum, float beta)
{
    if (inside >= VC) {
        UnitC unit = {};
        if (beta != 0)
            unit = *(const UnitC *)c;
        #pragma unroll
        for (int v = 0; v < VC; v++)
            unit.x[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * unit.x[v];
        *(UnitC *)c = unit;
        return;
    }
    #pragma unroll
    for (int v = 0; v < VC; v++)
        if (v < inside)
            c[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * c[v];
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm(int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc)
{
    // Rows of A are 4 elements longer than the tile: the 4 x 8 elements that a warp copies then
    // go to 32 banks.
    alignas(16) __shared__ float As[2][BK][BM + 4];
    alignas(16) __shared__ float Bs[2][BK][BN];

    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;

    // The first quad of this thread: neighbours in a warp are neighbours in a row.
    const int row = threadIdx.x / (BN / TN) * 4;
    const int col = threadIdx.x % (BN / TN) * 4;
    // From one quad of a thread to the next.
    constexpr int STEP_M = BM / (TM / 4);
    constexpr int STEP_N = BN / (TN / 4);

    // What this thread copies of A: 8 threads take 8 elements of a row, 32 bytes, at once,
    // PASS_A rows in a pass.
    constexpr int PASS_A = THREADS / 8;
    const int a_row = threadIdx.x / 8, a_col = threadIdx.x % 8;
    const int a_rows = m - row0 - a_row;
    const float *a_from = A + (row0 + a_row) * lda + a_col;
    // And of B: units along a row, PASS_B elements in a pass.
    constexpr int PASS_B = THREADS * VB;
    const int b_row = threadIdx.x * VB / BN, b_col = threadIdx.x * VB % BN;
    const int b_cols = n - col0 - b_col;
    // If a unit lies across the edge of B, this block copies B by single elements.
    const bool b_ragged = VB > 1 && n % VB != 0 && n - col0 < BN;
    const float *b_from = B + b_row * ldb + col0 + b_col;

    // fetch starts the copies of the next slice, of which `rest` k indices are left;
    // beyond the edges of A and B it is 0.
    auto fetch = [&](int buffer, int rest) {
        const unsigned a_to = shared_address(&As[buffer][a_col][a_row]);
        const unsigned b_to = shared_address(&Bs[buffer][b_row][b_col]);
        #pragma unroll
        for (int i = 0; i < BM; i += PASS_A)
            #pragma unroll
            for (int p = 0; p < BK; p += 8)
                copy_async4(a_to + 4 * (p * (BM + 4) + i), a_from + i * lda + p,
                    i < a_rows && p < rest - a_col);
        if (b_ragged) {
            #pragma unroll 1
            for (int e = 0; e < BK * BN; e += PASS_B) {
                const int p = e / BN, j = e % BN;
                #pragma unroll
                for (int v = 0; v < VB; v++)
                    copy_async4(b_to + 4 * (e + v), b_from + p * ldb + j + v,
                        p < rest - b_row && j + v < b_cols);
            }
        } else {
            #pragma unroll
            for (int e = 0; e < BK * BN; e += PASS_B) {
                const int p = e / BN, j = e % BN;
                copy_async_b(b_to + 4 * e, b_from + p * ldb + j,
                    p < (j < b_cols ? rest - b_row : 0));
            }
        }
        a_from += BK;
        b_from += BK * ldb;
    };

    float sum[TM][TN] = {};

    fetch(0, k);
    wait();
    // Barrier: all copies are complete.
    __syncthreads();

    int now = 0;
    for (int rest = k; rest > 0; rest -= BK) {
        const bool more = rest > BK;
        if (more)
            fetch(now ^ 1, rest - BK);

        #pragma unroll 2
        for (int p = 0; p < BK; p++) {
            alignas(16) float a[TM], b[TN];
            #pragma unroll
            for (int x = 0; x < TM; x += 4)
                *(float4 *)&a[x] = *(const float4 *)&As[now][p][row + x / 4 * STEP_M];
            #pragma unroll
            for (int y = 0; y < TN; y += 4)
                *(float4 *)&b[y] = *(const float4 *)&Bs[now][p][col + y / 4 * STEP_N];
            #pragma unroll
            for (int x = 0; x < TM; x++)
                #pragma unroll
                for (int y = 0; y < TN; y++)
                    sum[x][y] += a[x] * b[y];
        }

        // The other buffer was multiplied before the last barrier: it was free.
        if (more) {
            wait();
            __syncthreads();
            now ^= 1;
        }
    }

    // The elements from the first of this thread to the edges of C.
    const int c_rows = m - row0 - row, c_cols = n - col0 - col;
    float *c = C + (row0 + row) * ldc + col0 + col;
    #pragma unroll
    for (int x = 0; x < TM; x++) {
        const int i = x / 4 * STEP_M + x % 4;
        #pragma unroll
        for (int y = 0; y < TN; y += VC) {
            const int j = y / 4 * STEP_N + y % 4;
            store_c(c + i * ldc + j, i < c_rows ? c_cols - j : 0, alpha, &sum[x][y], beta);
        }
    }
}
