// dmma-mma: tensor cores through mma.sync, whose fragments are 16×16 and 16×8.
//
// What changes against dmma-async: the larger shape of compute capability 9.0
// (16×8×16) keeps the tensor cores of such a GPU busy, which 8×8×4, all that
// 8.x has, cannot. The instruction documents which lane holds which element,
// so fragments are plain loads from shared memory, and results are stored
// from registers.
//
// Tile:    BM×BN elements of C a block, WM×WN a warp.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = 32·(BM/WM)·(BN/WN) threads.
// Shared:  STAGES·(BM·(BK + 4) + BK·(BN + 4)) doubles, dynamic.
// Needs:   compute capability 8.0.
// Banks:   a half-warp reads elements 0..3 of 4 consecutive rows of a slice. A
//          row's stride is 4 or 12 modulo 16 doubles (the 32 banks): the 16
//          lanes cover all banks.
// Traffic: global reads m·n·k·(1/BM + 1/BN) (equations 11, 12); shared reads
//          of a block and slice BM·BN·BK·(1/WM + 1/WN) (equations 14, 15 with
//          the tile of a warp: its lanes share what they load). One barrier
//          a slice.

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
#ifndef STAGES
#define STAGES 3
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

// One mma multiplies mma_m×mma_k by mma_k×8; each lane holds that part of them:
#if __CUDA_ARCH__ >= 900
constexpr int mma_m = 16;
constexpr int mma_k = 16;
#else
constexpr int mma_m = 8;
constexpr int mma_k = 4;
#endif
constexpr int a_part = mma_m * mma_k / 32;
constexpr int b_part = mma_k * 8 / 32;
constexpr int c_part = mma_m * 8 / 32;

constexpr int a_stride = BK + 4; // of a row of a slice in shared memory
constexpr int b_stride = BN + 4;
constexpr int a_size = BM * a_stride; // of a slice
constexpr int b_size = BK * b_stride;
constexpr int a_copies = BM * BK / (VA * THREADS); // copies a thread and slice
constexpr int b_copies = BK * BN / (VB * THREADS);

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's");
static_assert(WM % 16 == 0 && WN % 8 == 0 && BK % 16 == 0, "mma multiplies whole fragments");
static_assert(BK % 8 == 0 && BN % 8 == 0, "a stride of 4 or 12 modulo the 16 doubles of the banks");
static_assert(BM * BK % (VA * THREADS) == 0 && BK * BN % (VB * THREADS) == 0,
    "every thread copies equally many elements");
static_assert(STAGES >= 2, "one slice is copied while another is read");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");

// copy_async starts a copy of width elements to shared memory, of which
// inside (it may be negative) lie inside the matrix; the others become 0.
__device__ __forceinline__ void copy_async(double *to, const double *from, int width, int inside)
{
    const unsigned address = __cvta_generic_to_shared(to);
    const int bytes = 8 * max(0, min(inside, width));
    if (width == 2)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
            :: "r"(address), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
            :: "r"(address), "l"(from), "r"(bytes) : "memory");
}

// copy_commit closes the group of the copies of one slice.
__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// copy_wait waits until at most STAGES - 2 groups of this thread are on their way.
__device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
}

// load_a loads this lane's part of a fragment of A: lane 4g + t holds rows g and
// g + 8 (the latter with mma_m = 16 only) and columns t, t + 4, t + 8, t + 12.
// from is the fragment's element (g, t).
__device__ __forceinline__ void load_a(double (&a)[a_part], const double *from)
{
    #pragma unroll
    for (int r = 0; r < a_part; r++)
        a[r] = from[r % (mma_m / 8) * 8 * a_stride + r / (mma_m / 8) * 4];
}

// load_b loads this lane's part of a fragment of B: column g and rows t, t + 4,
// t + 8, t + 12. from is the fragment's element (t, g).
__device__ __forceinline__ void load_b(double (&b)[b_part], const double *from)
{
    #pragma unroll
    for (int r = 0; r < b_part; r++)
        b[r] = from[r * 4 * b_stride];
}

