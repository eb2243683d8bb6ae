"""Launches of kernels: what each is given, by a driver that runs nothing. test_cuda computes on real GPUs."""

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import gemm_suite
from gemm_suite import _device, _driver
from gemm_suite._operand import SIZES, Operand, operand
from gemm_suite.sgemm import rows
from tests.checks import TYPES, skip_or_fail, stored
from tests.fake_cuda import Driver, Launch, compile_program


class Recipes(unittest.TestCase):
    """Launches of products of every variant for GPUs."""

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

    def product(
        self, a: Any, b: Any, out: Any, variant: str, params: Any = None
    ) -> tuple[_device.Product, list[Launch]]:
        """Launches out = a·b of arrays by rows as a CUDA tensor's product would be, and checks the arguments."""
        x, y, z = operand("a", a), operand("b", b), operand("out", out)
        product = _device.prepare(self.gpu, x, y, z, variant, params)
        work = 1 << 40  # an address; nothing is read there
        self.driver.launches.clear()
        with self.gpu.current():
            product.start(7, {"a": x.address, "b": y.address, "c": z.address, "work": work})
        self.assertEqual(self.driver.contexts, [])
        self.check(x, y, z, range(work, work + product.work))
        return product, list(self.driver.launches)

    def check(self, x: Operand, y: Operand, z: Operand, work: range) -> None:
        """Checks that the launches read x and y, as they are stored, write z last, and use no memory but work
        besides. f16x3 reads x for its parts and in its fallback, and y for maxima too; by three products of TF32, it
        reads both for these and in its fallback, or what was transposed; products by residues read both for scales,
        residues and NaN; all others once."""
        launches = self.driver.launches
        splits = any(s.kernel == "split_a" for s in launches)
        residues = any(s.kernel == "scale" for s in launches)
        three = any("unfit_y" in s.places for s in launches)
        for o in (x, y):
            readers = [(s, p) for s in launches for p, at in s.places.items() if at == o.address]
            mapped = [m for s in launches for p, m in s.maps.items() if m.address == o.address and p != "to"]  # of C
            times = 3 if residues else (2 if o is x else 3) if splits and not o.by_columns else 1
            if three and not any(s.kernel == "transpose" for s, _ in readers):
                times = 2
            self.assertEqual(len(readers) + len(mapped), times, f"{o}: {launches}")
            stored = (o.cols, o.rows) if o.by_columns else (o.rows, o.cols)
            for m in mapped:
                self.assertEqual((m.rows, m.cols, m.bytes), (*stored, SIZES[o.type] * o.ld), f"{o}: {m}")
            for launch, parameter in readers:
                numbers = launch.numbers
                self.assertEqual(numbers["ld" + parameter.lower()], o.ld, f"{o}: {launch}")
                if SIZES[o.type] > 2 and not residues and not three:  # the others may read operands as they are stored
                    self.assertEqual(launch.kernel == "transpose", o.by_columns, f"{o}: {launch}")
                if "rows" in numbers and launch.kernel in ("align", "transpose"):
                    self.assertEqual((numbers["rows"], numbers["cols"]), stored, f"{o}: {launch}")
        copies = [at for s in launches for p, at in s.places.items() if p in ("T", "P")]
        self.assertEqual(len(copies), len(set(copies)), launches)
        last = launches[-1]
        self.assertEqual((last.places["C"], last.numbers["ldc"]), (z.address, z.ld), last)
        for launch in launches:
            sizes = {"m": z.rows, "n": z.cols, "k": x.cols, "alpha": 1, "beta": 0}
            for name in sizes.keys() & launch.numbers.keys():
                self.assertEqual(launch.numbers[name], sizes[name], f"{name} of {launch}")
            for place in (*launch.places.values(), *(m.address for m in launch.maps.values())):
                self.assertTrue(place in work or place in (x.address, y.address, z.address), launch)

    def test_every_variant(self) -> None:
        random = np.random.default_rng(5)
        kernels = set()
        variants = [v for v in gemm_suite.variants() if v.device == "cuda"]
        self.assertGreater(len(variants), 10)
        for v in variants:
            for typ in TYPES.keys() & v.types:
                for m, n, k in ((65, 63, 70), (1, 1, 1), (128, 256, 64), (40, 24, 4000), (300, 301, 302)):
                    a, b = stored(random, m, k, typ), stored(random, k, n, typ)
                    out = np.empty((m, n + 3), a.dtype)[:, :n]
                    with self.subTest(f"{v.name} {typ} {m}x{n}x{k}, strides {a.strides} {b.strides}"):
                        _, launches = self.product(a, b, out, v.name)
                        kernels.update(s.kernel for s in launches)
        always = {"gemm", "transpose", "pack_a", "pack_b", "to_tf32", "split_a", "split_b", "scale", "split", "join"}
        self.assertEqual(kernels, always | (kernels & {"align"}))

    def test_aligned_anew(self) -> None:
        """A large product of operands that begin anywhere: they are laid out anew, with zeros around."""
        a, b, out = (np.empty((1535, 1535), np.float32) for _ in range(3))
        product, launches = self.product(a, b, out, "cuda/tuned-tf32-mma")
        copies = [s.places["T"] for s in launches if s.kernel == "align"]
        self.assertTrue(copies)
        zeros = [(1 << 40) + begin for begin, _ in product.zeros]
        self.assertEqual(zeros[: len(copies)], copies)  # what follows is of tiles that are cut

    def test_memory_of_pytorch(self) -> None:
        """The call for tensors, whose work memory is PyTorch's, with out by rows and by columns."""
        try:
            import torch
        except ImportError:
            skip_or_fail("torch", "PyTorch is not installed")
        random = np.random.default_rng(7)
        stream = SimpleNamespace(cuda_stream=7)
        works: list[Any] = []

        def empty(*arguments: Any, **rest: Any) -> Any:
            works.append(allocate(*arguments, **rest).fill_(255))
            return works[-1]

        allocate = torch.empty
        with (
            mock.patch.object(_device, "_gpu", lambda _: self.gpu),
            mock.patch.object(torch.cuda, "current_stream", lambda _: stream),
            mock.patch.object(torch, "empty", empty),
        ):
            for m, n, k, times in ((1535, 1535, 1535, 1), (33, 65, 4000, 4), (70, 50, 60, 8)):
                for _ in range(times):
                    a, b, c = (torch.from_numpy(stored(random, *s, "f32")) for s in ((m, k), (k, n), (m, n)))
                    x, y, z = operand("a", a), operand("b", b), operand("out", c)
                    works.clear()
                    self.driver.launches.clear()
                    _device.multiply(x, y, z, a, "cuda/tuned-tf32-mma", None)
                    if z.by_columns:
                        x, y, z = (_device._transposed(o) for o in (y, x, z))
                    first = works[0].data_ptr() if works else 0
                    self.check(x, y, z, range(first, first + works[0].numel() if works else 0))
                    for copy in (s.places["T"] - first for s in self.driver.launches if s.kernel == "align"):
                        self.assertEqual(works[0][copy], 0, "memory around a copy")

    def test_compiled_once(self) -> None:
        a, out = np.ones((64, 64), np.float32), np.empty((64, 64), np.float32)
        for _ in range(3):
            self.product(a, a.copy(), out, "cuda/naive")
        self.product(a[:32], a.copy(), np.empty((32, 64), np.float32), "cuda/naive")
        self.assertEqual(len(self.driver.modules), 1)
        _, launches = self.product(a.astype(float), a.astype(float), out.astype(float), "cuda/packed-global")
        self.assertEqual([s.kernel for s in launches], ["pack_a", "pack_b", "gemm"])
        self.assertEqual(len(self.driver.modules), 2)

    def test_settings(self) -> None:
        a, b, out = (np.ones((64, 64), np.float32) for _ in range(3))
        for row in rows.ON_GPU:  # of the table of kernels
            if "/" in row.by:
                product, _ = self.product(a, b, out, row.by, row.params)
                if "stages" in row.params:
                    self.assertIn(f"-DSTAGES={row.params['stages']}", product.options)
        product, launches = self.product(a, b, out, "cuda/tuned-tf32-mma", {"stages": 2, "split": 2})
        self.assertIn("-DSTAGES=2", product.options)
        self.assertIn("-DCUT", product.options)
        self.assertEqual([launches[0].numbers[name] for name in ("whole", "span", "each")], [0, 2, 1])
        self.assertLess(launches[0].places["partial"], launches[0].places["arrived"])
        for variant, params, words in (
            ("cuda/naive", {"stages": 2}, "has no stages"),
            ("cuda/none", None, "cuda/naive"),
            ("cuda/dmma", None, "for f32"),
            ("cuda/tuned", {"tile": "3x3"}, "3x3"),
            ("cuda/tuned", {"maxregs": 64}, "maxregs is 64"),
        ):
            with self.assertRaises(ValueError) as caught:
                self.product(a, b, out, variant, params)
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(gemm_suite.Unavailable):
            self.product(a, b, out, "cuda/tuned", {"stages": 100})


if __name__ == "__main__":
    unittest.main()
