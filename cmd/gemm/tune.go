package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm/cmd/gemm/cmdline"
	"gemm/cmd/tune"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/output"
	"gemm/internal/settings"
)

// gpuTime is the default time to tune the family cuda.
const gpuTime = 10 * time.Minute

func tuneCommand() *cli.Command {
	families := strings.Join(tune.Families(), ",")
	return &cli.Command{
		Name:      "tune",
		Usage:     "find the best block sizes, cut-offs and tiles for this machine",
		UsageText: "[--families LIST] [--time DURATION] [--json FILE [--force]] [--records FILE]",
		Flags: []cli.Flag{
			cmdline.WordsFlag("families", families, families,
				"`LIST`: families to tune; the settings of the others stay: "+strings.Join(tune.Families(),
					", ")+", "+cuda.Family, append(tune.Families(), cuda.Family), cmdline.Among(append(tune.Families(), cuda.Family))),
			&cli.DurationFlag{Name: "time", Value: 90 * time.Second, DefaultText: fmt.Sprintf("1m30s, and %v for cuda", gpuTime),
				Usage: "`DURATION`: time to measure, approximately"},
			jsonFlag("what was tried and chosen"), forceFlag("replace the existing file"),
			&cli.StringFlag{Name: "records",
				Usage: "`FILE`: with --families cuda: add the default and the best setting of each search to the records in FILE"},
		},
		Action: runTune,
	}
}

func runTune(c *cli.Context) error {
	options, err := tuneOptions(c)
	if err != nil {
		return err
	}
	file := c.String("json")
	if err := checkFile(c); err != nil {
		return err
	}
	if file != "" && file != stdoutName {
		if err := output.Writable(file, c.Bool("force")); err != nil {
			return err
		}
	}
	if err := settings.Writable(); err != nil {
		return err
	}
	var found cuda.System
	if slices.Contains(options.Families, cuda.Family) {
		if found, err = system(c.Context); err != nil {
			return err
		}
	}
	var records *record.Store
	if name := c.String("records"); name != "" {
		if records, err = record.OpenStore(name, record.Resume); err != nil {
			return err
		}
		defer records.Close()
	}
	if options.Settings, err = settings.Read(); err != nil {
		logf(c, "%v, and replaces it", err)
	}
	p := newProgress(c.App.ErrWriter, tune.Steps(options.Families))
	defer p.Close()
	if len(found.GPUs) > 0 {
		options.Device = tunedDevice(c, p, found.GPUs[0], records)
	}
	options.Progress, options.Step = p.describe, p.step
	result, failed := tune.Run(c.Context, options)
	if failed != nil {
		if c.Context.Err() != nil {
			failed = errInterrupted
		}
		if result == nil {
			return fmt.Errorf("%w; the settings are what they were", failed)
		}
		failed = fmt.Errorf("%w; what was found is kept, %d classes of rungs stay as they were: gemm tune --families %s "+
			"searches all again", failed, result.CUDA.Left, cuda.Family)
	} else if result.CUDA != nil {
		failed = result.CUDA.Failed()
	}
	p.Close()
	if result.File, err = settings.Save(result.Settings); err != nil {
		return errors.Join(failed, err)
	}
	if file != "" {
		err = writeJSON(c, file, result)
	}
	if file != stdoutName {
		printTuned(c.App.Writer, result)
	}
	return errors.Join(failed, err)
}

// tuneOptions returns what the flags say is tuned, and for how long.
func tuneOptions(c *cli.Context) (tune.Options, error) {
	families := cmdline.Listed[string](c, "families")
	if err := positive(c, "time"); err != nil {
		return tune.Options{}, err
	}
	onGPU := slices.Contains(families, cuda.Family)
	if c.String("records") != "" && !onGPU {
		return tune.Options{}, usagef("--records is for --families %s", cuda.Family)
	}
	limit := c.Duration("time")
	if onGPU && !c.IsSet("time") {
		if len(families) == 1 {
			limit = 0
		}
		limit += gpuTime
	}
	return tune.Options{Families: families, Time: limit, Revision: builtAs().Version}, nil
}

