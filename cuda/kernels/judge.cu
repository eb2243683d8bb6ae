// judge: gives each launch of a user's kernel operands of its own, and checks what it has written. Not a rung.
//
// The memory holds copies of the operands and of what lies around them, `set` elements each. The first copy is as it
// was staged, and no launch uses it. judge_draw writes the others: all but C has other mantissas, by the seed, except
// in the copy `staged` (0: none); C, the elements from c to end, is `begin`, or if that is null a number too large for a
// result, by the seed too. It is no NaN because a kernel may compute 0*C.
//
// `found` is the least of what is wrong: CHANGED + an element outside of C that is not as it was drawn, UNWRITTEN + an
// element of C that is, or WRONG + a row of C that is not the product's.
//
// Launch: any number of blocks of whole warps.

#ifndef ELEMENT // of 8 bytes: double, unsigned long long, 12 and 0x7e0ull << 52
#define ELEMENT float
#define WORD unsigned
#define SHIFT 41 // leaves as many bits as a mantissa has
#define LARGE (0xfcu << 23)
#endif

#define CHANGED 0
#define UNWRITTEN (1ull << 60)
#define WRONG (2ull << 60)

typedef long long index;
typedef unsigned long long u64;

static __device__ u64 mixed(u64 x) // SplitMix64
{
    x *= 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

#define ARGUMENTS index all, index set, index c, index end, WORD *room, const WORD *begin, u64 seed, index staged

static __device__ WORD drawn(ARGUMENTS, index i)
{
    const index at = i % set;
    const WORD bits = mixed(seed + i) >> SHIFT;
    if (at >= c && at < end)
        return begin ? begin[at - c] : LARGE | bits;
    return i / set == staged ? room[at] : room[at] ^ bits;
}

#define EACH(i, from, to) \
    for (index i = (from) + (index)blockIdx.x * blockDim.x + threadIdx.x; i < (to); i += (index)gridDim.x * blockDim.x)

extern "C" __global__ void judge_draw(ARGUMENTS)
{
    EACH(i, set, all)
        room[i] = drawn(all, set, c, end, room, begin, seed, staged, i);
}

// judge_inspect looks for changes in all copies, and for what is not written in those up to `launched`.
extern "C" __global__ void judge_inspect(ARGUMENTS, index launched, u64 *found)
{
    EACH(i, set, all) {
        const index at = i % set;
        const bool ofC = at >= c && at < end;
        if (ofC && (begin || i / set > launched))
            continue;
        const bool same = room[i] == drawn(all, set, c, end, room, begin, seed, staged, i);
        if (same == ofC)
            atomicMin(found, (ofC ? UNWRITTEN : CHANGED) + i);
    }
}

// judge_apply: out = X*v for copies of X, `set` elements apart, whose rows have no gaps. Each copy has a v of its own;
// null: the same signs, by the seed. A warp computes an element.
extern "C" __global__ void judge_apply(index rows, index cols, index copies, index set, const ELEMENT *X, u64 seed,
    const double *v, double *out)
{
    const index warps = (index)gridDim.x * blockDim.x / 32;
    for (index r = ((index)blockIdx.x * blockDim.x + threadIdx.x) / 32; r < rows * copies; r += warps) {
        const index copy = r / rows;
        const ELEMENT *x = X + copy * set + r % rows * cols;
        double sum = 0;
        for (index j = threadIdx.x % 32; j < cols; j += 32)
            sum += x[j] * (v ? v[copy * cols + j] : mixed(seed + j) >> 63 ? 1.0 : -1.0);
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, d);
        if (threadIdx.x % 32 == 0)
            out[r] = sum;
    }
}

// judge_compare compares C*x with alpha*A*(B*x) + beta*begin*x, but for the copy `staged`, which is verified elsewhere.
extern "C" __global__ void judge_compare(index rows, index copies, index staged, double alpha, const double *product,
    double beta, const double *begin, const double *got, double tolerance, u64 *found)
{
    EACH(r, 0, rows * copies) {
        const double want = alpha * product[r] + (beta != 0 ? beta * begin[r % rows] : 0);
        if (r / rows + 1 != staged && !(fabs(got[r] - want) <= tolerance))
            atomicMin(found, WRONG + r % rows);
    }
}
