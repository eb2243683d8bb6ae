// tuned-tf32-mma: TF32 for use before compute capability 9.0.
//
// Against tf32-mma: the tensor cores get B's columns as their rows, and so compute C transposed: then a
// lane reads its part of 16 x 8 elements of A by one ldmatrix, and two neighbours of a row of B at once.
// Fragments are read one step ahead, and copies are spread over the products. CUT and PADDED serve
// products of few or ragged tiles.
// Rows are lengthened by 4 elements in A and by 8 in B, which puts the words of a fragment in
// different banks.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of
// 4*STAGES*(BM*(BK + 4) + BK*(BN + 8)) bytes.
// CUT: a block each has only the first `whole` tiles. The slices of the tiles after them stand in a row,
// `span` for each tile, and each block after the whole ones computes `each` of them. Slices beyond k are
// empty. Sums over a part of a tile's slices go to partial, where tile t and block b have place t + b,
// both counted after the whole ones. The block that comes to a tile last adds the parts in the order of
// k, so the result is the same in every run. arrived has an int for each cut tile, 0 before and after.
// PADDED: zeros extend the rows of A to a multiple of BM, and the columns of B to a multiple of BN,
// so no block is at an edge.
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
#ifndef PADDED
#define PADDED 0
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

// C is written in units of two elements at most.
#define UNIT_C (VC > 2 ? 2 : VC)

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

struct alignas(4 * UNIT_C) UnitC { float x[UNIT_C]; };

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

// round_tf32 rounds the bits of a float to the nearest TF32 number, ties away from zero: half
// a unit in its last place is added, and the tensor cores ignore what is behind that place.
// Infinity and NaN stay as they are.
static __device__ unsigned round_tf32(unsigned x)
{
    return fabsf(__uint_as_float(x)) < __int_as_float(0x7f800000) ? x + 0x1000 : x;
}

// load_fragments_a has the warp read 16 x 8 elements of A as two fragments: four matrices of
// 8 x 4 elements, of which lane l gives the address of a row and gets element (l/4, l%4) of each.
static __device__ void load_fragments_a(unsigned (&a)[4], unsigned from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from) : "memory");
}

// multiply adds the product of fragments to 16 x 8 sums.
static __device__ void multiply(float (&sum)[4], const unsigned (&b)[4], unsigned a0, unsigned a1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32\n"
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(a0), "r"(a1));
}

