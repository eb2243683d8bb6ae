"""Checks libgemm through NumPy.

    check_numpy.py ctypes LIBRARY   products by gemm_sgemm and gemm_dgemm, compared with NumPy's
    check_numpy.py preload          NumPy's own products, with the library preloaded, compared with loops
                                    in higher precision; also on threads and in forked processes

It prints the number of products that it has compared. The bound on the error is that of sums of k products
(Higham, section 3.5), for both of them.
"""

import concurrent.futures
import ctypes
import multiprocessing
import sys

import numpy as np

ORDER, TRANS = {"rows": 101, "columns": 102}, {False: 111, True: 112}


def gamma(k, dtype):
    u = np.finfo(dtype).eps / 2
    return (k + 3) * u / (1 - (k + 3) * u)


def operand(rng, rows, cols, dtype):
    """Returns a random matrix that is a block of a larger one, by rows or by columns."""
    order = rng.choice(["C", "F"])
    whole = np.array(rng.uniform(-1, 1, (rows + 5, cols + 7)), dtype=dtype, order=order)
    i, j = rng.integers(0, 5), rng.integers(0, 7)
    return whole[i : i + rows, j : j + cols]


def drawn(rng):
    m, n, k = (int(rng.integers(1, rng.choice([3, 20, 90]))) for _ in range(3))
    dtype = rng.choice([np.float32, np.float64])
    return operand(rng, m, k, dtype), operand(rng, k, n, dtype)


def stored(x, order):
    """Returns the leading dimension of x and whether it is transposed, for matrices stored in order."""
    by_rows = x.strides[1] == x.itemsize
    ld = x.strides[0 if by_rows else 1] // x.itemsize
    return max(ld, 1), by_rows != (order == "rows")


def product(library, rng, a, b, alpha, beta, c):
    """Computes C = alpha*A*B + beta*C in place by the library."""
    order = "rows" if c.strides[1] == c.itemsize else "columns"
    real, f = {4: (ctypes.c_float, library.gemm_sgemm), 8: (ctypes.c_double, library.gemm_dgemm)}[a.itemsize]
    (lda, ta), (ldb, tb), (ldc, _) = stored(a, order), stored(b, order), stored(c, order)
    long, address = ctypes.c_int64, lambda x: ctypes.c_void_p(x.ctypes.data)
    (m, n), k = c.shape, a.shape[1]
    code = f(rng.choice([None, b"parallel/packed"]), int(rng.integers(0, 3)), ORDER[order], TRANS[ta], TRANS[tb],
             long(m), long(n), long(k), real(alpha), address(a), long(lda), address(b), long(ldb), real(beta),
             address(c), long(ldc))  # fmt: skip
    if code != 0:
        sys.exit(ctypes.string_at(library.gemm_error()).decode())


def compare(got, want, bound, what):
    if not np.all(np.abs(got - want) <= bound):
        sys.exit(f"check_numpy: {what}: differs by {np.nanmax(np.abs(got - want))}")


def check_ctypes(path):
    library = ctypes.CDLL(path)
    library.gemm_error.restype = ctypes.c_char_p
    rng = np.random.default_rng(1)
    for i in range(200):
        a, b = drawn(rng)
        c = operand(rng, a.shape[0], b.shape[1], a.dtype)
        alpha, beta = rng.choice([1, -0.5]), rng.choice([0, 1, 2])
        want = (alpha * (a @ b) + beta * c).astype(np.float64)
        size = abs(alpha) * (np.abs(a).astype(np.float64) @ np.abs(b)) + abs(beta) * np.abs(c)
        if beta == 0:
            c[:] = np.nan
        product(library, rng, a, b, alpha, beta, c)
        compare(c, want, 2 * gamma(a.shape[1], a.dtype) * size, f"product {i}, {a.dtype}, {a.shape} x {b.shape}")
    return 200


def check_products(seed, count=200):
    rng = np.random.default_rng(seed)
    for i in range(count):
        a, b = drawn(rng)
        exact = a.astype(np.longdouble) @ b.astype(np.longdouble)  # NumPy's loops: BLAS has no such type
        size = np.abs(a).astype(np.longdouble) @ np.abs(b)
        compare(a @ b, exact, gamma(a.shape[1], a.dtype) * size, f"product {i}, {a.dtype}, {a.shape} x {b.shape}")
    return count


def check_preload():
    count = check_products(2)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        count += sum(threads.map(check_products, range(8), [20] * 8))
    with multiprocessing.get_context("fork").Pool(2) as processes:
        count += sum(processes.starmap(check_products, [(seed, 20) for seed in range(4)]))
    return count


if __name__ == "__main__":
    print(check_ctypes(sys.argv[2]) if sys.argv[1] == "ctypes" else check_preload())
