package gemm_test

import (
	"errors"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/roundoff"
)

// TestFastest checks which offer is chosen: of those that meet the request the fastest, of equals the last.
func TestFastest(t *testing.T) {
	f32, f64 := gemm.TypeNamed("f32"), gemm.TypeNamed("f64")
	offers := []gemm.Offer{
		{Variant: "a/slow", Type: f64, Bound: 1e-13, Time: 9},
		{Variant: "a/fast", Type: f32, Bound: 1e-5, Time: 1},
		{Variant: "a/same", Type: f32, Bound: 1e-4, Time: 1},
		{Variant: "a/finer", Type: f64, Params: gemm.Params{"n": 3}, Kind: gemm.Euclidean, Bound: 9.999e-14, Time: 10},
	}
	for accuracy, want := range map[float64]int{1e-3: 2, 1e-4: 2, 9e-5: 1, 1e-6: 0, 9.999e-14: 3} {
		if i, err := gemm.Fastest(offers, accuracy); err != nil || i != want {
			t.Errorf("%g: offer %d, want %d (%v)", accuracy, i, want, err)
		}
	}
	_, err := gemm.Fastest(offers, 9.99e-14)
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(),
		"accuracy 9.99e-14: the best that can be promised here is 1e-13 (euclidean), by a/finer n=3 in f64") {
		t.Error(err)
	}
	if _, err := gemm.Fastest([]gemm.Offer{{Bound: 2}}, 1e-3); !errors.Is(err, gemm.ErrUnavailable) {
		t.Error(err)
	}
}

// TestOffers checks the bounds of a variant with a parameter that refines its products, and of rounded operands.
func TestOffers(t *testing.T) {
	bound := gemm.Classical
	bound.LeastShare = 0.5
	bound.Worst = func(s gemm.Shape, p gemm.Params, u float64) float64 { return float64(s.K) * u / float64(p.Int("n")) }
	v := gemm.Variant{Name: "a/b", Bound: bound, Params: []gemm.Param{{Name: "n", Default: 0, Max: 3, Refines: 2}}}
	f32, f64, f16 := gemm.TypeNamed("f32"), gemm.TypeNamed("f64"), gemm.TypeNamed("f16")
	s := gemm.Shape{M: 1, N: 2, K: 3}
	offers, err := gemm.Offers(v, f32, f32, s, nil, true)
	gemmtest.Must(t, err)
	if len(offers) != 2 || offers[0].Bound != 3*0x1p-25 || offers[1].Bound != 0x1p-24 || offers[1].Time != 3 ||
		offers[1].LeastShare != 0.5 || offers[1].String() != "a/b n=3" {
		t.Errorf("%+v", offers)
	}
	for _, test := range []struct {
		of, operands gemm.Type
		plain        bool
		want         float64
	}{
		{f64, f32, true, 0x1p-53},
		{f32, f16, true, 0x1p-24},
		{f32, f64, true, 0x1p-24*(1+0x1p-23+0x1p-48) + 0x1p-23 + 0x1p-48},
		{f16, f16, true, 0x1p-11 + (1+0x1p-11)*0x1p-24},
		{f64, f64, false, 0x1p-53 + roundoff.Gamma(3, 0x1p-53)*(1+0x1p-53)},
	} {
		offers, err := gemm.Offers(v, test.of, test.operands, s, gemm.Params{"n": 3}, test.plain)
		gemmtest.Must(t, err)
		if len(offers) != 1 || offers[0].Bound != test.want {
			t.Errorf("%+v: %+v", test, offers)
		}
	}
	if _, err := gemm.Offers(v, f32, f32, s, gemm.Params{"m": 1}, true); !errors.Is(err, gemm.ErrParam) {
		t.Error(err)
	}
}
