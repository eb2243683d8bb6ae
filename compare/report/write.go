package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gemm/compare/record"
	"gemm/compare/report/chart"
	"gemm/compare/report/page"
	"gemm/internal/ipc"
	"gemm/internal/output"
)

// WriteOptions say what to write.
type WriteOptions struct {
	Formats []string // of Formats; nil: all but pdf
	Force   bool     // replace files that are write-protected
	Options
}

// formats are what Write writes. The first four are of the report and of the appendix.
var formats = []struct{ name, file string }{
	{"html", "report.html"},
	{"md", "report.md"},
	{"tex", "report.tex"},
	{"pdf", "report.pdf"},
	{"csv", "results.csv"},
	{"json", "results.json"},
	{"bench", "results.bench.txt"},
}

// appendixFile returns the name of a file of the appendix, by the name of the report's file.
func appendixFile(file string) string { return strings.Replace(file, "report.", "report-appendix.", 1) }

// Formats returns the names of the formats that Write writes.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Write renders doc into the folder dir, which it creates if necessary, and returns the paths of the files. The figures
// come first: figures/<id>.svg and .png for html and md, and .pdf for tex and pdf. Then come report.html, report.md,
// report.tex and report.pdf, each followed by the same of the appendix, report-appendix.html and so on, and
// results.csv, results.json and results.bench.txt. The format pdf writes tex too, and runs xelatex on it. Each file is
// replaced as a whole or not at all. Figures of another report stay. When ctx ends, Write returns at once, with the
// cause.
func Write(ctx context.Context, dir string, doc record.Document, opt WriteOptions) ([]string, error) {
	wanted := opt.Formats
	if wanted == nil {
		wanted = slices.DeleteFunc(Formats(), func(f string) bool { return f == "pdf" })
	}
	for _, f := range wanted {
		if !slices.Contains(Formats(), f) {
			return nil, fmt.Errorf("report: no format %q; the formats are %s", f, strings.Join(Formats(), ", "))
		}
	}
	if slices.Contains(wanted, "pdf") {
		if _, err := exec.LookPath("xelatex"); err != nil {
			return nil, errors.New("report: format pdf needs xelatex, which is not on PATH: install it " +
				"(Debian: texlive-xetex texlive-latex-recommended texlive-fonts-recommended, " +
				"for zh texlive-lang-chinese too) or ask for tex")
		}
		wanted = append(slices.Clone(wanted), "tex")
	}
	wants := func(f string) bool { return slices.Contains(wanted, f) }

	of := chart.Mapped(opt.Options, chart.Printable)
	of.Template = opt.Template
	shown := chart.Mapped(doc, chart.Printable) // by every writer but JSON
	var r, appendix *page.Page
	var drawings []chart.Drawing
	out := folder{ctx: ctx, dir: dir, force: opt.Force}
	out.err = unless(ctx, func() (err error) {
		r, appendix, drawings, err = Build(shown, of)
		return err
	})
	if out.err != nil {
		return nil, out.err
	}
	for _, d := range drawings {
		name := filepath.Join("figures", d.ID)
		if wants("html") || wants("md") {
			out.write(name+".svg", d.SVG)
			out.write(name+".png", d.PNG)
		}
		if wants("tex") {
			out.write(name+".pdf", d.PDF)
		}
	}
	rendered := map[string]func(*page.Page, io.Writer) error{
		"html": func(r *page.Page, w io.Writer) error { return r.HTML(w, drawings) },
		"md":   (*page.Page).Markdown,
		"tex":  (*page.Page).TeX,
		"pdf":  func(r *page.Page, w io.Writer) error { return typeset(ctx, w, r, drawings, latest(doc)) },
	}
	data := map[string]func(io.Writer) error{
		"csv":   func(w io.Writer) error { return CSV(w, shown) },
		"json":  func(w io.Writer) error { return JSON(w, doc) },
		"bench": func(w io.Writer) error { return Bench(w, shown) },
	}
	for _, f := range formats {
		save := out.write
		if f.name == "pdf" { // typeset polls ctx
			save = out.save
		}
		if of := rendered[f.name]; wants(f.name) && of != nil {
			save(f.file, func(w io.Writer) error { return of(r, w) })
			save(appendixFile(f.file), func(w io.Writer) error { return of(appendix, w) })
		} else if wants(f.name) {
			save(f.file, data[f.name])
		}
	}
	return out.paths, out.err
}

