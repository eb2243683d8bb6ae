// Package gemmtest is the conformance suite of matrix multiplications. It checks the contract of gemm.Multiplier and
// gemm.Gemmer for any variant, parameters and element type. Only tests import it.
//
//	func TestVariants(t *testing.T) {
//		for _, v := range serial.Variants() {
//			t.Run(v.Name, func(t *testing.T) { gemmtest.Run(t, v) })
//		}
//	}
//
// Every operand is in a buffer with guard zones at both ends and between its rows, filled with a special NaN (a byte in
// GF(2⁸)). Code that reads a guard zone spoils the result; code that writes one is detected. Before a product, all of C
// is this NaN, so elements that are not written are detected too.
package gemmtest

import (
	"errors"
	"testing"

	"gemm"
	"gemm/half"
)

// NonFinite is the behaviour of a variant with NaN and Inf.
type NonFinite int

const (
	// Propagates: an element of C is NaN, +Inf or −Inf if and only if the sum of its k products is, in IEEE arithmetic.
	Propagates NonFinite = iota
	// SkipsZeros: like Propagates, but products with a zero of A are skipped.
	SkipsZeros
	// Spreads: an element whose sum is not finite is not finite. Inf may become NaN, and both may spread to other
	// elements.
	Spreads
	// Undefined: the behaviour is not defined and not checked.
	Undefined
)

// Suite runs the conformance checks. The zero value is right for most variants.
type Suite struct {
	NonFinite NonFinite
	Sizes     []int // additional values of each dimension
	// OneCall says that the product is computed elsewhere, in one call that a context cannot end, or in processes with
	// contexts of their own.
	OneCall bool
	Small   bool              // concurrent products are small: with these parameters others take seconds
	Lacks   gemm.Capabilities // declared by the variant, but missing on this host
}

// Run runs the zero Suite.
func Run(t *testing.T, v gemm.Variant, params ...gemm.Params) {
	t.Helper()
	Suite{}.Run(t, v, params...)
}

// Run checks v with each of the params (none: its defaults), for every element type that it has. If v is unavailable,
// the test is skipped; call Require first if that may have to be a failure.
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
					func(t *testing.T) { run(t, s, v, p, numberKind[float64]()) },
					func(t *testing.T) { run(t, s, v, p, numberKind[float32]()) },
					func(t *testing.T) { run(t, s, v, p, numberKind[half.F16]()) },
					func(t *testing.T) { run(t, s, v, p, numberKind[half.BF16]()) },
					func(t *testing.T) { run(t, s, v, p, fieldKind()) }))
			}
		})
	}
}

// run checks v for one element type.
func run[T gemm.Element](t *testing.T, s Suite, v gemm.Variant, p gemm.Params, kind kind[T]) {
	resolved, err := v.Resolve(p)
	Must(t, err)
	m, err := gemm.New[T](v, p)
	if errors.Is(err, gemm.ErrUnavailable) {
		t.Skip(err)
	}
	Must(t, err)
	u := under[T]{m: m, v: v, p: resolved, s: s, kind: kind}
	for _, c := range u.checks() {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(u); err != nil {
				t.Error(err)
			}
		})
	}
}

// under is the multiplier under test. The checks use it one after the other.
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

// kind has the properties of an element type that the suite needs.
type kind[T gemm.Element] struct {
	sentinel T                                        // fills guard zones, and C before a product
	small    func(i int) T                            // one of the elements for which products are exact
	add, mul func(a, b T) T                           // exact for these elements
	product  func(a, b gemm.Matrix[T]) gemm.Matrix[T] // exact for these elements; C of half precision is rounded
	own      []named[T]                               // checks for this type only
}

func (u under[T]) checks() []named[T] {
	return append([]named[T]{
		{"declared", checkDeclared[T]},
		{"exact", everyShape(exact[T])},
		{"shape errors", checkShapeErrors[T]},
		{"overlap", checkOverlap[T]},
		{"cancelled", checkCancelled[T]},
		{"empty", checkEmpty[T]},
		{"polled", checkPolled[T]},
		{"concurrent", checkConcurrent[T]},
		{"model", checkModel[T]},
	}, u.kind.own...)
}
