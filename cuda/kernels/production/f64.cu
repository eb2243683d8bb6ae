// tuned: double precision for use, on the tensor cores.
//
//  - mma.sync instead of wmma: its larger shapes (16×8×4, 16×8×8, 16×8×16;
//    compute capability 9.0) keep the tensor cores of such a chip busy, which
//    8×8×4, all that 8.x has, cannot. The instruction documents which lane
//    holds which element, so fragments are plain loads from shared memory and
//    results are stored from registers.
//  - Fragments are double-buffered in registers: while the warp multiplies
//    one row of fragments of A with all of B's, the next is on its way. That
//    goes on across the end of a slice: the barrier stands before the last
//    row of multiplications, whose operands are in registers already, so
//    that the tensor cores work while the warps meet and load again.
//  - The block's tile is larger, so that less comes from L2 and from shared
//    memory for a multiply-add. Its copies are spread over the slice, each
//    behind an mma, so that their address arithmetic fills the time it takes.
//  - SWIZZLE tile rows walk along the columns together: the blocks that run at
//    one time cover a compact part of C and share panels of A and B in L2.
//  - With CUT, only the first `whole` tiles have a block each: the others
//    would not fill the chip. Their slices stand in a row, `span` for each
//    tile (those beyond k are empty), and each further block computes `each`
//    of them. Sums over a part of a tile's slices go to partial, where tile t
//    and block b have place t + b, both counted after the whole ones. The
//    block that comes to a tile last adds its parts in the order of k: the
//    result does not depend on which block that is. arrived has an int for
//    each cut tile, 0 before and after.
//
// Tile:    BM×BN elements of C a block, WM×WN a warp.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = 32·(BM/WM)·(BN/WN) threads;
//          with CUT whole + ceil((tiles - whole)·span/each).
// Shared:  STAGES·(BM·(BK + 4) + BK·(BN + 4)) doubles, dynamic: 112128 bytes
//          by default (8.6 and 8.9 have 99 KiB: there 2 stages).
// Needs:   compute capability 8.0 for MMA_K = 4, 9.0 for 8 and 16.
// Banks:   a half-warp reads 4 rows by 4 columns of a fragment, that is
//          elements 0..3 of 4 consecutive rows of a slice. A row's stride is 4
//          or 12 modulo 16 doubles (the 32 banks): the 16 lanes cover all banks.
// Traffic: global reads m·n·k·(1/BM + 1/BN) (equations 11, 12); shared reads
//          of a block and slice BM·BN·BK·(1/WM + 1/WN) (equations 14, 15 with
//          the tile of a warp: its lanes share what they load). One barrier
//          a slice.

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
#define WN 32
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef VA
#define VA 2
#endif
#ifndef VB
#define VB 2
#endif
#ifndef VC
#define VC 2
#endif
#ifndef MMA_K
#if __CUDA_ARCH__ >= 900
#define MMA_K 16
#else
#define MMA_K 4
#endif
#endif
#ifndef SWIZZLE
#define SWIZZLE 8
#endif
#define THREADS (32 * (BM / WM) * (BN / WN))

// The least number of blocks that a multiprocessor shall hold at once: the compiler
// keeps a thread within 65536/(BLOCKS·THREADS) registers.
#ifndef BLOCKS
#define BLOCKS (THREADS > 128 ? 1 : (BM * BN / THREADS > 32 ? 256 : 384) / THREADS)
#endif

// One mma multiplies mma_m×MMA_K by MMA_K×8; each lane holds that part of them:
#if __CUDA_ARCH__ >= 900
constexpr int mma_m = 16;
#else
constexpr int mma_m = 8;
#endif
constexpr int a_part = mma_m * MMA_K / 32;
constexpr int b_part = MMA_K * 8 / 32;
constexpr int c_part = mma_m * 8 / 32;

