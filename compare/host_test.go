package compare

import "testing"

// TestHostID: machines that differ in their name or processor have ids of their own, and what
// is measured of one changes none.
func TestHostID(t *testing.T) {
	host := Host{CPU: "AMD EPYC", Sockets: 1, Cores: 2, ISA: "avx512", Memory: 24 << 30, Caches: []Cache{{Level: 1, Bytes: 32 << 10}}}
	id := host.id("debian")
	host.Ceilings, host.Memory = []Ceiling{{Unit: "cpu"}}, host.Memory+4096
	if got := host.id("debian"); got != id {
		t.Errorf("after it was measured the host is %s, before %s", got, id)
	}
	ids := map[string]string{id: "the host"}
	for name, other := range map[string]func(h *Host) string{
		"another name":            func(h *Host) string { return h.id("ubuntu") },
		"another processor":       func(h *Host) string { h.CPU = "AMD EPYC 9004"; return h.id("debian") },
		"another generation":      func(h *Host) string { h.Caches = []Cache{{Level: 1, Bytes: 48 << 10}}; return h.id("debian") },
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
