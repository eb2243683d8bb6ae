// wgmma: products of whole warpgroups, which read both operands from shared memory.
//
// Against mma-tma: four warps together multiply 64 x 16 by 16 x BN elements with one instruction (compute capability
// 9.0). It reads slices in shared memory itself, as a descriptor says that they lie there: there are no fragments
// in registers. A multiprocessor holds two blocks: one multiplies while the other waits for its slice.
// Types: elements are f16, or bf16 with BF16. Products are exact, sums are in f32, and C is rounded once.
// TRANS_A: A is stored transposed, as k x m; TRANS_B: B as n x k. An operand is read as it lies: a bit
// of the instruction says whether its rows go along k.
//
// Tile: BM x BN a block; a warpgroup has 64 rows, a block THREADS = 128*BM/64 threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of 2*STAGES*BK*(BM + BN) + 1024 + 64 bytes.
// A, B: maps of the matrices as they are stored, with boxes of 64 x 64.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/64 + 1/BN) elements a block and slice.

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
#define STAGES 2
#endif
#ifndef SWIZZLE
#define SWIZZLE 8
#endif
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#ifdef BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

// MARK notes that a role begins a step, in builds for timelines (timeline.cu).
#ifndef MARK
#define MARKS
#define MARK(role, step)
#endif

#define THREADS (128 * BM / 64)
#define BOX (64 * 128) // bytes of 64 rows of 64 elements

static_assert(BN == 128, "wgmma has 128 columns here");
static_assert(BM % 64 == 0 && THREADS <= 1024, "a warpgroup has 64 rows of C");
static_assert(BK == 64, "a row of a box is 128 bytes");
static_assert(8 * STAGES <= 64, "barriers have 64 bytes");

// TensorMap describes a matrix and the box of one copy; the driver encodes it.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// 16 sums as operands of an instruction, and ten of their names.
#define SUMS(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), \
    "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7]), "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), \
    "+f"(d[i + 11]), "+f"(d[i + 12]), "+f"(d[i + 13]), "+f"(d[i + 14]), "+f"(d[i + 15])
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, " \
    "%" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "

// shared_address is the address within shared memory that copies and barriers want.
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

// expect counts one arrival. The phase then lasts until copies have written the bytes, too.
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
// lies outside of the matrix becomes 0. Rows of 128 bytes arrive swizzled: the 16 bytes at offset 16*i of
// row r lie at offset 16*(i ^ r % 8). The barrier gets the bytes.
static __device__ void copy_box(unsigned to, const TensorMap *map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4}], [%2];"
        :: "r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y) : "memory");
}

// descriptor says where an operand of wgmma lies: rows of 128 bytes, swizzled, in groups of 8 that are
// 1024 bytes apart. If rows go along k, one has 64 elements at a k index, and the next 64 are a box further.
static __device__ unsigned long long descriptor(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(BOX >> 4) << 16 |
        (1024ull >> 4) << 32 | 1ull << 62;
}

// begin comes before a warpgroup multiplies: what it has written to the registers of sums is then there.
static __device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// commit closes the group of products that were begun.
static __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// finish returns when all groups but the LEFT youngest are done.
template <int LEFT> static __device__ void finish()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory");
}

// The operands of the instruction: its sums, and the names of all.
#define ALL_SUMS SUMS(0), SUMS(16), SUMS(32), SUMS(48)
#define NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define ADD "%66"
#define OTHERS "%64, %65, p, 1, 1, %67, %68"

// multiply adds the product of 64 x 16 and 16 x BN elements in shared memory to the sums of a warpgroup, or
// to 0. It only begins: a commit and a wait follow.
static __device__ void multiply(float (&d)[BN / 2], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred p;\n"
        "setp.ne.b32 p, " ADD ", 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" NAMES "}, " OTHERS "; }"
        : ALL_SUMS : "l"(a), "l"(b), "r"((int)add), "n"(TRANS_A), "n"(1 - TRANS_B));
}

