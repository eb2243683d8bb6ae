package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	"gemm/compare/report"
	"gemm/internal/cpu"
	"gemm/mpi/launch"
)

func compareCommand() *cli.Command {
	names := mapped(plan.Profiles(cpu.Workers()), func(p plan.Profile) string { return p.Name })
	return &cli.Command{
		Name:      "compare",
		Usage:     "measure and verify all variants on this machine, and write a report",
		UsageText: "[--profile NAME] [--out DIR] [options]",
		Flags: append([]cli.Flag{
			cmdline.ChoiceFlag("profile", names[0], names[0], "`NAME`: what is measured: "+strings.Join(names, ", ")+
				", or a file NAME.yaml; print shows these", append(names, "print")),
			&cli.StringFlag{Name: "out", Value: "report", DefaultText: "report",
				Usage: "`DIR`: folder for the records and the report"},
			resumeFlag(), forceFlag("replace the existing records"),
			cmdline.WordsFlag("families", "", "all", "`LIST`: families of variants: "+strings.Join(catalog.Families(), ", "),
				catalog.Families(), cmdline.Among(catalog.Families())),
			variantsFlag(catalog.Variants()), sizesFlag("", "the profile's"), typeFlag(catalog.Variants(), "", "the profile's"),
			cmdline.ListFlag("threads", "", "the profile's",
				"`LIST`: numbers of threads, for variants that use threads", cmdline.Integer),
			cmdline.ListFlag("np", "", "the profile's", "`LIST`: numbers of ranks, for the family mpi", cmdline.Integer),
			oversubscribeFlag(),
			isaFlag(),
			&cli.IntFlag{Name: "reps", DefaultText: "the profile's", Usage: "`COUNT`: least number of samples of a row"},
			&cli.DurationFlag{Name: "time", DefaultText: "the profile's",
				Usage: "`DURATION`: most time for the samples of a row"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "the profile's", Usage: "`DURATION`: time limit of a row"},
			langFlag(), coverFlag(), claimsFlag(), noTunedFlag(), accuracyFlag(""),
			traceFlag("record a timeline of each variant at its largest size, and write the timelines"),
			bringFlag(hostKernels, gpuKernels), cflagsFlag(),
		}, launchFlags()...),
		Action: runCompare,
	}
}

// profileOf returns the profile that the flags name, with their budget. A file may name the variants.
func profileOf(c *cli.Context, variants []gemm.Variant) (plan.Profile, error) {
	name := c.String("profile")
	processors := cpu.Workers()
	profiles := plan.Profiles(processors)
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		text, err := os.ReadFile(name)
		if err == nil {
			profiles[0], err = plan.ReadProfile(name, text, variants, processors)
		}
		if err != nil {
			return plan.Profile{}, usagef("--profile: %v", err)
		}
		name = profiles[0].Name
	}
	names := mapped(profiles, func(p plan.Profile) string { return p.Name })
	i := slices.Index(names, name)
	if i < 0 {
		return plan.Profile{}, usagef("--profile %q: must be one of %s, or a file FILE.yaml", name,
			strings.Join(names, ", "))
	}
	profile := profiles[i]
	if c.IsSet("reps") {
		profile.Budget.Reps, profile.Budget.Patience = c.Int("reps"), 0
	}
	if c.IsSet("time") {
		profile.Budget.Time = c.Duration("time")
	}
	if c.IsSet("timeout") {
		profile.Budget.Timeout = c.Duration("timeout")
	}
	return profile, positive(c, "reps", "time", "timeout")
}

// comparison returns what the flags request, with the user's own kernels.
func comparison(c *cli.Context, own ...gemm.Variant) (plan.Comparison, error) {
	variants := catalog.Variants()
	profile, err := profileOf(c, append(slices.Clone(variants), own...))
	p := plan.Comparison{Profile: profile, Largest: c.IsSet("trace")}
	if err != nil {
		return p, err
	}
	if c.IsSet("families") {
		families := cmdline.Listed[string](c, "families")
		variants = slices.DeleteFunc(variants, func(v gemm.Variant) bool { return !slices.Contains(families, v.Family()) })
	}
	if c.IsSet("isa") { // other processes compute these, and devices
		variants = slices.DeleteFunc(variants, func(v gemm.Variant) bool {
			return v.Family() == "mpi" || v.Family() == "cuda"
		})
		if len(variants) == 0 {
			return p, usagef("--isa %s: ranks and GPUs are not held: choose --families serial, parallel or reference",
				c.String("isa"))
		}
	}
	if p.Variants, err = parseVariants(cmdline.Listed[string](c, "variants"), variants, variants); err != nil {
		return p, err
	}
	p.Variants = append(slices.Clone(p.Variants), own...)
	if c.IsSet("type") {
		p.Types = cmdline.Listed[string](c, "type")
	}
	if c.IsSet("sizes") {
		p.Shapes = cmdline.Listed[gemm.Shape](c, "sizes")
	}
	if c.IsSet("np") {
		p.Ranks = cmdline.Listed[int](c, "np")
		for _, n := range p.Ranks {
			if n < 1 {
				return p, usagef("--np %d: must be positive integers", n)
			}
		}
		if !c.Bool(oversubscribeName) {
			if err := checkCounts(anys(p.Ranks), launch.Detect().Processors); err != nil {
				return p, err
			}
		}
	}
	if c.IsSet("threads") {
		p.Threads = cmdline.Listed[int](c, "threads")
		for _, n := range p.Threads {
			if most := profile.Processors; n < 1 || n > most {
				return p, usagef("--threads %d: must be 1 to %d, the processors of this machine", n, most)
			}
		}
	}
	return p, nil
}

