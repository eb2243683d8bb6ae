package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/output"
)

// progress keeps the rows that a driver finishes. If standard error is a terminal, it shows a bar
// with the case in progress and the time left. Otherwise it prints a line from time to time.
type progress struct {
	rows     []record.Record
	bar      *progressbar.ProgressBar // nil: none
	terminal int                      // file descriptor

	stderr io.Writer
	total  int           // rows
	every  time.Duration // between two lines
	last   time.Time     // when the last one was written, or measuring began
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
	p := &progress{stderr: stderr, total: cases, every: lineEvery, last: time.Now()}
	if f := terminalOf(stderr); f != nil {
		p.terminal = int(f.Fd())
		p.bar = progressbar.NewOptions(cases,
			progressbar.OptionSetWriter(f),
			progressbar.OptionSetDescription("measuring the peak"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(barWidth),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetRenderBlankState(true),
		)
	}
	return p
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
		what += fmt.Sprintf(" and %d in turn", len(cases)-1)
	}
	p.describe(what)
}

// describe shows what is running.
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
		if time.Since(p.last) >= p.every {
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
