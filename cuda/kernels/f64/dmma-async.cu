// dmma-async: slices copied asynchronously, STAGES - 1 ahead.
//
// What changes against dmma-smem: cp.async copies from global to shared memory
// without registers between, and zero-fills what lies beyond an edge. Shared
// memory holds STAGES slices of each matrix: the next ones are on their way
// while one is multiplied. One barrier a slice, not two.
//
// Tile:    BM×BN elements of C a block, WM×WN a warp.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = 32·(BM/WM)·(BN/WN) threads.
// Shared:  STAGES·(BM·(BK + 4) + BK·(BN + 4)) doubles, dynamic.
// Needs:   compute capability 8.0.
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
static_assert(STAGES >= 2, "one slice is copied while another is read");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(THREADS / 32 * 8 * c_stride <= STAGES * (a_size + b_size),
    "the results of the warps fit where the slices were");

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
    const int i0 = warp / (BN / WN) * WM; // this warp's tile within the block's
    const int j0 = warp % (BN / WN) * WN;

    A += row0 * lda;
    B += col0;
    C += row0 * ldc + col0;
    double sum[WM / 8][WN / 8][2] = {};
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
        }
    }
    __syncthreads(); // all have read the last slice: its place is free

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
