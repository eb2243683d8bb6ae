// peak_warpgroups: products of whole warpgroups on shared memory only, the maximum rate of the tensor cores
// of compute capability 9.0. Not a rung.
//
// PIPE 19 is TF32, 16 is f16 and 17 is bf16, with sums in single precision; 8 is bytes, with sums of 32 bits.
// Two warpgroups have 64 x 256 sums each. The operands are not constants: the rate would be higher, since the
// GPU would need less power.
//
// Launch: any number of blocks of 256 threads, each with 2*STEPS*rounds products of 64 x 256 by 32 bytes: 8
// values of TF32, 16 of f16 or bf16, 32 of a byte.

#define STEPS 4

// KEEP and FILL make random bits an operand, of values between 0.5 and 1 of both signs, or of any bytes.
#if PIPE == 8
typedef int Sum;
#define OF "+r"
#else
typedef float Sum;
#define OF "+f"
#endif
#if PIPE == 19
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32"
#define SIGNS "1, 1, 1"
#define KEEP 0x807fffffu
#define FILL 0x3f000000u
#elif PIPE == 16
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
#define SIGNS "1, 1, 1, 0, 0"
#define KEEP 0x83ff83ffu
#define FILL 0x38003800u
#elif PIPE == 17
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
#define SIGNS "1, 1, 1, 0, 0"
#define KEEP 0x807f807fu
#define FILL 0x3f003f00u
#else
#define PRODUCT "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"
#define SIGNS "1"
#define KEEP 0xffffffffu
#define FILL 0
#endif

// 16 sums as operands of an instruction.
#define SUMS(i) OF(d[i]), OF(d[i + 1]), OF(d[i + 2]), OF(d[i + 3]), OF(d[i + 4]), \
    OF(d[i + 5]), OF(d[i + 6]), OF(d[i + 7]), OF(d[i + 8]), OF(d[i + 9]), OF(d[i + 10]), \
    OF(d[i + 11]), OF(d[i + 12]), OF(d[i + 13]), OF(d[i + 14]), OF(d[i + 15])

// descriptor says where an operand lies: rows of 128 bytes, swizzled, in groups of 8 that are 1024 bytes
// apart.
static __device__ unsigned long long descriptor(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

static __device__ void multiply(Sum (&d)[128], unsigned long long a, unsigned long long b)
{
    asm volatile(PRODUCT " {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, " SIGNS ";"
        : SUMS(0), SUMS(16), SUMS(32), SUMS(48), SUMS(64), SUMS(80), SUMS(96), SUMS(112)
        : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(256, 1) peak_warpgroups(int rounds, unsigned seed, float *out)
{
    // 64 rows of A for each warpgroup, and 256 columns of B, of 128 bytes each.
    __shared__ __align__(1024) unsigned operands[(2 * 64 + 256) * 32];
    for (int i = threadIdx.x; i < (2 * 64 + 256) * 32; i += 256) {
        unsigned x = (i + seed) * 2654435761u;
        x = (x ^ x >> 15) * 2246822519u;
        x ^= x >> 13;
        operands[i] = (x & KEEP) | FILL;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(operands));
    const unsigned a = (unsigned)address + threadIdx.x / 128 * (64 * 128), b = (unsigned)address + 128 * 128;
    Sum sum[128] = {};
    for (int r = 0; r < rounds; r++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int s = 0; s < STEPS; s++)
            multiply(sum, descriptor(a + 32 * s), descriptor(b + 32 * s));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    Sum total = 0;
    for (int i = 0; i < 128; i++)
        total += sum[i];
    out[blockIdx.x * 256 + threadIdx.x] = total;
}
