package plan

import (
	"errors"
	"math"
	"testing"

	"gemm"
)

func TestCasesOnRanks(t *testing.T) {
	v := onRanks("mpi/a")
	for _, test := range []struct {
		params               gemm.Params
		ranks, threads, each int
	}{
		{nil, 1, 1, 1},
		{gemm.Params{"ranks": 4}, 4, 4, 1},
		{gemm.Params{"ranks": 4, "threads": 3}, 4, 12, 3},
		{gemm.Params{"ranks": 2, "threads": 0}, 2, 6, 3},
		{gemm.Params{"ranks": 3, "affinity": "none"}, 3, 3, 1},
	} {
		c := Request{Variant: v, Type: "f64", Shape: gemm.Cube(8), Op: "nn", Params: test.params, Processors: 6}.Case()
		if c.Ranks() != test.ranks || c.Threads() != test.threads || c.Each() != test.each {
			t.Errorf("%v: %d ranks, %d threads, %d of each; want %d, %d, %d", test.params, c.Ranks(), c.Threads(), c.Each(),
				test.ranks, test.threads, test.each)
		}
		if !c.Pinned() {
			t.Errorf("%v: the driver would choose processors", test.params)
		}
	}
	if c := (Request{Variant: variant("serial/a")}.Case()); c.Ranks() != 0 || c.Threads() != 1 || c.Pinned() {
		t.Errorf("a variant of one process has %d ranks and %d threads", c.Ranks(), c.Threads())
	}
}

// TestConditionsOfOthers refuses conditions under which a variant cannot be measured.
func TestConditionsOfOthers(t *testing.T) {
	fixed := shared("parallel/packed")
	fixed.Can = 0
	for _, test := range []struct {
		v    gemm.Variant
		p    gemm.Params
		want string
	}{
		{fixed, gemm.Params{"gomaxprocs": 2}, ""},
		{fixed, gemm.Params{"load": 2}, "gemm: bad parameter: parallel/packed has no load"},
		{variant("serial/ikj"), gemm.Params{"gomaxprocs": 2}, "gemm: bad parameter: serial/ikj has no gomaxprocs"},
		{shared("reference/library"), gemm.Params{"gomaxprocs": 2},
			"gemm: bad parameter: reference/library has no gomaxprocs"},
		{shared("parallel/rows"), gemm.Params{"load": 1001}, "gemm: bad parameter: load is 1001, must be at most 1000"},
		{shared("parallel/rows"), gemm.Params{"gomaxprocs": -1},
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
	v := shared("parallel/rows")
	v.Model = func(gemm.Shape, gemm.Params) gemm.Model {
		return gemm.Model{Flops: 2, Accesses: 4, Workspace: 6,
			Traffic: func(cache, line float64) float64 { return cache + line }}
	}
	m, ok := Request{Variant: v, Params: gemm.Params{"load": 3}}.Case().Model()
	if !ok || m.Flops != 5 || m.Accesses != 10 || m.Workspace != 6 || m.Traffic(8, 4) != 30 {
		t.Errorf("%v: the model under a load is %+v", ok, m)
	}
}

// TestChainOfOthers refuses iterated products of other operations, and of variants that have none.
func TestChainOfOthers(t *testing.T) {
	v, chain := variant("serial/ikj"), gemm.Params{"chain": 2}
	for name, r := range map[string]Request{
		"not square":  {Variant: v, Shape: gemm.Shape{M: 2, N: 3, K: 2}, Alpha: 1, Params: chain},
		"transposed":  {Variant: v, Shape: gemm.Cube(2), Alpha: 1, Op: "nt", Params: chain},
		"alpha":       {Variant: v, Shape: gemm.Cube(2), Alpha: 2, Params: chain},
		"a library":   {Variant: variant("reference/library"), Shape: gemm.Cube(2), Alpha: 1, Params: chain},
		"on ranks":    {Variant: variant("mpi/summa"), Shape: gemm.Cube(2), Alpha: 1, Params: chain},
		"too long":    {Variant: v, Shape: gemm.Cube(2), Alpha: 1, Params: gemm.Params{"chain": 1001}},
		"a GPU's own": {Variant: variant("cuda/torch"), Shape: gemm.Cube(2), Alpha: 1, Params: chain},
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

// TestBatch compares a batch with one product.
func TestBatch(t *testing.T) {
	v := variant("serial/ikj")
	v.Model = func(s gemm.Shape, _ gemm.Params) gemm.Model { return gemm.Model{Flops: 2 * s.Terms()} }
	one := Request{Variant: v, Type: "f64", Shape: gemm.Cube(2), Alpha: 1}
	many := one
	many.Batch = 7
	a, b := one.Case(), many.Case()
	if b.Bytes() != 7*a.Bytes() || b.Flops() != 7*a.Flops() || b.ID() == a.ID() {
		t.Errorf("7 products: %v bytes and %v operations, one %v and %v", b.Bytes(), b.Flops(), a.Bytes(), a.Flops())
	}
	many.Params = gemm.Params{"chain": 2}
	if err := many.Case().Err(); !errors.Is(err, gemm.ErrParam) {
		t.Errorf("a batch of iterated products: %v", err)
	}
}

// TestBytes checks that the operands of a code are counted once. The verifier makes no copies of
// them in another type and no integers; nor does a single product.
func TestBytes(t *testing.T) {
	v := variant("serial/a")
	for typ, want := range map[string]struct{ product, all float64 }{
		"gf256": {(10+4)*65536 + 40, (10+4)*65536 + 40},
		"f64":   {8 * ((10+4)*65536 + 40), 2 * 8 * ((10+4)*65536 + 40)},
		"f32":   {4*((10+4)*65536+40) + 8*(10*65536+40), 2 * (4*((10+4)*65536+40) + 8*(10*65536+40))},
	} {
		c := Request{Variant: v, Type: typ, Shape: code(10, 4, 65536), Op: "nn", Alpha: 1}.Case()
		if product, all := c.ProductBytes(), c.Bytes(); product != want.product || all != want.all {
			t.Errorf("%s: %v bytes, a product %v, want %v, %v", typ, all, product, want.all, want.product)
		}
	}
	for _, op := range []string{"nn", "tt"} {
		c := Request{Variant: v, Type: "f64", Shape: code(10, 4, 65536), Op: op, Alpha: 1, LD: math.MaxInt}.Case()
		if bytes := c.Bytes(); !(bytes > math.MaxInt) {
			t.Errorf("%s with rows %d elements apart takes %v bytes", op, c.LD, bytes)
		}
	}
}
