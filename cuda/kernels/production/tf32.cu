// tuned-tf32: TF32 for use on compute capability 9.0.
//
// Against tf32-wgmma-persistent: tiles for slender C, and the last tiles are cut along k if they would leave
// multiprocessors idle (CUT). One operand, X, comes from registers, where it is rounded: a warpgroup multiplies 64 of
// its rows or columns. The other, Y, comes from shared memory, where wgmma wants it along k. `to_tf32` has rounded it
// before, and has its k in the order that the lanes want: of each 8, 0, 2, 4, 6, 1, 3, 5, 7. Y is the smaller one:
// A, and C is computed transposed, or B (BY_ROWS), which `to_tf32` transposes.
// THREE: nearly single precision, as in f16x3, by three products of high and low parts; `to_tf32` has stored the low
// parts of Y after the high ones. Elements of X other than 0 and 2^-48 to 2^48 set *unfit: then nothing in the sums
// overflows or is lost, and another kernel computes the rest. *unfit_y says this of Y; it is 0 before and after.
//
// Tile: BM x BN a block; THREADS = 384: the producer's warpgroup and two that have 64 rows or columns of X each.
// Launch: as many blocks as multiprocessors, or as tiles and parts if these are fewer, a multiple of CLUSTER.
// The tiles of a cluster have the same Y and lie next to each other, so there is a multiple of CLUSTER along X: the
// last tile may lie beyond C. Dynamic shared memory of 4*STAGES*BK*(BM + BN) + 1024 + 128 bytes, and
// 4*STAGES*BK more for each row or column of Y if THREE.
// CUT: only the first `whole` tiles are computed whole. Each of the others is cut into span/each parts of
// `each` slices, of which the last may have fewer. Sums over parts go to partial. The block of the last part that
// comes adds them, in the order of k, so the result is the same in every run; if all blocks of the launch run,
// they wait for each other instead, and each adds a share of the tile. arrived has 2 ints, and 8 for each cut tile,
// which are 0 before and after.
// A: a map of m rows and 8*ceil(k/8) columns with boxes of BM/CLUSTER x BK; B: of k x n with boxes of BK x 32.
// BY_ROWS: A: of m x k with boxes of BM x BK; B: of n rows and 8*ceil(k/8) columns with boxes of BN/CLUSTER x BK.
// Global reads of A and B: m*n*k*(1/BM + 1/(BN*CLUSTER)) elements, BY_ROWS m*n*k*(1/(BM*CLUSTER) + 1/BN).
// Shared reads: BM*BN*BK*(1/64 + 1/BM) elements a block and slice, BY_ROWS with BN.

#ifndef BM
#define BM 256
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 32
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef SWIZZLE
#define SWIZZLE 8
#endif
#ifndef BY_ROWS
#define BY_ROWS (BM == 128 && BN != 128)
#endif

#define CLUSTER 2

// MARK notes that a role begins a step, in builds for timelines (timeline.cu).
#ifndef MARK
#define MARKS
#define MARK(role, step)
#endif

#define THREADS 384

#if BY_ROWS
#define X BM
#define Y BN
#else
#define X BN
#define Y BM
#endif
#ifdef THREE
#define PARTS 2
#else
#define PARTS 1
#endif

static_assert(X == 128, "two warpgroups multiply 64 rows or columns each");
static_assert(Y == 256 || Y == 128 || Y == 64, "the columns of wgmma");
static_assert(Y == 64 || PARTS == 1, "a warpgroup keeps three sums for each of its elements if THREE");
static_assert(BK == 32, "a row of a slice of Y is 128 bytes");
static_assert(16 * STAGES <= 128, "barriers have 128 bytes");

// TensorMap describes a matrix and the box of one copy; the driver encodes it.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// 16 sums as operands of an instruction, and ten of their names.
#define SUMS(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
    "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7]), "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), \
    "+f"(d[i + 11]), "+f"(d[i + 12]), "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, " \
    "%" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "

