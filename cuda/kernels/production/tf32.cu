// tuned-tf32: TF32 for use on compute capability 9.0.
//
// Against tf32-wgmma-persistent: the last tiles are cut along k if they would leave multiprocessors idle (CUT).
// A was rounded to TF32 before, by `to_tf32`, and has its k in the order that the lanes want: of each 8,
// 0, 2, 4, 6, 1, 3, 5, 7. B lies as it is stored, so its columns are not next to each other along k, as wgmma
// wants TF32 operands in shared memory. The kernel therefore computes C transposed: B's columns are the
// 64 rows of a product, and come from registers, where they are rounded; A's rows are its columns.
//
// Tile: BM x BN a block; THREADS = 384: the producer's warpgroup and two that have 64 columns each.
// Launch: as many blocks as multiprocessors, or as tiles and parts if these are fewer, a multiple of CLUSTER.
// A row of tiles counts as a multiple of CLUSTER, too: the last tile may lie beyond C. Dynamic shared memory of
// 4*STAGES*BK*(BM + BN) + 1024 + 64 bytes.
// CUT: only the first `whole` tiles are computed whole. Each of the others is cut into span/each parts of
// `each` slices, of which the last may have fewer. Sums over parts go to partial. The block of the last part that
// comes adds them, in the order of k, so the result is the same in every run; if all blocks of the launch run,
// they wait for each other instead, and each adds a share of the tile. arrived has 2 ints, and 8 for each cut tile,
// which are 0 before and after.
// A: a map of m rows and 8*ceil(k/8) columns with boxes of BM/CLUSTER x BK; B: of k x n with boxes of BK x 32.
// Global reads of A and B: m*n*k*(1/BM + 1/(BN*CLUSTER)) elements.
// Shared reads: BM*BN*BK*(1/64 + 1/BM) elements a block and slice.

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

#define CLUSTER 2

// MARK notes that a role begins a step, in builds for timelines (timeline.cu).
#ifndef MARK
#define MARKS
#define MARK(role, step)
#endif

#define THREADS (128 * (1 + BN / 64))

static_assert(BM == 256, "wgmma has 256 columns");
static_assert(BN == 128, "two warpgroups multiply: the registers are for them");
static_assert(BK == 32, "a row of a slice of A is 128 bytes");
static_assert(16 * STAGES <= 64, "barriers have 64 bytes");
static_assert(BM / CLUSTER % 8 == 0, "a block copies whole groups of 8 rows");

// TensorMap describes a matrix and the box of one copy; the driver encodes it.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// 16 sums as operands of an instruction.
#define SUMS(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
    "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7]), "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), \
    "+f"(d[i + 11]), "+f"(d[i + 12]), "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])

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

// round_tf32 rounds to the nearest TF32 number, ties away from zero. wgmma would cut off instead.
static __device__ unsigned round_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

// multiply adds the product of 64 x 8 elements in registers and 8 x 256 in shared memory to the sums
// of a warpgroup, or to 0. It only begins: a commit and a wait follow.
static __device__ void multiply(float (&d)[128], const unsigned (&a)[4], unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred p;\n"
        "setp.ne.b32 p, %133, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, {%128, %129, %130, %131}, %132, p, 1, 1; }"
        : SUMS(0), SUMS(16), SUMS(32), SUMS(48), SUMS(64), SUMS(80), SUMS(96), SUMS(112)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

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
#ifdef CUT
    , int whole, int span, int each, float *partial, int *arrived
#endif
    )
{
    // STAGES times a slice of A and one of B, at a multiple of 1024 bytes, then the barriers.
    extern __shared__ unsigned char shared[];
    MARKS;
    constexpr int SLICE_A = 4 * BM * BK, SLICE = SLICE_A + 4 * BK * BN;
    const unsigned slices = (shared_address(shared) + 1023) / 1024 * 1024;
    const unsigned full = slices + STAGES * SLICE, empty = full + 8 * STAGES;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, 2 * CLUSTER);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    cluster_barrier();

    // Clusters compute tiles of BM x CLUSTER*BN. Without k, there is one slice, of zeros from beyond A and B.
    const int rank = (int)blockIdx.x % CLUSTER, teams = (int)gridDim.x / CLUSTER;
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + CLUSTER * BN - 1) / (CLUSTER * BN);
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
        row0 = (group + t % (SWIZZLE * tiles_n) % height) * BM;
        col0 = (t % (SWIZZLE * tiles_n) / height * CLUSTER + rank) * BN;
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
                    copy_to_all(slice + rank * (SLICE_A / CLUSTER), &A, barrier, s * BK + beyond,
                        row0 + rank * (BM / CLUSTER));
                    for (int j = 0; j < BN; j += 32)
                        copy_box(slice + SLICE_A + j * (BK * 4), &B, barrier, col0 + j, s * BK + beyond);
                    advance();
                }
            }
        MARK(PRODUCER, DONE);
        cluster_barrier(); // the other block may still copy to this one
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");

    // What a lane reads of a box of B: k = 2*(lane%4) + e, and columns lane/4 and 8 further on in the 16
    // of its warp. The banks of a request are all different.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    unsigned b_lane[2][2];
    #pragma unroll
    for (int e = 0; e < 2; e++)
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            const int p = lane % 4 * 2 + e, j = warp % 2 * 16 + lane / 4 + 8 * h;
            b_lane[e][h] = SLICE_A + warp / 2 * (BK * 128) + p * 128 + (j / 4 ^ p) * 16 + j % 4 * 4;
        }

