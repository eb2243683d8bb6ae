package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/record"
)

// small is a profile with a few rows of each kind.
const small = `
budget: {call: 1s, patience: 2s}
types: [f64]
threads: [1, 2, 4]
libraries: [1]
ranks: [2, 3]
shapes: [8, 16, 1x8x8]
ladder:
- {variants: [serial/a], only: {cubes: true}}
sizes:
- {only: {most: 8}}
timelines: {variants: [mpi/a]}
experiments:
- {experiment: strong, variants: [parallel/a], shapes: [8, 32], sweep: {threads: [1, 2]}}
- {experiment: panel, variants: [mpi/a], shapes: [8], sweep: {ranks: [2, 3]}}
`

// smallComparison is a comparison of that profile on a host with two processors.
func smallComparison(t *testing.T) Comparison {
	t.Helper()
	threads := gemm.Param{Name: "threads", Default: 1, Min: 1}
	c := Comparison{}
	c.Variants = slices.Concat(variants(nil, "serial/a"), variants([]gemm.Param{threads}, "reference/a", "parallel/a"),
		variants([]gemm.Param{{Name: "ranks", Default: 1, Min: 1}}, "mpi/a"))
	for i := range c.Variants {
		c.Variants[i].F32 = func(gemm.Params) (gemm.Multiplier[float32], error) { return nil, gemm.ErrUnavailable }
	}
	var err error
	if c.Profile, err = ReadProfile("small.yaml", []byte(small), c.Variants, 2); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestComparison requests timelines, and sizes, types and numbers of threads and ranks that the profile lacks.
func TestComparison(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *Comparison)
		want   string // rows of experiments have their name, those with a timeline a +
	}{
		"the profile": {func(*Comparison) {}, `serial/a f64 8
			parallel/a f64 1x8x8 threads=1; parallel/a f64 8 threads=1
			parallel/a f64 1x8x8 threads=2; parallel/a f64 8 threads=2
			reference/a f64 1x8x8 threads=1; reference/a f64 8 threads=1
			+mpi/a f64 1x8x8 ranks=2; +mpi/a f64 8 ranks=2; +mpi/a f64 1x8x8 ranks=3; +mpi/a f64 8 ranks=3
			strong parallel/a f64 8 threads=1; strong parallel/a f64 8 threads=2
			strong parallel/a f64 32 threads=1; strong parallel/a f64 32 threads=2
			panel mpi/a f64 8 ranks=2; panel mpi/a f64 8 ranks=3`},
		"sizes": {func(c *Comparison) { c.Shapes = []gemm.Shape{gemm.Cube(32), {M: 1, N: 32, K: 32}} }, `serial/a f64 32
			parallel/a f64 1x32x32 threads=1; parallel/a f64 1x32x32 threads=2; parallel/a f64 32 threads=1
			parallel/a f64 32 threads=2; reference/a f64 1x32x32 threads=1; reference/a f64 32 threads=1
			+mpi/a f64 1x32x32 ranks=2; +mpi/a f64 1x32x32 ranks=3; +mpi/a f64 32 ranks=2; +mpi/a f64 32 ranks=3
			strong parallel/a f64 32 threads=1; strong parallel/a f64 32 threads=2`},
		"types": {func(c *Comparison) { c.Types, c.Variants = []string{"f32"}, c.Variants[:1] }, `serial/a f32 8`},
		"threads": {func(c *Comparison) { c.Threads, c.Variants = []int{2}, c.Variants[1:3] }, `
			parallel/a f64 1x8x8 threads=2; parallel/a f64 8 threads=2
			reference/a f64 1x8x8 threads=2; reference/a f64 8 threads=2
			strong parallel/a f64 8 threads=2; strong parallel/a f64 32 threads=2`},
		"ranks": {func(c *Comparison) { c.Ranks, c.Variants = []int{3, 5}, c.Variants[3:] }, `
			+mpi/a f64 1x8x8 ranks=3; +mpi/a f64 8 ranks=3; +mpi/a f64 1x8x8 ranks=5; +mpi/a f64 8 ranks=5
			panel mpi/a f64 8 ranks=3`},
		"none": {func(c *Comparison) { c.Types, c.Largest = []string{"gf256"}, true }, ``},
	} {
		c := smallComparison(t)
		test.change(&c)
		cases, err := c.Cases()
		var got, want []string
		for _, k := range cases {
			text := strings.TrimPrefix(fmt.Sprint(k.Experiment, " ", k), "ladder ")
			if k.Timeline {
				text = "+" + text
			}
			got = append(got, text)
		}
		for row := range strings.FieldsFuncSeq(test.want, func(r rune) bool { return r == ';' || r == '\n' }) {
			if row = strings.TrimSpace(row); row != "" {
				want = append(want, row)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestLargest requests a timeline of each variant that has timelines, at its largest product of the main tables.
func TestLargest(t *testing.T) {
	c := Comparison{Shapes: []gemm.Shape{gemm.Cube(8), gemm.Cube(24), gemm.Cube(16)}, Largest: true}
	c.Variants = variants(nil, "serial/a", "parallel/a", "mpi/a", "cuda/a", "reference/a", "reference/python")
	cases, err := c.Cases()
	got, want := texts(cases, drawn), []string{"parallel/a f64 24", "mpi/a f64 24", "cuda/a f64 24"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("timelines are of %q, %v; want %q", got, err, want)
	}
	c.Variants = c.Variants[:1]
	if cases, err := c.Cases(); !errors.Is(err, ErrNoTimeline) || len(cases) != 3 {
		t.Errorf("of a serial variant: %d rows, %v", len(cases), err)
	}
}

// TestBudgetOfComparisons requests a size: a call of it may take any time.
func TestBudgetOfComparisons(t *testing.T) {
	c := smallComparison(t)
	if b := c.Budget(); b != c.Profile.Budget || b.Call != time.Second {
		t.Errorf("the budget of the profile is %+v", b)
	}
	c.Shapes = []gemm.Shape{gemm.Cube(9)}
	if b := c.Budget(); b.Call != 0 || b.Patience != 2*time.Second {
		t.Errorf("the budget of a size is %+v", b)
	}
}

// TestTimelinesOfWarps checks which rows of the ladder on a GPU have timelines: of kernels whose warps have roles, at
// one size.
func TestTimelinesOfWarps(t *testing.T) {
	for _, p := range Profiles(2) {
		if has := p.Name == "cuda" || p.Name == "full"; has != (p.Timelines != nil) {
			t.Errorf("%s has timelines of the ladder: %v", p.Name, p.Timelines != nil)
		} else if has && !slices.Contains(p.Shapes, gemm.Cube(4096)) {
			t.Errorf("%s lacks their size", p.Name)
		}
	}
	all := variants(nil, "cuda/tuned-tf32", "cuda/f16x3", "cuda/warptile", "cuda/wgmma")
	all[3].Role = gemm.Study // the ladder has none of its rows
	got := texts(slices.Concat(rowsOf(profileOn("cuda", 2), all)), drawn)
	if want := []string{"cuda/tuned-tf32 f64 4096", "cuda/f16x3 f64 4096"}; !slices.Equal(got, want) {
		t.Errorf("timelines are of %q, want %q", got, want)
	}
}

// TestSummary wants each variant at its own largest shape with a speed, and the rows that are wrong.
func TestSummary(t *testing.T) {
	row := func(variant string, n int, experiment record.Experiment, status record.Status) record.Record {
		r := record.Record{Status: status, Median: 1}
		r.Experiment, r.Variant, r.Type, r.Shape = experiment, variant, "f64", gemm.Cube(n)
		return r
	}
	var got []string
	for _, r := range Summary([]record.Record{
		row("serial/naive", 256, record.MainLadder, record.OK),
		row("serial/packed", 256, record.MainLadder, record.Wrong),
		row("serial/packed", 2048, record.MainLadder, record.OK),
		row("serial/naive", 4096, record.CutoffSweep, record.OK),
		row("serial/naive", 256, record.CutoffSweep, record.OK),
		row("serial/packed", 4096, record.CutoffSweep, record.Failed),
		row("serial/naive", 512, record.MainLadder, record.Skipped),
		row("cuda/tuned", 512, record.MainLadder, record.Unavailable),
	}) {
		got = append(got, fmt.Sprint(r.Variant, " ", r.N))
	}
	if want := []string{"serial/naive 256", "serial/packed 256", "serial/packed 2048",
		"serial/packed 4096"}; !slices.Equal(got, want) {
		t.Errorf("shown are %q, want %q", got, want)
	}
	if none := Summary(nil); len(none) > 0 {
		t.Errorf("of no rows %v are shown", none)
	}
}