// tunedDevice returns the GPU with what tuning it needs.
func tunedDevice(c *cli.Context, p *progress, gpu cuda.GPU, records *record.Store) *tune.Device {
	return &tune.Device{
		GPU: gpu, Worker: workerOf(c.Context).Serve, Command: commandLine(os.Args[1:]), Records: records,
		Warn: func(text string) { logf(c, "%s", text) },
		Chosen: func(s tune.GPUChoice) {
			if p.bar == nil {
				fmt.Fprintf(c.App.ErrWriter, "%s %s: %s; %d of %d tried\n", s.GPUTask, s.Shape, searched(s), s.Tried, s.Of)
			}
		},
	}
}

// printTuned writes what was tried, what was chosen, and where it is.
func printTuned(out io.Writer, r *tune.Result) {
	if r.CUDA != nil {
		printSearches(out, r.CUDA)
	}
	if len(r.Chosen) > 0 {
		if r.CUDA != nil {
			fmt.Fprintln(out)
		}
		printTrials(out, r)
	}
	fmt.Fprintf(out, "\nThe settings are in %s\n", r.File)
}

// printTrials writes what was tried and chosen on the processor.
func printTrials(out io.Writer, r *tune.Result) {
	w := output.NewTable(out, "TYPE", "SETTING", "SHAPE", "TRIED", "AGAINST", "PAIRS", "RATIO", "95% INTERVAL")
	for _, t := range r.Trials {
		w.Row(t.Type, t.Setting, t.Shape, t.Candidate, t.Incumbent, t.Pairs, number("%.3f", t.Ratio), interval(t.CI))
	}
	_ = w.Flush()
	fmt.Fprintln(out)
	w.Row("TYPE", "KERNEL", "SETTING", "DEFAULT", "CHOSEN", "GAIN", "95% INTERVAL", "NOTE")
	for _, c := range r.Chosen {
		gained, within := "-", "-"
		if c.Gain != nil {
			gained, within = number("%.3f", c.Gain.Ratio), interval(c.Gain.CI)
		}
		w.Row(c.Type, c.Kernel, c.Setting, c.Default, c.Chosen, gained, within, c.Note)
	}
	_ = w.Flush()
}

func interval(ci *[2]float64) string {
	if ci == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f", ci[0], ci[1])
}

// searched says what a search came to.
func searched(c tune.GPUChoice) string {
	switch {
	case c.Note != "":
		return c.Note
	case c.Kept:
		return fmt.Sprintf("%s is %s times as fast as the default", c.Best, number("%.3f", c.Gain))
	}
	return fmt.Sprintf("the default stays, %s is %s times as fast", c.Best, number("%.3f", c.Gain))
}

// printSearches writes what became of each rung and class.
func printSearches(out io.Writer, g *tune.GPUResult) {
	fmt.Fprintf(out, "%s\n\n", g.GPU)
	w := output.NewTable(out, "RUNG", "TYPE", "CLASS", "SHAPE", "DEFAULT", "BEST OTHER", "GAIN", "OVER CUBLAS",
		"GFLOP/S", "TRIED", "OUTCOME")
	wrong := 0
	for _, t := range g.Trials {
		if t.Status != record.OK {
			wrong++
		}
	}
	for _, c := range g.Chosen {
		outcome := "default stays"
		switch {
		case c.Note != "":
			outcome = c.Note
		case c.Kept:
			outcome = "kept"
		}
		w.Row(c.Rung, c.Type, c.Class, c.Shape, c.Default, c.Best, number("%.3f", c.Gain), number("%.3f", c.Library),
			number("%.0f", c.Gflops), fmt.Sprintf("%d of %d", c.Tried, c.Of), outcome)
	}
	_ = w.Flush()
	if wrong > 0 {
		fmt.Fprintf(out, "\n%d candidates failed or were wrong, and are out: --json says why\n", wrong)
	}
	if g.Left > 0 {
		fmt.Fprintf(out, "\nThere was no time for %d more classes of rungs, which stay as they were: raise --time\n",
			g.Left)
	}
}
