// rowstores: a warp stores neighbouring elements of C, also where C is not aligned.
//
// Against interleave: if C cannot be written in units of 4 elements, its rows go through shared
// memory, where the slices are done with. Before, a thread wrote its quads by single elements, 16
// bytes away from the quads of its neighbours, and an instruction of a warp touched four times as many
// sectors as it filled. Where C is aligned nothing changes.
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
#define BLOCKS (THREADS == 256 ? 2 : 1)
#endif

static_assert(BM % TM == 0 && BN % TN == 0, "a tile of C is a whole number of thread tiles");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read in units of 4 elements");
static_assert(BK % 8 == 0 && BM % (THREADS / 8) == 0,
    "each thread copies the same number of elements of A, 8 threads along k");
static_assert(BK * BN % (THREADS * VB) == 0 &&
    (BN % (THREADS * VB) == 0 || THREADS * VB % BN == 0),
    "each thread copies the same number of units of B, from one column or one row");
static_assert(32 % (BN / TN) == 0, "a warp is whole rows of threads");
static_assert(STAGES >= 2, "one slice is copied while another is multiplied");

struct alignas(4 * VC) UnitC { float x[VC]; };

// shared_address is the address within shared memory that cp.async wants.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// copy_async starts the copy of V elements to shared memory, of which the first `inside` (or
// more) lie inside; the others become 0. 16 bytes go past the L1 cache.
template <int V> static __device__ void copy_async(unsigned to, const float *from, int inside)
{
    const int bytes = inside >= V ? 4 * V : inside > 0 ? 4 * inside : 0;
    if (V == 4)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
            :: "r"(to), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %3, %2;"
            :: "r"(to), "l"(from), "r"(bytes), "n"(4 * V));
}

