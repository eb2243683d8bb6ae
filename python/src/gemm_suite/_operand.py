"""Matrices as the kernels see them: an address, a leading dimension, and whether they are stored by columns."""

import ctypes
import math
import sys
from typing import Any, NamedTuple

import numpy as np

# The names of the element types in NumPy and PyTorch, by their names in libgemm, and the bytes of an element.
NAMES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
_BY_NAME = {name: typ for typ, name in NAMES.items()}
BY_DTYPE = {np.dtype(name): typ for name, typ in _BY_NAME.items() if name != "bfloat16"}  # which ml_dtypes has
_ONE = ctypes.c_size_t * 1
_LISTED = f"{', '.join(list(_BY_NAME)[:-1])} or complex128"


class Operand(NamedTuple):
    """A matrix in memory, or a stack of matrices."""

    name: str  # of the argument
    kind: str  # NumPy array or PyTorch tensor
    device: str  # cpu, cuda:0 and so on
    type: str  # of NAMES
    address: int
    rows: int
    cols: int
    ld: int  # elements from one row, or column, to the next
    by_columns: bool
    stack: tuple[int, ...] = ()  # all dimensions but the last two
    steps: tuple[int, ...] = ()  # bytes from one matrix to the next, along each of them

    def __str__(self) -> str:
        return f"{self.name} {times(self.shape)}"

    @property
    def shape(self) -> tuple[int, ...]:
        """All dimensions."""
        return (*self.stack, self.rows, self.cols)

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next, along each dimension."""
        size = SIZES[self.type]
        return (*self.steps, *((size, self.ld * size) if self.by_columns else (self.ld * size, size)))

    def addresses(self, stack: tuple[int, ...]) -> "ctypes.Array[ctypes.c_size_t]":
        """The addresses of the matrices of a stack that this one is broadcast to."""
        if not stack:
            return _ONE(self.address)
        places, own = np.empty(stack, np.intp), np.array(self.address, np.intp)
        for length, step in zip(self.stack, self.steps, strict=True):
            own = own[..., None] + np.arange(length) * step
        places[...] = own
        return (ctypes.c_size_t * places.size).from_buffer(places.data)

    def matrices(self, stack: tuple[int, ...]) -> "list[Operand]":
        """The matrices of a stack that this one is broadcast to."""
        if not stack:
            return [self]
        return [self._replace(address=at, stack=(), steps=()) for at in self.addresses(stack)]

    def stacked(self) -> "Operand | None":
        """The matrices as one, each below the one before. None: they are not stored like that."""
        step = self.rows * self.ld * SIZES[self.type]
        for length, found in zip(reversed(self.stack), reversed(self.steps), strict=True):
            if self.by_columns or (length > 1 and found != step):
                return None
            step *= length
        return self._replace(rows=self.rows * math.prod(self.stack), stack=(), steps=())


def times(shape: tuple[int, ...]) -> str:
    """The dimensions as a text."""
    return "x".join(map(str, shape))


def operand(name: str, x: Any) -> Operand:
    """Describes an argument. The error is a TypeError or a ValueError that names what is wrong with it."""
    if isinstance(x, np.ndarray):
        return _of_array(name, x)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _of_tensor(name, x, torch)
    raise TypeError(
        f"{name} is a {type(x).__module__}.{type(x).__qualname__}, must be a NumPy array or a PyTorch tensor: "
        f"numpy.asarray({name}) makes an array"
    )


def _of_array(name: str, x: "np.ndarray[Any, Any]") -> Operand:
    typ = BY_DTYPE.get(x.dtype) or ("bf16" if x.dtype.name == "bfloat16" else None)
    if typ is None:
        close = "complex128" if x.dtype.kind == "c" else "float32" if np.can_cast(x.dtype, np.float32) else "float64"
        raise TypeError(f"{name} has the dtype {x.dtype}, must be {_LISTED}: {name}.astype(numpy.{close})")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask a product would ignore: {name}.filled(0)")
    rows, cols = _last_two(name, x.shape)
    remedy = _remedy(name, f"numpy.ascontiguousarray({name})")
    if not x.flags.aligned:
        raise ValueError(f"{name} is not aligned to its elements: {remedy}")
    address: int = x.__array_interface__["data"][0]
    size = x.itemsize
    strides = x.strides
    down, across = strides[-2:]
    if down % size != 0 or across % size != 0:
        raise ValueError(f"{name} has the strides {strides} in bytes, no multiples of {size}: {remedy}")
    ld, by_columns = _layout(name, x.shape, down // size, across // size, remedy)
    return Operand(name, "NumPy array", "cpu", typ, address, rows, cols, ld, by_columns, x.shape[:-2], strides[:-2])


def _of_tensor(name: str, x: Any, torch: Any) -> Operand:
    typ = _BY_NAME.get(str(x.dtype).removeprefix("torch."))
    if typ is None:
        close = "cfloat" if x.dtype.is_complex else "float" if x.element_size() <= 2 else "double"
        raise TypeError(f"{name} has the dtype {x.dtype}, must be {_LISTED}: {name}.{close}()")
    device = x.device
    if device.type not in ("cpu", "cuda"):
        raise TypeError(f"{name} is on the device {device}, must be on cpu or cuda: {name}.cpu()")
    if device.type == "cuda" and x.dtype.is_complex:
        raise TypeError(f"{name} has the dtype {x.dtype}, which products on a GPU do not have: {name}.cpu()")
    if x.layout != torch.strided:
        raise TypeError(f"{name} has the layout {x.layout}, must be dense: {name}.to_dense()")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires a gradient, which this product does not compute: {name}.detach()")
    rows, cols = _last_two(name, x.shape)
    if x.is_neg():  # its elements are stored with the other sign
        raise ValueError(f"{name} is a view with a pending negation: {name}.resolve_neg()")
    if x.is_conj():
        raise ValueError(f"{name} is a view with a pending conjugation: {name}.resolve_conj()")
    *steps, down, across = x.stride()
    ld, by_columns = _layout(name, x.shape, down, across, _remedy(name, f"{name}.contiguous()"))
    stack, steps = tuple(x.shape[:-2]), tuple(s * SIZES[typ] for s in steps)
    return Operand(name, "PyTorch tensor", str(device), typ, x.data_ptr(), rows, cols, ld, by_columns, stack, steps)


def _last_two(name: str, shape: Any) -> tuple[int, int]:
    if len(shape) < 2:
        raise ValueError(f"{name} has {len(shape)} dimensions (shape {tuple(shape)}), must have 2 or more")
    return shape[-2], shape[-1]


def _remedy(name: str, copy: str) -> str:
    """What to do about an argument that kernels cannot read, or about out, which they cannot write."""
    return "pass contiguous memory" if name == "out" else f"{copy} copies it"


def _layout(name: str, shape: tuple[int, ...], down: int, across: int, remedy: str) -> tuple[int, bool]:
    """The leading dimension, and whether the matrix is stored by columns. down and across are the strides in
    elements. A stride along which there is one element does not count."""
    rows, cols = shape[-2:]
    if 0 in shape:
        return max(1, cols), False
    if across == 1 or cols == 1:
        ld = down if rows > 1 else cols
        if ld >= cols:
            return ld, False
    if down == 1 or rows == 1:
        ld = across if cols > 1 else rows
        if ld >= rows:
            return ld, True
    raise ValueError(
        f"{name} has the strides ({down}, {across}) in elements, one must be 1 and the other at least the length of "
        f"a row or column: {remedy}"
    )


class _Place:
    """An array that NumPy knows by its place in memory, which it does not read."""

    def __init__(self, x: Operand) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{SIZES[x.type]}",
            "shape": x.shape,
            "strides": x.strides,
            "data": (x.address, True),
        }


def overlap(x: Operand, y: Operand) -> bool:
    """Whether two operands on the same device have an element in common."""
    (first, last), (start, end) = _extent(x), _extent(y)
    if 0 in x.shape or 0 in y.shape or last < start or end < first:
        return False
    return bool(np.shares_memory(np.asarray(_Place(x)), np.asarray(_Place(y))))


def _extent(x: Operand) -> tuple[int, int]:
    """The addresses of the first and the last element."""
    lines, length = (x.cols, x.rows) if x.by_columns else (x.rows, x.cols)
    first, last = x.address, x.address + SIZES[x.type] * ((lines - 1) * x.ld + length - 1)
    for step, length in zip(x.steps, x.stack, strict=True):
        first, last = first + min(0, step * (length - 1)), last + max(0, step * (length - 1))
    return first, last


def overlaps_itself(x: Operand) -> bool:
    """Whether two elements may be one: along some dimension, they are closer than the others reach."""
    if 0 in x.shape:
        return False
    reach = SIZES[x.type]
    for step, length in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if step < reach:
            return True
        reach += step * (length - 1)
    return False
