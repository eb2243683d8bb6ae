package turn

import (
	"testing"

	"gemm/compare/plan"
	"gemm/gemmtest"
)

// TestDisturbs names the candidates after which the next one has to wait.
func TestDisturbs(t *testing.T) {
	at := func(name string, threads int, elsewhere bool) *candidate {
		c := &candidate{c: plan.Request{Variant: gemmtest.Variant(name, nil)}.Case(), product: product{elsewhere: elsewhere}}
		c.row.Threads = threads
		return c
	}
	one, two := at("serial/packed", 1, false), at("parallel/packed", 2, false)
	library, threaded, inGo := at("reference/openblas", 1, true), at("reference/openblas", 2, true),
		at("reference/reedsolomon", 2, false)
	for _, test := range []struct {
		name         string
		before, next *candidate
		want         bool
	}{
		{"after one thread another", one, one, false},
		{"after one thread two", one, two, false},
		{"after workers one thread", two, one, true},
		{"after workers the same workers", two, two, false},
		{"after workers a library's", two, threaded, true},
		{"after workers a library's in Go", two, inGo, true},
		{"after one thread a library", one, library, false},
		{"after a library another", library, library, false},
		{"after a library one thread", library, one, true},
		{"after a library workers", library, two, true},
		{"after a library's workers one thread", threaded, one, true},
	} {
		if got := test.before.disturbs(test.next); got != test.want {
			t.Errorf("%s: disturbs is %v, want %v", test.name, got, test.want)
		}
	}
}
