"""Checks libgemm through NumPy.

    check_numpy.py ctypes LIBRARY   products by gemm_sgemm and gemm_dgemm, compared with NumPy's
    check_numpy.py level3 LIBRARY   all routines of CBLAS and BLAS, compared with NumPy's loops in higher precision; the
                                    second half in a forked process
    check_numpy.py preload          NumPy's own products, with the library preloaded, compared with loops
                                    in higher precision; also on threads and in forked processes

It prints the number of products that it has compared. The bound on the error is that of sums of k products
(Higham, section 3.5), for both of them.
"""

import concurrent.futures
import ctypes
import multiprocessing
import os
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


# The arguments of each family. Flags are u(plo), s(ide), d(iag), t(rans) of A and B.
FAMILIES = {
    "gemm": "tA tB m n k alpha A ldA B ldB beta C ldC",
    "gemmtr gemmt": "u tA tB n k alpha A ldA B ldB beta C ldC",
    "symm hemm": "s u m n alpha A ldA B ldB beta C ldC",
    "syrk herk": "u tA n k alpha A ldA beta C ldC",
    "syr2k her2k": "u tA n k alpha A ldA B ldB beta C ldC",
    "trmm trsm": "s u tA d m n alpha A ldA B ldB",
}
NUMBERS = {"N": 111, "T": 112, "C": 113, "U": 121, "L": 122, "NonUnit": 131, "Unit": 132, "Left": 141, "Right": 142}


def op(x, trans):
    return {"N": x, "T": x.T, "C": x.conj().T}[trans]


def triangle(x, uplo, k=0):
    return np.triu(x, k) if uplo == "U" else np.tril(x, -k)


