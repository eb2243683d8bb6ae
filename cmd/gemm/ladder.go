package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/probe"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/compare/verify"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/internal/output"
	"gemm/internal/sample"
	"gemm/internal/settings"
	"gemm/mpi"
	"gemm/mpi/launch"
)

// ladder describes a command that measures the variants of one family.
type ladder struct {
	family, usage, description string
	sweeps                     []sweep
	// workers is the flag of the numbers of workers: what is swept names the experiment. Empty: there are none.
	workers  string
	timeline string // what a timeline has; empty: rows have none, as a serial product, whose worker does one thing
	sizes    string // that are measured unless others are asked for; empty: small ones
	// beside are the variants that the user's own kernels are measured with unless --variants names
	// others. Empty: the user can bring none.
	beside []string
}

// sweep is a flag with several values. The values of all sweeps are combined.
type sweep struct {
	flag, usage string
	kind        kind
	param       string // of the variants; empty: the same as the flag
}

// name returns the parameter that s is of.
func (s sweep) name() string { return cmp.Or(s.param, s.flag) }

// kind says what the values of a sweep are.
type kind int

const (
	integer kind = iota
	word         // a name of many
	option       // one of few, which the help lists
)

// chainSweep is the flag of iterated products.
var chainSweep = sweep{flag: "chain", usage: "`LIST`: steps of an iterated product, timed as a whole: S = S+B, " +
	"C = A*S, swap A and C; one product is measured too"}

// several is of the description of commands that sweep.
const several = "An option with LIST takes several values, separated by commas. gemm measures every\n" +
	"combination of the options that a variant has.\n\n"

