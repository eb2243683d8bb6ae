package tune

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/gemmtest"
	"gemm/gemmtest/cudatest"
	"gemm/internal/occupancy"
)

// speeds are made-up times of kernels, in a search whose clock a row moves on by a second.
type speeds struct {
	gpu     cuda.GPU
	of      func(r cuda.Rung, class cuda.Class, s GPUSetting) (time.Duration, record.Status)
	library time.Duration
	spread  float64 // half of the interval of each, relative to it
	clock   time.Time
	turns   [][]plan.Case
	choices []GPUChoice
	rows    []record.Document
}

func (s *speeds) measure(ctx context.Context, cases []plan.Case, b plan.Budget) (record.Document, error) {
	s.turns = append(s.turns, cases)
	var doc record.Document
	for _, c := range cases {
		s.clock = s.clock.Add(time.Second)
		r := record.Record{
			Key: record.Key{
				Experiment: c.Experiment, Variant: c.Variant.Name,
				Problem: record.Problem{Type: c.Type, Shape: gemm.Shape{M: c.M, N: c.N, K: c.K}},
			},
			Turn: c.Turn, Params: c.Params, Status: record.OK, Median: record.None(), Gflops: record.None(),
		}
		took := s.library
		name := strings.TrimPrefix(c.Variant.Name, "cuda/")
		if !strings.HasPrefix(name, "cublas") {
			rung := cudatest.RungOf(c.Type, name)
			params, err := c.Variant.Resolve(c.Params)
			if err != nil {
				return doc, err
			}
			if _, r.Resolved, err = cudatest.PlanOf(rung, s.gpu, c.M, c.N, c.K, params); err != nil {
				return doc, err
			}
			class := rung.Class(s.gpu, c.Shape, c.K%4 == 0)
			took, r.Status = s.of(rung, class, resolvedSetting(r))
		}
		if r.Status == record.OK {
			r.Median = record.Number(took.Seconds())
			r.Gflops = record.Number(2 * c.Terms() / took.Seconds() / 1e9)
			r.CI = &[2]float64{took.Seconds() * (1 - s.spread), took.Seconds() * (1 + s.spread)}
		} else {
			r.Reason.Text = "as planted"
		}
		doc.Records = append(doc.Records, r)
	}
	return doc, ctx.Err()
}

// search returns a search of so long over the speeds.
func (s *speeds) search(d time.Duration) *gpuSearch {
	return &gpuSearch{
		gpu: s.gpu, measure: s.measure, progress: func(string) {}, now: func() time.Time { return s.clock },
		until: s.clock.Add(d),
		decide: func(c GPUChoice, doc record.Document) error {
			s.choices, s.rows = append(s.choices, c), append(s.rows, doc)
			return nil
		},
	}
}

// bestOf returns a candidate of the rung that it is not offered with.
func bestOf(typ, name string) GPUSetting {
	r := cudatest.RungOf(typ, name)
	candidates := r.Candidates(occupancy.Capability{Major: 9})
	i := slices.IndexFunc(candidates, func(t cuda.Tile) bool { return !slices.Contains(r.Tiles, t) })
	return GPUSetting{Tile: candidates[i+20].Name(), Stages: candidates[i+20].Stages}
}

