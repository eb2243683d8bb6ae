package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
	"gonum.org/v1/gonum/stat"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/report"
	"gemm/internal/output"
	"gemm/user"
)

// logf writes a line to standard error.
func logf(c *cli.Context, format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, c.Command.HelpName+": "+format+"\n", args...)
}

// logAll writes a line to standard error for each text.
func logAll(c *cli.Context, texts []string) {
	for _, text := range texts {
		logf(c, "%s", text)
	}
}

// writeJSON writes v to the file called name or to standard output.
func writeJSON(c *cli.Context, name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if name == stdoutName {
		return writeAll(c.App.Writer, data)
	}
	return writeFile(c, name, data)
}

// writeResult writes doc to the file of --json, or without it what print prints of doc to standard output.
func writeResult(c *cli.Context, doc any, print func(out io.Writer)) error {
	if name := c.String("json"); name != "" {
		return writeJSON(c, name, doc)
	}
	print(c.App.Writer)
	return nil
}

// printRows writes the rows as a table, and a line for each reason why rows are unavailable. As with all functions that
// print, runApp returns an error of standard output.
func printRows(out io.Writer, rows []record.Record) {
	shown := slices.DeleteFunc(slices.Clone(rows), unavailable)
	printTable(out, shown)
	printAverages(out, shown)
	printNoise(out, rows)
	printUnavailable(out, rows)
}

// printNoise writes how much times of identical code among the rows differ, if there are pairs of such rows.
func printNoise(out io.Writer, rows []record.Record) {
	if noise := report.Noise(rows); noise != "" {
		fmt.Fprintf(out, "\nNoise: %s; smaller differences mean nothing.\n", noise)
	}
}

// manySizes is the number of sizes from which on a table ends with averages.
const manySizes = 16

// printAverages writes the average share of the peak of each variant that has rows of many sizes.
func printAverages(out io.Writer, rows []record.Record) {
	type series struct{ name, typ string }
	var order []series
	speeds, counts := map[series][]float64{}, map[series]int{}
	for _, r := range rows {
		if r.Ran() != "" {
			continue
		}
		s := series{strings.TrimSpace(r.Variant + " " + r.Params.String()), r.Type}
		if counts[s]++; counts[s] == 1 {
			order = append(order, s)
		}
		if r.Speed() && r.PercentPeak.Known() {
			speeds[s] = append(speeds[s], float64(r.PercentPeak))
		}
	}
	order = slices.DeleteFunc(order, func(s series) bool { return counts[s] < manySizes || len(speeds[s]) == 0 })
	if len(order) == 0 {
		return
	}
	fmt.Fprintln(out)
	w := output.NewTable(out, "VARIANT", "TYPE", "AVERAGE PEAK", "ROWS")
	for _, s := range order {
		count := strconv.Itoa(counts[s])
		if len(speeds[s]) < counts[s] {
			count = fmt.Sprintf("%d of %d", len(speeds[s]), counts[s])
		}
		w.Row(s.name, s.typ, fmt.Sprintf("%.1f%%", stat.Mean(speeds[s], nil)), count)
	}
	_ = w.Flush()
}

// printTable writes the rows as a table, and nothing if there are none.
func printTable(out io.Writer, rows []record.Record) {
	if len(rows) == 0 {
		return
	}
	w := output.NewTable(out, "VARIANT", "TYPE", "SHAPE", "STATUS", "MEDIAN", "95% INTERVAL", "RATE", "PEAK", "RESIDUAL",
		"BOUND", "NOTE")
	for _, r := range rows {
		name := r.Variant
		if len(r.Params) > 0 {
			name += " " + r.Params.String()
		}
		median, interval, rate := "-", "-", "-"
		if r.Speed() {
			median = seconds(float64(r.Median))
			rate = fmt.Sprintf("%.4g %s", float64(r.Rate), r.Unit)
			if r.CI != nil {
				interval = seconds(r.CI[0]) + " to " + seconds(r.CI[1])
			}
		}
		w.Row(name, r.Type, problemOf(r), r.Status, median, interval, rate, number("%.1f%%", r.PercentPeak),
			number("%.2g", r.Residual), number("%.2g", r.Bound), r.Note())
	}
	_ = w.Flush()
}

