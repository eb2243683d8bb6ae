package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gemm/cmd/catalog"
	"gemm/cmd/drawing"
	"gemm/cmd/gemm/cmdline"
	"gemm/compare/record"
	"gemm/compare/report"
	"gemm/compare/report/chapters"
	"gemm/internal/output"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "write a report from records of one host or several",
		UsageText: "--in FILE [--in FILE ...] [options]",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "in",
				Usage: "`FILE`: records, also compressed by gzip; repeat the option to merge several files"},
			cmdline.WordsFlag("format", "html", "html", "`LIST`: formats of the report: "+strings.Join(report.Formats(), ", "),
				report.Formats(), cmdline.Among(report.Formats())),
			langFlag(), coverFlag(), claimsFlag(),
			&cli.StringFlag{Name: "template",
				Usage: "`FILE.md`: template to write the report with; print writes the built-in template to " +
					"standard output (see docs/templates.md)"},
			&cli.StringFlag{Name: "out", Value: "report", DefaultText: "report", Usage: "`DIR`: folder for the report"},
			traceFlag("write the timelines of the records"),
			forceFlag("replace an existing file of --trace and, with --format json, existing records"),
		},
		Action: runReport,
	}
}

func langFlag() cli.Flag {
	return cmdline.ChoiceFlag("lang", "en", "en",
		"`LANGUAGE`: language of the report: "+strings.Join(chapters.Languages, ", "), chapters.Languages)
}

func coverFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "cover",
		Usage: "`FIELD=TEXT,...`: fields of the cover page of coursework: " + strings.Join(report.CoverFields(), ", ")}
}

func claimsFlag() cli.Flag {
	return &cli.BoolFlag{Name: "claims",
		Usage: "add a table that judges claims of published texts; the profiles course and figures always have it"}
}

func reportOptions(c *cli.Context) (report.Options, error) {
	lang := c.String("lang")
	if !slices.Contains(chapters.Languages, lang) {
		return report.Options{}, usagef("--lang %q: must be %s", lang, strings.Join(chapters.Languages, " or "))
	}
	var fields []string
	for _, given := range c.StringSlice("cover") {
		for i, part := range strings.Split(given, ",") {
			name, value, ok := strings.Cut(part, "=")
			switch {
			case !ok && i > 0: // a comma in the text of a field
				fields[len(fields)-1] += "," + part
			case !ok || strings.TrimSpace(value) == "":
				return report.Options{}, usagef("--cover %q: must be FIELD=TEXT", part)
			case !slices.Contains(report.CoverFields(), name):
				return report.Options{}, usagef("--cover %q: there is no field %s; the fields are %s", part, name,
					strings.Join(report.CoverFields(), ", "))
			default:
				fields = append(fields, part)
			}
		}
	}
	opt := report.Options{Lang: lang, Drawing: drawing.Of, Cover: report.Cover(lang, fields), Claims: c.Bool("claims")}
	if name := c.String("template"); name != "" && name != printTemplate {
		source, err := os.ReadFile(name)
		if err != nil {
			return opt, fmt.Errorf("--template: %w", err)
		}
		opt.Template = report.Template{Name: name, Source: string(source)}
	}
	return opt, nil
}

// printTemplate is the value of --template that prints the built-in template.
const printTemplate = "print"

func runReport(c *cli.Context) error {
	formats := cmdline.Listed[string](c, "format")
	opt, err := reportOptions(c)
	if err != nil {
		return err
	}
	if c.String("template") == printTemplate {
		return writeAll(c.App.Writer, []byte(chapters.Builtin(opt.Lang)))
	}
	if len(c.StringSlice("in")) == 0 {
		return usagef("--in is missing; see gemm report --help")
	}
	if err := checkTrace(c, append(c.StringSlice("in"),
		filepath.Join(c.String("out"), "results.json"))...); err != nil {
		return err
	}
	var docs []record.Document
	for _, name := range c.StringSlice("in") {
		doc, err := record.Load(name)
		if err != nil {
			return err
		}
		if c.Context.Err() != nil {
			return errInterrupted
		}
		docs = append(docs, doc)
	}
	doc, err := record.Merge(docs...)
	if err != nil {
		return err
	}
	if c.Context.Err() != nil {
		return errInterrupted
	}
	if err := writeTrace(c, doc); err != nil || c.IsSet("trace") && !c.IsSet("format") && !c.IsSet("out") {
		return err
	}
	dir := c.String("out")
	records := filepath.Join(dir, "results.json")
	if _, err := os.Stat(records); err == nil && slices.Contains(formats, "json") {
		if !c.Bool("force") {
			return fmt.Errorf("%w: %s: replace them with --force, or name another folder with --out", record.ErrExists, records)
		}
		lock, err := output.NewLock(records)
		if err != nil {
			return err
		}
		defer lock.Release()
	}
	paths, err := report.Write(c.Context, dir, doc.Declared(catalog.Variants()),
		report.WriteOptions{Formats: formats, Options: opt, Force: c.Bool("force")})
	if c.Context.Err() != nil {
		return fmt.Errorf("%w; the report in %s is not complete", errInterrupted, dir)
	}
	if err != nil || c.String("trace") == stdoutName {
		return err
	}
	printPaths(c.App.Writer, paths)
	return nil
}

// printPaths prints the names of the files of a report, one per line. A folder of figures is one line.
func printPaths(w io.Writer, paths []string) {
	figures := map[string]int{}
	for _, path := range paths {
		folder := filepath.Dir(path)
		if filepath.Base(folder) == "figures" {
			figures[folder]++
		} else {
			fmt.Fprintln(w, path)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(figures)) {
		fmt.Fprintf(w, "%s: %d files\n", folder, figures[folder])
	}
}