constexpr int a_stride = BK + 4; // of a row of a slice in shared memory
constexpr int b_stride = BN + 4;
constexpr int a_size = BM * a_stride; // of a slice
constexpr int b_size = BK * b_stride;
constexpr int a_copies = BM * BK / (VA * THREADS); // copies a thread and slice
constexpr int b_copies = BK * BN / (VB * THREADS);
constexpr int a_apart = THREADS / (BK / VA); // rows between two copies of a thread
constexpr int b_apart = THREADS / (BN / VB);
constexpr int a_tiles = WM / mma_m; // fragments of a warp's tile
constexpr int b_tiles = WN / 8;
constexpr int steps = BK / MMA_K * a_tiles; // rows of fragments in a slice
constexpr int copies = a_copies + b_copies; // spread over the mma of all steps but the last
constexpr int copies_an_mma = (copies - 1) / ((steps - 1) * b_tiles) + 1;

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's");
static_assert(MMA_K == 4 || (mma_m == 16 && (MMA_K == 8 || MMA_K == 16)), "the shapes of mma");
static_assert(WM % mma_m == 0 && WN % 8 == 0 && BK % MMA_K == 0, "mma multiplies whole fragments");
static_assert(steps % 2 == 0, "the next slice begins with the same buffer of registers");
static_assert(BK % 8 == 0 && BN % 8 == 0, "a stride of 4 or 12 modulo the 16 doubles of the banks");
static_assert(BM * BK % (VA * THREADS) == 0 && BK * BN % (VB * THREADS) == 0,
    "every thread copies equally many elements");
static_assert(THREADS % (BK / VA) == 0 && THREADS % (BN / VB) == 0,
    "all copies of a thread lie in the same columns of a slice");
static_assert(STAGES >= 2 && SWIZZLE >= 1, "one slice is copied while another is read");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");

// copy_async starts a copy of width elements to shared memory, of which
// inside (it may be negative) lie inside the matrix; the others become 0.
__device__ __forceinline__ void copy_async(double *to, const double *from, int width, int inside)
{
    const unsigned address = __cvta_generic_to_shared(to);
    const int bytes = 8 * max(0, min(inside, width));
    if (width == 2)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
            :: "r"(address), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
            :: "r"(address), "l"(from), "r"(bytes) : "memory");
}

// copy_commit closes a group of copies: a slice.
__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// copy_wait waits until at most STAGES - 2 groups of this thread are on their way.
__device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
}

// copy_drain waits for all copies of this thread.
__device__ __forceinline__ void copy_drain()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// load_a loads this lane's part of a fragment of A: lane 4g + t holds rows g and
// g + 8 (the latter with mma_m = 16 only) and columns t, t + 4, t + 8, t + 12.
// from is the fragment's element (g, t).
__device__ __forceinline__ void load_a(double (&a)[a_part], const double *from)
{
    #pragma unroll
    for (int r = 0; r < a_part; r++)
        a[r] = from[r % (mma_m / 8) * 8 * a_stride + r / (mma_m / 8) * 4];
}

// load_b loads this lane's part of a fragment of B: column g and rows t, t + 4,
// t + 8, t + 12. from is the fragment's element (t, g).
__device__ __forceinline__ void load_b(double (&b)[b_part], const double *from)
{
    #pragma unroll
    for (int r = 0; r < b_part; r++)
        b[r] = from[r * 4 * b_stride];
}

// mma adds the product of two fragments to an accumulator, of which a lane
// holds rows g and g + 8 (the latter with mma_m = 16 only), columns 2t and 2t + 1.
__device__ __forceinline__ void mma(double (&c)[c_part], const double (&a)[a_part],
    const double (&b)[b_part])
{
#if __CUDA_ARCH__ < 900
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
#elif MMA_K == 4
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#elif MMA_K == 8
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
}

// copy_a starts copy number c of this thread, of a slice of A. to and from are
// the places of its copy number 0, rows and ks what is left of m and k there. A
// copy of nothing gets the address outside, so that each lies inside the matrix.
__device__ __forceinline__ void copy_a(int c, double *to, const double *from, long long lda,
    int rows, int ks, const double *outside)
{
    const int inside = c * a_apart < rows ? ks : 0;
    from += c * a_apart * lda;
    copy_async(to + c * a_apart * a_stride, inside > 0 ? from : outside, VA, inside);
}

// copy_b does the same for a slice of B.
__device__ __forceinline__ void copy_b(int c, double *to, const double *from, long long ldb,
    int cols, int ks, const double *outside)
{
    const int inside = c * b_apart < ks ? cols : 0;
    from += c * b_apart * ldb;
    copy_async(to + c * b_apart * b_stride, inside > 0 ? from : outside, VB, inside);
}

