package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gemm/compare"
)

// TestPeers measures a little of the profile peers and renders it again.
func TestPeers(t *testing.T) {
	long(t)
	dir := t.TempDir()
	r := succeed(t, dir, "compare", "--profile", "peers", "--sizes", "7,64", "--type", "f64",
		"--variants", "serial/packed,serial/gonum,reference/openblas", "--threads", "1", "--out", "peers")
	if !strings.Contains(r.stdout, filepath.Join("peers", "report.html")) {
		t.Errorf("it wrote %s", r.stdout)
	}
	for _, row := range records(t, filepath.Join(dir, "peers", "results.json")).Records {
		if row.Status != compare.OK && row.Status != compare.Unavailable || row.Status == compare.OK && !(row.Ceiling > 0) {
			t.Errorf("%s at %d: %s, ceiling %v, %s", row.Variant, row.N, row.Status, row.Ceiling, row.Reason)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "peers", "report-appendix.md"))
	if err != nil {
		t.Fatal(err)
	}
	succeed(t, dir, "report", "--in", "peers/results.json", "--format", "md", "--out", "again")
	again, err := os.ReadFile(filepath.Join(dir, "again", "report-appendix.md"))
	if err != nil || string(again) != string(page) || !strings.Contains(string(page), "Square matrices, f64, 1 thread") {
		t.Errorf("rendered again (%v) it differs, or it has no rows:\n%s", err, again)
	}
}

func TestPeersRefusals(t *testing.T) {
	dir := t.TempDir()
	most := runtime.GOMAXPROCS(0)
	for want, args := range map[string][]string{
		fmt.Sprintf("--threads %d: must be 1 to %d, the processors of this machine", most+1, most): {"compare", "--threads",
			fmt.Sprint(most + 1)},
		"--threads 0: must be 1 to":                        {"compare", "--threads", "0"},
		"--threads \"x\": must be integers":                {"compare", "--threads", "x"},
		"--profile peers has no row of these variants":     {"compare", "--profile", "peers", "--variants", "serial/naive"},
		"--profile peers has no row of these variants, si": {"compare", "--profile", "peers", "--type", "gf256"},
	} {
		fail(t, dir, 2, want, args...)
	}
}

// TestThreadsAreSwept plans with and without numbers of threads.
func TestThreadsAreSwept(t *testing.T) {
	threads := func(args ...string) []int {
		cases, _ := planned(t, append([]string{"--variants", "reference/openblas", "--sizes", "512", "--type",
			"f64"}, args...)...)
		var out []int
		for _, c := range cases {
			out = append(out, c.Threads())
		}
		return out
	}
	if got, want := threads(), slices.Compact([]int{1, runtime.GOMAXPROCS(0)}); !slices.Equal(got, want) {
		t.Errorf("of the profile quick the threads are %v, want %v", got, want)
	}
	if got, want := threads("--profile", "peers"), []int{1, 2}[:min(2, runtime.GOMAXPROCS(0))]; !slices.Equal(got, want) {
		t.Errorf("of the profile peers the threads are %v, want %v", got, want)
	}
	if got := threads("--profile", "peers", "--threads", "1"); !slices.Equal(got, []int{1}) {
		t.Errorf("with --threads 1 they are %v", got)
	}
}
