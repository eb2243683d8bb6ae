package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare/record"
	"gemm/gf256"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/timeline"
	"gemm/shard"
)

func rsCommand() *cli.Command {
	in := func() cli.Flag { return &cli.StringFlag{Name: "in", Usage: "`DIR`: folder of the shards"} }
	variant := func() cli.Flag { return variantFlag("gf256") }
	return &cli.Command{
		Name:  "rs",
		Usage: "keep files as Reed–Solomon shards, or with parity next to them",
		UsageText: "encode --data K --parity M --in FILE --out DIR [options]\n   gemm rs verify --in DIR\n" +
			"   gemm rs reconstruct --in DIR --out FILE [options]\n   gemm rs protect FILE... --parity M [options]\n" +
			"   gemm rs check FILE... [options]\n   gemm rs repair FILE... [options]",
		Subcommands: []*cli.Command{
			{
				Name:      "encode",
				Usage:     "write the shards of a file",
				UsageText: "--data K --parity M --in FILE --out DIR [options]",
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "data", DefaultText: "none", Usage: "`K`: data shards: the file is divided into K equal parts"},
					&cli.IntFlag{Name: "parity", DefaultText: "none", Usage: "`M`: parity shards: any M of all shards may be lost"},
					&cli.StringFlag{Name: "in", Usage: "`FILE`: file to encode"},
					&cli.StringFlag{Name: "out", Usage: "`DIR`: folder for the shards; it is created if it does not exist"},
					matrixFlag(),
					variant(),
					traceFlag("record when slices are read, multiplied and written, and write the timeline"),
					forceFlag("replace the existing shards, and the file of --trace"),
					noTunedFlag(),
				},
				Action: runEncode,
			},
			{
				Name:      "verify",
				Usage:     "check the shards of a file",
				UsageText: "--in DIR [options]",
				Flags:     []cli.Flag{in(), jsonFlag("the list of shards"), forceFlag("replace the existing file")},
				Action:    runVerify,
			},
			{
				Name:      "reconstruct",
				Usage:     "reconstruct the file, or its lost shards",
				UsageText: "--in DIR --out FILE [options]\n   gemm rs reconstruct --in DIR --repair [options]",
				Flags: []cli.Flag{
					in(),
					&cli.StringFlag{Name: "out", Usage: "`FILE`: file to write"},
					switchFlag("repair", "write the lost and damaged shards again"),
					variant(),
					traceFlag("record when slices are read, multiplied and written, and write the timeline"),
					forceFlag("replace existing files; with --repair, also shards of other files"),
					noTunedFlag(),
				},
				Action: runReconstruct,
			},
			protectCommand(variant()), checkCommand(), repairCommand(variant()),
		},
		Action: func(*cli.Context) error {
			return usagef("what to do is missing: encode, verify, reconstruct, protect, check or repair; " +
				"see gemm rs --help")
		},
	}
}

// matrixFlag is the flag of the generator matrix.
func matrixFlag() cli.Flag {
	return cmdline.ChoiceFlag("matrix", shard.Matrices()[0], "",
		"`NAME`: generator matrix: "+strings.Join(shard.Matrices(), ", "), shard.Matrices())
}

// requireFlags returns an error unless the flags are there.
func requireFlags(c *cli.Context, names ...string) error {
	for _, name := range names {
		if !c.IsSet(name) || c.String(name) == "" {
			return usagef("--%s is missing; see %s --help", name, c.Command.HelpName)
		}
	}
	return nil
}

// checkCode returns an error unless there is a code with the numbers of shards of the flags.
func checkCode(c *cli.Context) error {
	if err := positive(c, "data", "parity"); err != nil {
		return err
	}
	data, parity := c.Int("data"), c.Int("parity")
	if data > gf256.MaxShards-parity {
		return usagef("--data %d and --parity %d: at most %d shards in all are possible, one for each element of "+
			"the field", data, parity, gf256.MaxShards)
	}
	return nil
}

func runEncode(c *cli.Context) error {
	if err := requireFlags(c, "data", "parity", "in", "out"); err != nil {
		return err
	}
	coder, matrix, err := newEncoder(c)
	if err != nil {
		return err
	}
	defer coder.end()
	if err := coder.record(c); err != nil {
		return err
	}
	start := time.Now()
	set, err := coder.Encode(c.Context, shard.Encoding{
		File: c.String("in"), Dir: c.String("out"), Data: c.Int("data"), Parity: c.Int("parity"), Matrix: matrix,
		Force: c.Bool("force"),
	})
	coder.clear()
	if err != nil {
		return orInterrupted(c, err)
	}
	say(c, "%s: %v; %s", c.String("out"), set, throughput(set.Length, start, coder.used()))
	return coder.writeTimeline(c, set)
}

