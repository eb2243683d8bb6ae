// tf32-multistage: longer slices and larger warp tiles, and neighbouring tiles run together.
//
// Against tf32-wmma: a slice has 32 k indices, so a quarter of the barriers is left, and a warp has
// 64 x 64 elements of C: it reads a third less from shared memory. Blocks that run at the same time
// compute neighbouring tiles, as in blockorder.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of
// 4*STAGES*(BM*(BK + 4) + BK*(BN + 8)) bytes.
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
#ifndef VA
#define VA 4
#endif
#ifndef VB
#define VB 4
#endif

#define THREADS (32 * (BM / WM) * (BN / WN))
#define LD_A (BK + 4)
#define LD_B (BN + 8)
#define LD_C (WN + 4)

static_assert(BM % WM == 0 && BN % WN == 0, "a tile of C is a whole number of warp tiles");
static_assert(WM % 16 == 0 && WN % 16 == 0 && BK % 8 == 0, "a warp tile is a whole number of fragments");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % (THREADS * VA) == 0 && BK * BN % (THREADS * VB) == 0,
    "each thread copies the same number of units");
static_assert(STAGES >= 2, "one slice is copied while another is multiplied");
static_assert(THREADS / 32 * 16 * LD_C <= STAGES * (BM * LD_A + BK * LD_B),
    "the results of the warps fit where the slices were");

// copy_async starts the copy of V elements to shared memory, of which the first `inside` (or
// more) lie inside; the others become 0.
template <int V> static __device__ void copy_async(float *to, const float *from, int inside)
{
    const int bytes = inside >= V ? 4 * V : inside > 0 ? 4 * inside : 0;
    asm volatile("{ .reg .u64 to; cvta.to.shared.u64 to, %0;\n"
        "cp.async.ca.shared.global.L2::128B [to], [%1], %3, %2; }"
        :: "l"(to), "l"(from), "r"(bytes), "n"(4 * V) : "memory");
}

// commit closes the group of copies that this thread started since the last commit.
static __device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// wait returns when all groups of this thread but the STAGES - 2 youngest are complete.
static __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory"); }

// round_tf32 rounds to the nearest TF32 number, ties away from zero. The tensor cores would truncate.
template <int N> static __device__ void round_tf32(unsigned (&x)[N])
{
    #pragma unroll
    for (int i = 0; i < N; i++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[i]) : "f"(__uint_as_float(x[i])));
}

// load_a has the warp read a fragment of A, 16 x 8 elements with rows LD_A elements apart.
static __device__ void load_a(unsigned (&a)[4], const float *from)
{
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.tf32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "l"(from), "r"(LD_A) : "memory");
}

// load_b has the warp read a fragment of B, 8 x 16 elements.
static __device__ void load_b(unsigned (&b)[4], const float *from)
{
    asm volatile("wmma.load.b.sync.aligned.row.m16n16k8.tf32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "l"(from), "r"(LD_B) : "memory");
}

// multiply adds the product of fragments to 16 x 16 sums.
static __device__ void multiply(float (&sum)[8], const unsigned (&a)[4], const unsigned (&b)[4])
{
    asm("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32\n"
        "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15},\n"
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]),
          "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}

// store_sums has the warp write 16 x 16 sums to shared memory.
static __device__ void store_sums(float *to, const float (&sum)[8])
{
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k8.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;"
        :: "l"(to), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]),
           "f"(sum[4]), "f"(sum[5]), "f"(sum[6]), "f"(sum[7]), "r"(LD_C) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc)
{
    // STAGES times a slice of A and one of B.
    extern __shared__ __align__(128) float shared[];
    constexpr int SLICE_A = BM * LD_A, SLICE = SLICE_A + BK * LD_B;

    // The tile of this block: groups of SWIZZLE rows of tiles, in a group column of tiles after column
    // of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int row0 = (group + (int)blockIdx.x % (SWIZZLE * tiles_n) % height) * BM;
    const int col0 = (int)blockIdx.x % (SWIZZLE * tiles_n) / height * BN;

    // The tile of this warp.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM;
    const int col = warp % (BN / WN) * WN;

    // fetch starts the copies of the slice that begins at k index p0, and closes their group. Beyond
    // the edges of A and B it is 0; beyond k the group is empty, and complete at once.
    auto fetch = [&](int p0) {
        float *As = &shared[p0 / BK % STAGES * SLICE], *Bs = As + SLICE_A;
        #pragma unroll 4
        for (int u = 0; p0 < k && u < BM * BK / VA / THREADS; u++) {
            const int e = (threadIdx.x + u * THREADS) * VA;
            const int i = row0 + e / BK, p = p0 + e % BK;
            copy_async<VA>(&As[e / BK * LD_A + e % BK], &A[i * lda + p], i < m ? k - p : 0);
        }
        #pragma unroll 4
        for (int u = 0; p0 < k && u < BK * BN / VB / THREADS; u++) {
            const int e = (threadIdx.x + u * THREADS) * VB;
            const int p = p0 + e / BN, j = col0 + e % BN;
            copy_async<VB>(&Bs[e / BN * LD_B + e % BN], &B[p * ldb + j], p < k ? n - j : 0);
        }
        commit();
    };

    float sum[WM / 16][WN / 16][8] = {};

    for (int s = 0; s < STAGES - 1; s++)
        fetch(s * BK);
    for (int p0 = 0; p0 < k; p0 += BK) {
        // Barrier: the copies of this slice are complete, and all products of the slice before, whose
        // place gets another.
        wait();
        __syncthreads();
        fetch(p0 + (STAGES - 1) * BK);

        const float *As = &shared[p0 / BK % STAGES * SLICE], *Bs = As + SLICE_A;
        #pragma unroll
        for (int p = 0; p < BK; p += 8) {
            unsigned a[WM / 16][4], b[WN / 16][4];
            #pragma unroll
            for (int x = 0; x < WM / 16; x++) {
                load_a(a[x], &As[(row + 16 * x) * LD_A + p]);
                round_tf32(a[x]);
            }
            #pragma unroll
            for (int y = 0; y < WN / 16; y++) {
                load_b(b[y], &Bs[p * LD_B + col + 16 * y]);
                round_tf32(b[y]);
            }
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 16; y++)
                    multiply(sum[x][y], a[x], b[y]);
        }
    }
    // Barrier: all products are complete.
    __syncthreads();

    // C: a warp writes 16 rows of its tile to its own place in the memory of the slices, and reads
    // them back along a row. beta == 0 must not read C: it may hold NaN.
    float *rows_c = &shared[warp * 16 * LD_C];
    #pragma unroll
    for (int x = 0; x < WM / 16; x++) {
        #pragma unroll
        for (int y = 0; y < WN / 16; y++)
            store_sums(&rows_c[16 * y], sum[x][y]);
        __syncwarp();
        #pragma unroll
        for (int e = lane; e < 16 * WN; e += 32) {
            const int i = row0 + row + 16 * x + e / WN, j = col0 + col + e % WN;
            const float s = alpha * rows_c[e / WN * LD_C + e % WN];
            if (i < m && j < n)
                C[i * ldc + j] = beta == 0 ? s : s + beta * C[i * ldc + j];
        }
        __syncwarp();
    }
}
