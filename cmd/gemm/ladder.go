package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/cpu"
	"gemm/internal/sample"
	"gemm/mpi"
)

func (f ladder) command() *cli.Command {
	variants := variantsFlag(f.nameable())
	if f.defaults != nil && f.defaults[0] != "all" {
		variants.DefaultText += "; with --bring, " + strings.Join(f.defaults, ",")
	}
	flags := []cli.Flag{
		variants, sizesFlag(cmp.Or(f.sizes, ladderSizes), cmp.Or(f.sizes, ladderSizes)),
		typeFlag(family(f.family), "f64", "f64"),
		cmdline.WordsFlag("trans", "nn", "nn", "`LIST`: how A and B are stored: nn, nt, tn, tt; t: transposed",
			[]string{"nn", "nt", "tn", "tt"}, cmdline.Among([]string{"nn", "nt", "tn", "tt"})),
		cmdline.FactorFlag("alpha", 1, "", "A*B"), cmdline.FactorFlag("beta", 0, "", "C"),
		&cli.IntFlag{Name: "ld", Usage: "`COUNT`: elements between the end of a matrix row and the next row"},
	}
	for _, s := range f.sweeps {
		usage, known := s.usage, choices(s.flag, family(f.family))
		if s.kind == option {
			usage += ": " + strings.Join(known, ", ")
		}
		if s.kind == integer {
			flags = append(flags, cmdline.ListFlag(s.flag, "", "", usage, cmdline.Integer))
		} else {
			flags = append(flags, cmdline.WordsFlag(s.flag, "", "", usage, known, cmdline.Word))
		}
	}
	if f.workers != "" {
		flags = append(flags, switchFlag("weak", "weak scaling: multiply m by the number of "+
			strings.Replace(f.unit(), "devices", "GPUs", 1)))
	}
	if f.timeline != "" {
		flags = append(flags, switchFlag("timeline", f.timeline))
	}
	if f.family == mpiFamily {
		flags = append(flags, oversubscribeFlag())
	} else {
		flags = append(flags, cmdline.ListFlag(batchName, "", "",
			"`LIST`: products of a batch: as many products of each shape are computed and timed as one",
			cmdline.Integer),
			accuracyFlag("; without --variants and --type, of the variants for use in floating point"))
	}
	if f.timeline != "" {
		flags = append(flags, traceFlag("record timelines, as --timeline does, and write them"))
	}
	if f.family == cuda.Family {
		flags = append(append(flags, bringFlag(gpuKernels)), launchFlags()...)
	} else if f.defaults != nil {
		flags = append(flags, bringFlag(hostKernels), cflagsFlag())
	}
	flags = append(flags,
		&cli.IntFlag{Name: "reps", Value: sample.MinForInterval,
			DefaultText: fmt.Sprintf("%d; with more than %d rows, fewer for slow products", sample.MinForInterval, manyRows),
			Usage:       "`COUNT`: least number of samples of a row"},
		&cli.DurationFlag{Name: "time", Value: maxRowTime,
			DefaultText: fmt.Sprintf("%v; less with more than %d rows", maxRowTime, manyRows),
			Usage:       "`DURATION`: most time for the samples of a row"},
		&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute, Usage: "`DURATION`: time limit of a row"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER`: seed of the random operands"},
		jsonFlag("the records"), resumeFlag(), forceFlag("replace the existing records"), noTunedFlag(),
		&cli.StringFlag{Name: taskName, Hidden: true},
	)
	return &cli.Command{
		Name: f.family, Usage: f.usage, UsageText: "[options]",
		Flags: flags, Action: f.run,
	}
}

// rows returns the rows that the flags request, with the user's own kernels.
func (f ladder) rows(c *cli.Context, own ...gemm.Variant) (plan.Ladder, error) {
	l := plan.Ladder{Alpha: cmdline.FactorOf(c, "alpha"), Beta: cmdline.FactorOf(c, "beta"), LD: c.Int("ld"),
		Processors: runtime.NumCPU(), Sweep: map[string][]any{}}
	var err error
	names, nameable := cmdline.Listed[string](c, "variants"), f.nameable()
	if len(names) == 0 && len(own) > 0 {
		names, nameable = f.defaults, catalog.Variants() // of other families too
	}
	if l.Variants, err = parseVariants(names, f.measured(c), nameable); err != nil {
		return l, err
	}
	l.Shapes, l.Types = cmdline.Listed[gemm.Shape](c, "sizes"), cmdline.Listed[string](c, "type")
	l.Ops = cmdline.Listed[string](c, "trans")
	l.Variants = append(l.Variants, own...)
	l.Together = len(own) > 0 && f.family != cuda.Family // whose rows are interleaved anyway
	if !c.IsSet("type") {
		l.Types = kernelTypes(l.Types, own)
	}
	if err := checkFactors(c, l.Types...); err != nil {
		return l, err
	}
	if l.LD < 0 {
		return l, usagef("--ld %d: must be 0 or more", l.LD)
	}
	for _, s := range f.sweeps {
		if !c.IsSet(s.flag) {
			continue
		}
		if s.kind == integer {
			l.Sweep[s.name()] = anys(cmdline.Listed[int](c, s.flag))
			continue
		}
		words := cmdline.Listed[string](c, s.flag)
		if err := checkWords(s.flag, words, choices(s.name(), l.Variants)); err != nil {
			return l, err
		}
		l.Sweep[s.name()] = anys(words)
	}
	if c.IsSet(accuracyName) {
		if err := promise(c, &l); err != nil {
			return l, err
		}
	}
	if f.workers == "threads" && !c.IsSet("threads") { // by default, libraries have one thread
		l.Libraries = maps.Clone(l.Sweep)
		l.Libraries["threads"] = []any{f.threads()}
	}
	if f.family == mpiFamily {
		if err := onRanks(c.Context, c.Bool(oversubscribeName), &l); err != nil {
			return l, err
		}
	}
	if c.IsSet("chain") {
		return l, iterate(c, &l)
	}
	if c.IsSet(batchName) {
		return l, batches(c, &l)
	}
	if f.workers != "" {
		err = f.experiment(c, &l)
	}
	if err != nil || f.timeline == "" {
		return l, err
	}
	return l, f.timelines(c, &l)
}

// cases returns the cases that the flags request, with the user's own kernels.
func (f ladder) cases(c *cli.Context, own []gemm.Variant) ([]plan.Case, error) {
	l, err := f.rows(c, own...)
	if err != nil {
		return nil, err
	}
	if err := positive(c, "reps", "time", "timeout"); err != nil {
		return nil, err
	}
	cases := l.Cases()
	if len(cases) == 0 {
		return nil, usagef("none of the variants has the type %s", c.Generic("type"))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Sweep)) {
		if !slices.ContainsFunc(cases, func(k plan.Case) bool { _, ok := k.Params[name]; return ok }) {
			return nil, usagef("--%s: none of the variants has it", name)
		}
	}
	if err := checkKernels(own, cases); err != nil {
		return nil, err
	}
	warnUnmeasured(c, cases)
	switch f.family {
	case cuda.Family:
		if _, err := counts(c, "maxregs", minRegisters, maxRegisters); err != nil {
			return nil, err
		}
		return f.withSettings(c, cases, func(k plan.Case) error {
			return cuda.CheckSettings(k.Variant.Name, k.Type, k.Params)
		})
	case mpiFamily: // before ranks are started
		return f.withSettings(c, cases, func(k plan.Case) error { return mpi.CheckSettings(k.Variant, k.Params) })
	}
	return cases, nil
}

// threads returns the number of threads of a variant unless a flag says otherwise.
func (f ladder) threads() int {
	if f.workers == "threads" {
		return cpu.Workers()
	}
	return 1
}

func (f ladder) run(c *cli.Context) error {
	applyTuned(c)
	if job := jobOf(c.Context); job != nil && job.Rank() > 0 {
		return nil
	}
	if folder := c.String(taskName); folder != "" {
		return runTask(c, folder)
	}
	kernels, err := openKernels(c, f.threads())
	if err != nil {
		return err
	}
	defer kernels.Close()
	cases, err := f.cases(c, kernels.Variants())
	if err != nil {
		return err
	}
	file := c.String("json")
	how, err := modeFor(c, file)
	if err != nil {
		return err
	}
	if err := checkRun(c, cases); err != nil {
		return err
	}
	store, err := openRecords(file, how)
	if err != nil {
		return err
	}
	defer store.Close()
	show := func(rows []record.Record) error {
		switch {
		case c.String("trace") == stdoutName:
			return nil
		case file != stdoutName:
			printRows(c.App.Writer, store.Rows(rows))
			if c.IsSet(accuracyName) {
				return printRequests(c.App.Writer, cmdline.Listed[float64](c, accuracyName), cases, store.Rows(rows))
			}
			return nil
		}
		data, err := store.Encode()
		if err != nil {
			return err
		}
		return writeAll(c.App.Writer, data)
	}
	b := budget(c, len(cases))
	leading, err := lead(c, b.Timeout, func() error { return show(store.Document().Records) })
	if err != nil {
		return err
	}
	p, err := measure(c, compare.Driver{
		Store: store, Seed: c.Uint64("seed"), Ceilings: min(ceiling, 5*b.Time),
		Bandwidth: file != "", // no column of the table is divided by it, only a report of the records
		Budget:    b, Lead: leading,
	}, cases, file)
	if c.Bool("counters") && c.Context.Err() == nil {
		err = errors.Join(err, addCounters(c, store, cases, p.rows))
	}
	return errors.Join(err, show(p.rows), writeTrace(c, store.Document()))
}

// checkRun returns an error if the rows cannot be measured as the flags say. It announces rows that take long.
func checkRun(c *cli.Context, cases []plan.Case) error {
	for _, check := range []func() error{
		func() error { return checkTrace(c, c.String("json")) },
		func() error { return checkCases(cases) },
		func() error { return checkDevices(c, cases) },
		func() error { return checkProfiler(c) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return announce(c, cases)
}