func runVerify(c *cli.Context) error {
	if err := requireFlags(c, "in"); err != nil {
		return err
	}
	if err := checkFile(c); err != nil {
		return err
	}
	coder := withBar(c)
	r, err := coder.Verify(c.Context, c.String("in"))
	coder.clear()
	if err != nil {
		return orInterrupted(c, err)
	}
	for _, warning := range r.Warnings {
		say(c, "%s", warning)
	}
	if name := c.String("json"); name != "" {
		err = writeJSON(c, name, struct {
			Schema int `json:"schema"`
			*shard.Report
		}{record.OutputSchema, r})
	} else {
		err = printShards(c.App.Writer, r)
	}
	if err != nil {
		return err
	}
	if err := r.Enough(); err != nil {
		return err
	}
	if faulty := r.Faulty(); len(faulty) > 0 {
		return fmt.Errorf("%s: shards %s are not good: %s writes them again",
			r.Dir, cpu.List(faulty), commandLine([]string{"rs", "reconstruct", "--in", r.Dir, "--repair"}))
	}
	return nil
}

func runReconstruct(c *cli.Context) error {
	if err := requireFlags(c, "in"); err != nil {
		return err
	}
	if c.String("out") == "" && !c.Bool("repair") {
		return usagef("--out is missing, or --repair; see %s --help", c.Command.HelpName)
	}
	coder, err := newCoder(c)
	if err != nil {
		return err
	}
	defer coder.end()
	if err := coder.record(c); err != nil {
		return err
	}
	start := time.Now()
	r, err := coder.Reconstruct(c.Context, shard.Reconstruction{
		Dir: c.String("in"), File: c.String("out"), Repair: c.Bool("repair"), Force: c.Bool("force"),
	})
	coder.clear()
	if r != nil {
		for _, warning := range r.Warnings {
			say(c, "%s", warning)
		}
		for _, i := range r.Faulty() {
			s := r.Shards[i]
			say(c, "shard %d (%s) is %s: %s", i, s.File, s.State, s.Reason)
		}
	}
	if err != nil {
		return orInterrupted(c, err)
	}
	var made []string
	if c.String("out") != "" {
		made = append(made, c.String("out"))
	}
	if faulty := r.Faulty(); c.Bool("repair") && len(faulty) > 0 {
		made = append(made, "shards "+cpu.List(faulty))
	}
	if made == nil {
		say(c, "%s: all shards are good", r.Dir)
		return nil
	}
	say(c, "%s of %v; %s", strings.Join(made, " and "), r.Set, throughput(r.Set.Length, start, coder.used()))
	return coder.writeTimeline(c, r.Set)
}

// barCoder is a coder whose progress a bar shows.
type barCoder struct {
	shard.Coder
	variant string // of --variant

	timeline *timeline.Recorder // nil without --trace

	what string                   // of the bar
	bar  *progressbar.ProgressBar // nil: none
}

// newEncoder returns newCoder, and the matrix that --matrix names, if K and M are valid.
func newEncoder(c *cli.Context) (*barCoder, shard.Matrix, error) {
	if err := checkCode(c); err != nil {
		return nil, 0, err
	}
	matrix, err := shard.ParseMatrix(c.String("matrix"))
	if err != nil {
		return nil, 0, usagef("--%v", err)
	}
	coder, err := newCoder(c)
	return coder, matrix, err
}

// newCoder returns a coder with the multiplier that --variant names, or else with those that may be the fastest. The
// caller calls end.
func newCoder(c *cli.Context) (*barCoder, error) {
	applyTuned(c)
	coder := withBar(c)
	if name := c.String("variant"); name != "" {
		x := candidate(name)
		var err error
		coder.variant = x.Name
		coder.Multiplier, err = x.Start(c.Context)
		coder.Products = x.Products
		return coder, orInterrupted(c, err)
	}
	coder.Autotuner = &shard.Autotuner{Candidates: []*shard.Candidate{candidate("serial/packed")}}
	if runtime.GOMAXPROCS(0) > 1 {
		coder.Autotuner.Candidates = append(coder.Autotuner.Candidates, candidate("parallel/packed"))
	}
	coder.Autotuner.Candidates = append(coder.Autotuner.Candidates, candidate("cuda/tuned"))
	coder.Autotuner.Chosen = func(rates []shard.Rate) {
		coder.clear()
		say(c, "%s", chosenText(rates))
	}
	return coder, nil
}

