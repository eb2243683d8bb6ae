// tf32-wgmma-ws: warp specialisation: one thread copies, two warpgroups multiply.
//
// Against tf32-wgmma: the producer runs ahead through a ring of STAGES slices, and waits only if the
// ring is full. No barrier stops the whole block. A slice has two barriers: `full` when its copy is
// complete, `empty` when both warpgroups have read it. The producer releases registers (setmaxnreg), so a
// warpgroup can have 64 x 256 sums. It reads its part of the next slice of B while the last products run.
// Tiles inside C are stored without conditions.
//
// Tile: BM x BN a block; THREADS = 384: the producer's warpgroup and two that have 64 columns each.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory
// of 4*STAGES*BK*(BM + BN) + 1024 + 64 bytes.
// A: a map of m rows and 8*ceil(k/8) columns with boxes of BM x BK; B: of k x n with boxes of BK x 32.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
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

// round_tf32 rounds to the nearest TF32 number, ties away from zero. The tensor cores would truncate.
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

extern "C" __global__ void __launch_bounds__(THREADS, 1) gemm(int m, int n, int k, float alpha,
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
    float beta, float *C, long long ldc)
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
            init(empty + 8 * s, 2);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    // The tile of this block: groups of SWIZZLE rows of tiles, in a group column of tiles after column
    // of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int row0 = (group + (int)blockIdx.x % (SWIZZLE * tiles_n) % height) * BM;
    const int col0 = (int)blockIdx.x % (SWIZZLE * tiles_n) / height * BN;
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
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x != 0)
            return;
        for (int s = 0; s < count; s++) {
            MARK(PRODUCER, WAIT);
            wait(empty + 8 * stage, parity ^ 1);
            MARK(PRODUCER, COPY);
            const unsigned slice = slices + stage * SLICE, barrier = full + 8 * stage;
            expect(barrier, SLICE);
            copy_box(slice, &A, barrier, s * BK, row0);
            for (int j = 0; j < BN; j += 32)
                copy_box(slice + SLICE_A + j * (BK * 4), &B, barrier, col0 + j, s * BK);
            advance();
        }
        MARK(PRODUCER, DONE);
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

    float sum[BM / 2];
    unsigned last = empty; // the barrier of the slice before
    #pragma unroll 2
    for (int s = 0; s < count; s++) {
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
            multiply(sum, b[p], descriptor(slice + 32 * p), s > 0 || p > 0);
        commit();
        finish<1>(); // the products of the slice before
        if (s > 0 && threadIdx.x % 128 == 0)
            arrive(last);
        last = empty + 8 * stage;
        advance();
    }
    finish<0>();
    MARK(CONSUMER, STORE);
    if (count > 0 && threadIdx.x % 128 == 0)
        arrive(last);
    if (count == 0)
        #pragma unroll
        for (int i = 0; i < BM / 2; i++)
            sum[i] = 0;

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
        MARK(CONSUMER, DONE);
        return;
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
    MARK(CONSUMER, DONE);
}
