package lab

import (
	"math"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/gemmtest/reporttest"
)

// TestChains compares steps of iterated products with one product of the same variant and parameters.
func TestChains(t *testing.T) {
	row := func(variant string, seconds float64, params gemm.Params) record.Record {
		return reporttest.Row(variant, 512, seconds, func(r *record.Record) {
			r.Experiment, r.Turn, r.Params = record.IteratedProduct, "chain", params
		})
	}
	rows := []record.Record{
		row("parallel/packed", 1, gemm.Params{"chain": 0, "threads": 1}),
		row("parallel/packed", 0.5, gemm.Params{"chain": 0, "threads": 2}),
		row("parallel/packed", 6, gemm.Params{"chain": 10, "threads": 2}),
		row("serial/packed", 30, gemm.Params{"chain": 10}),
	}
	all := Chains(rows)
	if len(all) != 2 || all[0].Steps != 10 || all[1].One.Variant != "" {
		t.Fatalf("the chains are %+v", all)
	}
	lost := all[0].Lost()
	if !(math.Abs(lost-0.2) <= 1e-9) || all[0].Each.Outcome != analysis.Slower {
		t.Errorf("lost %v: want 0.2; %+v", lost, all[0].Each)
	}
	if lost, seconds := all[1].Lost(), all[1].Seconds(); !math.IsNaN(lost) || seconds != 3 {
		t.Errorf("a chain without its product loses %v, and a step takes %v, not 3", lost, seconds)
	}
	if rows[2].Samples[0] < 5 {
		t.Error("the samples of the record were changed")
	}
}
