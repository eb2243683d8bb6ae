// f16x3: single precision from half precision, by three products on the tensor cores.
//
// Each element is split into two of f16: x = h + l/2^11 + an error of at most 2^-22 |x| (Ootomo and
// Yokota, Recovering single precision accuracy from Tensor Cores, IJHPCA 36(4), 2022). Then
// A*B = Ah*Bh + (Ah*Bl + Al*Bh)/2^11 + Al*Bl/2^22, whose last part is left out. Tensor cores cut off
// what does not fit when they add; so after every CHUNK values of k, the sums of Ah*Bh are added to others
// in single precision by the ordinary units, which round.
// f16 has few exponents. So each row of A and each column of B is divided by a power of two
// before, so that its largest element lies between 2^14 and 2^15, and C is multiplied by it.
// An element below 2^-14 then, 2^-28 of the largest at most, has an error of up to 2^-36, and not of 2^-22 |x|.
// Elements 0 < |x| < 2^-21, infinities and NaN do not fit: the kernels note them, and another kernel computes
// the product (tuned). *unfit says so when the two kernels that split are done; *unfit_a is of A alone, and
// 0 before and after.
//
// The kernels, in their order: split_a, which also finds the maxima of B; split_b; gemm.
// Tile: BM x BN a block; THREADS = 384: the producer's warpgroup and two that have 64 rows each.
// Launch of gemm: as many blocks as multiprocessors, or as tiles and parts if these are fewer; dynamic shared
// memory of 4*STAGES*BK*(BM + BN) + 1024 + 64 bytes.
// CUT: only the first `whole` tiles are computed whole. Each of the others is cut into span/each parts of
// `each` slices, as in tuned-tf32.
// Ah, Al: maps of m rows and k columns with boxes of BM x BK; Bh, Bl: of k x n with boxes of BK x 64.
// Global reads: 2*m*n*k*(1/BM + 1/BN) elements of f16, and what splitting reads and writes.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 64
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef CHUNK
#define CHUNK 64
#endif
#ifndef SWIZZLE
#define SWIZZLE 16
#endif

// MARK notes that a role begins a step, in builds for timelines (timeline.cu).
#ifndef MARK
#define MARKS
#define MARK(role, step)
#endif

#define THREADS 384

static_assert(BM == 128, "two warpgroups have 64 rows each");
static_assert(BN == 128, "a warpgroup keeps three sums for each of its elements");
static_assert(BK == 64, "a row of a slice of A is 128 bytes");
static_assert(CHUNK % BK == 0, "sums are added after whole slices");
static_assert(16 * STAGES <= 64, "barriers have 64 bytes");

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

// arrive counts one arrival.
static __device__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
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

// descriptor says where an operand of wgmma lies: rows of 128 bytes, swizzled, in groups of 8 that are
// 1024 bytes apart. If the rows are along n, columns of 128 bytes are next_columns bytes apart.
static __device__ unsigned long long descriptor(unsigned address, int next_columns)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(next_columns >> 4) << 16
        | (1024ull >> 4) << 32 | 1ull << 62;
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

// multiply adds the product of 64 x 16 and 16 x 128 elements in shared memory to the sums of a warpgroup,
// or to 0. It only begins: a commit and a wait follow. A's rows go along k, B's along n.
static __device__ void multiply(float (&d)[64], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred p;\n"
        "setp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, p, 1, 1, 0, 1; }"
        : SUMS(0), SUMS(16), SUMS(32), SUMS(48)
        : "l"(a), "l"(b), "r"((int)add));
}

// store_c updates an element of C. beta == 0 must not read C: it may hold NaN.
static __device__ void store_c(float *c, float x, float beta)
{
    *c = beta == 0 ? x : x + beta * *c;
}

// exponent_of returns what the elements of a row are divided by, as a power of two, if the largest
// is max.
static __device__ int exponent_of(float max)
{
    return max > 0 ? ilogbf(max) - 14 : 0;
}

// to_half and of_half convert between float and the bits of f16.
static __device__ unsigned short to_half(float x)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
static __device__ float of_half(unsigned short h)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}

// times_power returns x * 2^e.
static __device__ float times_power(float x, int e)
{
    return -126 <= e && e <= 127 ? x * __int_as_float((e + 127) << 23) : scalbnf(x, e);
}

// load4 reads 4 elements of a row, of which `left` are in the matrix; the others are 0. aligned: all rows begin at
// multiples of 16 bytes.
static __device__ void load4(float (&x)[4], const float *row, int left, bool aligned)
{
    if (aligned && left >= 4)
        *(float4 *)x = *(const float4 *)row;
    else
        #pragma unroll
        for (int e = 0; e < 4; e++)
            x[e] = e < left ? row[e] : 0;
}

