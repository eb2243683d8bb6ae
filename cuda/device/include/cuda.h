/*
 * A cuda.h to come before NVIDIA's, by -I: the functions as gorgonia.org/cu v0.9.6 calls
 * them, from any toolkit between 11.8 and 13.
 *
 * Toolkit 13 gives some names to newer functions, which have other arguments or are of
 * newer drivers only. Drivers keep the older ones, which are declared here as toolkits 11
 * and 12 declare them.
 */
#ifndef GEMM_CUDA_H
#define GEMM_CUDA_H

#include_next <cuda.h>

#if CUDA_VERSION < 11080
#error "this cuda.h is older than 11.8, the oldest toolkit that is supported"
#endif

/* Declared in cudaProfiler.h, which not every installation has. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#undef cuEventElapsedTime
#undef cuGraphAddDependencies
#undef cuGraphGetEdges
#undef cuMemAdvise
#undef cuMemPrefetchAsync

/* The name without a version is that of CUDA 3.1. */
#define cuCtxCreate cuCtxCreate_v2

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);
CUresult CUDAAPI cuMemAdvise(CUdeviceptr data, size_t size, CUmem_advise advice, CUdevice device);
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr data, size_t size, CUdevice device, CUstream stream);

#endif
#endif
