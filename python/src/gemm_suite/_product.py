"""matmul and variants: the checks that all products share, and the choice of who computes."""

import ctypes
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gemm_suite import _device, _library
from gemm_suite._operand import BY_DTYPE, NAMES, Operand, operand, overlap, overlaps_itself, times
from gemm_suite.errors import Unavailable

Array = TypeVar("Array")


class Variant(NamedTuple):
    """An implementation that matmul can be told to use."""

    name: str  # such as parallel/packed or cuda/tuned
    doc: str
    types: tuple[str, ...]  # f64, f32, f16, bf16
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
    accuracy: float | None = None,
) -> Array:
    """Returns the matrix product of a and b.

    a, b and out are NumPy arrays, PyTorch tensors on the CPU, or PyTorch tensors on one GPU, all of one type: float16,
    bfloat16 (in NumPy by the package ml_dtypes), float32, float64, and on processors complex64 or complex128. Sums of
    float16 and bfloat16 are in single precision; each is rounded once. Arrays of more than two dimensions are stacks of
    matrices in the last two. The other dimensions are broadcast, as by numpy.matmul. Nothing is copied: rows or columns
    must be contiguous, which slices of rows and columns and transposes are. The product of CUDA tensors runs on their
    device, on PyTorch's current stream of it.

    out      receives the product, and is returned. It must not overlap a or b.
    variant  which implementation computes, such as "serial/packed" or "cuda/tuned"; None: the fastest.
             variants() lists them. Complex products have none.
    threads  how many threads compute on processors, any integer from 1; None or 0: the environment variable
             GEMM_NUM_THREADS, else OMP_NUM_THREADS, else all processors.
    params   settings of a kernel on a GPU, such as {"stages": 2}.
    accuracy the largest error that the variant must promise, such as 1e-6, relative to |a||b|, or to norms if it has no
             other bound. None: any. Without a variant, the fastest that promises it computes. The type stays.

    An argument that does not fit raises a TypeError or a ValueError that names it. A variant that cannot run
    here, or an accuracy that none has, raises Unavailable.
    """
    plain = variant is None and threads is None and not params and accuracy is None
    if plain and type(a) is np.ndarray and type(b) is np.ndarray:
        c: Any = _plain(a, b, out)
        if c is not None:
            return c  # type: ignore[no-any-return]
    x, y = operand("a", a), operand("b", b)
    _check_pair(x, y)
    shape = _shape(x, y)
    fresh = out is None
    if out is None:
        out = _empty(a, shape)
        z = operand("out", out)
    else:
        z = _check_out(out, x, y, shape)
    threads, params = _settings(variant, threads, params, x.device)
    promise = None
    if accuracy is not None:
        promise = _promise(accuracy, x, y, z, variant, threads or 0, a, b)
        variant = variant or ("parallel/packed" if x.device == "cpu" else None)
    if 0 not in shape:
        if not fresh:
            _announce(out)
        if x.stack and not y.stack and (pair := x.stacked()) and (whole := z.stacked()):
            x, z = pair, whole
        if x.device == "cpu":
            _on_processors(x, y, z, variant, threads or 0)
        else:
            for p, q, r in zip(*(o.matrices(z.stack) for o in (x, y, z)), strict=True):
                _device.multiply(p, q, r, a, variant, params, promise)
    return out


_PLAIN = {dtype: _library.TYPES[typ] for dtype, typ in BY_DTYPE.items()}
# Raises an exception unless an array is by rows without gaps, writable and not empty.
_view: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


def _plain(a: Any, b: Any, out: Any) -> Any:
    """The product of arrays by rows without gaps. None: it is not computed, and the general way says why or computes
    it. Each microsecond counts here."""
    dtype = a.dtype
    typ = _PLAIN.get(dtype)
    if typ is None or b.dtype is not dtype:
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
    code = _library.product_by_rows()(_library.describe(typ, m, n, k, x, y, z))
    if code:
        _library.raise_error(code)
    return c


