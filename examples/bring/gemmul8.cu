// Double precision from int8 by two peers of cuda/ozaki-wgmma, as functions for --bring: GEMMul8, and cuBLAS's emulation.
// The source of GEMMul8 (https://github.com/RIKEN-RCCS/GEMMul8) is no part of this module. With a copy of it in $PEER:
//
//   sed '/gemmLt</d; /gemm<\(float\|cu\)/,/^}/d; /workSize<true/,/^}/d; /Backend::FP8>(/,/^}/d' \
//     $PEER/GEMMul8/src/gemmul8.cu >$PEER/GEMMul8/src/real.cu    # double precision by int8 alone: it compiles in less time
//   nvcc -std=c++20 -O3 -arch=sm_90 -shared -Xcompiler -fPIC -I$PEER/GEMMul8/src examples/bring/gemmul8.cu \
//     -lcublas -lcublasLt -o libgemmul8.so
//   gemm cuda --type f64 --variants cuda/cublas,cuda/ozaki-wgmma --bring libgemmul8.so:gemmul8_14=cuda:f64
//
// Without -I, the library has the emulation alone: emulated has as many bits as cuBLAS chooses, emulated_55 has 55.

#include <cublas_v2.h>
#if __has_include("real.cu")
#include "real.cu"
#endif

#define PARAMETERS int M, int N, int K, double alpha, const double *A, const double *B, double beta, double *C, \
    cudaStream_t stream

// work returns memory for a call. What an earlier call has is used again.
static void *work(size_t bytes)
{
    static void *at;
    static size_t have;
    if (bytes > have) {
        cudaFree(at);
        at = nullptr;
        have = cudaMalloc(&at, bytes) == cudaSuccess ? bytes : 0;
    }
    return at;
}

// on returns the handle, whose work is on the stream.
static cublasHandle_t on(cublasHandle_t &handle, cudaStream_t stream)
{
    if (!handle)
        cublasCreate(&handle);
    cublasSetStream(handle, stream);
    return handle;
}

// Matrices are by columns for these libraries: C' = B'*A'.

#if __has_include("real.cu")
static void gemmul8_by(unsigned moduli, bool fast, PARAMETERS)
{
    static cublasHandle_t handle;
    void *at = work(gemmul8::workSize<false, gemmul8::Backend::INT8>(N, M, K, moduli));
    if (at)
        gemmul8::gemm<double, gemmul8::Backend::INT8>(on(handle, stream), CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, N,
            A, K, &beta, C, N, moduli, fast, at);
}

#define GEMMUL8(moduli) \
    extern "C" void gemmul8_##moduli(PARAMETERS) \
    { \
        gemmul8_by(moduli, false, M, N, K, alpha, A, B, beta, C, stream); \
    } \
    extern "C" void gemmul8_fast_##moduli(PARAMETERS) \
    { \
        gemmul8_by(moduli, true, M, N, K, alpha, A, B, beta, C, stream); \
    }
GEMMUL8(12)
GEMMUL8(14)
GEMMUL8(15)
GEMMUL8(16)
GEMMUL8(18)
#endif

#if CUBLAS_VERSION >= 130100
// emulate computes with the bits of mantissas, a multiple of 8 less 1; 0: cuBLAS chooses them by the operands.
static void emulate(int bits, PARAMETERS)
{
    static cublasHandle_t handle;
    on(handle, stream);
    // Ten slices of the operands, and sums of their blocks: with less work memory, cuBLAS computes in f64.
    auto padded = [](size_t n, size_t to) { return (n + to - 1) / to * to; };
    const size_t m = padded(M, 1024), n = padded(N, 1024), k = padded(K, 128);
    const size_t bytes = 10 * (m + n) * k * 5 / 4 + 4 * ((m + n) * k / 64 + m * n) * 5 / 4 + (256 << 20);
    cublasSetWorkspace(handle, work(bytes), bytes);
    cublasSetMathMode(handle, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
    cublasSetEmulationStrategy(handle, CUBLAS_EMULATION_STRATEGY_EAGER);
    cublasSetFixedPointEmulationMantissaControl(handle, bits ? CUDA_EMULATION_MANTISSA_CONTROL_FIXED
        : CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC);
    cublasSetFixedPointEmulationMaxMantissaBitCount(handle, bits);
    cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, N, A, K, &beta, C, N);
}

extern "C" void emulated(PARAMETERS) { emulate(0, M, N, K, alpha, A, B, beta, C, stream); }
extern "C" void emulated_55(PARAMETERS) { emulate(55, M, N, K, alpha, A, B, beta, C, stream); }
#endif
