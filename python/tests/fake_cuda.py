"""A driver and a compiler of CUDA that run nothing: they keep what each launch is given.

Which kernel a launch starts, and what its parameters are called, is read from the source. So a test can compare each
argument with what the parameter of that name must have. Products are computed by real GPUs only, in test_cuda.
"""

import ctypes
import enum
import re
from typing import Any, NamedTuple


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
    """A kernel: its name, and its parameters as (type, name)."""

    def __init__(self, source: str, options: tuple[str, ...], name: str) -> None:
        self.name = name
        for macro in ("CUT", "GUARDED"):
            if f"-D{macro}" not in options:
                source = re.sub(rf"#ifdef {macro}\n.*?#endif", "", source, flags=re.S)
            source = source.replace(f"#ifdef {macro}\n", "")
        source = source.replace("#endif\n", "")
        found = re.search(r"__global__[^{]*?\b" + name + r"\(([^)]*)\)\s*\{", source)
        assert found, f"the source has no kernel {name}"
        self.parameters = []
        for p in found[1].split(","):
            text = " ".join(p.split()).replace("*", "* ")
            typ, parameter = text.rsplit(" ", 1)
            self.parameters.append((typ, parameter))
        self.shared = 48 << 10

    def launch(self, kernel_parameters: int) -> "Launch":
        """A launch with the arguments that the driver would copy."""
        pointers = (ctypes.c_void_p * len(self.parameters)).from_address(kernel_parameters)
        places, numbers = {}, {}
        for pointer, (typ, name) in zip(pointers, self.parameters, strict=True):
            assert pointer is not None
            if "*" in typ:
                places[name] = ctypes.c_int64.from_address(pointer).value
            else:
                numbers[name] = _TYPES[typ].from_address(pointer).value
        return Launch(self.name, places, numbers)


_TYPES: dict[str, Any] = {
    "int": ctypes.c_int32,
    "long long": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


class Launch(NamedTuple):
    """A launch: the kernel, and its arguments by the names of its parameters."""

    kernel: str
    places: dict[str, int]  # addresses
    numbers: dict[str, Any]


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
        self.launches: list[Launch] = []

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
        assert self.contexts and gx >= 1 and gz >= 1 and gy == by == bz == 1 and 32 <= bx <= 1024, rest
        assert shared <= function.shared and stream == 7 and extra == 0, rest
        self.launches.append(function.launch(parameters))
        return (Status.CUDA_SUCCESS,)


def compile_program(program: dict[str, Any]) -> Any:
    """Stands in for NVRTC: the machine code is the source and the options."""
    assert "--gpu-architecture=sm_90" in program["options"]
    return program["source"], tuple(program["options"])
