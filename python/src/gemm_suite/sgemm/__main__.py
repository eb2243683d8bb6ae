"""The command python -m gemm_suite.sgemm."""

import argparse
import hashlib
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

import gemm_suite
from gemm_suite import _library
from gemm_suite._device import missing
from gemm_suite.sgemm.measure import Operands, Result, Shape, measure
from gemm_suite.sgemm.rows import ON_GPU, ON_PROCESSORS

SHAPES = [(m, n, k) for m in (2048, 4096) for n in (2048, 4096) for k in (512, 1024)]
_MOST_EDGE = 1 << 16


def shape(text: str) -> Shape:
    """A shape as MxNxK, or a number for a cube."""
    parts = text.split("x")
    if len(parts) == 1:
        parts *= 3
    if len(parts) != 3 or not all(p.isdecimal() and 1 <= int(p) <= _MOST_EDGE for p in parts):
        raise argparse.ArgumentTypeError(f"{text!r} must be such as 512 or 2048x4096x512, from 1 to {_MOST_EDGE} each")
    m, n, k = map(int, parts)
    return m, n, k


def shapes(text: str) -> list[Shape]:
    """Shapes with commas between them."""
    return [shape(s) for s in text.split(",")]


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        fail(2, message)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = Parser(
        prog="python -m gemm_suite.sgemm",
        description="Prints a table of products in single precision: one kernel after the other, NVIDIA's library and "
        "PyTorch, on the GPU if there is one. Each row has the first values of the result, the median time of a "
        "product, and whether every element is right.",
    )
    eight = "default: the eight of the table, 2048x2048x512 to 4096x4096x1024"
    parser.add_argument("--shapes", type=shapes, default=SHAPES, metavar="MxNxK,...", help=eight)
    devices = ["auto", "cuda", "cpu"]
    parser.add_argument("--device", choices=devices, default="auto", help="default: auto, cuda if there is a GPU")
    parser.add_argument("--json", metavar="FILE", help="also write the rows to this file, as gemm compare does")
    return parser.parse_args(arguments)


def fail(status: int, message: str) -> NoReturn:
    """Ends the program with one line."""
    print(f"sgemm: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(status)


def host(on_gpu: bool) -> str:
    """What computes the table."""
    ours = f"gemm-suite {gemm_suite.__version__}"
    if on_gpu:
        import torch

        return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {ours}"
    return f"{platform.machine()}, {os.cpu_count()} processors, {ours}"


def line(r: Result) -> str:
    """A row of the table."""
    by = " ".join([r.by, *(f"{name}={value}" for name, value in r.params.items())])
    left = f"  {r.label:<20} {by:<26}"
    if r.status == "unavailable":
        return f"{left} {r.reason}"
    values = ", ".join(f"{v:13.8f}" for v in r.first)
    took = f"{1e3 * statistics.median(r.seconds):12.6f} ms" if r.seconds else ""
    return f"{left} [{values}] {took}  {r.status}{': ' if r.reason else ''}{r.reason}"


def run(options: argparse.Namespace) -> int:
    """Prints the table and returns the status."""
    reason = missing()
    on_gpu = options.device == "cuda" or (options.device == "auto" and not reason)
    if on_gpu and reason:
        raise gemm_suite.Unavailable(f"--device cuda: {reason}")
    if options.json and not os.access(folder_of(options.json), os.W_OK):
        raise OSError(f"--json {options.json}: the folder is missing or read-only")
    print(host(on_gpu), flush=True)
    document = empty(on_gpu)
    wrong = 0
    for m, n, k in options.shapes:
        print(f"\nM={m}, N={n}, K={k}", flush=True)
        x = Operands((m, n, k), on_gpu)
        results = []
        for row in ON_GPU if on_gpu else ON_PROCESSORS:
            results.append(measure(row, x))
            print(line(results[-1]), flush=True)
        wrong += sum(r.status == "wrong" for r in results)
        document["measurements"] += [measurement(document, x.shape, r) for r in results]
        if options.json:
            write(options.json, document)
    if wrong:
        fail(1, f"wrong rows: {wrong}")
    return 0


def empty(on_gpu: bool) -> dict[str, Any]:
    """A document of records, as docs/records.md describes it, without measurements."""
    try:
        cpu = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        cpu = []
    about: dict[str, Any] = {"cpu": cpu[0] if cpu else platform.machine(), "cores": os.cpu_count()}
    about["os"] = f"{platform.system()} {platform.release()}"
    libraries = {"gemm-suite": gemm_suite.__version__}
    if on_gpu:
        import torch

        about |= {"gpus": [torch.cuda.get_device_name()], "cuda": torch.version.cuda}
        libraries["torch"] = torch.__version__
    about["id"] = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:8]
    revision = re.search(r"-([0-9a-f]{12})\b", _library.library().gemm_version().decode())
    started = {
        "id": "sgemm",
        "host": about["id"],
        "command": " ".join(["python -m gemm_suite.sgemm", *sys.argv[1:]]),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "git": revision[1] if revision else "unknown",
        "libraries": libraries,
    }
    return {"schema": 2, "hosts": [about], "runs": [started], "records": [], "measurements": []}


def measurement(document: dict[str, Any], shape: Shape, r: Result) -> dict[str, Any]:
    """A row as a measurement of the document."""
    m, n, k = shape
    params = {"label": r.label, "by": r.by, "m": m, "n": n, "k": k, **r.params}
    reason = {"reason": f"{r.status}: {r.reason}"} if r.reason else {}
    of = {"host": document["hosts"][0]["id"], "run": document["runs"][0]["id"], "name": "sgemm"}
    return {**of, "params": params, "unit": "s", "samples": r.seconds, **reason}


def folder_of(path: str) -> str:
    """The folder of a file."""
    return os.path.dirname(os.path.abspath(path))


def write(path: str, document: Any) -> None:
    """Writes the file whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=folder_of(path), prefix=".sgemm-", delete=False) as file:
        try:
            json.dump(document, file, indent=1)
            file.write("\n")
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its status."""
    try:
        return run(parse(arguments))
    except KeyboardInterrupt:
        fail(130, "interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, RuntimeError, ValueError, TypeError, MemoryError) as err:
        fail(1, str(err) or type(err).__name__)


if __name__ == "__main__":
    sys.exit(main())
