"""A driver and a compiler of CUDA that compute on the processor, from what a launch is given.

Which kernel a launch starts, and what its parameters are called, is read from the source, so that a recipe with
arguments in another order computes nonsense here, as it would on a GPU.
"""

import ctypes
import enum
import re
from types import SimpleNamespace
from typing import Any

import numpy as np


class Status(enum.IntEnum):
    """What calls return."""

    CUDA_SUCCESS = 0


_ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": 132,
    "CLOCK_RATE": 1980000,
    "L2_CACHE_SIZE": 50 << 20,
    "WARP_SIZE": 32,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 << 10,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 << 10,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
}


class Function:
    """A kernel: its name, its parameters as (type, name), and the type of elements."""

    def __init__(self, source: str, options: tuple[str, ...], name: str) -> None:
        self.name = name
        if "-DSPLIT" not in options:
            source = re.sub(r"#ifdef SPLIT\n.*?#endif", "", source, flags=re.S)
        source = source.replace("#ifdef SPLIT\n", "").replace("#endif\n", "")
        found = re.search(r"__global__[^{]*?\b" + name + r"\(([^)]*)\)\s*\{", source)
        assert found, f"the source has no kernel {name}"
        self.parameters = []
        for p in found[1].split(","):
            text = " ".join(p.split()).replace("*", "* ")
            typ, parameter = text.rsplit(" ", 1)
            self.parameters.append((typ, parameter))
        elements = [o.removeprefix("-DELEMENT=") for o in options if o.startswith("-DELEMENT=")]
        double = elements == ["double"] or any("double" in typ for typ, _ in self.parameters)
        self.element: Any = np.float64 if double else np.float32
        self.shared = 48 << 10

    def read(self, kernel_parameters: int) -> dict[str, Any]:
        """The arguments by the names of the parameters."""
        pointers = (ctypes.c_void_p * len(self.parameters)).from_address(kernel_parameters)
        out: dict[str, Any] = {}
        for pointer, (typ, name) in zip(pointers, self.parameters, strict=True):
            assert pointer is not None
            if "*" in typ or typ == "long long":
                kind: Any = ctypes.c_int64
            else:
                kind = {"int": ctypes.c_int32, "float": ctypes.c_float, "double": ctypes.c_double}[typ]
            out[name] = kind.from_address(pointer).value
        return out

    def matrix(self, address: int, rows: int, cols: int, ld: int) -> Any:
        """The matrix at an address."""
        size = np.dtype(self.element).itemsize
        assert address % size == 0
        count = (rows - 1) * ld + cols if rows and cols else 0
        memory = np.ctypeslib.as_array((ctypes.c_byte * (count * size)).from_address(address)).view(self.element)
        return np.lib.stride_tricks.as_strided(memory, (rows, cols), (ld * size, size))

    def run(self, x: dict[str, Any], parts: int) -> None:
        """Computes what the kernel does."""
        getattr(self, "run_" + self.name)(SimpleNamespace(**x), parts)

    def run_transpose(self, x: Any, _: int) -> None:
        self.matrix(x.T, x.cols, x.rows, x.ldt)[:] = self.matrix(x.A, x.rows, x.cols, x.lda).T

    def run_align(self, x: Any, _: int) -> None:
        self.matrix(x.T, x.rows, x.cols, x.ldt)[:] = self.matrix(x.A, x.rows, x.cols, x.lda)

    def run_pack_a(self, x: Any, _: int) -> None:
        self.matrix(x.P, x.m, x.k, x.k)[:] = self.matrix(x.A, x.m, x.k, x.lda)

    def run_pack_b(self, x: Any, _: int) -> None:
        self.matrix(x.P, x.k, x.n, x.n)[:] = self.matrix(x.B, x.k, x.n, x.ldb)

    def run_gemm(self, x: Any, parts: int) -> None:
        if hasattr(x, "PA"):
            x.A, x.lda, x.B, x.ldb = x.PA, x.k, x.PB, x.n
        a, b = self.matrix(x.A, x.m, x.k, x.lda), self.matrix(x.B, x.k, x.n, x.ldb)
        if not hasattr(x, "partial"):
            assert parts == 1 and x.beta == 0
            self.matrix(x.C, x.m, x.n, x.ldc)[:] = x.alpha * (a.astype(float) @ b.astype(float))
            return
        size = x.m * x.n * np.dtype(self.element).itemsize
        for z in range(parts):
            ks = slice(z * x.depth, (z + 1) * x.depth)
            self.matrix(x.partial + z * size, x.m, x.n, x.n)[:] = a[:, ks].astype(float) @ b[ks].astype(float)

    def run_reduce(self, x: Any, _: int) -> None:
        size = x.m * x.n * np.dtype(self.element).itemsize
        parts = [self.matrix(x.partial + z * size, x.m, x.n, x.n).astype(float) for z in range(x.splits)]
        self.matrix(x.C, x.m, x.n, x.ldc)[:] = x.alpha * sum(parts)