// aligned says whether all rows of X begin at multiples of 16 bytes.
static __device__ bool aligned(const float *X, long long ldx)
{
    return ldx % 4 == 0 && (unsigned long long)X % 16 == 0;
}

// split4 writes 4 elements, divided by powers of two, in two parts: X = H + L/2^11. It returns whether one does
// not fit.
static __device__ bool split4(const float (&x)[4], const int (&exponents)[4], unsigned short *H, unsigned short *L)
{
    bool bad = false;
    alignas(8) unsigned short high[4], low[4];
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        const float y = times_power(x[e], -exponents[e]);
        bad |= !(fabsf(y) < 0x1p15f) || x[e] != 0 && fabsf(y) < 0x1p-21f;
        high[e] = to_half(y);
        low[e] = to_half((y - of_half(high[e])) * 0x1p11f);
    }
    *(uint2 *)H = *(const uint2 *)high;
    *(uint2 *)L = *(const uint2 *)low;
    return bad;
}

// PART rows of B have their maxima together, and ROWS are split by a block.
#ifndef PART
#define PART 128
#endif
constexpr int ROWS = 32;

// split_a finds the largest |element| of each column in PART rows of B in its first blocks: a row of maxima for each
// part, with rows of 4*ceil(n/4). Each of the other m blocks splits a row of A. H and L have rows of ldh elements, a
// multiple of 8.
// Launch: ceil(n/256) * ceil(k/PART) + m blocks.
extern "C" __global__ void __launch_bounds__(256) split_a(int m, int n, int k, const float *A, long long lda,
    const float *B, long long ldb, int *exponents, unsigned short *H, unsigned short *L, long long ldh,
    float *maxima, int *unfit_a, int *unfit)
{
    float max = 0;
    const int strips = (n + 255) / 256, i = (int)blockIdx.x - strips * ((k + PART - 1) / PART);
    if (i < 0) {
        const int part = (int)blockIdx.x / strips, j = (int)blockIdx.x % strips * 256 + threadIdx.x;
        const int from = part * PART, to = j >= n ? from : k - from < PART ? k : from + PART;
        #pragma unroll 16
        for (int p = from; p < to; p++)
            max = fmaxf(max, fabsf(B[p * ldb + j]));
        if (j < (n + 3) / 4 * 4)
            maxima[part * ((n + 3) / 4 * 4ll) + j] = max;
        return;
    }
    __shared__ float of_warp[8];
    const float *row = A + i * lda;
    const bool wide = aligned(A, lda);
    float x[4];
    for (int p = threadIdx.x * 4; p < k; p += 1024) {
        load4(x, row + p, k - p, wide);
        max = fmaxf(fmaxf(fmaxf(max, fabsf(x[0])), fmaxf(fabsf(x[1]), fabsf(x[2]))), fabsf(x[3]));
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, lanes));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = max;
    __syncthreads();
    for (int w = 0; w < 8; w++)
        max = fmaxf(max, of_warp[w]);
    const int e = exponent_of(max), all[4] = {e, e, e, e};
    bool bad = false;
    for (int p = threadIdx.x * 4; p < k; p += 1024) { // the row is in a cache now
        load4(x, row + p, k - p, wide);
        bad |= split4(x, all, H + i * ldh + p, L + i * ldh + p);
    }
    if (bad)
        *unfit_a = 1;
    if (threadIdx.x == 0) {
        exponents[i] = e;
        if (i == 0)
            *unfit = 0;
    }
}

