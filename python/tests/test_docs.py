"""The examples of docs/python.md."""

import contextlib
import io
import re
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


class Page(unittest.TestCase):
    """Examples that need no GPU run as they stand."""

    def test_examples(self) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
        self.assertTrue(blocks)
        for block in blocks:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, str(PAGE), "exec"), {})
            self.assertIn("serial/packed ('f64', 'f32', 'f16', 'bf16') True", out.getvalue())


if __name__ == "__main__":
    unittest.main()
