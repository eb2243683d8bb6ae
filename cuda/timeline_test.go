package cuda

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
	"gemm/internal/timeline"
)

// enumerated returns the names of an enumeration in timeline.cu, which begins at 1.
func enumerated(t *testing.T, name string) []string {
	t.Helper()
	found := regexp.MustCompile(`enum ` + name + ` \{ (\w+) = 1((?:, \w+)*) \};`).FindStringSubmatch(kernels.Timeline)
	if found == nil {
		t.Fatalf("timeline.cu has no enumeration %s that begins at 1", name)
	}
	return append([]string{"", found[1]}, strings.Split(found[2], ", ")[1:]...)
}

// TestTimelineNumbers wants the numbers and names of timeline.cu here, too.
func TestTimelineNumbers(t *testing.T) {
	for name, want := range map[string][]string{"Role": laneRoles, "Step": laneSteps} {
		got := enumerated(t, name)
		for i := range got {
			got[i] = strings.ToLower(got[i])
		}
		want = slices.Clone(want)
		if name == "Step" {
			want[len(want)-1] = "done"
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: timeline.cu has %q, this package %q", name, got, want)
		}
	}
	for name, want := range map[string]int{"LANES": timelineLanes, "MOMENTS": laneWords} {
		found := regexp.MustCompile(name + ` = (\d+)`).FindStringSubmatch(kernels.Timeline)
		if found == nil || found[1] != strconv.Itoa(want) {
			t.Errorf("%s is %v in timeline.cu, and %d here", name, found, want)
		}
	}
	for _, variable := range []string{"unsigned long long " + TimelineWords + "[", "unsigned " + TimelineCount + ";"} {
		if !strings.Contains(kernels.Timeline, "__device__ "+variable) {
			t.Errorf("timeline.cu has no variable %q", variable)
		}
	}
}

// TestTimelineProgram wants the source of a kernel that marks its steps after timeline.cu, and others left alone.
func TestTimelineProgram(t *testing.T) {
	p, ok := TimelineProgram(nvrtc.Program{Name: "k.cu", Source: "MARK(WORKER, WAIT);"})
	if !ok || p.Source != kernels.Timeline+"MARK(WORKER, WAIT);" || p.Name != "timeline of k.cu" {
		t.Errorf("got %q, %v", p.Name, ok)
	}
	plain := nvrtc.Program{Name: "k.cu", Source: "x"}
	if p, ok := TimelineProgram(plain); ok || p.Source != "x" || p.Name != "k.cu" {
		t.Errorf("a kernel without marks became %q", p.Source)
	}
}

// word is a moment.
func word(ns uint64, step int) uint64 { return ns<<8 | uint64(step) }

// TestParseTimeline decodes lanes: sorted, their times after the first moment of all, the last step of a full or
// unfinished lane left out.
func TestParseTimeline(t *testing.T) {
	words := make([]uint64, timelineLanes*laneWords)
	lane := func(i, role, warpgroup, multiprocessor, block int, moments ...uint64) {
		words[i*laneWords] = uint64(role)<<56 | uint64(warpgroup)<<48 | uint64(multiprocessor)<<32 | uint64(block)
		copy(words[i*laneWords+1:], moments)
	}
	const now = 1_700_000_000_000_000_000
	lane(0, 2, 1, 1, 7, word(now+500, 1), word(now+900, 3), word(now+1000, 4), word(now+1200, 5))
	lane(1, 1, 0, 1, 7, word(now+100, 1), word(now+150, 2), word(now+350, 1))
	lane(2, 3, 0, 0, 3, word(now+200, 1)) // nothing has ended
	step := func(name string, from, to float64) timeline.Step {
		return timeline.Step{Name: name, Begin: from * 1e-9, End: to * 1e-9}
	}
	got, err := ParseTimeline(words, 3)
	want := []timeline.Group{
		{Multiprocessor: 1, Block: 7, Role: "producer", Phases: []timeline.Step{step("wait", 0, 50),
			step("copy", 50, 250)}},
		{Multiprocessor: 1, Block: 7, Role: "consumer", Warpgroup: 1, Phases: []timeline.Step{step("wait", 400, 800),
			step("multiply", 800, 900), step("store", 900, 1100)}},
	}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v\nwant %v", got, err, want)
	}
	for i := range laneWords - 1 {
		words[1+i] = word(now+uint64(i), 1+i%2)
	}
	if got, err := ParseTimeline(words, 1000); err == nil || got != nil {
		t.Errorf("lanes that say nothing are %v", got)
	}
	if got, err := ParseTimeline(words, 1); err != nil || len(got) != 1 || len(got[0].Phases) != laneWords-2 {
		t.Errorf("a full lane has %d steps, %v", len(got[0].Phases), err)
	}
}

// TestTimelineFaults wants an error for each word that no kernel writes.
func TestTimelineFaults(t *testing.T) {
	for want, words := range map[string][]uint64{
		"role 9": {9 << 56},
		"step 7": {1 << 56, word(1, 7), word(2, 1)},
	} {
		all := append(words, make([]uint64, timelineLanes*laneWords-len(words))...)
		if _, err := ParseTimeline(all, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := ParseTimeline(nil, 0); err == nil {
		t.Error("too few words are no error")
	}
}

// TestTimelineKernels compiles each kernel that marks its steps as timelines use it: no register is spilled for that.
// Kernels in bf16 are those in f16 with other instructions at the same places, which TestKernels compiles;
// make slow-tests has their marks compiled too.
func TestTimelineKernels(t *testing.T) {
	compiler := caching(t)
	types, marked := []string{"f32", "f64", "f16"}, 0
	if everything {
		types = append(types, "bf16")
	}
	for _, typ := range types {
		for _, r := range Ladder(typ) {
			plain := r.Program(r.Tiles[0], r.Widest(), r.Least)
			p, ok := TimelineProgram(plain)
			if !ok {
				continue
			}
			marked++
			image, err := compiler.Compile(p)
			if errors.Is(err, gemm.ErrUnavailable) {
				continue // the compiler does not know the architecture
			}
			if err != nil {
				t.Errorf("%s: %v", r.Name, err)
			} else if k, ok := image.Kernels[MainKernel]; !ok || k.Spills > 0 {
				t.Errorf("%s takes %+v", r.Name, k)
			}
		}
	}
	if marked < 10 {
		t.Errorf("%d kernels mark their steps", marked)
	}
}
