// chase: one thread follows a chain of pointers, so each load waits for the load before: its time is the latency of a
// memory. Not a rung.
//
// A line of 128 bytes has one pointer, to the line STRIDE lines on, round the end. The stride is odd and the number of
// lines a power of two, so the chain visits all lines. Lines next to each other are far apart in the chain, and nothing
// that is fetched with a line is used.
//
// Launch: fill with blocks of 256 threads, one thread for each line; the chain begins at *at. chase with one thread: it
// follows the chain from *at, in global memory by loads that do not use L1, or from the first line of its own 16 KiB of
// shared memory if at is null. It puts the end into *at, and the cycles and the nanoseconds into took.

#define LINE 128
#define STRIDE 33
#define SHARED_LINES 128

typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(256) fill(char *memory, u64 lines, u64 *at)
{
    const u64 i = blockIdx.x * 256ull + threadIdx.x;
    if (i == 0)
        *at = (u64)memory;
    if (i < lines)
        *(u64 *)(memory + i * LINE) = (u64)(memory + (i + STRIDE) % lines * LINE);
}

static __device__ u64 now()
{
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

extern "C" __global__ void chase(int steps, u64 *at, u64 *took)
{
    __shared__ __align__(LINE) unsigned lines[SHARED_LINES * LINE / 4];
    u64 place = at ? *at : 0;
    const unsigned first = (unsigned)__cvta_generic_to_shared(lines);
    unsigned near = first;
    for (int i = 0; i < SHARED_LINES; i++)
        lines[i * LINE / 4] = first + (i + STRIDE) % SHARED_LINES * LINE;
    const u64 began = now();
    const long long start = clock64();
    if (at) {
        #pragma unroll 16
        for (int i = 0; i < steps; i++)
            asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(place) : : "memory");
    } else {
        #pragma unroll 16
        for (int i = 0; i < steps; i++)
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(near) : : "memory");
    }
    // The last load ends before the clock is read: what is stored depends on both.
    if (place == 1 || near == 1)
        return;
    took[0] = clock64() - start;
    took[1] = now() - began;
    if (at)
        *at = place;
}
