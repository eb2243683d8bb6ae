// residues: double precision by products of int8 (Ozaki, Uchino and Imamura, Ozaki Scheme II, arXiv:2504.08009, 2025).
// Not a rung: it has the kernels before and after the product of the planes, which i8-mma and i8-wgmma compute.
//
// A vector is a row of op(A) or a column of op(B). It is multiplied by a power of two, so that its Euclidean norm is at
// most R, and rounded to integers. By the inequality of Cauchy and Schwarz, an element of the product of integers
// is less than P/2, where P is the product of the moduli; its residues determine it. Plane l has the residues modulo
// MODULI[l], between -m/2 and m/2. Vectors are rows of a plane, with zeros behind them.
//
// The kernels, in their order: scale, split, gemm (of a rung), join.
// COUNT moduli, for integers of WORDS words of 32 bits; the host computes the other macros:
// SPLIT_A, PLANES: a Reduction of an integer for each modulus m, and one of 32 bits.
// SPLIT_B: of an integer, times (P/m)^-1 mod m. So the residue of a sum of products is z = x*(P/m)^-1 mod m.
// WEIGHTS[d][g]: byte d of P/m of four moduli; QUOTIENT[d][g]: of 2^23/m, in two bytes. PRODUCT: P, by 16 bits.

constexpr int NOT_FINITE = 1 << 20; // the scale of a vector that has NaN or Inf: its integers are 0
constexpr int LANES = 32, GROUPS = (COUNT + 3) / 4;
constexpr int SUM = WORDS + 2; // words of an element of the product: with 20 moduli, P/2 is less than 2^155

// Reduction is how an integer plus half of its range is reduced modulo m: its bytes times the weights, 256^i mod m, plus
// start, are the bits of a float near 1.5*2^23, in which neighbours are integers: a multiple of 256*m, which is
// m*(1.5*2^23 - centre), and the residue.
template <int N> struct Reduction { int m, start; float centre; int weights[N]; };

// Modulus is what an engine needs to reduce 32-bit sums of plane l.
struct Modulus { int minus; float inverse, centre; int start, weights; };

// Vectors are the rows of op(A) or the columns of op(B). along: elements of a vector are neighbours.
struct Vectors {
    const double *X;
    long long ld;
    int along, count;
    __device__ double at(int v, int p) const { return X[along ? v * ld + p : p * ld + v]; }
};

// add_bytes returns acc + the sum of four bytes of x times bytes of w: x has unsigned bytes, w signed ones.
static __device__ int add_bytes(unsigned x, int w, int acc)
{
    int d;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(w), "r"(acc));
    return d;
}

// add_digits is add_bytes with signed bytes of x, and unsigned of w.
static __device__ int add_digits(unsigned x, unsigned w, int acc)
{
    int d;
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(w), "r"(acc));
    return d;
}

// Norm is an upper bound of a squared norm: sum * 4^(exponent - 1023).
struct Norm {
    int exponent;
    float sum;
    // shrunk is the sum for a higher exponent, rounded up.
    __device__ float shrunk(int to) const
    {
        const int by = to - exponent < 60 ? to - exponent : 60;
        return __fmul_ru(sum, __int_as_float((127 - 2 * by) << 23));
    }
    __device__ void add(double x)
    {
        if (x == 0)
            return;
        int high = __double2hiint(x) & 0x7fffffff, e = high >> 20, bias = 0;
        if (e == 0) { // subnormal
            x *= 0x1p64;
            high = __double2hiint(x) & 0x7fffffff;
            e = high >> 20;
            bias = 64;
        }
        e = e == 0x7ff ? NOT_FINITE : e - bias;
        if (e > exponent) {
            sum = shrunk(e);
            exponent = e;
        }
        const int below = exponent - e < 60 ? exponent - e : 60;
        const unsigned mantissa = ((high & 0xfffff) << 3 | (unsigned)__double2loint(x) >> 29) + 1;
        const float y = __int_as_float(((127 - below) << 23) + mantissa);
        sum = __fmaf_ru(y, y, sum);
    }
    __device__ void add(Norm o)
    {
        const int e = exponent > o.exponent ? exponent : o.exponent;
        sum = __fadd_ru(shrunk(e), o.shrunk(e));
        exponent = e;
    }
};

