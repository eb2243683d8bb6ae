// align: copies a matrix to rows that begin at multiples of 16 bytes, for kernels with wide copies.
// Not a rung.
//
// Behind the columns are zeros up to ldt, as far as its blocks go: kernels copy past the last column.
// A block copies tiles of ROWS x 1024 elements. Each thread copies 4 elements of a row at a time,
// 256 apart, so the accesses of a warp are as wide as possible for rows that begin anywhere.
//
// Launch: ceil(rows/ROWS) * ceil(cols/1024) blocks of 256 threads.
// Global reads and writes: rows*cols elements each.

#ifndef ELEMENT
#define ELEMENT float
#endif

#define ROWS 4

extern "C" __global__ void __launch_bounds__(256) align(int rows, int cols,
    const ELEMENT *A, long long lda, ELEMENT *T, long long ldt)
{
    const int tiles = (cols + 1023) / 1024;
    const int row0 = (int)blockIdx.x / tiles * ROWS, col0 = (int)blockIdx.x % tiles * 1024 + threadIdx.x;
    ELEMENT x[ROWS][4];
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
        #pragma unroll
        for (int j = 0; j < 4; j++)
            x[i][j] = row0 + i < rows && col0 + 256 * j < cols ? A[(row0 + i) * lda + col0 + 256 * j] : (ELEMENT)0;
    #pragma unroll
    for (int i = 0; i < ROWS; i++)
        #pragma unroll
        for (int j = 0; j < 4; j++)
            if (row0 + i < rows && col0 + 256 * j < ldt)
                T[(row0 + i) * ldt + col0 + 256 * j] = x[i][j];
}
