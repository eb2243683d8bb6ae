package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"gemm/compare"
)

// printRows writes the rows as a table, and a line for each reason why rows are unavailable.
func printRows(out io.Writer, rows []compare.Record) error {
	shown := slices.DeleteFunc(slices.Clone(rows), unavailable)
	if err := printTable(out, shown); err != nil {
		return err
	}
	return printUnavailable(out, rows)
}

// printTable writes the rows as a table, and nothing if there are none.
func printTable(out io.Writer, rows []compare.Record) error {
	if len(rows) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tSHAPE\tSTATUS\tMEDIAN\t95% INTERVAL\tRATE\tPEAK\tRESIDUAL\tBOUND\tNOTE")
	for _, r := range rows {
		name := r.Variant
		if len(r.Params) > 0 {
			name += " " + r.Params.String()
		}
		shape := r.Shape.Label()
		if r.Op != "nn" {
			shape += " " + r.Op
		}
		median, interval, rate := "-", "-", "-"
		if r.Speed() {
			median = seconds(float64(r.Median))
			rate = fmt.Sprintf("%.4g %s", float64(r.Rate), r.Unit)
			if r.CI != nil {
				interval = seconds(r.CI[0]) + " to " + seconds(r.CI[1])
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, r.Type, shape, r.Status,
			median, interval, rate, number("%.1f%%", r.PercentPeak), number("%.2g", r.Residual),
			number("%.2g", r.Bound), r.Note())
	}
	return w.Flush()
}

// number formats x, or says that there is none.
func number(format string, x compare.Number) string {
	if !x.Known() {
		return "-"
	}
	return fmt.Sprintf(format, float64(x))
}

// seconds formats a time in the unit of its size, with four figures.
func seconds(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.4g s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.4g ms", s*1e3)
	case s >= 1e-6:
		return fmt.Sprintf("%.4g µs", s*1e6)
	default:
		return fmt.Sprintf("%.4g ns", s*1e9)
	}
}

// outcome returns an error if rows are wrong or failed, or none of them is ok.
func outcome(rows []compare.Record) error {
	var bad []compare.Record
	ok := 0
	for _, r := range rows {
		switch r.Status {
		case compare.OK:
			ok++
		case compare.Wrong, compare.Failed:
			bad = append(bad, r)
		}
	}
	switch {
	case len(bad) > 0:
		return fmt.Errorf("%d of %d rows are wrong or failed, the first is %s %s %s: %s: %s",
			len(bad), len(rows), bad[0].Variant, bad[0].Type, bad[0].Shape.Label(), bad[0].Status, bad[0].Note())
	case ok == 0 && len(rows) > 0:
		return fmt.Errorf("no row could be measured, the first is %s %s %s: %s: %s",
			rows[0].Variant, rows[0].Type, rows[0].Shape.Label(), rows[0].Status, rows[0].Note())
	}
	return nil
}