// pack rounds two numbers to nearest even. The first is in the low half.
static __device__ unsigned pack(float x, float y)
{
    unsigned pair;
    asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

// widen returns the element as a float.
static __device__ float widen(unsigned x)
{
#ifdef BF16
    return __uint_as_float(x << 16);
#else
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"((unsigned short)x));
    return y;
#endif
}

// store sets two neighbouring elements of C, of which `left` exist, to beta*C + (x, y), rounded once. Both are
// copied at once if the address permits. beta == 0 must not read C: it may hold NaN.
static __device__ void store(unsigned short *c, int left, float x, float y, float beta)
{
    if (left > 1 && (unsigned long long)c % 4 == 0) {
        if (beta != 0) {
            const unsigned pair = *(const unsigned *)c;
            x += beta * widen(pair & 0xffff);
            y += beta * widen(pair >> 16);
        }
        *(unsigned *)c = pack(x, y);
        return;
    }
    if (left > 0)
        c[0] = (unsigned short)pack(beta == 0 ? x : x + beta * widen(c[0]), 0);
    if (left > 1)
        c[1] = (unsigned short)pack(beta == 0 ? y : y + beta * widen(c[1]), 0);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) gemm(int m, int n, int k, float alpha,
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
    float beta, unsigned short *C, long long ldc)
{
    // STAGES times a slice of A and one of B, at a multiple of 1024 bytes, then the barriers. A slice is boxes
    // of 64 x 64 elements.
    extern __shared__ unsigned char shared[];
    MARKS;
    constexpr int SLICE_A = BM / 64 * BOX, SLICE = SLICE_A + BN / 64 * BOX;
    const unsigned slices = (shared_address(shared) + 1023) / 1024 * 1024;
    const unsigned full = slices + STAGES * SLICE;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++)
            init(full + 8 * s, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    // The tile of C: groups of SWIZZLE rows of tiles, in a group column of tiles after column of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int row0 = (group + (int)blockIdx.x % (SWIZZLE * tiles_n) % height) * BM;
    const int col0 = (int)blockIdx.x % (SWIZZLE * tiles_n) / height * BN;

    // fetch starts the copy of slice s.
    auto fetch = [&](int s) {
        const unsigned slice = slices + s % STAGES * SLICE, barrier = full + 8 * (s % STAGES);
        expect(barrier, SLICE);
        for (int b = 0; b < BM; b += 64)
            copy_box(slice + b / 64 * BOX, &A, barrier, TRANS_A ? row0 + b : s * BK,
                TRANS_A ? s * BK : row0 + b);
        for (int b = 0; b < BN; b += 64)
            copy_box(slice + SLICE_A + b / 64 * BOX, &B, barrier, TRANS_B ? s * BK : col0 + b,
                TRANS_B ? col0 + b : s * BK);
    };
    const int count = (k + BK - 1) / BK;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES && s < count; s++)
            fetch(s);

    // From one product of 16 k indices to the next.
    constexpr int STEP_A = TRANS_A ? 16 * 128 : 16 * 2, STEP_B = TRANS_B ? 16 * 2 : 16 * 128;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warpgroup = warp / 4;
    float sum[BN / 2];
    #pragma unroll 1
    for (int s = 0; s < count; s++) {
        MARK(WORKER, WAIT);
        wait(full + 8 * (s % STAGES), s / STAGES % 2);
        MARK(WORKER, MULTIPLY);
        const unsigned slice = slices + s % STAGES * SLICE;
        begin();
        #pragma unroll
        for (int p = 0; p < BK / 16; p++)
            multiply(sum, descriptor(slice + warpgroup * BOX + p * STEP_A),
                descriptor(slice + SLICE_A + p * STEP_B), s > 0 || p > 0);
        commit();
        finish<0>();
        __syncthreads(); // all have read the slice: another may take its place
        if (threadIdx.x == 0 && s + STAGES < count)
            fetch(s + STAGES);
    }
    MARK(WORKER, STORE);
    if (count == 0)
        #pragma unroll
        for (int i = 0; i < BN / 2; i++)
            sum[i] = 0;

    // C: a lane has columns 2*(lane%4) and the next of each 8, and rows lane/4 and 8 further on in the 16 of
    // its warp.
    #pragma unroll
    for (int h = 0; h < 2; h++) {
        const int i = row0 + 16 * warp + lane / 4 + 8 * h;
        #pragma unroll
        for (int y = 0; y < BN / 8; y++) {
            const float *d = &sum[4 * y + 2 * h];
            const int j = col0 + 8 * y + lane % 4 * 2, left = i < m ? n - j : 0;
            store(C + i * ldc + j, left, alpha * d[0], alpha * d[1], beta);
        }
    }
    MARK(WORKER, DONE);
}
