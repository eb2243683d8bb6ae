// Package moments is what warps note inside of a kernel that is compiled for a timeline: how that is compiled,
// and what the words in the memory of the GPU mean. It runs nothing.
package moments

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/internal/timeline"
)

// The variables of a kernel that notes its steps, and what they have room for: as in timeline.cu.
const (
	Words     = "moments" // of all lanes, one lane after the other
	Count     = "lanes"   // how many lanes were requested, 32 bits
	mostLanes = 96
	ofLane    = 2048 // words
)

// WordBytes and CountBytes are the bytes of the variables.
const (
	WordBytes  = 8 * mostLanes * ofLane
	CountBytes = 4
)

// The roles of a block's warps and the steps that begin at a moment, by their numbers in timeline.cu.
var (
	roles = []string{1: "producer", 2: "consumer", 3: "worker"}
	steps = []string{1: timeline.Waiting, 2: "copy", 3: "multiply", 4: "store", 5: ""}
)

// Program returns the program as it notes its steps, and whether its source marks them.
func Program(p nvrtc.Program) (nvrtc.Program, bool) {
	if !strings.Contains(p.Source, "MARK(") {
		return p, false
	}
	p.Name = "timeline of " + p.Name
	p.Source = kernels.Timeline + p.Source
	return p, true
}

// Groups returns what the words say, with times after the first moment of all. The lanes are sorted by
// multiprocessor, role and time.
func Groups(words []uint64, count uint32) ([]timeline.Group, error) {
	if len(words) != mostLanes*ofLane {
		return nil, fmt.Errorf("cuda: %d words of moments, want %d", len(words), mostLanes*ofLane)
	}
	lanes := words[:min(int(count), mostLanes)*ofLane]
	zero := uint64(1<<64 - 1)
	for lane := range slices.Chunk(lanes, ofLane) {
		if lane[1] != 0 {
			zero = min(zero, lane[1]>>8)
		}
	}
	var out []timeline.Group
	for lane := range slices.Chunk(lanes, ofLane) {
		g, err := group(lane, zero)
		if err != nil {
			return nil, err
		}
		if len(g.Phases) > 0 {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b timeline.Group) int {
		return cmp.Or(cmp.Compare(a.Multiprocessor, b.Multiprocessor), strings.Compare(b.Role, a.Role),
			cmp.Compare(a.Warpgroup, b.Warpgroup), cmp.Compare(a.Phases[0].Begin, b.Phases[0].Begin))
	})
	return out, nil
}

// group returns what the words of a lane say. A step ends where the next one begins; the last one, which
// ends where there was no room for more, is left out.
func group(lane []uint64, zero uint64) (timeline.Group, error) {
	role := int(lane[0] >> 56)
	if role < 1 || role >= len(roles) {
		return timeline.Group{}, fmt.Errorf("cuda: a lane of moments has role %d", role)
	}
	g := timeline.Group{Multiprocessor: int(lane[0] >> 32 & 0xffff), Block: int(uint32(lane[0])), Role: roles[role],
		Warpgroup: int(lane[0] >> 48 & 0xff)}
	at := func(i int) float64 { return float64(lane[i]>>8-zero) * 1e-9 }
	for i := 1; i+1 < len(lane) && lane[i+1] != 0; i++ {
		step := int(lane[i] & 0xff)
		if step < 1 || step >= len(steps) {
			return g, fmt.Errorf("cuda: a moment begins step %d", step)
		}
		if name := steps[step]; name != "" {
			g.Phases = append(g.Phases, timeline.Step{Name: name, Begin: at(i), End: at(i + 1)})
		}
	}
	return g, nil
}
