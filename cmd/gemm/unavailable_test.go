package main

import (
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/note"
)

// TestUnavailableRows prints rows some of which are unavailable: a whole family for one reason, one
// variant for a reason of its own, and two of three variants for one reason.
func TestUnavailableRows(t *testing.T) {
	row := func(variant string, n int, reason string) compare.Record {
		r := compare.Record{Status: compare.OK, Reason: note.Note{Text: reason}, Median: compare.None()}
		r.Variant, r.Type, r.Op, r.Shape = variant, "f64", "nn", gemm.Cube(n)
		if reason != "" {
			r.Status = compare.Unavailable
		}
		return r
	}
	rows := []compare.Record{
		row("serial/packed", 8, ""), row("cuda/smem", 8, "no driver"), row("reference/mkl", 8, "no MKL"),
		row("reference/reedsolomon", 257, "too large: 257"), row("mpi/a", 8, "no MPI"), row("mpi/b", 8, "no MPI"),
		row("mpi/c", 8, ""), row("cuda/smem", 16, "no driver"), row("cuda/tiled", 16, "no driver"),
		row("reference/mkl", 16, "no MKL"), row("reference/reedsolomon", 512, "too large: 512"),
	}
	const want = `cuda: 3 rows unavailable: no driver
reference/mkl: 2 rows unavailable: no MKL
reference/reedsolomon: 2 rows unavailable, the first for this reason: too large: 257
mpi/a, mpi/b: 2 rows unavailable: no MPI
`
	var out strings.Builder
	if err := printRows(&out, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfterN(out.String(), "\n", 4) // the heading and two rows come first
	if !strings.HasPrefix(lines[1], "serial/packed ") || !strings.HasPrefix(lines[2], "mpi/c ") || lines[3] != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if err := printRows(&out, rows[1:3]); err != nil || strings.Contains(out.String(), "VARIANT") {
		t.Errorf("all are unavailable, got\n%s%v", out.String(), err)
	}
}

// TestSummary checks that the table after a comparison has each variant at its own largest shape with
// a speed, and the rows that are wrong.
func TestSummary(t *testing.T) {
	row := func(variant string, n int, experiment compare.Experiment, status compare.Status) compare.Record {
		r := compare.Record{Status: status, Median: 1, Rate: 1}
		r.Experiment, r.Variant, r.Type, r.Op, r.Shape = experiment, variant, "f64", "nn", gemm.Cube(n)
		return r
	}
	var out strings.Builder
	err := summarise(&out, []compare.Record{
		row("serial/naive", 256, compare.MainLadder, compare.OK),
		row("serial/packed", 256, compare.MainLadder, compare.Wrong),
		row("serial/packed", 2048, compare.MainLadder, compare.OK),
		row("serial/naive", 4096, compare.CutoffSweep, compare.OK),
		row("serial/naive", 512, compare.MainLadder, compare.Skipped),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[0], "serial/") {
			got = append(got, f[0]+" "+f[2])
		}
	}
	if strings.Join(got, ", ") != "serial/naive 256, serial/packed 256, serial/packed 2048" {
		t.Errorf("it has %q in\n%s", got, out.String())
	}
}
