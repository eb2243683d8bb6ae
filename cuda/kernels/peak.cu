// peak: multiply-adds on registers only, the maximum rate of a pipe of the GPU. Not a rung.
//
// PIPE 32 and 64 are single and double precision, with 8 chains per thread. The others are the tensor
// cores, with 8 accumulators per warp: 65 is double precision, 19 is TF32, 16 is f16 and 17 is bf16 with
// sums in single precision, and 8 is bytes with sums of 32 bits. The operands are not constants, and the
// sums are stored, so the compiler removes nothing.
//
// Launch: any number of blocks of 256 threads, each with 16*8*rounds multiply-adds on numbers
// or, a warp, on fragments: 16x8x8 of PIPE 19, 16x8x16 of 16 and 17, 16x8x32 of 8, 16x8x16 of 65 from
// compute capability 9.0 on, 8x8x4 before.

#define STEPS 16
#define CHAINS 8

#if PIPE == 64 || PIPE == 65
typedef double Element;
#else
typedef float Element;
#endif

// The products of tensor cores, and their sums.
#if PIPE == 8
typedef int Sum;
#define OF "+r"
#else
typedef float Sum;
#define OF "+f"
#endif
#if PIPE == 19
#define PRODUCT "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif PIPE == 16
#define PRODUCT "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#elif PIPE == 17
#define PRODUCT "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#elif PIPE == 8
#define PRODUCT "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#endif

extern "C" __global__ void __launch_bounds__(256) peak(int rounds, Element x, Element *out)
{
#if PIPE == 32 || PIPE == 64
    Element sum[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        sum[i] = x * (threadIdx.x + i);
    const Element a = x * threadIdx.x, b = x;
    for (int r = 0; r < rounds; r++)
        #pragma unroll
        for (int s = 0; s < STEPS; s++)
            #pragma unroll
            for (int i = 0; i < CHAINS; i++)
                sum[i] = sum[i] * a + b;
    Element total = 0;
    for (int i = 0; i < CHAINS; i++)
        total += sum[i];
#elif defined PRODUCT
    Sum sum[CHAINS][4] = {};
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++)
        a[i] = __float_as_uint(x * (threadIdx.x + i));
    for (int i = 0; i < 2; i++)
        b[i] = __float_as_uint(x * (threadIdx.x + 4 + i));
    for (int r = 0; r < rounds; r++)
        #pragma unroll
        for (int s = 0; s < STEPS; s++)
            #pragma unroll
            for (int i = 0; i < CHAINS; i++)
                asm volatile(PRODUCT " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                    : OF(sum[i][0]), OF(sum[i][1]), OF(sum[i][2]), OF(sum[i][3])
                    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    Sum total = 0;
    for (int i = 0; i < CHAINS; i++)
        total += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
#else
    double sum[CHAINS][4] = {};
    double a[8], b[4];
    for (int i = 0; i < 8; i++)
        a[i] = x * (threadIdx.x + i);
    for (int i = 0; i < 4; i++)
        b[i] = x * (threadIdx.x + 8 + i);
    for (int r = 0; r < rounds; r++)
        #pragma unroll
        for (int s = 0; s < STEPS; s++)
            #pragma unroll
            for (int i = 0; i < CHAINS; i++)
#if __CUDA_ARCH__ >= 900
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                    "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                    : "+d"(sum[i][0]), "+d"(sum[i][1]), "+d"(sum[i][2]), "+d"(sum[i][3])
                    : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                      "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                    : "+d"(sum[i][0]), "+d"(sum[i][1]) : "d"(a[0]), "d"(b[0]));
#endif
    double total = 0;
    for (int i = 0; i < CHAINS; i++)
        total += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
#endif
    out[blockIdx.x * 256 + threadIdx.x] = total;
}
