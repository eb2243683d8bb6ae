package tuned

import (
	"reflect"
	"strings"
	"testing"
)

var epyc = Host{CPU: "AMD EPYC", Caches: []Cache{{1, 32 << 10}, {2, 1 << 20}, {3, 32 << 20}}}

// sample returns settings of two types and two kernels.
func sample() Settings {
	return Settings{Schema: 1, Host: epyc, Tuned: []Tune{
		{Type: "f32", Kernel: "avx512-32x12", Values: Values{MC: 320, KC: 384, NC: 4096, Cutoff: 1536}},
		{Type: "f64", Kernel: "avx512-16x14", Values: Values{160, 320, 2048, 4096, 110592, 1024}},
	}, Kernels: []Kernel{
		{GPU: "NVIDIA H200", Type: "f32", Rung: "warptile", Class: "large", Tile: "128x128x8/32x64/8x8",
			Stages: 4, Split: 1},
		{GPU: "NVIDIA H200", Type: "f64", Rung: "smem", Class: "small", Tile: "64x64x16/4x4"},
	}}
}

// The settings of a kernel are for that kernel alone, and none is used once they
// are disabled.
func TestFor(t *testing.T) {
	t.Cleanup(Disable)
	Use(sample())
	if v, ok := For("f64", "avx512-16x14"); !ok || v != (Values{160, 320, 2048, 4096, 110592, 1024}) {
		t.Errorf("%+v, %v", v, ok)
	}
	for _, other := range [][2]string{{"f64", "avx2-4x12"}, {"f32", "avx512-16x14"}, {"gf256", "avx512-16x14"}} {
		if v, ok := For(other[0], other[1]); ok || v != (Values{}) {
			t.Errorf("%v: %+v, %v", other, v, ok)
		}
	}
	Disable()
	if v, ok := For("f64", "avx512-16x14"); ok || v != (Values{}) {
		t.Errorf("disabled: %+v, %v", v, ok)
	}
}

func TestWith(t *testing.T) {
	before := sample()
	changed := before.Tuned[1]
	changed.Cutoff = 4096
	after := before.With(changed).With(Tune{Type: "f64", Kernel: "avx2-4x12"})
	var order []string
	for _, tune := range after.Tuned {
		order = append(order, tune.Type+" "+tune.Kernel)
	}
	if got := strings.Join(order, ", "); got != "f32 avx512-32x12, f64 avx2-4x12, f64 avx512-16x14" {
		t.Errorf("settings of %s", got)
	}
	if v, _ := after.Find("f64", "avx512-16x14"); v.Cutoff != 4096 || v.MC != 160 {
		t.Errorf("replaced by %+v", v)
	}
	if !reflect.DeepEqual(before, sample()) {
		t.Errorf("the settings before have become %+v", before)
	}
}

// A kernel's setting is for that kernel, GPU and class alone.
func TestKernels(t *testing.T) {
	t.Cleanup(Disable)
	before := sample()
	changed := before.Kernels[0]
	changed.Tile = "64x64x8/32x64/8x8"
	added := Kernel{GPU: "NVIDIA A10", Type: "f64", Rung: "smem", Class: "small", Tile: "64x64x8/4x4"}
	after := before.WithKernel(changed).WithKernel(added)
	if !reflect.DeepEqual(before, sample()) {
		t.Errorf("the settings before have become %+v", before)
	}
	if want := []Kernel{added, changed, before.Kernels[1]}; !reflect.DeepEqual(after.Kernels, want) ||
		!reflect.DeepEqual(after.Tuned, before.Tuned) {
		t.Errorf("%+v, want the kernels %+v", after, want)
	}
	if left := after.WithoutKernel(changed).Kernels; len(left) != 2 || len(after.Kernels) != 3 {
		t.Errorf("without it: %+v of %+v", left, after.Kernels)
	}
	Use(after)
	if k, ok := ForKernel("NVIDIA H200", "f32", "warptile", "large"); !ok || k != changed {
		t.Errorf("%+v, %v", k, ok)
	}
	for _, other := range [][4]string{
		{"NVIDIA H100", "f32", "warptile", "large"}, {"NVIDIA H200", "f64", "warptile", "large"},
		{"NVIDIA H200", "f32", "multistage", "large"}, {"NVIDIA H200", "f32", "warptile", "small"},
	} {
		if k, ok := ForKernel(other[0], other[1], other[2], other[3]); ok || k != (Kernel{}) {
			t.Errorf("%v: %+v", other, k)
		}
	}
	Disable()
	if k, ok := ForKernel("NVIDIA H200", "f32", "warptile", "large"); ok {
		t.Errorf("disabled: %+v", k)
	}
}
