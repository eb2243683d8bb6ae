// Package gemmtest is the conformance suite of matrix multiplications. It checks the contract of
// gemm.Multiplier and gemm.Gemmer for any variant, parameters and element type. Only tests import
// it.
//
//	func TestVariants(t *testing.T) {
//		for _, v := range serial.Variants() {
//			t.Run(v.Name, func(t *testing.T) { gemmtest.Run(t, v) })
//		}
//	}
//
// Every operand is in a buffer with guard zones at both ends and between its rows, filled with a
// special NaN (a byte in GF(2⁸)). Code that reads a guard zone spoils the result; code that writes
// one is detected. Before a product, all of C is this NaN, so elements that are not written are
// detected too.
package gemmtest

import (
	"errors"
	"testing"

	"gemm"
)

// NonFinite says what becomes of NaN and Inf.
type NonFinite int

const (
	// Propagates: an element of C is NaN, +Inf or −Inf exactly where IEEE
	// arithmetic makes the sum of its k products so.
	Propagates NonFinite = iota
	// SkipsZeros: as Propagates, but products with a zero of A are left out.
	SkipsZeros
	// Spreads: an element whose sum is not finite is not finite, Inf may have
	// become NaN, and both may have spread to other elements.
	Spreads
	// Undefined: there is no promise, nor a check.
	Undefined
)

// Suite runs the conformance checks. The zero value is right for most variants.
type Suite struct {
	NonFinite NonFinite
	Sizes     []int // of each dimension, besides those that every variant is tested with
	// OneCall says that others compute the product, in one call that no context ends or in
	// processes with contexts of their own.
	OneCall bool
	Lacks   gemm.Capabilities // declared by the variant, but not to be had on this host
}

// Run runs the suite's zero value.
func Run(t *testing.T, v gemm.Variant, params ...gemm.Params) {
	t.Helper()
	Suite{}.Run(t, v, params...)
}

// Run checks v with each of the params, its defaults if there are none, for
// every element type that it has. A variant that is unavailable is skipped: use
// Require first where that may be a failure.
func (s Suite) Run(t *testing.T, v gemm.Variant, params ...gemm.Params) {
	t.Helper()
	if len(params) == 0 {
		params = []gemm.Params{nil}
	}
	for _, p := range params {
		name := p.String()
		if name == "" {
			name = "defaults"
		}
		t.Run(name, func(t *testing.T) {
			for _, typ := range v.Types() {
				t.Run(typ, gemm.ByType(typ,
					func(t *testing.T) { run(t, s, v, p, floatKind[float64]()) },
					func(t *testing.T) { run(t, s, v, p, floatKind[float32]()) },
					func(t *testing.T) { run(t, s, v, p, fieldKind()) }))
			}
		})
	}
}

// run checks v for one element type.
func run[T gemm.Element](t *testing.T, s Suite, v gemm.Variant, p gemm.Params, kind kind[T]) {
	resolved, err := v.Resolve(p)
	if err != nil {
		t.Fatal(err)
	}
	m, err := gemm.New[T](v, p)
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	u := under[T]{m: m, v: v, p: resolved, s: s, kind: kind}
	for _, c := range u.checks() {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(u); err != nil {
				t.Error(err)
			}
		})
	}
}

// under is the multiplier under test. All checks use it, one after the other.
type under[T gemm.Element] struct {
	m    gemm.Multiplier[T]
	v    gemm.Variant
	p    gemm.Params // resolved
	s    Suite
	kind kind[T]
}

// named is one check of the suite.
type named[T gemm.Element] struct {
	name  string
	check func(under[T]) error
}

// kind is what the suite must know of an element type.
type kind[T gemm.Element] struct {
	sentinel T              // fills guard zones, and C before a product
	small    func(i int) T  // one of the elements for which products are exact
	add, mul func(a, b T) T // exact for them
	own      []named[T]     // checks of this type alone
}

// checks lists what u has to pass.
func (u under[T]) checks() []named[T] {
	return append([]named[T]{
		{"declared", checkDeclared[T]},
		{"exact", checkExact[T]},
		{"shape errors", checkShapeErrors[T]},
		{"cancelled", checkCancelled[T]},
		{"empty", checkEmpty[T]},
		{"heard", checkHeard[T]},
		{"concurrent", checkConcurrent[T]},
		{"model", checkModel[T]},
	}, u.kind.own...)
}