// The operands of the instruction: its sums, and the names of all.
#if Y == 256
#define ALL_SUMS SUMS(0), SUMS(16), SUMS(32), SUMS(48), SUMS(64), SUMS(80), SUMS(96), SUMS(112)
#define NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define OTHERS "{%128, %129, %130, %131}, %132, p, 1, 1"
#define ADD "%133"
#elif Y == 128
#define ALL_SUMS SUMS(0), SUMS(16), SUMS(32), SUMS(48)
#define NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define OTHERS "{%64, %65, %66, %67}, %68, p, 1, 1"
#define ADD "%69"
#else
#define ALL_SUMS SUMS(0), SUMS(16)
#define NAMES TEN() TEN(1) TEN(2) "%30, %31"
#define OTHERS "{%32, %33, %34, %35}, %36, p, 1, 1"
#define ADD "%37"
#endif
#define TEXT(x) #x
#define STRING(x) TEXT(x)

// shared_address is the address within shared memory that asynchronous copies and barriers want.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// A barrier in shared memory (mbarrier) has phases. init sets how many arrivals end a phase.
static __device__ void init(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals));
}

// arrive counts one arrival at the barrier at the same place in a block of the cluster.
static __device__ void arrive(unsigned barrier, int block)
{
    asm volatile("{ .reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
        :: "r"(barrier), "r"(block) : "memory");
}

// expect counts one arrival. The phase then also waits for the bytes of copies.
static __device__ void expect(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(barrier), "r"(bytes) : "memory");
}

// wait returns when the phase with the parity has ended. Phases alternate: 0, 1, 0, ... A wait for
// parity 1 of a new barrier returns at once.
static __device__ void wait(unsigned barrier, int parity)
{
    unsigned ended;
    do
        asm volatile("{ .reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(ended) : "r"(barrier), "r"(parity) : "memory");
    while (!ended);
}

// copy_box starts the copy of a box of the matrix, from row y and column x on, to shared memory. What
// lies outside of the matrix becomes 0. Rows of 128 bytes come swizzled: the 16 bytes at offset 16*i of
// row r lie at offset 16*(i ^ r % 8). The barrier gets the bytes.
static __device__ void copy_box(unsigned to, const TensorMap *map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4}], [%2];"
        :: "r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y) : "memory");
}

// copy_to_all is copy_box for all blocks of the cluster: the box comes to the same place in each, and
// the barrier at the same place gets the bytes.
static __device__ void copy_to_all(unsigned to, const TensorMap *map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%3, %4}], [%2], %5;"
        :: "r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "h"((short)((1 << CLUSTER) - 1)) : "memory");
}

// cluster_barrier is a barrier of all threads of the cluster.
static __device__ void cluster_barrier()
{
    asm volatile("barrier.cluster.arrive.release;\n"
        "barrier.cluster.wait.acquire;" ::: "memory");
}

// descriptor says where an operand of wgmma lies: rows of 128 bytes, swizzled, in groups of 8 that are
// 1024 bytes apart.
static __device__ unsigned long long descriptor(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// begin comes after what a warpgroup has written to registers of operands, and before it multiplies.
static __device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// commit closes the group of products that were begun.
static __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// finish returns when all groups but the LEFT youngest are done.
template <int LEFT> static __device__ void finish()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory");
}

// multiply adds the product of 64 x 8 elements in registers and 8 x Y in shared memory to the sums
// of a warpgroup, or to 0. It only begins: a commit and a wait follow.
static __device__ void multiply(float (&d)[Y / 2], const unsigned (&x)[4], unsigned long long y, bool add)
{
    asm volatile("{ .reg .pred p;\n"
        "setp.ne.b32 p, " ADD ", 0;\n"
        "wgmma.mma_async.sync.aligned.m64n" STRING(Y) "k8.f32.tf32.tf32 {" NAMES "}, " OTHERS "; }"
        : ALL_SUMS : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"((int)add));
}

#ifndef THREE
// round_tf32 rounds to the nearest TF32 number, ties away from zero. wgmma would cut off instead.
static __device__ unsigned round_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}
#else
// nearest is the same of an element that fits.
static __device__ unsigned nearest(float x) { return (__float_as_uint(x) + 0x1000) & 0xffffe000; }

