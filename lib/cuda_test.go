//go:build cgo && !windows

package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda"
)

// fakeGPU returns a GPU of the compute capability.
func fakeGPU(capability string) cuda.GPU {
	return cuda.GPU{Name: "Fake", Capability: capability, Multiprocessors: 132, Clock: 1980, Warp: 32,
		BlockThreads: 1024, BlockShared: 48 << 10, BlockSharedOptIn: 227 << 10}
}

// sampleRequest returns a product of 512×256×128 without gaps.
func sampleRequest(variant, typ string) recipeRequest {
	return recipeRequest{Variant: variant, Type: typ, M: 512, N: 256, K: 128, A: recipeOperand{LD: 128},
		B: recipeOperand{LD: 256}, C: recipeOperand{LD: 256}, GPU: fakeGPU("9.0")}
}

// TestRecipes checks that every variant that is listed has a recipe that JSON keeps.
func TestRecipes(t *testing.T) {
	all := recipeVariants()
	if len(all) < 10 {
		t.Fatalf("only %d variants", len(all))
	}
	for _, v := range all {
		for _, typ := range v.Types {
			x, err := newRecipe(sampleRequest(v.Name, typ))
			if err != nil {
				t.Errorf("%s %s: %v", v.Name, typ, err)
				continue
			}
			data, err := json.Marshal(x)
			var back recipe
			if err = errors.Join(err, json.Unmarshal(data, &back)); err != nil {
				t.Errorf("%s %s: %v", v.Name, typ, err)
			}
			if x.Variant != v.Name || len(x.Launches) == 0 {
				t.Errorf("%s %s: %+v", v.Name, typ, x)
			}
			for _, l := range back.Launches {
				p := back.Programs[l.Program]
				arch := slices.IndexFunc(p.Options, func(o string) bool {
					return o == "--gpu-architecture=sm_90" || o == "--gpu-architecture=sm_90a"
				})
				if arch < 0 || !strings.Contains(p.Source, l.Kernel+"(") {
					t.Errorf("%s %s: %s by %s with %q", v.Name, typ, l.Kernel, p.Name, p.Options)
				}
			}
		}
	}
}

// TestChosen checks which variant computes if none is requested.
func TestChosen(t *testing.T) {
	for _, test := range []struct{ capability, typ, want string }{
		{"9.0", "f32", "cuda/tuned"}, {"9.0", "f64", "cuda/tuned"}, {"8.6", "f32", "cuda/tuned"},
		{"7.5", "f32", "cuda/doublebuffer"}, {"7.0", "f64", "cuda/conflictfree"},
		{"9.0", "bf16", "cuda/tuned"}, {"8.0", "f16", "cuda/mma"},
	} {
		q := sampleRequest("", test.typ)
		q.GPU = fakeGPU(test.capability)
		if x, err := newRecipe(q); err != nil || x.Variant != test.want {
			t.Errorf("%s on %s: %s, %v, want %s", test.typ, test.capability, x.Variant, err, test.want)
		}
	}
}

// TestSettings checks that parameters reach the compiler.
func TestSettings(t *testing.T) {
	q := sampleRequest("cuda/tuned-tf32-mma", "f32")
	q.Params = gemm.Params{"stages": 2.0, "split": 4.0}
	x, err := newRecipe(q)
	if err != nil || !slices.Contains(x.Programs[0].Options, "-DSTAGES=2") ||
		!slices.Contains(x.Programs[0].Options, "-DCUT") || x.Work == 0 {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestBadRequests checks that each error names the value and is of the right kind.
func TestBadRequests(t *testing.T) {
	transposed := func(ld int) recipeOperand { return recipeOperand{LD: ld, Transpose: true} }
	settings := func(name string, value any) func(q *recipeRequest) {
		return func(q *recipeRequest) { q.Params = gemm.Params{name: value} }
	}
	for want, test := range map[string]struct {
		change func(q *recipeRequest)
		is     error
	}{
		`type is "gf256"`:                 {func(q *recipeRequest) { q.Type = "gf256" }, gemm.ErrType},
		`variant is "cuda/fast", must be`: {func(q *recipeRequest) { q.Variant = "cuda/fast" }, gemm.ErrParam},
		"needs compute capability 9.0 itself": {
			func(q *recipeRequest) { q.Variant, q.GPU = "cuda/f16x3", fakeGPU("10.0") },
			gemm.ErrUnavailable},
		"needs compute capability 8.0": {func(q *recipeRequest) { q.GPU = fakeGPU("7.5") }, gemm.ErrUnavailable},
		"runs on compute capability 5.0": {func(q *recipeRequest) { q.Variant, q.GPU = "", fakeGPU("5.0") },
			gemm.ErrUnavailable},
		"ld of a is 127":         {func(q *recipeRequest) { q.A.LD = 127 }, gemm.ErrParam},
		"ld of b is 127":         {func(q *recipeRequest) { q.B = transposed(127) }, gemm.ErrParam},
		"ld of c is 0":           {func(q *recipeRequest) { q.C.LD = 0 }, gemm.ErrParam},
		"c is stored transposed": {func(q *recipeRequest) { q.C = transposed(512) }, gemm.ErrParam},
		"must have rows":         {func(q *recipeRequest) { q.M = 0 }, gemm.ErrParam},
		"has no l2":              {settings("l2", "warm"), gemm.ErrParam},
		"stages is 2.5":          {settings("stages", 2.5), gemm.ErrParam},
		`"128x128"`:              {settings("tile", "128x128"), gemm.ErrParam},
		"bytes of shared memory": {settings("stages", 64), gemm.ErrUnavailable},
	} {
		q := sampleRequest("cuda/tuned-tf32-mma", "f32")
		test.change(&q)
		_, err := newRecipe(q)
		if err == nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %v with %q", err, test.is, want)
		}
	}
}
