// dmma-wmma: the blocks in shared memory are multiplied by tensor cores.
//
// What changes against packed-conflictfree: no thread multiplies. Two wmma
// instructions multiply the 8×8×8 blocks: each adds an 8×4 by 4×8 product to an
// accumulator that a warp holds. A lies by columns and B by rows, as before,
// which wmma can load. It leaves open which lane holds which element, so the
// result goes to C through shared memory. As in the lab, both warps of a block
// compute the whole product, and store equal values: half of the work of the
// tensor cores is lost.
//
// Packed:  PA holds ceil(m/BM)·ceil(k/BK)·BM·BK doubles,
//          PB holds ceil(k/BK)·ceil(n/BN)·BK·BN doubles.
// Tile:    BM×BN elements of C a block, one a thread; BM = BN = BK = 8.
// Launch:  gemm:   ceil(m/BM)·ceil(n/BN) blocks,
//          pack_a: ceil(m/BM)·ceil(k/BK) blocks,
//          pack_b: ceil(k/BK)·ceil(n/BN) blocks (none where k = 0),
//          all of THREADS = BM·BN threads. The packs come first.
// Shared:  (BM + BN)·BK + BM·BN doubles.
// Needs:   compute capability 8.0.
// Traffic: m·n·k·(1/BM + 1/BN) global reads (k rounded up to BK), and
//          m·k + k·n reads and writes to pack; 2·(BM + BN)·BK shared reads a
//          block and slice. Two barriers a slice.

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

static_assert(BM == 8 && BN == 8 && BK == 8, "wmma multiplies 8x4 by 4x8, twice");

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

// wmma_load_a loads an 8×4 fragment of A from shared memory, where it lies by columns.
__device__ __forceinline__ void wmma_load_a(double &a, const double *from, int stride)
{
    asm volatile("wmma.load.a.sync.aligned.col.m8n8k4.shared.f64 {%0}, [%1], %2;"
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
    asm volatile("wmma.mma.sync.aligned.col.row.m8n8k4.rn.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

// wmma_store stores an accumulator to shared memory.
__device__ __forceinline__ void wmma_store(double *to, const double (&c)[2], int stride)
{
    asm volatile("wmma.store.d.sync.aligned.row.m8n8k4.shared.f64 [%0], {%1, %2}, %3;"
        :: "r"((unsigned)__cvta_generic_to_shared(to)), "d"(c[0]), "d"(c[1]), "r"(stride) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k,
    double alpha, const double *PA, const double *PB,
    double beta, double *C, long long ldc)
{
    alignas(32) __shared__ double a_slice[BK][BM];
    alignas(32) __shared__ double b_slice[BK][BN];
    alignas(32) __shared__ double c_tile[BM][BN];

    const int thread = threadIdx.x;
    const int tiles_m = (m - 1) / BM + 1;
    const int row0 = blockIdx.x % tiles_m * BM; // first row and column of the tile
    const int col0 = blockIdx.x / tiles_m * BN;
    const int rows = m - row0; // rows and columns of C from there on
    const int cols = n - col0;

    const int i = thread % BM; // this thread's element of the tile, and of the blocks of A and B
    const int j = thread / BM;

    const int slices = k / BK + (k % BK != 0);
    PA += (long long)(row0 / BM) * slices * (BM * BK);
    PB += (long long)(col0 / BN) * slices * (BK * BN);
    C += row0 * ldc + col0;
    double sum[2] = {};
    for (int slice = 0; slice < slices; slice++) {
        a_slice[j][i] = PA[i * BK + j];
        b_slice[i][j] = PB[j * BK + i];
        __syncthreads(); // the slices are complete

        #pragma unroll
        for (int kk = 0; kk < BK; kk += 4) {
            double a, b;
            wmma_load_a(a, a_slice[kk], BM);
            wmma_load_b(b, b_slice[kk], BN);
            wmma_mma(sum, a, b);
        }
        __syncthreads(); // all have read them: the next may come

        PA += BM * BK;
        PB += BK * BN;
    }

    wmma_store(c_tile[0], sum, BN);
    __syncthreads(); // the result is complete

    if (i < rows && j < cols) {
        double *const c = &C[i * ldc + j];
        *c = beta == 0 ? alpha * c_tile[i][j] : alpha * c_tile[i][j] + beta * *c;
    }
}
