package main

import (
	"path/filepath"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/peer"
)

// cheats are the functions of testdata/cheats.c, with the outcome of their row and a part of its reason. Those that are
// ok find nothing to save: no call has the operands of another one.
var cheats = map[string]struct {
	status record.Status
	reason string
}{
	"every_third":       {record.Wrong, "it does not write element (0, 0) of C"},
	"after_warm_up":     {record.Wrong, "it does not write element (0, 0) of C"},
	"by_pointer":        {record.Wrong, "of C is wrong in a call that was timed: its sum with random signs is"},
	"by_checksum":       {record.Wrong, "of C is wrong in a call that was timed: its sum with random signs is"},
	"by_first_element":  {record.OK, ""},
	"half_of_the_rows":  {record.Wrong, "it does not write element (24, 0) of C"},
	"one_element_less":  {record.Wrong, "it does not write element (1, 1) of C"},
	"one_term_less":     {record.Wrong, "row 1 of C is wrong in a call that was timed"},
	"changes_operands":  {record.Failed, "it changes A: element (0, 1) was "},
	"previous_operands": {record.Wrong, "of C is wrong in a call that was timed: its sum with random signs is"},
	"of_a_sibling":      {record.Wrong, "of C is wrong in a call that was timed: its sum"},
	"nan_out":           {record.Wrong, "of C is wrong in a call that was timed: its sum with random signs is NaN"},
	"if_written":        {record.OK, ""},
	"after_return":      {record.Wrong, "it does not write element"},
	"changes_the_clock": {record.Suspect, "times as long as its process reports"},
}

// TestCheats measures kernels that want to look faster than they are. None is ok and faster than the honest loop.
func TestCheats(t *testing.T) {
	t.Parallel()
	_, err := peer.Program()
	gemmtest.Require(t, "gcc", err)
	source, err := filepath.Abs(filepath.Join("testdata", "cheats.c"))
	gemmtest.Must(t, err)
	arguments := []string{"serial", "--variants", "serial/naive", "--sizes", "48", "--time", "20ms", "--json", "rows.json",
		"--cflags", "-O2 -pthread -lm", "--bring", source + ":honest"}
	for name := range cheats {
		arguments = append(arguments, "--bring", source+":"+name)
	}
	dir := t.TempDir()
	if r := start(t, dir, nil, arguments...); r.status != statusFailed {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	rows := map[string]record.Record{}
	for _, r := range records(t, filepath.Join(dir, "rows.json")).Records {
		rows[strings.TrimPrefix(r.Variant, "user/")] = r
	}
	honest := rows["honest"]
	if honest.Status != record.OK {
		t.Fatalf("the honest loop is %s: %s", honest.Status, honest.Reason)
	}
	for name, want := range cheats {
		r := rows[name]
		if name == "after_return" && r.Speed() && r.Gflops < honest.Gflops {
			continue // on a busy host its thread may run first: all work was done within the time of the call
		}
		if r.Status != want.status || !strings.Contains(r.Reason.Text, want.reason) ||
			r.Speed() != (want.status == record.OK) {
			t.Errorf("%s: %s, %q at %v GFLOP/s, want %s, %q", name, r.Status, r.Reason, r.Gflops, want.status, want.reason)
		}
		if r.Speed() && !(r.Gflops < 4*honest.Gflops) { // a cached answer is 80 times as fast
			t.Errorf("%s has %v GFLOP/s, the honest loop %v", name, r.Gflops, honest.Gflops)
		}
	}
}

// TestRowsError wants an error of the command or none for outcomes of rows. A kernel of the user must not time out.
func TestRowsError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		variant string
		status  record.Status
		bad     bool
	}{
		{"user/f", record.Timeout, true}, {"user/f", record.Wrong, true}, {"user/f", record.Failed, true},
		{"user/f", record.Suspect, true}, {"user/f", record.Skipped, false}, {"user/f", record.OK, false},
		{"serial/naive", record.Timeout, false}, {"serial/naive", record.Suspect, true},
		{"serial/naive", record.Wrong, true}, {"serial/naive", record.Unavailable, false},
	} {
		rows := []record.Record{{Status: record.OK}, {Key: record.Key{Variant: test.variant}, Status: test.status}}
		if err := rowsError(rows); (err != nil) != test.bad {
			t.Errorf("a row of %s that is %s: %v", test.variant, test.status, err)
		}
	}
}
