package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda"
	"gemm/cuda/explain"
	"gemm/cuda/remote"
	"gemm/internal/occupancy"
)

// cudaCommand returns the command that measures the family, explains it or computes occupancies.
func cudaCommand(f ladder) *cli.Command {
	c := f.command()
	c.UsageText = "[options]\n   gemm cuda --explain --cc CAPABILITY [options]"
	for _, flag := range c.Flags { // of measuring and of explaining
		switch f := flag.(type) {
		case *cli.GenericFlag:
			if text, ok := explainDefaults[f.Name]; ok {
				f.DefaultText = f.Value.String() + "; with --explain " + text
			}
		case *cli.StringFlag:
			if f.Name == "json" {
				f.Usage = "`FILE`: write the records, or the figures of --explain, to FILE, or to standard output if it is -"
			}
		}
	}
	c.Flags = append(explainFlags(), append(c.Flags, switchFlag("counters",
		"run each row once more under NVIDIA's profiler, ncu, and add its counters to the record"))...)
	c.Subcommands = []*cli.Command{occupancyCommand()}
	c.Action = func(c *cli.Context) error {
		if err := checkExplain(c); err != nil {
			return err
		}
		if !c.Bool("explain") {
			return f.run(c)
		}
		for name, text := range explainDefaults {
			if c.IsSet(name) {
				continue
			}
			if err := c.Set(name, text); err != nil {
				return err
			}
		}
		return runExplain(c)
	}
	return c
}

// explainDefaults are the values with --explain of flags that measuring has too.
var explainDefaults = map[string]string{"sizes": "4096", "type": "f32,f64"}

// explainShares are the flags that both measuring and explaining have.
var explainShares = []string{"sizes", "type", "maxregs", "json", "force"}

// checkExplain returns an error if a flag is there that only measuring has, or only explaining.
func checkExplain(c *cli.Context) error {
	explains := mapped(explainFlags(), func(f cli.Flag) string { return f.Names()[0] })
	for _, flag := range c.Command.Flags {
		name := flag.Names()[0]
		if !c.IsSet(name) || slices.Contains(explainShares, name) {
			continue
		}
		switch of := slices.Contains(explains, name); {
		case of && !c.Bool("explain"):
			return usagef("--%s is for --explain", name)
		case !of && c.Bool("explain"):
			return usagef("--%s is for measuring, which --explain does not", name)
		}
	}
	for _, name := range []string{"sizes", "maxregs", "pad", "multiprocessors"} {
		if c.Bool("tiles") && c.IsSet(name) {
			return usagef("--tiles has no use for --%s: leave one out", name)
		}
	}
	return nil
}

// withSettings returns the cases whose settings are possible together, as check says, and prints how many
// are left out: a sweep combines all values. A value that is possible in no case is an error.
func (f ladder) withSettings(c *cli.Context, cases []plan.Case, check func(plan.Case) error) ([]plan.Case,
	error) {
	var kept, left []plan.Case
	var reasons []error // of those that are left out
	for _, k := range cases {
		if err := check(k); err != nil {
			left, reasons = append(left, k), append(reasons, fmt.Errorf("%s %s: %w", k.Variant.Name, k.Type, err))
			continue
		}
		kept = append(kept, k)
	}
	for i, k := range left {
		for _, s := range f.sweeps {
			same := func(other plan.Case) bool { return other.Params[s.name()] == k.Params[s.name()] }
			if c.IsSet(s.flag) && k.Params[s.name()] != nil && !slices.ContainsFunc(kept, same) {
				return nil, usagef("--%s %v: %s", s.flag, k.Params[s.name()], oneLine(reasons[i]))
			}
		}
	}
	if len(left) > 0 {
		logf(c, "%d of %d rows are left out, which cannot be so: %s", len(left), len(cases), oneLine(reasons[0]))
	}
	return kept, nil
}

func occupancyCommand() *cli.Command {
	return &cli.Command{
		Name:      "occupancy",
		Usage:     "compute the occupancy of a kernel, and what limits it",
		UsageText: "--cc CAPABILITY --threads COUNT --regs COUNT [--smem BYTES] [options]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "cc", Usage: "`CAPABILITY`: compute capability, such as 8.6 or sm_86"},
			&cli.IntFlag{Name: "threads", DefaultText: "none", Usage: "`COUNT`: threads of a block"},
			&cli.IntFlag{Name: "regs", DefaultText: "none", Usage: "`COUNT`: registers of a thread"},
			&cli.StringFlag{Name: "smem", Value: "0", DefaultText: "0",
				Usage: "`BYTES`: shared memory of a block, static and dynamic, such as 16384 or 16KiB"},
			switchFlag("sweep", "add three tables: the occupancy over threads, over registers and over shared memory"),
			jsonFlag("the figures"), forceFlag("replace the existing file"),
		},
		Action: runOccupancy,
	}
}

// capabilities lists the compute capabilities whose limits are known.
func capabilities() string {
	return strings.Join(mapped(occupancy.Capabilities(), occupancy.Capability.String), ", ")
}

