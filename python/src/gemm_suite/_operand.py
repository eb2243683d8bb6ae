"""Matrices as the kernels see them: an address, a leading dimension, and whether they are stored by columns."""

import sys
from typing import Any, NamedTuple

import numpy as np

_NUMPY_TYPES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_SIZES = {"f32": 4, "f64": 8}


class Operand(NamedTuple):
    """A matrix in memory."""

    name: str  # of the argument
    kind: str  # NumPy array or PyTorch tensor
    device: str  # cpu, cuda:0 and so on
    type: str  # f32 or f64
    address: int
    rows: int
    cols: int
    ld: int  # elements from one row, or column, to the next
    by_columns: bool

    def __str__(self) -> str:
        return f"{self.name} {self.rows}x{self.cols}"


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
    typ = _NUMPY_TYPES.get(x.dtype)
    if typ is None:
        remedy = f"{name}.astype(numpy.float{32 if np.can_cast(x.dtype, np.float32) else 64})"
        if x.dtype.kind == "c":
            remedy = f"multiply {name}.real.copy() and {name}.imag.copy()"
        raise TypeError(f"{name} has the dtype {x.dtype}, must be float32 or float64: {remedy}")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask a product would ignore: {name}.filled(0)")
    rows, cols = _two(name, x.shape)
    remedy = _remedy(name, f"numpy.ascontiguousarray({name})")
    if not x.flags.aligned:
        raise ValueError(f"{name} is not aligned to its elements: {remedy}")
    address: int = x.__array_interface__["data"][0]
    size = x.itemsize
    strides = x.strides
    if strides[0] % size != 0 or strides[1] % size != 0:
        raise ValueError(f"{name} has the strides {strides} in bytes, no multiples of {size}: {remedy}")
    ld, by_columns = _layout(name, rows, cols, strides[0] // size, strides[1] // size, remedy)
    return Operand(name, "NumPy array", "cpu", typ, address, rows, cols, ld, by_columns)


def _of_tensor(name: str, x: Any, torch: Any) -> Operand:
    typ = {torch.float32: "f32", torch.float64: "f64"}.get(x.dtype)
    if typ is None:
        remedy = f"{name}.float()" if x.element_size() <= 2 else f"{name}.double()"
        if x.dtype.is_complex:
            remedy = f"multiply {name}.real.contiguous() and {name}.imag.contiguous()"
        raise TypeError(f"{name} has the dtype {x.dtype}, must be torch.float32 or torch.float64: {remedy}")
    device = x.device
    if device.type not in ("cpu", "cuda"):
        raise TypeError(f"{name} is on the device {device}, must be on cpu or cuda: {name}.cpu()")
    if x.layout != torch.strided:
        raise TypeError(f"{name} has the layout {x.layout}, must be dense: {name}.to_dense()")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires a gradient, which this product does not compute: {name}.detach()")
    rows, cols = _two(name, x.shape)
    if x.is_neg():  # its elements are stored with the other sign
        raise ValueError(f"{name} is a view with a pending negation: {name}.resolve_neg()")
    ld, by_columns = _layout(name, rows, cols, x.stride(0), x.stride(1), _remedy(name, f"{name}.contiguous()"))
    return Operand(name, "PyTorch tensor", str(device), typ, x.data_ptr(), rows, cols, ld, by_columns)


def _two(name: str, shape: Any) -> tuple[int, int]:
    if len(shape) != 2:
        raise ValueError(f"{name} has {len(shape)} dimensions (shape {tuple(shape)}), must have 2")
    return shape[0], shape[1]


def _remedy(name: str, copy: str) -> str:
    """What to do about an argument that kernels cannot read, or about out, which they cannot write."""
    return "pass contiguous memory" if name == "out" else f"{copy} copies it"


def _layout(name: str, rows: int, cols: int, down: int, across: int, remedy: str) -> tuple[int, bool]:
    """The leading dimension, and whether the matrix is stored by columns. down and across are the strides in
    elements. A stride along which there is one element does not count."""
    if rows == 0 or cols == 0:
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
        size = _SIZES[x.type]
        strides = (size, x.ld * size) if x.by_columns else (x.ld * size, size)
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{size}",
            "shape": (x.rows, x.cols),
            "strides": strides,
            "data": (x.address, True),
        }


def overlap(x: Operand, y: Operand) -> bool:
    """Whether two matrices on the same device have an element in common."""
    if x.rows * x.cols == 0 or y.rows * y.cols == 0:
        return False
    if x.address >= _end(y) or y.address >= _end(x):
        return False
    return bool(np.shares_memory(np.asarray(_Place(x)), np.asarray(_Place(y))))


def _end(x: Operand) -> int:
    lines, length = (x.cols, x.rows) if x.by_columns else (x.rows, x.cols)
    return x.address + _SIZES[x.type] * ((lines - 1) * x.ld + length)
