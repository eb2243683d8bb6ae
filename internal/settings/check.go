package settings

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"gemm/internal/tuned"
)

// The limits of values.
const (
	maxMC       = 1 << 16
	maxKC       = 1 << 12
	maxNC       = 1 << 16
	maxBlock    = 1 << 24 // elements of MC×KC and of KC×NC: 128 MiB of float64
	maxDirect   = 1 << 27 // operands of 512×512 do not fit in L2 of any processor
	maxParallel = min(1<<45, math.MaxInt)
)

// The limits of the numbers of kernels, equal to the limits of the parameters of the family cuda.
const (
	maxStages = 16
	maxSplit  = 64
)

// tile matches a Tile: two or three numbers of a block, and two numbers each of a warp and of a thread.
var tile = regexp.MustCompile(`^[1-9][0-9]{0,3}x[1-9][0-9]{0,3}(x[1-9][0-9]{0,3})?(/[1-9][0-9]{0,3}x[1-9][0-9]{0,3}){0,2}$`)

// check returns the first invalid value of s. It does not know the host.
func check(s tuned.Settings) error {
	for i, t := range s.Tuned {
		if err := checkTune(t); err != nil {
			return err
		}
		if _, twice := (tuned.Settings{Tuned: s.Tuned[:i]}).Find(t.Type, t.Kernel); twice {
			return fmt.Errorf("it has settings of %s and %s twice", t.Type, t.Kernel)
		}
	}
	return checkKernels(s)
}

// checkTune returns the first invalid value of t.
func checkTune(t tuned.Tune) error {
	if t.Type != "f32" && t.Type != "f64" {
		return fmt.Errorf("the type %q is neither f32 nor f64", t.Type)
	}
	if t.Kernel == "" {
		return fmt.Errorf("the settings of %s name no kernel", t.Type)
	}
	for _, v := range []struct {
		name           string
		value, lo, max int
	}{
		{"mc", t.MC, 1, maxMC}, {"kc", t.KC, 1, maxKC}, {"nc", t.NC, 1, maxNC},
		{"direct", t.Direct, 1, maxDirect}, {"parallel", t.Parallel, 1, maxParallel},
		{"cutoff", t.Cutoff, tuned.MinCutoff, tuned.MaxCutoff},
	} {
		if v.value != 0 && (v.value < v.lo || v.value > v.max) {
			return fmt.Errorf("%s of %s is %d, it can be %d to %d, or 0 where it was not measured", v.name, t.Type,
				v.value, v.lo, v.max)
		}
	}
	if t.MC*t.KC > maxBlock || t.KC*t.NC > maxBlock {
		return fmt.Errorf("the blocks of %s are %d×%d and %d×%d, they can have %d elements", t.Type, t.MC, t.KC, t.KC,
			t.NC, maxBlock)
	}
	if known := t.MC > 0; known != (t.KC > 0) || known != (t.NC > 0) {
		return fmt.Errorf("of mc, kc and nc of %s one is 0 and another is not", t.Type)
	}
	return nil
}

// checkKernels returns the first invalid value of the kernels in s.
func checkKernels(s tuned.Settings) error {
	for i, k := range s.Kernels {
		if err := checkKernel(k); err != nil {
			return err
		}
		if slices.ContainsFunc(s.Kernels[:i], k.Of) {
			return fmt.Errorf("it has %s in %s on %s for the class %s twice", k.Rung, k.Type, k.GPU, k.Class)
		}
	}
	return nil
}

// checkKernel returns the first invalid value of k. It does not know the kernel.
func checkKernel(k tuned.Kernel) error {
	if k.Type != "f32" && k.Type != "f64" {
		return fmt.Errorf("the type %q of a kernel is neither f32 nor f64", k.Type)
	}
	for _, name := range []struct{ what, text string }{{"GPU", k.GPU}, {"rung", k.Rung}, {"class", k.Class}} {
		if name.text == "" {
			return fmt.Errorf("a kernel of %s names no %s", k.Type, name.what)
		}
	}
	switch {
	case !tile.MatchString(k.Tile):
		return fmt.Errorf("the tile of %s in %s is %q, must be one such as 128x128x8/32x64/8x8", k.Rung, k.Type, k.Tile)
	case k.Stages < 0 || k.Stages > maxStages:
		return fmt.Errorf("the stages of %s in %s are %d, there can be 0 to %d", k.Rung, k.Type, k.Stages, maxStages)
	case k.Split < 0 || k.Split > maxSplit:
		return fmt.Errorf("the split of %s in %s is %d, it can be 0 to %d", k.Rung, k.Type, k.Split, maxSplit)
	}
	return nil
}
