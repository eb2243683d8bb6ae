package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/grade"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda/remote"
	"gemm/cuda/userkernel"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/user"
)

func gradeCommand() *cli.Command {
	return &cli.Command{
		Name:      "grade",
		Usage:     "mark the kernels that students wrote for an assignment",
		UsageText: "--assignment FILE --in DIR [--out DIR] [options]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "assignment", DefaultText: "none", Usage: "`FILE`: the assignment, in YAML"},
			&cli.StringFlag{Name: "in", DefaultText: "none",
				Usage: "`DIR`: folder with a folder for each submission, or one submission: then its hidden sizes are " +
					"left out"},
			&cli.StringFlag{Name: "out", DefaultText: "none", Usage: "`DIR`: folder for the results and the feedback"},
			&cli.IntFlag{Name: "jobs", Value: runtime.GOMAXPROCS(0), DefaultText: "the processors",
				Usage: "`COUNT`: submissions that are compiled at a time; they are measured one after the other"},
			&cli.StringFlag{Name: "cpus", DefaultText: "all", Usage: "`LIST`: processors to measure on, such as 2-3"},
			&cli.DurationFlag{Name: "time", DefaultText: "100ms",
				Usage: "`DURATION`: most time for the samples of a row"},
			switchFlag("resume", "keep the results in --out of submissions that have not changed"),
			jsonFlag("the results"), forceFlag("replace the existing file of --json"),
		},
		Action: runGrade,
	}
}

func runGrade(c *cli.Context) error {
	if err := cmp.Or(requireFlags(c, "assignment", "in"), positive(c, "jobs", "time"), checkFile(c)); err != nil {
		return err
	}
	if c.Bool("resume") && !c.IsSet("out") {
		return usagef("--resume is for the results in --out DIR")
	}
	if c.IsSet("cpus") {
		if err := cpu.Narrow(cpu.ParseList(c.String("cpus"))); err != nil {
			return usagef("--cpus %s: %v", c.String("cpus"), err)
		}
		runtime.GOMAXPROCS(len(cpu.Places()))
	}
	file := c.String("assignment")
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--assignment: %w", err)
	}
	assignment, err := grade.Read(file, text, catalog.Variants())
	if err != nil {
		return usagef("--assignment: %v", err)
	}
	found, err := grade.Grade(c.Context, grade.Options{
		Assignment: assignment, In: c.String("in"), Out: c.String("out"), Jobs: c.Int("jobs"), Time: c.Duration("time"),
		Resume: c.Bool("resume"), Variants: catalog.Variants(),
		Device: func(k user.Kernel) ([]gemm.Variant, error) {
			var launch userkernel.Launch
			err := cmp.Or(launch.Block.UnmarshalText([]byte(assignment.Kernel.Block)),
				launch.Grid.UnmarshalText([]byte(assignment.Kernel.Grid)))
			if err != nil {
				return nil, err
			}
			d, err := userkernel.Read(user.Family+"/"+k.Name, k.Path, k.Symbol, k.Type, launch)
			if d.Fault != "" {
				err = errors.New(d.Fault)
			}
			return userkernel.Variants(nil, []userkernel.Kernel{d}), err
		},
		Processes: run.Processes{Worker: workerOf(c.Context).Serve, NoWorker: remote.NoWorker},
		Warn:      func(text string) { logf(c, "%s", text) },
		Done: func(r grade.Result, done, of int) {
			logf(c, "%d of %d: %s: %s of %s points", done, of, r.Submission, number("%g", record.Number(r.Points)),
				number("%g", record.Number(r.Most)))
		},
	})
	if err != nil && c.Context.Err() == nil {
		return err
	}
	if c.IsSet("out") {
		if wrong := grade.Write(c.String("out"), found); wrong != nil {
			return wrong
		}
	}
	if wrong := writeResult(c, found, func(out io.Writer) { printMarks(out, found) }); wrong != nil {
		return wrong
	}
	if err != nil {
		err = fmt.Errorf("%w after %s", errInterrupted, counted(len(found.Results), "submission"))
		if c.IsSet("out") {
			err = fmt.Errorf("%w: go on with %s", err, resumption(os.Args[1:]))
		}
	}
	return err
}

// printMarks writes the points of each submission, and the first reason why they are not all.
func printMarks(out io.Writer, c grade.Class) {
	w := output.NewTable(out, "SUBMISSION", "POINTS", "OF", "FIRST REASON")
	for _, r := range c.Results {
		reason := ""
		for _, m := range slices.Backward(r.Marks) {
			if len(m.Why) > 0 {
				reason = m.Why[0].Text
			}
		}
		w.Row(r.Submission, r.Points, r.Most, reason)
	}
	_ = w.Flush()
}