// parseCapability returns the compute capability that --cc says.
func parseCapability(c *cli.Context) (occupancy.Capability, error) {
	if !c.IsSet("cc") {
		return occupancy.Capability{}, usagef("--cc is missing: give the compute capability, one of %s", capabilities())
	}
	capability, err := occupancy.ParseCapability(c.String("cc"))
	if err != nil {
		return capability, usagef("--cc: %v", err)
	}
	return capability, nil
}

// checkFile returns an error if --json FILE and --force do not go together with what is there.
func checkFile(c *cli.Context) error {
	name := c.String("json")
	switch {
	case name != "" && name != stdoutName:
		return checkReplace(c, name)
	case c.Bool("force"):
		return usagef("--force is for the file in --json FILE")
	}
	return nil
}

func runOccupancy(c *cli.Context) error {
	capability, err := parseCapability(c)
	if err != nil {
		return err
	}
	for _, name := range []string{"threads", "regs"} {
		if !c.IsSet(name) {
			return usagef("--%s is missing; see gemm cuda occupancy --help", name)
		}
	}
	kernel := occupancy.Kernel{Threads: c.Int("threads"), Registers: c.Int("regs")}
	if kernel.Shared, err = parseBytes("smem", c.String("smem")); err != nil {
		return err
	}
	filled, err := explain.Occupy(capability, kernel, c.Bool("sweep"))
	if err != nil {
		return usagef("%v", err)
	}
	if err := checkFile(c); err != nil {
		return err
	}
	return writeResult(c, filled.Document(), filled.Print)
}

