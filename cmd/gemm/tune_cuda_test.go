//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/cmd/tune"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/gemmtest"
	"gemm/gemmtest/cudatest"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/occupancy"
	"gemm/internal/settings"
	"gemm/internal/tuned"
	"gemm/serial"
)

// tunedBackend computes on the processor and says that kernels take made-up times on
// cudatest.SmallGPU: 4 ms, and with the setting of bestOf 2 ms. It has a fault: fails, or hangs in a
// product of the second class that is tuned.
type tunedBackend struct{ fault string }

func (b tunedBackend) F32(name string, p gemm.Params) (gemm.Multiplier[float32], error) {
	return newTuned[float32](b.fault, "f32", name, p)
}

func (b tunedBackend) F64(name string, p gemm.Params) (gemm.Multiplier[float64], error) {
	return newTuned[float64](b.fault, "f64", name, p)
}

func (b tunedBackend) F16(name string, p gemm.Params) (gemm.Multiplier[half.F16], error) {
	return newTuned[half.F16](b.fault, "f16", name, p)
}

func (b tunedBackend) BF16(name string, p gemm.Params) (gemm.Multiplier[half.BF16], error) {
	return newTuned[half.BF16](b.fault, "bf16", name, p)
}

func (b tunedBackend) GF256(name string, p gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	return newTuned[gf256.Elem](b.fault, "gf256", name, p)
}

