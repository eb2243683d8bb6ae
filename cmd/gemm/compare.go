package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/compare/report"
	"gemm/internal/catalog"
	"gemm/mpi/launch"
)

func compareCommand() *cli.Command {
	var names []string
	var docs strings.Builder
	for _, p := range compare.Profiles() {
		names = append(names, p.Name)
		fmt.Fprintf(&docs, "   %-9s %s\n", p.Name, p.Doc)
	}
	return &cli.Command{
		Name:      "compare",
		Usage:     "measure and verify all variants on this machine, and write a report",
		UsageText: "[--profile NAME] [--out DIR] [options]",
		Description: "Writes the records to results.json in DIR, row by row, and then the report in all\n" +
			"formats but PDF. Profiles:\n\n" + docs.String() +
			"\nA profile of your own is a file FILE.yaml; --profile print shows these, to begin with.\n" +
			"An option with LIST takes several values, separated by commas.",
		Flags: append([]cli.Flag{
			choiceFlag("profile", names[0], names[0], "`NAME`: what is measured: "+strings.Join(names, ", ")+
				", or a file NAME.yaml; print shows these", append(names, "print")),
			&cli.StringFlag{Name: "out", Value: "report", DefaultText: "report", Usage: "`DIR`: folder for the records and the report"},
			resumeFlag(), forceFlag("replace the existing records"),
			wordsFlag("families", "", "all", "`LIST`: families of variants: "+strings.Join(catalog.Families(), ", "),
				catalog.Families(), among(catalog.Families())),
			variantsFlag(catalog.Variants()), sizesFlag("", "the profile's"), typeFlag(catalog.Variants(), "", "the profile's"),
			listFlag("threads", "", "the profile's",
				"`LIST`: numbers of threads, for variants that use threads", anyInteger),
			listFlag("np", "", "the profile's", "`LIST`: numbers of ranks, for the family mpi", anyInteger),
			oversubscribeFlag(),
			isaFlag(),
			&cli.IntFlag{Name: "reps", DefaultText: "the profile's", Usage: "`COUNT`: least number of samples of a row"},
			&cli.DurationFlag{Name: "time", DefaultText: "the profile's",
				Usage: "`DURATION`: most time for the samples of a row"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "the profile's", Usage: "`DURATION`: time limit of a row"},
			langFlag(), coverFlag(), claimsFlag(), noTunedFlag(),
			traceFlag("record a timeline of each variant at its largest size, and write the timelines"),
			bringFlag(hostKernels, gpuKernels), cflagsFlag(),
		}, launchFlags()...),
		Action: runCompare,
	}
}

// profileOf returns the profile that the flags name, with their budget. A file may name the variants.
func profileOf(c *cli.Context, variants []gemm.Variant) (compare.Profile, error) {
	name := c.String("profile")
	profiles := compare.Profiles()
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		text, err := os.ReadFile(name)
		if err == nil {
			profiles[0], err = compare.ReadProfile(name, text, variants)
		}
		if err != nil {
			return compare.Profile{}, usagef("--profile: %v", err)
		}
		name = profiles[0].Name
	}
	i := slices.IndexFunc(profiles, func(p compare.Profile) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range profiles {
			names = append(names, p.Name)
		}
		return compare.Profile{}, usagef("--profile %q: must be one of %s, or a file FILE.yaml", name,
			strings.Join(names, ", "))
	}
	profile := profiles[i]
	if c.IsSet("reps") {
		profile.Budget.Reps, profile.Budget.Patience, profile.Budget.Loops.Patience = c.Int("reps"), 0, 0
	}
	if c.IsSet("time") {
		profile.Budget.Time = c.Duration("time")
	}
	if c.IsSet("timeout") {
		profile.Budget.Timeout = c.Duration("timeout")
	}
	return profile, positive(c, "reps", "time", "timeout")
}

