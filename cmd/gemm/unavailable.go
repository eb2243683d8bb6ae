package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gemm"
	"gemm/compare"
)

// absence is a line that says of rows why they are unavailable.
type absence struct {
	variants []string
	rows     int
	reasons  []string
}

// printUnavailable writes how many of the rows are unavailable, and why. Variants of a family that
// are unavailable for the same reason have one line together, any other variant has its own.
func printUnavailable(out io.Writer, rows []compare.Record) error {
	all := map[string][]string{} // variants with rows, by family
	for _, r := range rows {
		all[familyOf(r)] = added(all[familyOf(r)], r.Variant)
	}
	for _, a := range absences(rows) {
		name, many, first := strings.Join(a.variants, ", "), "s", ""
		family := gemm.Variant{Name: a.variants[0]}.Family()
		if len(a.variants) > 1 && len(a.variants) == len(all[family]) {
			name = family
		}
		if a.rows == 1 {
			many = ""
		}
		if len(a.reasons) > 1 {
			first = ", the first for this reason"
		}
		if _, err := fmt.Fprintf(out, "%s: %d row%s unavailable%s: %s\n", name, a.rows, many, first,
			a.reasons[0]); err != nil {
			return err
		}
	}
	return nil
}

// absences returns the lines for those rows that are unavailable, in the order of the rows.
func absences(rows []compare.Record) []*absence {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r compare.Record) bool { return !unavailable(r) })
	common := func(r compare.Record) string { return familyOf(r) + ": " + r.Note() }
	sharing := map[string][]string{} // variants, by family and reason
	for _, r := range rows {
		sharing[common(r)] = added(sharing[common(r)], r.Variant)
	}
	var lines []*absence
	found := map[string]*absence{}
	for _, r := range rows {
		key := r.Variant
		if len(sharing[common(r)]) > 1 {
			key = common(r)
		}
		if found[key] == nil {
			found[key] = &absence{}
			lines = append(lines, found[key])
		}
		a := found[key]
		a.rows++
		a.variants, a.reasons = added(a.variants, r.Variant), added(a.reasons, r.Note())
	}
	return lines
}

// unavailable reports whether the row cannot be measured here.
func unavailable(r compare.Record) bool { return r.Status == compare.Unavailable }

func familyOf(r compare.Record) string { return gemm.Variant{Name: r.Variant}.Family() }

// added returns the names with one more, unless it is there already.
func added(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
