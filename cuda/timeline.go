package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/internal/timeline"
)

// The variables of a kernel that records its steps, and their sizes: as in timeline.cu.
const (
	TimelineWords = "moments" // of all lanes, one lane after the other
	TimelineCount = "lanes"   // how many lanes were requested, 32 bits
	timelineLanes = 96
	laneWords     = 2048 // words
)

// TimelineWordBytes and TimelineCountBytes are the bytes of the variables.
const (
	TimelineWordBytes  = 8 * timelineLanes * laneWords
	TimelineCountBytes = 4
)

// The roles of a block's warps, and the steps that begin at a timestamp, by their numbers in timeline.cu.
var (
	laneRoles = []string{1: "producer", 2: "consumer", 3: "worker"}
	laneSteps = []string{1: timeline.Waiting, 2: "copy", 3: "multiply", 4: "store", 5: ""}
)

// TimelineProgram returns the program that records its steps, and whether its source marks them.
func TimelineProgram(p nvrtc.Program) (nvrtc.Program, bool) {
	if !strings.Contains(p.Source, "MARK(") {
		return p, false
	}
	p.Name = "timeline of " + p.Name
	p.Source = kernels.Timeline + p.Source
	return p, true
}

// ParseTimeline returns the lanes of recorded words, with times from the first timestamp of all on. The lanes are
// sorted by multiprocessor, role and time.
func ParseTimeline(words []uint64, count uint32) ([]timeline.Group, error) {
	if len(words) != timelineLanes*laneWords {
		return nil, fmt.Errorf("cuda: %d words of moments, want %d", len(words), timelineLanes*laneWords)
	}
	lanes := words[:min(int(count), timelineLanes)*laneWords]
	zero := uint64(1<<64 - 1)
	for lane := range slices.Chunk(lanes, laneWords) {
		if lane[1] != 0 {
			zero = min(zero, lane[1]>>8)
		}
	}
	var out []timeline.Group
	for lane := range slices.Chunk(lanes, laneWords) {
		g, err := parseLane(lane, zero)
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

// parseLane returns the steps of a lane. A step ends where the next one begins; the last
// one, whose end was not recorded, is left out.
func parseLane(lane []uint64, zero uint64) (timeline.Group, error) {
	role := int(lane[0] >> 56)
	if role < 1 || role >= len(laneRoles) {
		return timeline.Group{}, fmt.Errorf("cuda: a lane of moments has role %d", role)
	}
	g := timeline.Group{Multiprocessor: int(lane[0] >> 32 & 0xffff), Block: int(uint32(lane[0])), Role: laneRoles[role],
		Warpgroup: int(lane[0] >> 48 & 0xff)}
	at := func(i int) float64 { return float64(lane[i]>>8-zero) * 1e-9 }
	for i := 1; i+1 < len(lane) && lane[i+1] != 0; i++ {
		step := int(lane[i] & 0xff)
		if step < 1 || step >= len(laneSteps) {
			return g, fmt.Errorf("cuda: a moment begins step %d", step)
		}
		if name := laneSteps[step]; name != "" {
			g.Phases = append(g.Phases, timeline.Step{Name: name, Begin: at(i), End: at(i + 1)})
		}
	}
	return g, nil
}
