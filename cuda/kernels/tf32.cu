// tf32: R = A rounded to TF32, with rows that begin at multiples of 32 bytes and k in the order that
// the products of warpgroups want: of each 8, 0, 2, 4, 6, 1, 3, 5, 7. Zeros follow a row. Not a rung.
//
// A has rows x cols elements, R rows x ldr, where ldr is cols, rounded up to a multiple of 8. A thread has
// 8 elements of a row.
//
// Launch: ceil(rows*ldr/8 / 256) blocks of 256 threads.
// Global reads: rows*cols elements; writes: rows*ldr.

// round_tf32 rounds to the nearest TF32 number, ties away from zero.
static __device__ float round_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}

extern "C" __global__ void __launch_bounds__(256) to_tf32(int rows, int cols, const float *A, long long lda,
    float *R, long long ldr)
{
    const long long groups = ldr / 8, at = blockIdx.x * 256ll + threadIdx.x;
    const long long i = at / groups, p = at % groups * 8;
    if (i >= rows)
        return;
    alignas(16) float x[8];
    if (p + 8 <= cols && lda % 4 == 0 && (unsigned long long)A % 16 == 0) {
        *(float4 *)x = *(const float4 *)(A + i * lda + p);
        *(float4 *)(x + 4) = *(const float4 *)(A + i * lda + p + 4);
    } else {
        #pragma unroll
        for (int e = 0; e < 8; e++)
            x[e] = p + e < cols ? A[i * lda + p + e] : 0;
    }
    #pragma unroll
    for (int e = 0; e < 8; e++)
        x[e] = round_tf32(x[e]);
    float4 *to = (float4 *)(R + i * ldr + p);
    to[0] = make_float4(x[0], x[2], x[4], x[6]);
    to[1] = make_float4(x[1], x[3], x[5], x[7]);
}
