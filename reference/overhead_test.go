//go:build linux && (amd64 || arm64)

package reference

import (
	"context"
	"testing"

	"github.com/ebitengine/purego"

	"gemm"
	"gemm/gemmtest"
)

// BenchmarkCall measures the fixed cost of a product of one element: through this package, through
// cblas_dgemm, and for a function of the library that only returns a number.
func BenchmarkCall(b *testing.B) {
	need(b, openBLAS)
	m, err := newShared[float64](openBLAS, 1)
	gemmtest.Must(b, err)
	d := new(here)
	gemmtest.Must(b, d.Open(mapped(d, "libopenblas")[0]))
	x, y, z := gemm.NewMatrix[float64](1, 1), gemm.NewMatrix[float64](1, 1), gemm.NewMatrix[float64](1, 1)
	b.Run("product", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			gemmtest.Must(b, m.Multiply(context.Background(), z, x, y))
		}
	})
	b.Run("cblas", func(b *testing.B) {
		address, err := d.Find("cblas_dgemm")
		gemmtest.Must(b, err)
		var dgemm func(order, tA, tB, m, n, k int32, alpha float64, a *float64, lda int32, b *float64, ldb int32,
			beta float64, c *float64, ldc int32)
		purego.RegisterFunc(&dgemm, address)
		const rowMajor, noTrans = 101, 111
		b.ReportAllocs()
		for b.Loop() {
			dgemm(rowMajor, noTrans, noTrans, 1, 1, 1, 1, &x.Data[0], 1, &y.Data[0], 1, 0, &z.Data[0], 1)
		}
	})
	b.Run("nothing", func(b *testing.B) {
		address, err := d.Find("openblas_get_num_threads")
		gemmtest.Must(b, err)
		b.ReportAllocs()
		for b.Loop() {
			purego.SyscallN(address)
		}
	})
}
