// tf32: R = A rounded to TF32, with rows that begin at multiples of 32 bytes and k in the order that
// the products of warpgroups want: of each 8, 0, 2, 4, 6, 1, 3, 5, 7. Zeros follow a row. Not a rung.
//
// A has rows x cols elements, or it is stored transposed, as cols x rows (TRANSPOSED). R has rows x ldr, where ldr is
// cols, rounded up to a multiple of 8. THREE: rows*ldr elements further on is what rounding has left, rounded too.
// *unfit_y becomes 1 if an element has no such parts (production/tf32.cu), and *unfit 0.
//
// Launch: blocks of 256 threads with 32 elements of R each: ceil(rows*ldr / 8192); TRANSPOSED with 8, of ROWS rows and
// COLS columns: ceil(rows/32) * ceil(ldr/64).
// Global reads: rows*cols elements; writes: rows*ldr, with THREE twice as many.

// round_tf32 rounds to the nearest TF32 number, ties away from zero.
static __device__ float round_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}

// write rounds 8 elements and writes them in their order.
static __device__ void write(float *to, const float (&all)[8])
{
    float x[8];
    #pragma unroll
    for (int e = 0; e < 8; e++)
        x[e] = round_tf32(all[e]);
    ((float4 *)to)[0] = make_float4(x[0], x[2], x[4], x[6]);
    ((float4 *)to)[1] = make_float4(x[1], x[3], x[5], x[7]);
}

extern "C" __global__ void __launch_bounds__(256) to_tf32(int rows, int cols, const float *A, long long lda,
    float *R, long long ldr
#ifdef THREE
    , int *unfit_y, int *unfit
#endif
    )
{
    // store writes 8 elements of row i, from column p on.
    auto store = [&](long long i, long long p, const float (&x)[8]) {
        write(R + i * ldr + p, x);
#ifdef THREE
        float rest[8];
        bool all_fit = true;
        #pragma unroll
        for (int e = 0; e < 8; e++) {
            rest[e] = x[e] - round_tf32(x[e]);
            all_fit &= x[e] == 0 || fabsf(x[e]) >= 0x1p-48f && fabsf(x[e]) < 0x1p48f;
        }
        write(R + (rows + i) * ldr + p, rest);
        if (!all_fit)
            *unfit_y = 1;
#endif
    };
#ifdef THREE
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *unfit = 0;
#endif
#ifdef TRANSPOSED
    constexpr int ROWS = 32, COLS = 64;
    __shared__ float tile[COLS][ROWS + 1];
    const int strips = (rows + ROWS - 1) / ROWS;
    const long long row0 = (int)blockIdx.x % strips * ROWS, col0 = (int)blockIdx.x / strips * COLS;
    #pragma unroll
    for (int u = 0; u < COLS; u += 256 / ROWS) {
        const int q = u + threadIdx.x / ROWS;
        const long long j = row0 + threadIdx.x % ROWS;
        tile[q][threadIdx.x % ROWS] = col0 + q < cols && j < rows ? A[(col0 + q) * lda + j] : 0;
    }
    __syncthreads();
    const int i = threadIdx.x / 8, p = threadIdx.x % 8 * 8;
    float x[8];
    #pragma unroll
    for (int e = 0; e < 8; e++)
        x[e] = tile[p + e][i];
    if (row0 + i < rows && col0 + p < ldr)
        store(row0 + i, col0 + p, x);
#else
    constexpr int UNITS = 4; // of which the reads are under way at the same time
    alignas(16) float x[UNITS][8];
    const unsigned groups = ldr / 8, first = blockIdx.x * (256 * UNITS) + threadIdx.x;
    const bool wide = lda % 4 == 0 && (unsigned long long)A % 16 == 0;
    #pragma unroll
    for (int u = 0; u < UNITS; u++) {
        const long long i = (first + 256 * u) / groups, p = (first + 256 * u) % groups * 8;
        if (i < rows && p + 8 <= cols && wide) {
            *(float4 *)x[u] = *(const float4 *)(A + i * lda + p);
            *(float4 *)(x[u] + 4) = *(const float4 *)(A + i * lda + p + 4);
        } else {
            #pragma unroll
            for (int e = 0; e < 8; e++)
                x[u][e] = i < rows && p + e < cols ? A[i * lda + p + e] : 0;
        }
    }
    #pragma unroll
    for (int u = 0; u < UNITS; u++) {
        const long long i = (first + 256 * u) / groups, p = (first + 256 * u) % groups * 8;
        if (i < rows)
            store(i, p, x[u]);
    }
#endif
}
