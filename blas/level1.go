package blas

import "gemm/internal/kernel/vector"

// Level 1: vectors whose elements follow each other are for package vector. gonum does the rest, and checks arguments.

// fewElements is the length from which on kernels are faster than a loop.
const fewElements = 8

// contiguous reports whether vectors of n elements, in slices of x and y, are valid and have increments of 1.
func contiguous(n, x, incX, y, incY int) bool {
	return incX == 1 && incY == 1 && 0 < n && n <= x && n <= y && vector.Fast
}

// Ddot returns xᵀ·y.
func (i Implementation) Ddot(n int, x []float64, incX int, y []float64, incY int) (sum float64) {
	if contiguous(n, len(x), incX, len(y), incY) {
		if x, y = x[:n], y[:n]; n >= fewElements {
			return vector.Dot(x, y)
		}
		for i, v := range x {
			sum += v * y[i]
		}
		return sum
	}
	return i.Implementation.Ddot(n, x, incX, y, incY)
}

// Sdot is Ddot for float32.
func (i Implementation) Sdot(n int, x []float32, incX int, y []float32, incY int) (sum float32) {
	if contiguous(n, len(x), incX, len(y), incY) {
		if x, y = x[:n], y[:n]; n >= fewElements {
			return vector.Dot(x, y)
		}
		for i, v := range x {
			sum += v * y[i]
		}
		return sum
	}
	return i.Implementation.Sdot(n, x, incX, y, incY)
}

// Daxpy computes y ← α·x + y.
func (i Implementation) Daxpy(n int, alpha float64, x []float64, incX int, y []float64, incY int) {
	if !contiguous(n, len(x), incX, len(y), incY) || alpha == 0 {
		i.Implementation.Daxpy(n, alpha, x, incX, y, incY)
	} else if x, y = x[:n], y[:n]; n >= fewElements {
		vector.Axpy(alpha, x, y)
	} else {
		for i, v := range x {
			y[i] += alpha * v
		}
	}
}

// Saxpy is Daxpy for float32.
func (i Implementation) Saxpy(n int, alpha float32, x []float32, incX int, y []float32, incY int) {
	if !contiguous(n, len(x), incX, len(y), incY) || alpha == 0 {
		i.Implementation.Saxpy(n, alpha, x, incX, y, incY)
	} else if x, y = x[:n], y[:n]; n >= fewElements {
		vector.Axpy(alpha, x, y)
	} else {
		for i, v := range x {
			y[i] += alpha * v
		}
	}
}

// Dscal computes x ← α·x.
func (i Implementation) Dscal(n int, alpha float64, x []float64, incX int) {
	if !contiguous(n, len(x), incX, n, 1) || alpha == 0 {
		i.Implementation.Dscal(n, alpha, x, incX)
	} else if x = x[:n]; n >= fewElements {
		vector.FastScal(alpha, x)
	} else {
		for i := range x {
			x[i] *= alpha
		}
	}
}

// Sscal is Dscal for float32.
func (i Implementation) Sscal(n int, alpha float32, x []float32, incX int) {
	if !contiguous(n, len(x), incX, n, 1) || alpha == 0 {
		i.Implementation.Sscal(n, alpha, x, incX)
	} else if x = x[:n]; n >= fewElements {
		vector.FastScal(alpha, x)
	} else {
		for i := range x {
			x[i] *= alpha
		}
	}
}

// Dswap exchanges x and y.
func (i Implementation) Dswap(n int, x []float64, incX int, y []float64, incY int) {
	if n >= fewElements && contiguous(n, len(x), incX, len(y), incY) {
		vector.Swap(x[:n], y[:n])
	} else {
		i.Implementation.Dswap(n, x, incX, y, incY)
	}
}

// Sswap is Dswap for float32.
func (i Implementation) Sswap(n int, x []float32, incX int, y []float32, incY int) {
	if n >= fewElements && contiguous(n, len(x), incX, len(y), incY) {
		vector.Swap(x[:n], y[:n])
	} else {
		i.Implementation.Sswap(n, x, incX, y, incY)
	}
}