// split_b splits ROWS rows of 1024 columns of B in each block, and writes the exponents of the columns.
// Launch: ceil(n/1024) * max(1, ceil(k/ROWS)) blocks.
extern "C" __global__ void __launch_bounds__(256) split_b(int n, int k, const float *B, long long ldb,
    const float *maxima, int *exponents, unsigned short *H, unsigned short *L, long long ldh,
    const int *unfit_a, int *unfit)
{
    const int strips = (n + 1023) / 1024, first = (int)blockIdx.x / strips * ROWS;
    const int j = (int)blockIdx.x % strips * 1024 + threadIdx.x * 4;
    if (blockIdx.x == 0 && threadIdx.x == 0 && *unfit_a)
        *unfit = 1;
    if (j >= n)
        return;
    float4 max = {};
    const float4 *of_part = (const float4 *)(maxima + j);
    #pragma unroll 8
    for (int part = 0; part < (k + PART - 1) / PART; part++, of_part += (n + 3) / 4)
        max = {fmaxf(max.x, of_part->x), fmaxf(max.y, of_part->y), fmaxf(max.z, of_part->z), fmaxf(max.w, of_part->w)};
    const float all[4] = {max.x, max.y, max.z, max.w};
    int of_column[4];
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        of_column[e] = exponent_of(all[e]);
        if (first == 0 && j + e < n)
            exponents[j + e] = of_column[e];
    }
    const int to = k - first < ROWS ? k : first + ROWS;
    const bool wide = aligned(B, ldb);
    bool bad = false;
    #pragma unroll 4
    for (int p = first; p < to; p++) {
        float x[4];
        load4(x, B + p * ldb + j, n - j, wide);
        bad |= split4(x, of_column, H + p * ldh + j, L + p * ldh + j);
    }
    if (bad)
        *unfit = 1;
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

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm(int m, int n, int k, float alpha,
    const __grid_constant__ TensorMap Ah, const __grid_constant__ TensorMap Al,
    const __grid_constant__ TensorMap Bh, const __grid_constant__ TensorMap Bl,
    const int *exponents_of_a, const int *exponents_of_b, int *unfit_a, const int *unfit,
    float beta, float *C, long long ldc
#ifdef CUT
    , int whole, int span, int each, float *partial, int *arrived
#endif
    )
{
    // STAGES times a slice of each of the four, at a multiple of 1024 bytes, then the barriers.
    extern __shared__ unsigned char shared[];
    MARKS;
    constexpr int SLICE_A = 2 * BM * BK, SLICE_B = 2 * BK * BN, SLICE = 2 * (SLICE_A + SLICE_B);
    constexpr int COLUMNS = 128 * BK; // bytes of 64 columns of a slice of B
    const unsigned slices = (shared_address(shared) + 1023) / 1024 * 1024;
    const unsigned full = slices + STAGES * SLICE, empty = full + 8 * STAGES;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *unfit_a = 0;
    if (*unfit)
        return;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, 2);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    // Without k, there is one slice, of zeros from beyond the operands.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int count = k > 0 ? (k + BK - 1) / BK : 1, beyond = k > 0 ? 0 : 1 << 30;
#ifdef CUT
    const int parts = span / each, items = whole + (tiles_m * tiles_n - whole) * parts;
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
        if (t >= whole) {
            first = (t - whole) % parts * each;
            last = count - first < each ? count : first + each;
            t = whole + (t - whole) / parts;
        }
#endif
        const int group = t / (SWIZZLE * tiles_n) * SWIZZLE;
        const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
        row0 = (group + t % (SWIZZLE * tiles_n) % height) * BM;
        col0 = t % (SWIZZLE * tiles_n) / height * BN;
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
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x != 0)
            return;
        for (int t = blockIdx.x; t < items; t += gridDim.x) {
            take(t);
            for (int s = first; s < last; s++) {
                MARK(PRODUCER, WAIT);
                wait(empty + 8 * stage, parity ^ 1);
                MARK(PRODUCER, COPY);
                const unsigned slice = slices + stage * SLICE, barrier = full + 8 * stage;
                expect(barrier, SLICE);
                copy_box(slice, &Ah, barrier, s * BK + beyond, row0);
                copy_box(slice + SLICE_A, &Al, barrier, s * BK + beyond, row0);
                for (int j = 0; j < BN / 64; j++) {
                    const unsigned to = slice + 2 * SLICE_A + j * COLUMNS;
                    copy_box(to, &Bh, barrier, col0 + 64 * j, s * BK + beyond);
                    copy_box(to + SLICE_B, &Bl, barrier, col0 + 64 * j, s * BK + beyond);
                }
                advance();
            }
        }
        MARK(PRODUCER, DONE);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");

    // A lane has rows lane/4 and 8 further on in the 16 of its warp, and columns 2*(lane%4) and the next of
    // each 8.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    // store4 writes the sums x of both rows and both columns at j.
    auto store4 = [&](const float (&x)[4], int i, int j) {
        #pragma unroll
        for (int h = 0; h < 2; h++)
            #pragma unroll
            for (int e = 0; e < 2; e++)
                if (i + 8 * h < m && j + e < n)
                    store_c(&C[(i + 8 * h) * ldc + j + e], alpha
                        * times_power(x[2 * h + e], exponents_of_a[i + 8 * h] + exponents_of_b[j + e]), beta);
    };
