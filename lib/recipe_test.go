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
