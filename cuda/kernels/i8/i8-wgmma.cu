// ozaki-wgmma: products of int8, plane by plane, whose sums are reduced modulo a number for each plane.
//
// Against half/wgmma-persistent: products of int8 with 32-bit sums, which are exact; A and B are planes, one below the
// other, whose rows go along k; and a sum becomes a byte, its residue. It is a stage of products in double precision:
// residues.cu has the stages before and after.
// Columns have changed places in each 32 of B, so that the eight bytes of a lane in these are neighbours in Z.
//
// Tile: BM x BN a block; THREADS = 384: the producer's warpgroup and two that have 64 rows each.
// Launch: as many blocks as multiprocessors, or as tiles of all planes if these are fewer, in clusters of CLUSTER;
// dynamic shared memory of STAGES*BK*(BM + BN) + 1024 + 64 bytes.
// A, B: maps of planes of `rows` and `columns` vectors, multiples of 32, with boxes of 64 x BK. Z: planes of m rows.
// add: the residues in Z are added to these.
// Global reads of A and B: planes*m*n*k*(1/(BM*CLUSTER) + 1/BN) bytes.
// Shared reads: BM*BN*BK*(1/64 + 1/BN) bytes a block and slice.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 256
#endif
#ifndef BK
#define BK 128
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef SWIZZLE
#define SWIZZLE 16
#endif
#ifndef CLUSTER
#define CLUSTER 2
#endif
// MARK notes that a role begins a step, in builds for timelines (timeline.cu).
#ifndef MARK
#define MARKS
#define MARK(role, step)
#endif

#define THREADS (128 * (1 + BM / 64))
#define BOX (64 * 128) // bytes of 64 rows

static_assert(BM == 128, "two warpgroups multiply: the registers are for them");
static_assert(BN == 256, "wgmma has 256 columns");
static_assert(BK == 128, "a row of a box is 128 bytes");
static_assert(16 * STAGES <= 64, "barriers have 64 bytes");
static_assert(SWIZZLE % CLUSTER == 0, "the tiles of a cluster are in one column");

// TensorMap describes a matrix and the box of one copy; the driver encodes it.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Modulus is what a sum is reduced with: weights of its four bytes, and a number to begin with; see residues.cu.
struct Modulus { int minus; float inverse, centre; int start, weights; };

// 16 sums as operands of an instruction, and ten of their names.
#define SUMS(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), \
    "+r"(d[i + 5]), "+r"(d[i + 6]), "+r"(d[i + 7]), "+r"(d[i + 8]), "+r"(d[i + 9]), "+r"(d[i + 10]), \
    "+r"(d[i + 11]), "+r"(d[i + 12]), "+r"(d[i + 13]), "+r"(d[i + 14]), "+r"(d[i + 15])
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, " \
    "%" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "

// shared_address is the address within shared memory that copies and barriers want.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// A barrier in shared memory (mbarrier) has phases. init sets how many arrivals end a phase.
static __device__ void init(unsigned barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(arrivals));
}

// arrive counts one arrival at the barrier of a block of the cluster.
static __device__ void arrive(unsigned barrier, unsigned block)
{
    asm volatile("{ .reg .u32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
        :: "r"(barrier), "r"(block) : "memory");
}

// expect counts one arrival. The phase then lasts until copies have written the bytes, too.
static __device__ void expect(unsigned barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(barrier), "r"(bytes) : "memory");
}

// wait returns when the phase with the parity has ended. Phases alternate: 0, 1, 0, ... A wait for
// parity 1 of a new barrier returns at once.
static __device__ void wait(unsigned barrier, int parity)
{
    unsigned ended;
    do
        asm volatile("{ .reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(ended) : "r"(barrier), "r"(parity) : "memory");
    while (!ended);
}

// copy_box starts the copy of a box of the matrix, from row y and column x on, to shared memory. What
// lies outside of the matrix becomes 0. Rows of 128 bytes arrive swizzled: the 16 bytes at offset 16*i of
// row r lie at offset 16*(i ^ r % 8). The barrier gets the bytes.
static __device__ void copy_box(unsigned to, const TensorMap *map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4}], [%2];"
        :: "r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y) : "memory");
}

