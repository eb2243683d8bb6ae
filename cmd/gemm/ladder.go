package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/compare/probe"
	"gemm/cuda"
	"gemm/internal/catalog"
	"gemm/internal/sample"
	"gemm/mpi"
)

// ladder describes a command that measures the variants of one family.
type ladder struct {
	family, usage, description string
	sweeps                     []sweep
	// workers is the flag of the numbers of workers: what is swept names the experiment.
	// Empty: there are none.
	workers string
	sizes   string // that are measured unless others are asked for; empty: small ones
}

// sweep is a flag whose values are crossed with those of the others.
type sweep struct {
	flag, usage string
	kind        kind
	param       string // of the variants; empty: the same as the flag
}

// name returns the parameter that s is of.
func (s sweep) name() string { return cmp.Or(s.param, s.flag) }

// kind is that of the values of a sweep.
type kind int

const (
	integer kind = iota
	word         // a name of many
	option       // one of few, which the help lists
)

var ladders = []ladder{
	{
		family: "serial",
		usage:  "measure and verify the variants that run on one processor",
		description: "Flags of lists measure every combination; --cutoff, --leaf and --block apply to\n" +
			"the variants that have them. --trans, --alpha and --beta other than plain C = A*B\n" +
			"want a production variant, such as serial/packed.",
		sweeps: []sweep{
			{flag: "cutoff", usage: "`LIST` of sizes at which a recursive variant hands over to its leaf"},
			{flag: "leaf", usage: "`LIST` of variants that a recursive variant hands over to", kind: word},
			{flag: "block", usage: "`LIST` of block sizes"},
		},
	},
	{
		family: "parallel",
		usage:  "measure and verify the variants that share the work between threads",
		description: "Flags of lists measure every combination of the parameters that a variant has;\n" +
			"without --threads there is one thread a processor. What is swept is the\n" +
			"experiment that the report shows: several --threads strong scaling, --weak weak\n" +
			"scaling, several --schedule or --chunk, --affinity or --gomaxprocs their effect,\n" +
			"--load imbalance. Rows of one variant are measured in turn, serial/packed and\n" +
			"serial/ikj beside them. --trans, --alpha and --beta other than plain C = A*B want a\n" +
			"production variant, such as parallel/packed.",
		sweeps: []sweep{
			{flag: "threads", usage: "`LIST` of numbers of threads"},
			{flag: "schedule", usage: "`LIST` of schedules", kind: option},
			{flag: "chunk", usage: "`LIST` of chunk sizes; 0: the schedule's own"},
			{flag: "affinity", usage: "`LIST` of where threads run", kind: option},
			{flag: "gomaxprocs", usage: "`LIST` of values of GOMAXPROCS while a row is measured; 0: the number of processors"},
			{flag: "local", usage: "`LIST` of serial variants that compute a chunk of rows or a tile", kind: word},
			{flag: "tile", usage: "`LIST` of edges of tiles"},
			{flag: "load", usage: "`LIST` of imbalances: the last index is computed this many times more often than the first"},
			{flag: "cutoff", usage: "`LIST` of sizes at which a recursive variant hands over to its leaf"},
		},
		workers: "threads",
	},
	{
		family: mpiFamily,
		usage:  "measure and verify the variants on ranks, which mpirun starts",
		description: "Under mpirun -n COUNT gemm mpi, rank 0 measures on all ranks and prints one table.\n" +
			"Otherwise --np says how many ranks mpirun is started with; without it there is one\n" +
			"a processor. Flags of lists measure every combination of the parameters that a\n" +
			"variant has. What is swept is the experiment that the report shows: several --np\n" +
			"strong scaling, --weak weak scaling, several --panel or --affinity their effect.\n" +
			"All rows of a type, a shape and a number of ranks are measured in turn, with\n" +
			"reference/scalapack among them where --variants names it.",
		sweeps: []sweep{
			{flag: "np", usage: "`LIST` of numbers of ranks; under mpirun those that there are", param: "ranks"},
			{flag: "threads", usage: "`LIST` of threads of a rank; 0: its share of the processors"},
			{flag: "local", usage: "`LIST` of variants that compute the part of a rank", kind: word},
			{flag: "master", usage: "`LIST` of what rank 0, which sends to the others, does besides", kind: option},
			{flag: "panel", usage: "`LIST` of rows or columns that are sent at once"},
			{flag: "grid", usage: "`LIST` of grids of ranks PxQ; auto: as near to square as can be", kind: word},
			{flag: "replication", usage: "`LIST` of layers of ranks, with a copy of C each; 0: as many as have the least to send"},
			{flag: "schedule", usage: "`LIST` of whether ranks of a host help each other", kind: option},
			{flag: "affinity", usage: "`LIST` of where ranks run", kind: option},
		},
		workers: "np",
	},
	{
		family: cuda.Family,
		usage:  "measure and verify the ladder of kernels on an NVIDIA GPU, or explain it without one",
		description: "The program gemm-cuda, which make build puts beside gemm, computes; a row whose kernel\n" +
			"faults or does not end costs that row alone. Times are those of the kernels, on\n" +
			"operands that are on the GPU; the records have the copies beside them. All rows of a\n" +
			"type and a shape are measured in turn, NVIDIA's library among them. Flags of lists\n" +
			"measure every combination of the parameters that a variant has; several --block or\n" +
			"--bk, --stages, --maxregs or --l2 are the experiment that the report shows.\n\n" +
			"With --explain nothing runs: each rung is compiled for the compute capability by\n" +
			"NVRTC, which may be anywhere (GEMM_NVRTC).",
		sweeps: []sweep{
			{flag: "device", usage: "`LIST` of numbers of GPUs; gemm info names them"},
			{flag: "block", usage: "`LIST` of threads of a block along an edge; 0: the default"},
			{flag: "bk", usage: "`LIST` of k indices of a slice; 0: the default"},
			{flag: "stages", usage: "`LIST` of slices in shared memory or on their way there; 0: the default"},
			{flag: "tile", usage: "`LIST` of tiles of block, warp and thread, such as 128x128x8/32x64/8x8; auto: chosen by shape", kind: word},
			{flag: "split", usage: "`LIST` of parts that k is cut into; 0: chosen by shape"},
			{flag: "maxregs", usage: "`LIST` of registers of a thread at most; 0: as many as the compiler takes"},
			{flag: "l2", usage: "`LIST` of whether operands change from call to call, so that none is in the L2 cache",
				kind: option},
		},
		sizes: "512,1024,2048,4096",
	},
}

