//go:build cgo && !windows

package main

/*
#cgo CFLAGS: -O3 -Wall
#include "gemm.h"
#include "product.h"
*/
import "C"

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	fast "gemm/blas"
)

// goProduct computes the product or the batch p. It returns a code of gemm.h, and writes the text of an error to the
// size bytes at text. The arguments have been checked.
//
//export goProduct
func goProduct(p *C.struct_product, text *C.char, size C.size_t) (code C.int) {
	defer recovered(&code, text, size)
	switch p.element {
	case 's':
		return report(compute(&singles, &routinesS, p), text, size)
	case 'd':
		return report(compute(&doubles, &routinesD, p), text, size)
	case 'c':
		routinesC.call(p)
	default:
		routinesZ.call(p)
	}
	return C.GEMM_OK
}

// recovered is deferred: it makes an error of a panic.
func recovered(code *C.int, text *C.char, size C.size_t) {
	if reason := recover(); reason != nil {
		*code = report(fmt.Errorf("the product failed: %v", reason), text, size)
	}
}

// compute computes p by a multiplier of the type, or by a routine if none is named.
func compute[T gemm.Float](all *multipliers[T], r *routines[T, T], p *C.struct_product) error {
	if p.batch != nil {
		return computeBatch(p, operands[T](p))
	}
	var x product[T]
	if p.is_checked != 0 { // a product of gemm.h
		x = operands[T](p)
		if err := gemm.CheckOverlap(x.c, x.a, x.b); err != nil {
			return err
		}
	}
	if p.variant == nil {
		r.call(p)
		return nil
	}
	// The name is only read during the call.
	return all.compute(unsafe.String((*byte)(unsafe.Pointer(p.variant)), int(p.variant_len)), int(p.threads),
		int(p.threads_default), &x)
}

// computeBatch computes the batch p, of which x is the first product, by the fastest variant.
func computeBatch[T gemm.Float](p *C.struct_product, x product[T]) error {
	if p.batch.count == 0 {
		return nil
	}
	count, s := int(p.batch.count), p.batch
	if x.alpha == 0 { // there are no terms
		x.alpha = 1
	}
	problem := fast.Problem[T]{
		TransA: x.tA, TransB: x.tB, M: x.c.Rows, N: x.c.Cols, K: x.terms(), Alpha: x.alpha, Beta: x.beta,
		LDA: x.a.Stride, LDB: x.b.Stride, LDC: x.c.Stride,
		Workers: cmp.Or(int(p.threads), int(p.threads_default)),
	}
	return fast.GemmBatchStrided(problem, count, all(x.a, count, int(s.stride_a)), int(s.stride_a),
		all(x.b, count, int(s.stride_b)), int(s.stride_b), all(x.c, count, int(s.stride_c)), int(s.stride_c))
}

// all returns the elements of count > 0 matrices, of which x is the first.
func all[T gemm.Float](x gemm.Matrix[T], count, stride int) []T {
	if len(x.Data) == 0 {
		return nil
	}
	return unsafe.Slice(unsafe.SliceData(x.Data), (count-1)*stride+len(x.Data))
}

// operands returns the product p, or the first one of a batch.
func operands[T gemm.Float](p *C.struct_product) product[T] {
	m, n, k := int(p.m), int(p.n), int(p.k)
	x := product[T]{
		tA: blas.Transpose(p.trans_a), tB: blas.Transpose(p.trans_b), alpha: *(*T)(p.alpha), beta: *(*T)(p.beta),
		c: matrix[T](p.c, m, n, p.ldc),
	}
	x.a, x.b = matrix[T](p.a, m, k, p.lda), matrix[T](p.b, k, n, p.ldb)
	if x.tA != blas.NoTrans {
		x.a = matrix[T](p.a, k, m, p.lda)
	}
	if x.tB != blas.NoTrans {
		x.b = matrix[T](p.b, n, k, p.ldb)
	}
	return x
}

// matrix returns the matrix at data, in memory of C.
func matrix[T gemm.Float](data unsafe.Pointer, rows, cols int, ld C.int64_t) gemm.Matrix[T] {
	return gemm.Matrix[T]{Rows: rows, Cols: cols, Stride: int(ld), Data: elements[T](data, rows, cols, int(ld))}
}

// elements returns the elements of the matrix at data, in memory of C. Operands that are not used have none.
func elements[T any](data unsafe.Pointer, rows, cols, ld int) []T {
	if data == nil || rows == 0 || cols == 0 {
		return nil
	}
	return unsafe.Slice((*T)(data), (rows-1)*ld+cols)
}

// report writes the text of err, cut to size bytes with the final 0, and returns its code.
func report(err error, text *C.char, size C.size_t) C.int {
	if err == nil {
		return C.GEMM_OK
	}
	if errors.Is(err, gemm.ErrOverlap) { // by columns, A and B are exchanged here
		err = fmt.Errorf("%w: c needs memory apart from a and b", gemm.ErrOverlap)
	}
	if size > 0 {
		to := unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))
		line := strings.TrimPrefix(strings.ReplaceAll(gemm.Why(err), "\n", " "), "gemm: ")
		to[copy(to[:len(to)-1], line)] = 0
	}
	switch {
	case errors.Is(err, gemm.ErrOverlap):
		return C.GEMM_ERR_ARGUMENT
	case errors.Is(err, gemm.ErrVariant):
		return C.GEMM_ERR_VARIANT
	case errors.Is(err, gemm.ErrUnavailable):
		return C.GEMM_ERR_UNAVAILABLE
	default:
		return C.GEMM_ERR_FAILED
	}
}

// goVariants returns the variants as JSON, in memory of C.
//
//export goVariants
func goVariants() *C.char {
	text, err := json.Marshal(described())
	if err != nil {
		panic(err) // the values are strings and booleans
	}
	return C.CString(string(text))
}

// goProcessors returns the number of threads of Go that can run at once.
//
//export goProcessors
func goProcessors() C.int { return C.int(runtime.GOMAXPROCS(0)) }

// goVersion returns the version of this module, in memory of C.
//
//export goVersion
func goVersion() *C.char {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return C.CString(version)
}
