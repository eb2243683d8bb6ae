// smem: slices of A and B in shared memory, a tile of C in the registers of each thread.
//
// What changes against coalesced: a thread has more than one element of C, and
// the block walks along k in slices of BK. Its threads copy a BM×BK slice of A
// and a BK×BN slice of B to shared memory together, once for all of them. Each
// thread then computes TM×TN elements of C in registers: TM + TN shared reads
// feed TM·TN multiply-adds, where one element a thread needs two for one.
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
#define THREADS ((BM / TM) * (BN / TN))

static_assert(BM % TM == 0 && BN % TN == 0, "the threads' tiles fill the block's");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert((BM + BN) * BK * 8 <= 48 * 1024, "static shared memory ends at 48 KiB");

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc)
{
    __shared__ double a_slice[BM][BK];
    __shared__ double b_slice[BK][BN];

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
        for (int e = thread; e < BM * BK; e += THREADS) {
            const int i = e / BK, kk = e % BK;
            a_slice[i][kk] = i < rows && kk < k - k0 ? A[i * lda + k0 + kk] : 0;
        }
        for (int e = thread; e < BK * BN; e += THREADS) {
            const int kk = e / BN, j = e % BN;
            b_slice[kk][j] = kk < k - k0 && j < cols ? B[(k0 + kk) * ldb + j] : 0;
        }
        __syncthreads(); // the slices are complete

        #pragma unroll
        for (int kk = 0; kk < BK; kk++) {
            double a[TM], b[TN];
            #pragma unroll
            for (int i = 0; i < TM; i++)
                a[i] = a_slice[i0 + i][kk];
            #pragma unroll
            for (int j = 0; j < TN; j++)
                b[j] = b_slice[kk][j0 + j];
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
        for (int j = 0; j < TN; j++)
            if (i0 + i < rows && j0 + j < cols) {
                double *const c = &C[(i0 + i) * ldc + j0 + j];
                *c = beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *c;
            }
}
