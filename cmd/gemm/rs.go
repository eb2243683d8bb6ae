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
	"gemm/compare/record"
	"gemm/gf256"
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
		Description: "A file is stored as K data shards and M parity shards. Any K of these K+M shards are\n" +
			"enough to reconstruct it, and so are any K good blocks of each stripe. Every shard has\n" +
			"checksums and says which shard it is; docs/rs.md describes the format.\n\n" +
			"protect leaves a file as it is, and writes only parity shards next to it.",
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
				Description: "Prints the state and the bad blocks of every shard. The exit status is 1 unless all\n" +
					"are good.",
				Flags:  []cli.Flag{in(), jsonFlag("the list of shards"), forceFlag("replace the existing file")},
				Action: runVerify,
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
	return choiceFlag("matrix", shard.Matrices()[0], "",
		"`NAME`: generator matrix: "+strings.Join(shard.Matrices(), ", "), shard.Matrices())
}

// protectedFiles is the usage of the arguments of commands for files with parity.
const protectedFiles = "FILE..."

// defaultData is the number of data shards of gemm rs protect: with one parity shard, parity is 5 % of the file.
const defaultData = 20

func protectCommand(variant cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "protect", Usage: "write parity for files that stay as they are", ArgsUsage: protectedFiles,
		UsageText: protectedFiles + " --parity M [options]",
		Description: "Reads each FILE and writes M parity shards into FILE" + shard.ParityExtension + ". A folder\n" +
			"stands for all files in it. A file that has such parity already is left out.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "parity", DefaultText: "none",
				Usage: "`M`: parity shards: any M parts of the file may be lost, of the K that --data says"},
			&cli.IntFlag{Name: "data", Value: defaultData,
				Usage: "`K`: parts of the file; a parity shard is as long as a part"},
			&cli.StringFlag{Name: "out", DefaultText: "next to each file",
				Usage: "`DIR`: folder for the parity folders"},
			matrixFlag(),
			variant,
			forceFlag("replace parity of another time or size of the file, or with other numbers of shards"),
			noTunedFlag(),
		},
		Action: runProtect,
	}
}

// parityFlags are the flags of commands that take files with parity.
func parityFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "in", DefaultText: "next to each file",
			Usage: "`DIR`: folder of the parity folders, as --out named it"},
		switchFlag("content", "compare the bytes also if a file has another size or time than the protected one"),
	}, more...)
}

func checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "compare files with their parity", ArgsUsage: protectedFiles,
		UsageText: protectedFiles + " [options]",
		Description: "FILE is a file that gemm rs protect read, its parity folder, or a folder. Prints the files\n" +
			"that are not good. The exit status is 1 unless all are.",
		Flags:  parityFlags(jsonFlag("the list of files"), forceFlag("replace the existing file")),
		Action: runCheck,
	}
}

func repairCommand(variant cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "repair", Usage: "restore files by their parity", ArgsUsage: protectedFiles,
		UsageText: protectedFiles + " [options]",
		Description: "Damaged files are replaced by repaired ones, with the same time and permissions, and so are\n" +
			"damaged parity shards. Files that changed since are left alone.",
		Flags:  parityFlags(variant, noTunedFlag()),
		Action: runRepair,
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
	if err := wanted(c, "data", "parity", "in", "out"); err != nil {
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
		return interruptedCoding(c, err)
	}
	say(c, "%s: %v; %s", c.String("out"), set, throughput(set.Length, start, coder.used()))
	return coder.writeTimeline(c, set)
}

func runVerify(c *cli.Context) error {
	if err := wanted(c, "in"); err != nil {
		return err
	}
	if err := checkFile(c); err != nil {
		return err
	}
	coder := withBar(c)
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
	say(c, "%s of %v; %s", strings.Join(made, " and "), r.Set, throughput(r.Set.Length, start, coder.used()))
	return coder.writeTimeline(c, r.Set)
}

// targets returns the files that the arguments name.
func targets(c *cli.Context) ([]string, error) {
	if !c.Args().Present() {
		return nil, usagef("%s is missing; see %s --help", protectedFiles, c.Command.HelpName)
	}
	return c.Args().Slice(), nil
}

func runProtect(c *cli.Context) error {
	names, err := targets(c)
	if err == nil {
		err = wanted(c, "parity")
	}
	if err != nil {
		return err
	}
	coder, matrix, err := newEncoder(c)
	if err != nil {
		return err
	}
	defer coder.end()
	start, total := time.Now(), int64(0)
	made, before, failed := 0, 0, 0
	for _, name := range names {
		t := shard.Target{Name: name, Dir: shard.ParityFolder(name, c.String("out"))}
		p := shard.Protection{Data: c.Int("data"), Parity: c.Int("parity"), Matrix: matrix, Force: c.Bool("force")}
		err := coder.ProtectAll(c.Context, t, p, func(_ string, s shard.Set, err error) {
			switch {
			case err == nil:
				made++
				total += s.Length
			case errors.Is(err, shard.ErrProtected):
				before++
			case c.Context.Err() == nil:
				if !errors.Is(err, shard.ErrLeftOut) {
					failed++
				}
				coder.clear()
				say(c, "%v", err)
			}
		})
		if c.Context.Err() != nil {
			coder.clear()
			return fmt.Errorf("%w after %s", errInterrupted, counted(made, "file"))
		}
		if err != nil {
			failed++
			say(c, "%v", err)
		}
	}
	coder.clear()
	if made > 0 {
		say(c, "%s with %d+%d parity; %s", counted(made, "file"), c.Int("data"), c.Int("parity"),
			throughput(total, start, coder.used()))
	}
	if before > 0 {
		say(c, "%s already with parity", counted(before, "file"))
	}
	if made+before+failed == 0 {
		say(c, "there is nothing to protect in %s", strings.Join(names, ", "))
	}
	if failed > 0 {
		return fmt.Errorf("not protected: %d of %s", failed, counted(made+before+failed, "file"))
	}
	return nil
}

