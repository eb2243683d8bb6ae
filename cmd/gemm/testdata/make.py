"""Writes the files that the tests multiply: python3 make.py, with NumPy.

Made with NumPy 2.4.6. C = A*B is computed in rational numbers and rounded to
float64; the magnitudes of A and B spread over six orders.
"""

from fractions import Fraction

import numpy as np

rng = np.random.default_rng(20240607)


def draw(rows, cols, dtype):
    return (rng.standard_normal((rows, cols)) * 10.0 ** rng.integers(-3, 4, (rows, cols))).astype(dtype)


for dtype in ("f4", "f8"):
    a, b = draw(37, 53, dtype), draw(53, 29, dtype)
    exact = [[sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row, col)) for col in b.T] for row in a]
    np.save(f"{dtype}-a-c", a)
    np.save(f"{dtype}-a-fortran", np.asfortranarray(a))
    np.save(f"{dtype}-b-c", b)
    np.save(f"{dtype}-b-fortran", np.asfortranarray(b))
    np.save(f"{dtype}-product", np.array([[float(x) for x in row] for row in exact]))
