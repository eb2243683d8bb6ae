// transposed: A's slice lies transposed in shared memory, and memory is accessed 16 bytes at a time.
//
// What changes against smem: a thread's TM elements of one kk are contiguous,
// as B's TN are: both are read 16 bytes (two doubles) at a time. Global memory
// is read VA and VB elements at a time, C is written VC at a time (2: where
// base and leading dimension are multiples of 16 bytes). The traffic is the
// same, in half as many instructions. The lanes that store A run along k,
// down the transposed slice: they meet in one bank.
//
// Tile:    BM×BN elements of C a block, TM×TN a thread.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = (BM/TM)·(BN/TN) threads.
// Shared:  (BM + BN)·BK doubles.
// Traffic: global reads m·n·k·(1/BM + 1/BN) (equations 11, 12); shared reads
//          of a block and slice (BM/TM)·(BN/TN)·(TM + TN)·BK
//          = BM·BN·BK·(1/TM + 1/TN) (equations 14, 15). Two barriers a slice.

#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
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
#define THREADS ((BM / TM) * (BN / TN))

static_assert(BM % TM == 0 && BN % TN == 0, "the threads' tiles fill the block's");
static_assert(TM % 2 == 0 && TN % 2 == 0, "a fragment is whole double2");
static_assert(BM * BK % (VA * THREADS) == 0 && BK * BN % (VB * THREADS) == 0,
    "every thread copies equally many elements");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert((BM + BN) * BK * 8 <= 48 * 1024, "static shared memory ends at 48 KiB");

constexpr int a_copies = BM * BK / (VA * THREADS); // copies a thread and slice
constexpr int b_copies = BK * BN / (VB * THREADS);

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

// load_fragment reads a fragment from shared memory, two doubles at a time.
__device__ __forceinline__ void load_fragment(double *to, const double *from, int size)
{
    #pragma unroll
    for (int e = 0; e < size; e += 2) {
        const double2 pair = *reinterpret_cast<const double2 *>(from + e);
        to[e] = pair.x;
        to[e + 1] = pair.y;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc)
{
    alignas(16) __shared__ double a_slice[BK][BM];
    alignas(16) __shared__ double b_slice[BK][BN];

    const int thread = threadIdx.x;
    const int tiles_n = (n - 1) / BN + 1;
    const int row0 = blockIdx.x / tiles_n * BM; // first row and column of the tile
    const int col0 = blockIdx.x % tiles_n * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int i0 = thread / (BN / TN) * TM; // this thread's tile within the block's
    const int j0 = thread % (BN / TN) * TN;

    A += row0 * lda;
    B += col0;
    C += row0 * ldc + col0;
    double sum[TM][TN] = {};
    const int slices = k / BK + (k % BK != 0);
    for (int slice = 0; slice < slices; slice++) {
        const int k0 = slice * BK;

        // Beyond the edges come zeros. Beyond k both slices have them, since
        // zero times what A or B might hold there need not be zero.
        #pragma unroll
        for (int c = 0; c < a_copies; c++) {
            const int e = (thread + c * THREADS) * VA, i = e / BK, kk = e % BK;
            double unit[VA];
            load(unit, &A[i * lda + k0 + kk], VA, i < rows ? k - k0 - kk : 0);
            #pragma unroll
            for (int v = 0; v < VA; v++)
                a_slice[kk + v][i] = unit[v];
        }
        #pragma unroll
        for (int c = 0; c < b_copies; c++) {
            const int e = (thread + c * THREADS) * VB, kk = e / BN, j = e % BN;
            load(&b_slice[kk][j], &B[(k0 + kk) * ldb + j], VB, kk < k - k0 ? cols - j : 0);
        }
        __syncthreads(); // the slices are complete

        #pragma unroll
        for (int kk = 0; kk < BK; kk++) {
            double a[TM], b[TN];
            load_fragment(a, &a_slice[kk][i0], TM);
            load_fragment(b, &b_slice[kk][j0], TN);
            #pragma unroll
            for (int i = 0; i < TM; i++)
                #pragma unroll
                for (int j = 0; j < TN; j++)
                    sum[i][j] += a[i] * b[j];
        }
        __syncthreads(); // all have read them: the next may come
    }

    #pragma unroll
    for (int i = 0; i < TM; i++)
        #pragma unroll
        for (int j = 0; j < TN; j += VC)
            if (i0 + i < rows)
                store(&C[(i0 + i) * ldc + j0 + j], &sum[i][j], VC, cols - j0 - j, alpha, beta);
}
