package analysis

import (
	"testing"

	"gemm"
	"gemm/compare"
)

// TestRan names the variant that computed a row, on both sides of the cut-off.
func TestRan(t *testing.T) {
	row := func(variant string, m, n, k int, resolved gemm.Params) compare.Record {
		return compare.Record{Key: compare.Key{Variant: variant,
			Problem: compare.Problem{Shape: gemm.Shape{M: m, N: n, K: k}}}, Resolved: resolved}
	}
	cutoff := gemm.Params{"cutoff": 500, "leaf": "serial/packed"}
	tests := []struct {
		name string
		row  compare.Record
		want string
	}{
		{"above the cut-off", row(Strassen, 501, 501, 501, cutoff), Strassen},
		{"at the cut-off", row(Strassen, 500, 500, 500, cutoff), Packed},
		{"winograd below the cut-off", row(Winograd, 64, 64, 64, cutoff), Packed},
		{"one large dimension does not divide", row(Strassen, 4096, 64, 4096, cutoff), Packed},
		{"a vector is not divided", row(Strassen, 4096, 4096, 1, gemm.Params{"cutoff": 1}), Packed},
		{"another leaf", row(Strassen, 64, 64, 64, gemm.Params{"cutoff": 500, "leaf": "serial/naive"}), Baseline},
		{"on a team", row(ParallelStrassen, 64, 64, 64, gemm.Params{"cutoff": 1000}), ParallelPacked},
		{"divide by its largest dimension", row(Divide, 64, 129, 64, gemm.Params{"cutoff": 128}), Divide},
		{"divide at the cut-off", row(Divide, 128, 128, 128, gemm.Params{"cutoff": 128, "leaf": Hinted}), Hinted},
		{"what the record says", row(Strassen, 4096, 4096, 4096, gemm.Params{"cutoff": 500, "ran": Packed}), Packed},
		{"no cut-off", row(Strassen, 64, 64, 64, nil), Strassen},
		{"a cut-off of another variant", row(Packed, 64, 64, 64, cutoff), Packed},
	}
	for _, test := range tests {
		if got := Ran(test.row); got != test.want {
			t.Errorf("%s: %s ran, want %s", test.name, got, test.want)
		}
	}
	asked := row(Strassen, 64, 64, 64, nil)
	asked.Params = gemm.Params{"cutoff": 64}
	if got := Ran(asked); got != Packed {
		t.Errorf("a cut-off that was asked for: %s ran, want %s", got, Packed)
	}
}

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