// If the time is enough for all settings, the search finds the fastest one of each class and rung.
// A setting with a wrong result is not chosen.
func TestSearchFindsTheFastest(t *testing.T) {
	s := &speeds{gpu: cudatest.SmallGPU, library: time.Millisecond, spread: 0.001}
	best, tricky := bestOf("f32", "tuned"), GPUSetting{}
	for _, tile := range cudatest.RungOf("f32", "tuned").Candidates(occupancy.Capability{Major: 9})[10:11] {
		tricky = GPUSetting{Tile: tile.Name(), Stages: tile.Stages}
	}
	s.of = func(r cuda.Rung, class cuda.Class, got GPUSetting) (time.Duration, record.Status) {
		same := func(want GPUSetting) bool { return got.Tile == want.Tile && got.Stages == want.Stages }
		switch {
		case r.Name != "tuned" || r.Type != "f32":
			return 2 * time.Millisecond, record.OK // all alike
		case same(tricky):
			return time.Microsecond, record.Wrong
		case same(best) && class == cuda.Deep && got.Split == 2: // more than are predicted to be best
			return 1000 * time.Microsecond, record.OK
		case same(best) && class == cuda.Tall:
			return 1970 * time.Microsecond, record.OK // not fast enough
		case same(best):
			return 1600 * time.Microsecond, record.OK
		}
		return 2 * time.Millisecond, record.OK
	}
	search := s.search(1000 * time.Hour)
	gemmtest.Must(t, search.run(t.Context()))
	tasks, users := search.tasks()
	if len(search.Chosen) != len(tasks) || search.Left != 0 || len(s.choices) != len(tasks) {
		t.Errorf("%d choices of %d tasks, %d left", len(search.Chosen), len(tasks), search.Left)
	}
	for i, c := range search.Chosen {
		if first := cudatest.RungOf(c.Type, c.Rung).Role == gemm.Production; first != (i < users) {
			t.Errorf("%s is number %d, those of users are %d", c.GPUTask, i, users)
		}
		if c.Tried != c.Of || c.Of < 2 {
			t.Errorf("%s: %d of %d tried", c.GPUTask, c.Tried, c.Of)
		}
		found := c.Best.Tile == best.Tile && c.Best.Stages == best.Stages
		switch {
		case c.Rung != "tuned" || c.Type != "f32":
			if c.Kept || c.Gain != 1 || c.Library.Known() != (c.Type != "gf256") || c.Library.Known() && c.Library != 0.5 {
				t.Errorf("%s: %+v", c.GPUTask, c)
			}
		case !found || c.Kept != (c.Class != cuda.Tall) || c.Class == cuda.Deep && c.Best.Split != 2:
			t.Errorf("%s: %+v", c.GPUTask, c)
		case c.Class == cuda.Medium && (c.Gain != 1.25 || c.Library != 0.625):
			t.Errorf("%s: a gain of %v, %v over cuBLAS", c.GPUTask, c.Gain, c.Library)
		}
		doc := s.rows[i]
		if len(doc.Records) != 2 || len(doc.Records[0].Params) != 0 || len(doc.Records[1].Params) == 0 ||
			doc.Records[0].Experiment != record.TunedKernels || doc.Records[0].Turn != doc.Records[1].Turn {
			t.Errorf("%s: the rows %+v", c.GPUTask, doc.Records)
		}
	}
	wrong := 0
	for _, trial := range search.Trials {
		if trial.Status != record.OK {
			wrong++
			if trial.Tile != tricky.Tile || trial.Round != 1 || trial.Ratio.Known() || trial.Reason != "as planted" {
				t.Errorf("a trial %+v", trial)
			}
		}
	}
	if wrong == 0 {
		t.Error("the wrong candidate was not tried")
	}
	for _, turn := range s.turns {
		if len(turn) > 2*turnOthers || len(turn[0].Params) != 0 {
			t.Errorf("a turn of %d begins with %s", len(turn), turn[0])
		}
		last := turn[len(turn)-1].Variant.Name
		if library := strings.HasPrefix(last,
			"cuda/cublas"); library != (turn[0].Experiment == record.TunedKernels && turn[0].Type != "gf256") ||
			library && strings.HasSuffix(last, "tf32") != cuda.IsTF32(path.Base(turn[0].Variant.Name)) {
			t.Errorf("a turn of %s ends with %s", turn[0], last)
		}
	}
}

