package compare

import (
	"slices"
	"testing"

	"gemm"
)

// TestPeersProfile plans the profile peers for the variants that take part and one
// that does not.
func TestPeersProfile(t *testing.T) {
	profiles := Profiles()
	i := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == "peers" })
	p := profiles[i]
	threaded := []gemm.Param{{Name: "threads", Default: 1, Min: 1}}
	var variants []gemm.Variant
	for _, name := range []string{"serial/naive", "serial/packed", "serial/gonum", "parallel/packed", "reference/openblas"} {
		v := variant(name, product[float64])
		if v.Family() != "serial" {
			v.Params = threaded
		}
		variants = append(variants, v)
	}
	l := Ladder{Variants: variants, Shapes: p.Shapes, Types: p.Types, Ops: []string{"nn"}, Alpha: 1, Keep: p.Keep, Sweep: map[string][]any{"threads": {1, 2}}}
	cases := l.Cases()
	if extra := p.Experiments(append(variants, variant("serial/ikj", nil)), p.Types); len(extra) > 0 {
		t.Errorf("it has experiments: %v", extra)
	}
	byShape := map[Shape][]string{}
	turns := map[Shape][]string{}
	for _, c := range cases {
		name := c.Variant.Name
		if c.Threads() > 1 {
			name += " 2"
		}
		byShape[c.Shape] = append(byShape[c.Shape], name)
		if !slices.Contains(turns[c.Shape], c.Turn) {
			turns[c.Shape] = append(turns[c.Shape], c.Turn)
		}
	}
	if len(byShape) != len(smallSizes)+len(peerSizes)+len(skinnyShapes) {
		t.Errorf("%d shapes", len(byShape))
	}
	for shape, want := range map[Shape][]string{
		Cube(2):        {"serial/packed", "serial/gonum", "reference/openblas"},
		Cube(257):      {"serial/packed", "serial/gonum", "reference/openblas"},
		Cube(1024):     {"serial/packed", "serial/gonum", "parallel/packed 2", "reference/openblas", "reference/openblas 2"},
		Cube(4096):     {"serial/packed", "parallel/packed 2", "reference/openblas", "reference/openblas 2"},
		{8192, 64, 64}: {"serial/packed", "serial/gonum", "reference/openblas"},
	} {
		if !slices.Equal(byShape[shape], want) {
			t.Errorf("%v: %q, want %q", shape, byShape[shape], want)
		}
		if len(turns[shape]) != 1 || turns[shape][0] == "" {
			t.Errorf("%v: the turns are %q, want one", shape, turns[shape])
		}
	}
}