#ifdef CUT
    // As in tf32-wgmma-persistent. float4 number y of a thread is of columns 8*y and so on.
    if (threadIdx.x == 128)
        atomicAdd(&arrived[0], 1);
    auto place_of = [&](int t) {
        return (float4 *)partial + (long long)(t - whole) * (BM * BN / 4) + threadIdx.x - 128;
    };
    auto arrivals = [&](int t) { return &arrived[2 + (t - whole) / parts * 8 + warp]; };
    auto add_parts = [&](int t, int from, int step) {
        const float4 *place = place_of(whole + (t - whole) / parts * parts);
        constexpr int GROUP = 8; // of which the reads are under way at the same time
        for (int y0 = from; y0 < BN / 8; y0 += GROUP * step) {
            float sum[GROUP][4] = {};
            #pragma unroll 2
            for (int p = 0; p < parts; p++)
                #pragma unroll
                for (int u = 0; u < GROUP; u++) {
                    const int y = y0 + u * step < BN / 8 ? y0 + u * step : y0;
                    const float4 part = __ldcg(&place[(long long)p * (BM * BN / 4) + 256 * y]);
                    sum[u][0] += part.x;
                    sum[u][1] += part.y;
                    sum[u][2] += part.z;
                    sum[u][3] += part.w;
                }
            #pragma unroll
            for (int u = 0; u < GROUP; u++)
                if (y0 + u * step < BN / 8)
                    store4(sum[u], row0 + 16 * warp + lane / 4, col0 + 8 * (y0 + u * step) + lane % 4 * 2);
        }
    };
    int waits = items; // the first part whose warp waits for others
#endif
    for (int t = blockIdx.x; t < items; t += gridDim.x) {
        take(t);
        float sum[BN / 2] = {}, high[BN / 2], low[BN / 2];
        for (int s = first; s < last; s++) {
            MARK(CONSUMER, WAIT);
            wait(full + 8 * stage, parity);
            MARK(CONSUMER, MULTIPLY);
            const unsigned a = slices + stage * SLICE + warp / 4 * (64 * 128);
            const unsigned b = slices + stage * SLICE + 2 * SLICE_A;
            const bool fresh = (s - first) % (CHUNK / BK) == 0;
            begin();
            #pragma unroll
            for (int p = 0; p < BK / 16; p++)
                multiply(high, descriptor(a + 32 * p, 16), descriptor(b + 2048 * p, COLUMNS), !fresh || p > 0);
            #pragma unroll
            for (int p = 0; p < BK / 16; p++) {
                multiply(low, descriptor(a + 32 * p, 16), descriptor(b + SLICE_B + 2048 * p, COLUMNS),
                    s > first || p > 0);
                multiply(low, descriptor(a + SLICE_A + 32 * p, 16), descriptor(b + 2048 * p, COLUMNS), true);
            }
            commit();
            finish<0>(); // meanwhile the other warpgroup multiplies
            if (threadIdx.x % 128 == 0)
                arrive(empty + 8 * stage);
            advance();
            if ((s - first + 1) % (CHUNK / BK) == 0 || s + 1 == last)
                #pragma unroll
                for (int i = 0; i < BN / 2; i++)
                    sum[i] += high[i];
        }
        MARK(CONSUMER, STORE);
        #pragma unroll
        for (int i = 0; i < BN / 2; i++)
            sum[i] += low[i] * 0x1p-11f;

#ifdef CUT
        if (t >= whole) {
            float4 *place = place_of(t);
            #pragma unroll
            for (int y = 0; y < BN / 8; y++)
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
        const int i = row0 + 16 * warp + lane / 4, j = col0 + lane % 4 * 2;
        if (beta == 0 && row0 + BM <= m && col0 + BN <= n && ldc % 2 == 0 && (unsigned long long)C % 8 == 0) {
            #pragma unroll
            for (int h = 0; h < 2; h++) { // without conditions, one store follows the other
                const int of_row = exponents_of_a[i + 8 * h];
                #pragma unroll
                for (int y = 0; y < BN / 8; y++) {
                    const int e = of_row + exponents_of_b[j + 8 * y], f = of_row + exponents_of_b[j + 8 * y + 1];
                    *(float2 *)&C[(i + 8 * h) * ldc + j + 8 * y] = make_float2(
                        alpha * times_power(sum[4 * y + 2 * h], e), alpha * times_power(sum[4 * y + 2 * h + 1], f));
                }
            }
            continue;
        }
        #pragma unroll
        for (int y = 0; y < BN / 8; y++) {
            const float x[4] = {sum[4 * y], sum[4 * y + 1], sum[4 * y + 2], sum[4 * y + 3]};
            store4(x, i, j + 8 * y);
        }
    }
#ifdef CUT
    for (int t = waits; t < items; t += gridDim.x) {
        int now = 0;
        if (lane == 0)
            while ((now = look(arrivals(t))) % ALONE < parts)
                ;
        if (__shfl_sync(0xffffffff, now, 0) > ALONE) // the last to come adds all
            continue;
        take(t);
        add_parts(t, (t - whole) % parts, parts);
    }
    int finished = 0;
    if (lane == 0) {
        __threadfence();
        finished = atomicAdd(&arrived[1], 1) + 1;
    }
    if (__shfl_sync(0xffffffff, finished, 0) == 8 * gridDim.x) // no block polls any more
        for (int i = lane; i < 2 + 8 * (tiles_m * tiles_n - whole); i += 32)
            arrived[i] = 0;
#endif
    MARK(CONSUMER, DONE);
}
