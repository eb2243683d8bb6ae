// timeline: notes when the warps of a block begin what they do. It stands before the source of a kernel
// that is compiled for a timeline, and defines MARKS and MARK, by which the kernel marks its steps. All
// other builds have no trace of them.
//
// A lane is a role of a block: the first thread of a warpgroup notes moments in it. Only blocks on the first
// multiprocessors have lanes. The first word of a lane says what it is; each other is a moment. The host
// clears all words and `lanes` before a launch. A lane or a moment for which there is no room is left out.

namespace timeline {
constexpr int MULTIPROCESSORS = 2, LANES = 96, MOMENTS = 2048;

// What a lane is of, and what begins at a moment. The host has the same numbers.
enum Role { PRODUCER = 1, CONSUMER, WORKER };
enum Step { WAIT = 1, COPY, MULTIPLY, STORE, DONE };

extern "C" {
__device__ unsigned long long moments[LANES * MOMENTS];
__device__ unsigned lanes;
}

// note begins a step now. next is the place of the moment; 0: there is no lane yet; -1: there is none.
static __device__ __forceinline__ void note(int &next, Role role, Step step)
{
    if (threadIdx.x % 128 != 0 || next < 0)
        return;
    if (next == 0) {
        unsigned multiprocessor;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
        const unsigned lane = multiprocessor < MULTIPROCESSORS ? atomicAdd(&lanes, 1) : LANES;
        next = -1;
        if (lane >= LANES)
            return;
        moments[lane * MOMENTS] = (unsigned long long)role << 56 | (unsigned long long)(threadIdx.x / 128) << 48
            | (unsigned long long)multiprocessor << 32 | blockIdx.x + gridDim.x * blockIdx.z;
        next = lane * MOMENTS + 1;
    }
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    moments[next++] = now << 8 | step;
    if (next % MOMENTS == 0)
        next = -1;
}
}

#define MARKS int next_moment = 0
#define MARK(role, step) timeline::note(next_moment, timeline::role, timeline::step)
