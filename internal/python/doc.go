// Package python computes products by NumPy and PyTorch, as their users call them: numpy.matmul and
// torch.matmul with the argument out. It also computes them by loops in Python, as textbooks have them. The
// products run in processes of Python, one each; one idle process is kept for the next product. See
// package internal/peer for how processes are stopped and how they end.
//
// Python is the program that GEMM_PYTHON names, otherwise python3 on PATH. Its own folders have the
// libraries; the current folder is not searched. The number of threads is set when a process starts, by
// torch.set_num_threads, and for NumPy by the environment variables of its BLAS. Other settings are those
// of the user. The time of a product is measured in Python, so it includes the call.
package python
