"""Multiplies matrices with NumPy or PyTorch, or in Python alone.

python3 -c PROGRAM LIBRARY [NUMBER] begins with the name of the library: numpy, torch, cuda or python. The number
is that of threads for torch, and of the GPU for cuda. Requests on standard input and answers, "ok" or "error", on
standard output are frames, as internal/ipc has them; here without the number of bytes. Matrices are their rows
without what lies between them.

    describe                    -> JSON: version, kernel, python, threads, and the seconds of a call
    stage f32|f64|tf32|f16|bf16 SETS M N K PADA PADB PADC, then A and B
    run N                       -> the seconds that N products took
    collect                     -> C
    drop                        lets go of A, B and C

A PAD is what the distance of two rows exceeds their length by. Every product uses the next one of SETS
copies of the operands. The clock runs while products are computed and at no other time.
"""

import sys

sys.path[:] = [folder for folder in sys.path if folder]  # without the current folder, which -c adds

import array
import ctypes
import fcntl
import gc
import json
import os
import platform
import re
import time

SHORTEST = 20e-3  # seconds: a shorter product is computed before the clock starts, for AWAKE at least
AWAKE = 100e-6


def mapped(*parts):
    """Returns the libraries of this process whose names have one of the parts."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        files = {line.split(None, 5)[-1].strip() for line in maps if ".so" in line}
    return sorted(file for file in files if any(part in os.path.basename(file) for part in parts))


def openblas():
    """Returns the kernel and the number of threads of the OpenBLAS of this process, or None."""
    for file in mapped("openblas"):
        library = ctypes.CDLL(file)
        for name in ("%s", "%s64_", "scipy_%s", "scipy_%s64_"):
            core = getattr(library, name % "openblas_get_corename", None)
            if core:
                core.restype = ctypes.c_char_p
                forced = os.environ.get("OPENBLAS_CORETYPE")
                kernel = core().decode() + (" (OPENBLAS_CORETYPE=%s)" % forced if forced else "")
                return kernel, library[name % "openblas_get_num_threads"]()
    return None


class NumPy:
    """Products of NumPy arrays. Its BLAS takes the number of threads from the environment."""

    def __init__(self, number):
        import numpy

        self.numpy, self.multiply = numpy, numpy.matmul
        self.threads = number

    def describe(self):
        try:
            blas = self.numpy.__config__.show(mode="dicts")["Build Dependencies"]["blas"]
            kernel = "%s %s" % (blas["name"], blas["version"])
        except (KeyError, TypeError):  # before NumPy 1.26
            kernel = " ".join(map(os.path.basename, mapped("blas", "mkl_rt"))) or "no BLAS"
        found = openblas()
        if found:
            kernel, self.threads = "%s %s" % (kernel, found[0]), found[1]
        return {"version": self.numpy.__version__, "kernel": kernel}

    def matrices(self, kind, count, rows, columns, pad):
        return self.numpy.zeros((count, rows, columns + pad), {"f32": "f4", "f64": "f8"}[kind])[:, :, :columns]

    def put(self, matrices, data):
        matrices[...] = self.numpy.frombuffer(data, matrices.dtype).reshape(matrices.shape[1:])

    def get(self, matrix):
        return matrix.tobytes()

    def poison(self, matrix):
        matrix.fill(float("nan"))

    def prefer(self, kind):
        pass

    def seconds(self, operands):
        multiply, start = self.multiply, time.perf_counter_ns()
        for a, b, c in operands:
            multiply(a, b, out=c)
        return 1e-9 * (time.perf_counter_ns() - start)

    def free(self):
        pass


def textbook(a, b, out):
    """The definition of the product, on matrices that are lists of rows."""
    for i in range(len(out)):
        for j in range(len(out[i])):
            total = 0.0
            for k in range(len(b)):
                total += a[i][k] * b[k][j]
            out[i][j] = total


class Python:
    """Products of lists of lists. Python's numbers are f64."""

    multiply, threads = staticmethod(textbook), 1

    def __init__(self, number):
        pass

    def describe(self):
        return {"version": platform.python_version(), "kernel": platform.python_implementation()}

    def matrices(self, kind, count, rows, columns, pad):
        return [[[0.0] * columns for _ in range(rows)] for _ in range(count)]

    def put(self, matrices, data):
        for matrix in matrices:
            values = array.array("d", bytes(data))
            for i, row in enumerate(matrix):
                row[:] = values[i * len(row) : (i + 1) * len(row)]

    def get(self, matrix):
        return b"".join(array.array("d", row).tobytes() for row in matrix)

    def poison(self, matrix):
        for row in matrix:
            row[:] = [float("nan")] * len(row)

    def prefer(self, kind):
        pass

    seconds = NumPy.seconds

    def free(self):
        pass


class Torch:
    """Products of PyTorch's tensors in the host's memory."""

    device = "cpu"

    def __init__(self, number):
        import torch

        self.torch, self.multiply = torch, torch.matmul
        torch.set_grad_enabled(False)
        self.begin(number)

    def begin(self, number):
        self.torch.set_num_threads(number)
        self.threads = self.torch.get_num_threads()

    def describe(self):
        text = self.torch.__config__.show()
        mkl = re.search(r"Math Kernel Library Version ([0-9.]+)", text)
        capability = re.search(r"CPU capability usage: (\S+)", text)
        kernel = ["MKL " + mkl[1]] if mkl else []
        return {"version": self.torch.__version__, "kernel": " ".join(kernel + [capability[1]] if capability else kernel)}

    def matrices(self, kind, count, rows, columns, pad):
        dtypes = {"f64": "float64", "f16": "float16", "bf16": "bfloat16"}
        dtype = getattr(self.torch, dtypes.get(kind, "float32"))
        return self.torch.zeros((count, rows, columns + pad), dtype=dtype, device=self.device)[:, :, :columns]

    def put(self, matrices, data):
        matrices.copy_(self.torch.frombuffer(data, dtype=matrices.dtype).reshape(matrices.shape[1:]))

    def get(self, matrix):
        matrix = matrix.cpu().contiguous()
        return ctypes.string_at(matrix.data_ptr(), matrix.numel() * matrix.element_size())

    def poison(self, matrix):
        matrix.fill_(float("nan"))

    def prefer(self, kind):
        pass

    seconds = NumPy.seconds

    def free(self):
        pass


