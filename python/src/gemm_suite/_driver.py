"""The calls of the CUDA driver and of NVRTC, by the package cuda-bindings."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from gemm_suite.errors import Unavailable


@lru_cache(maxsize=1)
def _modules() -> tuple[Any, Any]:
    """The modules of the driver and of NVRTC."""
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError as err:
        raise Unavailable(
            f"products of CUDA tensors need the package cuda-bindings ({err}): pip install cuda-bindings"
        ) from None
    return driver, nvrtc


def check(call: str, *arguments: Any) -> Any:
    """Calls a function of the driver and returns what it returns besides the status."""
    driver, _ = _modules()
    try:
        status, *results = getattr(driver, call)(*arguments)
    except RuntimeError as err:  # of cuda-bindings: it does not find the driver
        raise Unavailable(f"{call}: {err}") from None
    if status != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(status)
        raise RuntimeError(f"{call}: {text.decode() if text else status} ({status.name})")
    return results[0] if results else None


# What a recipe's description of a GPU is made from.
_ATTRIBUTES = {
    "multiprocessors": "MULTIPROCESSOR_COUNT",
    "clock_mhz": "CLOCK_RATE",
    "l2": "L2_CACHE_SIZE",
    "warp": "WARP_SIZE",
    "block_threads": "MAX_THREADS_PER_BLOCK",
    "block_shared": "MAX_SHARED_MEMORY_PER_BLOCK",
    "block_shared_opt_in": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "block_registers": "MAX_REGISTERS_PER_BLOCK",
}


class Gpu:
    """A GPU of this process in its primary context, which PyTorch computes in too."""

    def __init__(self, index: int) -> None:
        driver, _ = _modules()
        self.index = index
        check("cuInit", 0)
        device = check("cuDeviceGet", index)
        self.context = check("cuDevicePrimaryCtxRetain", device)
        self._modules: dict[tuple[str, tuple[str, ...]], Any] = {}  # by source and options
        self._functions: dict[tuple[Any, str], Any] = {}  # by those and the name

        def attribute(name: str) -> int:
            which = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(check("cuDeviceGetAttribute", which, device))

        self.description: dict[str, Any] = {key: attribute(name) for key, name in _ATTRIBUTES.items()}
        self.description["clock_mhz"] //= 1000
        major, minor = (attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        self.description["cc"] = f"{major}.{minor}"
        self.description["name"] = check("cuDeviceGetName", 256, device).rstrip(b"\0").decode()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Makes the context current on this thread. PyTorch must not be called meanwhile: it makes others
        current."""
        check("cuCtxPushCurrent", self.context)
        try:
            yield
        finally:
            check("cuCtxPopCurrent")

    def function(self, program: dict[str, Any], kernel: str, shared: int) -> Any:
        """The kernel of a program, compiled and loaded once. Its launches may request the shared memory. The
        context must be current."""
        driver, _ = _modules()
        key = (program["source"], tuple(program["options"]))
        if key not in self._modules:
            self._modules[key] = check("cuModuleLoadData", compile_program(program))
        if (key, kernel) not in self._functions:
            self._functions[key, kernel] = check("cuModuleGetFunction", self._modules[key], kernel.encode())
        function = self._functions[key, kernel]
        if shared > 48 << 10:
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check("cuFuncSetAttribute", function, limit, shared)
        return function


def registers(function: Any) -> int:
    """The registers of a thread of the kernel."""
    driver, _ = _modules()
    return int(check("cuFuncGetAttribute", driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, function))


@lru_cache(maxsize=256)
def _compiled(name: str, source: str, options: tuple[str, ...]) -> bytes:
    """The machine code of a program."""
    _, nvrtc = _modules()

    def call(function: str, *arguments: Any) -> Any:
        status, *results = getattr(nvrtc, function)(*arguments)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"{function}: {status.name}")
        return results[0] if results else None

    program = call("nvrtcCreateProgram", source.encode(), name.encode(), 0, [], [])
    try:
        try:
            call("nvrtcCompileProgram", program, len(options), [o.encode() for o in options])
        except RuntimeError as err:
            log = b" " * int(call("nvrtcGetProgramLogSize", program))
            call("nvrtcGetProgramLog", program, log)
            first = log.rstrip(b"\0 ").decode(errors="replace").strip().split("\n")[0]
            raise Unavailable(f"NVRTC does not compile {name}: {first or err}") from None
        code = b" " * int(call("nvrtcGetCUBINSize", program))
        call("nvrtcGetCUBIN", program, code)
        return code
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def compile_program(program: dict[str, Any]) -> bytes:
    """The machine code of a program of a recipe."""
    return _compiled(program["name"], program["source"], tuple(program["options"]))


class Launch:
    """A launch with room for its arguments. The addresses of buffers are filled in at each launch."""

    def __init__(self, recipe: dict[str, Any], function: Any) -> None:
        arguments = recipe["arguments"]
        self._function = function
        self._grid_block = (*recipe["grid"], *recipe["block"], recipe["shared"])
        self._values = (ctypes.c_uint64 * len(arguments))(*(x["bits"] for x in arguments))
        self._slots = [(i, x["buffer"], x["bits"]) for i, x in enumerate(arguments) if x.get("buffer")]
        first = ctypes.addressof(self._values)
        self._pointers = (ctypes.c_void_p * len(arguments))(*(first + 8 * i for i in range(len(arguments))))
        self._kernel_arguments = ctypes.addressof(self._pointers)
        self._call = _modules()[0].cuLaunchKernel

    def start(self, stream: int, buffers: dict[str, int]) -> None:
        """Starts the kernel. The driver copies the arguments before it returns."""
        for i, buffer, offset in self._slots:
            self._values[i] = buffers[buffer] + offset
        (status,) = self._call(self._function, *self._grid_block, stream, self._kernel_arguments, 0)
        if status != 0:
            raise RuntimeError(f"cuLaunchKernel: {status.name}")
