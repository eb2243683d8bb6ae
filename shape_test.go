package gemm_test

import (
	"slices"
	"testing"

	"gemm"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		shape       gemm.Shape
		text, label string
		terms       float64
	}{
		{gemm.Cube(7), "7", "7", 343},
		{gemm.Shape{M: 2, N: 3, K: 4}, "2x3x4", "2×3×4", 24},
		{gemm.Shape{M: 5, N: 5, K: 1}, "5x5x1", "5×5×1", 25},
	} {
		got, err := gemm.ParseShape(c.text)
		if err != nil || got != c.shape || got.String() != c.text || got.Label() != c.label || got.Terms() != c.terms {
			t.Errorf("%q is %v %q %v, %v", c.text, got, got.Label(), got.Terms(), err)
		}
	}
	for _, text := range []string{"", "x", "0", "-1", "1x2", "1x2x0", "1x2x3x4", "1.5", "3x", " 3",
		"99999999999999999999"} {
		if s, err := gemm.ParseShape(text); err == nil {
			t.Errorf("%q is taken as %v", text, s)
		}
	}
	if n := gemm.Cube(1 << 30).Terms(); n != 1<<90 {
		t.Errorf("terms of a large cube: %v", n)
	}
}

func TestShapesInOrder(t *testing.T) {
	want := []gemm.Shape{{M: 0, N: 9, K: 9}, gemm.Cube(2), {M: 1, N: 4, K: 4}, {M: 4, N: 1, K: 4}, {M: 4, N: 4, K: 1},
		gemm.Cube(3)}
	got := []gemm.Shape{want[3], want[5], want[4], want[0], want[2], want[1]}
	slices.SortFunc(got, gemm.Shape.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("in order: %v", got)
	}
}
