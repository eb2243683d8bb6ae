// Wrong unless M, N and K are multiples of 32: elements beyond the edges are read and written.
extern "C" __global__ void matmul(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    __shared__ float As[32][32], Bs[32][32];
    const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 32 + y, j = blockIdx.x * 32 + x;
    float sum = 0;
    for (int p = 0; p < K; p += 32) {
        As[y][x] = A[i * K + p + x];
        Bs[y][x] = B[(p + y) * N + j];
        __syncthreads();
        for (int q = 0; q < 32; q++) sum += As[y][q] * Bs[q][x];
        __syncthreads();
    }
    C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
