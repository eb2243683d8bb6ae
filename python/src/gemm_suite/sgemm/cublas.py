"""cuBLAS as PyTorch has opened it."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

from gemm_suite.errors import Unavailable

# Constants of library_types.h and cublas_api.h.
_CUDA_R_32F = 0
_COMPUTE = {False: 68, True: 77}  # CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32
_DEFAULT = -1  # CUBLAS_GEMM_DEFAULT
_AS_STORED = 0  # CUBLAS_OP_N


def _entry() -> Any:
    """cublasGemmEx of the library that is in this process."""
    for name in ("libcublas.so.13", "libcublas.so.12"):
        try:
            f = ctypes.CDLL(name, mode=os.RTLD_NOLOAD).cublasGemmEx
        except (OSError, AttributeError):
            continue
        number, address, scalar = ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_float)
        matrix: list[Any] = [address, number, number]
        f.argtypes = [address, *[number] * 5, scalar, *matrix, *matrix, scalar, *matrix, number, number]
        f.restype = number
        return f
    raise Unavailable("cuBLAS is not among the libraries of PyTorch")


def multiplier(tf32: bool) -> Callable[[Any, Any, Any], None]:
    """A function that computes out = a·b of matrices by rows, without gaps. Operands are rounded to TF32 if that
    is set."""
    import torch

    entry = _entry()
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def multiply(a: Any, b: Any, out: Any) -> None:
        m, k = a.shape
        n = b.shape[1]
        # cuBLAS stores by columns: it computes the transpose of out as the product of the transposes.
        left, right, result = ((x.data_ptr(), _CUDA_R_32F, ld) for x, ld in ((b, n), (a, k), (out, n)))
        handle = torch.cuda.current_blas_handle()
        shape = (_AS_STORED, _AS_STORED, n, m, k)
        status = entry(handle, *shape, one, *left, *right, zero, *result, _COMPUTE[tf32], _DEFAULT)
        if status != 0:
            raise RuntimeError(f"cublasGemmEx: status {status}")

    return multiply
