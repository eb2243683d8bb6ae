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
// Elements 0 < |x| < 2^-21, infinities and NaN do not fit: `split` notes them in *unfit, and another kernel
// computes the product (warptile).
//
// The kernels, in their order: exponents_a, maxima_b, exponents_b, split_a, split_b, gemm.
// Tile: BM x BN a block; THREADS = 384: the producer's warpgroup and two that have 64 rows each.
// Launch of gemm: as many blocks as multiprocessors, or as tiles if these are fewer; dynamic shared memory of
// 4*STAGES*BK*(BM + BN) + 1024 + 64 bytes.
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

// TensorMap describes a matrix and the box that one copy brings; the driver encodes it.
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

// expect counts one arrival. The phase then lasts until copies have brought the bytes, too.
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

// exponents_a: the exponents of the rows of A, a block for each row. It also clears *unfit.
extern "C" __global__ void __launch_bounds__(256) exponents_a(int rows, int cols, const float *A, long long lda,
    int *exponents, int *unfit)
{
    __shared__ float of_warp[8];
    float max = 0;
    for (int p = threadIdx.x; p < cols; p += 256)
        max = fmaxf(max, fabsf(A[blockIdx.x * lda + p]));
    for (int lanes = 16; lanes > 0; lanes /= 2)
        max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, lanes));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = max;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int w = 1; w < 8; w++)
        max = fmaxf(max, of_warp[w]);
    exponents[blockIdx.x] = exponent_of(max);
    if (blockIdx.x == 0)
        *unfit = 0;
}

// maxima_b: the largest |element| of each column in PART rows of B, a row of maxima for each part.
// Launch: ceil(cols/256) * ceil(rows/PART) blocks.
#ifndef PART
#define PART 128
#endif
extern "C" __global__ void __launch_bounds__(256) maxima_b(int rows, int cols, const float *B, long long ldb,
    float *maxima)
{
    const int strips = (cols + 255) / 256;
    const int j = (int)blockIdx.x % strips * 256 + threadIdx.x, part = (int)blockIdx.x / strips;
    if (j >= cols)
        return;
    const int from = part * PART, to = rows - from < PART ? rows : from + PART;
    float max = 0;
    #pragma unroll 8
    for (int p = from; p < to; p++)
        max = fmaxf(max, fabsf(B[p * ldb + j]));
    maxima[(long long)part * cols + j] = max;
}

// exponents_b: the exponents of the columns of B, from their maxima in each part. Launch: ceil(cols/256)
// blocks.
extern "C" __global__ void __launch_bounds__(256) exponents_b(int cols, int parts, const float *maxima, int *exponents)
{
    const int j = (int)blockIdx.x * 256 + threadIdx.x;
    if (j >= cols)
        return;
    float max = 0;
    for (int part = 0; part < parts; part++)
        max = fmaxf(max, maxima[(long long)part * cols + j]);
    exponents[j] = exponent_of(max);
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

// split: X = H + L/2^11, scaled by the exponents of its rows or of its columns. H and L have rows of ldh
// elements, a multiple of 8. Launch: rows * ceil(cols/1024) blocks.
template <bool ROWS> static __device__ void split(int cols, const float *X, long long ldx, const int *exponents,
    unsigned short *H, unsigned short *L, long long ldh, int *unfit)
{
    const int strips = (cols + 1023) / 1024;
    const int i = (int)blockIdx.x / strips, col0 = (int)blockIdx.x % strips * 1024 + threadIdx.x;
    bool bad = false;
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        const int j = col0 + 256 * e;
        if (j >= cols)
            continue;
        const float x = scalbnf(X[i * ldx + j], -exponents[ROWS ? i : j]);
        bad |= !(fabsf(x) < 0x1p15f) || x != 0 && fabsf(x) < 0x1p-21f;
        const unsigned short h = to_half(x);
        H[i * ldh + j] = h;
        L[i * ldh + j] = to_half((x - of_half(h)) * 0x1p11f);
    }
    if (bad)
        *unfit = 1;
}