var ladders = []ladder{
	{
		family: "serial",
		usage:  "measure and verify the variants that run on one processor",
		description: several +
			"--cutoff, --leaf and --block apply to the variants with these parameters. --order\n" +
			"measures serial/loops too, the orders interleaved: an experiment, which the report shows.\n" +
			"Without it, --variants must name serial/loops. --chain measures iterated products, next to\n" +
			"one product: an experiment too. Only a production variant, such as serial/packed,\n" +
			"computes more than C = A*B: it is needed for other values of --trans, --alpha and --beta.",
		sweeps: []sweep{
			{flag: "cutoff", usage: "`LIST`: sizes at which the recursion ends and the leaf computes"},
			{flag: "leaf", usage: "`LIST`: variants that compute the leaves of the recursion", kind: word},
			{flag: "block", usage: "`LIST`: block sizes"},
			{flag: "order", usage: "`LIST`: orders of the three loops, the outermost first", kind: option},
			chainSweep,
		},
		beside: []string{"serial/naive", "serial/hinted", "reference/c-naive", "reference/c-ikj", "serial/packed"},
	},
	{
		family: "parallel",
		usage:  "measure and verify the variants that run on several threads",
		description: several +
			"The default is one thread per processor. Several values are an experiment, which the\n" +
			"report shows:\n\n" +
			"   --threads                  strong scaling\n" +
			"   --threads with --weak      weak scaling\n" +
			"   --schedule or --chunk      schedules\n" +
			"   --affinity, --gomaxprocs   placement of threads\n" +
			"   --load                     schedules under an imbalance\n" +
			"   --chain                    iterated products, next to one product\n\n" +
			"The samples of a variant's rows are interleaved, with samples of serial/packed and\n" +
			"serial/ikj for comparison. Only a production variant, such as parallel/packed,\n" +
			"computes more than C = A*B: it is needed for other values of --trans, --alpha and\n" +
			"--beta.",
		sweeps: []sweep{
			{flag: "threads", usage: "`LIST`: numbers of threads"},
			{flag: "schedule", usage: "`LIST`: schedules", kind: option},
			{flag: "chunk", usage: "`LIST`: chunk sizes, in indices; 0: the default of the schedule"},
			{flag: "affinity", usage: "`LIST`: placements of threads", kind: option},
			{flag: "gomaxprocs", usage: "`LIST`: values of GOMAXPROCS during a row; 0: the number of processors"},
			{flag: "local", usage: "`LIST`: serial variants that compute a chunk of rows or a tile", kind: word},
			{flag: "tile", usage: "`LIST`: edges of the tiles of C"},
			{flag: "load", usage: "`LIST`: imbalances: with L, the last index is computed 1+L times, the first one once"},
			{flag: "cutoff", usage: "`LIST`: sizes at which the recursion ends and the leaf computes"},
			chainSweep,
		},
		workers:  "threads",
		timeline: "record which thread computes what and when, in one additional product of every row",
		beside:   []string{"reference/openmp-collapse", "parallel/packed"},
	},
	{
		family: mpiFamily,
		usage:  "measure and verify the variants on MPI ranks",
		description: "There are two ways to start it. Under mpirun -n COUNT gemm mpi, the ranks are those of\n" +
			"mpirun, and rank 0 prints one table. Otherwise gemm starts mpirun itself, with --np\n" +
			"ranks; the default is one rank per processor. If gemm is built with MPICH, mpiexec.hydra\n" +
			"takes the place of mpirun: mpiexec.hydra -n COUNT gemm mpi.\n\n" +
			several + "Several values are an experiment, which the report shows:\n\n" +
			"   --np                strong scaling\n" +
			"   --np with --weak    weak scaling\n" +
			"   --panel             panel widths\n" +
			"   --schedule          work stealing between the ranks of a host\n" +
			"   --affinity          placement of ranks\n\n" +
			"The samples of all rows with the same type, shape and number of ranks are interleaved,\n" +
			"also those of reference/scalapack if --variants names it.",
		sweeps: []sweep{
			{flag: "np", usage: "`LIST`: numbers of ranks; under mpirun, the number of its ranks", param: "ranks"},
			{flag: "threads", usage: "`LIST`: threads per rank; 0: the rank's share of the processors"},
			{flag: "local", usage: "`LIST`: variants that compute the part of a rank", kind: word},
			{flag: "master", usage: "`LIST`: what rank 0 does when it has sent the operands", kind: option},
			{flag: "panel", usage: "`LIST`: panel widths: rows or columns sent at once"},
			{flag: "grid", usage: "`LIST`: grids of ranks PxQ; auto: the squarest", kind: word},
			{flag: "block", usage: "`LIST`: edges of the blocks that reference/scalapack deals to the ranks"},
			{flag: "replication", usage: "`LIST`: layers of ranks, each with a copy of C; 0: the number with the least communication"},
			{flag: "schedule", usage: "`LIST`: whether idle ranks steal work from other ranks of their host (dynamic)", kind: option},
			{flag: "affinity", usage: "`LIST`: placements of ranks", kind: option},
		},
		workers:  "np",
		timeline: "record which rank does what and when, in one additional product of every row",
	},
	{
		family: cuda.Family,
		usage:  "measure and verify the ladder of kernels on an NVIDIA GPU, or explain it without one",
		description: "The program gemm-cuda runs the kernels; make build puts it next to gemm. If a kernel\n" +
			"faults or hangs, only its row is lost. The time of a row is the time of the kernel, on\n" +
			"operands that are on the GPU already; records have the times of the copies too. The\n" +
			"samples of all rows with the same type and shape are interleaved, also those of\n" +
			"cuBLAS.\n\n" + several +
			"Several values of --tile, --block or --bk, --stages, --maxregs or --l2, and --chain, are\n" +
			"an experiment, which the report shows.\n\n" +
			"--explain runs no kernel and needs no GPU. It compiles each rung for the compute\n" +
			"capability with NVRTC; GEMM_NVRTC says where NVRTC is.",
		sweeps: []sweep{
			{flag: "device", usage: "`LIST`: numbers of GPUs, as gemm info prints them"},
			{flag: "block", usage: "`LIST`: threads along the edge of a thread block; 0: the default"},
			{flag: "bk", usage: "`LIST`: depth of a slice, in indices of k; 0: the default"},
			{flag: "stages", usage: "`LIST`: pipeline stages: slices in shared memory, or being copied there; 0: the default"},
			{flag: "tile", usage: "`LIST`: tiles of block, warp and thread, such as 128x128x8/32x64/8x8; auto: chosen for the shape", kind: word},
			{flag: "split", usage: "`LIST`: parts that k is divided into; 0: chosen for the shape"},
			{flag: "maxregs", usage: "`LIST`: most registers per thread; 0: the compiler's choice"},
			{flag: "l2", usage: "`LIST`: state of the L2 cache (cold: operands change from call to call)",
				kind: option},
			chainSweep,
		},
		timeline: "record when operands are copied, kernels run and warps wait, in one additional product " +
			"of every row",
		sizes:  "512,1024,2048,4096",
		beside: []string{"all"},
	},
}