// comparison returns the rows that the flags ask for, with those of the kernels that the user brought.
func comparison(c *cli.Context, brought ...gemm.Variant) ([]compare.Case, compare.Profile, error) {
	variants := catalog.Variants()
	profile, err := profileOf(c, append(slices.Clone(variants), brought...))
	if err != nil {
		return nil, profile, err
	}
	if c.IsSet("families") {
		families := listed[string](c, "families")
		variants = slices.DeleteFunc(variants, func(v gemm.Variant) bool { return !slices.Contains(families, v.Family()) })
	}
	if c.IsSet("isa") { // other processes compute these, and devices
		variants = slices.DeleteFunc(variants, func(v gemm.Variant) bool {
			return v.Family() == "mpi" || v.Family() == "cuda"
		})
		if len(variants) == 0 {
			return nil, profile, usagef("--isa %s: ranks and GPUs are not held: choose --families serial, parallel "+
				"or reference", c.String("isa"))
		}
	}
	l := compare.Ladder{Shapes: profile.Shapes, Ops: []string{"nn"}, Alpha: 1}
	if l.Variants, err = parseVariants(listed[string](c, "variants"), variants, variants); err != nil {
		return nil, profile, err
	}
	l.Variants = append(slices.Clone(l.Variants), brought...)
	l.Types = profile.Types
	if l.Types == nil {
		l.Types = gemm.TypeNames()
	}
	if c.IsSet("type") {
		l.Types = listed[string](c, "type")
	}
	if l.Sweep, err = workerSweep(c, profile); err != nil {
		return nil, profile, err
	}
	if !c.IsSet("threads") && profile.LibraryThreads != nil {
		l.Libraries = map[string][]any{"threads": anys(profile.LibraryThreads)}
	}
	l.Keep = func(k compare.Case) bool { return profile.Keeps(k, c.IsSet("sizes")) }
	if c.IsSet("sizes") {
		l.Shapes = listed[gemm.Shape](c, "sizes")
		profile.Budget.Call, profile.Budget.Loops.Call = 0, 0
	}
	cases := l.Cases()
	for i, k := range cases {
		cases[i].Timeline = profile.Draws(k)
	}
	for _, e := range profile.Planned(l.Variants, l.Types) {
		sized := !c.IsSet("sizes") || slices.Contains(l.Shapes, e.Base())
		asked := func(flag, param string) bool {
			return !c.IsSet(flag) || e.Params[param] == nil || slices.Contains(l.Sweep[param], e.Params[param])
		}
		if sized && asked("threads", "threads") && asked("np", "ranks") {
			cases = append(cases, e)
		}
	}
	if len(cases) == 0 {
		return nil, profile, usagef("--profile %s has no row of these variants, sizes, types and threads", profile.Name)
	}
	if c.IsSet("trace") {
		drawLargest(cases)
		if !c.Bool("resume") && !slices.ContainsFunc(cases, func(k compare.Case) bool { return k.Timeline }) {
			return nil, profile,
				usagef("--trace: none of the rows has a timeline: choose variants on threads, ranks or a GPU")
		}
	}
	return cases, profile, checkBrought(brought, cases)
}

// drawLargest requests a timeline of each variant that can have one, at the largest product of the main
// tables.
func drawLargest(cases []compare.Case) {
	largest := map[string]int{}
	for i, k := range cases {
		at, ok := largest[k.Variant.Name]
		serial := k.Variant.Family() == "serial" || k.Variant.Role.Outside()
		if !serial && k.Experiment == compare.MainLadder && (!ok || k.Terms() > cases[at].Terms()) {
			largest[k.Variant.Name] = i
		}
	}
	for _, i := range largest {
		cases[i].Timeline = true
	}
}

