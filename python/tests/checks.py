"""What tests share: operands in every layout, the comparison of products, and skips that can be made failures."""

import os
import unittest
from typing import Any

import numpy as np

from gemm_suite.sgemm.measure import bound

TYPES = {"f32": np.float32, "f64": np.float64}


def skip_or_fail(name: str, reason: str) -> None:
    """Skips a test, or fails if GEMM_TEST_REQUIRE names what it needs."""
    if name in os.environ.get("GEMM_TEST_REQUIRE", "").split(","):
        raise AssertionError(f"GEMM_TEST_REQUIRE has {name}: {reason}")
    raise unittest.SkipTest(f"{name}: {reason}")


def stored(random: np.random.Generator, rows: int, cols: int, typ: str, room: Any = None) -> Any:
    """A matrix with random elements, stored by rows or by columns, alone or within a larger matrix. room makes the
    memory: the result is a view of an array of one dimension of it."""
    by_columns = bool(random.integers(2))
    lines, length = (cols, rows) if by_columns else (rows, cols)
    ld = length + int(random.integers(0, 5))
    first = int(random.integers(0, 3))
    memory = np.full(first + lines * ld + 3, np.nan, TYPES[typ]) if room is None else room(first + lines * ld + 3, typ)
    x = memory[first : first + lines * ld].reshape(lines, ld)[:, :length]
    x[...] = random.standard_normal((lines, length))
    return x.T if by_columns else x


def assert_product(c: Any, a: Any, b: Any, compute: str, what: str) -> None:
    """Compares a product with NumPy's in double precision (of a and b in single precision) or in its own."""
    a, b, c = (np.asarray(x) for x in (a, b, c))
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    if c.shape != (m, n):
        raise AssertionError(f"{what}: the shape is {c.shape}, must be {(m, n)}")
    if c.size == 0:
        return
    exact = a.astype(np.float64) @ b.astype(np.float64)
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    # In double precision, both products have errors.
    most = (2 if compute == "f64" else 1) * bound(compute, (m, n, max(k, 1))) * scale
    right = np.abs(c - exact) <= most
    if not right.all():
        i, j = np.argwhere(~right)[0]
        raise AssertionError(f"{what}: element {i}, {j} is {c[i, j]}, must be {exact[i, j]} within {most[i, j]}")