// ladderSizes are the default sizes.
const ladderSizes = "64,128,256,512"

// measured returns the variants that are measured unless --variants names others: those of the family, but
// studies only if a flag of theirs is set.
func (f ladder) measured(c *cli.Context) []gemm.Variant {
	return slices.DeleteFunc(family(f.family), func(v gemm.Variant) bool {
		return v.Role == gemm.Study && !slices.ContainsFunc(f.sweeps, func(s sweep) bool {
			return c.IsSet(s.flag) && v.Has(s.name())
		})
	})
}

// unit returns what the workers are, by the name of their parameter.
func (f ladder) unit() string {
	if f.workers == "np" {
		return "ranks"
	}
	return "threads"
}

// nameable returns the variants that --variants can name: the family's, and those of others, unless they need ranks
// that the command does not start.
func (f ladder) nameable() []gemm.Variant {
	return append(family(f.family), slices.DeleteFunc(family(referenceFamily), func(v gemm.Variant) bool {
		return measuredBy(v, f.family) != f.family
	})...)
}

// referenceFamily is the family of the libraries and programs of others, which every command measures next to its own.
const referenceFamily = "reference"

// measuredBy returns the command that measures v, which is asked if it can.
func measuredBy(v gemm.Variant, asked string) string {
	switch {
	case v.Family() != referenceFamily:
		return v.Family()
	case v.Location == gemm.OnRanks:
		return mpiFamily
	}
	return asked
}

func (f ladder) command() *cli.Command {
	variants := variantsFlag(f.nameable()).(*cli.GenericFlag)
	if f.beside != nil && f.beside[0] != "all" {
		variants.DefaultText += "; with --bring, " + strings.Join(f.beside, ",")
	}
	flags := []cli.Flag{
		variants, sizesFlag(cmp.Or(f.sizes, ladderSizes), cmp.Or(f.sizes, ladderSizes)),
		typeFlag(family(f.family), "f64", "f64"),
		wordsFlag("trans", "nn", "nn", "`LIST`: how A and B are stored: nn, nt, tn, tt; t: transposed",
			[]string{"nn", "nt", "tn", "tt"}, among([]string{"nn", "nt", "tn", "tt"})),
		factorFlag("alpha", 1, "", "A*B"), factorFlag("beta", 0, "", "C"),
		&cli.IntFlag{Name: "ld", Usage: "`COUNT`: elements between the end of a matrix row and the next row"},
	}
	for _, s := range f.sweeps {
		usage, known := s.usage, choices(s.flag, family(f.family))
		if s.kind == option {
			usage += ": " + strings.Join(known, ", ")
		}
		if s.kind == integer {
			flags = append(flags, listFlag(s.flag, "", "", usage, anyInteger))
		} else {
			flags = append(flags, wordsFlag(s.flag, "", "", usage, known, anyWord))
		}
	}
	if f.workers != "" {
		flags = append(flags, switchFlag("weak", "weak scaling: multiply m by the number of "+f.unit()))
	}
	if f.timeline != "" {
		flags = append(flags, switchFlag("timeline", f.timeline))
	}
	if f.family == mpiFamily {
		flags = append(flags, oversubscribeFlag())
	}
	if f.family != mpiFamily {
		flags = append(flags, listFlag(batchName, "", "",
			"`LIST`: products of a batch: as many products of each shape are computed and timed as one", anyInteger))
	}
	if f.timeline != "" {
		flags = append(flags, traceFlag("record timelines, as --timeline does, and write them"))
	}
	if f.beside != nil {
		flags = append(flags, f.bringFlags()...)
	}
	flags = append(flags,
		&cli.IntFlag{Name: "reps", Value: sample.MinForInterval,
			DefaultText: fmt.Sprintf("%d; with more than %d rows, fewer for slow products", sample.MinForInterval, manyRows),
			Usage:       "`COUNT`: least number of samples of a row"},
		&cli.DurationFlag{Name: "time", Value: longest,
			DefaultText: fmt.Sprintf("%v; less with more than %d rows", longest, manyRows),
			Usage:       "`DURATION`: most time for the samples of a row"},
		&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute, Usage: "`DURATION`: time limit of a row"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`NUMBER`: seed of the random operands"},
		jsonFlag("the records"), resumeFlag(), forceFlag("replace the existing records"), noTunedFlag(), taskFlag(),
	)
	return &cli.Command{
		Name: f.family, Usage: f.usage, UsageText: "[options]", Description: f.description,
		Flags: flags, Action: f.run,
	}
}