// scale finds the power of two of each vector, for the first operand in the first ceil(a.count/32) blocks. R^2 is
// range * 4^shift, 1 <= range < 4. A block has 32 vectors; each of its 32 warps has one of them, or every 32nd element
// of all. Launch: ceil(m/32) + ceil(n/32) blocks of 1024 threads.
extern "C" __global__ void __launch_bounds__(1024) scale(int m, int n, int k, const double *A, long long lda, int along_a,
    const double *B, long long ldb, int along_b, float range, int shift, int *scales_a, int *scales_b, Modulus *table)
{
    __shared__ Norm parts[LANES][LANES + 1];
    const int blocks_a = (m + LANES - 1) / LANES, warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const bool of_a = (int)blockIdx.x < blocks_a;
    const Vectors x = of_a ? Vectors{A, lda, along_a, m} : Vectors{B, ldb, along_b, n};
    const int first = ((int)blockIdx.x - (of_a ? 0 : blocks_a)) * LANES;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        constexpr Reduction<1> planes[COUNT] = PLANES;
        #pragma unroll
        for (int l = 0; l < COUNT; l++)
            table[l] = {-planes[l].m, 1.0f / planes[l].m, planes[l].centre, planes[l].start, planes[l].weights[0]};
    }
    Norm norm{-4000, 0};
    const int v = x.along ? warp : lane, part = x.along ? lane : warp;
    if (first + v < x.count)
        for (int p = part; p < k; p += 8 * LANES) {
            double y[8]; // read before the first is added
            #pragma unroll
            for (int e = 0; e < 8; e++)
                y[e] = p + e * LANES < k ? x.at(first + v, p + e * LANES) : 0;
            #pragma unroll
            for (int e = 0; e < 8; e++)
                norm.add(y[e]);
        }
    parts[v][part] = norm;
    __syncthreads();
    norm = parts[warp][lane];
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2)
        norm.add(Norm{__shfl_xor_sync(~0u, norm.exponent, lanes), __shfl_xor_sync(~0u, norm.sum, lanes)});
    if (lane != 0 || first + warp >= x.count)
        return;
    int t = 1 - ((__float_as_int(norm.sum) >> 23) - 127) / 2;
    while (norm.sum * __int_as_float((127 + 2 * t) << 23) > range)
        t--;
    (of_a ? scales_a : scales_b)[first + warp] = norm.exponent >= NOT_FINITE ? NOT_FINITE
        : norm.sum == 0 ? 0 : shift + t - (norm.exponent - 1023);
}

// Integer is an integer plus half of its range.
struct Integer { unsigned word[WORDS]; };

// integer returns x * 2^scale, rounded to nearest, ties to even: where one bit is left out, all errors are of ties, and
// their mean must be zero.
static __device__ Integer integer(double x, int scale)
{
    const unsigned long long bits = __double_as_longlong(x);
    const int e = (int)(bits >> 52) & 0x7ff, shift = (e > 0 ? e : 1) - 1075 + scale;
    unsigned long long y = bits & (1ull << 52) - 1 | (e > 0 ? 1ull << 52 : 0);
    unsigned above = 0; // the word above y
    if (scale == NOT_FINITE || shift < -54)
        y = 0;
    else if (shift < 0)
        y = y + ((1ull << (-shift - 1)) - 1 + (y >> -shift & 1)) >> -shift;
    else {
        if (WORDS > 2 && shift > 0)
            above = shift < 64 ? y >> (64 - shift) : y << (shift - 64);
        y = WORDS == 2 || shift < 64 ? y << shift : 0;
    }
    if ((long long)bits < 0) {
        above = ~above + (y == 0);
        y = -y;
    }
    Integer out = {(unsigned)y, (unsigned)(y >> 32)};
    if (WORDS > 2)
        out.word[WORDS - 1] = above;
    out.word[WORDS - 1] ^= 1u << 31;
    return out;
}

// residues writes four residues of each plane.
template <bool OF_A> static __device__ void residues(const Integer (&y)[4], signed char *to, long long plane)
{
    constexpr Reduction<WORDS> by[2][COUNT] = {SPLIT_B, SPLIT_A};
    #pragma unroll
    for (int l = 0; l < COUNT; l++) {
        const Reduction<WORDS> &of = by[OF_A][l];
        unsigned r[4];
        #pragma unroll
        for (int e = 0; e < 4; e++) {
            int bits = of.start;
            #pragma unroll
            for (int w = 0; w < WORDS; w++)
                bits = add_bytes(y[e].word[w], of.weights[w], bits);
            r[e] = bits - __float_as_int(fmaf(__int_as_float(bits), 1.0f / of.m, of.centre)) * of.m; // low byte
        }
        *(unsigned *)(to + l * plane) = __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040),
            0x5410);
    }
}