// checked is what gemm rs check and repair found.
type checked struct {
	Schema   int                 `json:"schema"`
	Files    []*shard.FileReport `json:"files"`
	Warnings []string            `json:"warnings,omitempty"`

	failed int // files or folders that could not be checked
}

// add adds a report, or an error.
func (k *checked) add(r *shard.FileReport, err error) {
	if err != nil {
		k.failed++
		k.Warnings = append(k.Warnings, oneLine(err))
	}
	if r != nil {
		k.Files = append(k.Files, r)
		for _, w := range r.Others {
			k.Warnings = append(k.Warnings, r.Dir+": "+w)
		}
	}
}

// bad returns the number of files that are not good, and of those that a repair can restore.
func (k *checked) bad() (bad, repairable int) {
	for _, r := range k.Files {
		if !r.IsGood() {
			bad++
			if r.Repairable() {
				repairable++
			}
		}
	}
	return bad, repairable
}

func runCheck(c *cli.Context) error {
	names, err := targets(c)
	if err == nil {
		err = checkFile(c)
	}
	if err != nil {
		return err
	}
	coder := withBar(c)
	found := checked{Schema: record.OutputSchema, Files: []*shard.FileReport{}}
	for _, name := range names {
		t, err := shard.Locate(name, c.String("in"))
		if err != nil {
			found.add(nil, err)
			continue
		}
		if err := coder.CheckAll(c.Context, t, c.Bool("content"), found.add); err != nil {
			coder.clear()
			return interruptedCoding(c, err)
		}
	}
	coder.clear()
	for _, w := range found.Warnings {
		say(c, "%s", w)
	}
	switch name := c.String("json"); {
	case name != "":
		err = writeJSON(c, name, found)
	case found.failed == 0 || len(found.Files) > 0:
		err = printFiles(c.App.Writer, found)
	}
	if err != nil {
		return err
	}
	bad, repairable := found.bad()
	switch {
	case repairable > 0:
		return fmt.Errorf("not good: %d of %s: %s restores %d", bad, counted(len(found.Files), "file"),
			commandLine(repairing(c, names)), repairable)
	case bad > 0:
		return fmt.Errorf("not good: %d of %s", bad, counted(len(found.Files), "file"))
	case found.failed > 0:
		return fmt.Errorf("not checked: %d of %s", found.failed, counted(len(found.Files)+found.failed, "file"))
	}
	return nil
}

// repairing returns the command that repairs what gemm rs check checked.
func repairing(c *cli.Context, names []string) []string {
	words := append([]string{"rs", "repair"}, names...)
	if in := c.String("in"); in != "" {
		words = append(words, "--in", in)
	}
	if c.Bool("content") {
		words = append(words, "--content")
	}
	return words
}

// printFiles writes the files that are not good as a table.
func printFiles(out io.Writer, found checked) error {
	w := output.NewTable(out)
	bad, _ := found.bad()
	if bad > 0 {
		w.Row("STATE", "BYTES", "FILE", "NOTE")
	}
	for _, r := range found.Files {
		var notes []string
		if r.Reason != "" {
			notes = append(notes, r.Reason)
		}
		if len(r.Faulty) > 0 {
			notes = append(notes, "parity shards "+shard.Ranges(r.Faulty)+" are not good")
		}
		if r.Note != "" {
			notes = append(notes, r.Note)
		}
		if !r.IsGood() || r.Note != "" {
			w.Row(r.State, r.Bytes, r.File, strings.Join(notes, "; "))
		}
	}
	fmt.Fprintf(w, "good: %d of %s\n", len(found.Files)-bad, counted(len(found.Files), "file"))
	return w.Flush()
}

