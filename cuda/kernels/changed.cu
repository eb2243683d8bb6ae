// changed: finds the first word of memory that is not what it was. Not a rung.
//
// The memory holds copies of the operands and of what lies around them, set words each. No product
// uses the first copy: the others are compared with it, but for C, the words from c to end.
//
// Launch: any number of blocks.

extern "C" __global__ void changed(long long words, long long set, long long c, long long end,
    const unsigned *room, unsigned long long *first)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = set + (long long)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
        const long long at = i % set;
        if ((at < c || at >= end) && room[i] != room[at])
            atomicMin(first, (unsigned long long)i);
    }
}
