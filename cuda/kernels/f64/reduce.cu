// 07_reduce: adds up the partial sums of 06_dmma with SPLIT.
//
// Not a rung: the second half of 06 where k is split. Part z of element (i, j)
// is partial[(z*m + i)*n + j]; they are added in order of z, so that the
// result does not depend on which block was first, and alpha and beta are
// applied to their sum.
//
// Tile:    THREADS consecutive elements of C a block, then those a grid further.
// Launch:  any number of blocks, at most ceil(m·n/THREADS) of use, of THREADS
//          threads.
// Traffic: splits·m·n global reads and m·n writes (and reads of C, if beta is not 0).

#ifndef THREADS
#define THREADS 256
#endif

static_assert(THREADS <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(THREADS) reduce(int m, int n, int splits,
    double alpha, const double *partial, double beta, double *C, long long ldc)
{
    const long long size = (long long)m * n;
    const long long step = (long long)gridDim.x * THREADS;
    for (long long e = (long long)blockIdx.x * THREADS + threadIdx.x; e < size; e += step) {
        double sum = 0;
        for (int z = 0; z < splits; z++)
            sum += partial[z * size + e];

        double *const c = &C[e / n * ldc + e % n];
        *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
    }
}