// rows returns the rows that the flags ask for, with those of the kernels that the user brought.
func (f ladder) rows(c *cli.Context, brought ...gemm.Variant) (plan.Ladder, error) {
	l := plan.Ladder{Alpha: factorOf(c, "alpha"), Beta: factorOf(c, "beta"), LD: c.Int("ld"),
		Processors: runtime.NumCPU(), Sweep: map[string][]any{}}
	var err error
	names, nameable := listed[string](c, "variants"), f.nameable()
	if len(names) == 0 && len(brought) > 0 {
		names, nameable = f.beside, catalog.Variants() // of other families too
	}
	if l.Variants, err = parseVariants(names, f.measured(c), nameable); err != nil {
		return l, err
	}
	l.Shapes, l.Types, l.Ops = listed[gemm.Shape](c, "sizes"), listed[string](c, "type"), listed[string](c, "trans")
	l.Variants = append(l.Variants, brought...)
	l.Together = len(brought) > 0 && f.family != cuda.Family // whose rows are interleaved anyway
	if !c.IsSet("type") {
		l.Types = broughtTypes(l.Types, brought)
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
			l.Sweep[s.name()] = anys(listed[int](c, s.flag))
			continue
		}
		words := listed[string](c, s.flag)
		if err := checkWords(s.flag, words, choices(s.name(), l.Variants)); err != nil {
			return l, err
		}
		l.Sweep[s.name()] = anys(words)
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
	switch {
	case f.workers != "":
		err = f.experiment(c, &l)
	case f.family == cuda.Family:
		l.Experiment = onGPUExperiment(l.Sweep)
	}
	if err != nil || f.timeline == "" {
		return l, err
	}
	return l, f.timelines(c, &l)
}

// timelines requests the timelines of the rows, for --timeline and --trace.
func (f ladder) timelines(c *cli.Context, l *plan.Ladder) error {
	l.Timeline = c.Bool("timeline") || c.IsSet("trace")
	n := 0
	for _, k := range l.Cases() {
		if k.Timeline {
			n++
		}
	}
	if n > mostTimelines {
		name, more := "timeline", f.workers
		if !c.Bool("timeline") {
			name = "trace"
		}
		if more == "" {
			more = "type"
		}
		return usagef("--%s is for %d rows at most, these are %d: choose fewer with --variants, --sizes and --%s", name,
			mostTimelines, n, more)
	}
	return nil
}

// batchName is the flag of batches.
const batchName = "batch"

// batches makes l the experiment on batches.
func batches(c *cli.Context, l *plan.Ladder) error {
	for _, name := range []string{"weak", "timeline", "trace", "load", "bring", "counters"} {
		if c.IsSet(name) {
			return usagef("--%s: a batch has none, leave --%[1]s or --%s out", name, batchName)
		}
	}
	l.Experiment, l.Batches = record.Batches, listed[int](c, batchName)
	for _, n := range l.Batches {
		if n < 1 {
			return usagef("--%s %d: must be a number of products, 1 or more", batchName, n)
		}
	}
	return nil
}