// folder is where files are written, until the first error.
type folder struct {
	ctx   context.Context
	dir   string
	force bool // replace files that are write-protected
	paths []string
	err   error
}

// unless returns what f returns, or the cause of the end of ctx, for which f need not poll: the program ends then.
func unless(ctx context.Context, f func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write replaces the file called name by what content writes, unless the context ends before.
func (f *folder) write(name string, content func(io.Writer) error) {
	f.save(name, func(w io.Writer) error { return unless(f.ctx, func() error { return content(w) }) })
}

// save is write for content that polls the context itself.
func (f *folder) save(name string, content func(io.Writer) error) {
	if f.err != nil {
		return
	}
	var buf bytes.Buffer
	if f.err = content(&buf); f.err != nil {
		return
	}
	path := filepath.Join(f.dir, name)
	if f.err = os.MkdirAll(filepath.Dir(path), 0o777); f.err != nil {
		return
	}
	if f.err = output.Write(path, buf.Bytes(), output.Permissions, f.force); f.err == nil {
		f.paths = append(f.paths, path)
	}
}

// latest returns when the last run of doc began: the date of a document made of it.
func latest(doc record.Document) time.Time {
	last := time.Unix(0, 0)
	for _, r := range doc.Runs {
		if r.Time.After(last) {
			last = r.Time
		}
	}
	return last
}

// typesetLimit is how long one pass of xelatex may take.
const typesetLimit = 5 * time.Minute

// typeset writes what xelatex makes of r, dated as given. It runs in a folder of
// its own, whose name is not in the result, and twice, for the references.
func typeset(ctx context.Context, w io.Writer, r *page.Page, drawings []chart.Drawing, date time.Time) error {
	scratch, err := output.NewScratch("report")
	if err != nil {
		return err
	}
	defer scratch.Remove()
	in := folder{ctx: ctx, dir: scratch.Path}
	for _, d := range drawings {
		in.write(filepath.Join("figures", d.ID+".pdf"), d.PDF)
	}
	in.write("report.tex", r.TeX)
	if in.err != nil {
		return in.err
	}
	common := []string{"-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"}
	for _, pass := range [][]string{{"-no-pdf", "report.tex"}, {"report.tex"}} { // the first is for the references
		limited, cancel := context.WithTimeout(ctx, typesetLimit)
		defer cancel()
		cmd := exec.CommandContext(limited, "xelatex", slices.Concat(common, pass)...)
		cmd.Dir = scratch.Path
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", date.Unix()), "FORCE_SOURCE_DATE=1")
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		switch err := ipc.Run(cmd, time.Second); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case limited.Err() != nil:
			return fmt.Errorf("report: xelatex took more than %v, and was ended; report.tex is there to look at", typesetLimit)
		case err != nil:
			return fmt.Errorf("report: xelatex: %s: %w; report.tex is there to look at", texError(output.Bytes()), err)
		}
	}
	pdf, err := os.ReadFile(filepath.Join(scratch.Path, "report.pdf"))
	if err != nil {
		return err
	}
	_, err = w.Write(pdf)
	return err
}

// texError returns the first line of TeX's output that is an error message, otherwise what it wrote last.
func texError(output []byte) string {
	last := "it wrote nothing"
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, "!") {
			return strings.TrimSpace(strings.TrimPrefix(line, "!"))
		}
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return "after " + strconv.Quote(last)
}
