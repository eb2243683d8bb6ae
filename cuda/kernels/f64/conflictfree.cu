// conflictfree: shared memory read 16 bytes at a time without bank conflicts, two buffers.
//
// What changes against transposed:
//  - A thread's TM rows and TN columns are each split in two halves, BM/2 and
//    BN/2 apart. Then the lanes of a warp read b_slice side by side, without
//    gaps of TN: no two of them meet in a bank.
//  - PAD elements lie between the rows of the transposed slice. With PAD = 2,
//    the lanes that store A run down rows two doubles apart in the banks.
//  - Two buffers: the next slice goes to registers while this one is
//    multiplied, then to the other buffer. One barrier a slice, not two.
//
// Tile:    BM×BN elements of C a block, TM×TN a thread.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = (BM/TM)·(BN/TN) threads.
// Shared:  2·(BM + PAD + BN)·BK doubles.
// Traffic: global reads m·n·k·(1/BM + 1/BN) (equations 11, 12); shared reads
//          of a block and slice (BM/TM)·(BN/TN)·(TM + TN)·BK
//          = BM·BN·BK·(1/TM + 1/TN) (equations 14, 15). ceil(k/BK) + 1 barriers.

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
#ifndef PAD
#define PAD 2
#endif
#define THREADS ((BM / TM) * (BN / TN))

static_assert(BM % TM == 0 && BN % TN == 0, "the threads' tiles fill the block's");
static_assert(TM % 4 == 0 && TN % 4 == 0, "each half of a fragment is whole double2");
static_assert(PAD % 2 == 0, "rows of the slices stay multiples of 16 bytes");
static_assert(BM * BK % (VA * THREADS) == 0 && BK * BN % (VB * THREADS) == 0,
    "every thread copies equally many elements");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(2 * (BM + PAD + BN) * BK * 8 <= 48 * 1024, "static shared memory ends at 48 KiB");

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

// load_half reads half of a fragment from shared memory, two doubles at a time.
__device__ __forceinline__ void load_half(double *to, const double *from, int half)
{
    #pragma unroll
    for (int e = 0; e < half; e += 2) {
        const double2 pair = *reinterpret_cast<const double2 *>(from + e);
        to[e] = pair.x;
        to[e + 1] = pair.y;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc)
{
    alignas(16) __shared__ double a_slice[2][BK][BM + PAD];
    alignas(16) __shared__ double b_slice[2][BK][BN];

    const int thread = threadIdx.x;
    const int tiles_n = (n - 1) / BN + 1;
    const int row0 = blockIdx.x / tiles_n * BM; // first row and column of the tile
    const int col0 = blockIdx.x % tiles_n * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int i0 = thread / (BN / TN) * (TM / 2); // this thread's first half; the other is
    const int j0 = thread % (BN / TN) * (TN / 2); // BM/2 rows, BN/2 columns further

    A += row0 * lda;
    B += col0;
    C += row0 * ldc + col0;
    double sum[TM][TN] = {};
    double a_next[a_copies][VA], b_next[b_copies][VB]; // the next slice on its way
    const int slices = k / BK + (k % BK != 0);
    for (int slice = -1; slice < slices; slice++) {
        // Beyond the edges come zeros. Beyond k both slices have them, since
        // zero times what A or B might hold there need not be zero.
        const int k0 = (slice + 1) * BK;
        if (slice + 1 < slices) {
            #pragma unroll
            for (int c = 0; c < a_copies; c++) {
                const int e = (thread + c * THREADS) * VA, i = e / BK, kk = e % BK;
                load(a_next[c], &A[i * lda + k0 + kk], VA, i < rows ? k - k0 - kk : 0);
            }
            #pragma unroll
            for (int c = 0; c < b_copies; c++) {
                const int e = (thread + c * THREADS) * VB, kk = e / BN, j = e % BN;
                load(b_next[c], &B[(k0 + kk) * ldb + j], VB, kk < k - k0 ? cols - j : 0);
            }
        }

        const int now = slice & 1; // the buffer of this slice
        if (slice >= 0) {
            #pragma unroll
            for (int kk = 0; kk < BK; kk++) {
                double a[TM], b[TN];
                load_half(a, &a_slice[now][kk][i0], TM / 2);
                load_half(a + TM / 2, &a_slice[now][kk][BM / 2 + i0], TM / 2);
                load_half(b, &b_slice[now][kk][j0], TN / 2);
                load_half(b + TN / 2, &b_slice[now][kk][BN / 2 + j0], TN / 2);
                #pragma unroll
                for (int i = 0; i < TM; i++)
                    #pragma unroll
                    for (int j = 0; j < TN; j++)
                        sum[i][j] += a[i] * b[j];
            }
        }

        if (slice + 1 < slices) {
            #pragma unroll
            for (int c = 0; c < a_copies; c++) {
                const int e = (thread + c * THREADS) * VA, i = e / BK, kk = e % BK;
                #pragma unroll
                for (int v = 0; v < VA; v++)
                    a_slice[now ^ 1][kk + v][i] = a_next[c][v];
            }
            #pragma unroll
            for (int c = 0; c < b_copies; c++) {
                const int e = (thread + c * THREADS) * VB, kk = e / BN, j = e % BN;
                #pragma unroll
                for (int v = 0; v < VB; v++)
                    b_slice[now ^ 1][kk][j + v] = b_next[c][v];
            }
        }
        // The next slices are complete, and all have read these.
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < TM; i++) {
        const int ci = i0 + (i < TM / 2 ? i : i - TM / 2 + BM / 2);
        #pragma unroll
        for (int j = 0; j < TN; j += VC) {
            const int cj = j0 + (j < TN / 2 ? j : j - TN / 2 + BN / 2);
            if (ci < rows)
                store(&C[ci * ldc + cj], &sum[i][j], VC, cols - cj, alpha, beta);
        }
    }
}