// A gain that is not clear changes nothing.
func TestSearchKeepsTheDefault(t *testing.T) {
	best := bestOf("f32", "tuned")
	for _, c := range []struct {
		spread float64
		took   time.Duration
		status record.Status // of the default
		want   bool
		note   string
	}{
		{0.001, 1500 * time.Microsecond, record.OK, true, ""},
		{0.001, 1970 * time.Microsecond, record.OK, false, ""},
		{0.2, 1500 * time.Microsecond, record.OK, false, ""},
		{0.001, 1500 * time.Microsecond, record.Wrong, false, "the default is wrong: as planted"},
	} {
		s := &speeds{gpu: cudatest.SmallGPU, library: time.Millisecond, spread: c.spread}
		r := cudatest.RungOf("f32", "tuned")
		_, resolved, err := cudatest.PlanOf(r, cudatest.SmallGPU, 128, 128, 128, gemm.Params{})
		gemmtest.Must(t, err)
		own := resolvedSetting(record.Record{Resolved: resolved})
		s.of = func(_ cuda.Rung, _ cuda.Class, got GPUSetting) (time.Duration, record.Status) {
			switch {
			case got == own:
				return 2 * time.Millisecond, c.status
			case got.Tile == best.Tile && got.Stages == best.Stages:
				return c.took, record.OK
			}
			return 2100 * time.Microsecond, record.OK
		}
		search := s.search(1000 * time.Hour)
		search.good = map[string][]GPUSetting{}
		tasks, _ := search.tasks()
		gemmtest.Must(t, search.search(t.Context(), tasks[0], time.Hour))
		if got := search.Chosen[0]; got.Rung != "tuned" || got.Kept != c.want || got.Note != c.note ||
			c.note == "" && got.Best.Tile != best.Tile {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// However little time there is, the first task is done, and no more than there is time for.
func TestSearchEnds(t *testing.T) {
	s := &speeds{gpu: cudatest.SmallGPU, library: time.Millisecond,
		of: func(cuda.Rung, cuda.Class, GPUSetting) (time.Duration, record.Status) {
			return time.Millisecond, record.OK
		}}
	for _, d := range []time.Duration{time.Nanosecond, time.Minute, 10 * time.Minute} {
		begin := s.clock
		search := s.search(d)
		gemmtest.Must(t, search.run(t.Context()))
		tasks, _ := search.tasks()
		if took := s.clock.Sub(begin); took > d+30*time.Second || d > time.Minute && took < d/2 || search.Left == 0 ||
			search.Left+len(search.Chosen) != len(tasks) {
			t.Errorf("%v: took %v for %d of %d tasks, %d left", d, took, len(search.Chosen), len(tasks), search.Left)
		}
		for _, c := range search.Chosen {
			if c.Tried == 0 || c.Tried > c.Of {
				t.Errorf("%v: %s: %d of %d tried", d, c.GPUTask, c.Tried, c.Of)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.search(time.Hour).run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	s.of = func(cuda.Rung, cuda.Class, GPUSetting) (time.Duration, record.Status) { return 0, record.Unavailable }
	if err := s.search(time.Hour).run(t.Context()); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "as planted") {
		t.Errorf("without a GPU: %v", err)
	}
	// After the first task, what was found is worth more than what is not there any more.
	s.of = func(r cuda.Rung, _ cuda.Class, _ GPUSetting) (time.Duration, record.Status) {
		if r.Type == "f64" {
			return 0, record.Unavailable
		}
		return time.Millisecond, record.OK
	}
	search := s.search(10 * time.Minute)
	if err := search.run(t.Context()); err != nil ||
		!slices.ContainsFunc(search.Chosen,
			func(c GPUChoice) bool { return c.Note == "the default is unavailable: as planted" && !c.Kept }) {
		t.Errorf("without f64: %v, %d choices", err, len(search.Chosen))
	}
	s.gpu.Capability = "3.5"
	if err := s.search(time.Hour).run(t.Context()); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "compute capability 3.5") {
		t.Errorf("with an old GPU: %v", err)
	}
}