// iterate makes l the experiment on iterated products. One product is measured with them, for comparison.
func iterate(c *cli.Context, l *plan.Ladder) error {
	for _, s := range l.Shapes {
		if s != gemm.Cube(s.N) {
			return usagef("--chain is for square matrices: %s is not, choose another of --sizes", s.Label())
		}
	}
	for _, name := range []string{"trans", "alpha", "beta", "weak", "timeline", "trace", batchName} {
		if c.IsSet(name) {
			return usagef("--%s: an iterated product has none, leave --%[1]s or --chain out", name)
		}
	}
	steps := l.Sweep["chain"]
	for _, n := range steps {
		if n, ok := n.(int); !ok || n < 1 || n > verify.MostSteps {
			return usagef("--chain %v: must be steps from 1 to %d", n, verify.MostSteps)
		}
	}
	l.Experiment, l.Sweep["chain"] = record.IteratedProduct, append([]any{0}, steps...)
	l.Keep = func(k plan.Case) bool { _, has := k.Params["chain"]; return has }
	if len(l.Cases()) == 0 {
		return usagef("--chain: none of the variants has it")
	}
	return nil
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

// onGPUExperiment returns the experiment of the first parameter that has several values; empty if there is none.
func onGPUExperiment(sweep map[string][]any) record.Experiment {
	for _, of := range []struct {
		param      string
		experiment record.Experiment
	}{
		{"tile", record.TileShapes},
		{"block", record.BlockSizes}, {"bk", record.BlockSizes}, {"stages", record.PipelineStages},
		{"maxregs", record.RegisterLimits}, {"l2", record.CacheStates},
	} {
		if len(sweep[of.param]) > 1 {
			return of.experiment
		}
	}
	return ""
}

// mostTimelines is the most rows with timelines. Each is some hundred kilobytes in a file that is
// written whole after every group of rows.
const mostTimelines = 100

// experiment makes l an experiment if something is swept. Several schedules with several threads
// are strong scaling, so that T(1) and T(p) are interleaved.
func (f ladder) experiment(c *cli.Context, l *plan.Ladder) error {
	several := func(name string) bool { return len(l.Sweep[name]) > 1 }
	workers := f.unit()
	switch {
	case c.Bool("weak") && !several(workers) && !led(c.Context):
		return usagef("--weak needs several numbers of %s, such as --%s 1,2,4", workers, f.workers)
	case c.Bool("weak"):
		l.Experiment = record.WeakScaling
	case several("panel"):
		l.Experiment = record.PanelWidths
	case several("gomaxprocs"):
		l.Experiment = record.ProcessorLimits
	case several("affinity"):
		l.Experiment = record.Affinities
	case slices.ContainsFunc(l.Sweep["load"], func(load any) bool { return load != 0 }):
		l.Experiment = record.ArtificialLoad
	case several("chunk"):
		l.Experiment = record.ChunkSizes
	case several(workers):
		l.Experiment = record.StrongScaling
	case several("schedule") && f.family == mpiFamily:
		l.Experiment = record.RankSchedules
	case several("schedule"):
		l.Experiment = record.ChunkSizes
	}
	if l.Experiment != "" && workers == "threads" {
		l.Baselines = baselines(*l)
	}
	return nil
}

// baselines returns the variants that an experiment is compared with: the fastest serial one, and
// the plain loop if it can compute the operation.
func baselines(l plan.Ladder) []gemm.Variant {
	plain := slices.Equal(l.Ops, []string{"nn"}) && l.Alpha == 1 && l.Beta == 0
	return slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool {
		return v.Name != "serial/packed" && (v.Name != "serial/ikj" || !plain)
	})
}

