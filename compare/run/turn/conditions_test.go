package turn

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// loadable notes the artificial loads of the products that it computes.
type loadable struct {
	gemmtest.Func[float64]
	loads *[]int
}

func (m loadable) Loaded(load int) gemm.Multiplier[float64] {
	*m.loads = append(*m.loads, load)
	return m
}

// TestConditions keeps the conditions from the variant's constructor, applies them, and wants
// them in the record as parameters.
func TestConditions(t *testing.T) {
	var given, loads []int
	seen := map[int]bool{} // GOMAXPROCS
	v := gemmtest.Shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		given = append(given, len(p))
		if _, err := v.Resolve(p); err != nil {
			t.Error(err)
		}
		return loadable{gemmtest.Observed(func() { seen[runtime.GOMAXPROCS(0)] = true }), &loads}, nil
	}
	before := runtime.GOMAXPROCS(0)
	rows := run(t, plan.Ladder{
		Experiment: record.ArtificialLoad, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"threads": {1}, "gomaxprocs": {1, before + 3}, "load": {0, 3}},
	}, time.Millisecond)
	var got, want []string
	for _, r := range rows {
		text, err := json.Marshal([]gemm.Params{r.Params, r.Resolved})
		if err != nil || r.Status != record.OK || !(r.Ceiling > 0) {
			t.Errorf("%v: %s, %s, ceiling %v; %v", r.Params, r.Status, r.Reason, r.Ceiling, err)
		}
		got = append(got, string(text))
	}
	for _, procs := range []int{1, before + 3} {
		for _, load := range []int{0, 3} {
			want = append(want, fmt.Sprintf(`[{"gomaxprocs":%d,"load":%d,"threads":1},{"affinity":"none","chunk":0,`+
				`"gomaxprocs":%[1]d,"load":%[2]d,"schedule":"static","threads":1}]`, procs, load))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the records have %q, want %q", got, want)
	}
	if len(seen) != 2 || !seen[1] || !seen[before+3] || runtime.GOMAXPROCS(0) != before {
		t.Errorf("set: %v; %d afterwards, want %d", seen, runtime.GOMAXPROCS(0), before)
	}
	if !slices.Equal(loads, []int{3, 3}) {
		t.Errorf("multipliers were loaded by %v, want 3 twice", loads)
	}
	if want := len(v.Params); slices.ContainsFunc(given, func(n int) bool { return n != want }) {
		t.Errorf("constructors were given %v parameters, want the %d of the variant", given, want)
	}
}
