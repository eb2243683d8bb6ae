"""matmul and variants: the checks that all products share, and the choice of who computes."""

import ctypes
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gemm_suite import _device, _library
from gemm_suite._operand import Operand, operand, overlap

Array = TypeVar("Array")


class Variant(NamedTuple):
    """An implementation that matmul can be told to use."""

    name: str  # such as parallel/packed or cuda/tuned
    doc: str
    types: tuple[str, ...]  # f32, f64
    device: str  # cpu or cuda
    available: bool
    reason: str  # why it is not; empty if it is
    params: Mapping[str, str]  # what each parameter means


def variants() -> list[Variant]:
    """Lists what matmul takes as variant, from simple to fast. Those for CUDA tensors have names that begin
    with cuda/."""
    out = [
        Variant(v["name"], v["doc"], tuple(v["types"]), "cpu", v["available"], v["reason"], {})
        for v in _library.variants()
    ]
    reason = _device.missing()
    for v in _library.cuda_variants():
        params = {p["name"]: p["doc"] for p in v["params"]}
        out.append(Variant(v["name"], v["doc"], tuple(v["types"]), "cuda", not reason, reason, params))
    return out


def matmul(
    a: Array,
    b: Array,
    out: Array | None = None,
    variant: str | None = None,
    threads: int | None = None,
    params: Mapping[str, int | str] | None = None,
) -> Array:
    """Returns the matrix product of a and b.

    a, b and out are NumPy arrays, PyTorch tensors on the CPU, or PyTorch tensors on one GPU, all float32 or
    all float64, of two dimensions. They are not copied: rows or columns must be contiguous, which slices of rows
    and columns and transposes are. The product of CUDA tensors runs on their device, on PyTorch's current
    stream of it.

    out      receives the product, and is returned. It must not overlap a or b.
    variant  which implementation computes, such as "serial/packed" or "cuda/tuned"; None: the fastest.
             variants() lists them.
    threads  how many threads compute on processors; None: the environment variable GEMM_NUM_THREADS, else
             OMP_NUM_THREADS, else all processors.
    params   settings of a kernel on a GPU, such as {"stages": 2}.

    An argument that does not fit raises a TypeError or a ValueError that names it. A variant that cannot run
    here raises Unavailable.
    """
    if type(a) is np.ndarray and type(b) is np.ndarray and variant is None and threads is None and not params:
        c: Any = _plain(a, b, out)
        if c is not None:
            return c  # type: ignore[no-any-return]
    x, y = operand("a", a), operand("b", b)
    _check_pair(x, y)
    if x.cols != y.rows:
        raise ValueError(f"shapes do not conform: {x}, {y}: columns of a and rows of b must be equal")
    fresh = out is None
    if out is None:
        out = _empty(a, x.rows, y.cols)
        z = operand("out", out)
    else:
        z = _check_out(out, x, y)
    threads, params = _settings(variant, threads, params, x.device)
    if z.rows and z.cols:
        if not fresh:
            _announce(out)
        if x.device == "cpu":
            _on_processors(x, y, z, variant, threads or 0)
        else:
            _device.multiply(x, y, z, a, variant, params)
    return out


_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
# Raises an exception unless an array is by rows without gaps, writable and not empty.
_view: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def _plain(a: Any, b: Any, out: Any) -> Any:
    """The product of arrays by rows without gaps. None: it is not computed, and the general way says why or computes
    it. Each microsecond counts here."""
    dtype = a.dtype
    if (dtype is not _FLOAT64 and dtype is not _FLOAT32) or b.dtype is not dtype:
        return None
    try:
        (m, k), (rows, n) = a.shape, b.shape
        if rows != k:
            return None
        if out is None:
            c = np.empty((m, n), dtype)
        elif type(out) is np.ndarray and out.dtype is dtype and out.shape == (m, n):
            c = out
        else:
            return None
        views = _view(a), _view(b), _view(c)
    except (TypeError, ValueError, Warning):
        return None
    x, y, z = map(ctypes.addressof, views)
    size = dtype.itemsize
    end = z + m * n * size
    if (x | y | z) % size or (x < end and z < x + m * k * size) or (y < end and z < y + k * n * size):
        return None  # not aligned, or out overlaps
    code = _library.product_by_rows()(_library.describe(size == 4, m, n, k, x, y, z))
    if code:
        _library.raise_error(code)
    return c


