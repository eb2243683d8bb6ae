"""Matrix products of NumPy arrays and PyTorch tensors by the kernels of the gemm suite."""

from importlib.metadata import version

from gemm_suite._product import Variant, matmul, variants
from gemm_suite.errors import Unavailable

__all__ = ["Unavailable", "Variant", "__version__", "matmul", "variants"]
__version__ = version("gemm-suite")
