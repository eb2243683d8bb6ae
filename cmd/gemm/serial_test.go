package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest"
)

// TestRecordsAreNotReplacedUnasked has commands that write JSON find records there, and the
// command that goes on with records find another's JSON.
func TestRecordsAreNotReplacedUnasked(t *testing.T) {
	dir := t.TempDir()
	measured := []string{"serial", "--variants", "all,serial/naive", "--sizes", "8", "--time", "1ms", "--reps",
		"1", "--json"}
	r := start(t, dir, nil, append(measured, "r.json")...)
	doc, err := record.Load(filepath.Join(dir, "r.json"))
	if r.status != 0 || err != nil || linesOfTable(r.stdout) != 1+len(doc.Records) {
		t.Fatalf("status %d, %v, %d records; a variant that all has too was measured twice:\n%s%s", r.status, err,
			len(doc.Records), r.stdout, r.stderr)
	}
	for _, name := range []string{"list", "info", "tune"} {
		fail(t, dir, 1, "r.json exists already: replace it with --force", name, "--json", "r.json")
	}
	succeed(t, dir, "list", "--json", "list.json")
	succeed(t, dir, "list", "--json", "list.json", "--force")
	before := read(t, filepath.Join(dir, "list.json"))
	fail(t, dir, 1, "no records: it has a schema and no list of them", append(measured, "list.json", "--resume")...)
	fail(t, dir, 1, "list.json: no records", "report", "--in", "list.json", "--out", "report")
	if after, err := os.ReadFile(filepath.Join(dir, "list.json")); err != nil || string(after) != before {
		t.Errorf("what list wrote was replaced, %v", err)
	}
}

func TestSerial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	args := []string{"serial", "--variants", "serial/ikj,serial/packed,serial/strassen", "--sizes", "16,5x6x7",
		"--type", "f64,f32",
		"--cutoff", "4,8", "--time", "1ms", "--json", file}
	r := succeed(t, dir, args...)
	doc := records(t, file)
	// Two shapes and two types of ikj, packed and strassen with two cut-offs.
	if len(doc.Records) != 2*2*(1+1+2) {
		t.Errorf("%d records", len(doc.Records))
	}
	for _, row := range doc.Records {
		if row.Status != record.OK || !(row.Residual <= row.Bound) || !row.Speed() {
			t.Errorf("%s %s %s: %s %s", row.Variant, row.Type, row.Shape.Label(), row.Status, row.Reason)
		}
	}
	if lines := linesOfTable(r.stdout); lines != 1+len(doc.Records) ||
		!strings.Contains(r.stdout, "serial/strassen cutoff=4 ") {
		t.Errorf("a table of %d lines:\n%s", lines, r.stdout)
	}
	if r.stderr != "" {
		t.Errorf("standard error without a terminal: %q", r.stderr)
	}
	if want := "gemm " + strings.Join(args, " "); doc.Runs[0].Command != want {
		t.Errorf("the run's command is %q, want %q", doc.Runs[0].Command, want)
	}

	before := read(t, file)
	fail(t, dir, 1, file, args...)
	if after, err := os.ReadFile(file); err != nil || string(after) != before {
		t.Errorf("records were touched without --resume or --force: %v", err)
	}
	succeed(t, dir, append(args, "--resume")...)
	resumed := records(t, file)
	for i, row := range resumed.Records {
		if !slices.Equal(row.Samples, doc.Records[i].Samples) {
			t.Errorf("%s was measured again", row.Variant)
		}
	}
	succeed(t, dir, append(args[:len(args):len(args)], "--force", "--seed", "2")...)
	if forced := records(t, file); len(forced.Records) != len(doc.Records) || slices.Equal(forced.Records[0].Samples,
		doc.Records[0].Samples) {
		t.Error("--force did not measure again")
	}

	parsed, err := record.Parse([]byte(succeed(t, dir, "serial", "--variants", "serial/naive", "--type", "gf256",
		"--sizes", "9", "--json", "-", "--time", "1ms").stdout))
	if err != nil || len(parsed.Records) != 1 || parsed.Records[0].Type != "gf256" ||
		parsed.Records[0].Status != record.OK {
		t.Errorf("serial --json -: %+v, %v", parsed.Records, err)
	}
	r = start(t, dir, nil, "serial", "--variants", "serial/naive", "--sizes", "9", "--trans", "tt")
	if r.status != 1 || !strings.Contains(r.stderr, "no row could be measured") ||
		!strings.Contains(r.stdout, "unavailable") {
		t.Errorf("a variant that is not available, asked for by name: %+v", r)
	}
}

// serialRecords runs gemm serial with the arguments and returns its records.
func serialRecords(t *testing.T, args ...string) []record.Record {
	t.Helper()
	r := start(t, "", nil, append([]string{"serial", "--json", "-"}, args...)...)
	doc, err := record.Parse([]byte(r.stdout)) // its status may be 1: rows may time out
	gemmtest.Must(t, err)
	return doc.Records
}