def _check_pair(x: Operand, y: Operand) -> None:
    """Raises a TypeError unless both are of one kind, type and device."""
    if x.kind != y.kind:
        raise TypeError(f"{x.name} is a {x.kind} and {y.name} a {y.kind}: both must be of one kind")
    if x.type != y.type:
        raise TypeError(f"{x.name} is {NAMES[x.type]} and {y.name} {NAMES[y.type]}: convert one of them")
    if x.device != y.device:
        raise TypeError(f"{x.name} is on {x.device} and {y.name} on {y.device}: move one of them")


def _shape(x: Operand, y: Operand) -> tuple[int, ...]:
    """The shape of the product."""
    if x.cols != y.rows:
        raise ValueError(f"shapes do not conform: {x}, {y}: columns of a and rows of b must be equal")
    try:
        stack = x.stack if x.stack == y.stack else np.broadcast_shapes(x.stack, y.stack)
    except ValueError:
        raise ValueError(f"shapes do not conform: {x}, {y}: the stacks cannot be broadcast together") from None
    return (*stack, x.rows, y.cols)


def _check_out(out: Any, x: Operand, y: Operand, shape: tuple[int, ...]) -> Operand:
    """Describes out. It must be writable, have the shape of the product, and overlap no operand."""
    z = operand("out", out)
    _check_pair(x, z)
    if z.shape != shape:
        raise ValueError(f"shapes do not conform: {x}, {y}, {z}: out must be {times(shape)}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only: pass an array that may be written")
    if z.stack and overlaps_itself(z):
        raise ValueError(f"out has the strides {z.strides} in bytes, so its matrices overlap: pass contiguous memory")
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
        if count < 0:
            raise ValueError(f"threads is {count}, must be at least 1, or 0 for the default")
        if device != "cpu":
            raise ValueError(f"threads is {count}, but a and b are on {device}: leave it None")
        threads = min(count, _library.MAX_THREADS)
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


def _promise(
    accuracy: Any, x: Operand, y: Operand, z: Operand, variant: str | None, threads: int, a: Any, b: Any
) -> tuple[float, float] | None:
    """Checks what is promised on processors. For a GPU, returns the accuracy and what must be known of the operands."""
    if isinstance(accuracy, bool) or not isinstance(accuracy, float | int | np.floating):
        raise TypeError(f"accuracy is {accuracy!r}, must be a number or None")
    accuracy = float(accuracy)
    if not 0 < accuracy < 1:
        raise ValueError(f"accuracy is {accuracy:g}, must be between 0 and 1, such as 1e-6")
    if x.device != "cpu":
        return accuracy, _device.least_share(a, b) if z.type == "f32" else 0.0
    if x.type in ("c64", "c128"):
        raise ValueError(f"accuracy is {accuracy:g}, but complex products have no bound: leave it None")
    rows, cols = (z.cols, z.rows) if z.by_columns else (z.rows, z.cols)
    bound = _library.bound(x.type, variant, threads, (rows, cols, x.cols))
    if not bound <= accuracy:
        text = f"the best that can be promised here is {1.005 * bound:.3g}, in {NAMES[x.type]}"
        raise Unavailable(f"accuracy {accuracy:g}: {text}")
    return None


def _empty(like: Any, shape: tuple[int, ...]) -> Any:
    """Memory of the kind, type and device of an operand."""
    if isinstance(like, np.ndarray):
        return np.empty(shape, like.dtype)
    return sys.modules["torch"].empty(shape, dtype=like.dtype, device=like.device)


def _on_processors(x: Operand, y: Operand, z: Operand, variant: str | None, threads: int) -> None:
    """Computes the product, or the products of stacks, by libgemm."""
    order = _library.COL_MAJOR if z.by_columns else _library.ROW_MAJOR
    trans = [_library.NO_TRANS if o.by_columns == z.by_columns else _library.TRANS for o in (x, y)]
    _library.product(
        z.type,
        variant,
        threads,
        order,
        (trans[0], trans[1]),
        (z.rows, z.cols, x.cols),
        (x.addresses(z.stack), x.ld),
        (y.addresses(z.stack), y.ld),
        (z.addresses(z.stack), z.ld),
    )
