package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm/compare/record"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/shard"
)

// protectedFiles is the usage of the arguments of commands for files with parity.
const protectedFiles = "FILE..."

// defaultData is the number of data shards of gemm rs protect: with one parity shard, parity is 5 % of the file.
const defaultData = 20

func protectCommand(variant cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "protect", Usage: "write parity for files that stay as they are", ArgsUsage: protectedFiles,
		UsageText: protectedFiles + " --parity M [options]",
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
		Flags:     parityFlags(jsonFlag("the list of files"), forceFlag("replace the existing file")),
		Action:    runCheck,
	}
}

func repairCommand(variant cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "repair", Usage: "restore files by their parity", ArgsUsage: protectedFiles,
		UsageText: protectedFiles + " [options]",
		Flags:     parityFlags(variant, noTunedFlag()),
		Action:    runRepair,
	}
}

func targets(c *cli.Context) ([]string, error) {
	if !c.Args().Present() {
		return nil, usagef("%s is missing; see %s --help", protectedFiles, c.Command.HelpName)
	}
	return c.Args().Slice(), nil
}

func runProtect(c *cli.Context) error {
	names, err := targets(c)
	if err = cmp.Or(err, requireFlags(c, "parity")); err != nil {
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
				logf(c, "%v", orInterrupted(c, err))
			}
		})
		if c.Context.Err() != nil {
			coder.clear()
			return fmt.Errorf("%w after %s", errInterrupted, counted(made, "file"))
		}
		if err != nil {
			failed++
			logf(c, "%v", err)
		}
	}
	coder.clear()
	if made > 0 {
		logf(c, "%s with %d+%d parity; %s", counted(made, "file"), c.Int("data"), c.Int("parity"),
			throughput(total, start, coder.used()))
	}
	if before > 0 {
		logf(c, "%s already with parity", counted(before, "file"))
	}
	if made+before+failed == 0 {
		logf(c, "there is nothing to protect in %s", strings.Join(names, ", "))
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
	if err = cmp.Or(err, checkFile(c)); err != nil {
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
			return orInterrupted(c, err)
		}
	}
	coder.clear()
	logAll(c, found.Warnings)
	switch name := c.String("json"); {
	case name != "":
		err = writeJSON(c, name, found)
	case found.failed == 0 || len(found.Files) > 0:
		printFiles(c.App.Writer, found)
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

func printFiles(out io.Writer, found checked) {
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
			notes = append(notes, "parity shards "+cpu.List(r.Faulty)+" are not good")
		}
		if r.Note != "" {
			notes = append(notes, r.Note)
		}
		if !r.IsGood() || r.Note != "" {
			w.Row(r.State, r.Bytes, r.File, strings.Join(notes, "; "))
		}
	}
	fmt.Fprintf(w, "good: %d of %s\n", len(found.Files)-bad, counted(len(found.Files), "file"))
	_ = w.Flush()
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
			logf(c, "%v", err)
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
				case err != nil && r != nil && r.State == shard.Changed:
					failed++
					logf(c, "%v; protect it again with --force, or restore what was protected with --content", err)
				case err != nil:
					failed++
					logf(c, "%v", err)
				case r.Repairable():
					logf(c, "%s is repaired: %s", r.File, repairedText(r))
				case !r.IsGood(): // it has no parity
					failed++
					logf(c, "%s: is %s: %s", r.File, r.State, r.Reason)
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
	logf(c, "all good: %s; %s", counted(files, "file"), throughput(total, start, coder.used()))
	return nil
}

// repairedText says what was repaired.
func repairedText(r *shard.FileReport) string {
	var parts []string
	if r.State != shard.Good {
		parts = append(parts, r.Reason)
	}
	if len(r.Faulty) > 0 {
		parts = append(parts, "parity shards "+cpu.List(r.Faulty))
	}
	return strings.Join(parts, "; ")
}
