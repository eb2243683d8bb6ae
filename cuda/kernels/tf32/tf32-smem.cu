// tf32-smem: warps multiply fragments by tensor cores, in TF32, through the wmma instructions.
//
// Against smem: a warp has a tile of WM x WN elements of C. It multiplies fragments of 16 x 8 and
// 8 x 16 elements by instructions for matrices (compute capability 8.0), not single elements. The
// operands are rounded to TF32 (8 bits of exponent, 10 of mantissa) on their way to shared memory;
// products are exact and sums are in single precision, so the error is about 2^-11 an operand, some
// three decimal digits where f32 has seven. The layout of a fragment over the lanes is not specified:
// wmma loads and stores fragments, and C passes through shared memory to be scaled.
// Rows are lengthened by 4 elements in A and by 8 in B, against bank conflicts.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 4*(BM*(BK + 4) + BK*(BN + 8)) bytes of shared memory.
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

#define THREADS (32 * (BM / WM) * (BN / WN))
#define LD_A (BK + 4)
#define LD_B (BN + 8)
#define LD_C (WN + 4)

static_assert(BM % WM == 0 && BN % WN == 0, "a tile of C is a whole number of warp tiles");
static_assert(WM % 16 == 0 && WN % 16 == 0 && BK % 8 == 0, "a warp tile is a whole number of fragments");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % THREADS == 0 && BK * BN % THREADS == 0,
    "each thread copies the same number of elements");
static_assert(4 * (BM * LD_A + BK * LD_B) <= 48 * 1024, "static shared memory ends at 48 KiB");
static_assert(THREADS / 32 * 16 * LD_C <= BM * LD_A + BK * LD_B,
    "the results of the warps fit where the slices were");

// round_tf32 rounds to the nearest TF32 number, ties away from zero. The tensor cores would truncate.
static __device__ float round_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
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
    alignas(32) __shared__ float shared[BM * LD_A + BK * LD_B];
    float *As = shared, *Bs = shared + BM * LD_A;

    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;

    // The tile of this warp.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / (BN / WN) * WM;
    const int col = warp % (BN / WN) * WN;

    float sum[WM / 16][WN / 16][8] = {};

    for (int p0 = 0; p0 < k; p0 += BK) {
        // All threads together copy the slice; beyond the edges of A and B it is 0.
        #pragma unroll 2
        for (int u = 0; u < BM * BK / THREADS; u++) {
            const int e = threadIdx.x + u * THREADS;
            const int i = row0 + e / BK, p = p0 + e % BK;
            As[e / BK * LD_A + e % BK] = i < m && p < k ? round_tf32(A[i * lda + p]) : 0;
        }
        #pragma unroll 2
        for (int u = 0; u < BK * BN / THREADS; u++) {
            const int e = threadIdx.x + u * THREADS;
            const int p = p0 + e / BN, j = col0 + e % BN;
            Bs[e / BN * LD_B + e % BN] = p < k && j < n ? round_tf32(B[p * ldb + j]) : 0;
        }
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll
        for (int p = 0; p < BK; p += 8) {
            unsigned a[WM / 16][4], b[WN / 16][4];
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                load_a(a[x], &As[(row + 16 * x) * LD_A + p]);
            #pragma unroll
            for (int y = 0; y < WN / 16; y++)
                load_b(b[y], &Bs[p * LD_B + col + 16 * y]);
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 16; y++)
                    multiply(sum[x][y], a[x], b[y]);
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

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
