"""Products of PyTorch tensors on the CPU."""

import unittest
from typing import Any
from unittest import mock

import numpy as np

import gemm_suite
from tests.checks import assert_product, skip_or_fail, stored

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]


class Tensors(unittest.TestCase):
    """Products, and arguments that do not fit."""

    def setUp(self) -> None:
        if torch is None:
            skip_or_fail("torch", "PyTorch is not installed")

    def test_random(self) -> None:
        random = np.random.default_rng(7)
        for i in range(100):
            m, n, k = (int(x) for x in random.integers(0, 60, 3))
            typ = ("f32", "f64", "f16", "bf16")[i % 4]
            a, b, out = (
                torch.from_numpy(stored(random, *s, typ if typ != "bf16" else "f32")) for s in ((m, k), (k, n), (m, n))
            )
            if typ == "bf16":
                a, b, out = a.bfloat16(), b.bfloat16(), out.bfloat16()
            what = f"{typ} {m}x{n}x{k}, strides {a.stride()} {b.stride()} {out.stride()}"
            c = gemm_suite.matmul(a, b)
            self.assertIsInstance(c, torch.Tensor)
            self.assertEqual(c.dtype, a.dtype)
            self.assertIs(gemm_suite.matmul(a, b, out=out), out)
            stack = gemm_suite.matmul(a.expand(3, m, k), b[None, None])
            if typ == "bf16":  # which NumPy has not
                a, b, c, out, stack = (x.float() for x in (a, b, c, out, stack))
            assert_product(c, a, b, typ, what)
            assert_product(out, a, b, typ, what)
            assert_product(stack, a.expand(3, m, k), b[None, None], typ, what)

    def test_autograd_learns_of_out(self) -> None:
        a, w = torch.ones(3, 3), torch.ones(3, 3, requires_grad=True)
        loss = (w * a).sum()
        gemm_suite.matmul(torch.ones(3, 3), torch.ones(3, 3), out=a)
        with self.assertRaisesRegex(RuntimeError, "inplace operation"):
            loss.backward()
        version = a._version
        with self.assertRaisesRegex(ValueError, "overlaps"):
            gemm_suite.matmul(a, torch.ones(3, 3), out=a)
        self.assertEqual(a._version, version)

    def test_older_pytorch(self) -> None:
        """Without increment_version, products are computed, and autograd learns of out nevertheless."""
        a, w = torch.ones(3, 3), torch.ones(3, 3, requires_grad=True)
        with mock.patch.object(torch.autograd, "graph", object()):
            self.assertTrue(bool((gemm_suite.matmul(a, a) == 3).all()))
            loss = (w * a).sum()
            gemm_suite.matmul(torch.ones(3, 3), torch.ones(3, 3), out=a)
        self.assertTrue(bool((a == 3).all()))
        with self.assertRaisesRegex(RuntimeError, "inplace operation"):
            loss.backward()

    def expect(self, kind: type[Exception], words: str, a: Any, b: Any, **rest: Any) -> None:
        with self.assertRaises(kind) as caught:
            gemm_suite.matmul(a, b, **rest)
        self.assertIn(words, str(caught.exception))

    def test_bad_arguments(self) -> None:
        a = torch.ones(4, 4)
        self.expect(TypeError, "a is a PyTorch tensor and b a NumPy array", a, np.ones((4, 4), np.float32))
        self.expect(TypeError, "out a NumPy array", a, a, out=np.ones((4, 4), np.float32))
        self.expect(TypeError, "a has the dtype torch.int16, must be float16, bfloat16, ", a.short(), a)
        self.expect(TypeError, "complex64 or complex128: a.double()", a.long(), a)
        self.expect(ValueError, "a.resolve_conj()", a.to(torch.complex64).conj(), a)
        self.expect(TypeError, "a is float32 and b float64", a, a.double())
        self.expect(TypeError, "b is on the device meta", a, a.to("meta"))
        self.expect(TypeError, "a has the layout torch.sparse_coo", a.to_sparse(), a)
        self.expect(ValueError, "a has the strides (0, 1)", a[:1].expand(4, 4), a)
        self.expect(ValueError, "a has the strides (8, 2) in elements", torch.ones(4, 8)[:, ::2], a)
        self.expect(ValueError, "b has 1 dimensions", a, a[0])
        self.expect(ValueError, "a requires a gradient", a.clone().requires_grad_(), a)
        self.expect(ValueError, "out overlaps a", a, a.clone(), out=a)
        with torch.no_grad():
            c = gemm_suite.matmul(a.clone().requires_grad_(), a)
        self.assertTrue(bool((c == 4).all()))

    def test_variants_of_gpus(self) -> None:
        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        for v in gemm_suite.variants():
            if v.device == "cuda":
                self.assertFalse(v.available)
                self.assertRegex(v.reason, "PyTorch (finds no GPU|is built without CUDA)")


if __name__ == "__main__":
    unittest.main()