// workerSweep returns the numbers of threads and ranks, from the flags or from the profile. There
// are at most as many threads as processors: larger numbers of a profile are dropped, those of a
// flag are an error.
func workerSweep(c *cli.Context, p compare.Profile) (map[string][]any, error) {
	sweep := map[string][]any{}
	for _, n := range p.Ranks {
		sweep["ranks"] = append(sweep["ranks"], n)
	}
	if c.IsSet("np") {
		sweep["ranks"] = anys(listed[int](c, "np"))
		for _, n := range sweep["ranks"] {
			if n.(int) < 1 {
				return nil, usagef("--np %d: must be positive integers", n)
			}
		}
		if !c.Bool(oversubscribeName) {
			if err := checkCounts(sweep["ranks"], launch.Here().Processors); err != nil {
				return nil, err
			}
		}
	}
	most := runtime.GOMAXPROCS(0)
	var counts []any
	for _, n := range p.Threads {
		if n <= most {
			counts = append(counts, n)
		}
	}
	if c.IsSet("threads") {
		counts = anys(listed[int](c, "threads"))
		for _, n := range counts {
			if n.(int) < 1 || n.(int) > most {
				return nil, usagef("--threads %d: must be 1 to %d, the processors of this machine", n, most)
			}
		}
	}
	if counts != nil {
		sweep["threads"] = counts
	}
	return sweep, nil
}

// again is the most time in which rows with a wide spread are measured again.
const again = 20 * time.Second

// printProfiles prints the built-in profiles as they are written.
func printProfiles(w io.Writer) error {
	for i, p := range compare.Profiles() {
		if i > 0 {
			fmt.Fprint(w, "\n---\n")
		}
		fmt.Fprintf(w, "# profile %s\n%s", p.Name, p.Text)
	}
	return nil
}

func runCompare(c *cli.Context) error {
	if c.String("profile") == "print" {
		return printProfiles(c.App.Writer)
	}
	if err := hold(c); err != nil {
		return err
	}
	useTuned(c)
	kernels, err := bring(c, 1)
	if err != nil {
		return err
	}
	defer kernels.Close()
	cases, profile, err := comparison(c, kernels.Variants()...)
	if err != nil {
		return err
	}
	sayUnmeasured(c, cases)
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
	if err := checkTrace(c, records); err != nil { // its folder may be that of the report
		return err
	}
	store, err := compare.OpenStore(records, how)
	if err != nil {
		return err
	}
	defer store.Close()
	p, failed := measure(c, compare.Driver{
		Store: store, Seed: 1, Budget: profile.Budget, Ceilings: profile.Ceilings, Bandwidth: true, Again: again,
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
	traced := writeTrace(c, store.Document())
	if c.String("trace") == stdoutName {
		return errors.Join(failed, traced)
	}
	return errors.Join(failed, traced, summarise(c.App.Writer, store.Rows(p.rows), paths))
}

// summarise writes the rows of the first experiment, the ladder if there is one, at the largest shape
// with a speed of each variant and type; rows that went wrong; why rows are unavailable; and which
// files there are.
func summarise(w io.Writer, rows []compare.Record, paths []string) error {
	type series struct{ variant, typ, params string }
	of := func(r compare.Record) series { return series{r.Variant, r.Type, r.Params.String()} }
	best, counts := map[series]compare.Record{}, map[compare.Status]int{}
	for _, r := range rows {
		counts[r.Status]++
		was, ok := best[of(r)]
		if r.Experiment == rows[0].Experiment && (!ok || r.Speed() && (!was.Speed() || r.Terms() > was.Terms())) {
			best[of(r)] = r
		}
	}
	var shown []compare.Record
	for _, r := range rows {
		is := r.Experiment == rows[0].Experiment && r.Shape == best[of(r)].Shape
		if (r.Status.Bad() || is) && !unavailable(r) {
			shown = append(shown, r)
		}
	}
	if err := errors.Join(printTable(w, shown), printNoise(w, rows)); err != nil {
		return err
	}
	if err := printUnavailable(w, rows); err != nil {
		return err
	}
	var parts []string
	for _, s := range []compare.Status{compare.OK, compare.Wrong, compare.Suspect, compare.Failed, compare.Timeout,
		compare.Skipped, compare.Unavailable} {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	if _, err := fmt.Fprintf(w, "\n%d rows: %s\n\n", len(rows), strings.Join(parts, ", ")); err != nil {
		return err
	}
	return printPaths(w, paths)
}