// split writes the planes of 32 vectors and 128 k indices in each block, from k index `from` on, for the first operand
// in the first blocks. Columns of B change places in each 32, so that a lane of the product has 8 neighbours.
// Launch: (ceil(m/32) + ceil(n/32)) * ldk/128 blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256) split(int m, int n, int k, int from, const double *A, long long lda,
    int along_a, const double *B, long long ldb, int along_b, const int *scales_a, const int *scales_b,
    signed char *planes_a, signed char *planes_b, long long ldk)
{
    constexpr int DEPTH = 128, PER_LANE = DEPTH / LANES, WARPS = 256 / LANES;
    __shared__ double tile[DEPTH][LANES]; // element v of row p lies at v ^ p/4 % 32: no two lanes meet in a bank
    const int slices = ldk / DEPTH, group = (int)blockIdx.x / slices, blocks_a = (m + LANES - 1) / LANES;
    const int warp = threadIdx.x / LANES, lane = threadIdx.x % LANES, p0 = (int)blockIdx.x % slices * DEPTH;
    const bool of_a = group < blocks_a;
    const Vectors x = of_a ? Vectors{A, lda, along_a, m} : Vectors{B, ldb, along_b, n};
    const int first = (of_a ? group : group - blocks_a) * LANES;
    if (!x.along) {
        #pragma unroll 4
        for (int p = warp; p < DEPTH; p += WARPS)
            tile[p][lane ^ p / PER_LANE] = first + lane < x.count && p0 + p < k ? x.at(first + lane, from + p0 + p) : 0;
        __syncthreads();
    }
    const int *scales = of_a ? scales_a : scales_b;
    signed char *planes = of_a ? planes_a : planes_b;
    const long long plane = (x.count + LANES - 1) / LANES * LANES * ldk;
    #pragma unroll 1
    for (int v = warp; v < LANES; v += WARPS) {
        const int at = first + v, p = p0 + lane * PER_LANE;
        const int scale = at < x.count ? scales[at] : 0;
        Integer y[PER_LANE];
        #pragma unroll
        for (int e = 0; e < PER_LANE; e++)
            y[e] = integer(x.along ? at < x.count && p + e < k ? x.at(at, from + p + e) : 0
                : tile[lane * PER_LANE + e][v ^ lane], scale);
        const int place = of_a ? v : v & 1 | (v >> 3 & 3) << 1 | (v >> 1 & 3) << 3;
        signed char *to = planes + (first + place) * ldk + p;
        if (of_a)
            residues<true>(y, to, plane);
        else
            residues<false>(y, to, plane);
    }
}

// power returns 2^e.
static __device__ double power(int e) { return __hiloint2double((e + 1023) << 20, 0); }

// rounded returns the integer with the words high (signed) and low, times 2^exponent, rounded once.
static __device__ double rounded(long long high, unsigned long long low, int exponent)
{
    const bool negative = high < 0;
    if (negative) {
        low = -low;
        high = ~high + (low == 0);
    }
    // The shift right leaves 64 bits, and no bit beyond two below the least double; what is shifted out sticks.
    int shift = high ? 64 - __clzll(high) : 0;
    if (exponent + shift < -1076)
        shift = -1076 - exponent;
    if (shift > 0) {
        unsigned long long kept = 0, lost = high || low;
        if (shift < 64) {
            kept = low >> shift | (unsigned long long)high << (64 - shift);
            lost = low << (64 - shift);
        } else if (shift < 128) {
            kept = (unsigned long long)high >> (shift - 64);
            lost = low | (shift > 64 ? (unsigned long long)high << (128 - shift) : 0);
        }
        low = kept | (lost != 0);
    }
    const double x = __ull2double_rn(low);
    exponent += shift;
    // By two powers at the ends of the range: the first product is exact.
    const int second = exponent < -1022 ? -600 : exponent > 1023 ? 1000 : 0;
    const double y = x * power(exponent - second) * power(second);
    return negative ? -y : y;
}

