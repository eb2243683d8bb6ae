package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/cpu"
)

// TestPeers measures a little of the profile peers.
func TestPeers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := succeed(t, dir, "compare", "--profile", "peers", "--sizes", "7,64", "--type", "f64,gf256", "--time", "1ms",
		"--variants", "serial/packed,serial/strassen,serial/gonum,reference/openblas", "--threads", "1", "--out", "peers")
	if !strings.Contains(r.stdout, filepath.Join("peers", "report.html")) {
		t.Errorf("it wrote %s", r.stdout)
	}
	const missing = "gemm compare: not measured, since no row has it: --variants serial/strassen --type gf256\n"
	if !strings.Contains(r.stderr, missing) {
		t.Errorf("standard error is %q, want %q", r.stderr, missing)
	}
	for _, row := range records(t, filepath.Join(dir, "peers", "results.json")).Records {
		if row.Status != record.OK && row.Status != record.Unavailable || row.Status == record.OK && !(row.Ceiling > 0) {
			t.Errorf("%s at %d: %s, ceiling %v, %s", row.Variant, row.N, row.Status, row.Ceiling, row.Reason)
		}
	}
	if page := read(t, filepath.Join(dir, "peers", "report.md")); !strings.Contains(page, `<a id="peers"></a>`) {
		t.Errorf("the report has no rows of peers:\n%s", page)
	}
}

// TestPeersOfEveryFamily names libraries and programs of others to the command of each family.
func TestPeersOfEveryFamily(t *testing.T) {
	rows := func(family, names string) ([]string, error) {
		cases, err := planFamily(family, "--variants", names)
		return mapped(cases, func(k plan.Case) string { return k.Variant.Name + " " + strconv.Itoa(k.Threads()) }), err
	}
	for family, own := range map[string]string{"serial": "serial/ikj", "parallel": "parallel/rows", "cuda": "cuda/naive",
		"mpi": "mpi/summa"} {
		threads := 1
		if family == "parallel" {
			threads = runtime.GOMAXPROCS(0)
		}
		got, err := rows(family, own+",reference/torch,reference/openblas,reference/c-naive")
		for _, name := range []string{fmt.Sprint("reference/torch ", threads), fmt.Sprint("reference/openblas ", threads),
			"reference/c-naive 1"} {
			if !slices.Contains(got, name) {
				t.Errorf("gemm %s has the rows %q, want %s", family, got, name)
			}
		}
		if err != nil || len(got) != 4 {
			t.Errorf("gemm %s: %q, %v", family, got, err)
		}
		_, err = rows(family, "reference/scalapack")
		if want := "--variants reference/scalapack: name it to gemm mpi, or"; (err == nil) != (family == "mpi") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("gemm %s --variants reference/scalapack: %v", family, err)
		}
		if got, err := rows(family, own+",all"); err != nil || slices.ContainsFunc(got, func(row string) bool {
			return strings.HasPrefix(row, "reference/")
		}) {
			t.Errorf("gemm %s --variants all has %q, %v", family, got, err)
		}
	}
}

// TestComparisonLimits checks that compare takes the limits that the families take.
func TestComparisonLimits(t *testing.T) {
	_, requested := planned(t, "--profile", "peers", "--time", "7ms", "--timeout", "3s", "--reps", "8")
	if b := requested.Budget(); b.Time != 7*time.Millisecond || b.Timeout != 3*time.Second || b.Reps != 8 {
		t.Errorf("the budget is %+v", b)
	}
}

// TestISA holds a comparison to portable Go: the host, and with it each row, carries the set, so do the ceilings,
// and a library is left out.
func TestISA(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	succeed(t, dir, "compare", "--profile", "peers", "--isa", "generic", "--sizes", "7", "--type", "f64", "--variants",
		"serial/packed,reference/accelerate,reference/openblas", "--threads", "1", "--time", "1ms", "--out", "held")
	doc := records(t, filepath.Join(dir, "held", "results.json"))
	host := doc.Hosts[0]
	if len(doc.Hosts) != 1 || host.ISA != "generic" || !host.Held || len(host.Ceilings) == 0 {
		t.Errorf("%d hosts; the first has %q, held %t, %d ceilings", len(doc.Hosts), host.ISA, host.Held,
			len(host.Ceilings))
	}
	for _, c := range host.Ceilings {
		if c.ISA != "generic" {
			t.Errorf("the ceiling of %s is of %s", c.Pipe, c.ISA)
		}
	}
	for _, row := range doc.Records {
		want := record.Unavailable
		if row.Variant == "serial/packed" || cpu.Supported()[0] == cpu.Generic {
			want = record.OK
		}
		if row.Status != want && want == record.Unavailable || row.Host != host.ID {
			t.Errorf("%s of host %s is %s (%s), want %s of %s", row.Variant, row.Host, row.Status, row.Reason, want,
				host.ID)
		}
		if row.Status == record.OK && row.Resolved["kernel"] != "go-2x4" && row.Variant == "serial/packed" {
			t.Errorf("%s computes with %v", row.Variant, row.Resolved["kernel"])
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "held", "report-appendix.md"))
	if err != nil || !strings.Contains(string(page), "| Instruction set used | generic; also for libraries and peaks |") {
		t.Errorf("the report does not say it (%v):\n%s", err, page)
	}
}

func TestISARefusals(t *testing.T) {
	dir := t.TempDir()
	if !slices.Contains(cpu.Supported(), cpu.AVX512) {
		fail(t, dir, 2, "--isa avx512: this processor lacks it; it has ", "compare", "--isa", "avx512")
	}
	fail(t, dir, 2, "--isa generic: ranks and GPUs are not held", "compare", "--isa", "generic", "--families",
		"mpi,cuda")
	if cpu.Supported()[0] != cpu.Generic {
		failWith(t, dir, []string{"GEMM_CPU=generic"}, 2, "GEMM_CPU=generic is another instruction set: unset it",
			"compare", "--isa", string(cpu.Supported()[0]))
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