// store sets width elements of C, of which inside lie inside the matrix.
__device__ __forceinline__ void store(double *to, const double *sum, int width, int inside,
    double alpha, double beta)
{
    if (width == 2 && inside >= 2) {
        double2 pair = {alpha * sum[0], alpha * sum[1]};
        if (beta != 0) {
            const double2 old = *reinterpret_cast<const double2 *>(to);
            pair.x += beta * old.x;
            pair.y += beta * old.y;
        }
        *reinterpret_cast<double2 *>(to) = pair;
    } else {
        #pragma unroll
        for (int e = 0; e < width; e++)
            if (e < inside)
                to[e] = beta == 0 ? alpha * sum[e] : alpha * sum[e] + beta * to[e];
    }
}

#ifdef CUT
// add_parts writes the block's part of the sums of cut tile t to their place. In the
// block that comes last it returns true, with the sums of all parts.
__device__ bool add_parts(double (&sum)[a_tiles][b_tiles][c_part], int t, int block,
    int span, int each, double *partial, int *arrived)
{
    constexpr int units = a_tiles * b_tiles * c_part / 2;
    double *const mine = &sum[0][0][0];
    const int begin = t * span / each, parts = ((t + 1) * span - 1) / each - begin + 1;
    double2 *place = reinterpret_cast<double2 *>(partial)
        + (long long)(t + begin) * units * THREADS + threadIdx.x;
    #pragma unroll
    for (int u = 0; u < units; u++)
        place[((block - begin) * units + u) * THREADS] = make_double2(mine[2 * u], mine[2 * u + 1]);
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
    for (int e = 0; e < 2 * units; e++)
        mine[e] = 0;
    #pragma unroll 1
    for (int p = 0; p < parts; p++, place += units * THREADS)
        #pragma unroll
        for (int u = 0; u < units; u++) {
            const double2 pair = __ldcg(&place[u * THREADS]);
            mine[2 * u] += pair.x;
            mine[2 * u + 1] += pair.y;
        }
    return true;
}
#endif

