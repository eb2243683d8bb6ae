package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/cuda/explain"
	"gemm/cuda/remote"
)

func countersFlag() cli.Flag {
	return &cli.BoolFlag{Name: "counters", DisableDefaultText: true, Usage: "add the counters of NVIDIA's profiler, ncu, to the rows that are ok and have none: each is run once more under it"}
}

// checkProfiler returns an error where --counters cannot be had.
func checkProfiler(c *cli.Context) error {
	if !c.Bool("counters") {
		return nil
	}
	if c.String("json") == "" {
		return usagef("--counters is for the records in --json FILE")
	}
	if _, err := exec.LookPath(explain.Profiler); err != nil {
		return gemm.Unavailablef("--counters: %s is not on PATH", explain.Profiler).
			WithRemedy("install Nsight Compute, which comes with CUDA's toolkit, or add its folder to PATH")
	}
	return nil
}

// addCounters runs each of the rows that is ok and has no counters once more under the
// profiler, and puts the counters into it; a row that has none then stays as it is, with a
// warning. The cases are those that the rows are of. An error is that of the store, says how
// to go on after an interruption, or why none of the rows could have counters.
func addCounters(c *cli.Context, store *compare.Store, cases []compare.Case, rows []compare.Record) error {
	var todo []int
	for i, r := range rows {
		if r.Status == compare.OK && r.GPU != nil && len(r.GPU.Counters) == 0 {
			todo = append(todo, i)
		}
	}
	p := newProgress(c.App.ErrWriter, len(todo))
	defer p.Close()
	var first error // of those that have none
	failed := 0
	for n, i := range todo {
		if c.Context.Err() != nil {
			return withoutCounters(c, len(todo)-n, len(rows))
		}
		at := slices.IndexFunc(cases, func(k compare.Case) bool { return measures(k, rows[i]) })
		if at < 0 {
			return fmt.Errorf("the row %s %s %s was not asked for", rows[i].Variant, rows[i].Type, rows[i].Shape())
		}
		p.describe("counters of " + cases[at].String())
		counters, err := explain.Counters(c.Context, cases[at], rows[i], c.Uint64("seed"), remote.Serve)
		switch {
		case c.Context.Err() != nil:
			return withoutCounters(c, len(todo)-n, len(rows))
		case err != nil:
			p.Close() // the line takes the place of the bar
			fmt.Fprintf(c.App.ErrWriter, "gemm %s: no counters of %s: %s\n", c.Command.Name, cases[at], oneLine(err))
			first = cmp.Or(first, err)
			failed++
		default:
			gpu := *rows[i].GPU
			gpu.Counters = counters
			rows[i].GPU = &gpu
			if err := store.Put(rows[i]); err != nil {
				return err
			}
		}
		p.step()
	}
	if failed > 0 && failed == len(todo) {
		return fmt.Errorf("--counters: none of %d rows has any: %w", failed, first)
	}
	return nil
}

// withoutCounters returns the error of an interruption with rows that have no counters yet.
func withoutCounters(c *cli.Context, left, rows int) error {
	file := c.String("json")
	if file == stdoutName {
		return fmt.Errorf("%w: %d of %d rows have no counters", errInterrupted, left, rows)
	}
	return fmt.Errorf("%w; %d of %d rows in %s have no counters: go on with %s", errInterrupted, left, rows, file, resumption(os.Args[1:]))
}

// measures reports whether r is the row of k, both being of one command.
func measures(k compare.Case, r compare.Record) bool {
	return r.Variant == k.Variant.Name && r.Type == k.Type && r.Op == k.Op && r.Params.String() == k.Params.String() &&
		gemm.Shape{M: r.M, N: r.N, K: r.K} == k.Shape
}
