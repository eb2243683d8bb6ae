// mma: slices are copied asynchronously (cp.async), STAGES - 1 ahead, and fragments one step ahead.
//
// Against mma-ldmatrix: cp.async copies units of 16 bytes to shared memory past the registers, while earlier slices
// are multiplied. A row of a slice has 128 bytes, and its units change places with the row, so that the eight rows
// which ldmatrix reads at once lie in different banks without padding. The fragments of the next 16 k indices are
// read while these are multiplied. Groups of tiles that run at the same time share rows and columns in L2.
// Types: elements are f16, or bf16 with BF16. Products are exact, sums are in f32, and C is rounded once.
// TRANS_A: A is stored transposed, as k x m; TRANS_B: B as n x k. An operand is copied as it lies: ldmatrix
// transposes its fragments.
//
// Tile: BM x BN a block, WM x WN a warp; a block has THREADS = 32*(BM/WM)*(BN/WN) threads.
// Launch: ceil(m/BM) * ceil(n/BN) blocks; dynamic shared memory of 2*STAGES*BK*(BM + BN) bytes.
// A, B: addresses, lda and ldb are multiples of 16 bytes.
// Global reads of A and B: m*n*k*(1/BM + 1/BN) elements.
// Shared reads: BM*BN*BK*(1/WM + 1/WN) elements a block and slice.

#ifndef BM
#define BM 128
#endif
#ifndef BN
#define BN 128
#endif
#ifndef BK
#define BK 64
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
#ifndef TRANS_A
#define TRANS_A 0
#endif
#ifndef TRANS_B
#define TRANS_B 0
#endif

#ifdef BF16
#define TYPE "bf16"
#else
#define TYPE "f16"
#endif

#define THREADS (32 * (BM / WM) * (BN / WN))
#define BOX (64 * 128) // bytes of 64 rows of 64 elements

static_assert(BM % 64 == 0 && BN % 64 == 0, "a slice is boxes of 64 x 64 elements");
static_assert(BK == 64, "a row of a box is 128 bytes");
static_assert(64 % WM == 0 && 64 % WN == 0, "the rows and columns of a warp lie in one box");
static_assert(WM % 16 == 0 && WN % 16 == 0 && BK % 16 == 0, "fragments are 16 x 16");
static_assert(THREADS % 64 == 0 && THREADS <= 512, "a pass copies a multiple of 8 rows, of one box");
static_assert(STAGES >= 2, "one slice is copied while another is multiplied");

// shared_address is the address within shared memory that copies and ldmatrix want.
static __device__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// copy_async starts the copy of 16 bytes to shared memory, of which `left` elements exist: the others become 0.
static __device__ void copy_async(unsigned to, const unsigned short *from, int left)
{
    const int bytes = left >= 8 ? 16 : left > 0 ? 2 * left : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}

// load_matrices reads four matrices of 8 x 8 elements from shared memory, whose rows lanes 0 to 7, 8 to 15, and
// so on give. A lane gets two elements of row lane/4, or of column lane/4 if they are transposed.
template <int TRANSPOSED> static __device__ void load_matrices(unsigned (&x)[4], unsigned row)
{
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
}

// multiply adds the product of 16 x 16 and 16 x 8 elements to the sums of a warp.
static __device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9},"
        " {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// pack rounds two numbers to nearest even. The first is in the low half.