// product computes a tile of C, or its sums over a part of k: over depth indices
// from begin on.
__device__ __forceinline__ void product(int tile, int begin, int depth, int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc
#ifdef CUT
    , int whole, int span, int each, double *partial, int *arrived
#endif
)
{
    extern __shared__ __align__(32) double slices_memory[];
    double *const a_slices = slices_memory; // STAGES slices of A, then as many of B
    double *const b_slices = slices_memory + STAGES * a_size;

    const int thread = threadIdx.x;
    const int tiles_m = (m - 1) / BM + 1;
    const int tiles_n = (n - 1) / BN + 1;
    const int group = tile / (SWIZZLE * tiles_n) * SWIZZLE; // its first tile row
    const int group_rows = min(SWIZZLE, tiles_m - group);
    const int within = tile % (SWIZZLE * tiles_n);
    const int row0 = (group + within % group_rows) * BM; // first row and column of the tile
    const int col0 = within / group_rows * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int warp = thread / 32;
    const int lane = thread % 32;
    const int g = lane / 4; // the lane's place in fragments
    const int t = lane % 4;
    const int i0 = warp / (BN / WN) * WM; // this warp's tile within the block's
    const int j0 = warp % (BN / WN) * WN;

    // The place of this thread's first copy of the next slice, and what is left
    // of the matrices from there on. Beyond the edges come zeros. Beyond k both
    // slices have them, since zero times what A or B might hold there need not
    // be zero. Slices wholly beyond k are copied as zeros too: then no branch
    // stands between the instructions of the loop.
    const int a_i = thread / (BK / VA), a_kk = thread % (BK / VA) * VA;
    const int b_kk = thread / (BN / VB), b_j = thread % (BN / VB) * VB;
    const double *a_from = A + (row0 + a_i) * lda + begin + a_kk;
    const double *b_from = B + (begin + b_kk) * ldb + col0 + b_j;
    double *const a_to = a_slices + a_i * a_stride + a_kk;
    double *const b_to = b_slices + b_kk * b_stride + b_j;
    int a_ks = depth - a_kk, b_ks = depth - b_kk;
    #pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        #pragma unroll
        for (int c = 0; c < a_copies; c++)
            copy_a(c, a_to + stage * a_size, a_from, lda, rows - a_i, a_ks, A);
        #pragma unroll
        for (int c = 0; c < b_copies; c++)
            copy_b(c, b_to + stage * b_size, b_from, ldb, cols - b_j, b_ks, B);
        copy_commit();
        a_from += BK;
        b_from += BK * ldb;
        a_ks -= BK;
        b_ks -= BK;
    }
    copy_wait(); // this thread's part of the first slice is there
    __syncthreads(); // and all others'

    const double *a_slice = a_slices + (i0 + g) * a_stride + t; // this lane's first elements
    const double *b_slice = b_slices + t * b_stride + j0 + g;
    double a[2][a_part], b[b_tiles][b_part];
    double sum[a_tiles][b_tiles][c_part] = {};
    load_a(a[0], a_slice);
    #pragma unroll
    for (int j = 0; j < b_tiles; j++)
        load_b(b[j], b_slice + 8 * j);

    int stage = 0; // of this slice, and of that which is copied meanwhile
    int stage_to = STAGES - 1;
    const int slices = depth <= 0 ? 0 : (depth - 1) / BK + 1;
    for (int slice = 0; slice < slices; slice++) {
        #pragma unroll
        for (int step = 0; step < steps; step++) {
            if (step == steps - 1) {
                copy_commit();
                copy_wait(); // this thread's part of the next slice is there
                __syncthreads(); // and all others', and all have read this one
                stage = stage + 1 < STAGES ? stage + 1 : 0;
                a_slice = a_slices + stage * a_size + (i0 + g) * a_stride + t;
                b_slice = b_slices + stage * b_size + t * b_stride + j0 + g;
            }

            // The next fragments are loaded while these are multiplied: A's to
            // the other buffer, B's (with the next kk) each after its last use.
            const int i = step % a_tiles;
            const int next = (step + 1) % steps, next_kk = next / a_tiles * MMA_K;
            load_a(a[next % 2], a_slice + next % a_tiles * mma_m * a_stride + next_kk);
            #pragma unroll
            for (int j = 0; j < b_tiles; j++) {
                mma(sum[i][j], a[step % 2], b[j]);
                if (i == a_tiles - 1)
                    load_b(b[j], b_slice + next_kk * b_stride + 8 * j);
                #pragma unroll
                for (int e = 0; e < copies_an_mma; e++) {
                    const int c = (step * b_tiles + j) * copies_an_mma + e;
                    if (c < a_copies)
                        copy_a(c, a_to + stage_to * a_size, a_from, lda, rows - a_i, a_ks, A);
                    else if (c < copies)
                        copy_b(c - a_copies, b_to + stage_to * b_size, b_from, ldb, cols - b_j,
                            b_ks, B);
                }
            }
        }
        stage_to = stage_to + 1 < STAGES ? stage_to + 1 : 0;
        a_from += BK;
        b_from += BK * ldb;
        a_ks -= BK;
        b_ks -= BK;
    }
    copy_drain(); // of the zeros beyond k

#ifdef CUT
    const bool cut = begin > 0 || depth < k;
    if (cut && !add_parts(sum, tile - whole, (int)blockIdx.x - whole, span, each, partial, arrived))
        return;
#endif

    #pragma unroll
    for (int i = 0; i < a_tiles; i++)
        #pragma unroll
        for (int r = 0; r < c_part; r += 2) {
            const int ci = i0 + mma_m * i + r / 2 * 8 + g;
            if (ci >= rows)
                break;
            #pragma unroll
            for (int j = 0; j < b_tiles; j++)
                #pragma unroll
                for (int e = 0; e < 2; e += VC) {
                    const int cj = j0 + 8 * j + 2 * t + e;
                    store(&C[(row0 + ci) * ldc + col0 + cj], &sum[i][j][r + e], VC, cols - cj,
                        alpha, beta);
                }
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm(int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc
#ifdef CUT
    , int whole, int span, int each, double *partial, int *arrived
#endif
)
{
#ifdef CUT
    int tile = blockIdx.x, first = 0, left = span; // slices of this block, from `first` of the tile on
    if (tile >= whole) {
        const int at = (tile - whole) * each;
        left = min(each, (((m - 1) / BM + 1) * ((n - 1) / BN + 1) - whole) * span - at);
        tile = whole + at / span;
        first = at % span;
    }
    for (; left > 0; tile++, first = 0) {
        const int slices = min(left, span - first);
        left -= slices;
        product(tile, first * BK, min(slices * BK, k - first * BK), m, n, k, alpha, A, lda, B, ldb,
            beta, C, ldc, whole, span, each, partial, arrived);
        if (left > 0)
            __syncthreads(); // all have read the last slices
    }
#else
    product(blockIdx.x, 0, k, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
#endif
}