def _check_pair(x: Operand, y: Operand) -> None:
    """Raises a TypeError unless both are of one kind, type and device."""
    if x.kind != y.kind:
        raise TypeError(f"{x.name} is a {x.kind} and {y.name} a {y.kind}: both must be of one kind")
    if x.type != y.type:
        names = {"f32": "float32", "f64": "float64"}
        raise TypeError(f"{x.name} is {names[x.type]} and {y.name} {names[y.type]}: convert one of them")
    if x.device != y.device:
        raise TypeError(f"{x.name} is on {x.device} and {y.name} on {y.device}: move one of them")


def _check_out(out: Any, x: Operand, y: Operand) -> Operand:
    """Describes out. It must be writable, have the shape of the product, and overlap no operand."""
    z = operand("out", out)
    _check_pair(x, z)
    if (z.rows, z.cols) != (x.rows, y.cols):
        raise ValueError(f"shapes do not conform: {x}, {y}, {z}: out must be {x.rows}x{y.cols}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only: pass an array that may be written")
    for other in (x, y):
        if overlap(other, z):
            raise ValueError(f"out overlaps {other.name}: pass memory of its own")
    return z


def _announce(out: Any) -> None:
    """Says that out will be written: what autograd has saved of a tensor is no longer valid."""
    if not isinstance(out, np.ndarray) and not out.is_inference():
        with sys.modules["torch"].no_grad():
            out[:0].zero_()  # no element; torch.autograd.graph.increment_version is newer


def _integer(value: Any) -> int | None:
    """The value as an int; None if it is no integer of Python or NumPy."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _settings(
    variant: str | None, threads: int | None, params: Mapping[str, int | str] | None, device: str
) -> tuple[int | None, Mapping[str, int | str] | None]:
    """The threads and the params, checked, with integers of Python."""
    if variant is not None and not isinstance(variant, str):
        raise TypeError(f"variant is {variant!r}, must be a string or None")
    if threads is not None:
        count = _integer(threads)
        if count is None:
            raise TypeError(f"threads is {threads!r}, must be an integer or None")
        threads = count
        if not 1 <= threads <= _library.MAX_THREADS:
            raise ValueError(f"threads is {threads}, must be from 1 to {_library.MAX_THREADS}")
        if device != "cpu":
            raise ValueError(f"threads is {threads}, but a and b are on {device}: leave it None")
    on_gpu = variant is not None and variant.startswith("cuda/")
    if device == "cpu" and on_gpu:
        raise ValueError(f"variant is {variant!r}, but a and b are on cpu: move them to a GPU")
    if device != "cpu" and variant is not None and not on_gpu:
        raise ValueError(f"variant is {variant!r}, but a and b are on {device}: variants there begin with cuda/")
    chosen: dict[str, int | str] = {}
    for name, value in (params or {}).items():
        plain = value if isinstance(value, str) else _integer(value)
        if not isinstance(name, str) or plain is None:
            raise TypeError(f"params has {name!r}: {value!r}, must be a name with an integer or a string")
        chosen[name] = plain
    if device == "cpu" and chosen:
        raise ValueError(f"params is {chosen}, but variants on processors have none")
    return threads, chosen


def _empty(like: Any, rows: int, cols: int) -> Any:
    """A matrix of the kind, type and device of another."""
    if isinstance(like, np.ndarray):
        return np.empty((rows, cols), like.dtype)
    return sys.modules["torch"].empty((rows, cols), dtype=like.dtype, device=like.device)


def _on_processors(x: Operand, y: Operand, z: Operand, variant: str | None, threads: int) -> None:
    """Computes the product by libgemm."""
    order = _library.COL_MAJOR if z.by_columns else _library.ROW_MAJOR
    trans = [_library.NO_TRANS if o.by_columns == z.by_columns else _library.TRANS for o in (x, y)]
    _library.product(
        z.type,
        variant,
        threads,
        order,
        (trans[0], trans[1]),
        (z.rows, z.cols, x.cols),
        (x.address, x.ld),
        (y.address, y.ld),
        (z.address, z.ld),
    )
