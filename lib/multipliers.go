//go:build cgo && !windows

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/half"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/parallel"
	"gemm/serial"
)

// variants are the variants of the library.
var variants = sync.OnceValue(func() []gemm.Variant {
	return slices.DeleteFunc(append(serial.Variants(), parallel.Variants()...), func(v gemm.Variant) bool {
		return v.F32 == nil && v.F64 == nil
	})
})

// description is what gemm_variants says of a variant.
type description struct {
	Name      string   `json:"name"`
	Doc       string   `json:"doc"`
	Types     []string `json:"types"`
	Gemm      bool     `json:"gemm"`
	Threads   bool     `json:"threads"`
	Available bool     `json:"available"`
	Reason    string   `json:"reason"`
}

// described returns the variants of the library as callers can use them.
func described() []description {
	var out []description
	for _, v := range variants() {
		v.GF256 = nil
		d := description{Name: v.Name, Doc: v.Doc, Types: v.Types(), Gemm: v.Can.Has(gemm.Gemms),
			Threads: v.Has("threads"), Available: true}
		for _, typ := range d.Types {
			try := gemm.ByType(typ, try[float64], try[float32], try[half.F16], try[half.BF16], nil)
			if err := try(v); err != nil {
				d.Available, d.Reason = false, err.Error()
			}
		}
		out = append(out, d)
	}
	return out
}

// try returns the error of the variant's constructor.
func try[T gemm.Number](v gemm.Variant) error {
	_, err := gemm.New[T](v, nil)
	return err
}

// product is one product C ← α·op(A)·op(B) + β·C.
type product[T gemm.Number] struct {
	tA, tB      blas.Transpose
	alpha, beta T
	a, b, c     gemm.Matrix[T]
}

// plain reports whether the product is C = A·B.
func (p *product[T]) plain() bool {
	return p.tA == blas.NoTrans && p.tB == blas.NoTrans && p.alpha == gemm.FromFloat64[T](1) &&
		p.beta == *new(T)
}

// terms returns k, the number of terms of an element of op(A)·op(B).
func (p *product[T]) terms() int {
	if p.tA == blas.NoTrans {
		return p.a.Cols
	}
	return p.a.Rows
}

// multiplier holds the multipliers of one variant on a number of threads. Some serve one product at a
// time, so every call takes one that is idle.
type multiplier[T gemm.Number] struct {
	variant gemm.Variant
	threads int // that callers request
	params  gemm.Params
	idle    block.Idle[gemm.Multiplier[T]]
}

func (m *multiplier[T]) compute(p *product[T]) error {
	x := m.idle.Take()
	if x == nil {
		made, err := gemm.New[T](m.variant, m.params)
		if err != nil {
			return err
		}
		x = &made
	}
	var err error
	switch g, ok := (*x).(gemm.Gemmer[T]); {
	case ok:
		err = g.Gemm(context.Background(), p.tA, p.tB, p.alpha, p.a, p.b, p.beta, p.c)
	case p.plain():
		err = (*x).Multiply(context.Background(), p.c, p.a, p.b)
	default:
		err = fmt.Errorf("%w: %s computes C = A*B only, without transposes, with alpha = 1 and beta = 0: "+
			"serial/packed and parallel/packed compute all products", gemm.ErrVariant, m.variant.Name)
	}
	m.idle.Give(x) // not after a panic
	return err
}

// multipliers are the multipliers of an element type that have been used.
type multipliers[T gemm.Number] struct {
	used   atomic.Pointer[[]*multiplier[T]] // replaced, never changed
	adding sync.Mutex
}

var (
	singles multipliers[float32]
	doubles multipliers[float64]
	f16s    multipliers[half.F16]
	bf16s   multipliers[half.BF16]
)

// compute computes the product by the variant. threads are those that the caller requests; 0 is standard, and there 0
// is all that can run at once.
func (all *multipliers[T]) compute(variant string, threads, standard int, p *product[T]) error {
	m := all.among(variant, threads)
	if m == nil {
		var err error
		if m, err = all.add(variant, threads, standard); err != nil {
			return err
		}
	}
	return m.compute(p)
}

// add adds the multiplier of a variant and a number of threads, unless another call has.
func (all *multipliers[T]) add(variant string, threads, standard int) (*multiplier[T], error) {
	all.adding.Lock()
	defer all.adding.Unlock()
	if m := all.among(variant, threads); m != nil {
		return m, nil
	}
	m, err := newMultiplier[T](variant, threads, standard)
	if err != nil {
		return nil, err
	}
	var used []*multiplier[T]
	if before := all.used.Load(); before != nil {
		used = *before
	}
	used = append(slices.Clone(used), m)
	all.used.Store(&used)
	return m, nil
}

// among returns the multiplier if it has been used before, and nil otherwise.
func (all *multipliers[T]) among(variant string, threads int) *multiplier[T] {
	used := all.used.Load()
	if used == nil {
		return nil
	}
	for _, m := range *used {
		if m.threads == threads && m.variant.Name == variant {
			return m
		}
	}
	return nil
}

func newMultiplier[T gemm.Number](variant string, threads, standard int) (*multiplier[T], error) {
	v, err := gemm.Lookup(variants(), variant)
	if err != nil {
		return nil, err
	}
	p := gemm.Params{}
	switch {
	case v.Has("threads"):
		p["threads"] = cmp.Or(threads, standard, cpu.Workers())
	case threads > 1:
		return nil, fmt.Errorf("%w: %s has one thread, and %d are requested: pass 0 or 1",
			gemm.ErrVariant, v.Name, threads)
	}
	return &multiplier[T]{variant: v, threads: threads, params: p}, nil
}
