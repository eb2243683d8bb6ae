package main

import (
	"compress/gzip"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"gemm"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/compare/report/page"
)

func nameOf(r record.Record) string {
	text := r.Label()
	if r.IsCube() && r.Batch == 0 {
		text += "³"
	}
	if r.Op != "nn" {
		text += ", " + r.Op
	}
	return text
}

// ratios are times of libraries over ours.
type ratios struct {
	Libraries []string // with their type
	Rows      []compared
}

// compared are the times of libraries over ours for a product, a value a run.
type compared struct {
	Text string
	over map[string][]float64
}

// Over returns the values of a library.
func (c compared) Over(library string) []float64 { return c.over[library] }

// libraries are what products are compared with.
var libraries = []contender{{Name: "MKL", Variant: "reference/mkl"}, {Name: "OpenBLAS", Variant: "reference/openblas"},
	{Name: "BLIS", Variant: "reference/blis"}, {Name: "libxsmm", Variant: "reference/libxsmm"},
	{Name: "PyTorch", Variant: "reference/torch"}}

// Ratios compares products, such as 64, 1000*64 for a batch, or 16x32x64. The last row has geometric means. Libraries
// that no row has are left out.
func (r *committed) Ratios(threads int, products string) (table ratios, err error) {
	own := "serial/packed"
	if threads > 1 {
		own = "parallel/packed"
	}
	var all []record.Record
	for _, text := range strings.Fields(products) {
		p := record.Record{Threads: threads, Key: record.Key{Problem: record.Problem{Op: "nn"}}}
		if batch, shape, found := strings.Cut(text, "*"); found {
			if p.Batch, err = strconv.Atoi(batch); err != nil {
				return table, err
			}
			text = shape
		}
		if p.Shape, err = gemm.ParseShape(text); err != nil {
			return table, err
		}
		all = append(all, p)
		table.Rows = append(table.Rows, compared{nameOf(p), map[string][]float64{}})
	}
	means := compared{"geometric mean", map[string][]float64{}}
	for _, typ := range []string{"f64", "f32"} {
		for _, library := range libraries {
			name := library.Name + " " + typ
			var medians []float64
			for i, p := range all {
				p.Type = typ
				ours, theirs := r.medians(own, p), r.medians(library.Variant, p)
				over := table.Rows[i].over
				for _, run := range r.Runs {
					if ours[run.ID] > 0 && theirs[run.ID] > 0 {
						over[name] = append(over[name], theirs[run.ID]/ours[run.ID])
					}
				}
				if over[name] != nil {
					medians = append(medians, median(over[name]))
				}
			}
			if medians != nil {
				table.Libraries = append(table.Libraries, name)
			}
			if len(medians) == len(all) {
				means.over[name] = []float64{mean(medians)}
			}
		}
	}
	table.Rows = append(table.Rows, means)
	return table, nil
}

// medians returns the median times of a variant's row for the product of another, by run.
func (r *committed) medians(variant string, of record.Record) map[string]float64 {
	medians := map[string]float64{}
	for _, row := range r.Records {
		if row.Variant == variant && row.Type == of.Type && row.Speed() && row.Op == of.Op && row.Batch == of.Batch &&
			row.Threads == of.Threads && row.Shape == of.Shape {
			medians[row.Run] = float64(row.Median)
			for _, a := range row.Again {
				medians[a.Run] = float64(a.Median)
			}
		}
	}
	return medians
}

// ratio writes the median of ratios with their range. Below 1 it is bold.
func ratio(list []float64) page.Text {
	if len(list) == 0 {
		return ""
	}
	x := median(list)
	cell := spread(x, list)
	if x < 0.995 {
		cell = strings.Replace(cell, digits(x), "**"+digits(x)+"**", 1)
	}
	return page.Text(cell)
}

// pair is two median times in seconds, ours and the library's.
type pair struct {
	Text         string
	Ours, Theirs float64
}

// Ratio returns their time over ours.
func (p pair) Ratio() []float64 { return []float64{p.Theirs / p.Ours} }

// Batches returns the rows of our kernel that cuBLAS has too.
func (r *committed) Batches() (pairs []pair) {
	for _, row := range r.Records {
		key := row.Key
		key.Variant = "cuda/cublas"
		other, ok := analysis.Find(r.Records, func(o record.Record) bool { return o.Key == key && o.Speed() })
		if ok && row.Key != key && row.Speed() {
			pairs = append(pairs, pair{nameOf(row), float64(row.Median), float64(other.Median)})
		}
	}
	return pairs
}

