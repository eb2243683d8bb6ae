// add: S += B, the addition of an iterated product. Not a rung.
//
// S and B have n x n elements, with rows ld elements apart. In GF(2^8), whose elements are bytes, the sum is
// XOR. A block adds 4 x 1024 elements. Each thread adds 4 elements of a row at a time, 256 apart, so the
// accesses of a warp go along a row.
//
// Launch: ceil(n/4) * ceil(n/1024) blocks of 256 threads.
// Global reads: 2*n*n elements. Global writes: n*n elements.

#ifndef ELEMENT
#define ELEMENT float
#endif

#ifdef FIELD
#define SUM(x, y) (ELEMENT)((x) ^ (y))
#else
#define SUM(x, y) ((x) + (y))
#endif

#define ROWS 4

extern "C" __global__ void __launch_bounds__(256) add(int n, ELEMENT *S, const ELEMENT *B, long long ld)
{
    const int tiles = (n + 1023) / 1024;
    const int row0 = (int)blockIdx.x / tiles * ROWS, col0 = (int)blockIdx.x % tiles * 1024 + threadIdx.x;
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
        #pragma unroll
        for (int j = 0; j < 4; j++)
            if (row0 + i < n && col0 + 256 * j < n) {
                const long long at = (row0 + i) * ld + col0 + 256 * j;
                S[at] = SUM(S[at], B[at]);
            }
}
