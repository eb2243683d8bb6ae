//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/cuda"
	"gemm/cuda/occupancy"
	"gemm/gf256"
	"gemm/internal/settings"
	"gemm/internal/tuned"
	"gemm/serial"
)

// smallGPU is so small that the products that stand for its classes are.
var smallGPU = cuda.GPU{
	Name: "Fake H1", Capability: "9.0", Multiprocessors: 1, Clock: 1000, Warp: 32, BlockThreads: 1024, BlockShared: 49152, BlockSharedOptIn: 232448, BlockRegisters: 65536,
}

// ladderOf returns the rung of the name in the element type.
func ladderOf(typ, name string) cuda.Rung {
	rungs := cuda.Ladder(typ)
	return rungs[slices.IndexFunc(rungs, func(r cuda.Rung) bool { return r.Name == name })]
}

// planted returns how a rung computes a product on the GPU, whose operands have no gaps.
func planted(r cuda.Rung, g cuda.GPU, m, n, k int, p gemm.Params) (cuda.Plan, gemm.Params, error) {
	at := func(ld int) cuda.Operand { return cuda.Operand{Address: 1 << 20, LD: ld} }
	plan, err := r.Plan(g, cuda.Shape{M: m, N: n, K: k}, at(k), at(n), at(n), p)
	resolved := gemm.Params{"tile": plan.Tile.Name()}
	if plan.Tile.Stages > 0 {
		resolved["stages"] = plan.Tile.Stages
	}
	if r.Splits {
		resolved["split"] = plan.Split
	}
	return plan, resolved, err
}

// speeds are made-up times of kernels, in a search whose clock a row moves on by a second.
type speeds struct {
	gpu     cuda.GPU
	of      func(r cuda.Rung, class cuda.Class, s gpuSetting) (time.Duration, compare.Status)
	library time.Duration
	spread  float64 // half of the interval of each, relative to it
	clock   time.Time
	turns   [][]compare.Case
	choices []gpuChoice
	rows    []compare.Document
}

func (s *speeds) measure(ctx context.Context, cases []compare.Case, b compare.Budget) (compare.Document, error) {
	s.turns = append(s.turns, cases)
	var doc compare.Document
	for _, c := range cases {
		s.clock = s.clock.Add(time.Second)
		r := compare.Record{
			Experiment: c.Experiment, Variant: c.Variant.Name, Type: c.Type, M: c.M, N: c.N, K: c.K, Turn: c.Turn, Params: c.Params,
			Status: compare.OK, Median: compare.None(), Gflops: compare.None(),
		}
		took := s.library
		name := strings.TrimPrefix(c.Variant.Name, "cuda/")
		if !strings.HasPrefix(name, "cublas") {
			rung := ladderOf(c.Type, name)
			params, err := c.Variant.Resolve(c.Params)
			if err != nil {
				return doc, err
			}
			if _, r.Resolved, err = planted(rung, s.gpu, c.M, c.N, c.K, params); err != nil {
				return doc, err
			}
			class := rung.Class(s.gpu, cuda.Shape(c.Shape), c.K%4 == 0)
			took, r.Status = s.of(rung, class, resolvedSetting(r))
		}
		if r.Status == compare.OK {
			r.Median = compare.Number(took.Seconds())
			r.Gflops = compare.Number(2 * c.Terms() / took.Seconds() / 1e9)
			r.CI = &[2]float64{took.Seconds() * (1 - s.spread), took.Seconds() * (1 + s.spread)}
		} else {
			r.Reason = "as planted"
		}
		doc.Records = append(doc.Records, r)
	}
	return doc, ctx.Err()
}

// search returns a search of so long over the speeds.
func (s *speeds) search(d time.Duration) *gpuSearch {
	return &gpuSearch{
		gpu: s.gpu, measure: s.measure, say: func(string) {}, now: func() time.Time { return s.clock }, until: s.clock.Add(d),
		decide: func(c gpuChoice, doc compare.Document) error {
			s.choices, s.rows = append(s.choices, c), append(s.rows, doc)
			return nil
		},
	}
}

// bestOf returns a candidate of the rung that it is not offered with.
func bestOf(typ, name string) gpuSetting {
	r := ladderOf(typ, name)
	candidates := r.Candidates(occupancy.Capability{Major: 9})
	i := slices.IndexFunc(candidates, func(t cuda.Tile) bool { return !slices.Contains(r.Tiles, t) })
	return gpuSetting{Tile: candidates[i+20].Name(), Stages: candidates[i+20].Stages}
}

