package blas

import (
	"testing"

	"gonum.org/v1/gonum/blas/testblas"
)

// gonum's own tests of the routines that are overridden.

var impl Implementation

func TestDdot(t *testing.T)   { testblas.DdotTest(t, impl) }
func TestDaxpy(t *testing.T)  { testblas.DaxpyTest(t, impl) }
func TestDscal(t *testing.T)  { testblas.DscalTest(t, impl) }
func TestDswap(t *testing.T)  { testblas.DswapTest(t, impl) }
func TestDrot(t *testing.T)   { testblas.DrotTest(t, impl) }
func TestDnrm2(t *testing.T)  { testblas.Dnrm2Test(t, impl) }
func TestDasum(t *testing.T)  { testblas.DasumTest(t, impl) }
func TestIdamax(t *testing.T) { testblas.IdamaxTest(t, impl) }
func TestZdotu(t *testing.T)  { testblas.ZdotuTest(t, impl) }
func TestZdotc(t *testing.T)  { testblas.ZdotcTest(t, impl) }
func TestZaxpy(t *testing.T)  { testblas.ZaxpyTest(t, impl) }
func TestDznrm2(t *testing.T) { testblas.Dznrm2Test(t, impl) }
func TestDzasum(t *testing.T) { testblas.DzasumTest(t, impl) }
func TestZdscal(t *testing.T) { testblas.ZdscalTest(t, impl) }
func TestZscal(t *testing.T)  { testblas.ZscalTest(t, impl) }
func TestDgemm(t *testing.T)  { testblas.TestDgemm(t, impl) }
func TestDsymm(t *testing.T)  { testblas.DsymmTest(t, impl) }
func TestDsyrk(t *testing.T)  { testblas.DsyrkTest(t, impl) }
func TestDsyr2k(t *testing.T) { testblas.Dsyr2kTest(t, impl) }
func TestDtrmm(t *testing.T)  { testblas.DtrmmTest(t, impl) }
func TestDtrsm(t *testing.T)  { testblas.DtrsmTest(t, impl) }
func TestDgemv(t *testing.T)  { testblas.DgemvTest(t, impl) }
func TestDger(t *testing.T)   { testblas.DgerTest(t, impl) }
func TestDsymv(t *testing.T)  { testblas.DsymvTest(t, impl) }
func TestDsyr(t *testing.T)   { testblas.DsyrTest(t, impl) }
func TestDsyr2(t *testing.T)  { testblas.Dsyr2Test(t, impl) }
func TestDtrmv(t *testing.T)  { testblas.DtrmvTest(t, impl) }
func TestDtrsv(t *testing.T)  { testblas.DtrsvTest(t, impl) }
func TestZgemm(t *testing.T)  { testblas.ZgemmTest(t, impl) }
func TestZhemm(t *testing.T)  { testblas.ZhemmTest(t, impl) }
func TestZherk(t *testing.T)  { testblas.ZherkTest(t, impl) }
func TestZher2k(t *testing.T) { testblas.Zher2kTest(t, impl) }
func TestZsymm(t *testing.T)  { testblas.ZsymmTest(t, impl) }
func TestZsyrk(t *testing.T)  { testblas.ZsyrkTest(t, impl) }
func TestZsyr2k(t *testing.T) { testblas.Zsyr2kTest(t, impl) }
func TestZtrmm(t *testing.T)  { testblas.ZtrmmTest(t, impl) }
func TestZtrsm(t *testing.T)  { testblas.ZtrsmTest(t, impl) }
