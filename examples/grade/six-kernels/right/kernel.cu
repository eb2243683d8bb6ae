// A tile of 32 x 32 elements in shared memory, and four elements of a column of C a thread.
// gemm: --block-dims 32x8 --grid (N+31)/32,(M+31)/32
extern "C" __global__ void matmul(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    __shared__ float As[32][33], Bs[32][33];
    const int x = threadIdx.x, i0 = blockIdx.y * 32, j = blockIdx.x * 32 + x;
    float sum[4] = {};
    for (int p = 0; p < K; p += 32) {
        for (int y = threadIdx.y; y < 32; y += 8) { // beyond the edges, elements are 0
            As[y][x] = i0 + y < M && p + x < K ? A[(i0 + y) * K + p + x] : 0;
            Bs[y][x] = p + y < K && j < N ? B[(p + y) * N + j] : 0;
        }
        __syncthreads();
        for (int q = 0; q < 32; q++)
            for (int r = 0; r < 4; r++) sum[r] += As[threadIdx.y + 8 * r][q] * Bs[q][x];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++) {
        const int i = i0 + threadIdx.y + 8 * r;
        if (i < M && j < N) C[i * N + j] = alpha * sum[r] + beta * C[i * N + j];
    }
}
