package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// Bench writes the rows of doc that have a speed in the Go benchmark format
// (golang.org/design/14313-benchmark-format), a line a sample, for benchstat:
//
//	BenchmarkMultiply/family=serial/algorithm=ikj/type=f64/op=nn/size=512-1  1  89123456 ns/op  3.012 GFLOP/s
//
// The parts of the name are the keys for -col, -row and -filter of benchstat. Parameters are among them, and so are the
// build and the experiment unless it is the ladder. The number after the dash is the number of threads.
func Bench(w io.Writer, doc record.Document) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "Unit GFLOP/s better=higher\nUnit Gmul/s better=higher\n")
	last := make(map[string]string) // of the keys written so far
	for _, r := range doc.Records {
		if !r.Speed() || len(r.Samples) == 0 {
			continue
		}
		host, _ := analysis.Find(doc.Hosts, func(h record.Host) bool { return h.ID == r.Host })
		run, _ := analysis.Find(doc.Runs, func(run record.RunInfo) bool { return run.ID == r.Run })
		for _, c := range [][2]string{
			{"host", r.Host}, {"cpu", host.CPU}, {"run", r.Run}, {"go", run.Go}, {"goamd64", run.GOAMD64},
			{"commit", run.Git},
		} {
			value := strings.Join(strings.Fields(c[1]), " ")
			if last[c[0]] != value {
				fmt.Fprintf(b, "%s: %s\n", c[0], value)
				last[c[0]] = value
			}
		}
		name := benchName(r)
		operations := 2 * r.Terms() * float64(max(1, r.Batch))
		if r.Unit == "Gmul/s" {
			operations /= 2
		}
		for _, s := range r.Samples {
			if !(s > 0) {
				continue
			}
			fmt.Fprintf(b, "%s\t%d\t%s ns/op\t%s %s\n", name, max(1, r.Inner),
				strconv.FormatFloat(s*1e9, 'g', 7, 64), strconv.FormatFloat(operations/s/1e9, 'g', 6, 64), r.Unit)
		}
	}
	return b.Flush()
}

func benchName(r record.Record) string {
	parts := []string{"BenchmarkMultiply", "family=" + analysis.Family(r.Variant),
		"algorithm=" + analysis.Algorithm(r.Variant), "type=" + r.Type, "op=" + r.Op}
	if r.Alpha != 1 || r.Beta != 0 {
		parts = append(parts, "alpha="+csvNumber(r.Alpha), "beta="+csvNumber(r.Beta))
	}
	if r.Experiment != record.MainLadder {
		parts = append(parts, "experiment="+string(r.Experiment))
	}
	if r.Build != "" {
		parts = append(parts, "build="+r.Build)
	}
	for _, p := range slices.Sorted(maps.Keys(r.Params)) {
		parts = append(parts, fmt.Sprintf("%s=%v", p, r.Params[p]))
	}
	if r.Batch > 0 {
		parts = append(parts, fmt.Sprint("batch=", r.Batch))
	}
	parts = append(parts, "size="+r.Shape.String())
	for i, p := range parts {
		// A slash would divide the part, a space would end the name.
		parts[i] = strings.NewReplacer("/", ".", " ", "_").Replace(p)
	}
	return fmt.Sprintf("%s-%d", strings.Join(parts, "/"), max(1, r.Threads))
}

// Noise says in English how much times of identical code among rows differ; "": there are no pairs of such rows.
func Noise(rows []record.Record) string {
	var parts []string
	for _, v := range analysis.Views(record.Document{Records: rows}) {
		for _, f := range v.Floors() {
			where := map[string]string{"one": "one thread", "several": "several threads", "gpu": "a GPU"}[f.Where()]
			if f.Interleaved {
				where += ", interleaved"
			}
			parts = append(parts, fmt.Sprintf("%.3g× on %s (%d pairs)", f.Factor, where, f.Pairs))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "times of identical code differ by up to " + strings.Join(parts, "; ")
}