// fits reports whether an element has two parts of TF32.
static __device__ bool fits(float x)
{
    constexpr unsigned LEAST = 127u - 48 << 24, ABOVE = 127u + 48 << 24; // without the sign, times 2
    const unsigned twice = __float_as_uint(x) << 1;
    return twice == 0 || twice - LEAST < ABOVE - LEAST;
}
#endif

// store_c updates an element of C. beta == 0 must not read C: it may hold NaN.
static __device__ void store_c(float *c, float x, float beta)
{
    *c = beta == 0 ? x : x + beta * *c;
}

#ifdef CUT
// ALONE is what a part adds to the arrivals at its tile, besides 1, if its block cannot wait for others.
constexpr int ALONE = 1 << 16;

// look reads what other blocks change.
static __device__ int look(const int *p)
{
    int x;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
#endif

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1) gemm(int m, int n, int k,
    float alpha, const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
    float beta, float *C, long long ldc
#ifdef THREE
    , int *unfit_y, int *unfit
#endif
#ifdef CUT
    , int whole, int span, int each, float *partial, int *arrived
#endif
    )
{
    // STAGES times a slice of Y, with its low parts, and one of X, at a multiple of 1024 bytes, then the barriers.
    extern __shared__ unsigned char shared[];
    MARKS;
    constexpr int SLICE_Y = 4 * Y * BK, SLICE_X = PARTS * SLICE_Y, SLICE = SLICE_X + 4 * BK * X;
    const unsigned slices = (shared_address(shared) + 1023) / 1024 * 1024;
    const unsigned full = slices + STAGES * SLICE, empty = full + 8 * STAGES;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, 2 * CLUSTER);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster_barrier();

    // Clusters compute tiles of ROWS x COLUMNS. Without k, there is one slice, of zeros from beyond A and B.
    constexpr int ROWS = BY_ROWS ? CLUSTER * BM : BM, COLUMNS = BY_ROWS ? BN : CLUSTER * BN;
    const int rank = (int)blockIdx.x % CLUSTER, teams = (int)gridDim.x / CLUSTER;
    const int tiles_m = (m + ROWS - 1) / ROWS, tiles_n = (n + COLUMNS - 1) / COLUMNS;
    const int count = k > 0 ? (k + BK - 1) / BK : 1, beyond = k > 0 ? 0 : 1 << 30;
#ifdef CUT
    const int uncut = whole / CLUSTER, parts = span / each;
    const int items = uncut + (tiles_m * tiles_n - uncut) * parts;
#else
    const int items = tiles_m * tiles_n;
