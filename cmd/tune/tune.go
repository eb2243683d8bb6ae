// Package tune measures settings on this host: block sizes, thresholds and cut-offs for the CPU, and tiles of
// kernels for a GPU. A setting that is significantly faster than the one in use replaces it.
package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/tuned"
)

// Options select what is tuned, and for how long.
type Options struct {
	Families []string       // families to tune: of Families, or cuda.Family
	Time     time.Duration  // approximate time of measuring
	Settings tuned.Settings // existing settings; other families keep theirs
	Revision string         // revision of this program, stored in the settings
	Device   *Device        // GPU for the family cuda; nil: none
	Progress func(string)   // called with what is being measured
	Step     func()         // called after each of Steps
}

// Result is the outcome of tuning, in the form of JSON.
type Result struct {
	Schema   int            `json:"schema"`
	File     string         `json:"file"` // file of the settings
	Trials   []Trial        `json:"trials"`
	Chosen   []Choice       `json:"chosen"`
	CUDA     *GPUResult     `json:"cuda,omitempty"`
	Settings tuned.Settings `json:"settings"` // old settings and new ones
}

// Trial is the comparison of a candidate with the setting in use.
type Trial struct {
	Type      string `json:"type"`
	Setting   string `json:"setting"` // mc, kc, nc, blocks, direct, parallel, cutoff
	Shape     string `json:"shape"`
	Candidate string `json:"candidate"`
	Incumbent string `json:"incumbent"`
	Gain
}

// Choice is the outcome for a setting.
type Choice struct {
	Type    string `json:"type"`
	Kernel  string `json:"kernel"`
	Setting string `json:"setting"` // blocks, direct, parallel, cutoff
	Default string `json:"default"`
	Chosen  string `json:"chosen"`
	Note    string `json:"note,omitempty"`
	// Gain over the default for the product that Note names; null if the default stays.
	Gain *Gain `json:"gain"`
}

// tuner measures settings, and uses them for later measurements.
type tuner struct {
	options Options
	Result
	cutoff int // default cut-off of Strassen
}

// stage is a part of tuning.
type stage struct {
	family string
	name   string
	share  int // share of the time, relative to the other stages
	run    func(ctx context.Context, t *tuner, until time.Time) error
}

// stages are the parts of tuning, in their order. Later stages use the blocks that were chosen; the longest products
// come last.
var stages = []stage{
	{"serial", "blocks of f64", 20, tuneBlocks[float64]},
	{"serial", "blocks of f32", 20, tuneBlocks[float32]},
	{"serial", "packing of f64", 2, tuneDirect[float64]},
	{"serial", "packing of f32", 2, tuneDirect[float32]},
	{"parallel", "workers of f64", 2, tuneParallel[float64]},
	{"parallel", "workers of f32", 2, tuneParallel[float32]},
	{"serial", "halving of f64", 38, tuneCutoff[float64]},
	{"serial", "halving of f32", 14, tuneCutoff[float32]},
	{cuda.Family, "kernels on the GPU", 600, tuneCUDA},
}

// Families returns the families of the processor that have something to tune: those with a product over packed blocks.
func Families() []string {
	return slices.DeleteFunc(catalog.Families(), func(family string) bool {
		_, err := gemm.Lookup(catalog.Variants(), family+"/packed")
		return err != nil
	})
}

func stagesOf(families []string) []stage {
	return slices.DeleteFunc(slices.Clone(stages), func(s stage) bool { return !slices.Contains(families, s.family) })
}

// Steps returns the number of steps that tuning the families takes.
func Steps(families []string) int { return len(stagesOf(families)) }

// Run tunes the families. If there is an error, the result is nil unless settings of a GPU were chosen before. Settings
// of a GPU are stored class by class, settings of the CPU only when all are tuned.
func Run(ctx context.Context, o Options) (*Result, error) {
	t := &tuner{options: o, Result: Result{Schema: record.OutputSchema, Settings: o.Settings}}
	t.reset()
	stages, whole := stagesOf(o.Families), 0
	for _, s := range stages {
		whole += s.share
	}
	start, spent := time.Now(), 0
	for _, s := range stages {
		o.Progress(s.name)
		spent += s.share
		if err := s.run(ctx, t, start.Add(o.Time*time.Duration(spent)/time.Duration(whole))); err != nil {
			err = fmt.Errorf("%s: %w", s.name, err)
			if s.family == cuda.Family && (len(t.Chosen) > 0 || len(t.CUDA.Chosen) > 0) {
				return &t.Result, err
			}
			return nil, err
		}
		o.Step()
	}
	return &t.Result, nil
}

// reset removes the settings of the families from those in use, so candidates are compared with the defaults.
func (t *tuner) reset() {
	if len(t.options.Families) == 1 && t.options.Families[0] == cuda.Family {
		return // its candidates are always compared with the defaults
	}
	left := func(v tuned.Values) tuned.Values {
		if slices.Contains(t.options.Families, "serial") {
			v = tuned.Values{Parallel: v.Parallel}
		}
		if slices.Contains(t.options.Families, "parallel") {
			v.Parallel = 0
		}
		return v
	}
	keep[float64](t, left(values[float64](t)))
	keep[float32](t, left(values[float32](t)))
	t.cutoff = Cutoff()
}

// Cutoff returns the default cut-off: the size of the largest cubes that Strassen's and Winograd's
// algorithms do not halve.
func Cutoff() int {
	p, err := variant("serial/strassen").Resolve(nil)
	if err != nil {
		panic(err) // its defaults are valid
	}
	return p.Int("cutoff")
}

// variant returns the variant with a name, which must exist.
func variant(name string) gemm.Variant {
	v, err := gemm.Lookup(catalog.Variants(), name)
	if err != nil {
		panic(err) // the list is the same in every build
	}
	return v
}
