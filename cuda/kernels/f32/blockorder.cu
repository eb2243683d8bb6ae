// blockorder: blocks that run at the same time compute neighbouring tiles.
//
// Against multistage: blocks are numbered in groups of SWIZZLE rows of tiles, and within a group
// column by column. Before, the blocks on the multiprocessors at one time made up a few long rows of
// tiles, and needed all of B; now they make up a rectangle, whose rows of A and columns of B stay in
// the L2 cache. It can gain only where the matrices do not fit into L2 and memory is waited for.
//
// Tile: a block of THREADS = (BM/TM)*(BN/TN) threads computes BM x BN elements of C;
// BM = BN = 64 is a block of 8 x 8 threads, BM = BN = 128 one of 16 x 16.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of
// 4*STAGES*BK*(BM + 4 + BN) bytes.
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
#ifndef STAGES
#define STAGES 3
#endif
#ifndef SWIZZLE
#define SWIZZLE 8
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
static_assert(STAGES >= 2, "one slice is copied while another is multiplied");

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

// commit closes the group of copies that this thread started since the last commit.
static __device__ void commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// wait returns when all groups of this thread but the STAGES - 2 youngest have arrived.
static __device__ void wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
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
    // STAGES slices of A, transposed, then as many of B. Rows of A are 4 elements longer
    // than the tile: the 4 x 8 elements that a warp copies then go to 32 banks.
    extern __shared__ __align__(16) float shared[];
    constexpr int LD_A = BM + 4, SLICE_A = BK * LD_A, SLICE_B = BK * BN;

    // The tile of this block: groups of SWIZZLE rows of tiles, in a group column of tiles
    // after column of tiles.
    const int tiles_m = (m + BM - 1) / BM;
    const int tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int in_group = (int)blockIdx.x % (SWIZZLE * tiles_n);
    const int row0 = (group + in_group % height) * BM;
    const int col0 = in_group / height * BN;

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
    const unsigned a_to = shared_address(&shared[a_col * LD_A + a_row]);
    // And of B: units along a row, PASS_B elements in a pass.
    constexpr int PASS_B = THREADS * VB;
    const int b_row = threadIdx.x * VB / BN, b_col = threadIdx.x * VB % BN;
    const int b_cols = n - col0 - b_col;
    // If a unit lies across the edge of B, this block copies B by single elements.
    const bool b_ragged = VB > 1 && n % VB != 0 && n - col0 < BN;
    const float *b_from = B + b_row * ldb + col0 + b_col;
    const unsigned b_to = shared_address(&shared[STAGES * SLICE_A + b_row * BN + b_col]);

    // fetch starts the copies of the next slice, of which `rest` k indices are left;
    // beyond the edges of A and B it is 0.
    auto fetch = [&](int stage, int rest) {
        #pragma unroll
        for (int i = 0; i < BM; i += PASS_A)
            #pragma unroll
            for (int p = 0; p < BK; p += 8)
                copy_async4(a_to + 4 * (stage * SLICE_A + p * LD_A + i),
                    a_from + i * lda + p, i < a_rows && p < rest - a_col);
        if (b_ragged) {
            #pragma unroll 1
            for (int e = 0; e < BK * BN; e += PASS_B) {
                const int p = e / BN, j = e % BN;
                #pragma unroll
                for (int v = 0; v < VB; v++)
                    copy_async4(b_to + 4 * (stage * SLICE_B + e + v), b_from + p * ldb + j + v,
                        p < rest - b_row && j + v < b_cols);
            }
        } else {
            #pragma unroll
            for (int e = 0; e < BK * BN; e += PASS_B) {
                const int p = e / BN, j = e % BN;
                copy_async_b(b_to + 4 * (stage * SLICE_B + e), b_from + p * ldb + j,
                    p < (j < b_cols ? rest - b_row : 0));
            }
        }
        a_from += BK;
        b_from += BK * ldb;
    };

    float sum[TM][TN] = {};

    // The first STAGES - 1 slices. A group without copies counts as one that has arrived.
    #pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s * BK < k)
            fetch(s, k - s * BK);
        commit();
    }

    int now = 0, free = STAGES - 1;
    for (int rest = k; rest > 0; rest -= BK) {
        // Barrier: all copies of this slice are complete, and all products of the slice before, whose
        // buffer is free.
        wait();
        __syncthreads();
        if (rest > (STAGES - 1) * BK)
            fetch(free, rest - (STAGES - 1) * BK);
        commit();

        const float *as = &shared[now * SLICE_A + row];
        const float *bs = &shared[STAGES * SLICE_A + now * SLICE_B + col];
        #pragma unroll 2
        for (int p = 0; p < BK; p++) {
            alignas(16) float a[TM], b[TN];
            #pragma unroll
            for (int x = 0; x < TM; x += 4)
                *(float4 *)&a[x] = *(const float4 *)(as + p * LD_A + x / 4 * STEP_M);
            #pragma unroll
            for (int y = 0; y < TN; y += 4)
                *(float4 *)&b[y] = *(const float4 *)(bs + p * BN + y / 4 * STEP_N);
            #pragma unroll
            for (int x = 0; x < TM; x++)
                #pragma unroll
                for (int y = 0; y < TN; y++)
                    sum[x][y] += a[x] * b[y];
        }

        free = now;
        now = now + 1 < STAGES ? now + 1 : 0;
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