class CUDA(Torch):
    """Products of PyTorch's tensors on a GPU."""

    def begin(self, number):
        cuda = self.torch.cuda
        if not cuda.is_available():
            raise RuntimeError("PyTorch %s finds no GPU" % self.torch.__version__)
        cuda.set_device(number)
        self.device, self.threads = "cuda:%d" % number, 1
        self.first, self.last = (cuda.Event(enable_timing=True) for _ in range(2))

    def describe(self):
        cuda = self.torch.version.cuda
        return {"version": self.torch.__version__, "kernel": "CUDA %s" % cuda if cuda else ""}

    def prefer(self, kind):
        matmul = self.torch.backends.cuda.matmul
        matmul.allow_fp16_reduced_precision_reduction = False  # sums stay in f32
        matmul.allow_bf16_reduced_precision_reduction = False
        if hasattr(matmul, "fp32_precision"):
            matmul.fp32_precision = "tf32" if kind == "tf32" else "ieee"
        else:
            matmul.allow_tf32 = kind == "tf32"

    def seconds(self, operands):
        multiply = self.multiply
        self.first.record()
        for a, b, c in operands:
            multiply(a, b, out=c)
        self.last.record()
        self.last.synchronize()
        return 1e-3 * self.first.elapsed_time(self.last)

    def free(self):
        self.torch.cuda.empty_cache()


class Product:
    """A product that is staged: copies of its operands, of which each is used in its turn."""

    def __init__(self, library, requests, kind, sets, m, n, k, *pads):
        size = {"f64": 8, "f16": 2, "bf16": 2}.get(kind, 4)
        try:
            data = [bytearray(requests.read(size * rows * columns)) for rows, columns in ((m, k), (k, n))]
        except MemoryError:  # what follows the line cannot be skipped
            sys.exit("no memory for the operands")
        if [len(x) for x in data] != [size * m * k, size * k * n]:
            sys.exit("an end within the operands")
        library.prefer(kind)
        self.library, self.next, self.estimate = library, 0, 1.0
        operands = [library.matrices(kind, sets, *x) for x in zip((m, k, m), (k, n, n), pads)]
        for matrices, content in zip(operands, data):
            library.put(matrices, content)
        self.sets = list(zip(*operands))
        self.c = self.sets[0][2]

    def seconds(self, times):
        count = len(self.sets)
        operands = [self.sets[(self.next + i) % count] for i in range(min(times, count))]
        self.next = (self.next + times) % count
        if times > count:
            whole, rest = divmod(times, count)
            operands = operands * whole + operands[:rest]
        self.c = operands[-1][2]
        return self.library.seconds(operands)

    def run(self, times):
        start = time.perf_counter()
        while self.estimate < SHORTEST:
            self.seconds(1)
            if time.perf_counter() - start > AWAKE:
                break
        self.library.poison(self.sets[(self.next + times - 1) % len(self.sets)][2])
        took = self.seconds(times)
        self.estimate = took / times
        return took


def of_a_call(library):
    """Returns the least seconds that a product of 1x1 matrices takes."""
    operands = [library.matrices("f64", 1, 1, 1, 0)[0] for _ in range(3)]
    return min(library.seconds([operands] * 100) for _ in range(5)) / 100


def answer(library, product, request, arguments, requests):
    """Returns the product that is staged after a request, and the text and the bytes of the answer."""
    text, content = "", b""
    if request == "stage":
        product = None
        library.free()
        product = Product(library, requests, arguments[0], *map(int, arguments[1:]))
    elif request == "describe":
        told = library.describe()
        told.update(python=platform.python_version(), threads=library.threads, call=of_a_call(library))
        text = json.dumps(told)
    elif request == "drop":
        product = None
        library.free()
    elif not product:
        raise RuntimeError("nothing is staged")
    elif request == "run":
        text = "%.9g" % product.run(int(arguments[0]))
    elif request == "collect":
        content = product.library.get(product.c)
    else:
        raise RuntimeError("no such request: %s" % request)
    return product, text, content


def reason(error):
    """Returns an error as one line."""
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0]) if lines else type(error).__name__


def main():
    requests = os.fdopen(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100), "rb")
    answers = os.fdopen(fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints
    gc.disable()
    try:
        library = {"numpy": NumPy, "torch": Torch, "cuda": CUDA, "python": Python}[sys.argv[1]](int(sys.argv[2]))
    except Exception as error:
        sys.exit(reason(error))
    product = None
    while line := requests.readline():
        request, _, *arguments = line.decode().split()
        try:
            word, (product, text, content) = "ok", answer(library, product, request, arguments, requests)
        except Exception as error:
            word, text, content = "error", reason(error), b""
        answers.write(b"%s %d %s\n" % (word.encode(), len(content), text.encode()))
        answers.write(content)
        answers.flush()


main()
