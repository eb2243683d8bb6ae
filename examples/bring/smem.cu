// Tiles of A and B in shared memory, as a student writes them in the second week:
//
//   gemm cuda --bring examples/bring/smem.cu --type f32 --sizes 512,1024,1000x300x77
//
// The blocks are TILE x TILE threads, and x goes along the columns of C. These are the defaults of
// --block-dims and --grid, so there is no line that says how the kernel is launched.

#define TILE 32

extern "C" __global__ void smem(int M, int N, int K, float alpha, const float *A, const float *B,
                                float beta, float *C)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.y * TILE + y; // row of C
    const int j = blockIdx.x * TILE + x; // column of C

    float sum = 0;
    for (int p0 = 0; p0 < K; p0 += TILE) {
        // Each thread loads one element of both tiles; beyond the edges they are 0.
        As[y][x] = i < M && p0 + x < K ? A[i * K + p0 + x] : 0;
        Bs[y][x] = p0 + y < K && j < N ? B[(p0 + y) * N + j] : 0;
        __syncthreads();
        for (int p = 0; p < TILE; p++)
            sum += As[y][p] * Bs[p][x];
        __syncthreads();
    }
    if (i < M && j < N)
        C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
