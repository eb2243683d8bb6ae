// tiled: tiles of any shape, chosen at the launch of the kernel.
//
// Against macros: the rows and columns of a tile of C and the depth of a slice are arguments. So one
// program serves every shape, and the loops have bounds that the compiler does not know. Both slices
// are in one allocation of shared memory, A's before B's; the launch gives its size.
//
// Tile: a block of rows*cols threads computes rows x cols elements of C, one each.
// Launch: ceil(m/rows) * ceil(n/cols) blocks; dynamic shared memory of depth*(rows + cols)
// bytes.
// Global reads of A and B: m*n*k*(1/rows + 1/cols) bytes.
// Shared reads: 2*rows*cols*depth bytes a block and slice.

// mul returns a*b, by Horner's rule over the bits of a.
static __device__ unsigned mul(unsigned a, unsigned b)
{
    unsigned product = 0;
    #pragma unroll
    for (int bit = 7; bit >= 0; bit--)
        product = product << 1 ^ (product >> 7) * 0x11d ^ (a >> bit & 1) * b;
    return product;
}

extern "C" __global__ void __launch_bounds__(1024) gemm(int m, int n, int k,
    const unsigned char *A, long long lda, const unsigned char *B, long long ldb,
    unsigned char *C, long long ldc, int rows, int cols, int depth)
{
    extern __shared__ unsigned char shared[];
    unsigned char *As = shared;                // [rows][depth]
    unsigned char *Bs = shared + rows * depth; // [depth][cols]

    // The element of this thread: neighbours in a warp are neighbours in a row.
    const int tiles_m = (m + rows - 1) / rows;
    const int row = threadIdx.x / cols, col = threadIdx.x % cols;
    const int i = (int)blockIdx.x % tiles_m * rows + row;
    const long long j = (long long)((int)blockIdx.x / tiles_m) * cols + col;

    unsigned sum = 0;

    for (int p0 = 0; p0 < k; p0 += depth) {
        // A row of threads copies a row of A's slice, a column of threads a column of B's;
        // beyond the edges of A and B they are 0.
        for (int p = col; p < depth; p += cols)
            As[row * depth + p] = i < m && p0 + p < k ? A[i * lda + p0 + p] : 0;
        for (int p = row; p < depth; p += rows)
            Bs[p * cols + col] = p0 + p < k && j < n ? B[(p0 + p) * ldb + j] : 0;
        // Barrier: all copies are complete.
        __syncthreads();

        #pragma unroll 2
        for (int p = 0; p < depth; p++)
            sum ^= mul(As[row * depth + p], Bs[p * cols + col]);

        // Barrier: all products of the slice are complete, so the next one may replace it.
        __syncthreads();
    }

    if (i < m && j < n)
        C[i * ldc + j] = sum;
}
