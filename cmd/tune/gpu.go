package tune

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"sync"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

// GPUResult is the part of gemm tune --json for a GPU.
type GPUResult struct {
	GPU    string      `json:"gpu"`
	Trials []GPUTrial  `json:"trials"`
	Chosen []GPUChoice `json:"chosen"`
	Left   int         `json:"left"` // classes of rungs that were not searched
}

// GPUSetting is a setting with which a kernel runs.
type GPUSetting struct {
	Tile   string `json:"tile"`
	Stages int    `json:"stages"` // 0: the kernel has no stages
	Split  int    `json:"split"`  // 0: the kernel does not divide k, or the predicted number of parts is used
}

// String returns the setting as in the table.
func (s GPUSetting) String() string {
	text := s.Tile
	if s.Stages > 0 {
		text += fmt.Sprintf(" stages=%d", s.Stages)
	}
	if s.Split > 0 {
		text += fmt.Sprintf(" split=%d", s.Split)
	}
	return text
}

// params returns the parameters that request the setting; none if it is empty.
func (s GPUSetting) params() gemm.Params {
	p := gemm.Params{"tile": s.Tile, "stages": s.Stages, "split": s.Split}
	maps.DeleteFunc(p, func(_ string, value any) bool { return value == "" || value == 0 })
	return p
}

func resolvedSetting(r record.Record) GPUSetting {
	var s GPUSetting
	s.Tile, _ = r.Resolved["tile"].(string)
	s.Stages, _ = r.Resolved["stages"].(int)
	s.Split, _ = r.Resolved["split"].(int)
	return s
}

// GPUTask is a search for the best setting of a rung, for one class of products.
type GPUTask struct {
	Type  string     `json:"type"`
	Rung  string     `json:"rung"`
	Class cuda.Class `json:"class"`
	Shape string     `json:"shape"` // of the product that represents the class
	rung  cuda.Rung
	shape gemm.Shape
}

// String returns the task for progress lines and notes.
func (t GPUTask) String() string { return fmt.Sprintf("%s %s %s", t.Rung, t.Type, t.Class) }

// GPUTrial is a candidate that was measured interleaved with the default.
type GPUTrial struct {
	GPUTask
	Round int `json:"round"` // 1: many candidates, 2: the best of them, 3: the finalists
	GPUSetting
	Status record.Status `json:"status"`
	Reason string        `json:"reason,omitempty"`
	Gflops record.Number `json:"gflops"`
	Ratio  record.Number `json:"ratio"` // the default's time over the candidate's; null if one has none
}

// GPUChoice is the outcome of a search.
type GPUChoice struct {
	GPUTask
	Tried   int           `json:"tried"` // candidates
	Of      int           `json:"of"`
	Default GPUSetting    `json:"default"`
	Best    GPUSetting    `json:"best"` // best setting other than the default
	Gflops  record.Number `json:"gflops"`
	Gain    record.Number `json:"gain"`    // the default's time over the best's time
	Library record.Number `json:"library"` // cuBLAS's time over the shorter of both
	Kept    bool          `json:"kept"`    // whether the best is used from now on
	Note    string        `json:"note,omitempty"`
}

// Device is a GPU on which kernels are tuned, and the program that computes there.
type Device struct {
	GPU     cuda.GPU
	Worker  func(ctx context.Context) (*exec.Cmd, error) // measures cases on the GPU
	Command string                                       // command line of this program, for records
	// the rows of the default and of the best are stored here; nil: they are not
	Records *record.Store
	Warn    func(text string) // called once for anything unusual
	Chosen  func(c GPUChoice) // called with the outcome of a search
}

// tuneCUDA chooses settings of kernels on the GPU.
func tuneCUDA(ctx context.Context, t *tuner, until time.Time) error {
	d := t.options.Device
	s := gpuSearch{gpu: d.GPU, now: time.Now, until: until, progress: t.options.Progress, measure: d.measurer()}
	s.GPU = s.gpu.Name
	s.decide = func(c GPUChoice, doc record.Document) error {
		k := tuned.Kernel{
			GPU: s.gpu.Name, Type: c.Type, Rung: c.Rung, Class: string(c.Class), Tile: c.Best.Tile, Stages: c.Best.Stages,
			Split: c.Best.Split,
			Time:  time.Now().UTC().Truncate(time.Second), Revision: t.options.Revision,
		}
		if c.Note == "" { // otherwise nothing was measured, and the old setting stays
			t.Settings = t.Settings.WithoutKernel(k)
		}
		if c.Kept {
			t.Settings = t.Settings.WithKernel(k)
		}
		d.Chosen(c)
		return d.record(doc)
	}
	err := s.run(ctx)
	t.CUDA = &s.GPUResult
	return err
}

// measurer returns a function that measures cases on the GPU. All its rows have one run.
func (d *Device) measurer() func(ctx context.Context, cases []plan.Case, b plan.Budget) (record.Document, error) {
	var last *record.RunInfo
	var warned sync.Once
	warn := func(text string) { warned.Do(func() { d.Warn(text) }) }
	return func(ctx context.Context, cases []plan.Case, b plan.Budget) (record.Document, error) {
		store := &record.Store{}
		if last != nil {
			if err := store.Put(record.Document{Runs: []record.RunInfo{*last}}); err != nil {
				return record.Document{}, err
			}
		}
		driver := compare.Driver{Store: store, Budget: b, Seed: 1, Progress: compare.Quiet{}, Command: d.Command,
			Processes: run.Processes{Worker: d.untuned, NoWorker: remote.NoWorker, Warn: warn}}
		err := driver.Run(ctx, cases)
		doc := store.Document()
		if len(doc.Runs) > 0 {
			last = &doc.Runs[0]
		}
		return doc, err
	}
}

// untuned returns the command of a worker that ignores tuned settings.
func (d *Device) untuned(ctx context.Context) (*exec.Cmd, error) {
	cmd, err := d.Worker(ctx)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Environ(), settings.Variable+"=off")
	return cmd, nil
}

// record stores the rows of a search, if there is a store.
func (d *Device) record(doc record.Document) error {
	if d.Records == nil {
		return nil
	}
	return d.Records.Put(record.Document{Hosts: doc.Hosts, Runs: doc.Runs, Records: doc.Records})
}

// Failed returns an error if the default of a search could not be measured.
func (g GPUResult) Failed() error {
	failed := slices.DeleteFunc(slices.Clone(g.Chosen), func(c GPUChoice) bool { return c.Gflops.Known() })
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d searches failed and leave the setting as it was, the first of %s: %s", len(failed),
		len(g.Chosen), failed[0].GPUTask, failed[0].Note)
}
