package main

import (
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
)

// TestUnavailableRows prints rows some of which are unavailable: a whole family for one reason, one
// variant for a reason of its own, and two of three variants for one reason.
func TestUnavailableRows(t *testing.T) {
	row := func(variant string, n int, reason string) record.Record {
		r := record.Record{Status: record.OK, Reason: record.Note{Text: reason}, Median: record.None()}
		r.Variant, r.Type, r.Op, r.Shape = variant, "f64", "nn", gemm.Cube(n)
		if reason != "" {
			r.Status = record.Unavailable
		}
		return r
	}
	rows := []record.Record{
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
	printRows(&out, rows)
	lines := strings.SplitAfterN(out.String(), "\n", 4) // the heading and two rows come first
	if !strings.HasPrefix(lines[1], "serial/packed ") || !strings.HasPrefix(lines[2], "mpi/c ") || lines[3] != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	if printRows(&out, rows[1:3]); strings.Contains(out.String(), "VARIANT") {
		t.Errorf("all are unavailable, got\n%s", out.String())
	}
}
