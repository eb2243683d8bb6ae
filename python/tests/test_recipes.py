"""Launches of kernels, by a driver that computes on the processor."""

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import gemm_suite
from gemm_suite import _device, _driver
from gemm_suite._operand import operand
from tests.checks import assert_product, skip_or_fail, stored
from tests.fake_cuda import Driver, compile_program


class Recipes(unittest.TestCase):
    """Products of every variant for GPUs, whose launches compute on the processor."""

    def setUp(self) -> None:
        self.driver = Driver()
        for place, value in (("_modules", lambda: (self.driver, None)), ("compile_program", compile_program)):
            patch = mock.patch.object(_driver, place, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.dict(_device._products, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        self.gpu = _driver.Gpu(0)

    def product(self, a: Any, b: Any, out: Any, variant: str | None, params: Any = None) -> _device.Product:
        """Computes out = a·b as a CUDA tensor's product would be."""
        product = _device.prepare(self.gpu, operand("a", a), operand("b", b), operand("out", out), variant, params)
        work = np.full(product.work + 256, 0xFF, np.uint8)  # NaN
        begin = -work.ctypes.data % 256
        for first, last in product.zeros:
            work[begin + first : begin + last] = 0
        places = {name: x.ctypes.data for name, x in (("a", a), ("b", b), ("c", out))}
        with self.gpu.current():
            product.start(7, places | {"work": work.ctypes.data + begin})
        self.assertEqual(self.driver.contexts, [])
        return product

    def test_every_variant(self) -> None:
        random = np.random.default_rng(5)
        kernels = set()
        variants = [v for v in gemm_suite.variants() if v.device == "cuda"]
        self.assertGreater(len(variants), 10)
        for v in variants:
            for typ in v.types:
                for m, n, k in ((65, 63, 70), (1, 1, 1), (128, 256, 64), (40, 24, 4000), (300, 301, 302)):
                    a, b = stored(random, m, k, typ), stored(random, k, n, typ)
                    out = np.full((m, n + 3), np.nan, a.dtype)[:, :n]
                    self.product(a, b, out, v.name)
                    assert_product(out, a, b, typ, f"{v.name} {typ} {m}x{n}x{k}, strides {a.strides} {b.strides}")
                    kernels.update(self.driver.launched)
        self.assertEqual(kernels, {"gemm", "transpose", "pack_a", "pack_b", "reduce"} | (kernels & {"align"}))

    def test_aligned_anew(self) -> None:
        """A large product of operands that begin anywhere: they are laid out anew, with zeros around."""
        random = np.random.default_rng(6)
        a, b = (random.standard_normal((1535, 1535), np.float32) for _ in range(2))
        out = np.empty((1535, 1535), np.float32)
        product = self.product(a, b, out, "cuda/tf32-wmma")
        assert_product(out, a, b, "f32", "aligned anew")
        self.assertIn("align", self.driver.launched)
        self.assertTrue(product.zeros)

    def test_memory_of_pytorch(self) -> None:
        """The call for tensors, whose work memory is PyTorch's, with out by rows and by columns."""
        try:
            import torch
        except ImportError:
            skip_or_fail("torch", "PyTorch is not installed")
        random = np.random.default_rng(7)
        stream = SimpleNamespace(cuda_stream=7)
        with (
            mock.patch.object(_device, "_gpu", lambda _: self.gpu),
            mock.patch.object(torch.cuda, "current_stream", lambda _: stream),
        ):
            for m, n, k, times in ((1535, 1535, 1535, 1), (33, 65, 4000, 4), (70, 50, 60, 8)):
                for _ in range(times):
                    a, b, c = (torch.from_numpy(stored(random, *s, "f32")) for s in ((m, k), (k, n), (m, n)))
                    x, y, z = operand("a", a), operand("b", b), operand("out", c)
                    _device.multiply(x, y, z, a, "cuda/tf32-wmma", None)
                    assert_product(c, a, b, "f32", f"{m}x{n}x{k}, strides {a.stride()} {b.stride()} {c.stride()}")

    def test_compiled_once(self) -> None:
        a = np.ones((64, 64), np.float32)
        for _ in range(3):
            out = np.empty((64, 64), np.float32)
            self.product(a, a, out, "cuda/naive")
            self.assertTrue((out == 64).all())
        self.product(a[:32], a, np.empty((32, 64), np.float32), "cuda/naive")
        self.assertEqual(len(self.driver.modules), 1)

    def test_settings(self) -> None:
        a = np.ones((64, 64), np.float32)
        out = np.empty((64, 64), np.float32)
        product = self.product(a, a, out, "cuda/tf32-wmma", {"stages": 2, "split": 2})
        self.assertIn("-DSTAGES=2", product.options)
        self.assertEqual(self.driver.launched, ["gemm", "reduce"])
        for variant, params, words in (
            ("cuda/naive", {"stages": 2}, "has no stages"),
            ("cuda/none", None, "cuda/naive"),
            ("cuda/dmma", None, "for f32"),
            ("cuda/warptile", {"tile": "3x3"}, "3x3"),
            ("cuda/warptile", {"maxregs": 64}, "maxregs is 64"),
        ):
            with self.assertRaises(ValueError) as caught:
                self.product(a, a, out, variant, params)
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(gemm_suite.Unavailable):
            self.product(a, a, out, "cuda/warptile", {"stages": 100})


if __name__ == "__main__":
    unittest.main()
