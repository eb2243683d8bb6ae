package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm/cmd/gemm/cmdline"
	"gemm/compare/record"
	"gemm/internal/cpu"
	"gemm/internal/output"
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

func matrixFlag() cli.Flag {
	return cmdline.ChoiceFlag("matrix", shard.Matrices()[0], "",
		"`NAME`: generator matrix: "+strings.Join(shard.Matrices(), ", "), shard.Matrices())
}

func requireFlags(c *cli.Context, names ...string) error {
	for _, name := range names {
		if !c.IsSet(name) || c.String(name) == "" {
			return usagef("--%s is missing; see %s --help", name, c.Command.HelpName)
		}
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
	logf(c, "%s: %v; %s", c.String("out"), set, throughput(set.Length, start, coder.used()))
	return coder.writeTimeline(c, set)
}

func runVerify(c *cli.Context) error {
	if err := cmp.Or(requireFlags(c, "in"), checkFile(c)); err != nil {
		return err
	}
	coder := withBar(c)
	r, err := coder.Verify(c.Context, c.String("in"))
	coder.clear()
	if err != nil {
		return orInterrupted(c, err)
	}
	logAll(c, r.Warnings)
	type document struct {
		Schema int `json:"schema"`
		*shard.Report
	}
	err = writeResult(c, document{record.OutputSchema, r}, func(out io.Writer) { printShards(out, r) })
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
		logAll(c, r.Warnings)
		for _, i := range r.Faulty() {
			s := r.Shards[i]
			logf(c, "shard %d (%s) is %s: %s", i, s.File, s.State, s.Reason)
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
		logf(c, "%s: all shards are good", r.Dir)
		return nil
	}
	logf(c, "%s of %v; %s", strings.Join(made, " and "), r.Set, throughput(r.Set.Length, start, coder.used()))
	return coder.writeTimeline(c, r.Set)
}

func printShards(out io.Writer, r *shard.Report) {
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
	_ = w.Flush()
}