// parseBytes returns the number of bytes that the text of a flag says. KB is not taken: it
// is 1000 bytes to some and 1024 to others, NVIDIA's tables among them.
func parseBytes(flag, text string) (int, error) {
	number, unit := strings.TrimSpace(strings.ToLower(text)), 1
	if n, ok := strings.CutSuffix(number, "kib"); ok {
		number, unit = strings.TrimSpace(n), 1024
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > math.MaxInt/unit {
		return 0, usagef("--%s %q: must be bytes, such as 16384, or KiB, such as 16KiB", flag, text)
	}
	return n * unit, nil
}

// checkReplace returns an error if the file is there and --force is not.
func checkReplace(c *cli.Context, name string) error {
	if err := checkRegular(name); err != nil {
		return err
	}
	if _, err := os.Stat(name); err == nil && !c.Bool("force") {
		return fmt.Errorf("%s exists already: replace it with --force, or name another", name)
	}
	return nil
}

// checkProfiler returns an error if --counters cannot be had.
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

// addCounters measures each row that is ok and has no counters once more under the profiler, and adds the counters to
// the record. If a row gets none, it has a warning. cases are the cases of the rows. The error is of the
// store, or says how to continue after an interruption, or why no row could have counters.
func addCounters(c *cli.Context, store *record.Store, cases []plan.Case, rows []record.Record) error {
	var todo []int
	of := map[int]plan.Case{}
	for i, r := range rows {
		if r.Status != record.OK || r.GPU == nil || len(r.GPU.Counters) > 0 {
			continue
		}
		at := slices.IndexFunc(cases, func(k plan.Case) bool { return measures(k, r) })
		if at < 0 {
			return fmt.Errorf("the row %s %s %s was not asked for", r.Variant, r.Type, r.Label())
		}
		k := cases[at]
		k.Turn = ""
		todo, of[i] = append(todo, i), k
	}
	p := newProgress(c.App.ErrWriter, len(todo))
	defer p.Close()
	var first error // of those that have none
	left, failed := len(todo), 0
	for _, batch := range profiled(todo, of) {
		if c.Context.Err() != nil {
			return withoutCounters(c, left, len(rows))
		}
		p.describe(fmt.Sprintf("counters of %d rows", len(batch)))
		var got []record.Record
		found, missing, err := explain.Counters(workerOf(c.Context).Profile, func(worker explain.Command) error {
			doc, err := measureOnce(c, mapped(batch, func(i int) plan.Case { return of[i] }), 0, worker)
			got = doc.Records
			return err
		})
		switch {
		case c.Context.Err() != nil:
			return withoutCounters(c, left, len(rows))
		case err != nil:
			return err
		}
		for _, i := range batch {
			row := rows[i]
			counters, err := countersOf(row, of[i], got, found, missing)
			if err != nil {
				p.Close() // the line takes the place of the bar
				logf(c, "no counters of %s: %s", of[i], oneLine(err))
				first = cmp.Or(first, err)
				failed++
			} else {
				gpu := *row.GPU
				gpu.Counters = counters
				rows[i].GPU = &gpu
				if err := store.Put(record.Document{Records: rows[i : i+1]}); err != nil {
					return err
				}
			}
			left--
			p.step()
		}
	}
	if failed > 0 && failed == len(todo) {
		return fmt.Errorf("--counters: none of %d rows has any: %w", failed, first)
	}
	return nil
}

// mostProfiled is how many rows are measured by one worker under the profiler: it takes seconds to start, and an
// interruption loses the counters of these rows.
const mostProfiled = 32

// profiled returns the rows in batches for one worker each. The marks in a batch differ.
func profiled(todo []int, of map[int]plan.Case) (batches [][]int) {
	for _, i := range todo {
		at := slices.IndexFunc(batches, func(batch []int) bool {
			return len(batch) < mostProfiled &&
				!slices.ContainsFunc(batch, func(j int) bool { return markOf(of[i]) == markOf(of[j]) })
		})
		if at < 0 {
			at, batches = len(batches), append(batches, nil)
		}
		batches[at] = append(batches[at], i)
	}
	return batches
}

func markOf(k plan.Case) string { return cuda.Mark(k.Variant.Name, k.Type, k.Shape) }

// countersOf returns the counters of the case of a row, of which got has the row under the profiler. If the kernel has
// another setting now, it is not the kernel that was timed, and that is an error.
func countersOf(row record.Record, k plan.Case, got []record.Record, found map[string]explain.Values,
	missing error) (explain.Values, error) {
	var again record.Record
	if i := slices.IndexFunc(got, func(r record.Record) bool { return measures(k, r) }); i >= 0 {
		again = got[i]
	}
	counters := found[markOf(k)]
	switch {
	case again.Status == record.OK && again.Resolved.String() != row.Resolved.String():
		return nil, fmt.Errorf("it runs with %v now and ran with %v: measure it again with --force", again.Resolved,
			row.Resolved)
	case again.Status == record.OK && counters != nil:
		return counters, nil
	case missing != nil:
		return nil, missing
	case again.Status != record.OK:
		return nil, fmt.Errorf("under %s the row is %s: %s", explain.Profiler, again.Status, again.Note())
	}
	return nil, fmt.Errorf("%s saw no kernel that multiplies", explain.Profiler)
}

// measureOnce measures cases once, by a worker, and before them the ceilings of their GPUs, for the given time each.
func measureOnce(c *cli.Context, cases []plan.Case, ceilings time.Duration, worker explain.Command) (record.Document,
	error) {
	d := compare.Driver{Store: &record.Store{}, Seed: c.Uint64("seed"), Progress: compare.Quiet{}, Ceilings: ceilings,
		Budget:    plan.Budget{Reps: 1, Time: time.Nanosecond, Timeout: explain.ProfileTimeout},
		Processes: run.Processes{Worker: worker, NoWorker: remote.NoWorker}}
	err := d.Run(c.Context, cases)
	return d.Store.Document(), err
}

// withoutCounters returns the error of an interruption with rows that have no counters yet.
func withoutCounters(c *cli.Context, left, rows int) error {
	file := c.String("json")
	if file == stdoutName {
		return fmt.Errorf("%w: %d of %d rows have no counters", errInterrupted, left, rows)
	}
	return fmt.Errorf("%w; %d of %d rows in %s have no counters: go on with %s", errInterrupted, left, rows, file,
		resumption(os.Args[1:]))
}

// measures reports whether r is the row of k, both being of one command.
func measures(k plan.Case, r record.Record) bool {
	return r.Variant == k.Variant.Name && r.Type == k.Type && r.Op == k.Op && r.Params.String() == k.Params.String() &&
		gemm.Shape{M: r.M, N: r.N, K: r.K} == k.Shape
}

type workerKey struct{}

// withWorkerCache returns a context in which system queries the worker only once.
func withWorkerCache(ctx context.Context) context.Context {
	return context.WithValue(ctx, workerKey{}, &remote.Worker{})
}

// workerOf returns the worker of the command, a new one outside of a command.
func workerOf(ctx context.Context) *remote.Worker {
	if w, ok := ctx.Value(workerKey{}).(*remote.Worker); ok {
		return w
	}
	return &remote.Worker{}
}

// system returns what the worker finds on this host. The error wraps gemm.ErrUnavailable if there
// is no worker, no driver or no GPU. It is errInterrupted if the context ends first.
func system(ctx context.Context) (cuda.System, error) {
	s, err := workerOf(ctx).System(ctx)
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	return s, err
}

// onGPU returns the error of finding what v needs in any of the types: a GPU that is new enough, and the compiler or
// the library.
func onGPU(ctx context.Context, v gemm.Variant, types ...string) error {
	s, err := system(ctx)
	if err != nil {
		return err
	}
	return remote.Check(s, v, types...)
}

// checkDevices returns an error if --device asks for a GPU that is not there; where there
// is none at all, the rows say so.
func checkDevices(c *cli.Context, cases []plan.Case) error {
	if !c.IsSet("device") {
		return nil
	}
	for _, k := range cases {
		n, ok := k.Params["device"].(int)
		if !ok {
			continue
		}
		s, err := system(c.Context)
		if errors.Is(err, errInterrupted) {
			return err
		}
		if err != nil {
			return nil
		}
		if !slices.ContainsFunc(s.GPUs, func(g cuda.GPU) bool { return g.Index == n }) {
			names := mapped(s.GPUs, func(g cuda.GPU) string { return fmt.Sprintf("%d (%s)", g.Index, g.Name) })
			there := "are"
			if len(names) == 1 {
				there = "is"
			}
			return gemm.Unavailablef("--device %d: there %s %s", n, there, strings.Join(names, ", "))
		}
	}
	return nil
}
