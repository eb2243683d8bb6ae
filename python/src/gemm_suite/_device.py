"""Products of CUDA tensors: kernels of the gemm suite on the tensor's device and PyTorch's current stream."""

import math
import sys
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from gemm_suite import _driver, _library
from gemm_suite._operand import Operand

# Kernels copy up to 16 bytes at once: what an address is a multiple of beyond that does not count.
_UNIT = 16


def missing() -> str:
    """What products of CUDA tensors lack here; empty if they run."""
    if find_spec("torch") is None:
        return "PyTorch is not installed: pip install torch"
    import torch

    if torch.version.cuda is None:
        return "PyTorch is built without CUDA"
    if not torch.cuda.is_available():
        return "PyTorch finds no GPU"
    if find_spec("cuda") is None or find_spec("cuda.bindings") is None:
        return "the package cuda-bindings is not installed: pip install cuda-bindings"
    return ""


class Product:
    """A product of one shape and layout on one GPU, compiled and ready to be launched."""

    def __init__(self, gpu: _driver.Gpu, recipe: dict[str, Any]) -> None:
        self.variant: str = recipe["variant"]
        self.options = {o for p in recipe["programs"] for o in p["options"]}  # of the compiler
        self.work: int = recipe["work"]
        self.zeros = [(z["at"], z["at"] + z["bytes"]) for z in recipe["zeros"] or []]
        self._lock = threading.Lock()  # the launches keep their arguments
        self._launches = []
        for launch in recipe["launches"]:
            function = gpu.function(recipe["programs"][launch["program"]], launch["kernel"], launch["shared"])
            limit = recipe["max_registers"]
            if launch["kernel"] == "gemm" and limit and _driver.registers(function) > limit:
                raise ValueError(f"maxregs is {limit}, which the compiler ignores: choose a higher limit")
            self._launches.append(_driver.Launch(launch, function))

    def start(self, stream: int, buffers: dict[str, int]) -> None:
        """Starts the launches. The context must be current."""
        with self._lock:
            for launch in self._launches:
                launch.start(stream, buffers)


_lock = threading.Lock()  # guards what follows
_gpus: dict[int, _driver.Gpu] = {}
_products: dict[Any, Product] = {}
_MOST_PRODUCTS = 1024


def _gpu(index: int) -> _driver.Gpu:
    gpu = _gpus.get(index)
    if gpu is None:
        with _lock:
            gpu = _gpus.setdefault(index, _driver.Gpu(index))
    return gpu


def prepare(
    gpu: _driver.Gpu,
    x: Operand,
    y: Operand,
    z: Operand,
    variant: str | None,
    params: Mapping[str, int | str] | None,
    promise: tuple[float, float] | None = None,
) -> Product:
    """The product z = x·y of such operands, with z by rows. promise is an accuracy and the least_share of the operands.
    It is compiled at the first call."""
    chosen = tuple(sorted(params.items())) if params else ()
    layout = tuple((o.address % _UNIT, o.ld, o.by_columns) for o in (x, y, z))
    key = (gpu.index, variant, chosen, z.type, z.rows, z.cols, x.cols, layout, promise)
    product = _products.get(key)
    if product is not None:
        return product
    request = {
        "variant": variant or "",
        "type": z.type,
        "m": z.rows,
        "n": z.cols,
        "k": x.cols,
        "params": dict(chosen),
        "gpu": gpu.description,
    }
    if promise:
        request["accuracy"], request["least_share"] = promise
    for name, o in (("a", x), ("b", y), ("c", z)):
        request[name] = {"address": o.address % _UNIT, "ld": o.ld, "transpose": o.by_columns}
    with _lock, gpu.current():
        if len(_products) >= _MOST_PRODUCTS:
            _products.clear()  # compiled kernels stay
        product = _products[key] = Product(gpu, _library.cuda_recipe(request))
    return product


def least_share(*tensors: Any) -> float:
    """The least magnitude of an element but 0 relative to the largest of its tensor, rounded down to a power of two; 0
    if a tensor is 0, or has NaN or Inf. It waits for the GPU."""
    torch, least = sys.modules["torch"], 1.0
    for x in (t.abs() for t in tensors if t.numel()):
        most = x.amax()
        low = float(torch.where(x > 0, x, most).amin())
        share = low / float(most) if 0 < float(most) < math.inf else 0.0
        least = min(least, math.ldexp(0.5, math.frexp(share)[1]) if share > 0 else 0.0)
    return least


def multiply(
    x: Operand,
    y: Operand,
    z: Operand,
    like: Any,
    variant: str | None,
    params: Mapping[str, int | str] | None,
    promise: tuple[float, float] | None = None,
) -> None:
    """Starts z = x·y, all on one GPU, on PyTorch's current stream. like is one of the tensors."""
    torch = sys.modules["torch"]
    if z.by_columns:  # the transpose of the product is stored by rows
        x, y, z = _transposed(y), _transposed(x), _transposed(z)
    device = like.device
    gpu = _gpu(device.index)
    product = prepare(gpu, x, y, z, variant, params, promise)
    buffers = {"a": x.address, "b": y.address, "c": z.address}
    if product.work:
        # Memory of the current stream: PyTorch reuses it only for later work of this stream.
        work = torch.empty(product.work, dtype=torch.uint8, device=device)
        for begin, end in product.zeros:
            work[begin:end].zero_()
        buffers["work"] = work.data_ptr()
    stream = torch.cuda.current_stream(device).cuda_stream
    with gpu.current():
        product.start(stream, buffers)


def _transposed(o: Operand) -> Operand:
    return o._replace(rows=o.cols, cols=o.rows, by_columns=not o.by_columns)