#endif

    // What a block does t-th: a tile, or a part of one. Tiles: groups of SWIZZLE rows of tiles, in a group
    // column of tiles after column of tiles.
    int row0, col0, first, last;
    auto take = [&](int t) {
        first = 0;
        last = count;
#ifdef CUT
        if (t >= uncut) {
            first = (t - uncut) % parts * each;
            last = count - first < each ? count : first + each;
            t = uncut + (t - uncut) / parts;
        }
#endif
        const int group = t / (SWIZZLE * tiles_n) * SWIZZLE;
        const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
        row0 = (group + t % (SWIZZLE * tiles_n) % height) * ROWS + (BY_ROWS ? rank * BM : 0);
        col0 = t % (SWIZZLE * tiles_n) / height * COLUMNS + (BY_ROWS ? 0 : rank * BN);
    };

    // The place in the ring, and the parity of its phase.
    int stage = 0, parity = 0;
    auto advance = [&]() {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    };

    if (threadIdx.x < 128) { // the producer
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int t = (int)blockIdx.x / CLUSTER; t < items; t += teams) {
                take(t);
                for (int s = first; s < last; s++) {
                    MARK(PRODUCER, WAIT);
                    wait(empty + 8 * stage, parity ^ 1);
                    MARK(PRODUCER, COPY);
                    const unsigned slice = slices + stage * SLICE, barrier = full + 8 * stage;
                    expect(barrier, SLICE);
                    for (int part = 0; part < PARTS; part++)
                        copy_to_all(slice + part * SLICE_Y + rank * (SLICE_Y / CLUSTER), BY_ROWS ? &B : &A, barrier,
                            s * BK + beyond, (BY_ROWS ? part * n + col0 : part * m + row0) + rank * (Y / CLUSTER));
                    if (BY_ROWS)
                        copy_box(slice + SLICE_X, &A, barrier, s * BK + beyond, row0);
                    for (int j = 0; j < BN && !BY_ROWS; j += 32)
                        copy_box(slice + SLICE_X + j * (BK * 4), &B, barrier, col0 + j, s * BK + beyond);
                    advance();
                }
            }
        MARK(PRODUCER, DONE);
        cluster_barrier(); // the other block may still copy to this one
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");

    // What a lane reads of X: k = 2*(lane%4) + e of each 8, and of the 16 rows or columns of its warp the one at
    // `mine` and 8 further on. BY_ROWS, both k at once. The banks of a request are all different.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    const int mine = BY_ROWS ? lane / 4 % 4 * 2 + lane / 16 : lane / 4;
    unsigned x_lane[2][2];
    #pragma unroll
    for (int e = 0; e < 2; e++)
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            const int p = lane % 4 * 2 + e, j = warp % 2 * 16 + mine + 8 * h;
            x_lane[e][h] = SLICE_X + (BY_ROWS ? (16 * warp + mine) * 128 + (lane % 4 / 2 ^ mine) * 16 + lane % 2 * 8
                : warp / 2 * (BK * 128) + p * 128 + (j / 4 ^ p) * 16 + j % 4 * 4);
        }
    // load reads the elements of X for the p-th product of a slice. Those at the index 2*e + h are of k at e.
    auto load = [&](float (&x)[4], unsigned slice, int p) {
        #pragma unroll
        for (int h = 0; h < 2; h++)
            if (BY_ROWS)
                asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                    : "=f"(x[h]), "=f"(x[2 + h]) : "r"((slice + x_lane[0][0] ^ 32 * p) + 1024 * h));
            else
                #pragma unroll
                for (int e = 0; e < 2; e++)
                    asm volatile("ld.shared.f32 %0, [%1];"
                        : "=f"(x[2 * e + h]) : "r"(slice + x_lane[e][h] + 1024 * p));
    };

    // Of each 8 along Y, a lane has the sums of 2*(lane%4) and the next, for `mine` and 8 further on. From one group
    // of four to the next, from the first to the second, and to the third they are this far apart in C:
    const long long next = BY_ROWS ? 8 : 8 * ldc, second = BY_ROWS ? 1 : ldc, third = BY_ROWS ? 8 * ldc : 8;
    int i0, j0; // of the first sum
    auto locate = [&]() {
        i0 = row0 + (BY_ROWS ? 16 * warp + mine : lane % 4 * 2);
        j0 = col0 + (BY_ROWS ? lane % 4 * 2 : 16 * warp + mine);
    };
    // store4 writes group y of four sums, as far as they are in C.
    auto store4 = [&](int y, const float (&x)[4]) {
        const int i = i0 + (BY_ROWS ? 0 : 8 * y), j = j0 + (BY_ROWS ? 8 * y : 0);
        float *c = C + i * ldc + j;
        #pragma unroll
        for (int h = 0; h < 2; h++)
            #pragma unroll
            for (int e = 0; e < 2; e++)
                if (i + (BY_ROWS ? 8 * h : e) < m && j + (BY_ROWS ? e : 8 * h) < n)
                    store_c(c + e * second + h * third, alpha * x[2 * h + e], beta);
    };

