package analysis

import (
	"testing"

	"gemm"
	"gemm/compare"
)

func TestRanItself(t *testing.T) {
	row := func(variant string, m, n, k int, params, resolved gemm.Params) compare.Record {
		return compare.Record{
			Key:    compare.Key{Variant: variant, Problem: compare.Problem{Shape: gemm.Shape{M: m, N: n, K: k}}},
			Params: params, Resolved: resolved,
		}
	}
	for _, test := range []struct {
		name string
		r    compare.Record
		want bool
	}{
		{"no cut-off", row("serial/packed", 8, 8, 8, nil, nil), true},
		{"below", row("serial/strassen", 512, 512, 512, nil, gemm.Params{"cutoff": 1200}), false},
		{"at it", row("serial/strassen", 512, 512, 512, nil, gemm.Params{"cutoff": 512}), false},
		{"above", row("serial/winograd", 513, 513, 513, nil, gemm.Params{"cutoff": 512}), true},
		{"asked for", row("parallel/strassen", 512, 512, 512, gemm.Params{"cutoff": 512}, nil), false},
		{"thin", row("serial/strassen", 2000, 2000, 100, nil, gemm.Params{"cutoff": 512}), false},
		{"a vector", row("serial/strassen", 2000, 2000, 1, nil, gemm.Params{"cutoff": 1}), false},
		{"divided once", row("serial/divide", 2000, 100, 100, nil, gemm.Params{"cutoff": 512}), true},
		{"not divided", row("serial/divide", 128, 128, 128, nil, gemm.Params{"cutoff": 128}), false},
	} {
		if got := RanItself(test.r); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
