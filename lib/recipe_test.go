//go:build cgo && !windows

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRecipe checks what programs in other languages are answered: a recipe, or a refusal that says
// of which kind it is.
func TestRecipe(t *testing.T) {
	const request = `{"variant": "cuda/tuned", "type": "f64", "m": 64, "n": 64, "k": 64,
		"a": {"ld": 64}, "b": {"ld": 64}, "c": {"ld": 64},
		"gpu": {"cc": "CC", "multiprocessors": 100, "clock_mhz": 1000}}`
	var x recipe
	if err := json.Unmarshal(recipeOf([]byte(strings.Replace(request, "CC", "8.0", 1))), &x); err != nil ||
		x.Variant != "cuda/tuned" || len(x.Launches) == 0 {
		t.Errorf("%+v, %v", x, err)
	}
	// The magnitudes of operands decide whether f16x3 has a bound, and residues are as many as needed.
	for members, want := range map[string]string{
		`"type": "f32", "accuracy": 1e-3, "least_share": 0.5,`:               "cuda/f16x3",
		`"type": "f32", "accuracy": 1e-3,`:                                   "cuda/tuned",
		`"type": "f64", "accuracy": 1e-9,`:                                   "cuda/ozaki-wgmma",
		`"type": "f32", "accuracy": 1e-3, "variant": "cuda/tuned-tf32-mma",`: "accuracy 0.001: the best",
		`"type": "f32", "accuracy": 1e-9,`:                                   "accuracy 1e-09: the best",
	} {
		sent := strings.NewReplacer("CC", "9.0", ": 64", ": 4096", `"variant": "cuda/tuned", "type": "f64",`,
			members).Replace(request)
		var got struct {
			recipe
			refusal
		}
		if err := json.Unmarshal(recipeOf([]byte(sent)), &got); err != nil ||
			!strings.HasPrefix(got.Variant+got.Error, want) {
			t.Errorf("%s: %s %+v, %v, want %s", members, got.Variant, got.refusal, err, want)
		}
	}
	for sent, want := range map[string]struct {
		text        string
		unavailable bool
	}{
		strings.Replace(request, "CC", "7.0", 1): {"needs compute capability 8.0", true},
		"{}":                                     {"compute capability", false},
		"no JSON":                                {"invalid character", false},
	} {
		var r refusal
		if err := json.Unmarshal(recipeOf([]byte(sent)), &r); err != nil || !strings.Contains(r.Error, want.text) ||
			r.Unavailable != want.unavailable {
			t.Errorf("%s: %+v, %v", sent, r, err)
		}
	}
}
