package launch

import (
	"slices"
	"sync"
	"testing"
)

func TestUnreachable(t *testing.T) {
	var mu sync.Mutex
	up := map[string]bool{"10.0.0.1": true, "10.0.0.2": true, "10.0.1.2": true}
	probe := func(address string) bool {
		mu.Lock()
		defer mu.Unlock()
		return up[address]
	}
	addresses := map[string][]string{
		"a": {"10.0.0.1"}, "b": {"192.168.0.1", "10.0.0.2"}, "c": {"10.0.1.2"}, "never": {"10.0.0.3"},
	}
	for _, own := range Addresses() { // answers, but as this host
		up[own] = true
		addresses["same"] = append(addresses["same"], own)
	}
	h := watch(addresses, probe)
	if got := h.Unreachable(); got != nil {
		t.Errorf("%q are unreachable, but those that answered do so", got)
	}
	mu.Lock()
	clear(up)
	mu.Unlock()
	if got := h.Unreachable(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q are unreachable, want a, b and c", got)
	}
	if got := (*Hosts)(nil).Unreachable(); got != nil {
		t.Errorf("of no hosts, %q are unreachable", got)
	}
	if !responds("127.0.0.1") { // which refuses or accepts
		t.Error("this host does not answer")
	}
}