// With time for all, the search finds the setting that is the fastest, of each class and
// rung, and not one that computes what is wrong.
func TestSearchFindsTheFastest(t *testing.T) {
	s := &speeds{gpu: smallGPU, library: time.Millisecond, spread: 0.001}
	best, tricky := bestOf("f32", "warptile"), gpuSetting{}
	for _, tile := range ladderOf("f32", "warptile").Candidates(occupancy.Capability{Major: 9})[10:11] {
		tricky = gpuSetting{Tile: tile.Name(), Stages: tile.Stages}
	}
	s.of = func(r cuda.Rung, class cuda.Class, got gpuSetting) (time.Duration, compare.Status) {
		same := func(want gpuSetting) bool { return got.Tile == want.Tile && got.Stages == want.Stages }
		switch {
		case r.Name != "warptile":
			return 2 * time.Millisecond, compare.OK // all alike
		case same(tricky):
			return time.Microsecond, compare.Wrong
		case same(best) && class == cuda.Deep && got.Split == 2: // more than are predicted to be best
			return 1000 * time.Microsecond, compare.OK
		case same(best) && class == cuda.Tall:
			return 1970 * time.Microsecond, compare.OK // not fast enough
		case same(best):
			return 1600 * time.Microsecond, compare.OK
		}
		return 2 * time.Millisecond, compare.OK
	}
	search := s.search(1000 * time.Hour)
	if err := search.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	tasks, users := search.tasks()
	if len(search.Chosen) != len(tasks) || search.Left != 0 || len(s.choices) != len(tasks) {
		t.Errorf("%d choices of %d tasks, %d left", len(search.Chosen), len(tasks), search.Left)
	}
	for i, c := range search.Chosen {
		if first := slices.Contains(userRungs, c.Rung); first != (i < users) {
			t.Errorf("%s is number %d, those of users are %d", c.gpuTask, i, users)
		}
		if c.Tried != c.Of || c.Of < 2 {
			t.Errorf("%s: %d of %d tried", c.gpuTask, c.Tried, c.Of)
		}
		found := c.Best.Tile == best.Tile && c.Best.Stages == best.Stages
		switch {
		case c.Rung != "warptile":
			if c.Kept || c.Gain != 1 || c.Library.Known() != (c.Type != "gf256") || c.Library.Known() && c.Library != 0.5 {
				t.Errorf("%s: %s, a gain of %v, %v over cuBLAS", c.gpuTask, c.outcome(), c.Gain, c.Library)
			}
		case !found || c.Kept != (c.Class != cuda.Tall) || c.Class == cuda.Deep && c.Best.Split != 2:
			t.Errorf("%s: %s", c.gpuTask, c.outcome())
		case c.Class == cuda.Medium && (c.Gain != 1.25 || c.Library != 0.625):
			t.Errorf("%s: a gain of %v, %v over cuBLAS", c.gpuTask, c.Gain, c.Library)
		}
		doc := s.rows[i]
		if len(doc.Records) != 2 || len(doc.Records[0].Params) != 0 || len(doc.Records[1].Params) == 0 || doc.Records[0].Experiment != "tuned" || doc.Records[0].Turn != doc.Records[1].Turn {
			t.Errorf("%s: the rows %+v", c.gpuTask, doc.Records)
		}
	}
	wrong := 0
	for _, trial := range search.Trials {
		if trial.Status != compare.OK {
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
		if library := strings.HasPrefix(last, "cuda/cublas"); library != (turn[0].Experiment == "tuned" && turn[0].Type != "gf256") || strings.HasSuffix(last, "tf32") != (library && turn[0].Variant.Name == "cuda/tf32-wmma") {
			t.Errorf("a turn of %s ends with %s", turn[0], last)
		}
	}
}

// A gain that is not clear changes nothing.
func TestSearchKeepsTheDefault(t *testing.T) {
	best := bestOf("f32", "warptile")
	for _, c := range []struct {
		spread float64
		took   time.Duration
		status compare.Status // of the default
		want   bool
		note   string
	}{
		{0.001, 1500 * time.Microsecond, compare.OK, true, ""},
		{0.001, 1970 * time.Microsecond, compare.OK, false, ""},
		{0.2, 1500 * time.Microsecond, compare.OK, false, ""},
		{0.001, 1500 * time.Microsecond, compare.Wrong, false, "the default is wrong: as planted"},
	} {
		s := &speeds{gpu: smallGPU, library: time.Millisecond, spread: c.spread}
		r := ladderOf("f32", "warptile")
		_, resolved, err := planted(r, smallGPU, 128, 128, 128, gemm.Params{})
		if err != nil {
			t.Fatal(err)
		}
		own := resolvedSetting(compare.Record{Resolved: resolved})
		s.of = func(_ cuda.Rung, _ cuda.Class, got gpuSetting) (time.Duration, compare.Status) {
			switch {
			case got == own:
				return 2 * time.Millisecond, c.status
			case got.Tile == best.Tile && got.Stages == best.Stages:
				return c.took, compare.OK
			}
			return 2100 * time.Microsecond, compare.OK
		}
		search := s.search(1000 * time.Hour)
		search.good = map[string][]gpuSetting{}
		tasks, _ := search.tasks()
		if err := search.search(t.Context(), tasks[0], time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := search.Chosen[0]; got.Rung != "warptile" || got.Kept != c.want || got.Note != c.note || c.note == "" && got.Best.Tile != best.Tile {
			t.Errorf("%+v: %s in %s: %s", c, got.Rung, got.Class, got.outcome())
		}
	}
}

// However little time there is, the first task is done, and no more than there is time for.
func TestSearchEnds(t *testing.T) {
	s := &speeds{gpu: smallGPU, library: time.Millisecond, of: func(cuda.Rung, cuda.Class, gpuSetting) (time.Duration, compare.Status) {
		return time.Millisecond, compare.OK
	}}
	for _, d := range []time.Duration{time.Nanosecond, time.Minute, 10 * time.Minute} {
		begin := s.clock
		search := s.search(d)
		if err := search.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		tasks, _ := search.tasks()
		if took := s.clock.Sub(begin); took > d+30*time.Second || d > time.Minute && took < d/2 || search.Left == 0 || search.Left+len(search.Chosen) != len(tasks) {
			t.Errorf("%v: took %v for %d of %d tasks, %d left", d, took, len(search.Chosen), len(tasks), search.Left)
		}
		for _, c := range search.Chosen {
			if c.Tried == 0 || c.Tried > c.Of {
				t.Errorf("%v: %s: %d of %d tried", d, c.gpuTask, c.Tried, c.Of)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.search(time.Hour).run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	s.of = func(cuda.Rung, cuda.Class, gpuSetting) (time.Duration, compare.Status) { return 0, compare.Unavailable }
	if err := s.search(time.Hour).run(t.Context()); !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "as planted") {
		t.Errorf("without a GPU: %v", err)
	}
	// After the first task, what was found is worth more than what is not there any more.
	s.of = func(r cuda.Rung, _ cuda.Class, _ gpuSetting) (time.Duration, compare.Status) {
		if r.Type == "f64" {
			return 0, compare.Unavailable
		}
		return time.Millisecond, compare.OK
	}
	search := s.search(10 * time.Minute)
	if err := search.run(t.Context()); err != nil || !slices.ContainsFunc(search.Chosen, func(c gpuChoice) bool { return c.Note == "the default is unavailable: as planted" && !c.Kept }) {
		t.Errorf("without f64: %v, %d choices", err, len(search.Chosen))
	}
	s.gpu.Capability = "3.5"
	if err := s.search(time.Hour).run(t.Context()); !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "compute capability 3.5") {
		t.Errorf("with an old GPU: %v", err)
	}
}

// tunedBackend computes on the processor and says that kernels take made-up times on
// smallGPU: 4 ms, and with the setting of bestOf 2 ms. It has a fault: fails, or hangs in a
// product of the second class that is tuned.
type tunedBackend struct{ fault string }

func (b tunedBackend) F32(name string, p gemm.Params) (gemm.Multiplier[float32], error) {
	return newTuned[float32](b.fault, "f32", name, p)
}

func (b tunedBackend) F64(name string, p gemm.Params) (gemm.Multiplier[float64], error) {
	return newTuned[float64](b.fault, "f64", name, p)
}

func (b tunedBackend) GF256(name string, p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	return newTuned[gf256.Elem](b.fault, "gf256", name, p)
}

func newTuned[T gemm.Element](fault, typ, name string, p gemm.Params) (gemm.Multiplier[T], error) {
	if strings.HasPrefix(name, "cublas") {
		return nil, fmt.Errorf("%w: it is not faked", gemm.ErrUnavailable)
	}
	packed, err := named("serial/packed", serial.Variants())
	if err != nil {
		return nil, err
	}
	m, err := gemm.New[T](packed, nil)
	return &tunedProduct[T]{Multiplier: m, fault: fault, rung: ladderOf(typ, name), params: p, resolved: gemm.Params{}}, err
}

type tunedProduct[T gemm.Element] struct {
	gemm.Multiplier[T]
	fault    string
	rung     cuda.Rung
	params   gemm.Params
	resolved gemm.Params
	took     time.Duration
	c, a, b  gemm.Matrix[T]
}

func (p *tunedProduct[T]) Resolved() gemm.Params { return p.resolved }

func (p *tunedProduct[T]) Stage(ctx context.Context, c, a, b gemm.Matrix[T]) (gemm.Run, error) {
	p.c, p.a, p.b = c, a, b
	switch {
	case p.fault == "fails":
		return nil, errors.New("the driver fell over")
	case p.fault == "hangs" && p.rung.Name != "warptile":
		_ = os.WriteFile(os.Getenv(plantedVariable+"_FILE"), nil, 0o600)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, resolved, err := planted(p.rung, smallGPU, c.Rows, c.Cols, a.Cols, p.params)
	p.resolved, p.took = resolved, 4*time.Millisecond
	if resolved.Text("tile") == firstOther(p.rung).Tile {
		p.took = 2 * time.Millisecond
	}
	return p, err
}

func (p *tunedProduct[T]) Do(context.Context) (gemm.Cost, error) { return gemm.Cost{Time: p.took}, nil }
func (p *tunedProduct[T]) Collect(ctx context.Context) error     { return p.Multiply(ctx, p.c, p.a, p.b) }
func (p *tunedProduct[T]) Close() error                          { return nil }

// firstOther returns the setting that a search tries first of those that the rung is not
// offered with.
func firstOther(r cuda.Rung) gpuSetting {
	s := gpuSearch{gpu: smallGPU}
	candidates := s.candidates(gpuTask{rung: r})
	return candidates[slices.IndexFunc(candidates, func(c gpuSetting) bool {
		return !slices.ContainsFunc(r.Tiles, func(t cuda.Tile) bool { return t.Name() == c.Tile })
	})]
}

func TestTuneCUDA(t *testing.T) {
	variables := append(tunedHost(t), withWorker(t, "tunes")...)
	dir := t.TempDir()
	other := tuned.Tune{Type: "f64", Kernel: "another", Values: tuned.Values{MC: 8, KC: 9, NC: 10}}
	kernel := tuned.Kernel{GPU: "another", Type: "f32", Rung: "warptile", Class: "medium", Tile: "64x64x8/32x64/8x8", Stages: 2, Split: 1}
	path, err := settings.Save(tuned.Settings{Tuned: []tuned.Tune{other}}.WithKernel(kernel))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"tune", "--families", "cuda", "--time", "400ms", "--json", "tuning.json", "--records", "records.json"}
	r := start(t, dir, variables, args...)
	want := firstOther(ladderOf("f32", "warptile"))
	if r.status != 0 || !strings.HasPrefix(r.stderr, "warptile f32 medium 128: "+want.Tile) || !strings.HasSuffix(r.stdout, "\nThe settings are in "+path+"\n") || !strings.Contains(r.stdout, "Fake H1\n") {
		t.Fatalf("%+v, want %v", r, want)
	}
	kept, err := settings.Read()
	if err != nil || len(kept.Tuned) != 1 || kept.Tuned[0] != other || len(kept.Kernels) != 2 || !slices.Contains(kept.Kernels, kernel) {
		t.Fatalf("%+v, %v", kept, err)
	}
	found := kept.Kernels[slices.IndexFunc(kept.Kernels, func(k tuned.Kernel) bool { return k.GPU == "Fake H1" })]
	if found.Type != "f32" || found.Rung != "warptile" || found.Class != "medium" || found.Tile != want.Tile || time.Since(found.Time) > time.Hour || found.Revision == "" {
		t.Errorf("%+v is kept, want %v", found, want)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tuning.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc tuning
	if err := json.Unmarshal(data, &doc); err != nil || doc.CUDA == nil || doc.CUDA.GPU != "Fake H1" || len(doc.CUDA.Chosen) != 1 || len(doc.CUDA.Trials) == 0 || doc.CUDA.Left == 0 {
		t.Fatalf("%v, %s", err, data)
	}
	if c := doc.CUDA.Chosen[0]; !c.Kept || c.Gain < 1.9 || c.Gain > 2.1 || c.Library.Known() || c.Best.Tile != want.Tile {
		t.Errorf("chosen: %s, a gain of %v, %v over cuBLAS", c.outcome(), c.Gain, c.Library)
	}
	rows, err := compare.Load(filepath.Join(dir, "records.json"))
	if err != nil || len(rows.Records) != 2 || len(rows.Runs) != 1 || rows.Hosts[0].GPUs[0] != "Fake H1" {
		t.Fatalf("%+v, %v", rows, err)
	}
	for i, row := range rows.Records {
		if row.Experiment != "tuned" || row.Variant != "cuda/warptile" || row.Status != compare.OK || (len(row.Params) == 0) != (i == 0) {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if r := start(t, dir, nil, "report", "--in", "records.json", "--format", "md", "--out", "report"); r.status != 0 {
		t.Errorf("report: %s", r.stderr)
	} else if text, err := os.ReadFile(filepath.Join(dir, "report", "report.md")); err != nil || !strings.Contains(string(text), "The tuned setting is faster in 1 of 1 cases.") {
		t.Errorf("report: %v\n%s", err, text)
	}

	// What was found is used, unless --no-tuned is there or the row asks for something else.
	for _, c := range []struct {
		args string
		used bool
	}{{"", true}, {"--no-tuned", false}, {"--stages 2", false}} {
		args := append([]string{"cuda", "--variants", "cuda/warptile", "--type", "f32", "--sizes", "128", "--time", "10ms", "--json", "-"}, strings.Fields(c.args)...)
		r := start(t, "", variables, args...)
		doc, err := compare.Parse([]byte(r.stdout))
		if err != nil || r.status != 0 || len(doc.Records) != 1 {
			t.Fatalf("%q: status %d, %v, %s", c.args, r.status, err, r.stderr)
		}
		if got := doc.Records[0].Resolved["tile"]; (got == want.Tile) != c.used {
			t.Errorf("%q: the tile %v", c.args, got)
		}
	}
}

// What was found before the search is interrupted is kept.
func TestTuneCUDAIsInterrupted(t *testing.T) {
	variables := append(withWorker(t, "tunes and hangs"), tunedHost(t)...)
	r, _ := interruptedInWorker(t, t.TempDir(), variables, "tune", "--families", "cuda", "--time", "1m")
	kept, err := settings.Read()
	if err != nil || len(kept.Kernels) != 1 || kept.Kernels[0].Rung != "warptile" {
		t.Errorf("%+v are kept, %v", kept, err)
	}
	if want := "interrupted; what was found is kept, "; r.status != statusInterrupted || !strings.Contains(r.stderr, want) || !strings.Contains(r.stdout, "\nThe settings are in ") {
		t.Errorf("%+v, want %q", r, want)
	}
}

// A search whose default cannot be measured is a failure, and changes nothing.
func TestTuneCUDAFails(t *testing.T) {
	variables := append(tunedHost(t), withWorker(t, "tunes and fails")...)
	dir := t.TempDir()
	r := start(t, dir, variables, "tune", "--families", "cuda", "--time", "400ms")
	want := "gemm tune: 1 of 1 searches failed and leave the setting as it was, the first of warptile f32 medium: the default is error: the driver fell over\n"
	if r.status != 1 || !strings.HasSuffix(r.stderr, want) || !strings.Contains(r.stdout, "\nThe settings are in ") {
		t.Errorf("%+v, want %q", r, want)
	}
}

func TestTuneCUDARefuses(t *testing.T) {
	variables := tunedHost(t)
	failWith(t, "", variables, 2, "--records is for --families cuda", "tune", "--records", "x.json")
	path, err := settings.Path()
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"none": "there is no NVIDIA driver: install it", "rubbish": "in words of its own"} {
		failWith(t, "", append(variables, withWorker(t, kind)...), 1, want, "tune", "--families", "serial,cuda")
	}
	failWith(t, "", append(variables, "PATH="+t.TempDir()), 1, "gemm-cuda is neither beside gemm nor on PATH", "tune", "--families", "cuda")
	if _, err := os.Stat(path); err == nil {
		t.Errorf("%s was written", path)
	}
}