#ifdef CUT
    // A warp adds its part of the sums of a tile over all blocks. Part p of tile t has
    // place t*parts + p, counted after the whole tiles: float4 number y of a thread is its group y of four sums.
    if (threadIdx.x == 128)
        atomicAdd(&arrived[0], 1);
    auto place_of = [&](int t) {
        return (float4 *)partial + ((long long)(t - uncut) * CLUSTER + rank) * (BM * BN / 4) + threadIdx.x - 128;
    };
    auto arrivals = [&](int t) { return &arrived[2 + ((t - uncut) / parts * CLUSTER + rank) * 8 + warp]; };
    auto add_parts = [&](int t, int from, int step) {
        const float4 *place = place_of(uncut + (t - uncut) / parts * parts);
        constexpr int GROUP = 8; // of which the reads are under way at the same time
        locate();
        for (int y0 = from; y0 < Y / 8; y0 += GROUP * step) {
            float sum[GROUP][4] = {};
            #pragma unroll 2
            for (int p = 0; p < parts; p++)
                #pragma unroll
                for (int u = 0; u < GROUP; u++) {
                    const int y = y0 + u * step < Y / 8 ? y0 + u * step : y0;
                    const float4 part = __ldcg(&place[(long long)p * CLUSTER * (BM * BN / 4) + 256 * y]);
                    sum[u][0] += part.x;
                    sum[u][1] += part.y;
                    sum[u][2] += part.z;
                    sum[u][3] += part.w;
                }
            #pragma unroll
            for (int u = 0; u < GROUP; u++)
                if (y0 + u * step < Y / 8)
                    store4(y0 + u * step, sum[u]);
        }
    };
    int waits = items; // the first part whose warp waits for others
#endif
#ifdef THREE
    bool all_fit = blockIdx.x > 0 || threadIdx.x > 128 || !*unfit_y;
    if (!all_fit)
        *unfit_y = 0;
#endif
    for (int t = (int)blockIdx.x / CLUSTER; t < items; t += teams) {
        take(t);
        float sum[Y / 2];
        unsigned before = empty; // the barrier of the slice before
        auto release = [&]() {
            if (threadIdx.x % 128 < CLUSTER)
                arrive(before, threadIdx.x % 128);
        };
#ifdef THREE
        // The tensor cores cut off when they add. So they add high parts of a slice only, and `sum` has the rest.
        float high[Y / 2], low[Y / 2];
        #pragma unroll
        for (int i = 0; i < Y / 2; i++)
            sum[i] = 0;
        for (int s = first; s < last; s++) {
            MARK(CONSUMER, WAIT);
            wait(full + 8 * stage, parity);
            MARK(CONSUMER, MULTIPLY);
            const unsigned slice = slices + stage * SLICE;
            unsigned h[BK / 8][4], l[BK / 8][4];
            #pragma unroll
            for (int p = 0; p < BK / 8; p++) {
                float x[4];
                load(x, slice, p);
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    all_fit &= fits(x[v]);
                    h[p][v] = nearest(x[v]);
                    l[p][v] = nearest(x[v] - __uint_as_float(h[p][v]));
                }
            }
            begin();
            #pragma unroll
            for (int p = 0; p < BK / 8; p++)
                multiply(high, h[p], descriptor(slice + 32 * p), p > 0);
            #pragma unroll
            for (int p = 0; p < BK / 8; p++) {
                multiply(low, h[p], descriptor(slice + SLICE_Y + 32 * p), s > first || p > 0);
                multiply(low, l[p], descriptor(slice + 32 * p), true);
            }
            commit();
            finish<0>(); // meanwhile the other warpgroup multiplies
            before = empty + 8 * stage;
            release();
            advance();
            #pragma unroll
            for (int i = 0; i < Y / 2; i++)
                sum[i] += high[i];
        }
        MARK(CONSUMER, STORE);
        #pragma unroll
        for (int i = 0; i < Y / 2; i++)
            sum[i] += low[i];
