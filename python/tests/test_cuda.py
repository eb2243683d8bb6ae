"""Products of CUDA tensors. They need a GPU, PyTorch and cuda-bindings."""

import threading
import unittest
from typing import Any

import numpy as np

import gemm_suite
from gemm_suite._device import missing
from gemm_suite._operand import NAMES
from gemm_suite.sgemm.measure import bound
from tests.checks import skip_or_fail, stored

if not missing():
    import torch


def assert_right(c: Any, a: Any, b: Any, compute: str, what: str) -> None:
    """Compares a product with PyTorch's in double precision."""
    m, n, k = a.shape[-2], b.shape[-1], a.shape[-1]
    exact, scale = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    most = (2 if compute == "f64" else 1) * bound(compute, (m, n, max(k, 1))) * scale
    if c.element_size() == 2:  # an element is rounded once
        most += torch.finfo(c.dtype).eps / 2 * (exact.abs() + most)
    wrong = ~((c - exact).abs() <= most)
    if bool(wrong.any()):
        at = tuple(int(x) for x in wrong.nonzero()[0])
        should = f"must be {exact[at]} within {most[at]}"
        raise AssertionError(f"{what}: {int(wrong.sum())} wrong, element {at} is {c[at]}, {should}")


def on_gpu(x: Any, dtype: Any = None) -> Any:
    """The view of an array as a view of a CUDA tensor with the same strides."""
    memory = x.base if x.base is not None else x
    size = x.itemsize
    offset = (x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // size
    tensor = torch.from_numpy(memory.reshape(-1)).to("cuda", dtype)
    return tensor.as_strided(x.shape, [s // size for s in x.strides], offset)


class CudaTensors(unittest.TestCase):
    """Products on a GPU."""

    def setUp(self) -> None:
        if reason := missing():
            skip_or_fail("cuda", reason)

    def test_every_variant(self) -> None:
        random = np.random.default_rng(8)
        for v in gemm_suite.variants():
            if v.device != "cuda":
                continue
            self.assertTrue(v.available, v.reason)
            for typ in v.types:
                dtype, half = getattr(torch, NAMES[typ]), typ in ("f16", "bf16")
                # In half precision, tensor cores sum as in TF32; there they round operands too.
                compute = "tf32" if half else next((c for c in ("tf32", "f16x3") if c in v.name), typ)
                for m, n, k in ((1, 1, 1), (65, 63, 70), (128, 256, 64), (40, 24, 4000), (511, 513, 515)):
                    a, b, out = (
                        on_gpu(stored(random, *s, "f32" if half else typ), dtype) for s in ((m, k), (k, n), (m, n))
                    )
                    what = f"{v.name} {typ} {m}x{n}x{k}, strides {a.stride()} {b.stride()} {out.stride()}"
                    assert_right(gemm_suite.matmul(a, b, variant=v.name), a, b, compute, what)
                    gemm_suite.matmul(a, b, out, v.name)
                    assert_right(out, a, b, compute, f"{what}, out")

    def test_accuracy(self) -> None:
        generator = torch.Generator("cuda").manual_seed(3)
        for dtype in (torch.float32, torch.float64):
            a, b = (torch.rand(512, 512, device="cuda", dtype=dtype, generator=generator) + 0.5 for _ in range(2))
            exact = a.double() @ b.double()
            for accuracy in (1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12):
                try:
                    c = gemm_suite.matmul(a, b, accuracy=accuracy)
                except gemm_suite.Unavailable:
                    self.assertTrue(dtype == torch.float32 and accuracy < 1e-4)
                    continue
                self.assertLessEqual(float(((c - exact).abs() / exact).max()), accuracy + 1e-13)
        a[0, 0] = 1e-30  # too small for a bound of f16x3
        gemm_suite.matmul(a.float(), b.float(), accuracy=1e-3)

    def test_stacks(self) -> None:
        a, b = torch.randn(2, 1, 65, 70, device="cuda"), torch.randn(3, 40, 70, device="cuda")
        assert_right(gemm_suite.matmul(a, b.mT), a, b.mT, "f32", "stacks")
        assert_right(gemm_suite.matmul(a, b[0].mT), a, b[0].mT, "f32", "one product")

    def test_around_out(self) -> None:
        random = np.random.default_rng(9)
        for typ in ("f32", "f64"):
            for m, n, k in ((127, 130, 64), (300, 255, 100), (64, 64, 9000)):
                a, b = (on_gpu(stored(random, *s, typ)) for s in ((m, k), (k, n)))
                whole = torch.full((m + 2, n + 6), 7.0, dtype=a.dtype, device="cuda")
                for first in (0, 1, 4):
                    whole.fill_(7)
                    out = whole[1:-1, first : first + n]
                    gemm_suite.matmul(a, b, out)
                    assert_right(out, a, b, typ, f"{typ} {m}x{n}x{k} from {first}")
                    out.fill_(7)
                    self.assertTrue(bool((whole == 7).all()), f"{typ} {m}x{n}x{k} from {first}: elements around out")

    def test_laid_out_anew(self) -> None:
        for variant, compute in (("cuda/tuned", "f32"), ("cuda/tuned-tf32-mma", "tf32")):
            a, b = (torch.randn(4095, 4095, device="cuda") for _ in range(2))
            for x, y in ((a, b), (a.T, b), (a, b.T)):
                assert_right(gemm_suite.matmul(x, y, variant=variant), x, y, compute, variant)

    def test_settings(self) -> None:
        a, b = torch.randn(512, 512, device="cuda"), torch.randn(512, 512, device="cuda")
        for stages in (2, 3):
            c = gemm_suite.matmul(a, b, variant="cuda/tuned-tf32-mma", params={"stages": stages})
            assert_right(c, a, b, "tf32", f"{stages} stages")
        with self.assertRaisesRegex(ValueError, "maxregs"):
            gemm_suite.matmul(a, b, variant="cuda/tuned", params={"maxregs": 16})

    def test_empty(self) -> None:
        c = gemm_suite.matmul(torch.ones(3, 0, device="cuda"), torch.ones(0, 4, device="cuda"))
        self.assertTrue(bool((c == 0).all()))
        self.assertEqual(
            gemm_suite.matmul(torch.ones(0, 3, device="cuda"), torch.ones(3, 4, device="cuda")).shape, (0, 4)
        )

    def test_current_stream(self) -> None:
        """The product waits for earlier work of the current stream, and later work for the product."""
        stream = torch.cuda.Stream()
        a, b = (torch.zeros(1024, 1024, device="cuda") for _ in range(2))
        gemm_suite.matmul(a, b)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            a.fill_(1)
            b.fill_(1)
            c = gemm_suite.matmul(a, b)
            done = c.clone()
        stream.synchronize()
        self.assertTrue(bool((done == 1024).all()))

    def test_new_threads(self) -> None:
        """A thread of Python has no context at first."""
        a, b = torch.randn(300, 200, device="cuda"), torch.randn(200, 100, device="cuda")
        torch.cuda.synchronize()
        found: list[Any] = []

        def work() -> None:
            try:
                for _ in range(20):
                    found.append(gemm_suite.matmul(a, b))
            except Exception as err:
                found.append(err)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        torch.cuda.synchronize()
        self.assertEqual(len(found), 160)
        for c in found:
            self.assertIsInstance(c, torch.Tensor, c)
            assert_right(c, a, b, "f32", "a new thread")

    def test_every_device(self) -> None:
        """Products on each GPU, while another one is PyTorch's current device."""
        for i in range(torch.cuda.device_count()):
            a, b = torch.randn(200, 300, device=f"cuda:{i}"), torch.randn(300, 63, device=f"cuda:{i}")
            c = gemm_suite.matmul(a, b.T.contiguous().T)
            self.assertEqual(c.device, a.device)
            self.assertEqual(torch.cuda.current_device(), 0)
            assert_right(c, a, b, "f32", f"cuda:{i}")
        if torch.cuda.device_count() > 1:
            with self.assertRaisesRegex(TypeError, "a is on cuda:0 and b on cuda:1"):
                gemm_suite.matmul(torch.ones(2, 2, device="cuda:0"), torch.ones(2, 2, device="cuda:1"))

    def test_bad_arguments(self) -> None:
        a = torch.ones(4, 4, device="cuda")
        for kind, words, arguments in (
            (TypeError, "a is on cuda:0 and b on cpu", {"b": a.cpu()}),
            (ValueError, "threads is 2", {"threads": 2}),
            (ValueError, "variants there begin with cuda/", {"variant": "serial/packed"}),
            (ValueError, '"cuda/none"', {"variant": "cuda/none"}),
            (ValueError, "out overlaps a", {"out": a}),
            (ValueError, "a has the strides", {"a": torch.ones(8, 8, device="cuda")[::2, ::2]}),
        ):
            with self.assertRaises(kind) as caught:
                gemm_suite.matmul(**({"a": a, "b": a.clone()} | arguments))
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