// copy_to_all is copy_box for all blocks of the cluster: the box and the bytes go to the same places in each.
static __device__ void copy_to_all(unsigned to, const TensorMap *map, unsigned barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
        :: "r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "h"((unsigned short)((1 << CLUSTER) - 1)) : "memory");
}

// meet is a barrier of all threads of the cluster.
static __device__ void meet()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// descriptor says where an operand of wgmma lies: rows of 128 bytes, swizzled, in groups of 8 that are
// 1024 bytes apart.
static __device__ unsigned long long descriptor(unsigned address)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (1024ull >> 4) << 32 | 1ull << 62;
}

// begin comes before a warpgroup multiplies: what it has written to the registers of sums is then there.
static __device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// commit closes the group of products that were begun.
static __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// finish returns when all groups but the LEFT youngest are done.
template <int LEFT> static __device__ void finish()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory");
}

// The operands of the instruction: its sums, and the names of all.
#define ALL_SUMS SUMS(0), SUMS(16), SUMS(32), SUMS(48), SUMS(64), SUMS(80), SUMS(96), SUMS(112)
#define NAMES TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
    "%120, %121, %122, %123, %124, %125, %126, %127"
#define ADD "%130"
#define OTHERS "%128, %129, p"

// multiply adds the product of 64 x 32 and 32 x BN bytes in shared memory to the sums of a warpgroup, or
// to 0. It only begins: a commit and a wait follow.
static __device__ void multiply(int (&d)[BN / 2], unsigned long long a, unsigned long long b, bool add)
{
    asm volatile("{ .reg .pred p;\n"
        "setp.ne.b32 p, " ADD ", 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" NAMES "}, " OTHERS "; }"
        : ALL_SUMS : "l"(a), "l"(b), "r"((int)add));
}

// residue returns a number whose low byte is the residue of a sum plus a byte.
static __device__ unsigned residue(int sum, const Modulus &by, int byte)
{
    int bits;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(bits) : "r"(sum ^ 1 << 31), "r"(by.weights), "r"(by.start + byte));
    return bits + __float_as_int(fmaf(__int_as_float(bits), by.inverse, by.centre)) * by.minus;
}

// reduce sets eight bytes of Z to the residues of the first two of each four sums.
static __device__ void reduce(unsigned char *z, const int *d, const Modulus &by, bool add)
{
    const uint2 old = add ? *(const uint2 *)z : uint2{};
    unsigned r[8];
    #pragma unroll
    for (int e = 0; e < 8; e++)
        r[e] = residue(d[e / 2 * 4 + e % 2], by, (signed char)((e < 4 ? old.x : old.y) >> e % 4 * 8));
    auto pack = [&](int e) {
        return __byte_perm(__byte_perm(r[e], r[e + 1], 0x0040), __byte_perm(r[e + 2], r[e + 3], 0x0040), 0x5410);
    };
    *(uint2 *)z = {pack(0), pack(4)};
}

