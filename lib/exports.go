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
	"runtime/debug"
	"strings"
	"unsafe"

	"gonum.org/v1/gonum/blas"

	"gemm"
	fast "gemm/blas"
	"gemm/internal/cpu"
	"gemm/pool"
)

// goProduct computes the product or the batch p. It returns a code of gemm.h, and writes the text of an error to the
// size bytes at text. The arguments have been checked.
//
//export goProduct
func goProduct(p *C.struct_product, text *C.char, size C.size_t) (code C.int) {
	defer recovered(&code, text, size)
	var err error
	switch p.element {
	case 's':
		err = compute(&singles, &routinesS, computeBatch[float32], p)
	case 'd':
		err = compute(&doubles, &routinesD, computeBatch[float64], p)
	case 'c':
		err = routinesC.compute(p)
	case 'z':
		err = routinesZ.compute(p)
	case 'h':
		err = compute(&f16s, nil, nil, p)
	default:
		err = compute(&bf16s, nil, nil, p)
	}
	return report(err, text, size)
}

// goBound writes the bound on the error of a product to bound. It returns a code of gemm.h, and writes the text of an
// error to the size bytes at text. The type and the dimensions have been checked.
//
//export goBound
func goBound(variant *C.char, threads, standard, typ C.int, m, n, k C.int64_t, bound *C.double, text *C.char,
	size C.size_t) (code C.int) {
	defer recovered(&code, text, size)
	name := fastest
	if variant != nil {
		name = C.GoString(variant)
	}
	x, err := newMultiplier[float64](name, int(threads), int(standard))
	if err != nil {
		return report(err, text, size)
	}
	p, err := x.variant.Resolve(x.params)
	if err == nil {
		_, most := x.variant.Limit(gemm.Types()[typ], gemm.Shape{M: int(m), N: int(n), K: int(k)}, p, true, false)
		*bound = C.double(most)
	}
	return report(err, text, size)
}

// fastest is the variant that computes if none is named and no routine does.
const fastest = "parallel/packed"

// recovered is deferred: it makes an error of a panic.
func recovered(code *C.int, text *C.char, size C.size_t) {
	if reason := recover(); reason != nil {
		*code = report(fmt.Errorf("the product failed: %v", reason), text, size)
	}
}

// compute computes p by a multiplier of the type, or, if none is named, by a routine or batch. nil: there is none.
func compute[T gemm.Number](all *multipliers[T], r *routines[T, T], batch func(*C.struct_product) error,
	p *C.struct_product) error {
	switch {
	case p.batch != nil && p.variant == nil && batch != nil:
		return batch(p)
	case p.batch != nil:
		return computeEach(p, func(p *C.struct_product) error { return compute(all, r, batch, p) })
	}
	var x product[T]
	if p.is_checked != 0 { // a product of gemm.h
		x = operands[T](p)
		if err := gemm.CheckOverlap(x.c, x.a, x.b); err != nil {
			return err
		}
	}
	if p.variant == nil && r != nil {
		r.call(p)
		return nil
	}
	// The name is only read during the call.
	variant := unsafe.String((*byte)(unsafe.Pointer(p.variant)), int(p.variant_len))
	return all.compute(cmp.Or(variant, fastest), int(p.threads), int(p.threads_default), &x)
}

func (r *routines[E, R]) compute(p *C.struct_product) error {
	switch {
	case p.variant != nil:
		return fmt.Errorf("%w: complex products have no variants", gemm.ErrVariant)
	case p.batch != nil:
		return computeEach(p, r.compute)
	}
	r.call(p)
	return nil
}

// computeEach computes the products of the batch p, at listed addresses, by one. Without a variant, the threads share
// them, unless there are fewer products than threads.
func computeEach(p *C.struct_product, one func(p *C.struct_product) error) error {
	count := int(p.batch.count)
	workers, threads := cmp.Or(int(p.threads), int(p.threads_default), cpu.Workers()), C.int(1)
	if p.variant != nil || count < workers {
		workers, threads = 1, p.threads
	}
	a, b, c := unsafe.Slice(p.batch.a, count), unsafe.Slice(p.batch.b, count), unsafe.Slice(p.batch.c, count)
	errs := make([]error, workers)
	pool.New(workers).Run(workers, count, func(worker, lo, hi int) {
		for i := lo; i < hi && errs[worker] == nil; i++ {
			x := *p
			x.a, x.b, x.c, x.threads, x.batch = a[i], b[i], c[i], threads, nil
			errs[worker] = one(&x)
		}
	})
	return cmp.Or(errs...)
}

// computeBatch computes the batch p by the fastest variant.
func computeBatch[T gemm.Float](p *C.struct_product) error {
	if p.batch.count == 0 {
		return nil
	}
	x, count, s := operands[T](p), int(p.batch.count), p.batch
	if x.alpha == 0 { // there are no terms
		x.alpha = 1
	}
	problem := fast.Problem[T]{
		TransA: x.tA, TransB: x.tB, M: x.c.Rows, N: x.c.Cols, K: x.terms(), Alpha: x.alpha, Beta: x.beta,
		LDA: x.a.Stride, LDB: x.b.Stride, LDC: x.c.Stride,
		Workers: cmp.Or(int(p.threads), int(p.threads_default)),
	}
	if s.is_listed != 0 {
		return fast.GemmBatch(problem, listed(x.a, s.a, count), listed(x.b, s.b, count), listed(x.c, s.c, count))
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

// listed returns the elements of the matrices at count > 0 addresses, of which x is the first.
func listed[T gemm.Float](x gemm.Matrix[T], addresses *unsafe.Pointer, count int) [][]T {
	out := make([][]T, count)
	for i, data := range unsafe.Slice(addresses, count) {
		out[i] = elements[T](data, x.Rows, x.Cols, x.Stride)
	}
	return out
}

// operands returns the product p, or the first one of a batch.
func operands[T gemm.Number](p *C.struct_product) product[T] {
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
func matrix[T gemm.Number](data unsafe.Pointer, rows, cols int, ld C.int64_t) gemm.Matrix[T] {
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
		line := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "gemm: ")
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
func goProcessors() C.int { return C.int(cpu.Workers()) }

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
