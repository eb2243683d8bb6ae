package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"gemm/compare"
	"gemm/cuda"
	"gemm/internal/catalog"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

func tuneCommand() *cli.Command {
	families := strings.Join(tunable(), ",")
	return &cli.Command{
		Name:      "tune",
		Usage:     "measure block sizes, cut-offs and tiles here, for later runs to use",
		UsageText: "[--families LIST] [--time DURATION] [--json FILE [--force]] [--records FILE]",
		Description: "Measures candidates in turn with what is in use, f64 and f32, and keeps what is\n" +
			"really faster in a file of this processor model in your folder for configuration.\n" +
			"gemm info shows what is in use; --no-tuned of the other commands ignores it. Of the\n" +
			"family cuda it is the tiles of kernels, for each class of shapes on the first GPU.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "families", Value: families, DefaultText: families, Usage: "`LIST` of families whose settings are measured; other settings stay: " + strings.Join(tunable(), ", ") + ", " + cuda.Family},
			&cli.DurationFlag{Name: "time", Value: 90 * time.Second, DefaultText: fmt.Sprintf("1m30s, and %v for cuda", gpuTime), Usage: "`DURATION` of measuring, about"},
			jsonFlag("what was tried and chosen"), forceFlag("replace the file that is there"),
			&cli.StringFlag{Name: "records", Usage: "add the rows of the default and of the best of each search, the experiment tuned of a report, to the records in `FILE`; of the family cuda"},
		},
		Action: runTune,
	}
}

// tunable returns the families of the processor that have something to tune: those with
// a product over packed blocks.
func tunable() []string {
	return slices.DeleteFunc(catalog.Families(), func(name string) bool {
		_, err := named(name+"/packed", family(name))
		return err != nil
	})
}

// tuning is what tune --json writes.
type tuning struct {
	Schema   int            `json:"schema"`
	File     string         `json:"file"` // where the settings are kept
	Trials   []trial        `json:"trials"`
	Chosen   []choice       `json:"chosen"`
	CUDA     *gpuTuning     `json:"cuda,omitempty"`
	Settings tuned.Settings `json:"settings"` // what the file has
}

// trial is a race of a candidate.
type trial struct {
	Type      string `json:"type"`
	Setting   string `json:"setting"` // mc, kc, nc, blocks, direct, parallel, cutoff
	Shape     string `json:"shape"`
	Candidate string `json:"candidate"`
	Incumbent string `json:"incumbent"`
	gain
}

// choice is what became of a setting.
type choice struct {
	Type    string `json:"type"`
	Kernel  string `json:"kernel"`
	Setting string `json:"setting"` // blocks, direct, parallel, cutoff
	Default string `json:"default"`
	Chosen  string `json:"chosen"`
	Note    string `json:"note,omitempty"`
	// What the choice gains over the default on the product that Note names; null
	// where the default stays.
	Gain *gain `json:"gain"`
}

// tuner measures settings and keeps them for what is measured after.
type tuner struct {
	tuning
	progress *progress
	cutoff   int            // of Strassen's algorithm where it is not tuned
	records  *compare.Store // of rows of a GPU; nil: they are not kept
}

// stage is a part of tuning.
type stage struct {
	family string
	name   string
	share  int // of the time, beside those of the others
	run    func(ctx context.Context, t *tuner, until time.Time) error
}

// stages are the parts in their order: what follows is measured with the blocks
// that were chosen, and the longest products come last.
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

