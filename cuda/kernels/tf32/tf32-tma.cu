// tf32-tma: the copy engine (TMA) copies slices to shared memory.
//
// Against tf32-mma: one thread starts the copy of a whole slice (compute capability 9.0), which ends
// at a barrier in shared memory. No thread computes the addresses of copies, or whether they lie inside.
// Boxes have rows of 128 bytes, whose units of 16 bytes are swizzled, so that fragments are read
// without bank conflicts. A was rounded to TF32 before, by `to_tf32`, and has its k in the order that
// lanes read: of each 8, 0, 2, 4, 6, 1, 3, 5, 7. So lane t has the k indices 2*t and 2*t + 1 of both
// operands, in place of t and t + 4.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of
// 4*STAGES*BK*(BM + BN) + 1024 + 64 bytes.
// A: a map of m rows and 8*ceil(k/8) columns with boxes of BM x BK; B: of k x n with boxes of BK x 32.
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
#define BK 32
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

#define THREADS (32 * (BM / WM) * (BN / WN))

static_assert(BM % WM == 0 && BN % WN == 0, "a tile of C is a whole number of warp tiles");
static_assert(WM % 16 == 0 && WN % 16 == 0, "a warp tile is a whole number of fragments");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM <= 256 && BN % 32 == 0, "a box has at most 256 rows");
static_assert(BK == 32, "a row of a slice of A is 128 bytes");
static_assert(8 * STAGES <= 64, "barriers have 64 bytes");

// TensorMap describes a matrix and the box of one copy; the driver encodes it.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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

// round_tf32 rounds to the nearest TF32 number, ties away from zero. The tensor cores would truncate.
static __device__ unsigned round_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

// multiply adds the product of 16 x 8 and 8 x 8 elements to 16 x 8 sums. With g = lane/4 and t = lane%4,
// a lane has rows g and g + 8 of A at k indices 2*t and 2*t + 1, column g of B at the same k indices, and
// columns 2*t and 2*t + 1 of C in rows g and g + 8.
static __device__ void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32\n"
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k, float alpha,
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
    float beta, float *C, long long ldc)
{
    // STAGES times a slice of A and one of B, at a multiple of 1024 bytes, then the barriers.
    extern __shared__ unsigned char shared[];
    constexpr int SLICE_A = 4 * BM * BK, SLICE = SLICE_A + 4 * BK * BN;
    const unsigned begin = (1024 - shared_address(shared) % 1024) % 1024;
    const unsigned slices = shared_address(shared) + begin, full = slices + STAGES * SLICE;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++)
            init(full + 8 * s, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    // The tile of this block: groups of SWIZZLE rows of tiles, in a group column of tiles after column
    // of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int row0 = (group + (int)blockIdx.x % (SWIZZLE * tiles_n) % height) * BM;
    const int col0 = (int)blockIdx.x % (SWIZZLE * tiles_n) / height * BN;

    // The tile of this warp, and the place of this lane in fragments.
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const int row = warp / (BN / WN) * WM;
    const int col = warp % (BN / WN) * WN;

    // fetch starts the copy of slice s.
    const int count = (k + BK - 1) / BK;
    auto fetch = [&](int s) {
        const unsigned slice = slices + s % STAGES * SLICE, barrier = full + 8 * (s % STAGES);
        expect(barrier, SLICE);
        copy_box(slice, &A, barrier, s * BK, row0);
        for (int j = 0; j < BN; j += 32)
            copy_box(slice + SLICE_A + j * (BK * 4), &B, barrier, col0 + j, s * BK);
    };

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES && s < count; s++)
            fetch(s);

    float sum[WM / 16][WN / 8][4] = {};

    #pragma unroll 1
    for (int s = 0; s < count; s++) {
        wait(full + 8 * (s % STAGES), s / STAGES % 2);
        const float *As = (const float *)(shared + begin + s % STAGES * SLICE), *Bs = As + BM * BK;
        #pragma unroll
        for (int p = 0; p < BK; p += 8) {
            unsigned a[WM / 16][4], b[WN / 8][2];
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int v = 0; v < 4; v++) {
                    const int i = row + 16 * x + v % 2 * 8 + g, unit = p / 4 + v / 2;
                    a[x][v] = __float_as_uint(As[i * BK + (unit ^ g) * 4 + t]);
                }
            #pragma unroll
            for (int y = 0; y < WN / 8; y++)
                #pragma unroll
                for (int v = 0; v < 2; v++) {
                    const int j = col + 8 * y + g, q = 2 * t + v, unit = j % 32 / 4;
                    b[y][v] = round_tf32(Bs[j / 32 * (BK * 32) + (p + q) * 32 + (unit ^ q) * 4 + j % 4]);
                }
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 8; y++)
                    multiply(sum[x][y], a[x], b[y]);
        }
        __syncthreads(); // all products of the slice are complete: another may take its place
        if (threadIdx.x == 0 && s + STAGES < count)
            fetch(s + STAGES);
    }

    // beta == 0 must not read C: it may hold NaN.
    #pragma unroll
    for (int x = 0; x < WM / 16; x++)
        #pragma unroll
        for (int y = 0; y < WN / 8; y++)
            #pragma unroll
            for (int v = 0; v < 4; v++) {
                const int i = row0 + row + 16 * x + v / 2 * 8 + g;
                const int j = col0 + col + 8 * y + 2 * t + v % 2;
                const float s = alpha * sum[x][y][v];
                if (i < m && j < n)
                    C[i * ldc + j] = beta == 0 ? s : s + beta * C[i * ldc + j];
            }
}
