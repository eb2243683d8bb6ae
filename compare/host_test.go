package compare

import (
	"math"
	"testing"
	"time"

	"gemm"
	"gemm/compare/topology"
)

// TestHostID: machines that differ in their name or processor have ids of their own, and what
// is measured of one changes none.
func TestHostID(t *testing.T) {
	host := Host{CPU: "AMD EPYC", Sockets: 1, Cores: 2, ISA: "avx512", Memory: 24 << 30,
		Caches: []Cache{{Level: 1, Bytes: 32 << 10}}}
	id := host.id("debian")
	host.Ceilings, host.Memory = []Ceiling{{Unit: "cpu"}}, host.Memory+4096
	host.Topology = &topology.Topology{Processors: "0-1"}
	if got := host.id("debian"); got != id {
		t.Errorf("after it was measured the host is %s, before %s", got, id)
	}
	ids := map[string]string{id: "the host"}
	for name, other := range map[string]func(h *Host) string{
		"another name":      func(h *Host) string { return h.id("ubuntu") },
		"another processor": func(h *Host) string { h.CPU = "AMD EPYC 9004"; return h.id("debian") },
		"another generation": func(h *Host) string {
			h.Caches = []Cache{{Level: 1, Bytes: 48 << 10}}
			return h.id("debian")
		},
		"held":                    func(h *Host) string { h.Held = true; return h.id("debian") },
		"another instruction set": func(h *Host) string { h.ISA = "avx2"; return h.id("debian") },
	} {
		h := host
		got := other(&h)
		if was, ok := ids[got]; ok {
			t.Errorf("%s has the id of %s, %s", name, was, got)
		}
		ids[got] = name
	}
}

// TestBandwidthIsMeasuredWhereItIsNeeded: at the numbers of threads of rows that a report compares
// with it, where records are kept for one.
func TestBandwidthIsMeasuredWhereItIsNeeded(t *testing.T) {
	plain := variant("test/plain", product[float64]) // its model predicts no traffic
	streaming := variant("test/streaming", product[float64])
	streaming.Params = []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	streaming.Model = func(_ gemm.Shape, _ gemm.Params) gemm.Model {
		return gemm.Model{Flops: 1, Traffic: func(_, _ float64) float64 { return 1 }}
	}
	for _, c := range []struct {
		name      string
		bandwidth bool
		time      time.Duration
		variants  []gemm.Variant
		want      int
	}{
		{"no report is made", false, leastTriad, []gemm.Variant{plain, streaming}, 0},
		{"no traffic is predicted", true, leastTriad, []gemm.Variant{plain}, 0},
		{"rows are short", true, leastTriad - 1, []gemm.Variant{streaming}, 0},
		{"a row needs it", true, leastTriad, []gemm.Variant{plain, streaming}, 1},
	} {
		budget := testBudget
		budget.Time = c.time
		d := Driver{Store: &Store{}, Budget: budget, Progress: &silent{}, Ceilings: time.Millisecond,
			Bandwidth: c.bandwidth}
		l := Ladder{Variants: c.variants, Shapes: []gemm.Shape{gemm.Cube(4)}, Types: []string{"f64"},
			Ops: []string{"nn"}, Alpha: 1}
		if err := d.Run(t.Context(), l.Cases()); err != nil {
			t.Fatal(err)
		}
		h := d.Store.Document().Hosts[0]
		if len(h.Bandwidths) != c.want || len(h.Ceilings) == 0 {
			t.Errorf("%s: bandwidths %+v, ceilings %+v; want %d bandwidths", c.name, h.Bandwidths, h.Ceilings, c.want)
		}
	}
}

// TestTriadBytes: the arrays of a run are larger than the caches and take 2 GiB at most.
func TestTriadBytes(t *testing.T) {
	for _, c := range []struct{ cache, want int64 }{
		{0, 64 << 20},
		{32 << 20, 128 << 20},
		{480 << 20, (2 << 30) / 3},
		{math.MaxInt64 / 8, (2 << 30) / 3},
	} {
		if got := triadBytes([]Cache{{Level: 2, Bytes: 1 << 20}, {Level: 3, Bytes: c.cache}}); got != c.want {
			t.Errorf("a cache of %d bytes: arrays of %d bytes, want %d", c.cache, got, c.want)
		}
	}
}
