// tf32-wmma: warp tiles computed by tensor cores, in TF32.
//
// Against warptile: a warp multiplies fragments of 16 x 8 elements of A and 8 x 16 of B by
// wmma instructions (compute capability 8.0) instead of single elements. The operands are
// rounded to TF32 (8 bits of exponent, 10 of mantissa) when they are read into registers;
// products are exact and sums are in single precision, so the error is about 2^-11 an
// operand, some three decimal digits where f32 has seven. The tile of A lies as in global
// memory, so it is copied in units of VA elements along k. Rows are lengthened by 4 elements
// in A and by 8 in B, which puts the words of a fragment in different banks.
// Which thread holds which element of a fragment is not specified: C goes through shared
// memory, 16 rows of a warp tile at a time.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of
// 4*STAGES*(BM*(BK + 4) + BK*(BN + 8)) bytes.
// With SPLIT: blockIdx.z computes the k indices from z*depth on, depth of them, and writes
// the sums as they are to partial, which holds one matrix of rows = m rows and n columns
// for each z; `reduce` adds them up. depth is a multiple of BK. VC then speaks of partial: n
// is a multiple of it.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/WM + 1/WN) elements a block and slice,
// m*n*k*(1/WM + 1/WN) in all.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 16
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef SWIZZLE
#define SWIZZLE 8
#endif
#ifndef VA
#define VA 4
#endif
#ifndef VB
#define VB 4
#endif
#ifndef VC
#define VC 4
#endif

#define THREADS (32 * (BM / WM) * (BN / WN))

// How many blocks a multiprocessor shall hold at once at least: the compiler keeps a thread
// within 65536/(BLOCKS*THREADS) registers.
#ifndef BLOCKS
#define BLOCKS (THREADS > 256 ? 1 : 256 / THREADS)
#endif

static_assert(BM % WM == 0 && BN % WN == 0, "a tile of C is a whole number of warp tiles");
static_assert(WM % 16 == 0 && WN % 16 == 0 && BK % 16 == 0,
    "a warp tile is a whole number of fragments, a slice an even number");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % (THREADS * VA) == 0 && THREADS * VA % BK == 0,
    "each thread copies the same number of units of A, from one column");
static_assert(BK * BN % (THREADS * VB) == 0 &&
    (BN % (THREADS * VB) == 0 || THREADS * VB % BN == 0),
    "each thread copies the same number of units of B, from one column or one row");
static_assert(STAGES >= 2, "one slice is copied while another is multiplied");
static_assert(THREADS / 32 * 16 * (WN + 4) <= STAGES * (BM * (BK + 4) + BK * (BN + 8)),
    "16 rows of C of each warp fit where the slices were");

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

// copy_async_a is copy_async4 for a unit of A; 16 bytes go past the L1 cache.
static __device__ void copy_async_a(unsigned to, const float *from, bool inside)
{
    if (VA == 4)
        asm volatile("{ .reg .pred outside; setp.eq.s32 outside, %2, 0;\n"
            "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, outside; }"
            :: "r"(to), "l"(from), "r"((int)inside));
    else
        asm volatile("{ .reg .pred outside; setp.eq.s32 outside, %2, 0;\n"
            "cp.async.ca.shared.global.L2::128B [%0], [%1], %3, outside; }"
            :: "r"(to), "l"(from), "r"((int)inside), "n"(4 * VA));
}

// copy_async_b is copy_async_a for a unit of B.
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

// round_tf32 rounds the bits of a float to the nearest TF32 number, ties away from zero.
static __device__ unsigned round_tf32(unsigned x)
{
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(x)));
    return rounded;
}

// load_fragment_a has the warp read 16 x 8 elements of A, row-major, rows ld elements apart.
static __device__ void load_fragment_a(unsigned (&a)[4], unsigned from, int ld)
{
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from), "r"(ld) : "memory");
}

