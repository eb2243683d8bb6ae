package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest"
)

// is reports whether a row was timed, and is the entry's: a variant, a type, and an experiment or values that it ran
// with.
func is(r record.Record, entry string) bool {
	fields := strings.Fields(entry)
	ok := r.Speed() && r.Variant == fields[0] && r.Type == fields[1]
	for _, field := range fields[2:] {
		name, value, param := strings.Cut(field, "=")
		ok = ok && (param && fmt.Sprint(r.Resolved[name]) == value || !param && string(r.Experiment) == name)
	}
	return ok
}

// TestCoursework checks that docs/howto-coursework is current, and that docs/full and its records have what it
// names: equations, figures, and rows of the very variants. TestLinks of the module checks its links.
func TestCoursework(t *testing.T) {
	dir := t.TempDir()
	in := results{root, map[string]*committed{}}
	full := map[string]string{}
	var rows []record.Record
	for _, d := range documents() {
		data, err := os.ReadFile(filepath.Join(root, d.file))
		gemmtest.Must(t, err)
		switch {
		case strings.HasPrefix(d.file, "docs/howto-coursework"):
			gemmtest.Must(t, write(filepath.Join(dir, d.file), data))
			gemmtest.Must(t, results{root: dir}.render(d))
			if made, err := os.ReadFile(filepath.Join(dir, d.file)); err != nil || string(made) != string(data) {
				t.Errorf("%s is not current: make docs; %v", d.file, err)
			}
		case strings.HasPrefix(d.file, "docs/full/"):
			full[d.file] = string(data)
			for _, name := range d.records() {
				r, err := in.committed(name)
				gemmtest.Must(t, err)
				rows = append(rows, r.Records...)
			}
		}
	}
	c := decoded[coursework]("coursework.yaml")
	used := map[string]bool{}
	for _, source := range c.Sources {
		for _, e := range source.Entries {
			fault := func(format string, args ...any) {
				t.Errorf("%s, %s: %s", source.Title["en"], e.What["en"], fmt.Sprintf(format, args...))
			}
			for _, text := range []map[string]string{source.Title, e.What, e.Shows} {
				if text["en"] == "" || text["zh"] == "" {
					fault("a text is missing: %v", text)
				}
			}
			for _, key := range e.At {
				used[key] = true
				if p := c.Places[key]; p.Label["en"] == "" || p.Label["zh"] == "" {
					fault("there is no place %s", key)
				}
			}
			for file, page := range full {
				for _, n := range e.Equations {
					if !strings.Contains(page, fmt.Sprintf(`\tag{%d}`, n)) {
						fault("%s has no equation %d", file, n)
					}
				}
				for _, name := range e.Figures {
					if !strings.Contains(page, "](figures/"+name+"-") {
						fault("%s has no figure %s", file, name)
					}
				}
			}
			for _, row := range e.Rows {
				if !slices.ContainsFunc(rows, func(r record.Record) bool { return is(r, row) }) {
					fault("no record of docs/full has a row of %s", row)
				}
			}
		}
	}
	for key := range c.Places {
		if !used[key] {
			t.Errorf("no entry is at %s", key)
		}
	}
}
