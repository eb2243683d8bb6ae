// Blocks of 16 x 16 in shared memory; As is transposed, and a thread has 2 x 2 elements of C.
// gemm: --block-dims 16x16 --grid (N+31)/32,(M+31)/32
extern "C" __global__ void matmul(int M, int N, int K, double alpha, const double *A, const double *B, double beta, double *C) {
    __shared__ double As[16][33], Bs[16][32];
    const int x = threadIdx.x, y = threadIdx.y, i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    double sum[2][2] = {};
    for (int p = 0; p < K; p += 16) {
        for (int h = 0; h < 32; h += 16) { // beyond the edges, elements are 0
            As[x][y + h] = i0 + y + h < M && p + x < K ? A[(i0 + y + h) * K + p + x] : 0;
            Bs[y][x + h] = p + y < K && j0 + x + h < N ? B[(p + y) * N + j0 + x + h] : 0;
        }
        __syncthreads();
        for (int q = 0; q < 16; q++)
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++) sum[r][s] += As[q][y + 16 * r] * Bs[q][x + 16 * s];
        __syncthreads();
    }
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            const int i = i0 + y + 16 * r, j = j0 + x + 16 * s;
            if (i < M && j < N) C[i * N + j] = alpha * sum[r][s] + beta * C[i * N + j];
        }
}