// Drot computes x ← c·x + s·y and y ← c·y − s·x.
func (i Implementation) Drot(n int, x []float64, incX int, y []float64, incY int, c, s float64) {
	if n >= fewElements && contiguous(n, len(x), incX, len(y), incY) {
		vector.Rot(x[:n], y[:n], c, s)
	} else {
		i.Implementation.Drot(n, x, incX, y, incY, c, s)
	}
}

// Srot is Drot for float32.
func (i Implementation) Srot(n int, x []float32, incX int, y []float32, incY int, c, s float32) {
	if n >= fewElements && contiguous(n, len(x), incX, len(y), incY) {
		vector.Rot(x[:n], y[:n], c, s)
	} else {
		i.Implementation.Srot(n, x, incX, y, incY, c, s)
	}
}

// Dnrm2 returns ‖x‖₂.
func (i Implementation) Dnrm2(n int, x []float64, incX int) float64 {
	if n > 1 && contiguous(n, len(x), incX, n, 1) {
		return vector.Nrm2(x[:n])
	}
	return i.Implementation.Dnrm2(n, x, incX)
}

// Snrm2 is Dnrm2 for float32.
func (i Implementation) Snrm2(n int, x []float32, incX int) float32 {
	if n > 1 && contiguous(n, len(x), incX, n, 1) {
		return vector.Nrm2(x[:n])
	}
	return i.Implementation.Snrm2(n, x, incX)
}

// Dasum returns Σ |x[i]|.
func (i Implementation) Dasum(n int, x []float64, incX int) float64 {
	if contiguous(n, len(x), incX, n, 1) {
		return vector.Asum(x[:n])
	}
	return i.Implementation.Dasum(n, x, incX)
}

// Sasum is Dasum for float32.
func (i Implementation) Sasum(n int, x []float32, incX int) float32 {
	if contiguous(n, len(x), incX, n, 1) {
		return vector.Asum(x[:n])
	}
	return i.Implementation.Sasum(n, x, incX)
}

// Idamax returns the first i with the largest |x[i]|.
func (i Implementation) Idamax(n int, x []float64, incX int) int {
	if n >= fewElements && contiguous(n, len(x), incX, n, 1) {
		return vector.Iamax(x[:n])
	}
	return i.Implementation.Idamax(n, x, incX)
}

// Isamax is Idamax for float32.
func (i Implementation) Isamax(n int, x []float32, incX int) int {
	if n >= fewElements && contiguous(n, len(x), incX, n, 1) {
		return vector.Iamax(x[:n])
	}
	return i.Implementation.Isamax(n, x, incX)
}

// Zdotu returns xᵀ·y.
func (i Implementation) Zdotu(n int, x []complex128, incX int, y []complex128, incY int) complex128 {
	if contiguous(n, len(x), incX, len(y), incY) {
		var s [4]float64
		vector.PairDot(pairs[float64](x[:n]), pairs[float64](y[:n]), &s)
		return complex(s[0]-s[1], s[2]+s[3])
	}
	return i.Implementation.Zdotu(n, x, incX, y, incY)
}

// Zdotc returns xᴴ·y.
func (i Implementation) Zdotc(n int, x []complex128, incX int, y []complex128, incY int) complex128 {
	if contiguous(n, len(x), incX, len(y), incY) {
		var s [4]float64
		vector.PairDot(pairs[float64](x[:n]), pairs[float64](y[:n]), &s)
		return complex(s[0]+s[1], s[2]-s[3])
	}
	return i.Implementation.Zdotc(n, x, incX, y, incY)
}

// Zaxpy computes y ← α·x + y.
func (i Implementation) Zaxpy(n int, alpha complex128, x []complex128, incX int, y []complex128, incY int) {
	if contiguous(n, len(x), incX, len(y), incY) && alpha != 0 {
		vector.PairAxpy(real(alpha), imag(alpha), pairs[float64](x[:n]), pairs[float64](y[:n]))
	} else {
		i.Implementation.Zaxpy(n, alpha, x, incX, y, incY)
	}
}