extern "C" __global__ void __launch_bounds__(256) split_a(int rows, int cols, const float *A, long long lda,
    const int *exponents, unsigned short *H, unsigned short *L, long long ldh, int *unfit)
{
    split<true>(cols, A, lda, exponents, H, L, ldh, unfit);
}
extern "C" __global__ void __launch_bounds__(256) split_b(int rows, int cols, const float *B, long long ldb,
    const int *exponents, unsigned short *H, unsigned short *L, long long ldh, int *unfit)
{
    split<false>(cols, B, ldb, exponents, H, L, ldh, unfit);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm(int m, int n, int k, float alpha,
    const __grid_constant__ TensorMap Ah, const __grid_constant__ TensorMap Al,
    const __grid_constant__ TensorMap Bh, const __grid_constant__ TensorMap Bl,
    const int *exponents_of_a, const int *exponents_of_b, const int *unfit, float beta, float *C, long long ldc)
{
    // STAGES times a slice of each of the four, at a multiple of 1024 bytes, then the barriers.
    extern __shared__ unsigned char shared[];
    MARKS;
    constexpr int SLICE_A = 2 * BM * BK, SLICE_B = 2 * BK * BN, SLICE = 2 * (SLICE_A + SLICE_B);
    constexpr int COLUMNS = 128 * BK; // bytes of 64 columns of a slice of B
    const unsigned slices = (shared_address(shared) + 1023) / 1024 * 1024;
    const unsigned full = slices + STAGES * SLICE, empty = full + 8 * STAGES;
    if (*unfit)
        return;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, 2);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    // Tile t of C: groups of SWIZZLE rows of tiles, in a group column of tiles after column of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int count = (k + BK - 1) / BK;

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
        for (int t = blockIdx.x; t < tiles_m * tiles_n; t += gridDim.x) {
            const int group = t / (SWIZZLE * tiles_n) * SWIZZLE;
            const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
            const int row0 = (group + t % (SWIZZLE * tiles_n) % height) * BM;
            const int col0 = t % (SWIZZLE * tiles_n) / height * BN;
            for (int s = 0; s < count; s++) {
                MARK(PRODUCER, WAIT);
                wait(empty + 8 * stage, parity ^ 1);
                MARK(PRODUCER, COPY);
                const unsigned slice = slices + stage * SLICE, barrier = full + 8 * stage;
                expect(barrier, SLICE);
                copy_box(slice, &Ah, barrier, s * BK, row0);
                copy_box(slice + SLICE_A, &Al, barrier, s * BK, row0);
                for (int j = 0; j < BN / 64; j++) {
                    const unsigned to = slice + 2 * SLICE_A + j * COLUMNS;
                    copy_box(to, &Bh, barrier, col0 + 64 * j, s * BK);
                    copy_box(to + SLICE_B, &Bl, barrier, col0 + 64 * j, s * BK);
                }
                advance();
            }
        }
        MARK(PRODUCER, DONE);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    for (int t = blockIdx.x; t < tiles_m * tiles_n; t += gridDim.x) {
        const int group = t / (SWIZZLE * tiles_n) * SWIZZLE;
        const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
        const int row0 = (group + t % (SWIZZLE * tiles_n) % height) * BM;
        const int col0 = t % (SWIZZLE * tiles_n) / height * BN;
        float sum[BN / 2] = {}, high[BN / 2], low[BN / 2];
        for (int s = 0; s < count; s++) {
            MARK(CONSUMER, WAIT);
            wait(full + 8 * stage, parity);
            MARK(CONSUMER, MULTIPLY);
            const unsigned a = slices + stage * SLICE + warp / 4 * (64 * 128);
            const unsigned b = slices + stage * SLICE + 2 * SLICE_A;
            const bool fresh = s % (CHUNK / BK) == 0;
            begin();
            #pragma unroll
            for (int p = 0; p < BK / 16; p++)
                multiply(high, descriptor(a + 32 * p, 16), descriptor(b + 2048 * p, COLUMNS), !fresh || p > 0);
            #pragma unroll
            for (int p = 0; p < BK / 16; p++) {
                multiply(low, descriptor(a + 32 * p, 16), descriptor(b + SLICE_B + 2048 * p, COLUMNS), s > 0 || p > 0);
                multiply(low, descriptor(a + SLICE_A + 32 * p, 16), descriptor(b + 2048 * p, COLUMNS), true);
            }
            commit();
            finish<0>(); // meanwhile the other warpgroup multiplies
            if (threadIdx.x % 128 == 0)
                arrive(empty + 8 * stage);
            advance();
            if ((s + 1) % (CHUNK / BK) == 0 || s + 1 == count)
                #pragma unroll
                for (int i = 0; i < BN / 2; i++)
                    sum[i] += high[i];
        }
        MARK(CONSUMER, STORE);
        if (count == 0)
            #pragma unroll
            for (int i = 0; i < BN / 2; i++)
                low[i] = 0;

        // C: a lane has rows lane/4 and 8 further on in the 16 of its warp, and columns 2*(lane%4) and the
        // next of each 8.
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            const int i = row0 + 16 * warp + lane / 4 + 8 * h;
            const int exponent = i < m ? exponents_of_a[i] : 0;
            #pragma unroll
            for (int y = 0; y < BN / 8; y++)
                #pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int j = col0 + 8 * y + lane % 4 * 2 + e, x = 4 * y + 2 * h + e;
                    if (i < m && j < n)
                        store_c(&C[i * ldc + j],
                            alpha * scalbnf(sum[x] + low[x] * 0x1p-11f, exponent + exponents_of_b[j]), beta);
                }
        }
    }
    MARK(CONSUMER, DONE);
}