// ladderSizes are measured where nothing else is asked for.
const ladderSizes = "64,128,256,512"

// peers returns the variants of other families that are measured with this one where they
// are asked for by name: those on ranks.
func (f ladder) peers() []gemm.Variant {
	if f.family != mpiFamily {
		return nil
	}
	return mpi.Peers()
}

func (f ladder) command() *cli.Command {
	flags := []cli.Flag{
		variantsFlag(family(f.family)), sizesFlag(cmp.Or(f.sizes, ladderSizes), cmp.Or(f.sizes, ladderSizes)),
		typeFlag(family(f.family), "f64", "f64"),
		listFlag("trans", "nn", "nn", "`LIST` of how A and B are stored: nn, nt, tn, tt, t being transposed",
			among([]string{"nn", "nt", "tn", "tt"})),
		factorFlag("alpha", 1, "", "A*B"), factorFlag("beta", 0, "", "C"),
		&cli.IntFlag{Name: "ld", Usage: "`COUNT` of elements between the end of a row and the next one, in each matrix"},
	}
	for _, s := range f.sweeps {
		usage := s.usage
		if s.kind == option {
			usage += ": " + strings.Join(choices(s.flag, family(f.family)), ", ")
		}
		if s.kind == integer {
			flags = append(flags, listFlag(s.flag, "", "", usage, anyInteger))
		} else {
			flags = append(flags, listFlag(s.flag, "", "", usage, anyWord))
		}
	}
	switch f.workers {
	case "threads":
		flags = append(flags,
			&cli.BoolFlag{Name: "weak", DisableDefaultText: true,
				Usage: "scale m with the threads: each thread computes as many rows as one thread of the given size"},
			&cli.BoolFlag{Name: "timeline", DisableDefaultText: true,
				Usage: "record which thread computes what and when, in one more product of every row"},
		)
	case "np":
		flags = append(flags,
			&cli.BoolFlag{Name: "weak", DisableDefaultText: true,
				Usage: "scale m with the ranks: each rank computes as many rows as one rank of the given size"},
			oversubscribeFlag(),
		)
	}
	flags = append(flags,
		&cli.IntFlag{Name: "reps", Value: sample.MinForInterval,
			DefaultText: fmt.Sprintf("%d, fewer of slow products for more than %d rows", sample.MinForInterval, manyRows),
			Usage:       "at least `COUNT` samples a row"},
		&cli.DurationFlag{Name: "time", Value: longest,
			DefaultText: fmt.Sprintf("%v, less for more than %d rows", longest, manyRows),
			Usage:       "`DURATION` of a row's samples at most"},
		&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute, Usage: "`DURATION` after which a row is given up"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER` that the operands are drawn from"},
		jsonFlag("the records"), resumeFlag(), forceFlag("replace the records that are there"), noTunedFlag(), taskFlag(),
	)
	return &cli.Command{
		Name: f.family, Usage: f.usage, UsageText: "[options]", Description: f.description,
		Flags: flags, Action: f.run,
	}
}

// rows returns the rows that the flags ask for.
func (f ladder) rows(c *cli.Context) (compare.Ladder, error) {
	l := compare.Ladder{Alpha: factorOf(c, "alpha"), Beta: factorOf(c, "beta"), LD: c.Int("ld"), Sweep: map[string][]any{}}
	var err error
	if l.Variants, err = parseVariants(listed[string](c, "variants"), family(f.family), f.peers()...); err != nil {
		return l, err
	}
	l.Shapes, l.Types, l.Ops = listed[gemm.Shape](c, "sizes"), listed[string](c, "type"), listed[string](c, "trans")
	if err := checkFactors(c, l.Types...); err != nil {
		return l, err
	}
	if l.LD < 0 {
		return l, usagef("--ld %d: wants 0 or more", l.LD)
	}
	for _, s := range f.sweeps {
		if !c.IsSet(s.flag) {
			continue
		}
		if s.kind == integer {
			l.Sweep[s.name()] = anys(listed[int](c, s.flag))
			continue
		}
		words := listed[string](c, s.flag)
		if err := checkWords(s.flag, words, choices(s.name(), l.Variants)); err != nil {
			return l, err
		}
		l.Sweep[s.name()] = anys(words)
	}
	if f.family == mpiFamily {
		if err := onRanks(c.Context, c.Bool(oversubscribeName), &l); err != nil {
			return l, err
		}
	}
	switch {
	case f.workers != "":
		return l, f.experiment(c, &l)
	case f.family == cuda.Family:
		l.Experiment = onGPUExperiment(l.Sweep)
	}
	return l, nil
}

// choices returns the values that the parameter can have in one of the variants.
func choices(param string, variants []gemm.Variant) []string {
	var found []string
	for _, v := range variants {
		for _, q := range v.Params {
			for _, value := range q.Choices {
				if q.Name == param && !slices.Contains(found, value) {
					found = append(found, value)
				}
			}
		}
	}
	return found
}

// onGPUExperiment returns the experiment of the first parameter that has several values; empty
// where there is none.
func onGPUExperiment(sweep map[string][]any) compare.Experiment {
	for _, of := range []struct {
		param      string
		experiment compare.Experiment
	}{
		{"block", compare.BlockSizes}, {"bk", compare.BlockSizes}, {"stages", compare.PipelineStages},
		{"maxregs", compare.RegisterLimits}, {"l2", compare.CacheStates},
	} {
		if len(sweep[of.param]) > 1 {
			return of.experiment
		}
	}
	return ""
}

// mostTimelines is the number of rows up to which timelines are recorded: each is some
// hundred kilobytes of a file that is written whole after every group of rows.
const mostTimelines = 100

// experiment makes an experiment of l where something is swept. Schedules beside several
// threads are strong scaling, so that T(1) and T(p) are measured in turn.
func (f ladder) experiment(c *cli.Context, l *compare.Ladder) error {
	several := func(name string) bool { return len(l.Sweep[name]) > 1 }
	workers := "threads"
	if f.workers == "np" {
		workers = "ranks"
	}
	switch {
	case c.Bool("weak") && !several(workers) && !led(c.Context):
		return usagef("--weak wants the numbers of %s that m grows with, such as --%s 1,2,4", workers, f.workers)
	case c.Bool("weak"):
		l.Experiment = compare.WeakScaling
	case several("panel"):
		l.Experiment = compare.PanelWidths
	case several("gomaxprocs"):
		l.Experiment = compare.ProcessorLimits
	case several("affinity"):
		l.Experiment = compare.Affinities
	case slices.ContainsFunc(l.Sweep["load"], func(load any) bool { return load != 0 }):
		l.Experiment = compare.ArtificialLoad
	case several("chunk"):
		l.Experiment = compare.ChunkSizes
	case several(workers):
		l.Experiment = compare.StrongScaling
	case several("schedule") && f.family == mpiFamily:
		l.Experiment = compare.RankSchedules
	case several("schedule"):
		l.Experiment = compare.ChunkSizes
	}
	if l.Experiment != "" && workers == "threads" {
		l.Baselines = baselines(*l)
	}
	l.Timeline = c.Bool("timeline")
	n := 0
	for _, k := range l.Cases() {
		if k.Timeline {
			n++
		}
	}
	if n > mostTimelines {
		return usagef("--timeline is for %d rows at most, these are %d: choose fewer with --variants, --sizes, --threads and --schedule", mostTimelines, n)
	}
	return nil
}

// baselines returns the variants that are measured beside experiments: the fastest
// serial one and, where it can compute what is asked for, the plain loop.
func baselines(l compare.Ladder) []gemm.Variant {
	plain := slices.Equal(l.Ops, []string{"nn"}) && l.Alpha == 1 && l.Beta == 0
	return slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool {
		return v.Name != "serial/packed" && (v.Name != "serial/ikj" || !plain)
	})
}

// cases returns the cases that the flags ask for.
func (f ladder) cases(c *cli.Context) ([]compare.Case, error) {
	l, err := f.rows(c)
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
		if !slices.ContainsFunc(cases, func(k compare.Case) bool { _, ok := k.Params[name]; return ok }) {
			return nil, usagef("--%s: none of the variants has it", name)
		}
	}
	if f.family == cuda.Family {
		return withSettings(c, l, cases)
	}
	return cases, nil
}

func (f ladder) run(c *cli.Context) error {
	useTuned(c)
	if job := jobOf(c.Context); job != nil && job.Rank() > 0 {
		return nil
	}
	if folder := c.String(taskName); folder != "" {
		return runTask(c, folder)
	}
	cases, err := f.cases(c)
	if err != nil {
		return err
	}
	file := c.String("json")
	how, err := mode(c)
	if err != nil {
		return err
	}
	if how != compare.Create && (file == "" || file == stdoutName) {
		return usagef("--resume and --force are for the records in --json FILE")
	}
	if err := checkCases(cases); err != nil {
		return err
	}
	if err := checkDevices(c, cases); err != nil {
		return err
	}
	if err := checkProfiler(c); err != nil {
		return err
	}
	if err := announce(c, cases); err != nil {
		return err
	}
	store := &compare.Store{}
	if file != "" && file != stdoutName {
		if err := checkRegular(file); err != nil {
			return err
		}
		if store, err = compare.OpenStore(file, how); err != nil {
			return err
		}
		defer store.Close()
	}
	show := func(rows []compare.Record) error {
		if file != stdoutName {
			return printTable(c.App.Writer, rows)
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
		Store: store, Seed: c.Uint64("seed"), Ceilings: 50 * time.Millisecond, // enough for a column of the table
		Bandwidth: file != "", // no column of the table is divided by it, only a report of the records
		Budget:    b, Lead: leading,
	}, cases, file)
	if c.Bool("counters") && c.Context.Err() == nil {
		err = errors.Join(err, addCounters(c, store, cases, p.rows))
	}
	return errors.Join(err, show(p.rows))
}

// Without --time the samples of a row take up to the longest time, and those of more
// than manyRows rows so much less that together they do not take longer, but for the
// shortest time. Without --reps as well, a slow product has fewer samples then, no more
// than take the patience with it.
const (
	longest  = 2 * time.Second
	shortest = 100 * time.Millisecond
	patience = 4 * time.Second
	manyRows = 200
)

// budget returns how long each of so many rows may take.
func budget(c *cli.Context, rows int) compare.Budget {
	b := compare.Budget{Reps: c.Int("reps"), Time: c.Duration("time"), Timeout: c.Duration("timeout")}
	if c.IsSet("time") || rows <= manyRows {
		return b
	}
	each := longest * manyRows / time.Duration(rows)
	b.Time = max(shortest, each.Round(10*time.Millisecond))
	if !c.IsSet("reps") {
		b.Patience = patience
	}
	return b
}

// announce warns where threads cannot all run at the same time, and says how long a
// great number of rows takes.
func announce(c *cli.Context, cases []compare.Case) error {
	host, err := compare.DescribeHost()
	if err != nil {
		return err
	}
	announceRanks(c, cases)
	threads := 0
	for _, k := range cases {
		if k.Ranks() == 0 {
			threads = max(threads, k.Threads())
		}
	}
	if crowded := host.Crowded(threads); crowded != "" {
		fmt.Fprintf(c.App.ErrWriter, "gemm %s: %s\n", c.Command.Name, crowded)
	}
	if n := len(cases); n > manyRows {
		b := budget(c, n)
		slow := "however slow"
		if b.Patience > 0 {
			slow = fmt.Sprintf("while they take less than %v", b.Patience)
		}
		fmt.Fprintf(c.App.ErrWriter,
			"gemm %s: %d rows take %v and more: up to %v of samples each (--time), and at least %d samples %s (--reps)\n",
			c.Command.Name, n, (time.Duration(n) * b.Time).Round(time.Minute), b.Time, b.Reps, slow)
	}
	return nil
}

// measure runs the driver over the cases. An error says what went wrong with the
// rows, or how to go on after an interruption; file is where the records are.
func measure(c *cli.Context, d compare.Driver, cases []compare.Case, file string) (*progress, error) {
	p := newProgress(c.App.ErrWriter, len(cases))
	defer p.Close()
	d.Probes, d.Progress, d.Command = append(probe.Of(cases), pingPongs(c.Context)...), p, commandLine(os.Args[1:])
	d.MPI = mpi.Version()
	if d.Lead == nil {
		d.Launch, d.Worker = launcher(c), workerOf(c.Context).Serve
		d.Warn = func(text string) {
			p.Close() // the line takes the place of the bar
			fmt.Fprintf(c.App.ErrWriter, "gemm %s: %s\n", c.Command.Name, text)
		}
	}
	d.Build = func(ctx context.Context, program string) *exec.Cmd {
		args := []string{"serial", "--" + taskName, taskInput}
		if c.Bool("no-tuned") {
			args = append(args, "--no-tuned")
		}
		return exec.CommandContext(ctx, program, args...)
	}
	err := d.Run(c.Context, cases)
	switch {
	case c.Context.Err() != nil && (file == "" || file == stdoutName):
		return p, fmt.Errorf("%w after %d of %d rows; with --json FILE the next time can go on from there", errInterrupted,
			len(p.rows), len(cases))
	case c.Context.Err() != nil:
		return p, fmt.Errorf("%w; %d of %d rows are in %s: go on with %s", errInterrupted, len(p.rows), len(cases), file,
			resumption(os.Args[1:]))
	case err != nil:
		return p, err
	}
	return p, outcome(p.rows)
}

// commandLine returns the command with the arguments as one would type it.
func commandLine(args []string) string {
	words := []string{"gemm"}
	if ranks, ok := mpi.Launched(); ok {
		words = []string{"mpirun", "-n", strconv.Itoa(ranks), "gemm"}
	}
	for _, word := range args {
		if strings.ContainsAny(word, " \t\n\"'\\$*?;&|<>()`") || word == "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// resumption returns the command that goes on where the one with the arguments
// was interrupted.
func resumption(args []string) string {
	var kept []string
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if isFlag := strings.HasPrefix(arg, "-"); !isFlag || name != "force" && name != "resume" {
			kept = append(kept, arg)
		}
	}
	return commandLine(append(kept, "--resume"))
}