func runRepair(c *cli.Context) error {
	names, err := targets(c)
	if err != nil {
		return err
	}
	coder, err := newCoder(c)
	if err != nil {
		return err
	}
	defer coder.end()
	start := time.Now()
	files, failed, total := 0, 0, int64(0)
	for _, name := range names {
		target, err := shard.Locate(name, c.String("in"))
		if err != nil {
			files, failed = files+1, failed+1
			say(c, "%v", err)
			continue
		}
		err = coder.RepairAll(c.Context, target, c.Bool("content"),
			func(r *shard.FileReport, err error) {
				coder.clear()
				files++
				if r != nil {
					total += r.Bytes
				}
				switch {
				case err != nil:
					failed++
					say(c, "%v", err)
				case r.Repairable():
					say(c, "%s is repaired: %s", r.File, repairedText(r))
				case !r.IsGood(): // it has no parity
					failed++
					say(c, "%s: is %s: %s", r.File, r.State, r.Reason)
				}
			})
		if c.Context.Err() != nil {
			coder.clear()
			return fmt.Errorf("%w after %s", errInterrupted, counted(files, "file"))
		}
		if err != nil {
			coder.clear()
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("not repaired: %d of %s", failed, counted(files, "file"))
	}
	say(c, "all good: %s; %s", counted(files, "file"), throughput(total, start, coder.used()))
	return nil
}

// repairedText says what was repaired.
func repairedText(r *shard.FileReport) string {
	var parts []string
	if r.State != shard.Good {
		parts = append(parts, r.Reason)
	}
	if len(r.Faulty) > 0 {
		parts = append(parts, "parity shards "+shard.Ranges(r.Faulty))
	}
	return strings.Join(parts, "; ")
}

// barredCoder is a coder whose progress a bar shows.
type barredCoder struct {
	shard.Coder
	variant string // of --variant

	what string                   // of the bar
	bar  *progressbar.ProgressBar // nil: none
}

// newEncoder returns newCoder, and the matrix that --matrix names, if K and M are valid.
func newEncoder(c *cli.Context) (*barredCoder, shard.Matrix, error) {
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
func newCoder(c *cli.Context) (*barredCoder, error) {
	useTuned(c)
	coder := withBar(c)
	if name := c.String("variant"); name != "" {
		x := contender(name)
		var err error
		coder.variant = x.Name
		coder.Multiplier, err = x.Start(c.Context)
		coder.Products = x.Products
		return coder, interruptedCoding(c, err)
	}
	coder.Choice = &shard.Choice{Contenders: []*shard.Contender{contender("serial/packed")}}
	if runtime.GOMAXPROCS(0) > 1 {
		coder.Choice.Contenders = append(coder.Choice.Contenders, contender("parallel/packed"))
	}
	coder.Choice.Contenders = append(coder.Choice.Contenders, contender("cuda/tuned"))
	coder.Choice.Chosen = func(rates []shard.Rate) {
		coder.clear()
		say(c, "%s", chosenText(rates))
	}
	return coder, nil
}

// contender returns the variant with the name as a multiplier of slices. If it has threads or another processor for one
// product, slices are multiplied one after the other.
func contender(name string) *shard.Contender {
	x := &shard.Contender{Name: name}
	v, err := named(name, catalog.Variants())
	if err == nil && (v.Has("threads") || v.Location != gemm.InProcess) {
		x.Products = 1
	}
	x.Slow = err == nil && v.Location == gemm.OnGPU
	x.Start = func(ctx context.Context) (gemm.Multiplier[gf256.Elem], error) {
		v, params, err := choose[gf256.Elem](ctx, product{variant: name, alpha: 1})
		if err != nil {
			return nil, err
		}
		m, err := gemm.New[gf256.Elem](v, params)
		if err == nil && x.Slow { // its worker begins with the first product
			err = m.Multiply(ctx, gemm.NewMatrix[gf256.Elem](1, 1), gemm.NewMatrix[gf256.Elem](1, 1),
				gemm.NewMatrix[gf256.Elem](1, 1))
		}
		return m, err
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
func (b *barredCoder) used() string {
	if b.Choice != nil {
		return b.Choice.Used()
	}
	return b.variant
}

// end ends what multiplies.
func (b *barredCoder) end() {
	if b.Choice != nil {
		_ = b.Choice.Close()
	} else if m, ok := b.Multiplier.(io.Closer); ok {
		_ = m.Close()
	}
}

// withBar returns a coder with a bar where standard error is a terminal.
func withBar(c *cli.Context) *barredCoder {
	b := &barredCoder{}
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
func (b *barredCoder) record(c *cli.Context) error {
	if c.IsSet("trace") {
		b.Timeline = shard.NewTimeline()
	}
	return checkTrace(c)
}

// writeTimeline writes the timeline of a set to the file of --trace.
func (b *barredCoder) writeTimeline(c *cli.Context, set shard.Set) error {
	if b.Timeline == nil {
		return nil
	}
	host, err := record.DescribeHost()
	if err != nil {
		return err
	}
	row := record.Trace{Activity: b.Timeline.Activity()}
	row.Host, row.Variant, row.Type, row.Op = host.ID, b.used(), gemm.TypeOf[gf256.Elem]().Name, "nn"
	row.Shape = gemm.Shape{M: set.Parity, N: int(set.Payload()), K: set.Data}
	return writeTrace(c, record.Document{Hosts: []record.Host{host}, Traces: []record.Trace{row}})
}

// clear removes the bar.
func (b *barredCoder) clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// interruptedCoding returns err, and says what Ctrl-C leaves.
func interruptedCoding(c *cli.Context, err error) error {
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
