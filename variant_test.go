package gemm_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/roundoff"
	"gemm/serial"
)

// described is a variant with a parameter of every kind.
var described = gemm.Variant{
	Name: "family/algorithm",
	Params: []gemm.Param{
		{Name: "cutoff", Default: 64, Min: 1, Max: 1024},
		{Name: "leaf", Default: "a", Choices: []string{"a", "b"}},
	},
	F64: func(p gemm.Params) (gemm.Multiplier[float64], error) {
		return nil, errors.New("constructed with " + p.String())
	},
}

func TestResolve(t *testing.T) {
	p, err := described.Resolve(gemm.Params{"cutoff": 32})
	if err != nil || p.Int("cutoff") != 32 || p.Text("leaf") != "a" {
		t.Errorf("Resolve(cutoff=32) = %v, %v", p, err)
	}
	for text, bad := range map[string]gemm.Params{
		"has no block":         {"block": 1},
		"at least 1":           {"cutoff": 0},
		"at most 1024":         {"cutoff": 1025},
		"must be an integer":   {"cutoff": "many"},
		"must be one of a, b":  {"leaf": "c"},
		"is 3, must be one of": {"leaf": 3},
		"is a float64":         {"cutoff": 1.5},
	} {
		if _, err := described.Resolve(bad); !errors.Is(err, gemm.ErrParam) || !strings.Contains(err.Error(), text) {
			t.Errorf("Resolve(%v) = %v, want an ErrParam with %q", bad, err, text)
		}
	}
	if _, err := described.Resolve(gemm.Params{"block": 1, "cutoff": 0}); !strings.Contains(err.Error(), "block") ||
		!strings.Contains(err.Error(), "cutoff") {
		t.Errorf("of two bad parameters only one is named: %v", err)
	}
}

func TestNew(t *testing.T) {
	if _, err := gemm.New[float64](described, nil); err == nil || err.Error() != "constructed with cutoff=64 leaf=a" {
		t.Errorf("New = %v, want the constructor's error with the defaults", err)
	}
	if _, err := gemm.New[gf256.Elem](described, nil); !errors.Is(err, gemm.ErrType) {
		t.Errorf("New of a type that is not there = %v", err)
	}
	if _, err := gemm.New[float64](described, gemm.Params{"cutoff": -1}); !errors.Is(err, gemm.ErrParam) {
		t.Errorf("New with a bad parameter = %v", err)
	}
	if described.Family() != "family" || strings.Join(described.Types(), " ") != "f64" {
		t.Errorf("family %s, types %v", described.Family(), described.Types())
	}
}

func TestLookup(t *testing.T) {
	list := []gemm.Variant{
		{Name: "serial/naive"}, {Name: "serial/packed"}, {Name: "parallel/packed"}, {Name: "mpi/summa"},
	}
	for name, want := range map[string]string{
		"serial/pack":  "serial/naive, serial/packed",
		"serial":       "serial/naive, serial/packed",
		"packed":       "serial/packed, parallel/packed",
		"cuda/packed":  "serial/packed, parallel/packed",
		"summa":        "mpi/summa",
		"acked":        "serial/naive, serial/packed, parallel/packed, mpi/summa",
		"":             "serial/naive, serial/packed, parallel/packed, mpi/summa",
		"parallel/ikj": "parallel/packed",
	} {
		_, err := gemm.Lookup(list, name)
		if !errors.Is(err, gemm.ErrVariant) || !strings.HasSuffix(err.Error(), "the list has "+want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if _, err := gemm.Lookup(nil, "serial/ikj"); err == nil || !strings.HasSuffix(err.Error(), "the list has none") {
		t.Errorf("of no variants: %v", err)
	}
	if v, err := gemm.Lookup(list, "parallel/packed"); err != nil || v.Name != "parallel/packed" {
		t.Errorf("got %s, %v", v.Name, err)
	}
}

// TestNewGemmer has a variant without the full operation, and one that declares it.
func TestNewGemmer(t *testing.T) {
	naive, err := gemm.Lookup(serial.Variants(), "serial/naive")
	gemmtest.Must(t, err)
	if g, err := gemm.NewGemmer[float64](naive, nil); g != nil || !errors.Is(err, gemm.ErrVariant) ||
		!strings.Contains(err.Error(), "serial/naive computes") {
		t.Errorf("serial/naive: %v, %v", g, err)
	}
	naive.Can |= gemm.Gemms // a false declaration
	if g, err := gemm.NewGemmer[float64](naive, nil); g != nil || !errors.Is(err, gemm.ErrVariant) {
		t.Errorf("serial/naive, declared: %v, %v", g, err)
	}
	packed, err := gemm.Lookup(serial.Variants(), "serial/packed")
	gemmtest.Must(t, err)
	if g, err := gemm.NewGemmer[float32](packed, nil); g == nil || err != nil {
		t.Errorf("serial/packed: %v, %v", g, err)
	}
	if g, err := gemm.NewGemmer[float32](packed, gemm.Params{"no": 1}); g != nil || !errors.Is(err, gemm.ErrParam) {
		t.Errorf("a bad parameter: %v, %v", g, err)
	}
}

func TestParamsInJSON(t *testing.T) {
	want := gemm.Params{"cutoff": 64, "leaf": "serial/packed"}
	data, err := json.Marshal(want)
	gemmtest.Must(t, err)
	var got gemm.Params
	if err := errors.Join(json.Unmarshal(data, &got), got.Whole()); err != nil || got.String() != want.String() ||
		got.Int("cutoff") != 64 {
		t.Errorf("%s is read as %v, %v", data, got, err)
	}
	for _, bad := range []string{`{"cutoff":1.5}`, `{"cutoff":[1]}`, `{"cutoff":1e300}`, `{"cutoff":null}`} {
		got = nil
		if err := json.Unmarshal([]byte(bad), &got); err != nil || !errors.Is(got.Whole(), gemm.ErrParam) {
			t.Errorf("%s is read as %v", bad, got)
		}
	}
}

func TestBounds(t *testing.T) {
	const u = 0x1p-53
	if got := roundoff.Gamma(10, u); math.Abs(got-10*u) > 1e-29 {
		t.Errorf("γ₁₀ = %g, want about %g", got, 10*u)
	}
	if !math.IsInf(roundoff.Gamma(1/u, u), 1) {
		t.Error("γ_k is finite although k·u is 1")
	}
	small, large := gemm.Classical.Random(gemm.Cube(8), nil, u), gemm.Classical.Random(gemm.Cube(4096), nil, u)
	if small != gemm.Classical.Worst(gemm.Cube(8), nil, u) {
		t.Errorf("for few terms the random bound is %g, want the worst-case one", small)
	}
	if worst := gemm.Classical.Worst(gemm.Cube(4096), nil, u); !(large < worst/5) {
		t.Errorf("for 4096 terms the random bound is %g, the worst-case one %g", large, worst)
	}
	if gemm.TypeOf[float32]().UnitRoundoff != 0x1p-24 || gemm.TypeOf[float64]().UnitRoundoff != u ||
		gemm.TypeOf[gf256.Elem]().UnitRoundoff != 0 {
		t.Error("a unit roundoff is wrong")
	}
}
