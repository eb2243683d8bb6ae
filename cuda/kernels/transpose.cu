// transpose: T = op(A), for products of operands that are stored transposed. Not a rung.
//
// A has rows x cols elements, T has cols x rows, and zeros behind them up to ldt, as far as its blocks go: kernels copy
// up to 16 bytes at once, past the last column. A block copies a tile of 32 x 32 through shared
// memory, so reads and writes both go along rows. A row there is one element longer than the tile,
// which puts the elements of a column into different banks.
//
// Launch: ceil(rows/32) * ceil(cols/32) blocks of 256 threads.
// Global reads and writes: rows*cols elements each.

#ifndef ELEMENT
#define ELEMENT float
#endif

extern "C" __global__ void __launch_bounds__(256) transpose(int rows, int cols,
    const ELEMENT *A, long long lda, ELEMENT *T, long long ldt)
{
    __shared__ ELEMENT tile[32][33];
    const int tiles = (cols + 31) / 32;
    const int row0 = (int)blockIdx.x / tiles * 32, col0 = (int)blockIdx.x % tiles * 32;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int i = y; i < 32; i += 8)
        if (row0 + i < rows && col0 + x < cols)
            tile[i][x] = A[(row0 + i) * lda + col0 + x];
    __syncthreads();
    for (int i = y; i < 32; i += 8)
        if (col0 + i < cols && row0 + x < ldt)
            T[(col0 + i) * ldt + row0 + x] = row0 + x < rows ? tile[x][i] : (ELEMENT)0;
}
