// ozaki-mma: products of int8, plane by plane, whose sums are reduced modulo a number for each plane.
//
// Against half/mma: products of int8 with 32-bit sums, which are exact; A and B are planes, one below the other, whose
// rows go along k; and a sum becomes a byte, its residue. It is a stage of products in double precision:
// residues.cu has the stages before and after.
// Columns have changed places in each 32 of B, so that the eight bytes of a lane in these are neighbours in Z.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: planes * ceil(m/BM) * ceil(columns/BN) blocks; dynamic shared memory of STAGES*BK*(BM + BN) bytes.
// A, B: planes of `rows` and `columns` vectors, multiples of 32, with `depth` bytes each. Z: planes of m rows.
// add: the residues in Z are added to these.
// Global reads of A and B: planes*m*n*k*(1/BM + 1/BN) bytes.
// Shared reads: BM*BN*BK*(1/WM + 1/WN) bytes a block and slice.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 128
#endif
#ifndef WM
#define WM 64
#endif
#ifndef WN
#define WN 64
#endif
#ifndef STAGES
#define STAGES 3
#endif
#ifndef SWIZZLE
#define SWIZZLE 8
#endif
#define THREADS (32 * (BM / WM) * (BN / WN))
#define BOX (64 * 128) // bytes of 64 rows

static_assert(BM % 64 == 0 && BN % 64 == 0, "a slice is boxes of 64 rows");
static_assert(BK == 128, "a row of a box is 128 bytes");
static_assert(64 % WM == 0 && 64 % WN == 0, "the rows and columns of a warp lie in one box");
static_assert(WM % 16 == 0 && WN % 32 == 0, "fragments are 16 x 32, and a lane has 8 columns of 32");
static_assert(THREADS % 64 == 0 && THREADS <= 512, "a pass copies a multiple of 8 rows, of one box");
static_assert(STAGES >= 2, "one slice is copied while another is multiplied");

// Modulus is what a sum is reduced with: weights of its four bytes, and a number to begin with; see residues.cu.
struct Modulus { int minus; float inverse, centre; int start, weights; };

// shared_address is the address within shared memory that copies and ldmatrix want.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// copy_async starts the copy of 16 bytes to shared memory.
static __device__ void copy_async(unsigned to, const signed char *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}

// load_matrices reads four matrices of 8 x 16 bytes from shared memory, whose rows lanes 0 to 7, 8 to 15, and
// so on give. A lane gets four bytes of row lane/4.
static __device__ void load_matrices(unsigned (&x)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
}

// multiply adds the product of 16 x 32 and 32 x 8 bytes to the sums of a warp.
static __device__ void multiply(int *d, const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
        " {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
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

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int rows, int columns, int depth,
    int planes, const signed char *A, const signed char *B, const Modulus *moduli, int add, unsigned char *Z)
{
    // STAGES times a slice of A and one of B. A slice is boxes of 64 rows.
    extern __shared__ __align__(128) unsigned char shared[];
    constexpr int SLICE_A = BM / 64 * BOX, SLICE = SLICE_A + BN / 64 * BOX;
    const unsigned slices = shared_address(shared);

    // The plane and the tile: groups of SWIZZLE rows of tiles, in a group column of tiles after column of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (columns + BN - 1) / BN;
    const int plane = (int)blockIdx.x / (tiles_m * tiles_n), tile = (int)blockIdx.x % (tiles_m * tiles_n);
    const int group = tile / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int row0 = (group + tile % (SWIZZLE * tiles_n) % height) * BM;
    const int col0 = tile % (SWIZZLE * tiles_n) / height * BN;
    A += (long long)plane * rows * depth;
    B += (long long)plane * columns * depth;

    // What this thread copies: a unit of each row of its own, PASS rows in a pass.
    constexpr int PASS = THREADS / 8;
    const int unit = threadIdx.x % 8 * 16, row = threadIdx.x / 8;
    const unsigned place = slices + row * 128 + (threadIdx.x % 8 ^ row % 8) * 16;

    // copy starts the copy of slice s of A or B: `size` vectors from `first` on, of `all`. Beyond these it repeats one.
    const int count = depth / BK;
    auto copy = [&](int s, unsigned to, const signed char *from, int first, int size, int all) {
        if (s >= count)
            return;
        #pragma unroll
        for (int r = 0; r < size; r += PASS) {
            const int y = first + r + row < all ? first + r + row : first;
            copy_async(to + s % STAGES * SLICE + r * 128, from + (long long)y * depth + s * BK + unit);
        }
    };
    auto copy_a = [&](int s) { copy(s, place, A, row0, BM, rows); };
    auto copy_b = [&](int s) { copy(s, place + SLICE_A, B, col0, BN, columns); };
    // A group without copies counts as one that has arrived.
    auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
    // arrive returns when all threads have copied the oldest slice, and read the slice before it.
    auto arrive = [] {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };

    // The rows of matrices that a lane gives to ldmatrix: k indices 16 to 31 of A and columns 8 to 15 of B come last.
    // The bits of an offset that say the unit are exclusive-or of the row's and the unit's own.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int low = lane % 8, middle = lane / 8 % 2, high = lane / 16;
    auto along_k = [](int unit, int y) { return y * 128 + (unit ^ y % 8) * 16; };
    const int a_lane = along_k(high, warp_row + 8 * middle + low), b_lane = along_k(middle, warp_col + 8 * high + low);

    // Fragments for two steps of 32 k indices: one is read while the other is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto read = [&](int half, int s, int p) {
        const unsigned slice = slices + s % STAGES * SLICE;
        #pragma unroll
        for (int x = 0; x < WM / 16; x++)
            load_matrices(a[half][x], (slice + a_lane ^ p) + 16 * 128 * x);
        #pragma unroll
        for (int y = 0; y < WN / 16; y++)
            load_matrices(b[half][y], (slice + SLICE_A + b_lane ^ p) + 16 * 128 * y);
    };

    for (int s = 0; s < STAGES - 1; s++) {
        copy_a(s);
        copy_b(s);
        commit();
    }
    arrive();
    read(0, 0, 0);
    int sum[WM / 16][WN / 8 * 4] = {};
    #pragma unroll 1
    for (int s = 0; s < count; s++)
        #pragma unroll
        for (int p = 0; p < BK; p += 32) {
            const int half = p / 32 % 2;
            if (p == 0)
                copy_a(s + STAGES - 1);
            if (p == 32)
                copy_b(s + STAGES - 1);
            if (p == BK - 32) {
                commit();
                arrive();
            }
            read(1 - half, p == BK - 32 ? s + 1 : s, (p + 32) % BK);
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 8; y++)
                    multiply(&sum[x][4 * y], a[half][x], b[half][y / 2][y % 2 * 2], b[half][y / 2][y % 2 * 2 + 1]);
        }

    // Z: a lane has rows lane/4 and 8 further on of each 16, and columns 8*(lane%4) and so on of each 32.
    const Modulus by = moduli[plane];
    #pragma unroll
    for (int x = 0; x < WM / 8; x++) {
        const int i = row0 + warp_row + 8 * x + lane / 4, j = col0 + warp_col + lane % 4 * 8;
        #pragma unroll
        for (int g = 0; g < WN / 32; g++)
            if (i < m && j + 32 * g < columns)
                reduce(Z + ((long long)plane * m + i) * columns + j + 32 * g, &sum[x / 2][16 * g + x % 2 * 2], by, add);
    }
}