#ifdef CUT
    // A warp adds its part of the sums of a tile over all blocks. Part p of tile t has
    // place t*parts + p, counted after the whole tiles: float4 number x of a thread is of rows 8*x and so on.
    if (threadIdx.x == 128)
        atomicAdd(&arrived[0], 1);
    auto place_of = [&](int t) {
        return (float4 *)partial + ((long long)(t - uncut) * CLUSTER + rank) * (BM * BN / 4) + threadIdx.x - 128;
    };
    auto arrivals = [&](int t) { return &arrived[2 + ((t - uncut) / parts * CLUSTER + rank) * 8 + warp]; };
    auto add_parts = [&](int t, int from, int step) {
        const float4 *place = place_of(uncut + (t - uncut) / parts * parts);
        constexpr int GROUP = 8; // of which the reads are under way at the same time
        for (int x0 = from; x0 < BM / 8; x0 += GROUP * step) {
            float4 sum[GROUP] = {};
            #pragma unroll 2
            for (int p = 0; p < parts; p++)
                #pragma unroll
                for (int u = 0; u < GROUP; u++) {
                    const int x = x0 + u * step < BM / 8 ? x0 + u * step : x0;
                    const float4 part = __ldcg(&place[(long long)p * CLUSTER * (BM * BN / 4) + 256 * x]);
                    sum[u] = {sum[u].x + part.x, sum[u].y + part.y, sum[u].z + part.z, sum[u].w + part.w};
                }
            #pragma unroll
            for (int u = 0; u < GROUP; u++) {
                const int x = x0 + u * step, i = row0 + 8 * x + lane % 4 * 2, j = col0 + 16 * warp + lane / 4;
                float *c = C + i * ldc + j;
                if (x < BM / 8 && i < m && j < n)
                    store_c(c, alpha * sum[u].x, beta);
                if (x < BM / 8 && i < m && j + 8 < n)
                    store_c(c + 8, alpha * sum[u].z, beta);
                if (x < BM / 8 && i + 1 < m && j < n)
                    store_c(c + ldc, alpha * sum[u].y, beta);
                if (x < BM / 8 && i + 1 < m && j + 8 < n)
                    store_c(c + ldc + 8, alpha * sum[u].w, beta);
            }
        }
    };
    int waits = items; // the first part whose warp waits for others
#endif
    for (int t = (int)blockIdx.x / CLUSTER; t < items; t += teams) {
        take(t);
        float sum[BM / 2];
        unsigned before = empty; // the barrier of the slice before
        auto release = [&]() {
            if (threadIdx.x % 128 < CLUSTER)
                arrive(before, threadIdx.x % 128);
        };
        #pragma unroll 2
        for (int s = first; s < last; s++) {
            MARK(CONSUMER, WAIT);
            wait(full + 8 * stage, parity);
            MARK(CONSUMER, MULTIPLY);
            const unsigned slice = slices + stage * SLICE;
            unsigned b[BK / 8][4];
            #pragma unroll
            for (int p = 0; p < BK / 8; p++)
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    float x;
                    asm volatile("ld.shared.f32 %0, [%1];"
                        : "=f"(x) : "r"(slice + b_lane[v / 2][v % 2] + 1024 * p));
                    b[p][v] = round_tf32(x);
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

#ifdef CUT
        if (t >= uncut) {
            float4 *place = place_of(t);
            #pragma unroll
            for (int x = 0; x < BM / 8; x++)
                __stcg(&place[256 * x], make_float4(sum[4 * x], sum[4 * x + 1], sum[4 * x + 2], sum[4 * x + 3]));
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
        // C: a lane has rows 2*(lane%4) and the next of each 8, and columns lane/4 and 8 further on.
        const int i0 = row0 + lane % 4 * 2, j = col0 + 16 * warp + lane / 4;
        if (beta == 0 && row0 + BM <= m && col0 + BN <= n) { // without conditions, one store follows the other
            float *c = C + i0 * ldc + j;
            #pragma unroll
            for (int x = 0; x < BM / 8; x++, c += 8 * ldc)
                #pragma unroll
                for (int e = 0; e < 2; e++) {
                    c[e * ldc] = alpha * sum[4 * x + e];
                    c[e * ldc + 8] = alpha * sum[4 * x + 2 + e];
                }
            continue;
        }
        #pragma unroll
        for (int x = 0; x < BM / 8; x++)
            #pragma unroll
            for (int e = 0; e < 2; e++) {
                const int i = i0 + 8 * x + e;
                float *c = C + i * ldc + j;
                if (i < m && j < n)
                    store_c(c, alpha * sum[4 * x + e], beta);
                if (i < m && j + 8 < n)
                    store_c(c + 8, alpha * sum[4 * x + 2 + e], beta);
            }
    }
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
