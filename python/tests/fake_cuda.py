"""A driver and a compiler of CUDA that run nothing: they keep what each launch is given.

Which kernel a launch starts, and what its parameters are called, is read from the source. So a test can compare each
argument with what the parameter of that name must have. Products are computed by real GPUs only, in test_cuda.
"""

import ctypes
import enum
import re
from typing import Any, NamedTuple

from gemm_suite import _driver


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
        for macro in ("BATCH", "CUT", "GUARDED", "THREE"):
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
        places, numbers, maps = {}, {}, {}
        for pointer, (typ, name) in zip(pointers, self.parameters, strict=True):
            assert pointer is not None
            if "TensorMap" in typ:
                assert pointer % 64 == 0
                maps[name] = Map(*(ctypes.c_uint64 * len(Map._fields)).from_address(pointer))
            elif "*" in typ:
                places[name] = ctypes.c_int64.from_address(pointer).value
            else:
                numbers[name] = _TYPES[typ].from_address(pointer).value
        return Launch(self.name, places, numbers, maps)


_TYPES: dict[str, Any] = {
    "int": ctypes.c_int32,
    "long long": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


class Map(NamedTuple):
    """What a map was made of."""

    address: int
    type: int  # CU_TENSOR_MAP_DATA_TYPE_…
    cols: int
    rows: int
    bytes: int  # from one row to the next
    box_cols: int
    box_rows: int


def _encode(place: int, typ: int, rank: int, address: int, *rest: Any) -> int:
    """Stands in for cuTensorMapEncodeTiled: the map is a Map. It refuses what the driver refuses."""
    sizes, strides, box, steps, *how = rest
    words = [list((ctypes.c_uint64 * 2).from_address(sizes)), list((ctypes.c_uint64 * 1).from_address(strides))]
    words += [list((ctypes.c_uint32 * 2).from_address(x)) for x in (box, steps)]
    wide = {0: 1, 6: 2, 7: 4, 9: 2}[typ] * words[2][0]  # bytes of a row of the box
    aligned = place % 64 == 0 and address % 16 == 0 and words[1][0] % 16 == 0
    if rank != 2 or not aligned or wide != 128 or max(words[2]) > 256 or words[3] != [1, 1] or how != [0, 3, 3, 0]:
        return 1
    entries = (address, typ, *words[0], *words[1], *words[2])
    (ctypes.c_uint64 * len(entries)).from_address(place)[:] = entries
    return 0


class Launch(NamedTuple):
    """A launch: the kernel, and its arguments by the names of its parameters."""

    kernel: str
    places: dict[str, int]  # addresses
    numbers: dict[str, Any]
    maps: dict[str, Map]


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
        self.encode = _driver._ENCODE(_encode)

    def cuGetProcAddress(self, name: bytes, version: int, _flags: int) -> Any:
        assert name == b"cuTensorMapEncodeTiled" and version == 12000
        return Status.CUDA_SUCCESS, ctypes.cast(self.encode, ctypes.c_void_p).value, 0

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
    assert {"--gpu-architecture=sm_90", "--gpu-architecture=sm_90a"} & set(program["options"])
    return program["source"], tuple(program["options"])