// load_fragment_b has the warp read 8 x 16 elements of B.
static __device__ void load_fragment_b(unsigned (&b)[4], unsigned from, int ld)
{
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(from), "r"(ld) : "memory");
}

// multiply adds the product of two fragments to 16 x 16 sums.
static __device__ void multiply(float (&sum)[8], const unsigned (&a)[4], const unsigned (&b)[4])
{
    asm("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32\n"
        "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15},\n"
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]),
          "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),
          "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}

// store_fragment writes 16 x 16 sums to shared memory.
static __device__ void store_fragment(unsigned to, const float (&sum)[8], int ld)
{
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k8.shared.f32\n"
        "[%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;"
        :: "r"(to), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]),
           "f"(sum[4]), "f"(sum[5]), "f"(sum[6]), "f"(sum[7]), "r"(ld) : "memory");
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
    float beta, float *C, long long ldc
#ifdef SPLIT
    , int depth, float *partial, long long rows
#endif
    )
{
    // STAGES slices of A, then as many of B.
    extern __shared__ __align__(128) float shared[];
    constexpr int LD_A = BK + 4, SLICE_A = BM * LD_A;
    constexpr int LD_B = BN + 8, SLICE_B = BK * LD_B;

#ifdef SPLIT
    const long long begin = (long long)blockIdx.z * depth;
    A += begin;
    B += begin * ldb;
    k = begin >= k ? 0 : k - begin < depth ? (int)(k - begin) : depth;
    C = partial + blockIdx.z * rows * n;
    ldc = n;
    alpha = 1;
    beta = 0;
#endif

    // The tile of this block: groups of SWIZZLE rows of tiles, in a group column of tiles
    // after column of tiles.
    const int tiles_m = (m + BM - 1) / BM;
    const int tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int in_group = (int)blockIdx.x % (SWIZZLE * tiles_n);
    const int row0 = (group + in_group % height) * BM;
    const int col0 = in_group / height * BN;

    // The warp tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM;
    const int col = warp % (BN / WN) * WN;

    // What this thread copies of A: units along a row, PASS_A rows in a pass.
    constexpr int PASS_A = THREADS * VA / BK;
    const int a_row = threadIdx.x * VA / BK, a_col = threadIdx.x * VA % BK;
    const int a_rows = m - row0 - a_row;
    const float *a_from = A + (row0 + a_row) * lda + a_col;
    const unsigned a_to = shared_address(&shared[a_row * LD_A + a_col]);
    // And of B: units along a row, PASS_B elements in a pass.
    constexpr int PASS_B = THREADS * VB;
    const int b_row = threadIdx.x * VB / BN, b_col = threadIdx.x * VB % BN;
    const int b_cols = n - col0 - b_col;
    // If a unit lies across the edge of B, this block copies B by single elements.
    const bool b_ragged = VB > 1 && n % VB != 0 && n - col0 < BN;
    const float *b_from = B + b_row * ldb + col0 + b_col;
    const unsigned b_to = shared_address(&shared[STAGES * SLICE_A + b_row * LD_B + b_col]);

    // fetch starts the copies of the next slice, of which `rest` k indices are left;
    // beyond the edges of A and B it is 0.
    auto fetch = [&](int stage, int rest) {
        // If a unit lies across the edge of A, this slice of A is copied by single elements.
        if (VA > 1 && rest < BK && rest % VA != 0) {
            #pragma unroll 1
            for (int i = 0; i < BM; i += PASS_A)
                #pragma unroll
                for (int v = 0; v < VA; v++)
                    copy_async4(a_to + 4 * (stage * SLICE_A + i * LD_A + v),
                        a_from + i * lda + v, i < a_rows && v < rest - a_col);
        } else {
            #pragma unroll
            for (int i = 0; i < BM; i += PASS_A)
                copy_async_a(a_to + 4 * (stage * SLICE_A + i * LD_A), a_from + i * lda,
                    i < (a_col < rest ? a_rows : 0));
        }
        if (b_ragged) {
            #pragma unroll 1
            for (int e = 0; e < BK * BN; e += PASS_B) {
                const int p = e / BN, j = e % BN;
                #pragma unroll
                for (int v = 0; v < VB; v++)
                    copy_async4(b_to + 4 * (stage * SLICE_B + p * LD_B + j + v),
                        b_from + p * ldb + j + v, p < rest - b_row && j + v < b_cols);
            }
        } else {
            #pragma unroll
            for (int e = 0; e < BK * BN; e += PASS_B) {
                const int p = e / BN, j = e % BN;
                copy_async_b(b_to + 4 * (stage * SLICE_B + p * LD_B + j), b_from + p * ldb + j,
                    p < (j < b_cols ? rest - b_row : 0));
            }
        }
        a_from += BK;
        b_from += BK * ldb;
    };

    // Fragments for two steps of 8 k indices: one is read while the other is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto read = [&](int half, int stage, int p) {
        const unsigned as = shared_address(&shared[stage * SLICE_A + row * LD_A + p]);
        const unsigned bs = shared_address(
            &shared[STAGES * SLICE_A + stage * SLICE_B + p * LD_B + col]);
        #pragma unroll
        for (int x = 0; x < WM / 16; x++) {
            load_fragment_a(a[half][x], as + 4 * (16 * x * LD_A), LD_A);
            #pragma unroll
            for (int v = 0; v < 4; v++)
                a[half][x][v] = round_tf32(a[half][x][v]);
        }
        #pragma unroll
        for (int y = 0; y < WN / 16; y++) {
            load_fragment_b(b[half][y], bs + 4 * (16 * y), LD_B);
            #pragma unroll
            for (int v = 0; v < 4; v++)
                b[half][y][v] = round_tf32(b[half][y][v]);
        }
    };

    float sum[WM / 16][WN / 16][8] = {};

    // The first STAGES - 1 slices. A group without copies counts as one that has arrived.
    #pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s * BK < k)
            fetch(s, k - s * BK);
        commit();
    }
    wait();
    __syncthreads();
    read(0, 0, 0);

    int now = 0, free = STAGES - 1;
    for (int rest = k; rest > 0; rest -= BK) {
        #pragma unroll
        for (int p = 0; p < BK; p += 8) {
            if (p == BK - 8) {
                // The next slice has arrived: of this thread, and after the barrier of
                // all. And nobody will read the slice at hand any more: it is free.
                wait();
                __syncthreads();
                free = now;
                now = now + 1 < STAGES ? now + 1 : 0;
            }
            read((p / 8 + 1) % 2, now, (p + 8) % BK);
            if (p == 0) {
                if (rest > (STAGES - 1) * BK)
                    fetch(free, rest - (STAGES - 1) * BK);
                commit();
            }
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 16; y++)
                    multiply(sum[x][y], a[p / 8 % 2][x], b[p / 8 % 2][y]);
        }
    }

    // C, 16 rows of the warp tile at a time: the warp writes them to a place of its own where
    // the slices were, and reads them back in units along a row.
    __syncthreads();
    constexpr int LD_C = WN + 4;
    float *rows_c = &shared[warp * 16 * LD_C];
    #pragma unroll
    for (int x = 0; x < WM / 16; x++) {
        #pragma unroll
        for (int y = 0; y < WN / 16; y++)
            store_fragment(shared_address(rows_c + 16 * y), sum[x][y], LD_C);
        __syncwarp();
        #pragma unroll
        for (int e = lane * VC; e < 16 * WN; e += 32 * VC) {
            const int i = row0 + row + 16 * x + e / WN;
            const int j = col0 + col + e % WN;
            store_c(&C[i * ldc + j], i < m ? n - j : 0, alpha, &rows_c[e / WN * LD_C + e % WN],
                beta);
        }
        __syncwarp();
    }
}
