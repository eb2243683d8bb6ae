package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/cpu"
)

func TestPlaces(t *testing.T) {
	eight := []int{0, 4, 1, 5, 2, 6, 3, 7} // four cores of two threads
	for _, test := range []struct {
		affinity   string
		processors []int
		workers    int
		want       string
	}{
		{"close", eight, 3, "[0 4 1]"},
		{"close", eight, 8, "[0 4 1 5 2 6 3 7]"},
		{"close", []int{3, 9}, 4, "[3 9 3 9]"},
		{"spread", eight, 1, "[0]"},
		{"spread", eight, 2, "[0 2]"},
		{"spread", eight, 4, "[0 1 2 3]"},
		{"spread", eight, 3, "[0 1 6]"},
		{"spread", []int{3, 9}, 5, "[3 9 3 9 3]"},
	} {
		if got := places(test.processors, test.workers, test.affinity); fmt.Sprint(got) != test.want {
			t.Errorf("%s, %d workers on %v: %v, want %s", test.affinity, test.workers, test.processors, got, test.want)
		}
	}
	if p, err := NewPinned(2, "near"); p != nil || err == nil || !strings.Contains(err.Error(), "near") {
		t.Errorf("affinity near: %v, %v", p, err)
	}
}

// TestPinned checks that each worker is on its processor in every loop, and that the caller's
// thread is as before after the loop.
func TestPinned(t *testing.T) {
	before := cpu.Allowed()
	for _, affinity := range []string{closeBy, spread} {
		for _, workers := range []int{1, 2, 3} {
			p, err := NewPinned(workers, affinity)
			if errors.Is(err, gemm.ErrUnavailable) {
				t.Skip(err)
			}
			gemmtest.Must(t, err)
			for range 3 {
				var mu sync.Mutex
				masks := map[int][]int{}
				err := p.For(context.Background(), workers, Static(0), func(worker, _, _ int) {
					mu.Lock()
					defer mu.Unlock()
					masks[worker] = cpu.Allowed()
				})
				gemmtest.Must(t, err)
				for w := range workers {
					if !slices.Equal(masks[w], []int{p.places[w]}) {
						t.Errorf("%s: worker %d of %d may run on %v, want %d", affinity, w, workers, masks[w], p.places[w])
					}
				}
			}
			if after := cpu.Allowed(); !slices.Equal(after, before) {
				t.Errorf("the caller may run on %v, before on %v", after, before)
			}
			if got := strings.Count(p.Placement(), ",") + 1; got != workers {
				t.Errorf("placement %q of %d workers", p.Placement(), workers)
			}
		}
	}
}
