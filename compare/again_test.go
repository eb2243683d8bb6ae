package compare

import (
	"gemm/compare/note"
	"testing"
	"time"

	"gemm"
)

// TestRowsAreMeasuredAgain gives rows a wide spread after they were measured: one alone, one in a
// turn, and one that takes more time than is left.
func TestRowsAreMeasuredAgain(t *testing.T) {
	var p silent
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &p}
	of := func(name, turn string) Case {
		return Request{Experiment: MainLadder, Variant: variant(name, product[float64]), Type: "f64", Shape: gemm.Cube(8),
			Alpha: 1, Turn: turn}.Case()
	}
	cases := []Case{of("serial/alone", ""), of("serial/quiet", ""), of("serial/slow", ""), of("serial/a", "one turn"),
		of("serial/b", "one turn")}
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	if len(d.alone) != 3 || len(p.rows) != len(cases) {
		t.Fatalf("%d rows were measured alone, want 3; %d rows", len(d.alone), len(p.rows))
	}
	d.Again = time.Minute
	d.alone[2].took = time.Hour
	for _, r := range d.Store.Document().Records {
		r.CI, r.Warnings = &[2]float64{0, 1000 * float64(r.Median)}, nil
		if r.Variant != "serial/quiet" {
			r.Warnings = []note.Note{note.New(note.Spread)}
		}
		if err := d.Store.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.again(t.Context(), 0); err != nil || len(p.rows) != len(cases) {
		t.Fatalf("%v; %d rows after no time, want none measured again", err, len(p.rows)-len(cases))
	}
	if err := d.again(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	rows := d.Store.Document().Records
	if len(rows) != len(cases) || len(p.rows) != len(cases)+1 {
		t.Errorf("%d rows in the store, %d measured again, want %d and 1", len(rows), len(p.rows)-len(cases), len(cases))
	}
	for _, r := range rows {
		if twice := r.Warns("twice"); twice != (r.Variant == "serial/alone") ||
			twice != (r.spread() < 999) {
			t.Errorf("%s has the interval %v and the warnings %q", r.Variant, *r.CI, r.Warnings)
		}
	}
}

// TestNarrower chooses between two results of a row.
func TestNarrower(t *testing.T) {
	row := func(run string, status Status, lo, hi float64) Record {
		r := Record{Run: run, Status: status, Median: 10}
		if hi > 0 {
			r.CI = &[2]float64{lo, hi}
		}
		return r
	}
	wide := row("first", OK, 8, 15)
	for want, second := range map[string]Record{
		"first": row("second", OK, 5, 20), "second": row("second", OK, 9, 11),
	} {
		if got := narrower(wide, second).Run; got != want {
			t.Errorf("of %v and %v it takes the %s", *wide.CI, *second.CI, got)
		}
	}
	if narrower(wide, row("second", OK, 0, 0)).Run != "first" ||
		narrower(wide, row("second", Timeout, 0, 0)).Run != "first" ||
		narrower(wide, row("second", Wrong, 0, 0)).Run != "second" {
		t.Error("a row without an interval or a time is taken, or one that is wrong is not")
	}
}
