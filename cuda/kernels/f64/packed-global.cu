// packed-global: blocks of B are column-major, and follow each other column after column.
//
// What changes against packed-rowmajor: all that a thread reads along k, of A
// and of B, is contiguous within a block, and the next block follows. It is a
// layout for caches with long lines. The four columns of B that a warp reads
// (BM = 8) are now BK elements apart. The number of reads is the same.
//
// Packed:  PA holds ceil(m/BM)·ceil(k/BK)·BM·BK doubles,
//          PB holds ceil(k/BK)·ceil(n/BN)·BK·BN doubles.
// Tile:    BM×BN elements of C a block, one a thread; BM = BN = BK.
// Launch:  gemm:   ceil(m/BM)·ceil(n/BN) blocks,
//          pack_a: ceil(m/BM)·ceil(k/BK) blocks,
//          pack_b: ceil(k/BK)·ceil(n/BN) blocks (none where k = 0),
//          all of THREADS = BM·BN threads. The packs come first.
// Traffic: a row of A and a column of B a thread: 2·m·n·k global reads
//          (k rounded up to BK), and m·k + k·n reads and writes to pack.

#ifndef BM
#define BM 8
#endif
#ifndef BN
#define BN 8
#endif
#ifndef BK
#define BK 8
#endif
#define THREADS (BM * BN)

static_assert(BM == BN && BN == BK, "a thread copies one element of a block of A and of B");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");

// pack_a copies a BM×BK block of A, with zeros beyond the edge. As in gemm, neighbours go down rows.
extern "C" __global__ void __launch_bounds__(THREADS) pack_a(int m, int k,
    const double *A, long long lda, double *P)
{
    const int i = threadIdx.x % BM, kk = threadIdx.x / BM;
    const int tiles_m = (m - 1) / BM + 1;
    const int slices = (k - 1) / BK + 1;
    const int row0 = blockIdx.x % tiles_m * BM;
    const int k0 = blockIdx.x / tiles_m * BK;
    P += ((long long)(row0 / BM) * slices + k0 / BK) * (BM * BK);
    P[i * BK + kk] = i < m - row0 && kk < k - k0 ? A[(row0 + i) * lda + k0 + kk] : 0;
}

// pack_b copies a BK×BN block of B, column by column.
extern "C" __global__ void __launch_bounds__(THREADS) pack_b(int k, int n,
    const double *B, long long ldb, double *P)
{
    const int kk = threadIdx.x % BK, j = threadIdx.x / BK;
    const int slices = (k - 1) / BK + 1;
    const int k0 = blockIdx.x % slices * BK;
    const int col0 = blockIdx.x / slices * BN;
    P += ((long long)(col0 / BN) * slices + k0 / BK) * (BK * BN);
    P[j * BK + kk] = kk < k - k0 && j < n - col0 ? B[(k0 + kk) * ldb + col0 + j] : 0;
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *PA, const double *PB,
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

    const int slices = k / BK + (k % BK != 0);
    PA += (long long)(row0 / BM) * slices * (BM * BK) + i * BK;
    PB += (long long)(col0 / BN) * slices * (BK * BN) + j * BK;
    C += row0 * ldc + col0;
    double sum = 0;
    for (int slice = 0; slice < slices; slice++) {
        #pragma unroll
        for (int kk = 0; kk < BK; kk++)
            sum += PA[kk] * PB[kk];
        PA += BM * BK;
        PB += BK * BN;
    }

    double *const c = &C[i * ldc + j];
    *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
}
