"""A table of products in single precision by one kernel after the other, by NVIDIA's library and by PyTorch:
python -m gemm_suite.sgemm."""