// advance moves a pointer on. The compiler does not see how, and so does not keep where all
// copies of a slice begin in registers of their own.
static __device__ void advance(const float *&from, long long bytes)
{
    asm volatile("add.s64 %0, %0, %1;" : "+l"(from) : "l"(bytes));
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
    // STAGES times a slice of A, transposed, and one of B. Rows of A are 4 elements longer
    // than the tile: the 4 x 8 elements that a warp copies then go to 32 banks.
    extern __shared__ __align__(16) float shared[];
    constexpr int LD_A = BM + 4, SLICE_A = BK * LD_A, SLICE = SLICE_A + BK * BN;

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
    constexpr int PASS_A = THREADS / 8, COPIES_A = BM / PASS_A * (BK / 8);
    const int a_row = threadIdx.x / 8, a_col = threadIdx.x % 8;
    const int a_rows = m - row0 - a_row;
    const float *a_from = A + (row0 + a_row) * lda + a_col;
    const unsigned a_to = shared_address(&shared[a_col * LD_A + a_row]);
    // And of B: units along a row, PASS_B elements in a pass.
    constexpr int PASS_B = THREADS * VB, COPIES_B = BK * BN / PASS_B;
    const int b_row = threadIdx.x * VB / BN, b_col = threadIdx.x * VB % BN;
    const int b_cols = n - col0 - b_col;
    const float *b_from = B + b_row * ldb + col0 + b_col;
    const unsigned b_to = shared_address(&shared[SLICE_A + b_row * BN + b_col]);

    // From one copy to the next, in bytes.
    const long long a_step = 4 * PASS_A * lda, a_back = 4 * (BK - (BM - PASS_A) * lda);
    const long long b_step = 4 * (PASS_B > BN ? PASS_B / BN : 1) * ldb;

    // copy starts copy c of the next slice, of which `rest` k indices are left, to the place at
    // an offset of `to` elements. Beyond the edges of A and B it is 0; inside says that all
    // lies within. The copies of a slice come in order: they move a_from and b_from on.
    constexpr int COPIES = COPIES_A + COPIES_B;
    auto copy = [&](int c, int to, int rest, bool inside) {
        if (c < COPIES_A) {
            const int i = c / (BK / 8) * PASS_A, p = c % (BK / 8) * 8;
            copy_async<1>(a_to + 4 * (to + p * LD_A + i), a_from + p,
                inside || i < a_rows && p < rest - a_col);
            if (p == BK - 8)
                advance(a_from, c == COPIES_A - 1 ? a_back : a_step);
        } else {
            const int e = (c - COPIES_A) * PASS_B, p = e / BN, j = e % BN;
            copy_async<VB>(b_to + 4 * (to + e), b_from + j,
                inside ? VB : p < rest - b_row ? b_cols - j : 0);
            if (j + PASS_B >= BN)
                advance(b_from, b_step);
        }
    };
    // fetch starts all of them.
    auto fetch = [&](int to, int rest) {
        #pragma unroll 1
        for (int c = 0; c < COPIES_A; c++)
            copy(c, to, rest, false);
        #pragma unroll 1
        for (int c = COPIES_A; c < COPIES; c++)
            copy(c, to, rest, false);
    };

    // Copies in each step of the first half of a slice.
    constexpr int PER_STEP = (COPIES + BK / 2 - 1) / (BK / 2);

    // Fragments for two k indices: one is read while the other is multiplied.
    alignas(16) float a[2][TM], b[2][TN];
    auto read = [&](int half, int slice, int p) {
        const float *as = &shared[slice + p * LD_A + row];
        const float *bs = &shared[slice + SLICE_A + p * BN + col];
        #pragma unroll
        for (int x = 0; x < TM; x += 4)
            *(float4 *)&a[half][x] = *(const float4 *)(as + x / 4 * STEP_M);
        #pragma unroll
        for (int y = 0; y < TN; y += 4)
            *(float4 *)&b[half][y] = *(const float4 *)(bs + y / 4 * STEP_N);
    };

    float sum[TM][TN] = {};

    // The first STAGES - 1 slices. A group without copies counts as one that has arrived.
    #pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++) {
        if (s * BK < k)
            fetch(s * SLICE, k - s * BK);
        commit();
    }
    wait();
    __syncthreads();
    read(0, 0, 0);

    // next goes on to the next slice. Barrier: all its copies are complete, and all reads of the slice at
    // hand, which is free.
    int now = 0, free = (STAGES - 1) * SLICE, rest = k;
    auto next = [&]() {
        commit();
        wait();
        __syncthreads();
        free = now;
        now = now < (STAGES - 1) * SLICE ? now + SLICE : 0;
        rest -= BK;
    };

    // slice multiplies the slice at hand and has another copied, which lies inside A and B or
    // of which that is not known.
    auto slice = [&](bool inside) {
        if (!inside && rest > (STAGES - 1) * BK)
            fetch(free, rest - (STAGES - 1) * BK);
        #pragma unroll
        for (int p = 0; p < BK; p++) {
            if (p == BK - 1)
                next();
            read((p + 1) % 2, now, (p + 1) % BK);
            if (inside) {
                #pragma unroll
                for (int c = p * PER_STEP; c < (p + 1) * PER_STEP; c++)
                    if (c < COPIES)
                        copy(c, free, rest, true);
            }
            #pragma unroll
            for (int y = 0; y < TN; y++)
                #pragma unroll
                for (int x = 0; x < TM; x++) {
                    const int z = (y + p) % 2 ? TM - 1 - x : x;
                    sum[z][y] += a[p % 2][z] * b[p % 2][y];
                }
        }
    };
    if (row0 + BM <= m && col0 + BN <= n)
        #pragma unroll 1
        while (rest >= STAGES * BK)
            slice(true);
    #pragma unroll 1
    while (rest > 0)
        slice(false);

    // C by way of shared memory: a warp writes rows of its tile to its own place in the memory of
    // the slices, and reads them back along a row.
    constexpr int LANES_N = BN / TN, LANES_M = 32 / LANES_N, LD_C = BN + 1;
    if (VC < 4 && THREADS / 32 * LANES_M * LD_C <= STAGES * SLICE) {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        __syncthreads();
        float *rows_c = &shared[warp * LANES_M * LD_C];
        float *mine = rows_c + lane / LANES_N * LD_C + col;
        #pragma unroll
        for (int x = 0; x < TM; x++) {
            #pragma unroll
            for (int y = 0; y < TN; y++)
                mine[y / 4 * STEP_N + y % 4] = sum[x][y];
            __syncwarp();
            #pragma unroll
            for (int e = lane * VC; e < LANES_M * BN; e += 32 * VC) {
                const int i = row0 + (warp * LANES_M + e / BN) * 4 + x / 4 * STEP_M + x % 4;
                const int j = col0 + e % BN;
                store_c(&C[i * ldc + j], i < m ? n - j : 0, alpha, &rows_c[e / BN * LD_C + e % BN],
                    beta);
            }
            __syncwarp();
        }
        return;
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