def check_routine(library, rng, letter, name, words):
    """Calls the routine once and compares what it wrote."""
    dtype = np.dtype({"s": "f4", "d": "f8", "c": "c8", "z": "c16"}[letter])
    hermitian, triangular = name[0] == "h", name[:2] == "tr"
    transposes = "NC" if hermitian else "NT" if name[:2] == "sy" and letter in "cz" else "NTC"
    v = {"u": rng.choice(["U", "L"]), "s": rng.choice(["Left", "Right"]), "d": rng.choice(["NonUnit", "Unit"])}
    v["tA"], v["tB"] = rng.choice(list(transposes)), rng.choice(list("NTC"))
    v["m"], v["n"], v["k"] = (int(rng.integers(1, rng.choice([3, 20, 90]))) for _ in range(3))
    if "m" not in words:
        v["m"] = v["n"]
    if "s" in words:
        v["k"] = v["m"] if v["s"] == "Left" else v["n"]
    m, n, k = v["m"], v["n"], v["k"]
    for factor in "alpha", "beta":
        is_real = letter in "sd" or (hermitian and name != "hemm" and (factor == "beta" or name == "herk"))
        x = rng.choice([0, 1, -0.5] if is_real else [0, 1, 0.5 - 2j])
        v[factor] = np.array([x], dtype=dtype.type(0).real.dtype if is_real else dtype)
    alpha, beta = v["alpha"][0], v["beta"][0]

    by_rows, wide, fortran = rng.integers(0, 2, 3)
    by_rows &= not fortran
    shape = {"A": (k, k) if "s" in words else (m, k), "B": (k, n), "C": (m, n)}
    if "s" in words or name[-2:] == "2k":
        shape["B"] = (m, n) if "s" in words else shape["A"]
    whole, x = {}, {}
    for matrix in "ABC":
        trans = v.get("t" + matrix, "N") if "s" not in words else "N"
        rows, cols = op(np.empty(shape[matrix]), v["tA"] if name[-2:] == "2k" and matrix == "B" else trans).shape
        outer = (rows, cols + 3) if by_rows else (rows + 3, cols)
        parts = rng.uniform(-1, 1, (2, *outer))
        whole[matrix] = np.array(parts[0] if letter in "sd" else parts[0] + 1j * parts[1], dtype, order="CF"[1 - by_rows])
        x[matrix] = whole[matrix][:rows, :cols]
        v["ld" + matrix] = outer[1] if by_rows else outer[0]
    a, c = x["A"], x["C"]
    if "s" in words:  # what is not stored is not read
        a[:] = triangle(a, v["u"]) / k + np.eye(k)
        a[triangle(np.ones_like(a), v["u"]) == 0] = np.nan
        if name == "hemm":
            a.imag[np.diag_indices(k)] = np.nan
        if v["d"] == "Unit" and triangular:
            a[np.diag_indices(k)] = np.nan
    elif hermitian:
        c.imag[np.diag_indices(n)] = 0
    if beta == 0:
        c[:] = np.nan
    before = {matrix: whole[matrix].copy(order="K") for matrix in "ABC"}

    integer = ctypes.c_int64 if wide else ctypes.c_int32
    arguments = [] if fortran else [ctypes.c_int(101 if by_rows else 102)]
    for word in words:
        y = v.get(word)
        if word in "ABC":
            arguments.append(ctypes.c_void_p(x[word].ctypes.data))
        elif word in ("alpha", "beta"):
            real = {"f": ctypes.c_float, "d": ctypes.c_double}.get(y.dtype.char)
            by_address = fortran or real is None
            arguments.append(ctypes.c_void_p(y.ctypes.data) if by_address else real(y[0]))
        elif isinstance(y, int):
            arguments.append(ctypes.byref(integer(y)) if fortran else integer(y))
        else:
            arguments.append(ctypes.c_char_p(y[0].encode()) if fortran else ctypes.c_int(NUMBERS[y]))
    symbol = letter + name + ("_64_" if wide else "_") if fortran else "cblas_" + letter + name + ("_64" if wide else "")
    getattr(library, symbol)(*arguments)

    big = {matrix: x[matrix].astype(np.clongdouble) for matrix in "ABC"}
    big["C"] = before["C"][: c.shape[0], : c.shape[1]].astype(np.clongdouble) if beta != 0 else np.zeros(c.shape)
    big["B"] = before["B"][: x["B"].shape[0], : x["B"].shape[1]].astype(np.clongdouble)
    if "s" in words:
        part = triangle(big["A"], v["u"], 1)
        part[triangle(np.ones(a.shape), v["u"], 1) == 0] = 0
        diagonal = np.diag(big["A"])
        big["A"] = part + np.diag(np.ones(k) if triangular and v["d"] == "Unit" else diagonal.real if hermitian else diagonal)
        big["A"] += 0 if triangular else part.conj().T if hermitian else part.T

    def terms(f):
        """The result of the operation on f of all operands and factors; the bound with f = abs."""
        p, q, s, t = f(big["A"]), f(big["B"]), f(alpha), f(beta)
        back = "C" if hermitian else "T"
        if triangular:
            p = op(p, v["tA"])
        if "s" in words:
            product = s * (p @ q if v["s"] == "Left" else q @ p)
        elif "B" not in words:
            product = s * op(p, v["tA"]) @ op(op(p, v["tA"]), back)
        elif name[-2:] == "2k":
            p, q = op(p, v["tA"]), op(q, v["tA"])
            product = s * p @ op(q, back) + (np.conj(s) if hermitian else s) * q @ op(p, back)
        else:
            product = s * op(p, v["tA"]) @ op(q, v["tB"])
        return product if triangular else product + t * f(big["C"])

    what = f"{symbol} {v}"
    result = "B" if triangular else "C"
    got = x[result]
    if name == "trsm":  # op(A)·X is alpha·B
        right = alpha * big["B"]
        big["B"], alpha = got.astype(np.clongdouble), 1
        want, got = right, terms(lambda y: y)
    else:
        want = terms(lambda y: y)
    bound = 4 * gamma(2 * k + 8, dtype.type(0).real.dtype) * (terms(np.abs) + np.abs(want))
    written = np.ones(got.shape, bool)
    if "u" in words and "s" not in words:
        written = triangle(written, v["u"])
    compare(got[written], want[written], bound[written], what)
    x[result][written] = before[result][: got.shape[0], : got.shape[1]][written]
    for matrix in "ABC":  # nothing else was
        if whole[matrix].tobytes() != before[matrix].tobytes():
            sys.exit(f"check_numpy: {what}: {matrix} was changed")


def check_level3(path):
    library, count = ctypes.CDLL(path), 0
    for forked in range(2):
        if forked and (child := os.fork()):
            return count if os.waitpid(child, 0)[1] == 0 else sys.exit("check_numpy: the forked process failed")
        rng = np.random.default_rng(forked)
        for names, words in FAMILIES.items():
            for name in names.split():
                for letter in "cz" if name[0] == "h" else "sdcz":
                    for _ in range(20):
                        check_routine(library, rng, letter, name, words.split())
                        count += 1
    os._exit(0)


def check_preload():
    count = check_products(2)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        count += sum(threads.map(check_products, range(8), [20] * 8))
    with multiprocessing.get_context("fork").Pool(2) as processes:
        count += sum(processes.starmap(check_products, [(seed, 20) for seed in range(4)]))
    return count


if __name__ == "__main__":
    checks = {"ctypes": check_ctypes, "level3": check_level3, "preload": check_preload}
    print(checks[sys.argv[1]](*sys.argv[2:]))