class Driver:
    """The calls of cuda.bindings.driver that the package makes."""

    CUresult = Status

    class CUdevice_attribute:
        """Attributes are their own names."""

    class CUfunction_attribute:
        """Attributes are their own names."""

        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = "shared"
        CU_FUNC_ATTRIBUTE_NUM_REGS = "registers"

    for name in _ATTRIBUTES:
        setattr(CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}", name)

    def __init__(self) -> None:
        self.contexts: list[str] = []
        self.modules: list[Any] = []
        self.launched: list[str] = []

    def cuInit(self, _: int) -> Any:
        return (Status.CUDA_SUCCESS,)

    def cuDeviceGet(self, index: int) -> Any:
        return Status.CUDA_SUCCESS, index

    def cuDeviceGetName(self, _length: int, _device: int) -> Any:
        return Status.CUDA_SUCCESS, b"Fake H100\0\0"

    def cuDeviceGetAttribute(self, name: str, _: int) -> Any:
        return Status.CUDA_SUCCESS, _ATTRIBUTES[name]

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return Status.CUDA_SUCCESS, f"primary context of {device}"

    def cuCtxPushCurrent(self, context: str) -> Any:
        self.contexts.append(context)
        return (Status.CUDA_SUCCESS,)

    def cuCtxPopCurrent(self) -> Any:
        return Status.CUDA_SUCCESS, self.contexts.pop()

    def cuModuleLoadData(self, code: Any) -> Any:
        assert self.contexts
        self.modules.append(code)
        return Status.CUDA_SUCCESS, code

    def cuModuleGetFunction(self, code: Any, name: bytes) -> Any:
        return Status.CUDA_SUCCESS, Function(*code, name.decode())

    def cuFuncSetAttribute(self, function: Function, attribute: str, value: int) -> Any:
        assert attribute == "shared"
        function.shared = value
        return (Status.CUDA_SUCCESS,)

    def cuFuncGetAttribute(self, attribute: str, _: Function) -> Any:
        assert attribute == "registers"
        return Status.CUDA_SUCCESS, 128

    def cuLaunchKernel(self, function: Function, *rest: Any) -> Any:
        gx, gy, gz, bx, by, bz, shared, stream, parameters, extra = rest
        assert self.contexts and gx >= 1 and gy == by == bz == 1 and 32 <= bx <= 1024, rest
        assert shared <= function.shared and stream == 7 and extra == 0, rest
        self.launched.append(function.name)
        function.run(function.read(parameters), gz)
        return (Status.CUDA_SUCCESS,)


def compile_program(program: dict[str, Any]) -> Any:
    """Stands in for NVRTC: the machine code is the source and the options."""
    assert "--gpu-architecture=sm_90" in program["options"]
    return program["source"], tuple(program["options"])
