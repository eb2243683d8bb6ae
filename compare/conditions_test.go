package compare

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"gemm"
)

// loadable notes the artificial loads of the products that it computes.
type loadable struct {
	multiplier[float64]
	load  int
	loads *[]int
}

func (m loadable) Loaded(load int) gemm.Multiplier[float64] {
	*m.loads = append(*m.loads, load)
	m.load = load
	return m
}

// TestConditions keeps the conditions from the variant's constructor, applies them, and wants
// them in the record as parameters.
func TestConditions(t *testing.T) {
	var given, loads []int
	v := shared("parallel/rows", nil)
	v.F64 = func(p gemm.Params) (gemm.Multiplier[float64], error) {
		given = append(given, len(p))
		if _, err := v.Resolve(p); err != nil {
			t.Error(err)
		}
		return loadable{product[float64], 0, &loads}, nil
	}
	rows := run(t, &Store{}, Ladder{
		Experiment: ArtificialLoad, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"threads": {1}, "gomaxprocs": {1, 2}, "load": {0, 3}},
	}, time.Millisecond)
	var got []string
	for _, r := range rows {
		text, err := json.Marshal([]gemm.Params{r.Params, r.Resolved})
		if err != nil || r.Status != OK {
			t.Errorf("%v: %s, %s; %v", r.Params, r.Status, r.Reason, err)
		}
		got = append(got, string(text))
	}
	const rest = `"schedule":"static","threads":1}]`
	if want := []string{
		`[{"gomaxprocs":1,"load":0,"threads":1},{"affinity":"none","chunk":0,"gomaxprocs":1,"load":0,` + rest,
		`[{"gomaxprocs":1,"load":3,"threads":1},{"affinity":"none","chunk":0,"gomaxprocs":1,"load":3,` + rest,
		`[{"gomaxprocs":2,"load":0,"threads":1},{"affinity":"none","chunk":0,"gomaxprocs":2,"load":0,` + rest,
		`[{"gomaxprocs":2,"load":3,"threads":1},{"affinity":"none","chunk":0,"gomaxprocs":2,"load":3,` + rest,
	}; !slices.Equal(got, want) {
		t.Errorf("the records have %q, want %q", got, want)
	}
	if !slices.Equal(loads, []int{3, 3}) {
		t.Errorf("multipliers were loaded by %v, want 3 twice", loads)
	}
	if want := len(shared("parallel/rows", nil).Params); slices.ContainsFunc(given,
		func(n int) bool { return n != want }) {
		t.Errorf("constructors were given %v parameters, want the %d of the variant", given, want)
	}
}

// TestConditionsOfOthers refuses conditions under which a variant cannot be measured.
func TestConditionsOfOthers(t *testing.T) {
	fixed := shared("parallel/packed", nil)
	fixed.Can = 0
	for _, test := range []struct {
		v    gemm.Variant
		p    gemm.Params
		want string
	}{
		{fixed, gemm.Params{"gomaxprocs": 2}, ""},
		{fixed, gemm.Params{"load": 2}, "gemm: bad parameter: parallel/packed has no load"},
		{variant("serial/ikj", nil), gemm.Params{"gomaxprocs": 2}, "gemm: bad parameter: serial/ikj has no gomaxprocs"},
		{shared("reference/library", nil), gemm.Params{"gomaxprocs": 2},
			"gemm: bad parameter: reference/library has no gomaxprocs"},
		{shared("parallel/rows", nil), gemm.Params{"load": 1001}, "gemm: bad parameter: load is 1001, must be at most 1000"},
		{shared("parallel/rows", nil), gemm.Params{"gomaxprocs": -1},
			"gemm: bad parameter: gomaxprocs is -1, must be at least 0"},
	} {
		var got string
		if err := (Request{Variant: test.v, Params: test.p}).Case().Err(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %v: %q, want %q", test.v.Name, test.p, got, test.want)
		}
	}
}

