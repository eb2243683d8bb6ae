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


# cuTensorMapEncodeTiled: the map, the type of the elements, the rank, the address, the sizes, the strides, the box, the
# steps, interleaving, swizzle, promotion in L2, and what lies outside.
_ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *(ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, *(ctypes.c_void_p,) * 4, *(ctypes.c_int,) * 4),
)


def _encoder() -> Any:
    """The driver's function that describes a matrix to the copy engine. That of cuda-bindings needs an object at a
    multiple of 64 bytes, where it puts none."""
    name = "cuTensorMapEncodeTiled"
    try:
        address = check("cuGetProcAddress", name.encode(), 12000, 0)
    except RuntimeError:
        address = None
    if not address:
        raise Unavailable(f"the driver has no {name}: install one for CUDA 12 or newer")
    return _ENCODE(int(address))


# CU_TENSOR_MAP_DATA_TYPE_… with the bytes of an element, …_SWIZZLE_128B and …_L2_PROMOTION_L2_256B.
_MAP_TYPES = {"int8": (0, 1), "f16": (6, 2), "f32": (7, 4), "bf16": (9, 2)}
_SWIZZLE_128B, _PROMOTION_L2_256B = 3, 3


class TensorMap:
    """A matrix as the copy engine (TMA) is told of it: 128 bytes at a multiple of 64, which the driver writes."""

    def __init__(self, matrix: dict[str, Any]) -> None:
        self._encode = _encoder()
        self._room = ctypes.create_string_buffer(128 + 64)
        self.place = (ctypes.addressof(self._room) + 63) // 64 * 64
        self._type, size = _MAP_TYPES[matrix["type"]]
        self._sizes = (ctypes.c_uint64 * 2)(matrix["cols"], matrix["rows"])
        self._strides = (ctypes.c_uint64 * 1)(matrix["ld"] * size)
        self._box = (ctypes.c_uint32 * 2)(matrix["box_cols"], matrix["box_rows"])
        self._steps = (ctypes.c_uint32 * 2)(1, 1)
        self._address = 0

    def move(self, address: int) -> None:
        """Says where the matrix is now."""
        if address == self._address:
            return
        shape = (self._sizes, self._strides, self._box, self._steps)
        how = (0, _SWIZZLE_128B, _PROMOTION_L2_256B, 0)
        status = self._encode(self.place, self._type, 2, address, *shape, *how)
        if status != 0:
            raise RuntimeError(f"cuTensorMapEncodeTiled: status {status} for a matrix at {address:#x}")
        self._address = address


class Launch:
    """A launch with room for its arguments. The addresses of buffers are filled in at each launch."""

    def __init__(self, recipe: dict[str, Any], function: Any) -> None:
        arguments = recipe["arguments"]
        self._function = function
        self._grid_block = (*recipe["grid"], *recipe["block"], recipe["shared"])
        self._values = (ctypes.c_uint64 * len(arguments))(*(x["bits"] for x in arguments))
        maps = {i: TensorMap(x["map"]) for i, x in enumerate(arguments) if x.get("map")}
        self._maps = [(m, arguments[i]["buffer"], arguments[i]["bits"]) for i, m in maps.items()]
        self._slots = [
            (i, x["buffer"], x["bits"]) for i, x in enumerate(arguments) if x.get("buffer") and i not in maps
        ]
        first = ctypes.addressof(self._values)
        places = [maps[i].place if i in maps else first + 8 * i for i in range(len(arguments))]
        self._pointers = (ctypes.c_void_p * len(arguments))(*places)
        self._kernel_arguments = ctypes.addressof(self._pointers)
        self._call = _modules()[0].cuLaunchKernel

    def start(self, stream: int, buffers: dict[str, int]) -> None:
        """Starts the kernel. The driver copies the arguments before it returns."""
        for i, buffer, offset in self._slots:
            self._values[i] = buffers[buffer] + offset
        for matrix, buffer, offset in self._maps:
            matrix.move(buffers[buffer] + offset)
        (status,) = self._call(self._function, *self._grid_block, stream, self._kernel_arguments, 0)
        if status != 0:
            raise RuntimeError(f"cuLaunchKernel: {status.name}")