// cases returns the cases that the flags ask for, with those of the kernels that the user brought.
func (f ladder) cases(c *cli.Context, brought []gemm.Variant) ([]plan.Case, error) {
	l, err := f.rows(c, brought...)
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
	if err := checkBrought(brought, cases); err != nil {
		return nil, err
	}
	sayUnmeasured(c, cases)
	switch f.family {
	case cuda.Family:
		if _, err := counts(c, "maxregs", leastRegisters, mostRegisters); err != nil {
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

// bringFlags are the flags of kernels that users bring.
func (f ladder) bringFlags() []cli.Flag {
	if f.family == cuda.Family {
		return append([]cli.Flag{bringFlag(gpuKernels)}, launchFlags()...)
	}
	return []cli.Flag{bringFlag(hostKernels), cflagsFlag()}
}

// threads returns the number of threads of a variant unless a flag says otherwise.
func (f ladder) threads() int {
	if f.workers == "threads" {
		return runtime.GOMAXPROCS(0)
	}
	return 1
}

func (f ladder) run(c *cli.Context) error {
	useTuned(c)
	if job := jobOf(c.Context); job != nil && job.Rank() > 0 {
		return nil
	}
	if folder := c.String(taskName); folder != "" {
		return runTask(c, folder)
	}
	kernels, err := bring(c, f.threads())
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
			return printRows(c.App.Writer, store.Rows(rows))
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
	if err := checkTrace(c, c.String("json")); err != nil {
		return err
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
	return announce(c, cases)
}

// openRecords opens the records in the file of --json. Without a file they are in memory only.
func openRecords(file string, how record.Mode) (*record.Store, error) {
	if file == "" || file == stdoutName {
		return &record.Store{}, nil
	}
	if err := checkRegular(file); err != nil {
		return nil, err
	}
	return record.OpenStore(file, how)
}

// Without --time, the samples of a row take up to longest. With more than manyRows rows they take
// less, down to shortest, so that all together do not take longer. Without --reps as well, a slow
// product then has fewer samples, as many as take patience.
const (
	longest  = 2 * time.Second
	shortest = 100 * time.Millisecond
	patience = 4 * time.Second
	manyRows = 200
	ceiling  = 50 * time.Millisecond // for each peak, which is enough for a column of the table
)

// budget returns the budget of one of the given number of rows.
func budget(c *cli.Context, rows int) plan.Budget {
	b := plan.Budget{Reps: c.Int("reps"), Time: c.Duration("time"), Timeout: c.Duration("timeout")}
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

// announce warns where threads cannot all run at the same time, and says how long a great number of rows takes.
func announce(c *cli.Context, cases []plan.Case) error {
	host, err := record.DescribeHost()
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
	if crowded := host.Crowded(threads); crowded.Text != "" {
		say(c, "%s", crowded)
	}
	if n := len(cases); n > manyRows {
		b := budget(c, n)
		slow := "however slow"
		if b.Patience > 0 {
			slow = fmt.Sprintf("while they take less than %v", b.Patience)
		}
		say(c, "%d rows take %v and more: up to %v of samples each (--time), and at least %d samples %s (--reps)", n,
			(time.Duration(n) * b.Time).Round(time.Minute), b.Time, b.Reps, slow)
	}
	return nil
}

// measure runs the driver over the cases. An error says what went wrong with the
// rows, or how to go on after an interruption; file is where the records are.
func measure(c *cli.Context, d compare.Driver, cases []plan.Case, file string) (*progress, error) {
	p := newProgress(c.App.ErrWriter, len(cases))
	defer p.Close()
	d.Store.Declare(catalog.Variants()) // of rows that are there already
	d.Probes, d.Progress, d.Command = append(probe.Of(cases), pingPongs(c.Context)...), p, commandLine(os.Args[1:])
	d.MPI = mpi.Version()
	if d.Lead == nil {
		d.Processes = run.Processes{Launch: launcher(c), Worker: workerOf(c.Context).Serve, NoWorker: remote.NoWorker,
			Warn: func(text string) {
				p.Close() // the line takes the place of the bar
				say(c, "%s", text)
			}}
	}
	d.Processes.Build = func(ctx context.Context, program string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program)
		if c.Bool("no-tuned") {
			cmd.Env = append(os.Environ(), settings.Variable+"=off")
		}
		return cmd
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
	if origin, ok := launch.Started(os.LookupEnv); ok {
		words = []string{origin.Program, "-n", strconv.Itoa(max(1, origin.Ranks)), "gemm"}
	}
	for _, word := range args {
		if quoted := strconv.Quote(word); output.Line(word) != strings.TrimSpace(word) {
			word = "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
		} else if strings.ContainsAny(word, " \t\n\"'\\$*?;&|<>()`") || word == "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// resumption returns the command that goes on where the one with the arguments was interrupted.
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