static __device__ unsigned pack(float x, float y)
{
    unsigned pair;
    asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

// widen returns the element as a float.
static __device__ float widen(unsigned x)
{
#ifdef BF16
    return __uint_as_float(x << 16);
#else
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"((unsigned short)x));
    return y;
#endif
}

// store sets two neighbouring elements of C, of which `left` exist, to beta*C + (x, y), rounded once. Both are
// copied at once if the address permits. beta == 0 must not read C: it may hold NaN.
static __device__ void store(unsigned short *c, int left, float x, float y, float beta)
{
    if (left > 1 && (unsigned long long)c % 4 == 0) {
        if (beta != 0) {
            const unsigned pair = *(const unsigned *)c;
            x += beta * widen(pair & 0xffff);
            y += beta * widen(pair >> 16);
        }
        *(unsigned *)c = pack(x, y);
        return;
    }
    if (left > 0)
        c[0] = (unsigned short)pack(beta == 0 ? x : x + beta * widen(c[0]), 0);
    if (left > 1)
        c[1] = (unsigned short)pack(beta == 0 ? y : y + beta * widen(c[1]), 0);
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(int m, int n, int k, float alpha,
    const unsigned short *A, long long lda, const unsigned short *B, long long ldb,
    float beta, unsigned short *C, long long ldc)
{
    // STAGES times a slice of A and one of B. A slice is boxes of 64 x 64 elements.
    extern __shared__ __align__(128) unsigned char shared[];
    constexpr int SLICE_A = BM / 64 * BOX, SLICE = SLICE_A + BN / 64 * BOX;
    const unsigned slices = shared_address(shared);

    // The tile of C: groups of SWIZZLE rows of tiles, in a group column of tiles after column of tiles.
    const int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    const int group = (int)blockIdx.x / (SWIZZLE * tiles_n) * SWIZZLE;
    const int height = tiles_m - group < SWIZZLE ? tiles_m - group : SWIZZLE;
    const int row0 = (group + (int)blockIdx.x % (SWIZZLE * tiles_n) % height) * BM;
    const int col0 = (int)blockIdx.x % (SWIZZLE * tiles_n) / height * BN;

    // What this thread copies: a unit of each row of its own, PASS rows in a pass.
    constexpr int PASS = THREADS / 8;
    const int unit = threadIdx.x % 8 * 8, row = threadIdx.x / 8;
    const unsigned place = slices + row * 128 + (threadIdx.x % 8 ^ row % 8) * 16;

    // copy starts the copy of slice s of A or B: `size` rows or columns from `first` on, of `all`. Beyond the edges
    // it is 0.
    const int count = (k + BK - 1) / BK;
    auto copy = [&](int s, unsigned to, const unsigned short *from, long long ld, bool along_k, int first, int size,
        int all) {
        if (s >= count)
            return;
        #pragma unroll
        for (int r = 0; r < size; r += PASS) {
            // The row in the matrix as it is stored, and the column.
            const int y = along_k ? first + r + row : s * BK + (r + row) % 64;
            const int x = along_k ? s * BK + unit : first + (r + row) / 64 * 64 + unit;
            const int left = y < (along_k ? all : k) ? (along_k ? k : all) - x : 0;
            copy_async(to + s % STAGES * SLICE + r * 128, left > 0 ? from + y * ld + x : from, left);
        }
    };
    auto copy_a = [&](int s) { copy(s, place, A, lda, !TRANS_A, row0, BM, m); };
    auto copy_b = [&](int s) { copy(s, place + SLICE_A, B, ldb, TRANS_B, col0, BN, n); };
    // A group without copies counts as one that has arrived.
    auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
    // arrive returns when all threads have copied the oldest slice, and read the slice before it.
    auto arrive = [] {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
    };

    // The rows of matrices that a lane gives to ldmatrix: k indices 8 to 15 of A and columns 8 to 15 of B come last.
    // The bits of an offset that say the unit are exclusive-or of the row's and the unit's own.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const int low = lane % 8, middle = lane / 8 % 2 * 8, high = lane / 16 * 8;
    auto along_k = [](int x, int y) { return y * 128 + (x / 8 ^ y % 8) * 16; };
    auto across_k = [](int x, int y) { return y / 64 * BOX + x * 128 + (y % 64 / 8 ^ x % 8) * 16; };
    const int a_lane = TRANS_A ? across_k(high + low, warp_row + middle) : along_k(high, warp_row + middle + low);
    const int b_lane = TRANS_B ? along_k(middle, warp_col + high + low) : across_k(middle + low, warp_col + high);

    // Fragments for two steps of 16 k indices: one is read while the other is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto read = [&](int half, int s, int p) {
        const unsigned slice = slices + s % STAGES * SLICE;
        #pragma unroll
        for (int x = 0; x < WM / 16; x++)
            load_matrices<TRANS_A>(a[half][x], TRANS_A ? (slice + a_lane ^ 32 * x) + 128 * p
                : (slice + a_lane ^ 2 * p) + 16 * 128 * x);
        #pragma unroll
        for (int y = 0; y < WN / 16; y++)
            load_matrices<!TRANS_B>(b[half][y], TRANS_B ? (slice + SLICE_A + b_lane ^ 2 * p) + 16 * 128 * y
                : (slice + SLICE_A + b_lane ^ 32 * y) + 128 * p);
    };

    for (int s = 0; s < STAGES - 1; s++) {
        copy_a(s);
        copy_b(s);
        commit();
    }
    arrive();
    read(0, 0, 0);
    float sum[WM / 16][WN / 8][4] = {};
    #pragma unroll 1
    for (int s = 0; s < count; s++)
        #pragma unroll
        for (int p = 0; p < BK; p += 16) {
            const int half = p / 16 % 2;
            if (p == 0)
                copy_a(s + STAGES - 1);
            if (p == 16)
                copy_b(s + STAGES - 1);
            if (p == BK - 16) {
                commit();
                arrive();
            }
            read(1 - half, p == BK - 16 ? s + 1 : s, (p + 16) % BK);
            #pragma unroll
            for (int x = 0; x < WM / 16; x++)
                #pragma unroll
                for (int y = 0; y < WN / 8; y++)
                    multiply(sum[x][y], a[half][x], b[half][y / 2][y % 2 * 2], b[half][y / 2][y % 2 * 2 + 1]);
        }

    // C: a lane has columns 2*(lane%4) and the next of each 8, and rows lane/4 and 8 further on of each 16.
    #pragma unroll
    for (int x = 0; x < WM / 8; x++) {
        const int i = row0 + warp_row + 8 * x + lane / 4;
        #pragma unroll
        for (int y = 0; y < WN / 8; y++) {
            const float *d = &sum[x / 2][y][x % 2 * 2];
            const int j = col0 + warp_col + 8 * y + lane % 4 * 2, left = i < m ? n - j : 0;
            store(C + i * ldc + j, left, alpha * d[0], alpha * d[1], beta);
        }
    }
}
