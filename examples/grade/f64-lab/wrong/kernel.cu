// Wrong: the sum is kept in single precision.
// gemm: --block-dims 16x16 --grid (N+15)/16,(M+15)/16
extern "C" __global__ void matmul(int M, int N, int K, double alpha, const double *A, const double *B, double beta, double *C) {
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= M || j >= N) return;
    float sum = 0;
    for (int p = 0; p < K; p++) sum += A[i * K + p] * B[p * N + j];
    C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