// store_c updates the unit of C at c, of which `inside` elements (or more) lie inside.
// beta == 0 must not read C: it may hold NaN.
static __device__ void store_c(float *c, int inside, float alpha, const float *sum, float beta)
{
    if (inside >= UNIT_C) {
        UnitC unit = {};
        if (beta != 0)
            unit = *(const UnitC *)c;
        #pragma unroll
        for (int v = 0; v < UNIT_C; v++)
            unit.x[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * unit.x[v];
        *(UnitC *)c = unit;
        return;
    }
    #pragma unroll
    for (int v = 0; v < UNIT_C; v++)
        if (v < inside)
            c[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * c[v];
}

#ifdef CUT
// add_parts writes a block's part of the sums of a cut tile t to their place. In the block that comes
// last it returns true, with the sums of all parts.
static __device__ __forceinline__ bool add_parts(float *sum, int t, int block, int span, int each,
    float *partial, int *arrived)
{
    constexpr int SUMS = BM * BN / THREADS; // of a thread; neighbouring threads have neighbouring places
    const int first = t * span / each, parts = ((t + 1) * span - 1) / each - first + 1;
    float *place = partial + (long long)(t + first) * SUMS * THREADS + threadIdx.x;
    #pragma unroll
    for (int e = 0; e < SUMS; e++)
        place[((block - first) * SUMS + e) * THREADS] = sum[e];
    __threadfence();
    __syncthreads();
    int last = 0;
    if (threadIdx.x == 0 && atomicAdd(&arrived[t], 1) == parts - 1) {
        arrived[t] = 0;
        last = 1;
    }
    if (!__syncthreads_or(last))
        return false;
    __threadfence();
    #pragma unroll
    for (int e = 0; e < SUMS; e++)
        sum[e] = 0;
    #pragma unroll 1
    for (int p = 0; p < parts; p++, place += SUMS * THREADS)
        #pragma unroll
        for (int e = 0; e < SUMS; e++)
            sum[e] += __ldcg(&place[e * THREADS]);
    return true;
}
#endif

// product computes a tile of C, or its sums over a part of k: over depth indices from `begin` on.
static __device__ __forceinline__ void product(int tile, int begin, int depth, int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc
#ifdef CUT
    , int whole, int span, int each, float *partial, int *arrived
#endif
    )
{
    // STAGES times a slice of A and one of B.
    extern __shared__ __align__(128) float shared[];
    constexpr int LD_A = BK + 4, SLICE_A = BM * LD_A;
    constexpr int LD_B = BN + 8, SLICE = SLICE_A + BK * LD_B;

    // The place of the tile: groups of SWIZZLE rows of tiles, in a group column of tiles
    // after column of tiles.
    const int tiles_m = (m + BM - 1) / BM;
    const int tiles_n = (n + BN - 1) / BN;
    const int group = tile / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int in_group = tile % (SWIZZLE * tiles_n);
    const int row0 = (group + in_group % height) * BM;
    const int col0 = in_group / height * BN;

    // The warp tile.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM;
    const int col = (warp + warp / (BN / WN)) % (BN / WN) * WN;

    // What this thread copies of A: units along a row, PASS_A rows in a pass.
    constexpr int PASS_A = THREADS * VA / BK, COPIES_A = BM / PASS_A;
    const int a_row = threadIdx.x * VA / BK, a_col = threadIdx.x * VA % BK;
    const int a_rows = m - row0 - a_row;
    const float *a_from = A + (row0 + a_row) * lda + begin + a_col;
    const unsigned a_to = shared_address(&shared[a_row * LD_A + a_col]);
    // And of B: units along a row, PASS_B elements in a pass.
    constexpr int PASS_B = THREADS * VB, COPIES_B = BK * BN / PASS_B;
    const int b_row = threadIdx.x * VB / BN, b_col = threadIdx.x * VB % BN;
    const int b_cols = n - col0 - b_col;
    const float *b_from = B + (begin + b_row) * ldb + col0 + b_col;
    const unsigned b_to = shared_address(&shared[SLICE_A + b_row * LD_B + b_col]);

    // From one copy to the next, in bytes.
    const long long a_step = 4 * PASS_A * lda, a_back = 4 * (BK - (BM - PASS_A) * lda);
    const long long b_step = 4 * (PASS_B > BN ? PASS_B / BN : 1) * ldb;

    // copy starts copy c of the next slice, of which `rest` k indices are left, to the place at
    // an offset of `to` elements. Beyond the edges of A and B it is 0; inside says that all
    // lies within. The copies of a slice come in order: they move a_from and b_from on.
    constexpr int COPIES = COPIES_A + COPIES_B;
    auto copy = [&](int c, int to, int rest, bool inside) {
        if (c < COPIES_A) {
            const int i = c * PASS_A;
            copy_async<VA>(a_to + 4 * (to + i * LD_A), a_from,
                inside ? VA : i < a_rows ? rest - a_col : 0);
            advance(a_from, c == COPIES_A - 1 ? a_back : a_step);
        } else {
            const int e = (c - COPIES_A) * PASS_B, p = e / BN, j = e % BN;
            copy_async<VB>(b_to + 4 * (to + p * LD_B + j), b_from + j,
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

    // Fragments for two steps of 8 k indices: one is read while the other is multiplied. The
    // tensor cores get B's columns as their rows: a lane holds columns 2*(lane/4) and the
    // next of 16, at k indices lane%4 and lane%4 + 4.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    const unsigned a_lane = shared_address(
        &shared[(row + lane / 16 * 8 + lane % 8) * LD_A + lane / 8 % 2 * 4]);
    const float *b_lane = &shared[SLICE_A + lane % 4 * LD_B + col + lane / 4 * 2];
    auto read = [&](int half, int slice, int p) {
        #pragma unroll
        for (int x = 0; x < WM / 16; x++)
            load_fragments_a(a[half][x], a_lane + 4 * slice + 4 * (p + 16 * x * LD_A));
        #pragma unroll
        for (int y = 0; y < WN / 16; y++)
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                const uint2 pair = *(const uint2 *)(b_lane + slice + (p + 4 * h) * LD_B + 16 * y);
                b[half][y][2 * h] = pair.x;
                b[half][y][2 * h + 1] = pair.y;
            }
    };
    auto round = [&](int half) {
        #pragma unroll
        for (int v = 0; v < 4; v++) {
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                a[half][x][v] = round_tf32(a[half][x][v]);
            #pragma unroll
            for (int y = 0; y < WN / 16; y++)
                b[half][y][v] = round_tf32(b[half][y][v]);
        }
    };

    float sum[WM / 8][WN / 16][4] = {};

    // The first STAGES - 1 slices. A group without copies counts as one that has arrived.
    #pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++) {
        if (s * BK < depth)
            fetch(s * SLICE, depth - s * BK);
        commit();
    }
    wait();
    __syncthreads();
    read(0, 0, 0);
    round(0);

    // next goes on to the next slice. Barrier: all its copies are complete, and all reads of the slice at
    // hand, which is free.
    int now = 0, free = (STAGES - 1) * SLICE, rest = depth;
    auto next = [&]() {
        commit();
        wait();
        __syncthreads();
        free = now;
        now = now < (STAGES - 1) * SLICE ? now + SLICE : 0;
        rest -= BK;
    };

    // slice multiplies the slice at hand and has another copied, which lies inside A and B or
    // of which that is not known: then at once, else spread over the rows of fragments.
    // A warp that is idle has nothing inside C: it copies, and comes to the same barrier as the
    // others, as __syncthreads wants it.
    constexpr int ROWS = WM / 16, PER_ROW = (COPIES - 1) / ((BK / 8 - 1) * ROWS) + 1;
    auto slice = [&](bool inside, bool idle) {
        if (!inside && rest > (STAGES - 1) * BK)
            fetch(free, rest - (STAGES - 1) * BK);
        #pragma unroll
        for (int p = 0; p < BK; p += 8) {
            const int half = p / 8 % 2;
            if (p == BK - 8)
                next();
            read(1 - half, now, (p + 8) % BK);
            if (idle)
                continue;
            #pragma unroll
            for (int x = 0; x < ROWS; x++) {
                #pragma unroll
                for (int y = 0; y < WN / 16; y++)
                    #pragma unroll
                    for (int h = 0; h < 2; h++)
                        multiply(sum[2 * x + h][y], b[half][y],
                            a[half][x][2 * h], a[half][x][2 * h + 1]);
                if (inside) {
                    const int first = (p / 8 * ROWS + x) * PER_ROW;
                    #pragma unroll
                    for (int c = first; c < first + PER_ROW; c++)
                        if (c < COPIES)
                            copy(c, free, rest, true);
                }
            }
            round(1 - half);
        }
    };
    if (PADDED || row0 + BM <= m && col0 + BN <= n)
        #pragma unroll 1
        while (rest >= STAGES * BK)
            slice(true, false);
    const bool idle = row0 + row >= m || col0 + col >= n;
    #pragma unroll 1
    while (rest > 0)
        slice(false, idle);

#ifdef CUT
    const bool cut = begin > 0 || depth < k;
    if (cut && !add_parts(&sum[0][0][0], tile - whole, (int)blockIdx.x - whole, span, each, partial, arrived))
        return;
#endif

    // C: a lane has two neighbouring elements of rows 2*(lane%4) and the next of each 8 x 16.
    #pragma unroll
    for (int x = 0; x < WM / 8; x++)
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            const int i = row0 + row + 8 * x + lane % 4 * 2 + h;
            #pragma unroll
            for (int y = 0; y < WN / 16; y++) {
                const float pair[2] = {sum[x][y][h], sum[x][y][2 + h]};
                const int j = col0 + col + 16 * y + lane / 4 * 2;
                #pragma unroll
                for (int e = 0; e < 2; e += UNIT_C)
                    store_c(&C[i * ldc + j + e], i < m ? n - j - e : 0, alpha, &pair[e], beta);
            }
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm(int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc
#ifdef CUT
    , int whole, int span, int each, float *partial, int *arrived
#endif
    )
{
#ifdef CUT
    int tile = blockIdx.x, first = 0, left = span; // slices of this block, from `first` of the tile on
    if (tile >= whole) {
        const int at = (tile - whole) * each;
        const int all = (((m + BM - 1) / BM) * ((n + BN - 1) / BN) - whole) * span;
        left = all - at < each ? all - at : each;
        tile = whole + at / span;
        first = at % span;
    }
    for (; left > 0; tile++, first = 0) {
        const int slices = left < span - first ? left : span - first;
        left -= slices;
        const int depth = slices * BK < k - first * BK ? slices * BK : k - first * BK;
        product(tile, first * BK, depth, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc,
            whole, span, each, partial, arrived);
        if (left > 0)
            __syncthreads();
    }
#else
    product(blockIdx.x, 0, k, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
#endif
}
