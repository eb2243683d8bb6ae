package analysis

import (
	"math"
	"slices"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
)

// zen is a host with two vector units of AVX-512 at 4 GHz.
var zen = Views(record.Document{Variants: reporttest.Variants(),
	Hosts: []record.Host{{ID: "h", ISA: "avx512", Cores: 2,
		Caches: []record.Cache{{Level: 1, Bytes: 48 << 10, Line: 64}, {Level: 2, Bytes: 1 << 20, Line: 64},
			{Level: 3, Bytes: 32 << 20, Line: 64}},
		Ceilings:   []record.Ceiling{{Unit: "cpu", Pipe: "f64", Threads: 1, Gflops: 128}},
		Bandwidths: []record.Bandwidth{{Unit: "cpu", Name: "triad", Threads: 1, GBps: 16}}}}})[0]

func product(variant string, n, threads int) record.Record {
	return record.Record{Of: reporttest.Variant(variant), Key: record.Key{Variant: variant,
		Problem: record.Problem{Type: "f64", Shape: gemm.Cube(n), LDA: n, LDB: n, LDC: n}}, Threads: threads}
}

func inField(r record.Record) record.Record {
	r.Type = field
	return r
}

// TestCost checks what limits the loops of the ladder, at sizes on both sides of each cache.
func TestCost(t *testing.T) {
	tests := []struct {
		variant string
		n       int
		cycles  float64
		limit   Reason
	}{
		{"serial/naive", 64, 10, Chain},      // a column fits into L1
		{"serial/naive", 500, 10, Chain},     // 500 lines of 768
		{"serial/naive", 512, 12, Conflicts}, // in one set of L1 and 16 sets of L2: from L3
		{"serial/naive", 20000, 12, Lines},   // more lines than L2 has
		{"serial/transposed", 64, 3, Chain},
		{"serial/unrolled", 64, 5.375, Instructions},
		{"serial/ikj", 64, 1.5, Instructions},
		{"serial/ikj", 4096, 2, Stream}, // 128 MiB of B: 16 cycles a line from memory
		{"serial/hinted", 64, 1, Instructions},
		{"serial/blocked", 4096, 1, Instructions},
		{"serial/packed", 64, 0.0625, Arithmetic}, // two vectors of eight a cycle
	}
	for _, test := range tests {
		got, ok := zen.Cost(product(test.variant, test.n, 1))
		if !ok || math.Abs(got.Cycles-test.cycles) > 1e-9 || limit(got) != test.limit {
			t.Errorf("%s at %d: %v cycles by %s, want %v by %s", test.variant, test.n, got.Cycles, limit(got),
				test.cycles, test.limit)
		}
	}
	for _, r := range []record.Record{product("serial/gonum", 64, 1), product("reference/openblas", 64, 1),
		product("serial/naive", 0, 1),
		inField(product("serial/hinted", 64, 1))} {
		if got, ok := zen.Cost(r); ok {
			t.Errorf("%s, %s at %d: a cost of %v", r.Variant, r.Type, r.N, got.Cycles)
		}
	}
	if got, ok := zen.Cost(inField(product("serial/packed", 64, 1))); !ok || got.Lanes != 64 || got.Cycles != 2.5/4/64 {
		t.Errorf("packed over bytes: %v, %v", got, ok)
	}
	generic := *zen
	generic.ISA = "generic"
	if _, ok := generic.Cost(product("serial/packed", 64, 1)); ok {
		t.Error("packed has a cost on a host without vector instructions")
	}
}

// TestCore derives units and the clock from the measured peak, counts the sets of a cache that lines with a stride fall
// into, and the workers that have a tile.
func TestCore(t *testing.T) {
	for _, test := range []struct {
		isa                 string
		gflops              record.Number
		lanes, units, clock float64
	}{{"avx512", 128, 8, 2, 4e9}, {"avx512", 60, 8, 1, 3.75e9}, {"avx2", 56, 4, 2, 3.5e9}, {"generic", 7, 1, 2, 3.5e9}} {
		v := Views(record.Document{Hosts: []record.Host{{ID: "h", ISA: test.isa, Cores: 1,
			Ceilings: []record.Ceiling{{Unit: "cpu", Pipe: "f64", Threads: 1, Gflops: test.gflops}}}}})[0]
		if c := v.core("f64"); c.lanes != test.lanes || c.units != test.units || math.Abs(c.clock-test.clock) > 1 {
			t.Errorf("%s at %v GFLOP/s: %v lanes, %v units, %v Hz", test.isa, test.gflops, c.lanes, c.units, c.clock)
		}
	}
	for stride, want := range map[int]float64{64: 64, 4096: 1, 2048: 2, 512: 8, 8000: 64, 4096 + 64: 64, 12: 64} {
		if got := zen.core("f64").sets(zen.Caches[0], stride); got != want {
			t.Errorf("stride %d: %v sets, want %v", stride, got, want)
		}
	}
	for _, test := range []struct {
		n, tile, threads int
		want             float64
	}{{256, 128, 2, 2}, {128, 128, 2, 1}, {256, 128, 4, 4}, {384, 128, 2, 9.0 / 5}, {256, 0, 3, 3}} {
		r := product("parallel/tiles", test.n, test.threads)
		r.Resolved = gemm.Params{"tile": test.tile}
		if got := busy(r); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("n = %d, tiles of %d, %d threads: %v busy workers, want %v", test.n, test.tile, test.threads, got,
				test.want)
		}
	}
}

// TestAccounts has predictions on both sides of each limit.
func TestAccounts(t *testing.T) {
	for _, test := range []struct {
		predicted, measured float64
		want                bool
	}{
		{8, 10, true}, {8, 16, true}, {8, 16.1, false}, {8, 4, true}, {8, 3.9, false}, {0.5, 2, false}, {1, 2, false},
		{0.06, 0.05, true}, {2, 1.1, false}, {1.5, 1.2, true}, {1, 1, true}, {1.5, 1.01, false}, {math.NaN(), 2, false},
	} {
		if got := Accounts(test.predicted, test.measured); got != test.want {
			t.Errorf("predicted %v, measured %v: %v", test.predicted, test.measured, got)
		}
	}
}

// TestParentsFirst puts parents before the variants that descend from them.
func TestParentsFirst(t *testing.T) {
	got := zen.ParentsFirst([]string{"serial/strassen", "serial/naive", "serial/packed", "other/variant"}, "f64")
	want := []string{"serial/naive", "serial/packed", "serial/strassen", "other/variant"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	rows := []record.Record{product("serial/naive", 64, 1), product("serial/packed", 64, 1)}
	if parent := zen.Ancestor(rows, "serial/packed", "f64"); parent != "serial/naive" {
		t.Errorf("the nearest ancestor of packed with rows is %q", parent)
	}
	if parent := zen.Ancestor(rows, "serial/gonum", "f64"); parent != "" {
		t.Errorf("gonum descends from %q", parent)
	}
	all := []record.Record{product("cuda/dmma", 64, 1), product("cuda/warptile", 64, 1)}
	for typ, want := range map[string]string{"f32": "cuda/warptile", "f64": "cuda/dmma"} {
		if parent := zen.Ancestor(all, "cuda/tuned", typ); parent != want {
			t.Errorf("the parent of tuned in %s is %q", typ, parent)
		}
	}
}

func limit(c Cost) Reason {
	reason, _ := MinBy(loopReasons, func(r Reason) float64 { return -c.Terms[r] })
	return reason
}