func runTune(c *cli.Context) error {
	families, err := chosen("families", c.String("families"), append(tunable(), cuda.Family))
	if err != nil {
		return err
	}
	if err := positive(c, "time"); err != nil {
		return err
	}
	onGPU := slices.Contains(families, cuda.Family)
	if c.String("records") != "" && !onGPU {
		return usagef("--records is for --families %s", cuda.Family)
	}
	limit := c.Duration("time")
	if onGPU && !c.IsSet("time") {
		if len(families) == 1 {
			limit = 0
		}
		limit += gpuTime
	}
	if err := checkFile(c); err != nil {
		return err
	}
	file := c.String("json")
	if file != "" && file != stdoutName {
		if err := checkWritable(file); err != nil {
			return err
		}
	}
	if err := settings.Writable(); err != nil {
		return err
	}
	if onGPU {
		if _, err := system(c.Context); err != nil {
			return err
		}
	}
	var records *compare.Store
	if name := c.String("records"); name != "" {
		if records, err = compare.OpenStore(name, compare.Resume); err != nil {
			return err
		}
		defer records.Close()
	}
	before, err := settings.Read()
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "gemm tune: %v, and replaces it\n", err)
	}
	var plan []stage
	whole := 0
	for _, s := range stages {
		if slices.Contains(families, s.family) {
			plan = append(plan, s)
			whole += s.share
		}
	}
	t := &tuner{progress: newProgress(c.App.ErrWriter, len(plan)), records: records}
	defer t.progress.Close()
	t.Schema, t.Settings = compare.Schema, before
	t.forget(families)
	start, spent := time.Now(), 0
	var failed error
	for _, s := range plan {
		t.progress.describe(s.name)
		spent += s.share
		err := s.run(c.Context, t, start.Add(limit*time.Duration(spent)/time.Duration(whole)))
		switch {
		case err == nil:
			t.progress.step()
			continue
		case c.Context.Err() != nil:
			err = errInterrupted
		default:
			err = fmt.Errorf("%s: %w", s.name, err)
		}
		if s.family != cuda.Family || !t.found() {
			return fmt.Errorf("%w; the settings are what they were", err)
		}
		failed = fmt.Errorf("%w; what was found is kept, %d classes of rungs stay as they were: gemm tune --families %s looks for all anew", err, t.CUDA.Left, cuda.Family)
	}
	t.progress.Close()
	if failed == nil && t.CUDA != nil {
		failed = t.CUDA.failed()
	}
	if t.File, err = settings.Save(t.Settings); err != nil {
		return errors.Join(failed, err)
	}
	if file != "" {
		err = writeJSON(c, file, t.tuning)
	}
	if file != stdoutName {
		err = errors.Join(err, t.print(c.App.Writer))
	}
	return errors.Join(failed, err)
}

// found reports whether there is anything to keep: of the processor once all of it is tuned, of
// a GPU class by class.
func (t *tuner) found() bool {
	return len(t.Chosen) > 0 || t.CUDA != nil && len(t.CUDA.Chosen) > 0
}

// forget takes the settings of the families out of those that are in use, so that
// they are measured against the defaults.
func (t *tuner) forget(families []string) {
	if len(families) == 1 && families[0] == cuda.Family {
		return // whose candidates are measured against the defaults in any case
	}
	left := func(v tuned.Values) tuned.Values {
		if slices.Contains(families, "serial") {
			v = tuned.Values{Parallel: v.Parallel}
		}
		if slices.Contains(families, "parallel") {
			v.Parallel = 0
		}
		return v
	}
	keep[float64](t, left(values[float64](t)))
	keep[float32](t, left(values[float32](t)))
	t.cutoff = cutoff()
}

// print writes what was tried, what was chosen, and where it is.
func (t *tuner) print(out io.Writer) error {
	if t.CUDA != nil {
		if err := t.CUDA.print(out); err != nil {
			return err
		}
	}
	if len(t.Chosen) > 0 {
		if t.CUDA != nil {
			fmt.Fprintln(out)
		}
		if err := t.printBlocks(out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nThe settings are in %s\n", t.File)
	return err
}

// printBlocks writes what was tried and chosen on the processor.
func (t *tuner) printBlocks(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TYPE\tSETTING\tSHAPE\tTRIED\tAGAINST\tPAIRS\tRATIO\t95% INTERVAL")
	for _, r := range t.Trials {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.Type, r.Setting, r.Shape, r.Candidate, r.Incumbent, r.Pairs, number("%.3f", r.Ratio), interval(r.CI))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	fmt.Fprintln(w, "TYPE\tKERNEL\tSETTING\tDEFAULT\tCHOSEN\tGAIN\t95% INTERVAL\tNOTE")
	for _, c := range t.Chosen {
		gained, within := "-", "-"
		if c.Gain != nil {
			gained, within = number("%.3f", c.Gain.Ratio), interval(c.Gain.CI)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Type, c.Kernel, c.Setting, c.Default, c.Chosen, gained, within, c.Note)
	}
	return w.Flush()
}

// interval formats the ends of an interval.
func interval(ci *[2]float64) string {
	if ci == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1])
}
