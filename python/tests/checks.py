"""What tests share: operands in every layout, the comparison of products, and skips that can be made failures."""

import os
import unittest
from typing import Any

import numpy as np

from gemm_suite.sgemm.measure import bound

TYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
try:
    from ml_dtypes import bfloat16

    TYPES["bf16"] = bfloat16
except ImportError:
    pass
COMPLEX = {"c64": np.complex64, "c128": np.complex128}
_ROUNDING = {"f16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0)}  # of an element: relative, and of subnormal numbers


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
    size, dtype = first + lines * ld + 3, (TYPES | COMPLEX)[typ]
    memory = np.full(size, np.nan, dtype) if room is None else room(size, typ)
    x = memory[first : first + lines * ld].reshape(lines, ld)[:, :length]
    x[...] = random.standard_normal((lines, length))
    if typ in COMPLEX:
        x.imag = random.standard_normal((lines, length))
    return x.T if by_columns else x


def assert_product(c: Any, a: Any, b: Any, compute: str, what: str) -> None:
    """Compares a product, or a stack, with NumPy's in double precision (of narrower a and b) or in its own."""
    a, b, c = (np.asarray(x) for x in (a, b, c))
    wide = np.complex128 if compute in COMPLEX else np.float64
    exact = np.matmul(a.astype(wide), b.astype(wide))
    if c.shape != exact.shape:
        raise AssertionError(f"{what}: the shape is {c.shape}, must be {exact.shape}")
    if c.size == 0:
        return
    scale = np.matmul(np.abs(a.astype(wide)), np.abs(b.astype(wide)))
    # In double precision, both products have errors. Each part of a complex element is a sum of 2k products.
    double, parts = compute in ("f64", "c128"), 2 if compute in COMPLEX else 1
    shape = (c.size // c.shape[-1], c.shape[-1], parts * max(a.shape[-1], 1))
    rounding, least = _ROUNDING.get(compute, (0, 0))
    most = parts * (1 + double) * bound("f64" if double else "f32", shape) * scale
    most += rounding * (np.abs(exact) + most) + least
    right = np.abs(c.astype(wide) - exact) <= most
    if not right.all():
        at = tuple(np.argwhere(~right)[0])
        raise AssertionError(f"{what}: element {at} is {c[at]}, must be {exact[at]} within {most[at]}")