func rowsOf(c *cli.Context, p plan.Comparison, own []gemm.Variant) ([]plan.Case, error) {
	cases, err := p.Cases()
	switch {
	case len(cases) == 0:
		return nil, usagef("--profile %s has no row of these variants, sizes, types and threads", p.Profile.Name)
	case err != nil && !c.Bool("resume"):
		return nil, usagef("--trace: %v", err)
	}
	return cases, checkKernels(own, cases)
}

// again is the most time in which rows with a wide spread are measured again.
const again = 20 * time.Second

// printProfiles prints the built-in profiles as they are written.
func printProfiles(w io.Writer) {
	for i, p := range plan.Profiles(cpu.Workers()) {
		if i > 0 {
			fmt.Fprint(w, "\n---\n")
		}
		fmt.Fprintf(w, "# profile %s\n%s", p.Name, p.Text)
	}
}

func runCompare(c *cli.Context) error {
	if c.String("profile") == "print" {
		printProfiles(c.App.Writer)
		return nil
	}
	if err := applyISA(c); err != nil {
		return err
	}
	applyTuned(c)
	kernels, err := openKernels(c, 1)
	if err != nil {
		return err
	}
	defer kernels.Close()
	requested, err := comparison(c, kernels.Variants()...)
	if err != nil {
		return err
	}
	cases, err := rowsOf(c, requested, kernels.Variants())
	if err != nil {
		return err
	}
	warnUnmeasured(c, cases)
	how, err := mode(c)
	if err != nil {
		return err
	}
	opt, err := reportOptions(c)
	if err != nil {
		return err
	}
	if c.IsSet("sizes") { // a profile's case that has no room here is a row that says so
		if err := checkCases(cases); err != nil {
			return err
		}
	}
	dir := c.String("out")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out %s: %w", dir, err)
	}
	records := filepath.Join(dir, "results.json")
	if err := checkTrace(c, records); err != nil { // it may be in the folder of the report
		return err
	}
	store, err := record.OpenStore(records, how)
	if err != nil {
		return err
	}
	defer store.Close()
	p, failed := measure(c, compare.Driver{
		Store: store, Seed: 1, Budget: requested.Budget(), Ceilings: requested.Profile.Ceilings, Bandwidth: true,
		Again: again,
	}, cases, records)
	// After an interruption too, of the rows that there are: a second one ends the program. The records are on disk
	// already, and a PDF wants a TeX system.
	ctx := c.Context
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	formats := slices.DeleteFunc(report.Formats(), func(f string) bool { return f == "json" || f == "pdf" })
	paths, err := report.Write(ctx, dir, store.Document().Declared(catalog.Variants()),
		report.WriteOptions{Formats: formats, Options: opt, Force: c.Bool("force")})
	if err != nil {
		return errors.Join(failed, err)
	}
	failed = errors.Join(failed, writeTrace(c, store.Document()))
	if c.String("trace") != stdoutName {
		printSummary(c.App.Writer, store.Rows(p.rows), paths)
		if c.IsSet(accuracyName) {
			failed = errors.Join(failed, printRequests(c.App.Writer, cmdline.Listed[float64](c, accuracyName), cases,
				store.Rows(p.rows)))
		}
	}
	return failed
}

// printSummary writes the rows of plan.Summary; why rows are unavailable; and which files there are.
func printSummary(w io.Writer, rows []record.Record, paths []string) {
	printTable(w, plan.Summary(rows))
	printNoise(w, rows)
	counts := map[record.Status]int{}
	for _, r := range rows {
		counts[r.Status]++
	}
	printUnavailable(w, rows)
	var parts []string
	for _, s := range []record.Status{record.OK, record.Wrong, record.Suspect, record.Failed, record.Timeout,
		record.Skipped, record.Unavailable} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	fmt.Fprintf(w, "\n%d rows: %s\n\n", len(rows), strings.Join(parts, ", "))
	printPaths(w, paths)
}
