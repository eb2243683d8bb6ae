package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
)

func TestEveryVariantIsDescribed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+/[a-z0-9-]+$`)
	seen := map[string]bool{}
	for _, v := range Variants() {
		if !name.MatchString(v.Name) {
			t.Errorf("%q is no family/algorithm", v.Name)
		}
		if seen[v.Name] {
			t.Errorf("%s is given twice", v.Name)
		}
		seen[v.Name] = true
		if v.Doc == "" || strings.Contains(v.Doc, "\n") {
			t.Errorf("%s: its doc is %q, want one line", v.Name, v.Doc)
		}
		if len(v.Types()) == 0 || v.Model == nil || v.Bound.Kind == "" || v.Bound.Worst == nil || v.Bound.Random == nil ||
			v.Bound.Largest == nil {
			t.Errorf("%s lacks a type, a model or a bound", v.Name)
		}
		for _, q := range v.Params {
			if q.Name == "" || q.Doc == "" {
				t.Errorf("%s: parameter %q has no doc", v.Name, q.Name)
			}
			if _, err := v.Resolve(gemm.Params{q.Name: q.Default}); err != nil {
				t.Errorf("%s: the default of %s is refused: %v", v.Name, q.Name, err)
			}
		}
	}
}

func TestBoundsAndModelsAreSane(t *testing.T) {
	const m, n, k = 300, 200, 100
	for _, v := range Variants() {
		p, err := v.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		const u = 0x1p-53
		s := gemm.Shape{M: m, N: n, K: k}
		worst, random := v.Bound.Worst(s, p, u), v.Bound.Random(s, p, u)
		if !(0 < random && random <= worst && worst < 1) {
			t.Errorf("%s: bounds %g at random and %g at worst", v.Name, random, worst)
		}
		model := v.Model(s, p)
		if !(model.Flops >= m*n*k && model.Flops <= 8*m*n*k) {
			t.Errorf("%s: %g operations for %d products", v.Name, model.Flops, m*n*k)
		}
		if model.Traffic != nil {
			if traffic := model.Traffic(1<<17, 8); !(traffic >= m*n) {
				t.Errorf("%s: %g elements of traffic for a result of %d", v.Name, traffic, m*n)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	var names []string
	for _, v := range Variants() {
		names = append(names, v.Name)
	}
	for word, want := range map[string]string{"serial/strasen": "serial/strassen", "ikj": "serial/ikj",
		"openbals": "reference/openblas"} {
		if near := Nearest(word, names); near[0] != want || len(near) != 3 {
			t.Errorf("nearest to %s are %v, want %s first of three", word, near, want)
		}
	}
}

func TestFamiliesAreInOrder(t *testing.T) {
	if got := Families(); !slices.Equal(got, []string{"serial", "parallel", "reference", "mpi", "cuda"}) {
		t.Errorf("families %v", got)
	}
}