func newTuned[T gemm.Element](fault, typ, name string, p gemm.Params) (gemm.Multiplier[T], error) {
	if strings.HasPrefix(name, "cublas") {
		return nil, gemm.Unavailablef("it is not faked")
	}
	packed, err := named("serial/packed", serial.Variants())
	if err != nil {
		return nil, err
	}
	m, err := gemm.New[T](packed, nil)
	return &tunedProduct[T]{Multiplier: m, fault: fault, rung: cudatest.RungOf(typ, name), params: p,
		resolved: gemm.Params{}}, err
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
	case p.fault == "hangs" && p.rung.Name != "tuned":
		_ = os.WriteFile(os.Getenv(fakeWorkerVariable+"_FILE"), nil, 0o600)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, resolved, err := cudatest.PlanOf(p.rung, cudatest.SmallGPU, c.Rows, c.Cols, a.Cols, p.params)
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
func firstOther(r cuda.Rung) tune.GPUSetting {
	candidates := r.Candidates(occupancy.Capability{Major: 9})
	t := candidates[slices.IndexFunc(candidates, func(t cuda.Tile) bool { return !slices.Contains(r.Tiles, t) })]
	return tune.GPUSetting{Tile: t.Name(), Stages: t.Stages}
}

func TestTuneCUDA(t *testing.T) {
	variables := append(tunedHost(t), withWorker(t, "tunes")...)
	dir := t.TempDir()
	other := tuned.Tune{Type: "f64", Kernel: "another", Values: tuned.Values{MC: 8, KC: 9, NC: 10}}
	kernel := tuned.Kernel{GPU: "another", Type: "f32", Rung: "tuned", Class: "medium", Tile: "64x64x8/32x64/8x8",
		Stages: 2, Split: 1}
	path, err := settings.Save(tuned.Settings{Tuned: []tuned.Tune{other}}.WithKernel(kernel))
	gemmtest.Must(t, err)
	args := []string{"tune", "--families", "cuda", "--time", "400ms", "--json", "tuning.json", "--records", "records.json"}
	r := start(t, dir, variables, args...)
	want := firstOther(cudatest.RungOf("f32", "tuned"))
	if r.status != 0 || !strings.HasPrefix(r.stderr, "tuned f32 medium 128: "+want.Tile) ||
		!strings.HasSuffix(r.stdout, "\nThe settings are in "+path+"\n") || !strings.Contains(r.stdout, "Fake H1\n") {
		t.Fatalf("%+v, want %v", r, want)
	}
	kept, err := settings.Read()
	if err != nil || len(kept.Tuned) != 1 || kept.Tuned[0] != other || len(kept.Kernels) != 2 ||
		!slices.Contains(kept.Kernels, kernel) {
		t.Fatalf("%+v, %v", kept, err)
	}
	found := kept.Kernels[slices.IndexFunc(kept.Kernels, func(k tuned.Kernel) bool { return k.GPU == "Fake H1" })]
	if found.Type != "f32" || found.Rung != "tuned" || found.Class != "medium" || found.Tile != want.Tile ||
		time.Since(found.Time) > time.Hour || found.Revision == "" {
		t.Errorf("%+v is kept, want %v", found, want)
	}
	data := read(t, filepath.Join(dir, "tuning.json"))
	var doc tune.Result
	if err := json.Unmarshal([]byte(data), &doc); err != nil || doc.CUDA == nil || doc.CUDA.GPU != "Fake H1" ||
		len(doc.CUDA.Chosen) != 1 || len(doc.CUDA.Trials) == 0 || doc.CUDA.Left == 0 {
		t.Fatalf("%v, %s", err, data)
	}
	if c := doc.CUDA.Chosen[0]; !c.Kept || c.Gain < 1.9 || c.Gain > 2.1 || c.Library.Known() || c.Best.Tile != want.Tile {
		t.Errorf("chosen: %+v", c)
	}
	rows, err := record.Load(filepath.Join(dir, "records.json"))
	if err != nil || len(rows.Records) != 2 || len(rows.Runs) != 1 || rows.Hosts[0].GPUs[0] != "Fake H1" {
		t.Fatalf("%+v, %v", rows, err)
	}
	for i, row := range rows.Records {
		if row.Experiment != record.TunedKernels || row.Variant != "cuda/tuned" || row.Status != record.OK ||
			(len(row.Params) == 0) != (i == 0) {
			t.Errorf("row %d: %+v", i, row)
		}
	}
	if r := start(t, dir, nil, "report", "--in", "records.json", "--format", "md", "--out", "report"); r.status != 0 {
		t.Errorf("report: %s", r.stderr)
	} else if text, err := os.ReadFile(filepath.Join(dir, "report", "report-appendix.md")); err != nil ||
		!strings.Contains(string(text), "tuned") {
		t.Errorf("report: %v\n%s", err, text)
	}

	// What was found is used, unless --no-tuned is there or the row asks for something else.
	for _, c := range []struct {
		args string
		used bool
	}{{"", true}, {"--no-tuned", false}, {"--stages 2", false}} {
		args := append([]string{"cuda", "--variants", "cuda/tuned", "--type", "f32", "--sizes", "128", "--time", "10ms",
			"--json", "-"}, strings.Fields(c.args)...)
		r := start(t, "", variables, args...)
		doc, err := record.Parse([]byte(r.stdout))
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
	r, _ := interruptInWorker(t, t.TempDir(), variables, "tune", "--families", "cuda", "--time", "1m")
	kept, err := settings.Read()
	if err != nil || len(kept.Kernels) != 1 || kept.Kernels[0].Rung != "tuned" {
		t.Errorf("%+v are kept, %v", kept, err)
	}
	if want := "interrupted; what was found is kept, "; r.status != statusInterrupted ||
		!strings.Contains(r.stderr, want) || !strings.Contains(r.stdout, "\nThe settings are in ") {
		t.Errorf("%+v, want %q", r, want)
	}
}

// A search whose default cannot be measured is a failure, and changes nothing.
func TestTuneCUDAFails(t *testing.T) {
	variables := append(tunedHost(t), withWorker(t, "tunes and fails")...)
	dir := t.TempDir()
	r := start(t, dir, variables, "tune", "--families", "cuda", "--time", "400ms")
	want := "gemm tune: 1 of 1 searches failed and leave the setting as it was, the first of tuned f32 medium: " +
		"the default is error: the driver fell over\n"
	if r.status != 1 || !strings.HasSuffix(r.stderr, want) || !strings.Contains(r.stdout, "\nThe settings are in ") {
		t.Errorf("%+v, want %q", r, want)
	}
}

func TestTuneCUDARefuses(t *testing.T) {
	variables := tunedHost(t)
	path, err := settings.Path()
	gemmtest.Must(t, err)
	for kind, want := range map[string]string{"none": "there is no NVIDIA driver: install it",
		"rubbish": "in words of its own"} {
		failWith(t, "", append(variables, withWorker(t, kind)...), 1, want, "tune", "--families", "serial,cuda")
	}
	failWith(t, "", append(variables, "PATH="+t.TempDir()), 1, "gemm-cuda is neither next to gemm nor on PATH", "tune",
		"--families", "cuda")
	if _, err := os.Stat(path); err == nil {
		t.Errorf("%s was written", path)
	}
}
