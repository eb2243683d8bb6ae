// naive: one thread computes one element of C, straight from global memory.
//
// The first rung, as the baseline of the lab: threadIdx.x of the lab's square
// block is the row, and threadIdx.y the column. So the threads of a warp go
// down rows of C: at each step of k they read BM elements of A (at most 32)
// that are lda apart, and store C ldc apart. Blocks go down columns of C too.
// Only the caches save reads of global memory.
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
    const int tiles_m = (m - 1) / BM + 1;
    const int row0 = blockIdx.x % tiles_m * BM; // first row and column of the tile
    const int col0 = blockIdx.x / tiles_m * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int i = thread % BM; // this thread's element of the tile
    const int j = thread / BM;
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
