package reach

import (
	"slices"
	"sync"
	"testing"
)

func TestSilent(t *testing.T) {
	var mu sync.Mutex
	there := map[string]bool{"10.0.0.1": true, "10.0.0.2": true, "10.0.1.2": true}
	asks := func(address string) bool {
		mu.Lock()
		defer mu.Unlock()
		return there[address]
	}
	addresses := map[string][]string{
		"a": {"10.0.0.1"}, "b": {"192.168.0.1", "10.0.0.2"}, "c": {"10.0.1.2"}, "never": {"10.0.0.3"},
	}
	for _, own := range Addresses() { // answers, but as this host
		there[own] = true
		addresses["same"] = append(addresses["same"], own)
	}
	h := watch(addresses, asks)
	if got := h.Silent(); got != nil {
		t.Errorf("silent are %q, but those that answered do so", got)
	}
	mu.Lock()
	clear(there)
	mu.Unlock()
	if got := h.Silent(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("silent are %q, want a, b and c", got)
	}
	if got := (*Hosts)(nil).Silent(); got != nil {
		t.Errorf("of no hosts, %q are silent", got)
	}
}

// TestAnswers asks this host, which refuses or accepts: both are answers.
func TestAnswers(t *testing.T) {
	if !answers("127.0.0.1") {
		t.Error("this host does not answer")
	}
}
