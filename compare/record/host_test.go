package record

import (
	"testing"

	"gemm/internal/cpu"
)

// TestHostID: machines that differ in their name or processor have ids of their own, and what
// is measured of one changes none.
func TestHostID(t *testing.T) {
	host := Host{CPU: "AMD EPYC", Sockets: 1, Cores: 2, ISA: "avx512", Memory: 24 << 30,
		Caches: []Cache{{Level: 1, Bytes: 32 << 10}}}
	id := host.id("debian")
	host.Ceilings, host.Memory = []Ceiling{{Unit: "cpu"}}, host.Memory+4096
	host.Topology = &cpu.Topology{Processors: "0-1"}
	if got := host.id("debian"); got != id {
		t.Errorf("after it was measured the host is %s, before %s", got, id)
	}
	ids := map[string]string{id: "the host"}
	for name, change := range map[string]func(h *Host){
		"another name":            func(*Host) {},
		"another processor":       func(h *Host) { h.CPU = "AMD EPYC 9004" },
		"another generation":      func(h *Host) { h.Caches = []Cache{{Level: 1, Bytes: 48 << 10}} },
		"held":                    func(h *Host) { h.Held = true },
		"another instruction set": func(h *Host) { h.ISA = "avx2" },
	} {
		h := host
		change(&h)
		got := h.id(map[string]string{"another name": "ubuntu"}[name])
		if was, ok := ids[got]; ok {
			t.Errorf("%s has the id of %s, %s", name, was, got)
		}
		ids[got] = name
	}
}
