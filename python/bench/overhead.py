"""Compares gemm_suite.matmul of CUDA tensors with the time of its kernel, by events, interleaved.

kernel    the launches alone, behind others on the stream, so that the GPU never waits for the processor
queued    matmul likewise
idle      matmul on a stream without work, which waits for Python to start the kernel
"""

import statistics
import sys
from collections.abc import Callable

import torch

import gemm_suite
from gemm_suite import _device
from gemm_suite._operand import operand


def took(f: Callable[[], None], ahead: int) -> float:
    """The milliseconds of f behind the given number of its calls."""
    torch.cuda.synchronize()
    for _ in range(ahead):
        f()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    f()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def compare(n: int, dtype: torch.dtype, variant: str) -> None:
    """Prints the medians of a shape."""
    a, b, out = (torch.randn(n, n, dtype=dtype, device="cuda") for _ in range(3))
    gemm_suite.matmul(a, b, out, variant)
    gpu = _device._gpu(a.device.index)
    product = _device.prepare(gpu, operand("a", a), operand("b", b), operand("out", out), variant, None)
    buffers = {"a": a.data_ptr(), "b": b.data_ptr(), "c": out.data_ptr()}
    if product.work:
        work = torch.zeros(product.work, dtype=torch.uint8, device="cuda")
        buffers["work"] = work.data_ptr()

    def kernel() -> None:
        with gpu.current():
            product.start(torch.cuda.current_stream().cuda_stream, buffers)

    def matmul() -> None:
        gemm_suite.matmul(a, b, out, variant)

    times = {"kernel": [], "queued": [], "idle": []}
    for _ in range(31):
        times["kernel"].append(took(kernel, 3))
        times["queued"].append(took(matmul, 3))
        times["idle"].append(took(matmul, 0))
    median = {name: statistics.median(values) for name, values in times.items()}
    share = {name: f"{100 * (median[name] / median['kernel'] - 1):+.2f} %" for name in ("queued", "idle")}
    print(
        f"{variant:<16} n={n:<5} kernel {median['kernel']:9.5f} ms   queued {median['queued']:9.5f} ms "
        f"({share['queued']})   idle {median['idle']:9.5f} ms ({share['idle']})"
    )


def main() -> None:
    """Prints the table."""
    if reason := _device.missing():
        sys.exit(f"overhead: {reason}")
    print(torch.cuda.get_device_name())
    for n in (64, 512, 1024, 4095, 4096):
        for dtype, variant in (
            (torch.float32, "cuda/tuned"),
            (torch.float32, "cuda/tuned-tf32-mma"),
            (torch.float64, "cuda/tuned"),
        ):
            compare(n, dtype, variant)


if __name__ == "__main__":
    main()