// Every option of gemm serial changes what is measured.
func TestSerialOptions(t *testing.T) {
	t.Parallel()
	quick := func(args ...string) []record.Record {
		return serialRecords(t, append([]string{"--sizes", "40", "--time", "1ms"}, args...)...)
	}
	plain := quick("--variants", "serial/packed")[0]
	if plain.Op != "nn" || plain.Alpha != 1 || plain.Beta != 0 || plain.LDA != 40 || plain.Type != "f64" ||
		len(plain.Samples) < 6 {
		t.Errorf("defaults: %+v", plain)
	}
	r := quick("--variants", "serial/packed", "--trans", "tt,tn", "--alpha", "2", "--beta", "-1", "--ld", "3", "--reps",
		"17", "--type", "f32")
	if len(r) != 2 || r[0].Op != "tt" || r[1].Op != "tn" {
		t.Fatalf("--trans tt,tn: %+v", r)
	}
	for _, row := range r {
		if row.Status != record.OK || row.Alpha != 2 || row.Beta != -1 || row.LDB != 43 || row.Type != "f32" ||
			len(row.Samples) < 17 {
			t.Errorf("%+v", row)
		}
	}
	if other := quick("--variants", "serial/packed", "--seed", "2")[0]; other.Residual == plain.Residual {
		t.Errorf("with another seed the residual is %v too", plain.Residual)
	}
	spent := func(row record.Record) (total float64) {
		for _, s := range row.Samples {
			total += s * float64(row.Inner)
		}
		return total
	}
	if long := serialRecords(t, "--sizes", "40", "--variants", "serial/naive", "--time", "300ms", "--reps",
		"1000000")[0]; spent(long) < 10*spent(plain) {
		t.Errorf("--time 300ms: %v s of samples, with 1ms %v s", spent(long), spent(plain))
	}
	if row := serialRecords(t, "--sizes", "700", "--variants", "serial/naive", "--timeout",
		"1ms")[0]; row.Status != record.Timeout {
		t.Errorf("--timeout 1ms: %s", row.Status)
	}
	for _, row := range quick("--variants", "serial/strassen,serial/blocked", "--cutoff", "8,16", "--leaf", "serial/ikj",
		"--block", "7") {
		leaf, block := row.Params["leaf"], row.Params["block"]
		if row.Variant == "serial/strassen" && leaf != "serial/ikj" || row.Variant == "serial/blocked" && block != 7 {
			t.Errorf("%s with %v", row.Variant, row.Params)
		}
		if row.Status != record.OK || row.Resolved["cutoff"] != row.Params["cutoff"] {
			t.Errorf("%s: %s, asked %v, was %v", row.Variant, row.Status, row.Params, row.Resolved)
		}
	}
	studied := func(args ...string) (orders []string) {
		for _, row := range quick(args...) {
			if row.Variant == "serial/loops" && row.Status == record.OK && row.Experiment == record.LoopOrders {
				orders = append(orders, fmt.Sprint(row.Params["order"]))
			} else if row.Variant == "serial/loops" || row.Experiment != record.MainLadder {
				t.Errorf("%v: %s %s in the experiment %s", args, row.Variant, row.Status, row.Experiment)
			}
		}
		return orders
	}
	none, two, one := studied(), studied("--order", "kij,jki"), studied("--variants", "serial/loops")
	if len(none) > 0 || !slices.Equal(two, []string{"kij", "jki"}) || !slices.Equal(one, []string{"<nil>"}) {
		t.Errorf("orders %v by default, %v for kij,jki and %v for serial/loops", none, two, one)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "r.json")
	args := []string{"serial", "--variants", "serial/naive", "--sizes", "16,3000", "--time", "1ms", "--timeout", "1h",
		"--json", file}
	r, _ := interrupt(t, "", nil, hasRows(file, 1), append(args, "--force")...)
	want := "1 of 2 rows are in " + file + ": go on with gemm " + strings.Join(args, " ") + " --resume\n"
	if rows := records(t, file).Records; !strings.Contains(r.stderr, want) || len(rows) != 1 || rows[0].M != 16 {
		t.Errorf("%d rows, standard error %q, want %q", len(rows), r.stderr, want)
	}
}

// TestHangup closes the terminal, as it were: once, twice, and for a program that nohup started.
func TestHangup(t *testing.T) {
	t.Parallel()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("this process ignores SIGHUP, and what it starts does too")
	}
	for name, c := range map[string]struct {
		signals []os.Signal
		line    []string
		status  int
	}{
		"once":  {[]os.Signal{syscall.SIGHUP}, nil, 129},
		"twice": {[]os.Signal{syscall.SIGHUP, syscall.SIGHUP}, nil, 129},
		"nohup": {[]os.Signal{syscall.SIGHUP, syscall.SIGINT}, []string{"nohup"}, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "r.json")
			line := append(c.line, binary, "serial", "--variants", "serial/naive", "--sizes", "16,3000", "--time", "1ms",
				"--timeout", "1h", "--json", file)
			r, _ := signalWhen(t, "", nil, hasRows(file, 1), c.signals, line...)
			if r.status != c.status || !strings.Contains(r.stderr, "1 of 2 rows are in "+file+": go on with ") {
				t.Errorf("status %d, standard error %q, want status %d and how to go on", r.status, r.stderr, c.status)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args       []string
		line, next string
	}{
		{[]string{"serial", "--sizes", "8,9"}, "gemm serial --sizes 8,9", "gemm serial --sizes 8,9 --resume"},
		{[]string{"compare", "--out", "my dir", "--force"}, "gemm compare --out 'my dir' --force",
			"gemm compare --out 'my dir' --resume"},
		{[]string{"compare", "-resume=true", "--out", "it's"}, `gemm compare -resume=true --out 'it'\''s'`,
			`gemm compare --out 'it'\''s' --resume`},
		{[]string{"serial", "--bring", "it's\x1b[m\n\\x.c"}, `gemm serial --bring $'it\'s\x1b[m\n\\x.c'`,
			`gemm serial --bring $'it\'s\x1b[m\n\\x.c' --resume`},
		{[]string{"compare", "--out", "force", "--variants", ""}, "gemm compare --out force --variants ''",
			"gemm compare --out force --variants '' --resume"},
	} {
		if got := commandLine(c.args); got != c.line {
			t.Errorf("%q: %s, want %s", c.args, got, c.line)
		}
		if got := resumption(c.args); got != c.next {
			t.Errorf("%q goes on with %s, want %s", c.args, got, c.next)
		}
	}
}
