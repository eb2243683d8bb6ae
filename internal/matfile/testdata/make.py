"""Writes the files that the tests read: python3 make.py, with NumPy, SciPy and ml_dtypes.

Made with NumPy 2.4.6, SciPy 1.17.1 and ml_dtypes 0.6.0. Element (i, j) of the general matrices,
counted from 0, is (i+1)/(j+3); the symmetric and skew-symmetric ones are below.
"""

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from scipy.io import mmwrite
from scipy.sparse import coo_array

a = np.array([[(i + 1) / (j + 3) for j in range(4)] for i in range(3)])
symmetric = np.array([[(i + 1) * (j + 1) / 8 for j in range(3)] for i in range(3)])
skew = np.array([[(i - j) / 8 for j in range(3)] for i in range(3)])


def save(name, array, version=None):
    with open(name + ".npy", "wb") as file:
        npy.write_array(file, array, version=version)


save("f64-c", a)
save("f64-fortran", np.asfortranarray(a))
save("f64-big", a.astype(">f8"))
save("f64-v2", a, (2, 0))
save("f64-v3", a, (3, 0))
save("f32-c", np.float32([[np.float32(i + 1) / np.float32(j + 3) for j in range(4)] for i in range(3)]))
save("f32-big-fortran", np.asfortranarray(np.load("f32-c.npy").astype(">f4")))
save("f16-c", a.astype(np.float16))
save("f16-big-fortran", np.asfortranarray(a.astype(">f2")))
save("bf16-c", a.astype(ml_dtypes.bfloat16))
save("u1", np.array([[0, 1, 2], [253, 254, 255]], np.uint8))
save("empty", np.zeros((0, 4)))
save("int64", np.ones((2, 2), np.int64))
save("one", np.ones(5))
save("three", np.ones((2, 2, 2)))
save("records", np.zeros((2, 2), [("x", "f8"), ("y", "f8")]))

sparse = coo_array(np.where(a > 0.5, a, 0))
mmwrite("array", a, precision=17)
mmwrite("array-symmetric", symmetric, symmetry="symmetric", precision=17)
mmwrite("array-skew", skew, symmetry="skew-symmetric", precision=17)
mmwrite("array-integer", np.array([[0, 1, 2], [253, 254, 255]], np.uint8))
mmwrite("coordinate", sparse, precision=17)
mmwrite("coordinate-symmetric", coo_array(symmetric), symmetry="symmetric", precision=17)
mmwrite("coordinate-skew", coo_array(skew), symmetry="skew-symmetric", precision=17)
mmwrite("coordinate-pattern", sparse, field="pattern")
mmwrite("complex", a * 1j)

np.savetxt("array.csv", a, "%.17g", ",", header="i+1 over j+3")
