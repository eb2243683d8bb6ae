// transposed: the tile of A lies transposed in shared memory, so that both fragments are rows.
//
// Against vectorized: A is transposed on its way through registers into shared memory. A fragment of
// A is then TM neighbouring elements, read 16 bytes at a time like one of B, and held for one k only:
// TM registers in place of 4*TM. The writes pay for it: the elements of a unit go to VA rows, one by
// one, and lanes that go along k write multiples of BM elements apart, into one bank.
//
// Tile: a block of THREADS = (BM/TM)*(BN/TN) threads computes BM x BN elements of C;
// BM = BN = 64 is a block of 8 x 8 threads, BM = BN = 128 one of 16 x 16.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; 4*(BM*BK + BK*BN) bytes of shared memory.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/TM + 1/TN) elements a block and slice,
// m*n*k*(1/TM + 1/TN) in all.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 8
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#ifndef VA
#define VA 4
#endif
#ifndef VB
#define VB 4
#endif
#ifndef VC
#define VC 4
#endif

#define THREADS ((BM / TM) * (BN / TN))

// How many blocks a multiprocessor shall hold at once at least: the compiler keeps a thread
// within 65536/(BLOCKS*THREADS) registers.
#ifndef BLOCKS
#define BLOCKS 1
#endif

static_assert(BM % TM == 0 && BN % TN == 0, "a tile of C is a whole number of thread tiles");
static_assert(THREADS <= 1024, "a block has at most 1024 threads");
static_assert(BM * BK % (THREADS * VA) == 0 && THREADS * VA % BK == 0,
    "each thread copies the same number of units of A, from one column");
static_assert(BK * BN % (THREADS * VB) == 0 &&
    (BN % (THREADS * VB) == 0 || THREADS * VB % BN == 0),
    "each thread copies the same number of units of B, from one column or one row");
static_assert(TM % 4 == 0 && TN % 4 == 0, "fragments are read in units of 4 elements");
static_assert(4 * BK * (BM + BN) <= 48 * 1024, "static shared memory ends at 48 KiB");

// What one instruction copies.
struct alignas(4 * VA) UnitA { float x[VA]; };
struct alignas(4 * VB) UnitB { float x[VB]; };
struct alignas(4 * VC) UnitC { float x[VC]; };

// load_a reads the unit of A at a, of which `inside` elements (or more) lie inside of
// the matrix. The others are 0: only a unit across the edge is read by single elements.
static __device__ UnitA load_a(const float *a, int inside)
{
    if (inside >= VA)
        return *(const UnitA *)a;
    UnitA unit = {};
    #pragma unroll
    for (int v = 0; v < VA; v++)
        if (v < inside)
            unit.x[v] = a[v];
    return unit;
}

// load_b is load_a for B.
static __device__ UnitB load_b(const float *b, int inside)
{
    if (inside >= VB)
        return *(const UnitB *)b;
    UnitB unit = {};
    #pragma unroll
    for (int v = 0; v < VB; v++)
        if (v < inside)
            unit.x[v] = b[v];
    return unit;
}

// store_c updates the unit of C at c, of which `inside` elements (or more) lie inside.
// beta == 0 must not read C: it may hold NaN.
static __device__ void store_c(float *c, int inside, float alpha, const float *sum, float beta)
{
    if (inside >= VC) {
        UnitC unit = {};
        if (beta != 0)
            unit = *(const UnitC *)c;
        #pragma unroll
        for (int v = 0; v < VC; v++)
            unit.x[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * unit.x[v];
        *(UnitC *)c = unit;
        return;
    }
    #pragma unroll
    for (int v = 0; v < VC; v++)
        if (v < inside)
            c[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * c[v];
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) gemm(int m, int n, int k,
    float alpha, const float *A, long long lda, const float *B, long long ldb,
    float beta, float *C, long long ldc)
{
    alignas(16) __shared__ float As[BK][BM];
    alignas(16) __shared__ float Bs[BK][BN];

    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;

    // The first element of this thread: neighbours in a warp are neighbours in a row.
    const int row = threadIdx.x / (BN / TN) * TM;
    const int col = threadIdx.x % (BN / TN) * TN;

    // What this thread copies of A: units along a row, PASS_A rows in a pass.
    constexpr int PASS_A = THREADS * VA / BK;
    const int a_row = threadIdx.x * VA / BK, a_col = threadIdx.x * VA % BK;
    const int a_rows = m - row0 - a_row;
    const float *a_from = A + (row0 + a_row) * lda + a_col;
    // And of B: units along a row, PASS_B elements in a pass.
    constexpr int PASS_B = THREADS * VB;
    const int b_row = threadIdx.x * VB / BN, b_col = threadIdx.x * VB % BN;
    const int b_cols = n - col0 - b_col;
    const float *b_from = B + b_row * ldb + col0 + b_col;

    float sum[TM][TN] = {};

    for (int rest = k; rest > 0; rest -= BK) {
        // All threads together copy the slice; beyond the edges of A and B it is 0.
        #pragma unroll
        for (int i = 0; i < BM; i += PASS_A) {
            const UnitA unit = load_a(a_from + i * lda, i < a_rows ? rest - a_col : 0);
            #pragma unroll
            for (int v = 0; v < VA; v++)
                As[a_col + v][a_row + i] = unit.x[v];
        }
        #pragma unroll
        for (int e = 0; e < BK * BN; e += PASS_B) {
            const int p = e / BN, j = e % BN;
            *(UnitB *)&Bs[b_row + p][b_col + j] =
                load_b(b_from + p * ldb + j, p < rest - b_row ? b_cols - j : 0);
        }
        a_from += BK;
        b_from += BK * ldb;
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll
        for (int p = 0; p < BK; p++) {
            alignas(16) float a[TM], b[TN];
            #pragma unroll
            for (int x = 0; x < TM; x += 4)
                *(float4 *)&a[x] = *(const float4 *)&As[p][row + x];
            #pragma unroll
            for (int y = 0; y < TN; y += 4)
                *(float4 *)&b[y] = *(const float4 *)&Bs[p][col + y];
            #pragma unroll
            for (int x = 0; x < TM; x++)
                #pragma unroll
                for (int y = 0; y < TN; y++)
                    sum[x][y] += a[x] * b[y];
        }

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    // The elements from the first of this thread to the edges of C.
    const int c_rows = m - row0 - row, c_cols = n - col0 - col;
    float *c = C + (row0 + row) * ldc + col0 + col;
    #pragma unroll
    for (int x = 0; x < TM; x++) {
        const int i = x;
        #pragma unroll
        for (int y = 0; y < TN; y += VC) {
            const int j = y;
            store_c(c + i * ldc + j, i < c_rows ? c_cols - j : 0, alpha, &sum[x][y], beta);
        }
    }
}
