package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/cuda"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/output"
	"gemm/mpi"
	"gemm/mpi/launch"
)

// ladder describes a command that measures the variants of one family.
type ladder struct {
	family, usage string
	sweeps        []sweep
	// workers is the flag of the numbers of workers: what is swept names the experiment. Empty: there are none.
	workers  string
	timeline string // what a timeline has; empty: rows have none, as a serial product, whose worker does one thing
	sizes    string // default of --sizes; empty: small ones
	// defaults are the variants that --bring measures without --variants; empty: there is no --bring.
	defaults []string
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

var ladders = []ladder{
	{
		family: "serial",
		usage:  "measure and verify the variants that run on one processor",
		sweeps: []sweep{
			{flag: "cutoff", usage: "`LIST`: sizes at which the recursion ends and the leaf computes"},
			{flag: "leaf", usage: "`LIST`: variants that compute the leaves of the recursion", kind: word},
			{flag: "block", usage: "`LIST`: block sizes"},
			{flag: "order", usage: "`LIST`: orders of the three loops, the outermost first", kind: option},
			chainSweep,
		},
		defaults: []string{"serial/naive", "serial/hinted", "reference/c-naive", "reference/c-ikj", "serial/packed"},
	},
	{
		family: "parallel",
		usage:  "measure and verify the variants that run on several threads",
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
		defaults: []string{"reference/openmp-collapse", "parallel/packed"},
	},
	{
		family: mpiFamily,
		usage:  "measure and verify the variants on MPI ranks",
		sweeps: []sweep{
			{flag: "np", usage: "`LIST`: numbers of ranks; under mpirun, the number of its ranks", param: "ranks"},
			{flag: "threads", usage: "`LIST`: threads per rank; 0: the rank's share of the processors"},
			{flag: "local", usage: "`LIST`: variants that compute the part of a rank", kind: word},
			{flag: "master", usage: "`LIST`: what rank 0 does when it has sent the operands", kind: option},
			{flag: "panel", usage: "`LIST`: panel widths: rows or columns sent at once"},
			{flag: "grid", usage: "`LIST`: grids of ranks PxQ; auto: the squarest", kind: word},
			{flag: "block", usage: "`LIST`: edges of the blocks that reference/scalapack deals to the ranks"},
			{flag: "replication",
				usage: "`LIST`: layers of ranks, each with a copy of C; 0: the number with the least communication"},
			{flag: "exchange", usage: "`LIST`: when cannon moves blocks", kind: option},
			{flag: "schedule", kind: option,
				usage: "`LIST`: whether idle ranks steal work from other ranks of their host (dynamic)"},
			{flag: "affinity", usage: "`LIST`: placements of ranks", kind: option},
		},
		workers:  "np",
		timeline: "record which rank does what and when, in one additional product of every row",
	},
	{
		family: cuda.Family,
		usage:  "measure and verify the ladder of kernels on an NVIDIA GPU, or explain it without one",
		sweeps: []sweep{
			{flag: "device", usage: "`LIST`: numbers of GPUs, as gemm info prints them"},
			{flag: "devices", usage: "`LIST`: counts of GPUs that compute a product together; 0: all of the host"},
			{flag: "local", usage: "`LIST`: variants that each of several GPUs computes with", kind: word},
			{flag: "block", usage: "`LIST`: threads along the edge of a thread block; 0: the default"},
			{flag: "bk", usage: "`LIST`: depth of a slice, in indices of k; 0: the default"},
			{flag: "stages", usage: "`LIST`: pipeline stages: slices in shared memory, or being copied there; 0: the default"},
			{flag: "tile", kind: word,
				usage: "`LIST`: tiles of block, warp and thread, such as 128x128x8/32x64/8x8; auto: chosen for the shape"},
			{flag: "split", usage: "`LIST`: parts that k is divided into; 0: chosen for the shape"},
			{flag: "moduli", usage: "`LIST`: moduli of products by residues, 7 to 20; 0: 14"},
			{flag: "maxregs", usage: "`LIST`: most registers per thread; 0: the compiler's choice"},
			{flag: "l2", usage: "`LIST`: state of the L2 cache (cold: operands change from call to call)",
				kind: option},
			chainSweep,
		},
		workers: "devices",
		timeline: "record when operands are copied, kernels run and warps wait, in one additional product " +
			"of every row",
		sizes:    "512,1024,2048,4096",
		defaults: []string{"all"},
	},
}

const ladderSizes = "64,128,256,512"

// maxTimelines is the most rows with timelines. Each is some hundred kilobytes in a file that is
// written whole after every group of rows.
const maxTimelines = 100

// timelines requests the timelines of the rows, for --timeline and --trace.
func (f ladder) timelines(c *cli.Context, l *plan.Ladder) error {
	l.Timeline = c.Bool("timeline") || c.IsSet("trace")
	n := len(slices.DeleteFunc(l.Cases(), func(k plan.Case) bool { return !k.Timeline }))
	if n > maxTimelines {
		name := "timeline"
		if !c.Bool(name) {
			name = "trace"
		}
		return usagef("--%s is for %d rows at most, these are %d: choose fewer with --variants, --sizes and --%s", name,
			maxTimelines, n, cmp.Or(f.workers, "type"))
	}
	return nil
}

const (
	batchName    = "batch"
	accuracyName = "accuracy"
)

// exclude returns an error if one of the flags is set that what flag requests does not have.
func exclude(c *cli.Context, flag, what string, names ...string) error {
	for _, name := range names {
		if c.IsSet(name) {
			return usagef("--%s: %s has none, leave --%[1]s or --%s out", name, what, flag)
		}
	}
	return nil
}

// batches makes l the experiment on batches.
func batches(c *cli.Context, l *plan.Ladder) error {
	if err := exclude(c, batchName, "a batch", "weak", "timeline", "trace", "load", "bring", "counters"); err != nil {
		return err
	}
	l.Experiment, l.Batches = record.Batches, cmdline.Listed[int](c, batchName)
	for _, n := range l.Batches {
		if n < 1 {
			return usagef("--%s %d: must be a number of products, 1 or more", batchName, n)
		}
	}
	return nil
}

// promise makes l the rows that requests for accuracy choose from. Unless flags say which, these are the variants for
// use in each type, with each value of what refines a product.
func promise(c *cli.Context, l *plan.Ladder) error {
	if !c.IsSet("variants") {
		l.Variants = slices.DeleteFunc(slices.Clone(l.Variants), func(v gemm.Variant) bool {
			return v.Role != gemm.Production
		})
	}
	if !c.IsSet("type") {
		l.Types = accurateTypes
	}
	for _, v := range l.Variants {
		for _, q := range v.Params {
			if _, swept := l.Sweep[q.Name]; !swept && q.Refines > 0 {
				for n := q.Refines; n <= q.Max; n++ {
					l.Sweep[q.Name] = append(l.Sweep[q.Name], n)
				}
			}
		}
	}
	return exclude(c, accuracyName, "a request for accuracy", "chain", batchName, "weak", "load", "bring")
}

// iterate makes l the experiment on iterated products. One product is measured with them, for comparison.
func iterate(c *cli.Context, l *plan.Ladder) error {
	for _, s := range l.Shapes {
		if s != gemm.Cube(s.N) {
			return usagef("--chain is for square matrices: %s is not, choose another of --sizes", s.Label())
		}
	}
	if err := exclude(c, "chain", "an iterated product", "trans", "alpha", "beta", "weak", "timeline", "trace",
		batchName); err != nil {
		return err
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

// experiment makes l an experiment if something is swept. Several schedules with several threads
// are strong scaling, so that T(1) and T(p) are interleaved.
func (f ladder) experiment(c *cli.Context, l *plan.Ladder) error {
	several := func(name string) bool { return len(l.Sweep[name]) > 1 }
	workers := f.unit()
	switch {
	case c.Bool("weak") && !several(workers) && jobOf(c.Context) == nil:
		return usagef("--weak needs several numbers of %s, such as --%s 1,2,4", workers, f.workers)
	case c.Bool("weak"):
		l.Experiment = record.WeakScaling
	case f.family == cuda.Family:
		l.Experiment = onGPUExperiment(l.Sweep)
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

// baselines returns the variants that an experiment is compared with: the fastest serial one, and
// the plain loop if it can compute the operation.
func baselines(l plan.Ladder) []gemm.Variant {
	plain := slices.Equal(l.Ops, []string{"nn"}) && l.Alpha == 1 && l.Beta == 0
	return slices.DeleteFunc(catalog.Variants(), func(v gemm.Variant) bool {
		return v.Name != "serial/packed" && (v.Name != "serial/ikj" || !plain)
	})
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

// measured returns the variants that are measured without --variants: the family, but studies only if a flag of theirs
// is set.
func (f ladder) measured(c *cli.Context) []gemm.Variant {
	return slices.DeleteFunc(family(f.family), func(v gemm.Variant) bool {
		return v.Role == gemm.Study && !slices.ContainsFunc(f.sweeps, func(s sweep) bool {
			return c.IsSet(s.flag) && v.Has(s.name())
		})
	})
}

// unit returns the parameter that is the number of workers.
func (f ladder) unit() string {
	if f.workers == "np" {
		return "ranks"
	}
	return f.workers
}

// nameable returns the variants that --variants can name: the family and the references, unless they need ranks that
// the command does not start.
func (f ladder) nameable() []gemm.Variant {
	return append(family(f.family), slices.DeleteFunc(family(referenceFamily), func(v gemm.Variant) bool {
		return measuredBy(v, f.family) != f.family
	})...)
}

// referenceFamily is the family of the libraries and programs of others, which every command measures next to its own.
const referenceFamily = "reference"

// measuredBy returns the command that measures v: asked, if it can.
func measuredBy(v gemm.Variant, asked string) string {
	switch {
	case v.Family() != referenceFamily:
		return v.Family()
	case v.Location == gemm.OnRanks:
		return mpiFamily
	}
	return asked
}

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list all variants, and whether each can run here",
		UsageText: "[--json FILE [--force]]",
		Flags:     []cli.Flag{jsonFlag("the list"), forceFlag("replace the existing file")},
		Action:    runList,
	}
}

// listing is what list --json writes.
type listing struct {
	Schema   int             `json:"schema"`
	Variants []listedVariant `json:"variants"`
}

type listedVariant struct {
	record.Variant        // as records have it
	Available      bool   `json:"available"`
	Reason         string `json:"reason"` // why not
}

func runList(c *cli.Context) error {
	if err := checkFile(c); err != nil {
		return err
	}
	doc := listing{Schema: record.OutputSchema}
	for _, v := range catalog.Variants() {
		row := listedVariant{Variant: record.Of(v), Available: true}
		if err := available(c.Context, v); errors.Is(err, errInterrupted) {
			return err
		} else if err != nil {
			row.Available, row.Reason = false, oneLine(err)
		}
		doc.Variants = append(doc.Variants, row)
	}
	return writeResult(c, doc, func(out io.Writer) {
		w := output.NewTable(out, "VARIANT", "TYPES", "AVAILABLE", "DOES")
		for _, row := range doc.Variants {
			state, doc := "yes", row.Doc
			if !row.Available {
				state, doc = "no", row.Reason
			}
			w.Row(row.Name, strings.Join(row.Types, ","), state, doc)
		}
		_ = w.Flush()
	})
}

// available constructs v for its first type. It returns the error of that, or of the search for the
// program that starts or computes it.
func available(ctx context.Context, v gemm.Variant) error {
	if v.Location == gemm.OnGPU {
		return onGPU(ctx, v, v.Types()...)
	}
	err := gemm.ByType(v.Types()[0], constructible[float64], constructible[float32], constructible[half.F16],
		constructible[half.BF16],
		constructible[gf256.Elem])(v)
	if v.Location == gemm.OnRanks && err == nil {
		_, err = launch.Find(ctx, mpi.Version())
	}
	return err
}

func constructible[T gemm.Element](v gemm.Variant) error {
	_, err := gemm.New[T](v, nil)
	return err
}