extern "C" __global__ void __cluster_dims__(CLUSTER) __launch_bounds__(THREADS, 1) gemm(
    int m, int rows, int columns, int depth, int planes,
    const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B,
    const Modulus *moduli, int add, unsigned char *Z)
{
    // STAGES times a slice of A and one of B, at a multiple of 1024 bytes, then the barriers. A slice is boxes
    // of 64 x BK bytes.
    extern __shared__ unsigned char shared[];
    MARKS;
    constexpr int SLICE_A = BM / 64 * BOX, SLICE = SLICE_A + BN / 64 * BOX;
    const unsigned slices = (shared_address(shared) + 1023) / 1024 * 1024;
    const unsigned full = slices + STAGES * SLICE, empty = full + 8 * STAGES;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            init(full + 8 * s, 1);
            init(empty + 8 * s, 2 * CLUSTER);
        }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    meet();

    // Tile t of the planes, one after the other: the tiles of a cluster are neighbours in a column. Groups of SWIZZLE
    // rows of tiles, in a group column of tiles after column of tiles.
    const int rank = (int)blockIdx.x % CLUSTER;
    const int tiles_m = (m + CLUSTER * BM - 1) / (CLUSTER * BM) * CLUSTER, tiles_n = (columns + BN - 1) / BN;
    const int tiles = tiles_m * tiles_n;
    int plane, row0, col0;
    auto place = [&](int t) {
        plane = t / tiles;
        t %= tiles;
        const int group = t / (SWIZZLE * tiles_n) * SWIZZLE;
        const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
        row0 = (group + t % (SWIZZLE * tiles_n) % height) * BM;
        col0 = t % (SWIZZLE * tiles_n) / height * BN;
    };
    const int count = depth / BK;

    // The place in the ring, and the parity of its phase.
    int stage = 0, parity = 0;
    auto advance = [&]() {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    };

    if (threadIdx.x < 128) { // the producer
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x != 0)
            return;
        for (int t = blockIdx.x; t < tiles * planes; t += gridDim.x) {
            place(t);
            for (int s = 0; s < count; s++) {
                MARK(PRODUCER, WAIT);
                wait(empty + 8 * stage, parity ^ 1);
                MARK(PRODUCER, COPY);
                const unsigned slice = slices + stage * SLICE, barrier = full + 8 * stage;
                expect(barrier, SLICE);
                for (int b = 0; b < BM; b += 64)
                    copy_box(slice + b / 64 * BOX, &A, barrier, s * BK, plane * rows + row0 + b);
                for (int b = rank * 64; b < BN; b += CLUSTER * 64)
                    copy_to_all(slice + SLICE_A + b / 64 * BOX, &B, barrier, s * BK, plane * columns + col0 + b);
                advance();
            }
        }
        MARK(PRODUCER, DONE);
        // No block ends before all have arrived at its barriers, so that these exist.
        for (int s = 0; s < STAGES; s++) {
            wait(empty + 8 * stage, parity ^ 1);
            advance();
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4, warpgroup = warp / 4;
    for (int t = blockIdx.x; t < tiles * planes; t += gridDim.x) {
        place(t);
        int sum[BN / 2];
        unsigned last = empty; // the barrier of the slice before
        for (int s = 0; s < count; s++) {
            MARK(CONSUMER, WAIT);
            wait(full + 8 * stage, parity);
            MARK(CONSUMER, MULTIPLY);
            const unsigned slice = slices + stage * SLICE;
            begin();
            #pragma unroll
            for (int p = 0; p < BK / 32; p++)
                multiply(sum, descriptor(slice + warpgroup * BOX + 32 * p),
                    descriptor(slice + SLICE_A + 32 * p), s > 0 || p > 0);
            commit();
            finish<1>(); // the products of the slice before
            if (s > 0 && threadIdx.x % 128 < CLUSTER)
                arrive(last, threadIdx.x % 128);
            last = empty + 8 * stage;
            advance();
        }
        finish<0>();
        MARK(CONSUMER, STORE);
        if (threadIdx.x % 128 < CLUSTER)
            arrive(last, threadIdx.x % 128);

        // Z: a lane has rows lane/4 and 8 further on in the 16 of its warp, and columns 8*(lane%4) and so on of 32.
        const Modulus by = moduli[plane];
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            const int i = row0 + 16 * warp + lane / 4 + 8 * h, j = col0 + lane % 4 * 8;
            #pragma unroll
            for (int g = 0; g < BN / 32; g++)
                if (i < m && j + 32 * g < columns)
                    reduce(Z + ((long long)plane * m + i) * columns + j + 32 * g, &sum[16 * g + 2 * h], by, add);
        }
    }
    MARK(CONSUMER, DONE);
}
