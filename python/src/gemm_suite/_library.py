"""libgemm, the library in Go behind this package, called by ctypes, which releases the GIL."""

import ctypes
import json
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from gemm_suite.errors import Unavailable

# The constants of gemm.h.
ROW_MAJOR, COL_MAJOR = 101, 102
NO_TRANS, TRANS = 111, 112
MAX_THREADS = 16384
_OK, _ARGUMENT, _VARIANT, _UNAVAILABLE = range(4)

TYPES = {"f64": 0, "f32": 1, "f16": 2, "bf16": 3, "c64": 4, "c128": 5}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """Opens the library once. One that is already in the process, by LD_PRELOAD, is used instead of ours:
    two Go runtimes in one process disturb each other."""
    lib = ctypes.CDLL(None)
    if not hasattr(lib, "gemm_version"):
        name = "libgemm.dylib" if sys.platform == "darwin" else "libgemm.so"
        path = Path(__file__).with_name(name)
        if not path.exists():
            raise Unavailable(f"{path} is missing: install the package as a wheel, with pip install ./python")
        try:
            lib = ctypes.CDLL(str(path))
        except OSError as err:
            raise Unavailable(f"{name} cannot be opened: {err}") from None
    multiply, matrix = lib.gemm_multiply, (ctypes.c_void_p, ctypes.c_int64)
    multiply.argtypes = [ctypes.c_char_p, *[ctypes.c_int] * 5, *[ctypes.c_int64] * 3, *matrix * 3, ctypes.c_int64]
    multiply.restype = ctypes.c_int
    lib.gemm_bound.argtypes = [ctypes.c_char_p, *[ctypes.c_int] * 2, *[ctypes.c_int64] * 3, ctypes.c_void_p]
    lib.gemm_bound.restype = ctypes.c_int
    for name in ("gemm_error", "gemm_version", "gemm_variants", "gemm_cuda_variants"):
        f = getattr(lib, name)
        f.argtypes, f.restype = [], ctypes.c_char_p
    lib.gemm_product.argtypes, lib.gemm_product.restype = [ctypes.c_char_p], ctypes.c_int
    lib.gemm_cuda_recipe.argtypes, lib.gemm_cuda_recipe.restype = [ctypes.c_char_p], ctypes.c_void_p
    lib.gemm_free.argtypes, lib.gemm_free.restype = [ctypes.c_void_p], None
    return lib


def _error() -> str:
    """The text of the last error of this thread, without the name of the function in C."""
    text: str = library().gemm_error().decode()
    return text.split(": ", 1)[-1]


def _text(name: str) -> Any:
    """What a function returns as JSON."""
    text = getattr(library(), name)()
    if text is None:
        raise Unavailable(_error())
    return json.loads(text)


@lru_cache(maxsize=1)
def variants() -> list[dict[str, Any]]:
    """What the library says of its variants on processors."""
    found: list[dict[str, Any]] = _text("gemm_variants")
    return found


@lru_cache(maxsize=1)
def cuda_variants() -> list[dict[str, Any]]:
    """What the library says of its variants on GPUs."""
    found: list[dict[str, Any]] = _text("gemm_cuda_variants")
    return found


def product(
    typ: str,
    variant: str | None,
    threads: int,
    order: int,
    trans: tuple[int, int],
    shape: tuple[int, int, int],
    a: tuple["ctypes.Array[ctypes.c_size_t]", int],
    b: tuple["ctypes.Array[ctypes.c_size_t]", int],
    c: tuple["ctypes.Array[ctypes.c_size_t]", int],
) -> None:
    """Computes each C = op(A)·op(B). a, b and c are addresses, as many of each, and leading dimensions."""
    name = None if variant is None else variant.encode()
    code = library().gemm_multiply(name, threads, TYPES[typ], order, *trans, *shape, *a, *b, *c, len(c[0]))
    if code != _OK:
        raise_error(code)


def bound(typ: str, variant: str | None, threads: int, shape: tuple[int, int, int]) -> float:
    """The bound on the error of a product on processors."""
    x, name = ctypes.c_double(), None if variant is None else variant.encode()
    code = library().gemm_bound(name, threads, TYPES[typ], *shape, ctypes.addressof(x))
    if code != _OK:
        raise_error(code)
    return x.value


# What struct gemm_product has: the type, m, n, k, and the addresses of A, B and C.
describe = struct.Struct("qqqqPPP").pack


@lru_cache(maxsize=1)
def product_by_rows() -> Callable[[bytes], int]:
    """The function that computes what describe describes. It returns 0, or a code for raise_error."""
    entry: Callable[[bytes], int] = library().gemm_product
    return entry


def raise_error(code: int) -> NoReturn:
    """Raises the exception of a code that is not 0."""
    text = _error()
    if code in (_ARGUMENT, _VARIANT):
        raise ValueError(text)
    if code == _UNAVAILABLE:
        raise Unavailable(text)
    raise RuntimeError(text)


def cuda_recipe(request: dict[str, Any]) -> dict[str, Any]:
    """How a kernel computes a product on a GPU: sources, launches and their arguments."""
    lib = library()
    answer = lib.gemm_cuda_recipe(json.dumps(request).encode())
    if answer is None:
        raise Unavailable(_error())
    try:
        recipe: dict[str, Any] = json.loads(ctypes.string_at(answer))
    finally:
        lib.gemm_free(answer)
    if "error" in recipe:
        raise (Unavailable if recipe["unavailable"] else ValueError)(recipe["error"])
    return recipe
