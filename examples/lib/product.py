"""NumPy arrays multiplied by a variant of libgemm, through ctypes:

    python3 examples/lib/product.py bin/lib/libgemm.so

NumPy's own products are computed by libgemm if it is preloaded: LD_PRELOAD=$PWD/bin/lib/libgemm.so python3 ...
The package gemm_suite in python/ has such a function for all types, slices and transposes, and for PyTorch.
"""

import ctypes
import sys

import numpy as np

library = ctypes.CDLL(sys.argv[1])
library.gemm_error.restype = ctypes.c_char_p
long, double, matrix = ctypes.c_int64, ctypes.c_double, np.ctypeslib.ndpointer(np.float64, ndim=2, flags="C")
library.gemm_dgemm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, long, long, long,
                               double, matrix, long, matrix, long, double, matrix, long]  # fmt: skip


def multiply(a, b, variant=None, threads=0):
    """Returns a @ b, computed by the variant; None is the fastest."""
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n))
    by_rows, no_trans = 101, 111
    code = library.gemm_dgemm(variant, threads, by_rows, no_trans, no_trans, m, n, k, 1, a, k, b, n, 0, c, n)
    if code != 0:
        raise ValueError(library.gemm_error().decode())
    return c


a, b = np.random.rand(120, 80), np.random.rand(80, 90)
for variant in [None, b"serial/naive", b"parallel/packed"]:
    assert np.allclose(multiply(a, b, variant), a @ b, rtol=1e-12)
try:
    multiply(a, b, b"serial/quick")
except ValueError as error:
    print(str(error)[:42] + "...")
print("a @ b is right")
