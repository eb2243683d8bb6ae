package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"gemm/cmd/catalog"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda/remote"
	"gemm/internal/output"
	"gemm/internal/settings"
	"gemm/mpi"
	"gemm/mpi/launch"
)

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

// Without --time, the samples of a row take up to maxRowTime. With more than manyRows rows they take
// less, down to minRowTime, so that all together do not take longer. Without --reps as well, a slow
// product then has fewer samples, as many as take patience.
const (
	maxRowTime = 2 * time.Second
	minRowTime = 100 * time.Millisecond
	patience   = 4 * time.Second
	manyRows   = 200
	ceiling    = 50 * time.Millisecond // for each peak, which is enough for a column of the table
)

func budget(c *cli.Context, rows int) plan.Budget {
	b := plan.Budget{Reps: c.Int("reps"), Time: c.Duration("time"), Timeout: c.Duration("timeout")}
	if c.IsSet("time") || rows <= manyRows {
		return b
	}
	each := maxRowTime * manyRows / time.Duration(rows)
	b.Time = max(minRowTime, each.Round(10*time.Millisecond))
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
		logf(c, "%s", crowded)
	}
	if n := len(cases); n > manyRows {
		b := budget(c, n)
		slow := "however slow"
		if b.Patience > 0 {
			slow = fmt.Sprintf("while they take less than %v", b.Patience)
		}
		logf(c, "%d rows take %v and more: up to %v of samples each (--time), and at least %d samples %s (--reps)", n,
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
	d.Progress, d.Command = p, commandLine(os.Args[1:])
	d.Measure = func() []record.Measurement { return pingPongs(c.Context) }
	d.MPI = mpi.Version()
	if d.Lead == nil {
		d.Processes = run.Processes{Launch: launcher(c), Worker: workerOf(c.Context).Serve, NoWorker: remote.NoWorker,
			Warn: func(text string) {
				p.Close() // the line takes the place of the bar
				logf(c, "%s", text)
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
	return p, rowsError(p.rows)
}

// commandLine returns the command with the arguments as one would type it.
func commandLine(args []string) string {
	words := []string{"gemm"}
	if origin, ok := launch.Started(os.LookupEnv); ok {
		words = []string{origin.Program, "-n", strconv.Itoa(max(1, origin.Ranks)), "gemm"}
	}
	return strings.Join(append(words, mapped(args, shellWord)...), " ")
}

// shellWord returns a word as one would type it.
func shellWord(word string) string {
	if quoted := strconv.Quote(word); output.Line(word) != strings.TrimSpace(word) {
		return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
	} else if strings.ContainsAny(word, " \t\n\"'\\$*?;&|<>()`") || word == "" {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
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

// progress keeps the rows that a driver finishes. If standard error is a terminal, it shows a bar
// with the case in progress and the time left. Otherwise it prints a line from time to time.
type progress struct {
	rows     []record.Record
	bar      *progressbar.ProgressBar // nil: none
	terminal int                      // file descriptor

	stderr io.Writer
	total  int       // rows
	last   time.Time // when the last line was written, or measuring began
}

// barWidth is the width of the bar in columns, and numbersWidth the width of the numbers next to it.
const (
	barWidth     = 16
	numbersWidth = 34
)

// lineEvery is the time between two lines of progress if there is no bar.
const lineEvery = 5 * time.Minute

// newProgress returns the progress of measuring the given number of cases.
func newProgress(stderr io.Writer, cases int) *progress {
	p := &progress{stderr: stderr, total: cases, last: time.Now()}
	if f := terminalOf(stderr); f != nil {
		p.terminal = int(f.Fd())
		p.bar = newBar(f, int64(cases), "measuring the peak", progressbar.OptionShowCount(),
			progressbar.OptionSetRenderBlankState(true))
	}
	return p
}

// newBar returns a bar on a terminal, with the time left.
func newBar(f *os.File, total int64, what string, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append(more, progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription(what), progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(barWidth), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())...)
}

// terminalOf returns the terminal that messages go to, and nil if there is none.
func terminalOf(w io.Writer) *os.File {
	if l, ok := w.(output.Lines); ok {
		w = l.Writer
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Begin implements compare.Progress.
func (p *progress) Begin(cases []plan.Case) {
	if p.bar == nil {
		return
	}
	what := cases[0].String()
	switch {
	case cases[0].Build != "":
		what = fmt.Sprintf("build %s: %d variants", cases[0].Build, len(cases))
	case len(cases) > 1:
		what += fmt.Sprintf(" and %d interleaved", len(cases)-1)
	}
	p.describe(what)
}

func (p *progress) describe(what string) {
	if p.bar == nil {
		return
	}
	if width, _, err := term.GetSize(p.terminal); err == nil { // a longer line could not be replaced
		what = what[:min(len(what), max(width-barWidth-numbersWidth, 0))]
	}
	p.bar.Describe(output.Line(what))
}

// step counts a piece of work that is done and is no row.
func (p *progress) step() {
	if p.bar != nil {
		_ = p.bar.Add(1) // an error of the terminal is no reason to stop
	}
}

// Done implements compare.Progress.
func (p *progress) Done(r record.Record, kept bool) {
	same := func(old record.Record) bool { return old.Key == r.Key && old.Params.String() == r.Params.String() }
	if i := slices.IndexFunc(p.rows, same); i >= 0 { // it was measured again
		p.rows[i] = r
		return
	}
	p.rows = append(p.rows, r)
	switch {
	case p.bar == nil:
		if time.Since(p.last) >= lineEvery {
			fmt.Fprintf(p.stderr, "%d of %d rows, the last is %s %s %s: %s\n", len(p.rows), p.total, r.Variant, r.Type,
				r.Label(), r.Status)
			p.last = time.Now()
		}
	case kept: // took no time, by which the time left is predicted
		p.bar.ChangeMax(p.bar.GetMax() - 1)
	default:
		p.step()
	}
}

// Close removes the bar.
func (p *progress) Close() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
