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
	"gemm/internal/catalog"
	"gemm/internal/tuned"
)

func tuneCommand() *cli.Command {
	families := strings.Join(tunable(), ",")
	return &cli.Command{
		Name:      "tune",
		Usage:     "measure block sizes and cut-offs here, for later runs to use",
		UsageText: "[--families LIST] [--time DURATION] [--json FILE]",
		Description: "Measures candidates in turn with what is in use, f64 and f32, and keeps what is\n" +
			"really faster in a file of this processor model in your folder for configuration.\n" +
			"gemm info shows what is in use; --no-tuned of the other commands ignores it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "families", Value: families, DefaultText: families, Usage: "`LIST` of families whose settings are measured; those of others stay: " + strings.Join(tunable(), ", ")},
			&cli.DurationFlag{Name: "time", Value: 90 * time.Second, Usage: "`DURATION` of measuring, about"},
			jsonFlag("what was tried and chosen"),
		},
		Action: runTune,
	}
}

// tunable returns the families that have something to tune: those with a product
// over packed blocks.
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
	cutoff   int // of Strassen's algorithm where it is not tuned
}

// stage is a part of tuning.
type stage struct {
	family string
	name   string
	share  int // of the time, in hundredths
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
}

func runTune(c *cli.Context) error {
	families, err := chosen("families", c.String("families"), tunable())
	if err != nil {
		return err
	}
	if err := positive(c, "time"); err != nil {
		return err
	}
	file := c.String("json")
	if file != "" && file != stdoutName {
		if err := checkWritable(file); err != nil {
			return err
		}
	}
	if err := tuned.Writable(); err != nil {
		return err
	}
	before, err := tuned.Read()
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
	t := &tuner{progress: newProgress(c.App.ErrWriter, len(plan))}
	defer t.progress.Close()
	t.Schema, t.Settings = compare.Schema, before
	t.forget(families)
	start, spent := time.Now(), 0
	for _, s := range plan {
		t.progress.describe(s.name)
		spent += s.share
		err := s.run(c.Context, t, start.Add(c.Duration("time")*time.Duration(spent)/time.Duration(whole)))
		if c.Context.Err() != nil {
			return fmt.Errorf("%w; the settings are what they were", errInterrupted)
		}
		if err != nil {
			return fmt.Errorf("%s: %w; the settings are what they were", s.name, err)
		}
		t.progress.step()
	}
	t.progress.Close()
	if t.File, err = tuned.Save(t.Settings); err != nil {
		return err
	}
	if file != "" {
		err = writeJSON(c, file, t.tuning)
	}
	if file == stdoutName {
		return err
	}
	return errors.Join(err, t.print(c.App.Writer))
}

// forget takes the settings of the families out of those that are in use, so that
// they are measured against the defaults.
func (t *tuner) forget(families []string) {
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
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nThe settings are in %s\n", t.File)
	return err
}

// interval formats the ends of an interval.
func interval(ci *[2]float64) string {
	if ci == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1])
}
