"""Times and verifies the products of one shape."""

import math
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gemm_suite.errors import Unavailable
from gemm_suite.sgemm.rows import Row, multiplier

Shape = tuple[int, int, int]  # m, n, k

_SAMPLES = 7
_LEAST = 2e-3  # seconds of a sample on a GPU
_MOST = 1.0  # seconds of a row on processors, unless one product takes longer


class Result(NamedTuple):
    """What is known of a row after its measurement."""

    label: str
    by: str
    params: dict[str, Any]
    status: str  # ok, wrong or unavailable
    reason: str = ""  # if it is not ok
    first: tuple[float, ...] = ()  # values of the result
    seconds: tuple[float, ...] = ()  # of a product, in each sample
    error: float | None = None  # the largest, as a multiple of the bound


def bound(compute: str, shape: Shape) -> float:
    """The largest error of an element of a product of random operands, divided by the element of |A||B|.

    Sums in any order: Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput.
    41(5), 2019, Theorem 3.1, for all elements at once with a probability of 1 - 1e-9. With TF32, both operands are
    rounded to 11 bits first, and the tensor cores truncate sums in single precision, so errors do not cancel. f16x3
    is bounded as by `split` in cuda/kernels/production/production.go.
    """
    m, n, k = shape
    u = 2.0**-53 if compute == "f64" else 2.0**-24
    if compute == "tf32":
        gamma = 2 * k * u / (1 - 2 * k * u)
        return float((1 + 2.0**-11) ** 2 * (1 + gamma) - 1)
    if compute == "f16x3":

        def gamma_of(terms: float, u: float) -> float:
            return terms * u / (1 - terms * u)

        parts, chunk = 3 * 2.0**-22, 64
        sums = gamma_of(min(k, chunk), 2 * u) + gamma_of(math.ceil(k / chunk) + 3, u)
        return float((1 + parts) * (1 + sums + 2.0**-9 * gamma_of(2 * k, 2 * u)) - 1)
    confidence = math.sqrt(2 * math.log(2e9 * m * n * k))
    return min(k * u / (1 - k * u), math.expm1(confidence * math.sqrt(k) * u + k * u * u / (1 - u)))


def memory(on_gpu: bool) -> int:
    """The bytes of memory that are free on the GPU, or that the host has: its caches give way."""
    if on_gpu:
        import torch

        return int(torch.cuda.mem_get_info()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Operands:
    """Random operands of a shape, their product in double precision, and the product of their magnitudes."""

    def __init__(self, shape: Shape, on_gpu: bool) -> None:
        m, n, k = shape
        # The operands in single and double precision and the double ones' magnitudes; the product in single
        # precision, and four more in double while it is compared.
        needs, has = (4 + 8 + 8) * (m * k + k * n) + (4 + 4 * 8) * m * n, memory(on_gpu)
        if needs > has:
            text = f"{m}x{n}x{k} needs {needs / 2**30:.1f} GiB of memory, there are {has / 2**30:.1f} GiB"
            raise MemoryError(f"{text}: choose a smaller shape")
        self.shape = shape
        self.on_gpu = on_gpu
        random = np.random.default_rng(0)
        self.a: Any = random.standard_normal((m, k), dtype=np.float32)
        self.b: Any = random.standard_normal((k, n), dtype=np.float32)
        if on_gpu:
            import torch

            self.a, self.b = torch.from_numpy(self.a).cuda(), torch.from_numpy(self.b).cuda()
            self.out: Any = torch.empty((m, n), dtype=torch.float32, device=self.a.device)
            a, b = self.a.double(), self.b.double()
        else:
            self.out = np.empty((m, n), np.float32)
            a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        self.exact: Any = a @ b
        self.scale: Any = abs(a) @ abs(b)

    def poison(self) -> None:
        """Fills out with NaN: an element that a product does not write is found."""
        self.out[:] = float("nan")

    def error(self, compute: str) -> float:
        """The largest error of out as a multiple of the bound. It is NaN if an element is."""
        ratio = abs(self.out - self.exact) / (self.scale * bound(compute, self.shape))
        return float(ratio.max())  # which is NaN if one is, in NumPy and in PyTorch


def measure(row: Row, x: Operands) -> Result:
    """Computes, verifies and times a row."""
    m, n, k = x.shape
    left_out = Result(row.label, row.by, dict(row.params), "unavailable")
    if row.most and 2.0 * m * n * k > row.most:
        return left_out._replace(reason="left out: it takes long for so large a product")
    multiply, reason = multiplier(row)
    if multiply is None:
        return left_out._replace(reason=reason)
    x.poison()
    try:
        multiply(x.a, x.b, x.out)
    except Unavailable as err:  # such as a kernel that this GPU cannot run
        return left_out._replace(reason=str(err))
    error = x.error(row.compute)
    done = left_out._replace(first=tuple(float(v) for v in x.out.reshape(-1)[:3]), error=error)
    if not error <= 1:
        return done._replace(status="wrong", reason=f"the error is {error:.3g} times the bound")
    call = _Call(multiply, x)
    return done._replace(status="ok", seconds=tuple(_on_gpu(call) if x.on_gpu else _on_processors(call)))


class _Call:
    """A product as a function without arguments."""

    def __init__(self, multiply: Callable[[Any, Any, Any], None], x: Operands) -> None:
        self.multiply, self.arguments = multiply, (x.a, x.b, x.out)

    def __call__(self) -> None:
        self.multiply(*self.arguments)


def _on_gpu(f: Callable[[], None]) -> list[float]:
    """Times of a call in seconds, by events, from samples of several calls."""
    import torch

    def sample(calls: int) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            f()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3 / calls

    sample(2)
    calls = max(1, math.ceil(_LEAST / sample(2)))
    return [sample(calls) for _ in range(_SAMPLES)]


def _on_processors(f: Callable[[], None]) -> list[float]:
    """Times of a call in seconds."""
    took: list[float] = []
    while not took or (len(took) < _SAMPLES and sum(took) < _MOST):
        begin = time.perf_counter()
        f()
        took.append(time.perf_counter() - begin)
    return took
