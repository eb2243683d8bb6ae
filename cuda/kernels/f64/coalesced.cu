// coalesced: the threads of a warp lie side by side in a row of C.
//
// What changes against naive: threads and blocks are counted along rows of C.
// At each step of k the threads of a row read contiguous elements of B and one
// element of A (a broadcast), and store contiguous elements of C. The number
// of reads is the same.
//
// Tile:    BM×BN elements of C a block, one a thread.
// Launch:  ceil(m/BM)·ceil(n/BN) blocks of THREADS = BM·BN threads.
// Traffic: a row of A and a column of B a thread: 2·m·n·k global reads,
//          no shared memory.

#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#define THREADS (BM * BN)

static_assert(THREADS <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *A, long long lda, const double *B, long long ldb,
    double beta, double *C, long long ldc)
{
    const int thread = threadIdx.x;
    const int tiles_n = (n - 1) / BN + 1;
    const int row0 = blockIdx.x / tiles_n * BM; // first row and column of the tile
    const int col0 = blockIdx.x % tiles_n * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int i = thread / BN; // this thread's element of the tile
    const int j = thread % BN;
    if (i >= rows || j >= cols)
        return;

    A += row0 * lda;
    B += col0;
    C += row0 * ldc + col0;
    double sum = 0;
    for (int kk = 0; kk < k; kk++)
        sum += A[i * lda + kk] * B[kk * ldb + j];

    double *const c = &C[i * ldc + j];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
