// dmma-smem: tensor cores through the wmma instructions, from slices in shared memory.
//
// What changes against transposed: the multiply-adds go to the tensor cores. A
// warp, not a thread, owns a tile of C (WM×WN), made of 8×8 accumulators; one
// wmma instruction adds an 8×4 by 4×8 product. Which lane holds which element,
// the instruction leaves open: wmma loads and stores fragments too, of slices
// that lie as in memory. A half-warp reads 4 rows by 4 columns of a fragment
// at once. Rows of both slices are padded to 4 beyond a multiple of 16 doubles
// (the 32 banks): so rows 4 apart in the banks do not meet. The accumulators go
// through shared memory to C: whole rows of a warp's tile are written together.
//
// Tile:    BM×BN elements of C a block, WM×WN a warp.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = 32·(BM/WM)·(BN/WN) threads.
// Shared:  BM·(BK + 4) + BK·(BN + 4) doubles, dynamic.
// Needs:   compute capability 8.0.
// Traffic: global reads m·n·k·(1/BM + 1/BN) (equations 11, 12); shared reads
//          of a block and slice BM·BN·BK·(1/WM + 1/WN) (equations 14, 15 with
//          the tile of a warp: its lanes share what they load). Two
//          barriers a slice.

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 16
#endif
#ifndef WM
#define WM 32
#endif
#ifndef WN
#define WN 32
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
#define THREADS (32 * (BM / WM) * (BN / WN))

constexpr int a_stride = BK + 4; // of a row of a slice in shared memory
constexpr int b_stride = BN + 4;
constexpr int c_stride = WN + 4;
constexpr int a_size = BM * a_stride; // of a slice
constexpr int b_size = BK * b_stride;
constexpr int a_copies = BM * BK / (VA * THREADS); // copies a thread and slice
constexpr int b_copies = BK * BN / (VB * THREADS);

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's");
static_assert(WM % 8 == 0 && WN % 8 == 0 && BK % 4 == 0, "wmma multiplies 8x4 by 4x8");
static_assert(BK % 8 == 0 && BN % 8 == 0, "a stride of 4 or 12 modulo the 16 doubles of the banks");
static_assert(BM * BK % (VA * THREADS) == 0 && BK * BN % (VB * THREADS) == 0,
    "every thread copies equally many elements");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(THREADS / 32 * 8 * c_stride <= a_size + b_size,
    "the results of the warps fit where the slices were");

// load reads width elements, of which inside (it may be negative) lie inside
// the matrix; the others become 0.
__device__ __forceinline__ void load(double *to, const double *from, int width, int inside)
{
    if (width == 2 && inside >= 2) {
        const double2 pair = *reinterpret_cast<const double2 *>(from);
        to[0] = pair.x;
        to[1] = pair.y;
    } else {
        #pragma unroll
        for (int e = 0; e < width; e++)
            to[e] = e < inside ? from[e] : 0;
    }
}

// wmma_load_a loads an 8×4 fragment of A from shared memory.
__device__ __forceinline__ void wmma_load_a(double &a, const double *from, int stride)
{
    asm volatile("wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%0}, [%1], %2;"
        : "=d"(a) : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(stride) : "memory");
}

// wmma_load_b loads a 4×8 fragment of B from shared memory.
__device__ __forceinline__ void wmma_load_b(double &b, const double *from, int stride)
{
    asm volatile("wmma.load.b.sync.aligned.row.m8n8k4.shared.f64 {%0}, [%1], %2;"
        : "=d"(b) : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(stride) : "memory");
}

// wmma_mma adds the product of two fragments to an 8×8 accumulator.
__device__ __forceinline__ void wmma_mma(double (&c)[2], const double &a, const double &b)
{
    asm volatile("wmma.mma.sync.aligned.row.row.m8n8k4.rn.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

// wmma_store stores an accumulator to shared memory.
__device__ __forceinline__ void wmma_store(double *to, const double (&c)[2], int stride)
{
    asm volatile("wmma.store.d.sync.aligned.row.m8n8k4.shared.f64 [%0], {%1, %2}, %3;"
        :: "r"((unsigned)__cvta_generic_to_shared(to)), "d"(c[0]), "d"(c[1]), "r"(stride) : "memory");
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

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc)
{
    extern __shared__ __align__(32) double slices_memory[];
    double *const a_slice = slices_memory; // the slice of A, then of B
    double *const b_slice = slices_memory + a_size;

    const int thread = threadIdx.x;
    const int tiles_n = (n - 1) / BN + 1;
    const int row0 = blockIdx.x / tiles_n * BM; // first row and column of the tile
    const int col0 = blockIdx.x % tiles_n * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int warp = thread / 32;
    const int lane = thread % 32;
    const int i0 = warp / (BN / WN) * WM; // this warp's tile within the block's
    const int j0 = warp % (BN / WN) * WN;

    A += row0 * lda;
    B += col0;
    C += row0 * ldc + col0;
    double sum[WM / 8][WN / 8][2] = {};
    const int slices = k / BK + (k % BK != 0);
    for (int slice = 0; slice < slices; slice++) {
        const int k0 = slice * BK;

        // Beyond the edges come zeros. Beyond k both slices have them, since
        // zero times what A or B might hold there need not be zero.
        #pragma unroll
        for (int c = 0; c < a_copies; c++) {
            const int e = (thread + c * THREADS) * VA, i = e / BK, kk = e % BK;
            load(&a_slice[i * a_stride + kk], &A[i * lda + k0 + kk], VA, i < rows ? k - k0 - kk : 0);
        }
        #pragma unroll
        for (int c = 0; c < b_copies; c++) {
            const int e = (thread + c * THREADS) * VB, kk = e / BN, j = e % BN;
            load(&b_slice[kk * b_stride + j], &B[(k0 + kk) * ldb + j], VB, kk < k - k0 ? cols - j : 0);
        }
        __syncthreads(); // the slices are complete

        #pragma unroll
        for (int kk = 0; kk < BK; kk += 4) {
            double a[WM / 8], b[WN / 8];
            #pragma unroll
            for (int i = 0; i < WM / 8; i++)
                wmma_load_a(a[i], &a_slice[(i0 + 8 * i) * a_stride + kk], a_stride);
            #pragma unroll
            for (int j = 0; j < WN / 8; j++)
                wmma_load_b(b[j], &b_slice[kk * b_stride + j0 + 8 * j], b_stride);
            #pragma unroll
            for (int i = 0; i < WM / 8; i++)
                #pragma unroll
                for (int j = 0; j < WN / 8; j++)
                    wmma_mma(sum[i][j], a[i], b[j]);
        }
        __syncthreads(); // all have read them: the next may come
    }

    double *const c_rows = slices_memory + warp * 8 * c_stride; // 8 rows of this warp's tile
    #pragma unroll
    for (int i = 0; i < WM / 8; i++) {
        #pragma unroll
        for (int j = 0; j < WN / 8; j++)
            wmma_store(&c_rows[8 * j], sum[i][j], c_stride);
        __syncwarp();
        for (int e = lane * VC; e < 8 * WN; e += 32 * VC) {
            const int ci = i0 + 8 * i + e / WN, cj = j0 + e % WN;
            if (ci < rows)
                store(&C[ci * ldc + cj], &c_rows[e / WN * c_stride + e % WN], VC, cols - cj,
                    alpha, beta);
        }
        __syncwarp(); // all have read these rows
    }
}
