package settings

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"gemm"
	"gemm/internal/tuned"
)

// The limits of values. Kernels have the limits of the parameters of the family cuda.
const (
	maxMC       = 1 << 16
	maxKC       = 1 << 12
	maxNC       = 1 << 16
	maxBlock    = 1 << 24 // elements of MC×KC and of KC×NC: 128 MiB of float64
	maxDirect   = 1 << 27 // operands of 512×512 do not fit in L2 of any processor
	maxParallel = min(1<<45, math.MaxInt)
	maxStages   = 16
	maxSplit    = 64
)

// tile matches a Tile: two or three numbers of a block, and two numbers each of a warp and of a thread.
var tile = regexp.MustCompile(`^[1-9][0-9]{0,3}x[1-9][0-9]{0,3}(x[1-9][0-9]{0,3})?(/[1-9][0-9]{0,3}x[1-9][0-9]{0,3}){0,2}$`)

// check returns an error if a setting is not one that gemm tune writes, or is there twice. It does not know the host.
func check(s tuned.Settings) error {
	for i, t := range s.Tuned {
		if _, twice := (tuned.Settings{Tuned: s.Tuned[:i]}).Find(t.Type, t.Kernel); twice || !isValid(t) {
			return fmt.Errorf("it has impossible settings of %s by %q, or has them twice: %+v", t.Type, t.Kernel,
				t.Values)
		}
	}
	for i, k := range s.Kernels {
		if slices.ContainsFunc(s.Kernels[:i], k.Of) || !isValidKernel(k) {
			return fmt.Errorf("it has an impossible setting of %q in %s on %q for the class %q, or has it twice: "+
				"tile %q, stages %d, split %d", k.Rung, k.Type, k.GPU, k.Class, k.Tile, k.Stages, k.Split)
		}
	}
	return nil
}

// isValid reports whether all values are 0 or within their limits.
func isValid(t tuned.Tune) bool {
	within := func(value, least, most int) bool { return value == 0 || least <= value && value <= most }
	blocks := t.MC > 0
	return (t.Type == "f32" || t.Type == "f64") && t.Kernel != "" && within(t.MC, 1, maxMC) && within(t.KC, 1, maxKC) &&
		within(t.NC, 1, maxNC) && t.MC*t.KC <= maxBlock && t.KC*t.NC <= maxBlock && blocks == (t.KC > 0) &&
		blocks == (t.NC > 0) && within(t.Direct, 1, maxDirect) && within(t.Parallel, 1, maxParallel) &&
		within(t.Cutoff, tuned.MinCutoff, tuned.MaxCutoff)
}

// isValidKernel reports whether the values are within their limits. It does not know the kernel.
func isValidKernel(k tuned.Kernel) bool {
	return slices.Contains(gemm.TypeNames(), k.Type) && k.GPU != "" && k.Rung != "" && k.Class != "" &&
		tile.MatchString(k.Tile) && 0 <= k.Stages && k.Stages <= maxStages && 0 <= k.Split && k.Split <= maxSplit
}