// problemOf returns the shape, and how the operands are stored if one is transposed.
func problemOf(r record.Record) string {
	if r.Op != "nn" {
		return r.Label() + " " + r.Op
	}
	return r.Label()
}

// printRequests writes the row that each request for accuracy takes: of each problem the fastest whose bound meets it.
// Operands are of the widest type of the rows. The error is of the first request that no row meets.
func printRequests(out io.Writer, requests []float64, cases []plan.Case, rows []record.Record) (failed error) {
	if !slices.ContainsFunc(rows, record.Record.Speed) {
		return nil // another error says so
	}
	var problems []string
	var operands gemm.Type
	for _, r := range rows {
		problems = added(problems, problemOf(r))
		if t := gemm.TypeNamed(r.Type); !operands.Holds(t) {
			operands = t
		}
	}
	fmt.Fprintln(out)
	w := output.NewTable(out, "ACCURACY", "SHAPE", "VARIANT", "TYPE", "BOUND", "KIND", "RESIDUAL", "MEDIAN", "RATE")
	for _, problem := range problems {
		var offers []gemm.Offer
		var of []record.Record
		for _, r := range rows {
			i := slices.IndexFunc(cases, func(k plan.Case) bool { return measures(k, r) })
			if i < 0 || !r.Speed() || problemOf(r) != problem || gemm.TypeNamed(r.Type).IsField() ||
				r.Experiment == record.IteratedProduct { // which has another bound than one product
				continue
			}
			k := cases[i]
			found, err := gemm.Offers(k.Variant, gemm.TypeNamed(r.Type), operands, k.Shape, k.Params,
				k.Alpha == 1 && k.Beta == 0)
			if err != nil {
				return err
			}
			found[0].Time = float64(r.Median)
			offers, of = append(offers, found[0]), append(of, r)
		}
		if offers == nil {
			continue
		}
		for _, accuracy := range requests {
			i, err := gemm.Fastest(offers, accuracy)
			if err != nil {
				w.Row(fmt.Sprintf("%g", accuracy), problem, "-", "-", "-", "-", "-", "-", "-")
				failed = cmp.Or(failed, err)
				continue
			}
			o, r := offers[i], of[i]
			w.Row(fmt.Sprintf("%g", accuracy), problem, o, r.Type, fmt.Sprintf("%.2g", o.Bound), o.Kind,
				number("%.2g", r.Residual), seconds(float64(r.Median)), fmt.Sprintf("%.4g %s", float64(r.Rate), r.Unit))
		}
	}
	_ = w.Flush()
	return failed
}

// number formats x, or says that there is none.
func number(format string, x record.Number) string {
	if !x.Known() {
		return "-"
	}
	return fmt.Sprintf(format, float64(x))
}

// counted returns a number with its noun, which is regular.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// seconds formats a time in the unit of its size, with four figures.
func seconds(s float64) string {
	if s >= 1 {
		return fmt.Sprintf("%.4g s", s)
	}
	value, prefix := humanize.ComputeSI(s)
	return fmt.Sprintf("%.4g %ss", value, prefix)
}

// rowsError returns an error if rows went wrong, or none of them is ok. A kernel of the user must not time out either.
func rowsError(rows []record.Record) error {
	var bad []record.Record
	ok := 0
	for _, r := range rows {
		switch {
		case r.Status == record.OK:
			ok++
		case r.Status.Bad() && (r.Status != record.Timeout || familyOf(r) == user.Family):
			bad = append(bad, r)
		}
	}
	switch {
	case len(bad) > 0:
		return fmt.Errorf("%d of %d rows are wrong or failed, the first is %s %s %s: %s: %s",
			len(bad), len(rows), bad[0].Variant, bad[0].Type, bad[0].Label(), bad[0].Status, bad[0].Note())
	case ok == 0 && len(rows) > 0:
		return fmt.Errorf("no row could be measured, the first is %s %s %s: %s: %s",
			rows[0].Variant, rows[0].Type, rows[0].Label(), rows[0].Status, rows[0].Note())
	}
	return nil
}