// benchmarks are the times of Go's benchmarks in seconds, by name without the number of processors.
type benchmarks map[string][]float64

// bench reads what benchmarks printed, which is compressed by gzip.
func (in results) bench(file string) (benchmarks, error) {
	packed, err := os.Open(filepath.Join(in.root, "results", file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("results/%s: %w", file, err)
	}
	times := benchmarks{}
	reader := benchfmt.NewReader(text, file)
	for reader.Scan() {
		switch line := reader.Result().(type) {
		case *benchfmt.Result:
			seconds, ok := line.Value("sec/op")
			if !ok {
				return nil, fmt.Errorf("results/%s: %s has no time", file, line.Name)
			}
			name := line.Name.String()
			if i := strings.LastIndex(name, "-"); i > 0 {
				name = name[:i]
			}
			times[name] = append(times[name], seconds)
		case *benchfmt.SyntaxError:
			return nil, line
		}
	}
	return times, reader.Err()
}

// Gonum returns routines that were timed as gonum's too, at all n up to 8192 that there are.
func (b benchmarks) Gonum(routines ...string) (pairs []pair) {
	for _, routine := range routines {
		for n := range 8193 {
			by := func(who string) []float64 { return b[fmt.Sprintf("%s/n=%d/by=%s", routine, n, who)] }
			if ours, theirs := by("gemm"), by("gonum"); len(ours) > 0 && len(theirs) > 0 {
				text := fmt.Sprintf("%s, n = %d", path.Base(routine), n)
				pairs = append(pairs, pair{text, median(ours), median(theirs)})
			}
		}
	}
	return pairs
}

// program is a package of another module whose benchmarks were timed with gonum's routines and with ours.
type program struct {
	Text string
	all  []float64 // gonum's least time over ours
}

// Count returns the number of benchmarks, and Mean the geometric mean of their ratios.
func (p program) Count() string   { return fmt.Sprint(len(p.all)) }
func (p program) Mean() []float64 { return []float64{mean(p.all)} }

// Programs returns the packages, which are the first parts of names, with the benchmarks that call a routine.
func (b benchmarks) Programs() (programs []program) {
	for _, p := range b.Slower(math.Inf(1), true) {
		name, _, _ := strings.Cut(p.Text, "/")
		i := slices.IndexFunc(programs, func(p program) bool { return p.Text == name })
		if i < 0 {
			i, programs = len(programs), append(programs, program{Text: name})
		}
		programs[i].all = append(programs[i].all, p.Theirs/p.Ours)
	}
	return programs
}

// Slower returns the benchmarks in which gonum's least time over ours is below a limit, in the order of their names.
// called says whether they are those that call a routine.
func (b benchmarks) Slower(limit float64, called bool) (pairs []pair) {
	for _, name := range slices.Sorted(maps.Keys(b)) {
		text, found := strings.CutSuffix(name, "/by=gonum")
		ours, none := b[text+"/by=gemm"], b[text+"/by=none"]
		if found && len(ours) > 0 && (len(none) == 0) == called {
			if p := (pair{text, slices.Min(ours), slices.Min(b[name])}); p.Theirs/p.Ours < limit {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// Noise says how many of the benchmarks that call no routine are below a limit, and what their least ratio is.
func (b benchmarks) Noise(limit float64) string {
	least, all := math.Inf(1), b.Slower(math.Inf(1), false)
	for _, p := range all {
		least = min(least, p.Theirs/p.Ours)
	}
	return fmt.Sprintf("%d of %d are below %.2f too, down to %.2f", len(b.Slower(limit, false)), len(all), limit, least)
}

// Calls returns the least time of each part of a small product, in ns, a row for each n.
func (b benchmarks) Calls(sizes ...int) (rows []map[string]string) {
	for _, n := range sizes {
		row := map[string]string{"n": fmt.Sprint(n)}
		for name, list := range b {
			if part, found := strings.CutPrefix(name, fmt.Sprintf("Small/type=f64/n=%d/part=", n)); found {
				row[part] = fmt.Sprintf("%.0f", slices.Min(list)*1e9)
			}
		}
		rows = append(rows, row)
	}
	return rows
}