// Cdotu is Zdotu for complex64.
func (i Implementation) Cdotu(n int, x []complex64, incX int, y []complex64, incY int) complex64 {
	if contiguous(n, len(x), incX, len(y), incY) {
		var s [4]float32
		vector.PairDot(pairs[float32](x[:n]), pairs[float32](y[:n]), &s)
		return complex(s[0]-s[1], s[2]+s[3])
	}
	return i.Implementation.Cdotu(n, x, incX, y, incY)
}

// Cdotc is Zdotc for complex64.
func (i Implementation) Cdotc(n int, x []complex64, incX int, y []complex64, incY int) complex64 {
	if contiguous(n, len(x), incX, len(y), incY) {
		var s [4]float32
		vector.PairDot(pairs[float32](x[:n]), pairs[float32](y[:n]), &s)
		return complex(s[0]+s[1], s[2]-s[3])
	}
	return i.Implementation.Cdotc(n, x, incX, y, incY)
}

// Caxpy is Zaxpy for complex64.
func (i Implementation) Caxpy(n int, alpha complex64, x []complex64, incX int, y []complex64, incY int) {
	if contiguous(n, len(x), incX, len(y), incY) && alpha != 0 {
		vector.PairAxpy(real(alpha), imag(alpha), pairs[float32](x[:n]), pairs[float32](y[:n]))
	} else {
		i.Implementation.Caxpy(n, alpha, x, incX, y, incY)
	}
}

// Dznrm2 returns ‖x‖₂.
func (i Implementation) Dznrm2(n int, x []complex128, incX int) float64 {
	if n > 1 && contiguous(n, len(x), incX, n, 1) {
		return vector.Nrm2(pairs[float64](x[:n]))
	}
	return i.Implementation.Dznrm2(n, x, incX)
}

// Scnrm2 is Dznrm2 for complex64.
func (i Implementation) Scnrm2(n int, x []complex64, incX int) float32 {
	if n > 1 && contiguous(n, len(x), incX, n, 1) {
		return vector.Nrm2(pairs[float32](x[:n]))
	}
	return i.Implementation.Scnrm2(n, x, incX)
}

// Dzasum returns Σ |Re x[i]| + |Im x[i]|.
func (i Implementation) Dzasum(n int, x []complex128, incX int) float64 {
	if n > 3 && contiguous(n, len(x), incX, n, 1) {
		return vector.Asum(pairs[float64](x[:n]))
	}
	return i.Implementation.Dzasum(n, x, incX)
}

// Scasum is Dzasum for complex64.
func (i Implementation) Scasum(n int, x []complex64, incX int) float32 {
	if n > 3 && contiguous(n, len(x), incX, n, 1) {
		return vector.Asum(pairs[float32](x[:n]))
	}
	return i.Implementation.Scasum(n, x, incX)
}

// Zdscal computes x ← α·x with a real α.
func (i Implementation) Zdscal(n int, alpha float64, x []complex128, incX int) {
	if n >= fewElements && contiguous(n, len(x), incX, n, 1) && alpha != 0 {
		vector.FastScal(alpha, pairs[float64](x[:n]))
	} else {
		i.Implementation.Zdscal(n, alpha, x, incX)
	}
}

// Csscal is Zdscal for complex64.
func (i Implementation) Csscal(n int, alpha float32, x []complex64, incX int) {
	if n >= fewElements && contiguous(n, len(x), incX, n, 1) && alpha != 0 {
		vector.FastScal(alpha, pairs[float32](x[:n]))
	} else {
		i.Implementation.Csscal(n, alpha, x, incX)
	}
}

// Zscal computes x ← α·x.
func (i Implementation) Zscal(n int, alpha complex128, x []complex128, incX int) {
	if n >= fewElements && contiguous(n, len(x), incX, n, 1) && alpha != 0 {
		vector.PairScal(real(alpha), imag(alpha), pairs[float64](x[:n]))
	} else {
		i.Implementation.Zscal(n, alpha, x, incX)
	}
}

// Cscal is Zscal for complex64.
func (i Implementation) Cscal(n int, alpha complex64, x []complex64, incX int) {
	if n >= fewElements && contiguous(n, len(x), incX, n, 1) && alpha != 0 {
		vector.PairScal(real(alpha), imag(alpha), pairs[float32](x[:n]))
	} else {
		i.Implementation.Cscal(n, alpha, x, incX)
	}
}