// printUnavailable writes how many of the rows are unavailable, and why. Variants of a family that
// are unavailable for the same reason have one line together, any other variant has its own.
func printUnavailable(out io.Writer, rows []record.Record) {
	type line struct {
		variants, reasons []string
		rows              int
	}
	all, sharing := map[string][]string{}, map[string][]string{} // variants by family; and by family and reason
	common := func(r record.Record) string { return familyOf(r) + ": " + r.Note() }
	for _, r := range rows {
		all[familyOf(r)] = added(all[familyOf(r)], r.Variant)
		sharing[common(r)] = added(sharing[common(r)], r.Variant)
	}
	var lines []*line // in the order of the rows
	found := map[string]*line{}
	for _, r := range rows {
		if !unavailable(r) {
			continue
		}
		key := r.Variant
		if len(sharing[common(r)]) > 1 {
			key = common(r)
		}
		if found[key] == nil {
			found[key] = &line{}
			lines = append(lines, found[key])
		}
		a := found[key]
		a.rows++
		a.variants, a.reasons = added(a.variants, r.Variant), added(a.reasons, r.Note())
	}
	for _, a := range lines {
		name, first := strings.Join(a.variants, ", "), ""
		family := gemm.Variant{Name: a.variants[0]}.Family()
		if len(a.variants) > 1 && len(a.variants) == len(all[family]) {
			name = family
		}
		if len(a.reasons) > 1 {
			first = ", the first for this reason"
		}
		fmt.Fprintf(out, "%s: %s unavailable%s: %s\n", name, counted(a.rows, "row"), first, output.Line(a.reasons[0]))
	}
}

// unavailable reports whether the row cannot be measured here.
func unavailable(r record.Record) bool { return r.Status == record.Unavailable }

func familyOf(r record.Record) string { return gemm.Variant{Name: r.Variant}.Family() }

// added returns the names with one more, unless it is there already.
func added(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// checkRegular returns an error if name is there and is not a regular file, which
// must not be replaced by one: a device, for example.
func checkRegular(name string) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name another, or %s for standard output", name, stdoutName)
	}
	return nil
}

// writeFile replaces the file called name, whole or not at all. With --force it may be write-protected.
func writeFile(c *cli.Context, name string, data []byte) error {
	return output.Write(name, data, output.Permissions, c.Bool("force"))
}

// checkTrace returns an error unless the timelines can be expected to be written to the file of --trace, which
// must be none of the files with records.
func checkTrace(c *cli.Context, records ...string) error {
	name := c.String("trace")
	switch {
	case c.IsSet("trace") && name == "":
		return usagef("--trace: must be a file, or %s for standard output", stdoutName)
	case name == "":
		return nil
	case name == stdoutName && c.String("json") == stdoutName:
		return usagef("--trace and --json: only one of them can be standard output")
	case name == stdoutName:
		return nil
	}
	for _, file := range records {
		if file != "" && sameFile(name, file) {
			return usagef("--trace %s: has the records: name another file", name)
		}
	}
	if !c.Bool("resume") {
		if err := checkReplace(c, name); err != nil {
			return err
		}
	}
	return output.Writable(name, c.Bool("force"))
}

// sameFile reports whether two names are of one file, which need not exist yet.
func sameFile(name, other string) bool {
	a, err := os.Stat(name)
	b, otherErr := os.Stat(other)
	if err == nil && otherErr == nil {
		return os.SameFile(a, b)
	}
	name, err = filepath.Abs(name)
	other, otherErr = filepath.Abs(other)
	return err == nil && otherErr == nil && name == other
}

func writeTrace(c *cli.Context, doc record.Document) error {
	name := c.String("trace")
	if name == "" {
		return nil
	}
	data, err := report.Trace(doc)
	switch {
	case errors.Is(err, report.ErrNoTimeline) && c.Context.Err() != nil:
		return nil // the interruption says it
	case errors.Is(err, report.ErrNoTimeline):
		return fmt.Errorf("--trace %s: %w: measure them with --timeline or --trace, and see the warnings of the rows",
			name, err)
	case err != nil:
		return err
	case name == stdoutName:
		return writeAll(c.App.Writer, data)
	}
	return writeFile(c, name, data)
}
