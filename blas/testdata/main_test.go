// Package gonum_test is laid into a copy of a package of gonum, under that one's
// name, by scripts/gonum-tests.sh: gonum's tests then run on the routines of
// gemm/blas and gemm/lapack. An external test package, since gemm imports gonum's matrices.
package gonum_test

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	glapack "gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gemm/blas"
	"gemm/lapack"
)

// calls counts the calls of each routine that gonum's tests of mat and of lapack
// reach.
var calls struct{ gemm, symm, syrk, syr2k, trmm, trsm atomic.Int64 }

// every demands that each routine is called.
const every = true

// counting is the implementation under test, counted.
type counting struct{ blas.Implementation }

func (c counting) Dgemm(tA, tB gonum.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, x []float64, ldx int) {
	calls.gemm.Add(1)
	c.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, x, ldx)
}

func (c counting) Dsymm(s gonum.Side, ul gonum.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, x []float64, ldx int) {
	calls.symm.Add(1)
	c.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, x, ldx)
}

func (c counting) Dsyrk(ul gonum.Uplo, t gonum.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, x []float64, ldx int) {
	calls.syrk.Add(1)
	c.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, x, ldx)
}

func (c counting) Dsyr2k(ul gonum.Uplo, t gonum.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, x []float64, ldx int) {
	calls.syr2k.Add(1)
	c.Implementation.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, x, ldx)
}

func (c counting) Dtrmm(s gonum.Side, ul gonum.Uplo, t gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	calls.trmm.Add(1)
	c.Implementation.Dtrmm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

func (c counting) Dtrsm(s gonum.Side, ul gonum.Uplo, t gonum.Transpose, d gonum.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	calls.trsm.Add(1)
	c.Implementation.Dtrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
}

func TestMain(m *testing.M) {
	by := flag.String("by", "", "whose routines benchmarks call, gonum or gemm, or none, so that the first call ends the "+
		"program; tests call counted ones")
	flag.Parse()
	if *by == "gonum" {
		os.Exit(m.Run())
	}
	if *by == "none" {
		blas64.Use(struct{ gonum.Float64 }{})
		lapack64.Use(struct{ glapack.Float64 }{})
		os.Exit(m.Run())
	}
	blas64.Use(counting{})
	blas32.Use(blas.Implementation{})
	lapack64.Use(lapack.Implementation{})
	if *by == "gemm" {
		blas64.Use(blas.Implementation{})
		os.Exit(m.Run())
	}
	code := m.Run()
	for routine, count := range map[string]*atomic.Int64{
		"Dgemm": &calls.gemm, "Dsymm": &calls.symm, "Dsyrk": &calls.syrk,
		"Dsyr2k": &calls.syr2k, "Dtrmm": &calls.trmm, "Dtrsm": &calls.trsm,
	} {
		if every && count.Load() == 0 && code == 0 {
			fmt.Fprintf(os.Stderr, "no test called gemm/blas's %s\n", routine)
			code = 1
		}
	}
	os.Exit(code)
}
