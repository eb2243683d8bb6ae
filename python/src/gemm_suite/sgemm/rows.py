"""The rows of the table: which implementation computes each."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gemm_suite

Multiply = Callable[[Any, Any, Any], None]  # a, b, out


class Row(NamedTuple):
    """A row of the table."""

    label: str
    compute: str  # f32 or tf32, the arithmetic
    by: str  # a variant of ours, or the name of a library
    params: Mapping[str, int | str] = {}
    most: float = 0  # floating-point operations of the largest product; 0: no limit


# Each step changes one thing about the kernel before it: slices of k in shared memory (sk), 8x8 elements a thread
# (t8x8sk), no bank conflicts (bcf), double buffers (dbuf), slices of 16 (k16), asynchronous copies. With TF32: tensor
# cores by wmma, in 2 and 3 stages, with slices of 8 and of 32 (k32).
ON_GPU = (
    Row("f32", "f32", "cuda/coalesced"),
    Row("f32(sk)", "f32", "cuda/smem"),
    Row("f32x4(t8x8sk)", "f32", "cuda/vectorized"),
    Row("f32x4(t8x8bcf)", "f32", "cuda/conflictfree"),
    Row("f32x4(t8x8dbuf)", "f32", "cuda/doublebuffer", {"bk": 8}),
    Row("f32x4(t8x8k16dbuf)", "f32", "cuda/doublebuffer", {"bk": 16}),
    Row("f32x4(t8x8k16async)", "f32", "cuda/async", {"bk": 16}),
    Row("f32(tuned)", "f32", "cuda/tuned"),
    Row("f32(cublas)", "f32", "cuBLAS"),
    Row("tf32(wmma+stage2)", "tf32", "cuda/tf32-wmma", {"stages": 2}),
    Row("tf32(wmma+stage3)", "tf32", "cuda/tf32-wmma", {"stages": 3}),
    Row("tf32(wmma+k32)", "tf32", "cuda/tf32-multistage", {"stages": 3}),
    Row("tf32(wgmma)", "tf32", "cuda/tf32-wgmma"),
    Row("tf32(cublas+tf32)", "tf32", "cuBLAS"),
    Row("f32(torch)", "f32", "PyTorch"),
)

# The first loops take minutes for large products.
ON_PROCESSORS = (
    Row("f32", "f32", "serial/naive", most=2**31),
    Row("f32(ikj)", "f32", "serial/ikj", most=2**33),
    Row("f32(packed)", "f32", "serial/packed"),
    Row("f32(parallel)", "f32", "parallel/packed"),
    Row("f32(numpy)", "f32", "NumPy"),
    Row("f32(torch)", "f32", "PyTorch"),
)


def multiplier(row: Row) -> tuple[Multiply | None, str]:
    """How the row is computed; or None, and the reason why it cannot be."""
    if "/" in row.by:
        known = {v.name: v for v in gemm_suite.variants()}
        if row.by not in known:
            return None, "not in this version"
        if not known[row.by].available:
            return None, known[row.by].reason
        return _ours(row), ""
    try:
        return _LIBRARIES[row.by](row), ""
    except ImportError:
        return None, f"{row.by} is not installed"
    except gemm_suite.Unavailable as err:
        return None, str(err)


def _ours(row: Row) -> Multiply:
    def multiply(a: Any, b: Any, out: Any) -> None:
        gemm_suite.matmul(a, b, out, row.by, params=row.params)

    return multiply


def _numpy(_: Row) -> Multiply:
    import numpy as np

    def multiply(a: Any, b: Any, out: Any) -> None:
        np.matmul(a, b, out=out)

    return multiply


def _torch(_: Row) -> Multiply:
    import torch

    def multiply(a: Any, b: Any, out: Any) -> None:
        if not isinstance(out, torch.Tensor):
            a, b, out = (torch.from_numpy(x) for x in (a, b, out))
        torch.matmul(a, b, out=out)

    return multiply


def _cublas(row: Row) -> Multiply:
    from gemm_suite.sgemm.cublas import multiplier

    return multiplier(row.compute == "tf32")


_LIBRARIES: dict[str, Callable[[Row], Multiply]] = {"NumPy": _numpy, "PyTorch": _torch, "cuBLAS": _cublas}