// mma adds the product of two fragments to an accumulator, of which a lane
// holds rows g and g + 8 (the latter with mma_m = 16 only), columns 2t and 2t + 1.
__device__ __forceinline__ void mma(double (&c)[c_part], const double (&a)[a_part],
    const double (&b)[b_part])
{
#if __CUDA_ARCH__ < 900
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#endif
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
    double *const a_slices = slices_memory; // STAGES slices of A, then as many of B
    double *const b_slices = slices_memory + STAGES * a_size;

    const int thread = threadIdx.x;
    const int tiles_n = (n - 1) / BN + 1;
    const int row0 = blockIdx.x / tiles_n * BM; // first row and column of the tile
    const int col0 = blockIdx.x % tiles_n * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int warp = thread / 32;
    const int lane = thread % 32;
    const int g = lane / 4; // the lane's place in fragments
    const int t = lane % 4;
    const int i0 = warp / (BN / WN) * WM; // this warp's tile within the block's
    const int j0 = warp % (BN / WN) * WN;

    A += row0 * lda;
    B += col0;
    C += row0 * ldc + col0;
    double sum[WM / mma_m][WN / 8][c_part] = {};
    const int slices = k / BK + (k % BK != 0);
    for (int slice = 1 - STAGES; slice < slices; slice++) {
        if (slice >= 0) {
            copy_wait(); // this thread's part of this slice is there
            __syncthreads(); // and all others', and all have read the slice before
        }

        // Beyond the edges come zeros. Beyond k both slices have them, since
        // zero times what A or B might hold there need not be zero. A copy of
        // nothing gets an address inside the matrix all the same.
        const int next = slice + STAGES - 1;
        const int k0 = next * BK;
        if (next < slices) {
            double *const a_to = a_slices + next % STAGES * a_size;
            double *const b_to = b_slices + next % STAGES * b_size;
            #pragma unroll
            for (int c = 0; c < a_copies; c++) {
                const int e = (thread + c * THREADS) * VA, i = e / BK, kk = e % BK;
                const int inside = i < rows ? k - k0 - kk : 0;
                const double *const from = &A[i * lda + k0 + kk];
                copy_async(&a_to[i * a_stride + kk], inside > 0 ? from : A, VA, inside);
            }
            #pragma unroll
            for (int c = 0; c < b_copies; c++) {
                const int e = (thread + c * THREADS) * VB, kk = e / BN, j = e % BN;
                const int inside = kk < k - k0 ? cols - j : 0;
                const double *const from = &B[(k0 + kk) * ldb + j];
                copy_async(&b_to[kk * b_stride + j], inside > 0 ? from : B, VB, inside);
            }
        }
        copy_commit(); // empty groups too, so that groups count slices

        if (slice >= 0) {
            const double *const a_slice = a_slices + slice % STAGES * a_size;
            const double *const b_slice = b_slices + slice % STAGES * b_size;
            #pragma unroll
            for (int kk = 0; kk < BK; kk += mma_k) {
                double a[WM / mma_m][a_part], b[WN / 8][b_part];
                #pragma unroll
                for (int i = 0; i < WM / mma_m; i++)
                    load_a(a[i], &a_slice[(i0 + mma_m * i + g) * a_stride + kk + t]);
                #pragma unroll
                for (int j = 0; j < WN / 8; j++)
                    load_b(b[j], &b_slice[(kk + t) * b_stride + j0 + 8 * j + g]);
                #pragma unroll
                for (int i = 0; i < WM / mma_m; i++)
                    #pragma unroll
                    for (int j = 0; j < WN / 8; j++)
                        mma(sum[i][j], a[i], b[j]);
            }
        }
    }

    #pragma unroll
    for (int i = 0; i < WM / mma_m; i++)
        #pragma unroll
        for (int r = 0; r < c_part; r += 2) {
            const int ci = i0 + mma_m * i + r / 2 * 8 + g;
            if (ci >= rows)
                break;
            #pragma unroll
            for (int j = 0; j < WN / 8; j++)
                #pragma unroll
                for (int e = 0; e < 2; e += VC) {
                    const int cj = j0 + 8 * j + 2 * t + e;
                    store(&C[ci * ldc + cj], &sum[i][j][r + e], VC, cols - cj, alpha, beta);
                }
        }
}