#else
        #pragma unroll 2
        for (int s = first; s < last; s++) {
            MARK(CONSUMER, WAIT);
            wait(full + 8 * stage, parity);
            MARK(CONSUMER, MULTIPLY);
            const unsigned slice = slices + stage * SLICE;
            unsigned b[BK / 8][4];
            #pragma unroll
            for (int p = 0; p < BK / 8; p++) {
                float x[4];
                load(x, slice, p);
                #pragma unroll
                for (int v = 0; v < 4; v++)
                    b[p][v] = round_tf32(x[v]);
            }
            begin();
            #pragma unroll
            for (int p = 0; p < BK / 8; p++)
                multiply(sum, b[p], descriptor(slice + 32 * p), s > first || p > 0);
            commit();
            finish<1>(); // the products of the slice before
            if (s > first)
                release();
            before = empty + 8 * stage;
            advance();
        }
        finish<0>();
        MARK(CONSUMER, STORE);
        release();
#endif

#ifdef CUT
        if (t >= uncut) {
            float4 *place = place_of(t);
            #pragma unroll
            for (int y = 0; y < Y / 8; y++)
                __stcg(&place[256 * y], make_float4(sum[4 * y], sum[4 * y + 1], sum[4 * y + 2], sum[4 * y + 3]));
            __threadfence();
            __syncwarp();
            int now = 0, all_run = 0;
            if (lane == 0) {
                all_run = look(&arrived[0]) == gridDim.x;
                const int more = all_run ? 1 : 1 + ALONE;
                now = atomicAdd(arrivals(t), more) + more;
                __threadfence();
            }
            now = __shfl_sync(0xffffffff, now, 0);
            if (now > ALONE && now % ALONE == parts)
                add_parts(t, 0, 1);
            else if (__shfl_sync(0xffffffff, all_run, 0) && t < waits)
                waits = t;
            continue;
        }
#endif
        locate();
        const bool pairs = ldc % 2 == 0 && (unsigned long long)C % 8 == 0;
        if (beta == 0 && row0 + BM <= m && col0 + BN <= n && (pairs || !BY_ROWS)) {
            float *c = C + i0 * ldc + j0;
            #pragma unroll
            for (int y = 0; y < Y / 8; y++, c += next) // without conditions, one store follows the other
                #pragma unroll
                for (int h = 0; h < 2; h++) {
                    const float x0 = alpha * sum[4 * y + 2 * h], x1 = alpha * sum[4 * y + 2 * h + 1];
                    if (BY_ROWS)
                        *(float2 *)(c + h * third) = make_float2(x0, x1);
                    else {
                        c[h * third] = x0;
                        c[h * third + second] = x1;
                    }
                }
            continue;
        }
        #pragma unroll
        for (int y = 0; y < Y / 8; y++) {
            const float x[4] = {sum[4 * y], sum[4 * y + 1], sum[4 * y + 2], sum[4 * y + 3]};
            store4(y, x);
        }
    }
#ifdef THREE
    if (!all_fit)
        *unfit = 1;
#endif
#ifdef CUT
    for (int t = waits; t < items; t += teams) {
        int now = 0;
        if (lane == 0)
            while ((now = look(arrivals(t))) % ALONE < parts)
                ;
        if (__shfl_sync(0xffffffff, now, 0) > ALONE) // the last to come adds all
            continue;
        take(t);
        add_parts(t, (t - uncut) % parts, parts);
    }
    int finished = 0;
    if (lane == 0) {
        __threadfence();
        finished = atomicAdd(&arrived[1], 1) + 1;
    }
    if (__shfl_sync(0xffffffff, finished, 0) == 8 * gridDim.x) // no block polls any more
        for (int i = lane; i < 2 + 8 * CLUSTER * (tiles_m * tiles_n - uncut); i += 32)
            arrived[i] = 0;
#endif
    MARK(CONSUMER, DONE);
    cluster_barrier();
}
