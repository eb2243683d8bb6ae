// A kernel of your own: C = alpha*A*B + beta*C. It is correct and slow. Make it faster, and measure
// again:
//
//   gemm cuda --bring NAME --type f32 --sizes 512,1024,1000x300x77
//
// A is M x K, B is K x N, and C is M x N. Each matrix is stored by rows without gaps: element (i, j)
// of C is C[i * N + j]. gemm compiles this file with NVRTC, launches the kernel between its own ones,
// and verifies every result. Write each element of C, nothing else, and not A and B.
//
// The next line is how the kernel is launched. It has what stands between the parentheses of dim3: M,
// N, K, numbers, + - * / % and parentheses, without blanks.
//
// gemm: --block-dims 32x32 --grid (N+31)/32,(M+31)/32
//
// The block has 32x32 threads, x along the columns of C (N) and y along its rows (M). If your kernel
// has x along the rows, exchange the two: --grid (M+31)/32,(N+31)/32.
//
// A first step: load tiles of A and B into shared memory (__shared__), and read them from there.

extern "C" __global__ void matmul(int M, int N, int K, float alpha, const float *A, const float *B,
                                  float beta, float *C)
{
    const int i = blockIdx.y * blockDim.y + threadIdx.y; // row of C
    const int j = blockIdx.x * blockDim.x + threadIdx.x; // column of C
    if (i >= M || j >= N)
        return;
    float sum = 0;
    for (int p = 0; p < K; p++)
        sum += A[i * K + p] * B[p * N + j];
    C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