// join computes C = alpha * op(A)*op(B) + beta*C from the planes of products, COLUMNS neighbours in a thread. The
// integer is the sum of z*P/m less q*P, where q is the sum of z/m, rounded: it is computed exactly, modulo 2^(32*SUM). The
// elements of vectors with NaN or Inf are sums of products of double precision.
// Launch: ceil(m*ldz/4 / 256) blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256) join(int m, int n, int k, double alpha, const double *A, long long lda,
    int along_a, const double *B, long long ldb, int along_b, const int *scales_a, const int *scales_b,
    const unsigned *Z, long long ldz, double beta, double *C, long long ldc)
{
    constexpr int COLUMNS = 4, DIGITS = 4 * SUM;
    constexpr unsigned weights[DIGITS][GROUPS] = WEIGHTS, quotient[2][GROUPS] = QUOTIENT;
    constexpr int product[DIGITS / 2] = PRODUCT;
    const long long at = blockIdx.x * 256ll + threadIdx.x, plane = m * (ldz / COLUMNS);
    const int i = at / (ldz / COLUMNS), j = at % (ldz / COLUMNS) * COLUMNS;
    if (i >= m || j >= n)
        return;
    // Byte e of z[c][g] is of modulus 4*g + e and column c.
    unsigned z[COLUMNS][GROUPS];
    #pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        unsigned x[4];
        #pragma unroll
        for (int e = 0; e < 4; e++)
            x[e] = 4 * g + e < COUNT ? __ldcs(&Z[(4 * g + e) * plane + at]) : 0;
        const unsigned low = __byte_perm(x[0], x[1], 0x5140), high = __byte_perm(x[0], x[1], 0x7362);
        const unsigned low2 = __byte_perm(x[2], x[3], 0x5140), high2 = __byte_perm(x[2], x[3], 0x7362);
        z[0][g] = __byte_perm(low, low2, 0x5410);
        z[1][g] = __byte_perm(low, low2, 0x7632);
        z[2][g] = __byte_perm(high, high2, 0x5410);
        z[3][g] = __byte_perm(high, high2, 0x7632);
    }
    const int scale = scales_a[i];
    #pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        if (j + c >= n)
            break;
        const int scale_b = scales_b[j + c];
        double x = 0;
        if (scale == NOT_FINITE || scale_b == NOT_FINITE) {
            const Vectors a{A, lda, along_a, m}, b{B, ldb, along_b, n};
            #pragma unroll 4
            for (int p = 0; p < k; p++)
                x = fma(a.at(i, p), b.at(j + c, p), x);
        } else {
            int q[2] = {}, pairs[DIGITS / 2];
            #pragma unroll
            for (int d = 0; d < 2; d++)
                #pragma unroll
                for (int g = 0; g < GROUPS; g++)
                    q[d] = add_digits(z[c][g], quotient[d][g], q[d]);
            const int whole = q[0] + q[1] * 256 + (1 << 22) >> 23;
            #pragma unroll
            for (int d = 0; d < DIGITS; d += 2) {
                int digits[2] = {};
                #pragma unroll
                for (int e = 0; e < 2; e++)
                    #pragma unroll
                    for (int g = 0; g < GROUPS; g++)
                        if (weights[d + e][g] != 0)
                            digits[e] = add_digits(z[c][g], weights[d + e][g], digits[e]);
                pairs[d / 2] = digits[0] + digits[1] * 256 - whole * product[d / 2];
            }
            unsigned word[SUM];
            long long carry = 0;
            #pragma unroll
            for (int w = 0; w < SUM; w++) {
                carry += pairs[2 * w] + pairs[2 * w + 1] * (1ll << 16);
                word[w] = carry;
                carry >>= 32;
            }
            int exponent = -scale - scale_b;
            if (SUM > 4 && (int)word[SUM - 1] != (int)word[3] >> 31) { // rounded to odd, it has 128 bits
                word[0] = word[1] | (word[0] != 0);
                word[1] = word[2];
                word[2] = word[3];
                word[3] = word[SUM - 1];
                exponent += 32;
            }
            auto two = [&](int w) { return word[w] | (unsigned long long)word[w + 1] << 32; };
            x = rounded(two(2), two(0), exponent);
        }
        double *to = &C[i * ldc + j + c];
        *to = beta == 0 ? alpha * x : fma(beta, *to, alpha * x);
    }
}
