"""Products of NumPy arrays."""

import multiprocessing
import threading
import unittest
from typing import Any
from unittest import mock

import numpy as np

import gemm_suite
from tests.checks import COMPLEX, TYPES, assert_product, stored


def in_child(connection: Any) -> None:
    """Computes in a forked process, where libgemm has no threads."""
    random = np.random.default_rng(8)
    for typ, dtype in (TYPES | COMPLEX).items():
        for scale in (1, 2.0**-12):  # the least products in f16 are subnormal numbers
            a, b = (scale * random.standard_normal((2, 7, 9)), scale * random.standard_normal((9, 60)))
            x, y = a.astype(dtype), b.astype(dtype)
            assert_product(gemm_suite.matmul(x, y.T.copy().T), x, y, typ, f"{typ} in a child")
    huge = gemm_suite.matmul(np.full((1, 1), 6e4, np.float16), np.array([[2, -2, np.nan]], np.float16))
    connection.send(str(huge) == "[[ inf -inf  nan]]")


class Layouts(unittest.TestCase):
    """Products of operands in every layout, compared with NumPy's."""

    def test_random(self) -> None:
        random = np.random.default_rng(1)
        for i in range(300):
            m, n, k = (int(x) for x in random.integers(0, 90, 3))
            typ = list(TYPES)[i % len(TYPES)]
            a, b = stored(random, m, k, typ), stored(random, k, n, typ)
            what = f"{typ} {m}x{n}x{k}, strides {a.strides} {b.strides}"
            assert_product(gemm_suite.matmul(a, b), a, b, typ, what)
            out = stored(random, m, n, typ)
            around = np.isnan(out.base.astype(float))
            self.assertIs(gemm_suite.matmul(a, b, out), out)
            assert_product(out, a, b, typ, f"{what}, out {out.strides}")
            same = (np.isnan(out.base.astype(float)) == around).all()
            self.assertTrue(same, f"{what}: elements around out were written")

    def test_every_variant(self) -> None:
        random = np.random.default_rng(2)
        a, b = random.standard_normal((37, 45)), random.standard_normal((45, 51))
        names = [v for v in gemm_suite.variants() if v.device == "cpu"]
        self.assertGreater(len(names), 10)
        for v in names:
            for typ in TYPES.keys() & v.types:
                if v.available:
                    x, y = a.astype(TYPES[typ]), b.astype(TYPES[typ])
                    c = gemm_suite.matmul(np.stack([x, x]), y, variant=v.name).astype(float)
                    most = {"f64": 1e-11, "f32": 1e-3, "f16": 0.1, "bf16": 0.5}[typ]
                    self.assertLess(np.abs(c - a @ b).max(), most, f"{v.name} {typ}")

    def test_one_row_and_one_column(self) -> None:
        grid = np.arange(30.0).reshape(5, 6)
        for a, b in ((grid[:, 2:3], grid[1:2, :]), (grid[1:2, ::2], grid.T[:3, :1]), (grid[2:3, :], grid.T[:, 4:5])):
            np.testing.assert_allclose(gemm_suite.matmul(a, b), a @ b, rtol=1e-14)

    def test_nan(self) -> None:
        a, b = np.zeros((3, 3)), np.zeros((3, 3))
        a[1, 1] = np.nan
        self.assertEqual(np.isnan(gemm_suite.matmul(a, b)).sum(), 3)

    def test_threads(self) -> None:
        random = np.random.default_rng(3)
        a, b = random.standard_normal((200, 100)), random.standard_normal((100, 300))
        for threads in (0, 1, 2, 3, 1 << 70, np.int64(2), np.uint8(1), np.array(2)):
            assert_product(gemm_suite.matmul(a, b, threads=threads), a, b, "f64", f"{threads} threads")

    def test_calls_at_once(self) -> None:
        random = np.random.default_rng(4)
        faults: list[Exception] = []

        def work(a: Any, b: Any) -> None:
            try:
                for _ in range(20):
                    assert_product(gemm_suite.matmul(a, b), a, b, "f64", "at once")
            except Exception as err:
                faults.append(err)

        threads = [
            threading.Thread(target=work, args=(random.standard_normal((60 + i, 50)), random.standard_normal((50, 70))))
            for i in range(8)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(faults, [])

    def test_fork(self) -> None:
        gemm_suite.matmul(np.ones((300, 300)), np.ones((300, 300)))  # its threads are not in the child
        fork = multiprocessing.get_context("fork")
        ours, theirs = fork.Pipe()
        child = fork.Process(target=in_child, args=(theirs,))
        child.start()
        theirs.close()
        try:
            self.assertTrue(ours.poll(30), "the child hangs")
            self.assertTrue(ours.recv(), "the child's product is wrong")
        finally:
            child.kill()
            child.join()


class Stacks(unittest.TestCase):
    """Stacks of matrices, which are broadcast as by numpy.matmul."""

    def test_random(self) -> None:
        random = np.random.default_rng(9)
        for i in range(200):
            typ = list(TYPES)[i % len(TYPES)]
            m, n, k = (int(x) for x in random.integers(1, 30, 3))
            stack = tuple(int(x) for x in random.integers(0 if i % 9 == 0 else 1, 4, 3))
            a, b = (self.stack(random, s, typ, stack) for s in ((m, k), (k, n)))
            what = f"{typ} {a.shape} {b.shape}, strides {a.strides} {b.strides}"
            threads = (None, 1, 2)[i % 3]
            c = gemm_suite.matmul(a, b, threads=threads)
            assert_product(c, a, b, typ, what)
            # The matrices of out lie side by side.
            whole = np.full((*c.shape[:-2], m, 2, n), 7, c.dtype)
            out = whole[..., 0, :]
            self.assertIs(gemm_suite.matmul(a, b, out, threads=threads), out)
            assert_product(out, a, b, typ, f"{what}, out {out.strides}")
            self.assertTrue((whole[..., 1, :] == 7).all(), f"{what}: elements around out were written")

    def stack(self, random: np.random.Generator, shape: tuple[int, int], typ: str, stack: tuple[int, ...]) -> Any:
        """A stack with some of the dimensions, in some order, with a sign; of some there is one."""
        stack = tuple(1 if random.integers(4) == 0 else n for n in stack)[int(random.integers(4)) :]
        rows, cols = shape if random.integers(2) else shape[::-1]
        x = random.standard_normal((*stack[::-1], rows, cols + int(random.integers(2)))).astype(TYPES[typ])[..., :cols]
        x = x if (rows, cols) == shape else x.swapaxes(-1, -2)
        x = x.transpose(*range(len(stack))[::-1], -2, -1)
        return x[::-1] if stack and random.integers(2) else x

    def test_one_product(self) -> None:
        """Matrices below each other, times one matrix, are one product."""
        a, b = np.random.default_rng(10).standard_normal((4, 3, 5, 6)), np.ones((6, 7))
        with mock.patch("gemm_suite._library.product", wraps=gemm_suite._library.product) as product:
            assert_product(gemm_suite.matmul(a, b), a, b, "f64", "all")
            assert_product(gemm_suite.matmul(a[:, :2], b), a[:, :2], b, "f64", "some")
        shapes = [call.args[5] for call in product.call_args_list]
        self.assertEqual(shapes, [(60, 7, 6), (5, 7, 6)])

    def test_complex(self) -> None:
        random = np.random.default_rng(11)
        for i in range(60):
            typ = ("c64", "c128")[i % 2]
            m, n, k = (int(x) for x in random.integers(1, 40, 3))
            a, b, out = (stored(random, *s, typ) for s in ((m, k), (k, n), (m, n)))
            x, y = np.stack([a, -a]), np.stack([b, b])[:, None]
            assert_product(gemm_suite.matmul(a, b, out, threads=i % 3), a, b, typ, f"{typ} {m}x{n}x{k}")
            assert_product(gemm_suite.matmul(x, y, threads=i % 3), x, y, typ, f"{typ} {m}x{n}x{k}, stacks")
        with self.assertRaisesRegex(ValueError, "complex products have no variants"):
            gemm_suite.matmul(a, b, variant="serial/packed")


class Plain(unittest.TestCase):
    """Arrays by rows without gaps are computed without a description of each."""

    def test_nothing_is_described(self) -> None:
        random = np.random.default_rng(5)
        with mock.patch("gemm_suite._product.operand", side_effect=AssertionError("an operand is described")):
            for typ in ("f32", "f64", "f16", "c64", "c128"):
                dtype = (TYPES | COMPLEX)[typ]
                for m, n, k in ((1, 1, 1), (2, 3, 4), (32, 32, 32), (70, 1, 90), (1, 80, 60)):
                    a, b = random.random((m, k)).astype(dtype), random.random((k, n)).astype(dtype)
                    c = gemm_suite.matmul(a, b)
                    self.assertEqual(c.dtype, dtype)
                    assert_product(c, a, b, typ, f"{typ} {m}x{n}x{k}")
                    out = np.full((m, n), np.nan, dtype)
                    self.assertIs(gemm_suite.matmul(a, b, out), out)
                    assert_product(out, a, b, typ, f"{typ} {m}x{n}x{k}, out")

    def test_others_are_computed_too(self) -> None:
        a = np.random.default_rng(6).random((6, 6))
        exact = a @ a
        frozen = a.copy()
        frozen.flags.writeable = False
        moved = np.empty(a.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(6, 6)
        for x in (a.T.copy().T, frozen, a.view(np.matrix)):
            np.testing.assert_allclose(np.asarray(gemm_suite.matmul(x, a)), exact, rtol=1e-14)
        with self.assertRaisesRegex(ValueError, "out is not aligned"):
            gemm_suite.matmul(a, a, moved)
        whole = np.ones(60)
        for first in (0, 24, 59 - 35):
            with self.assertRaisesRegex(ValueError, "out overlaps a"):
                gemm_suite.matmul(whole[:36].reshape(6, 6), a, whole[first : first + 36].reshape(6, 6))
        for shape in ((0, 6), (6, 0)):
            c = gemm_suite.matmul(np.ones(shape), np.ones(shape[::-1]))
            np.testing.assert_array_equal(c, np.zeros((shape[0], shape[0])))


class BadArguments(unittest.TestCase):
    """Arguments that do not fit raise exceptions that name them."""

    a = np.ones((4, 6))
    b = np.ones((6, 5))

    def expect(self, kind: type[Exception], *words: str, **arguments: Any) -> None:
        call = {"a": self.a, "b": self.b, **arguments}
        with self.assertRaises(kind) as caught:
            gemm_suite.matmul(**call)
        text = str(caught.exception)
        for word in words:
            self.assertIn(word, text)
        self.assertNotIn("\n", text)

    def test_kinds_and_types(self) -> None:
        self.expect(TypeError, "a is a builtins.list", "numpy.asarray(a)", a=[[1.0]])
        self.expect(TypeError, "b is a builtins.NoneType", b=None)
        self.expect(TypeError, "a is float32 and b float64", a=self.a.astype(np.float32))
        for dtype in ("int8", "uint16", "bool", ">f2", ">f4"):
            self.expect(TypeError, f"b has the dtype {dtype}", "b.astype(numpy.float32)", b=self.b.astype(dtype))
        for dtype in ("int32", "uint64", "int64", ">f8", np.longdouble):
            self.expect(
                TypeError, f"a has the dtype {np.dtype(dtype)}", "a.astype(numpy.float64)", a=self.a.astype(dtype)
            )
        self.expect(TypeError, "a has the dtype complex256", "a.astype(numpy.complex128)", a=self.a.astype("G"))
        self.expect(TypeError, "a is a masked array", a=np.ma.masked_equal(self.a, 0))
        self.expect(TypeError, "out float32", out=np.empty((4, 5), np.float32))

    def test_shapes(self) -> None:
        self.expect(ValueError, "a 4x6, b 4x6", b=self.a)
        self.expect(ValueError, "a has 1 dimensions (shape (6,))", a=self.a[0])
        self.expect(ValueError, "out must be 4x5", out=np.empty((5, 4)))
        stacks = {"a": np.ones((2, 4, 6)), "b": np.ones((3, 6, 5))}
        self.expect(ValueError, "a 2x4x6, b 3x6x5: the stacks cannot be broadcast", **stacks)
        self.expect(ValueError, "out must be 2x4x5", a=stacks["a"], out=np.empty((1, 4, 5)))

    def test_strides(self) -> None:
        for a in (self.a[::-1], self.a[:, ::-1], np.ones((8, 12))[::2, ::2], np.broadcast_to(self.a[0], (4, 6))):
            self.expect(ValueError, "a has the strides", "numpy.ascontiguousarray(a)", a=a)
        fields = np.zeros((4, 6), [("x", "f8"), ("y", "u1")])
        self.expect(ValueError, "a is not aligned", a=fields["x"])

    def test_out(self) -> None:
        frozen = np.empty((4, 5))
        frozen.flags.writeable = False
        self.expect(ValueError, "out is read-only", out=frozen)
        self.expect(ValueError, "out has the strides (-5, 1)", "pass contiguous memory", out=np.empty((4, 5))[::-1])
        windows = np.lib.stride_tricks.sliding_window_view(np.empty((5, 5)), (4, 5), writeable=True)[:, 0]
        self.expect(ValueError, "so its matrices overlap", a=np.ones((2, 4, 6)), out=windows)
        whole = np.ones((2, 20))
        self.expect(
            ValueError,
            "out overlaps a",
            a=whole[:, :16].reshape(2, 4, 4)[:, :2],
            b=np.ones((4, 4)),
            out=whole[:, 7:15].reshape(2, 2, 4),
        )
        whole = np.ones((4, 11))
        self.expect(ValueError, "out overlaps a", a=whole[:, :6], out=whole[:, 5:10])
        gemm_suite.matmul(whole[:, :6], self.b, whole[:, 6:])
        np.testing.assert_array_equal(whole[:, 6:], 6)

    def test_settings(self) -> None:
        self.expect(ValueError, '"no/such"', "serial/packed", variant="no/such")
        self.expect(ValueError, "'cuda/naive', but a and b are on cpu", variant="cuda/naive")
        self.expect(ValueError, "serial/strassen computes", variant="serial/strassen", a=self.a.T.copy().T)
        self.expect(TypeError, "variant is 3", variant=3)
        self.expect(ValueError, "threads is -1", threads=-1)
        self.expect(TypeError, "threads is 1.5", threads=1.5)
        self.expect(TypeError, "threads is True", threads=True)
        self.expect(ValueError, "params is {'bk': 8}", params={"bk": np.int32(8)})
        self.expect(ValueError, "serial/packed has one thread", variant="serial/packed", threads=2)
        self.expect(ValueError, "params is {'bk': 8}", params={"bk": 8})
        self.expect(TypeError, "params has 'bk': 8.0", params={"bk": 8.0})

    def test_accuracy(self) -> None:
        a, b = np.full((4, 3), 1 / 3), np.ones((3, 5))
        np.testing.assert_allclose(gemm_suite.matmul(a, b, accuracy=1e-14), 1, rtol=1e-14)
        x, y, z = (np.asfortranarray(m) for m in (a, b, np.empty((4, 5))))
        gemm_suite.matmul(x, y, z, variant="serial/naive", accuracy=1e-3)
        gemm_suite.matmul(a[None], b, accuracy=np.float32(1e-3))
        with self.assertRaisesRegex(gemm_suite.Unavailable, "accuracy 1e-10: the best .* is [0-9.]+e-07, in float32"):
            gemm_suite.matmul(a.astype(np.float32), b.astype(np.float32), accuracy=1e-10)
        self.expect(ValueError, "accuracy is 1, must be between 0 and 1", accuracy=1)
        self.expect(TypeError, "accuracy is '1e-3'", accuracy="1e-3")
        self.expect(ValueError, "no/such", variant="no/such", accuracy=0.1)
        self.expect(ValueError, "complex", a=np.ones((4, 3), complex), b=np.ones((3, 5), complex), accuracy=0.1)

    def test_nothing_is_written(self) -> None:
        out = np.full((4, 5), 7.0)
        self.expect(ValueError, "no/such", out=out, variant="no/such")
        np.testing.assert_array_equal(out, 7)


if __name__ == "__main__":
    unittest.main()