// TestModelUnderLoad checks that a load of 3 multiplies the operations of a product by 1 + 3/2, and
// does not change its memory.
func TestModelUnderLoad(t *testing.T) {
	v := shared("parallel/rows", nil)
	v.Model = func(gemm.Shape, gemm.Params) gemm.Model {
		return gemm.Model{Flops: 2, Accesses: 4, Workspace: 6,
			Traffic: func(cache, line float64) float64 { return cache + line }}
	}
	m, ok := Request{Variant: v, Params: gemm.Params{"load": 3}}.Case().model()
	if !ok || m.Flops != 5 || m.Accesses != 10 || m.Workspace != 6 || m.Traffic(8, 4) != 30 {
		t.Errorf("%v: the model under a load is %+v", ok, m)
	}
}

// TestChains measures an iterated product. It wants the multiplier called for each step of the check on integers and of
// every sample, a rate of all steps together, and a wrong result if a step is left out.
func TestChains(t *testing.T) {
	const steps = 3
	calls := 0
	v := variant("serial/ikj", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		calls++
		return product(ctx, c, a, b)
	})
	l := Ladder{Experiment: IteratedProduct, Variants: []gemm.Variant{v},
		Sweep: map[string][]any{"chain": {steps}}}
	r := run(t, &Store{}, l, 0)[0]
	if r.Status != OK || r.Resolved["chain"] != steps || r.Inner != 1 || calls < steps*(1+len(r.Samples)) ||
		calls%steps != 0 {
		t.Fatalf("%s %s, %v: %d calls for %d samples of %d",
			r.Status, r.Reason, r.Resolved, calls, len(r.Samples), r.Inner)
	}
	if want := 2 * r.Terms() * steps / float64(r.Median) / 1e9; math.Abs(float64(r.Gflops)-want) > 1e-9*want {
		t.Errorf("%v GFLOP/s, want %v", r.Gflops, want)
	}
	one := v
	one.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
		step := 0
		return multiplier[float64](func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
			if step++; step > steps && step%steps == 0 { // the check on integers passes
				return nil
			}
			return product(ctx, c, a, b)
		}), nil
	}
	l.Variants = []gemm.Variant{one}
	if r := run(t, &Store{}, l, 0)[0]; r.Status != Wrong || r.Speed() {
		t.Errorf("without the last product: %s %s", r.Status, r.Reason)
	}
}

// TestChainOfOthers refuses iterated products of other operations, and of variants that have none.
func TestChainOfOthers(t *testing.T) {
	v, chain := variant("serial/ikj", nil), gemm.Params{"chain": 2}
	for name, r := range map[string]Request{
		"not square":  {Variant: v, Shape: gemm.Shape{M: 2, N: 3, K: 2}, Alpha: 1, Params: chain},
		"transposed":  {Variant: v, Shape: gemm.Cube(2), Alpha: 1, Op: "nt", Params: chain},
		"alpha":       {Variant: v, Shape: gemm.Cube(2), Alpha: 2, Params: chain},
		"a library":   {Variant: variant("reference/library", nil), Shape: gemm.Cube(2), Alpha: 1, Params: chain},
		"on ranks":    {Variant: variant("mpi/summa", nil), Shape: gemm.Cube(2), Alpha: 1, Params: chain},
		"too long":    {Variant: v, Shape: gemm.Cube(2), Alpha: 1, Params: gemm.Params{"chain": 1001}},
		"a GPU's own": {Variant: variant("cuda/torch", nil), Shape: gemm.Cube(2), Alpha: 1, Params: chain},
	} {
		if err := r.Case().Err(); !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%s: %v, want an ErrParam", name, err)
		}
	}
	c := Request{Variant: v, Shape: gemm.Cube(2), Alpha: 1, Params: gemm.Params{"chain": 0}}.Case()
	if _, has := c.resolved["chain"]; c.Err() != nil || has {
		t.Errorf("one product: %v, %v", c.Err(), c.resolved)
	}
}
