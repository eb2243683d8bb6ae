// reduce: C = alpha*(sum of the splits) + beta*C, after a product that was split along k.
//
// warptile with SPLIT writes a matrix of raw sums for each part of k, if the tiles of C alone are
// too few to fill the multiprocessors. This kernel adds them in the order of k, so the result is
// the same in every run.
//
// partial holds `splits` matrices of m rows and n columns, one after the other, without
// gaps. VC elements are read and written at once: C, ldc and n must be multiples of it.
//
// Tile: a block of THREADS threads updates BM x BN elements of C, BM*BN/THREADS a thread.
// Launch: ceil(m/BM) * ceil(n/BN) blocks.
// Global reads: splits*m*n elements, and m*n of C unless beta == 0.

#ifndef BM
#define BM 8
#endif
#ifndef BN
#define BN 128
#endif
#ifndef VC
#define VC 4
#endif

#define THREADS 256

static_assert(BM * BN % (THREADS * VC) == 0, "each thread updates the same number of units");
static_assert(BN % VC == 0, "a row of a tile is a whole number of units");

struct alignas(4 * VC) UnitC { float x[VC]; };

extern "C" __global__ void __launch_bounds__(THREADS) reduce(int m, int n, int splits,
    float alpha, const float *partial, float beta, float *C, long long ldc)
{
    // The tile of this block: tiles are counted row of tiles after row of tiles.
    const int tiles_n = (n + BN - 1) / BN;
    const int row0 = (int)blockIdx.x / tiles_n * BM;
    const int col0 = (int)blockIdx.x % tiles_n * BN;
    const long long size = (long long)m * n;

    #pragma unroll
    for (int u = 0; u < BM * BN / (THREADS * VC); u++) {
        const int e = (threadIdx.x + u * THREADS) * VC;
        const int i = row0 + e / BN, j = col0 + e % BN;
        if (i >= m || j >= n)
            continue;
        const float *from = partial + (long long)i * n + j;
        float sum[VC] = {};
        #pragma unroll 4
        for (int z = 0; z < splits; z++) {
            const UnitC unit = *(const UnitC *)(from + z * size);
            #pragma unroll
            for (int v = 0; v < VC; v++)
                sum[v] += unit.x[v];
        }
        // beta == 0 must not read C: it may hold NaN.
        float *c = &C[i * ldc + j];
        UnitC unit = {};
        if (beta != 0)
            unit = *(const UnitC *)c;
        #pragma unroll
        for (int v = 0; v < VC; v++)
            unit.x[v] = beta == 0 ? alpha * sum[v] : alpha * sum[v] + beta * unit.x[v];
        *(UnitC *)c = unit;
    }
}
