"""The command python -m gemm_suite.sgemm."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from unittest import mock

from gemm_suite import Unavailable
from gemm_suite.sgemm import measure, rows
from gemm_suite.sgemm.__main__ import main, shape


def run(*arguments: str) -> tuple[int, str, str]:
    """The status, the output and the errors of the command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = int(end.code or 0)
    return status, out.getvalue(), err.getvalue()


class Command(unittest.TestCase):
    """Its table, its records and its errors."""

    def test_table(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.json")
            status, out, err = run("--shapes", "64,33x65x17", "--device", "cpu", "--json", file)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("M=33, N=65, K=17", out)
            with open(file) as f:
                document = json.load(f)
        self.assertEqual(len(document["measurements"]), 2 * len(rows.ON_PROCESSORS))
        for row in document["measurements"]:
            if row["params"]["by"] != "PyTorch" or "reason" not in row:
                self.assertNotIn("reason", row)
                self.assertGreater(min(row["samples"]), 0)

    def test_wrong_rows(self) -> None:
        def unwritten(a: object, b: object, out: object) -> None:
            pass

        def one_off(a: object, b: object, out: object) -> None:
            out[:] = a @ b  # type: ignore
            out[5, 7] += 0.001  # type: ignore

        for fault in (unwritten, one_off):
            with mock.patch.object(measure, "multiplier", lambda row, fault=fault: (fault, "")):
                status, out, err = run("--shapes", "64", "--device", "cpu")
            self.assertEqual((status, err), (1, f"sgemm: wrong rows: {len(rows.ON_PROCESSORS)}\n"))
            self.assertEqual(out.count("wrong: the error is"), len(rows.ON_PROCESSORS))

    def test_row_that_cannot_run(self) -> None:
        def refused(a: object, b: object, out: object) -> None:
            raise Unavailable("needs compute capability 9.0, has 8.0")

        with mock.patch.object(measure, "multiplier", lambda row: (refused, "")):
            status, out, err = run("--shapes", "64", "--device", "cpu")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("needs compute capability 9.0, has 8.0\n"), len(rows.ON_PROCESSORS))

    def test_bad_arguments(self) -> None:
        for arguments, status, words in (
            (["--shapes", "0"], 2, "'0' must be"),
            (["--shapes", "1x2"], 2, "'1x2' must be"),
            (["--shapes", "64,x"], 2, "'x' must be"),
            (["--shapes", "99999999"], 2, "'99999999' must be"),
            (["--device", "tpu"], 2, "tpu"),
            (["--sizes", "64"], 2, "--sizes"),
            (["--shapes", "65536", "--device", "cpu"], 1, "65536x65536x65536 needs 304.0 GiB of memory"),
            (["--shapes", "8", "--device", "cpu", "--json", "/none/such"], 1, "--json /none/such"),
        ):
            got, out, err = run(*arguments)
            self.assertEqual((got, err.count("\n")), (status, 1), arguments)
            self.assertNotIn("  f32", out)
            self.assertIn(words, err)

    def test_rows_of_the_ladder(self) -> None:
        self.assertEqual(shape("7"), (7, 7, 7))
        labels = [r.label for r in rows.ON_GPU]
        self.assertEqual(len(labels), len(set(labels)))
        _, reason = rows.multiplier(rows.Row("x", "f32", "cuda/of-another-version"))
        self.assertEqual(reason, "not in this version")


if __name__ == "__main__":
    unittest.main()
