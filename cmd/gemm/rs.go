package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"gemm"
	"gemm/compare"
	"gemm/gf256"
	"gemm/internal/shard"
)

func rsCommand() *cli.Command {
	in := func() cli.Flag { return &cli.StringFlag{Name: "in", Usage: "`DIR`: folder of the shards"} }
	variant := func() cli.Flag { return variantFlag("gf256") }
	return &cli.Command{
		Name:      "rs",
		Usage:     "store a file as Reed–Solomon shards, so that some may be lost",
		UsageText: "encode --data K --parity M --in FILE --out DIR [options]\n   gemm rs verify --in DIR\n   gemm rs reconstruct --in DIR --out FILE [options]",
		Description: "A file is stored as K data shards and M parity shards. Any K of these K+M shards are\n" +
			"enough to reconstruct it, and so are any K good blocks of each stripe. Every shard has\n" +
			"checksums and says which shard it is; docs/rs.md describes the format.",
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
					choiceFlag("matrix", shard.Matrices()[0], "",
						"`NAME`: generator matrix: "+strings.Join(shard.Matrices(), ", "),
						shard.Matrices()),
					variant(),
					forceFlag("replace the existing shards"),
					noTunedFlag(),
				},
				Action: runEncode,
			},
			{
				Name:        "verify",
				Usage:       "check the shards of a file",
				UsageText:   "--in DIR [options]",
				Description: "Prints the state and the bad blocks of every shard. The exit status is 1 unless all are\ngood.",
				Flags:       []cli.Flag{in(), jsonFlag("the list of shards"), forceFlag("replace the existing file")},
				Action:      runVerify,
			},
			{
				Name:      "reconstruct",
				Usage:     "reconstruct the file, or its lost shards",
				UsageText: "--in DIR --out FILE [options]\n   gemm rs reconstruct --in DIR --repair [options]",
				Flags: []cli.Flag{
					in(),
					&cli.StringFlag{Name: "out", Usage: "`FILE`: file to write"},
					&cli.BoolFlag{Name: "repair", DisableDefaultText: true, Usage: "write the lost and damaged shards again"},
					variant(),
					forceFlag("replace the existing file; with --repair, also shards of other files"),
					noTunedFlag(),
				},
				Action: runReconstruct,
			},
		},
		Action: func(*cli.Context) error {
			return usagef("what to do is missing: encode, verify or reconstruct; see gemm rs --help")
		},
	}
}

// wanted returns an error unless the flags are there.
func wanted(c *cli.Context, names ...string) error {
	for _, name := range names {
		if !c.IsSet(name) || c.String(name) == "" {
			return usagef("--%s is missing; see %s --help", name, c.Command.HelpName)
		}
	}
	return nil
}

func runEncode(c *cli.Context) error {
	if err := wanted(c, "data", "parity", "in", "out"); err != nil {
		return err
	}
	if err := positive(c, "data", "parity"); err != nil {
		return err
	}
	data, parity := c.Int("data"), c.Int("parity")
	if data > gf256.MaxShards-parity {
		return usagef("--data %d and --parity %d: at most %d shards in all are possible, one for each element of the field", data,
			parity, gf256.MaxShards)
	}
	matrix, err := shard.ParseMatrix(c.String("matrix"))
	if err != nil {
		return usagef("--%v", err)
	}
	coder, variant, err := newCoder(c)
	if err != nil {
		return err
	}
	start := time.Now()
	set, err := coder.Encode(c.Context, shard.Encoding{
		File: c.String("in"), Dir: c.String("out"), Data: data, Parity: parity, Matrix: matrix, Force: c.Bool("force"),
	})
	coder.clear()
	if err != nil {
		return interruptedCoding(c, err)
	}
	say(c, "%s: %v; %s", c.String("out"), set, throughput(set, start, variant))
	return nil
}

func runVerify(c *cli.Context) error {
	if err := wanted(c, "in"); err != nil {
		return err
	}
	if err := checkFile(c); err != nil {
		return err
	}
	coder := withBar(c, shard.Coder{})
	r, err := coder.Verify(c.Context, c.String("in"))
	coder.clear()
	if err != nil {
		return interruptedCoding(c, err)
	}
	for _, warning := range r.Warnings {
		say(c, "%s", warning)
	}
	if name := c.String("json"); name != "" {
		err = writeJSON(c, name, struct {
			Schema int `json:"schema"`
			*shard.Report
		}{compare.Schema, r})
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
			r.Dir, shard.Ranges(faulty), commandLine([]string{"rs", "reconstruct", "--in", r.Dir, "--repair"}))
	}
	return nil
}

func runReconstruct(c *cli.Context) error {
	if err := wanted(c, "in"); err != nil {
		return err
	}
	if c.String("out") == "" && !c.Bool("repair") {
		return usagef("--out is missing, or --repair; see %s --help", c.Command.HelpName)
	}
	coder, variant, err := newCoder(c)
	if err != nil {
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
		return interruptedCoding(c, err)
	}
	var made []string
	if c.String("out") != "" {
		made = append(made, c.String("out"))
	}
	if faulty := r.Faulty(); c.Bool("repair") && len(faulty) > 0 {
		made = append(made, "shards "+shard.Ranges(faulty))
	}
	if made == nil {
		say(c, "%s: all shards are good", r.Dir)
		return nil
	}
	say(c, "%s of %v; %s", strings.Join(made, " and "), r.Set, throughput(r.Set, start, variant))
	return nil
}

// barredCoder is a coder whose progress a bar shows.
type barredCoder struct {
	shard.Coder
	what string                   // of the bar
	bar  *progressbar.ProgressBar // nil: none
}

// newCoder returns a coder with the multiplier that --variant names, and the name.
func newCoder(c *cli.Context) (*barredCoder, string, error) {
	useTuned(c)
	v, params, err := choose[gf256.Elem](c.Context, product{variant: c.String("variant"), alpha: 1})
	if err != nil {
		return nil, "", err
	}
	m, err := gemm.New[gf256.Elem](v, params)
	if err != nil {
		return nil, "", err
	}
	return withBar(c, shard.Coder{Multiplier: m}), v.Name, nil
}

// withBar returns the coder with a bar where standard error is a terminal.
func withBar(c *cli.Context, coder shard.Coder) *barredCoder {
	b := &barredCoder{Coder: coder}
	f, ok := c.App.ErrWriter.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
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

// clear removes the bar.
func (b *barredCoder) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// say writes a line to standard error.
func say(c *cli.Context, format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, c.Command.HelpName+": "+format+"\n", args...)
}

// interruptedCoding returns err, and says what Ctrl-C leaves.
func interruptedCoding(c *cli.Context, err error) error {
	if c.Context.Err() != nil && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; nothing was written", errInterrupted)
	}
	return err
}

// throughput says how fast a file was read or written, synchronising it included.
func throughput(s shard.Set, start time.Time, variant string) string {
	took := time.Since(start)
	return fmt.Sprintf("%s in %s, %s/s, by %s", bytes(float64(s.Length)), seconds(took.Seconds()),
		bytes(float64(s.Length)/took.Seconds()), variant)
}

// printShards writes the shards as a table.
func printShards(out io.Writer, r *shard.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SHARD\tKIND\tSTATE\tBYTES\tFILE\tNOTE")
	for _, s := range r.Shards {
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\n", s.Index, s.Kind, s.State, s.Bytes, s.File, s.Reason)
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