// candidate returns the variant with the name as a multiplier of slices. If it has threads or another processor for one
// product, slices are multiplied one after the other.
func candidate(name string) *shard.Candidate {
	x := &shard.Candidate{Name: name}
	v, err := named(name, catalog.Variants())
	if err == nil && (v.Has("threads") || v.Location != gemm.InProcess) {
		x.Products = 1
	}
	x.Slow = err == nil && v.Location == gemm.OnGPU
	x.Start = func(ctx context.Context) (gemm.Multiplier[gf256.Elem], error) {
		by, err := choose[gf256.Elem](ctx, product{variant: name, alpha: 1})
		if err == nil && x.Slow { // its worker begins with the first product
			err = by.multiplier.Multiply(ctx, gemm.NewMatrix[gf256.Elem](1, 1), gemm.NewMatrix[gf256.Elem](1, 1),
				gemm.NewMatrix[gf256.Elem](1, 1))
		}
		return by.multiplier, err
	}
	return x
}

// chosenText says which variant was chosen, and why.
func chosenText(rates []shard.Rate) string {
	var others []string
	for _, r := range rates[1:] {
		if r.Speed > 0 {
			others = append(others, fmt.Sprintf("%s %s/s", r.Name, bytes(r.Speed)))
		} else {
			others = append(others, r.Name+" not yet ready")
		}
	}
	text := fmt.Sprintf("%s multiplies: %s/s on the first slices", rates[0].Name, bytes(rates[0].Speed))
	if len(others) > 0 {
		text += ", " + strings.Join(others, ", ")
	}
	return text + "; --variant names another"
}

// used returns the name of the variant that multiplies.
func (b *barCoder) used() string {
	if b.Autotuner != nil {
		return b.Autotuner.Used()
	}
	return b.variant
}

// end ends what multiplies.
func (b *barCoder) end() {
	if b.Autotuner != nil {
		_ = b.Autotuner.Close()
	} else if m, ok := b.Multiplier.(io.Closer); ok {
		_ = m.Close()
	}
}

// withBar returns a coder with a bar where standard error is a terminal.
func withBar(c *cli.Context) *barCoder {
	b := &barCoder{}
	f := terminalOf(c.App.ErrWriter)
	if f == nil {
		return b
	}
	b.Progress = func(what string, done, total int64) {
		if what != b.what {
			b.clear()
			b.what = what
			b.bar = progressbar.NewOptions64(total,
				progressbar.OptionSetWriter(f),
				progressbar.OptionSetDescription(what),
				progressbar.OptionShowBytes(true),
				progressbar.OptionSetPredictTime(true),
				progressbar.OptionSetWidth(barWidth),
				progressbar.OptionThrottle(100*time.Millisecond),
				progressbar.OptionClearOnFinish(),
			)
		}
		_ = b.bar.Set64(done) // an error of the terminal is no reason to stop
	}
	return b
}

// record records a timeline, if --trace requests one.
func (b *barCoder) record(c *cli.Context) error {
	if c.IsSet("trace") {
		b.timeline = &timeline.Recorder{}
		c.Context = timeline.With(c.Context, b.timeline)
	}
	return checkTrace(c)
}

// writeTimeline writes the timeline of a set to the file of --trace.
func (b *barCoder) writeTimeline(c *cli.Context, set shard.Set) error {
	if b.timeline == nil {
		return nil
	}
	host, err := record.DescribeHost()
	if err != nil {
		return err
	}
	row := record.Trace{Activity: b.timeline.Activity()}
	row.Host, row.Variant, row.Type, row.Op = host.ID, b.used(), gemm.TypeOf[gf256.Elem]().Name, "nn"
	row.Shape = gemm.Shape{M: set.Parity, N: int(set.Payload()), K: set.Data}
	return writeTrace(c, record.Document{Hosts: []record.Host{host}, Traces: []record.Trace{row}})
}

// clear removes the bar.
func (b *barCoder) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// orInterrupted returns err, and says what Ctrl-C leaves.
func orInterrupted(c *cli.Context, err error) error {
	if c.Context.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; nothing was written", errInterrupted)
	}
	return err
}

// throughput says how fast a file was read or written, synchronising it included.
func throughput(length int64, start time.Time, variant string) string {
	took := time.Since(start)
	return fmt.Sprintf("%s in %s, %s/s, by %s", bytes(float64(length)), seconds(took.Seconds()),
		bytes(float64(length)/took.Seconds()), variant)
}

// printShards writes the shards as a table.
func printShards(out io.Writer, r *shard.Report) error {
	w := output.NewTable(out, "SHARD", "KIND", "STATE", "BYTES", "FILE", "NOTE")
	for _, s := range r.Shards {
		w.Row(s.Index, s.Kind, s.State, s.Bytes, s.File, s.Reason)
	}
	fmt.Fprintf(w, "\n%v: %d are good, %d are needed\n", r.Set, len(r.Good()), r.Set.Data)
	switch {
	case r.Lost.Stripes > 0:
		fmt.Fprintf(w, "%d of %d stripes cannot be restored\n", r.Lost.Stripes, r.Stripes)
	case len(r.Good()) < r.Set.Data:
		fmt.Fprintf(w, "every stripe has %d good blocks: all can be restored\n", r.Set.Data)
	}
	return w.Flush()
}
