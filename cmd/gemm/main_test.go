package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/gonum/blas"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/verify"
	"gemm/half"
	"gemm/internal/matfile"
	"gemm/internal/settings"
	"gemm/internal/topology"
	"gemm/mpi"
)

// binary is the program under test: this test binary, under the name that has TestMain call main.
var binary string

const programName = "gemm"

// pure is the program without MPI, and without C where it is another than binary.
var pure = sync.OnceValues(func() (string, error) {
	if !mpi.Built {
		return binary, nil
	}
	return built("pure", []string{"CGO_ENABLED=0"})
})

// built builds the program under another name.
func built(name string, variables []string, options ...string) (string, error) {
	program := filepath.Join(filepath.Dir(binary), name)
	cmd := exec.Command("go", append(append([]string{"build", "-ldflags=-s -w", "-o", program}, options...), ".")...)
	cmd.Env = append(os.Environ(), variables...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

func TestMain(m *testing.M) {
	self, err := os.Executable()
	if filepath.Base(self) == programName {
		main()
	}
	if asWorker != nil {
		asWorker()
	}
	os.Exit(func() int {
		var dir string
		if err == nil {
			dir, err = os.MkdirTemp("", "gemm-test-")
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, programName)
		if err == nil {
			err = os.Link(self, binary)
		}
		// The program under test is no test: it would use what was tuned on this machine.
		if err == nil {
			err = os.Setenv(settings.Variable, "off")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// asWorker turns this process into a worker if the environment says so, and ends it. It is nil on
// systems where no test starts a worker.
var asWorker func()

// result is what a run of the program left.
type result struct {
	stdout, stderr string
	status         int
}

// start runs the program with the arguments in dir, with variables added to the
// environment.
func start(t *testing.T, dir string, variables []string, args ...string) result {
	t.Helper()
	return startProgram(t, binary, dir, variables, args...)
}

func startProgram(t *testing.T, program, dir string, variables []string, args ...string) result {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), variables...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// succeed runs the program and fails the test unless it exits with 0.
func succeed(t *testing.T, dir string, args ...string) result {
	t.Helper()
	r := start(t, dir, nil, args...)
	if r.status != 0 {
		t.Fatalf("gemm %s: status %d, %s", strings.Join(args, " "), r.status, r.stderr)
	}
	return r
}

// fail runs the program and checks its status. Standard output must be empty. Standard error must be
// one line that begins with the program's name and contains want.
func fail(t *testing.T, dir string, status int, want string, args ...string) {
	t.Helper()
	failWith(t, dir, nil, status, want, args...)
}

func failWith(t *testing.T, dir string, variables []string, status int, want string, args ...string) {
	t.Helper()
	r := start(t, dir, variables, args...)
	if r.status != status || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 ||
		!strings.HasPrefix(r.stderr, "gemm") || !strings.Contains(r.stderr, want) {
		t.Errorf("gemm %s: status %d, standard output %q, standard error %q; want status %d and one line with %q",
			strings.Join(args, " "), r.status, r.stdout, r.stderr, status, want)
	}
}

// commands are the names of the commands that work.
func commands() []string {
	var names []string
	for _, c := range newApp(nil, nil).Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"-h"}} {
		r := succeed(t, "", args...)
		for _, name := range commands() {
			if !strings.Contains(r.stdout, "\n   "+name+" ") {
				t.Errorf("gemm %v does not list %s:\n%s", args, name, r.stdout)
			}
		}
		if r.stderr != "" {
			t.Errorf("gemm %v: standard error %q", args, r.stderr)
		}
	}
	for _, name := range commands() {
		r := succeed(t, "", name, "--help")
		if !strings.HasPrefix(r.stdout, "gemm "+name+": ") || r.stderr != "" {
			t.Errorf("gemm %s --help: %q, %q", name, r.stdout, r.stderr)
		}
		for _, c := range newApp(nil, nil).Commands {
			for _, f := range visible(c.Flags) {
				if c.Name == name && !strings.Contains(r.stdout, "--"+f.Names()[0]) {
					t.Errorf("gemm %s --help does not show --%s", name, f.Names()[0])
				}
			}
		}
	}
	if r := succeed(t, "", "--version"); !strings.HasPrefix(r.stdout, "gemm version ") {
		t.Errorf("gemm --version: %q", r.stdout)
	}
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	fail(t, dir, 2, `command "sreial" is unknown; the nearest are serial,`, "sreial", "--sizes", "8")
	fail(t, dir, 2, `flag "--nonsense" is unknown`, "--nonsense")
	for _, name := range commands() {
		fail(t, dir, 2, `argument "stray": there are only flags`, name, "stray")
		fail(t, dir, 2, `flag "--nonsense" is unknown`, name, "--nonsense", "1")
	}
	fail(t, dir, 2, `flag "--thread" is unknown; --threads is a flag of gemm compare, gemm parallel, gemm mpi; see gemm `+
		"serial --help", "serial", "--thread", "2")
	fail(t, dir, 2, `flag "--np" is unknown; --np is a flag of gemm compare, gemm mpi;`, "serial", "--np", "2")
	fail(t, dir, 2, `flag "--size" is unknown; it may be --sizes; see`, "serial", "--size", "8")
	fail(t, dir, 2, `flag "--nonsense" is unknown; see gemm serial --help`, "serial", "--nonsense")
	fail(t, dir, 2, `argument "stray"`, "list", "--json", "x", "stray")
	if err := os.WriteFile(filepath.Join(dir, "there.npy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fail(t, dir, 2,
		`argument "there.npy": there are only flags; files follow --a, --b, --c, --out; see gemm multiply --help`,
		"multiply", "there.npy")
	if err := os.Remove(filepath.Join(dir, "there.npy")); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"0": `--sizes "0"`, "-5": `--sizes "-5"`, "1e9": `--sizes "1e9"`, "10x": `--sizes "10x"`, "10x20": `--sizes "10x20"`,
		"1x2x3x4": `--sizes "1x2x3x4"`, "8,0": `--sizes "0"`, "8,,9": `an entry is empty`, "": "an entry is empty",
		"8,8": "8 is given twice", "8,9,8x8x8": "8x8x8 is given twice",
		"99999999999999999999": `--sizes "99999999999999999999"`, "ten": `--sizes "ten"`,
	} {
		fail(t, dir, 2, want, "serial", "--sizes", value)
		fail(t, dir, 2, want, "compare", "--sizes", value)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--sizes needs a value", []string{"serial", "--sizes"}},
		{`variant "serial/strasen" is unknown; the nearest are serial/strassen`,
			[]string{"serial", "--variants", "serial/strasen"}},
		{`variant "ikj" is unknown; the nearest are serial/ikj`, []string{"serial", "--variants", "ikj"}},
		{`variant "reference/opnblas" is unknown; the nearest are reference/openblas`,
			[]string{"serial", "--variants", "reference/opnblas"}},
		{`variant "serial/strasen" is unknown`, []string{"compare", "--variants", "serial/strasen"}},
		{`--families "seril"`, []string{"compare", "--families", "seril"}},
		{`--profile "slow": must be one of quick, full`, []string{"compare", "--profile", "slow"}},
		{`--lang "fr": must be en or zh`, []string{"compare", "--lang", "fr"}},
		{`--type "f8": must be one or more of f64, f32, f16, bf16, gf256`, []string{"serial", "--type", "f8"}},
		{`none of the variants has the type gf256`, []string{"serial", "--type", "gf256", "--variants", "serial/strassen"}},
		{`--trans "xx"`, []string{"serial", "--trans", "xx"}},
		{`--alpha NaN: must be a finite number`, []string{"serial", "--alpha", "NaN"}},
		{`--alpha 1e+300: is too large for f32, choose --type f64`,
			[]string{"serial", "--alpha", "1e300", "--type", "f64,f32"}},
		{
			`--alpha 1e-50: is too small for f32, which would have 0 in its place; choose --type f64`,
			[]string{"serial", "--alpha", "1e-50", "--type", "f64,f32"},
		},
		{`--alpha 1e+06: is too large for f16, choose --type f64`,
			[]string{"serial", "--alpha", "1e6", "--type", "f16"}},
		{`--beta -1e-46: is too small for f32`, []string{"parallel", "--beta", "-1e-46", "--type", "f32"}},
		{`invalid value "-1e-400" for --alpha: is too small for f64`, []string{"serial", "--alpha=-1e-400"}},
		{`invalid value "1e400" for --beta: is too large for f64`, []string{"serial", "--beta", "1e400"}},
		{`invalid value "two" for --alpha: must be a number`, []string{"serial", "--alpha", "two"}},
		{`--ld -1`, []string{"serial", "--ld", "-1"}},
		{`invalid value "x" for --reps`, []string{"serial", "--reps", "x"}},
		{`--reps 0: must be a positive integer`, []string{"serial", "--reps", "0"}},
		{`--time -1s: must be a positive duration`, []string{"serial", "--time", "-1s"}},
		{`--timeout 0s: must be a positive duration`, []string{"serial", "--timeout", "0"}},
		{`--timeout 0s: must be a positive duration`, []string{"compare", "--timeout", "0"}},
		{`--reps -1: must be a positive integer`, []string{"compare", "--reps", "-1"}},
		{`--force is for the file in --json FILE`, []string{"list", "--force"}},
		{`cutoff is 0, must be at least 1`, []string{"serial", "--cutoff", "0"}},
		{`--cutoff "x": must be integers`, []string{"serial", "--cutoff", "8,x"}},
		{`--cutoff: none of the variants has it`, []string{"serial", "--cutoff", "8", "--variants", "serial/naive"}},
		{`--leaf "serial/nothing" is unknown; the nearest are `, []string{"serial", "--leaf", "serial/nothing"}},
		{`threads is 0, must be at least 1`, []string{"parallel", "--threads", "0", "--json", "r.json"}},
		{`threads is -2, must be at least 1`, []string{"parallel", "--threads", "1,-2", "--json", "r.json"}},
		{`--threads "two": must be integers`, []string{"parallel", "--threads", "two", "--json", "r.json"}},
		{`chunk is -1, must be at least 0`, []string{"parallel", "--chunk", "-1", "--json", "r.json"}},
		{`load is -1, must be at least 0`, []string{"parallel", "--load", "-1", "--json", "r.json"}},
		{`tile is 0, must be at least 1`, []string{"parallel", "--tile", "0", "--json", "r.json"}},
		{`gomaxprocs is -1, must be at least 0`, []string{"parallel", "--gomaxprocs", "-1", "--json", "r.json"}},
		{`--schedule "statc" is unknown; the nearest are static,`,
			[]string{"parallel", "--schedule", "statc", "--json", "r.json"}},
		{`--affinity "closer" is unknown; the nearest are close,`,
			[]string{"parallel", "--affinity", "closer", "--json", "r.json"}},
		{`--local "serial/ikk" is unknown; the nearest are serial/ikj,`,
			[]string{"parallel", "--local", "serial/ikk", "--json", "r.json"}},
		{`--chunk: none of the variants has it`,
			[]string{"parallel", "--chunk", "1", "--variants", "parallel/packed", "--json", "r.json"}},
		{`--weak needs several numbers of threads`, []string{"parallel", "--weak", "--threads", "2", "--json", "r.json"}},
		{`--timeline is for 100 rows at most`,
			[]string{"parallel", "--timeline", "--threads", "1,2,3", "--chunk", "0,1,2,4,8", "--json", "r.json"}},
		{`flag "--weak" is unknown`, []string{"serial", "--weak"}},
		{`--batch 0: must be a number of products, 1 or more`, []string{"serial", "--batch", "0"}},
		{`--batch "few": must be integers`, []string{"parallel", "--batch", "few"}},
		{`--weak: a batch has none`, []string{"parallel", "--batch", "2", "--weak", "--threads", "1,2"}},
		{`--batch: an iterated product has none`, []string{"serial", "--batch", "2", "--chain", "3"}},
		{`flag "--batch" is unknown`, []string{"multiply", "--batch", "2"}},
		{`choose one`, []string{"serial", "--resume", "--force", "--json", "x"}},
		{`--resume and --force are for the records in --json FILE`, []string{"serial", "--resume"}},
		{`--in is missing`, []string{"report"}},
		{`--format "doc"`, []string{"report", "--in", "x", "--format", "doc"}},
		{`--out is missing`, []string{"multiply", "--a", "a.npy", "--b", "b.npy"}},
		{`--b b.txt: the name ends neither`, []string{"multiply", "--a", "a.npy", "--b", "b.txt", "--out", "c.npy"}},
		{`--beta 2 needs the C`, []string{"multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--beta", "2"}},
		{`--type "u8"`, []string{"multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--type", "u8"}},
		{`gf256 has C = A*B only`,
			[]string{"multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--type", "gf256", "--alpha", "2"}},
	} {
		fail(t, dir, 2, c.want, c.args...)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("usage errors left %v, %v", left, err)
	}
}

// linesOfTable counts the lines of a table, without the notes below it.
func linesOfTable(out string) int {
	table, _, _ := strings.Cut(out, "\n\n")
	return strings.Count(strings.TrimSuffix(table, "\n"), "\n") + 1
}

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
	before, err := os.ReadFile(filepath.Join(dir, "list.json"))
	if err != nil {
		t.Fatal(err)
	}
	fail(t, dir, 1, "no records: it has a schema and no list of them", append(measured, "list.json", "--resume")...)
	fail(t, dir, 1, "list.json: no records", "report", "--in", "list.json", "--out", "report")
	if after, err := os.ReadFile(filepath.Join(dir, "list.json")); err != nil || string(after) != string(before) {
		t.Errorf("what list wrote was replaced, %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	fail(t, dir, 1, "of memory, ", "serial", "--sizes", "8,10000000")
	fail(t, dir, 1, "of memory, ", "serial", "--sizes", "1000000000")
	fail(t, dir, 1, "of memory, ", "compare", "--sizes", "9223372036854775807")
	fail(t, dir, 1, "choose a smaller size or fewer threads", "parallel", "--variants", "parallel/collapse-atomic",
		"--sizes", "20000", "--threads", "1,16384", "--json", "r.json")
	fail(t, dir, 2, "threads is 100000000, must be at most 16384", "parallel", "--variants", "parallel/collapse-atomic",
		"--threads", "1,100000000")
	failWith(t, dir, []string{"GEMM_CPU=mmx"}, 1, `GEMM_CPU="mmx"`, "list")
	failWith(t, dir, []string{"OMPI_COMM_WORLD_SIZE=4"}, 1, "one of 4 ranks (OMPI_COMM_WORLD_SIZE)", "list")
	failWith(t, dir, []string{"PMI_SIZE=2"}, 1, "one of 2 ranks (PMI_SIZE)", "serial")
	failWith(t, dir, []string{"PMIX_RANK=0"}, 1, "rank 0 (PMIX_RANK)", "compare")
	if r := start(t, dir, []string{"OMPI_COMM_WORLD_SIZE=1", "PMIX_RANK=0"}, "--version"); r.status != 0 {
		t.Errorf("one rank: status %d, %s", r.status, r.stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("refusals left %v, %v", left, err)
	}
}

// A folder that cannot be written is found before anything is measured: the full
// profile would take many minutes.
func TestUnwritableOutput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	fail(t, dir, 1, "file/out", "compare", "--profile", "full", "--out", "file/out")
	fail(t, dir, 1, "file/out.json", "serial", "--sizes", "4096", "--json", "file/out.json")
	fail(t, dir, 1, "absent/out.json", "list", "--json", "absent/out.json")
	// A device must neither be replaced by a file nor taken for one.
	link := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	fail(t, dir, 1, "null is not a regular file", "list", "--json", link)
	fail(t, dir, 1, "null is not a regular file", "serial", "--sizes", "8", "--force", "--json", link)
	if to, err := os.Readlink(link); err != nil || to != os.DevNull {
		t.Errorf("the link to a device was replaced: %q, %v", to, err)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	table := succeed(t, dir, "list").stdout
	succeed(t, dir, "list", "--json", "list.json")
	data, err := os.ReadFile(filepath.Join(dir, "list.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc listing
	if err := json.Unmarshal(data, &doc); err != nil || doc.Schema != 1 {
		t.Fatalf("schema %d, %v", doc.Schema, err)
	}
	records, err := record.Parse([]byte(succeed(t, dir, "serial", "--variants", "serial/ikj,serial/strassen", "--sizes",
		"8", "--time", "1ms", "--json", "-").stdout))
	if err != nil || len(records.Variants) != 2 {
		t.Fatalf("the records describe %d variants: %v", len(records.Variants), err)
	}
	for _, v := range records.Variants {
		if !slices.ContainsFunc(doc.Variants, func(row listedVariant) bool { return reflect.DeepEqual(row.Variant, v) }) {
			t.Errorf("the list does not have %+v, as the records have", v)
		}
	}
	variants := catalog.Variants()
	if len(doc.Variants) != len(variants) {
		t.Fatalf("%d variants are listed, %d are there", len(doc.Variants), len(variants))
	}
	for i, row := range doc.Variants {
		v := variants[i]
		if row.Name != v.Name || row.Doc != v.Doc || !slices.Equal(row.Types, v.Types()) {
			t.Errorf("row %d: %+v, want %s %v", i, row, v.Name, v.Types())
		}
		if v.Family() == "serial" && !row.Available {
			t.Errorf("%s is unavailable: %s", v.Name, row.Reason)
		}
		if row.Available != (row.Reason == "") {
			t.Errorf("%s: available %v with the reason %q", v.Name, row.Available, row.Reason)
		}
		if !strings.Contains(table, "\n"+v.Name+" ") {
			t.Errorf("the table lacks %s", v.Name)
		}
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	text := succeed(t, "", "info").stdout
	for _, want := range []string{"processor", "sockets", "NUMA nodes", "processors", "topology", "quota",
		"instructions",
		"packed f64", "packed f32", "memory", "build", "reference/openblas"} {
		if !strings.Contains(text, "\n"+want+" ") && !strings.HasPrefix(text, want+" ") {
			t.Errorf("info lacks %q:\n%s", want, text)
		}
	}
	var doc information
	if err := json.Unmarshal([]byte(succeed(t, "", "info", "--peak", "--json", "-").stdout), &doc); err != nil {
		t.Fatal(err)
	}
	var plain information
	if err := json.Unmarshal([]byte(succeed(t, "", "info", "--json", "-").stdout), &plain); err != nil ||
		len(plain.Host.Ceilings) > 0 {
		t.Errorf("info without --peak: %+v, %v", plain.Host, err)
	}
	if h := doc.Host; h.Topology != nil && h.Topology.Usable != "" &&
		len(topology.IDs(h.Topology.Usable)) != h.Cores {
		t.Errorf("info: %d processors, %s are usable", h.Cores, h.Topology.Usable)
	}
	if doc.Host.Cores < 1 || len(doc.Host.Ceilings) < 2 || len(doc.Host.Bandwidths) < 1 || doc.Build.Go == "" {
		t.Errorf("info --peak: %+v", doc)
	}
	for _, c := range doc.Host.Ceilings {
		if !(c.Gflops > 0) {
			t.Errorf("peak of %s with %d threads: %v", c.Pipe, c.Threads, c.Gflops)
		}
	}
}

// records parses the records in a file.
func records(t *testing.T, name string) record.Document {
	t.Helper()
	doc, err := record.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return doc
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

	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fail(t, dir, 1, file, args...)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
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
	doc, err := record.Parse([]byte(r.stdout))
	if err != nil {
		t.Fatalf("gemm serial %v: %v, %s", args, err, r.stderr)
	}
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

func TestNewerSchema(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.json")
	if err := os.WriteFile(file, []byte(`{"schema":99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "its schema is 99"
	fail(t, dir, 1, want, "serial", "--json", file, "--resume", "--sizes", "8")
	fail(t, dir, 1, want, "compare", "--out", dir, "--resume")
	fail(t, dir, 1, want, "report", "--in", file, "--out", filepath.Join(dir, "out"))
	fail(t, dir, 1, "absent.json", "report", "--in", "absent.json")
	if data, err := os.ReadFile(file); err != nil || string(data) != `{"schema":99}` {
		t.Errorf("%q, %v", data, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v, want results.json alone", left, err)
	}
}

// interrupted starts the command, interrupts it (Ctrl-C) as soon as the records have a row, and
// returns its standard error.
func interrupted(t *testing.T, file string, args ...string) string {
	t.Helper()
	stderr := interruptedAt(t, file, 1, args...)
	if doc := records(t, file); len(doc.Records) != 1 || doc.Records[0].M != 16 {
		t.Errorf("%d records", len(doc.Records))
	}
	return stderr
}

// interruptedAt is interrupted, but waits until the records have that many rows.
func interruptedAt(t *testing.T, file string, rows int, args ...string) string {
	t.Helper()
	stderr, status := signalled(t, file, rows, []os.Signal{syscall.SIGINT}, append([]string{binary}, args...)...)
	if status != 130 {
		t.Errorf("status %d, want 130", status)
	}
	return stderr
}

// signalled starts the command line and sends the signals as soon as the records have that many
// rows. It returns the command's standard error and status.
func signalled(t *testing.T, file string, rows int, signals []os.Signal, line ...string) (string, int) {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if doc, err := record.Load(file); err == nil && len(doc.Records) >= rows {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %d rows within 30 s", rows)
		}
	}
	for _, s := range signals {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the caller looks at its status
	return stderr.String(), cmd.ProcessState.ExitCode()
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "r.json")
	args := []string{"serial", "--variants", "serial/naive", "--sizes", "16,3000", "--time", "1ms", "--timeout", "1h",
		"--json", file}
	stderr := interrupted(t, file, append(args, "--force")...)
	if want := "1 of 2 rows are in " + file + ": go on with gemm " + strings.Join(args,
		" ") + " --resume\n"; !strings.Contains(stderr, want) {
		t.Errorf("standard error %q, want %q", stderr, want)
	}
}

// TestReportHearsInterrupt ends a report while it is made: at once, with whole files only.
func TestReportHearsInterrupt(t *testing.T) {
	t.Parallel()
	records, err := filepath.Abs("../../results/cuda-h100.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, "report", "--in", records, "--out", dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until the first figure is there
		if found, _ := filepath.Glob(filepath.Join(dir, "figures", "*.svg")); len(found) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no figure within a minute")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if want := "interrupted; the report in " + dir + " is not complete"; cmd.ProcessState.ExitCode() != 130 ||
		!strings.Contains(stderr.String(), want) {
		t.Errorf("status %d, %q", cmd.ProcessState.ExitCode(), stderr.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "report.html")); err == nil {
		t.Error("the report was written to its end")
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "figures", ".*")); len(found) > 0 {
		t.Errorf("temporary files: %q", found)
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
			stderr, status := signalled(t, file, 1, c.signals, line...)
			if status != c.status || !strings.Contains(stderr, "1 of 2 rows are in "+file+": go on with ") {
				t.Errorf("status %d, standard error %q, want status %d and how to go on", status, stderr, c.status)
			}
		})
	}
}

func TestInterruptedComparisonHasAReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	interrupted(t, filepath.Join(dir, "results.json"), "compare", "--variants", "serial/naive", "--sizes", "16,900",
		"--type", "f64", "--time", "1ms", "--out", dir)
	if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil ||
		!strings.Contains(string(page), "serial/naive") {
		t.Errorf("no report of the row that was measured: %v", err)
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

func TestCompareAndReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	compared := succeed(t, dir, "compare", "--out", "d", "--sizes", "24", "--families", "serial", "--type",
		"f64,gf256").stdout
	for _, name := range []string{"results.json", "report.html", "report.md", "report.tex", "results.csv"} {
		if info, err := os.Stat(filepath.Join(dir, "d", name)); err != nil || info.Size() == 0 {
			t.Errorf("compare wrote no %s: %v", name, err)
		}
	}
	doc := records(t, filepath.Join(dir, "d", "results.json"))
	for _, v := range family("serial") {
		if v.Role == gemm.Study {
			continue // in no ladder
		}
		i := slices.IndexFunc(doc.Records, func(r record.Record) bool { return r.Variant == v.Name })
		if i < 0 || doc.Records[i].Status != record.OK {
			t.Errorf("compare has no row of %s that is ok", v.Name)
		}
		if !strings.Contains(compared, v.Name) {
			t.Errorf("compare's table lacks %s:\n%s", v.Name, compared)
		}
	}
	var parts []string
	for _, m := range doc.Measurements {
		parts = append(parts, fmt.Sprint(m.Name, " ", m.Params["type"]))
	}
	if want := []string{"micro-kernel f64", "micro-kernel-l2 f64", "packing f64",
		"update-c f64"}; !slices.Equal(parts, want) {
		t.Errorf("measurements beside the rows of packed f64: %q", parts)
	}
	fail(t, dir, 1, "records exist already", "compare", "--out", "d", "--sizes", "24")
	succeed(t, dir, "compare", "--out", "d", "--sizes", "24", "--families", "serial", "--type", "f64,gf256", "--resume")
	if resumed := records(t, filepath.Join(dir, "d", "results.json")); len(resumed.Records) != len(doc.Records) {
		t.Errorf("resumed, %d rows are %d", len(doc.Records), len(resumed.Records))
	}
	succeed(t, dir, "report", "--in", "d/results.json", "--out", "same", "--format", "html,md,tex,csv")
	for _, name := range []string{"report.html", "report.md", "report.tex", "report-appendix.html", "report-appendix.md",
		"report-appendix.tex", "results.csv"} {
		first, err := os.ReadFile(filepath.Join(dir, "d", name))
		again, other := os.ReadFile(filepath.Join(dir, "same", name))
		if err != nil || other != nil || string(first) != string(again) {
			t.Errorf("%s differs when it is rendered again (%v, %v)", name, err, other)
		}
	}
	fail(t, dir, 1, "records exist already", "report", "--in", "d/results.json", "--out", "d", "--format", "json")

	r := succeed(t, dir, "report", "--in", "d/results.json", "--in", "d/results.json", "--out", "e", "--format",
		"md,csv,json", "--lang", "zh")
	for _, name := range []string{"report.md", "results.csv", "results.json"} {
		path := filepath.Join("e", name)
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Size() == 0 ||
			!strings.Contains(r.stdout, path) {
			t.Errorf("report wrote no %s: %v, %q", name, err, r.stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "e", "report.html")); err == nil {
		t.Error("report wrote a format that was not asked for")
	}
	if merged := records(t, filepath.Join(dir, "e", "results.json")); len(merged.Records) != len(doc.Records) {
		t.Errorf("%d records merged with themselves are %d", len(doc.Records), len(merged.Records))
	}
	succeed(t, dir, "report", "--in", "d/results.json", "--out", "e", "--format", "json", "--force")
	text, err := os.ReadFile(filepath.Join(dir, "e", "report.md"))
	if err != nil || !strings.ContainsFunc(string(text), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("the report in Chinese has no Chinese: %v", err)
	}
}

// planned returns what gemm compare with the arguments requests, and the rows that it would measure.
func planned(t *testing.T, args ...string) (cases []plan.Case, requested plan.Comparison) {
	t.Helper()
	app := newApp(io.Discard, io.Discard)
	app.Command("compare").Action = func(c *cli.Context) (err error) {
		if requested, err = comparison(c); err == nil {
			cases, err = rowsOf(c, requested, nil)
		}
		return err
	}
	if err := app.Run(append([]string{"gemm", "compare"}, args...)); err != nil {
		t.Fatal(err)
	}
	return cases, requested
}

// TestProfiles checks the names of variants in the built-in profiles, and plans a profile of the user's own.
func TestProfiles(t *testing.T) {
	var printed strings.Builder
	for i, p := range plan.Profiles(runtime.GOMAXPROCS(0)) {
		if _, err := plan.ReadProfile(p.Name, []byte(p.Text), catalog.Variants(), p.Processors); err != nil {
			t.Error(err)
		}
		if i > 0 {
			printed.WriteString("\n---\n")
		}
		fmt.Fprintf(&printed, "# profile %s\n%s", p.Name, p.Text)
	}
	dir := t.TempDir()
	if r := succeed(t, dir, "compare", "--profile", "print"); r.stdout != printed.String() {
		t.Errorf("the profiles are printed as %q", r.stdout)
	}
	file := filepath.Join(dir, "mine.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("shapes: [8, 9x10x11]\ntypes: [f32]\nladder:\n- {variants: [serial/ikj], only: {cubes: true}}\n- {never: true}\n" +
		"experiments:\n- {experiment: chunk, variants: [parallel/rows], shapes: [7], sweep: {threads: [1], chunk: [0, 4]}}")
	cases, _ := planned(t, "--profile", file, "--type", "f32,f64")
	var got []string
	for _, c := range cases {
		got = append(got, c.String())
	}
	if want := []string{"serial/ikj f32 8", "serial/ikj f64 8", "parallel/rows f64 7 chunk=0 threads=1",
		"parallel/rows f64 7 chunk=4 threads=1"}; !slices.Equal(got, want) {
		t.Errorf("a profile of the user's own plans %q, want %q", got, want)
	}
	write("ladder:\n- {variants: [serial/ikk]}")
	fail(t, dir, statusUsage, `mine.yaml: line 2: there is no variant "serial/ikk"; the nearest is "serial/ikj"`,
		"compare", "--profile", file)
	fail(t, dir, statusUsage, "no such file", "compare", "--profile", "none.yaml")
}

func TestComparisonIsNarrowed(t *testing.T) {
	all, quick := planned(t)
	long, full := planned(t, "--profile", "full")
	if most, least := full.Budget().Time, quick.Budget().Time; most <= least || len(long) <= len(all) {
		t.Errorf("full has %d rows of %v, quick %d of %v", len(long), most, len(all), least)
	}
	experiments := func(cases []plan.Case) map[string]bool {
		found := map[string]bool{}
		for _, c := range cases {
			found[string(c.Experiment)] = true
		}
		return found
	}
	threads, parallel := planned(t, "--profile", "parallel")
	for _, plan := range []struct {
		cases []plan.Case
		want  string
	}{
		{all, "chunk compiler cutoff ladder load strong"},
		{long, "affinity block chain chunk compiler cutoff distribution gomaxprocs ladder load openmp panel stages " +
			"strong tile weak"},
		{threads, "affinity chunk gomaxprocs load openmp strong weak"},
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(experiments(plan.cases))), " "); got != plan.want {
			t.Errorf("the experiments are %s, want %s", got, plan.want)
		}
	}
	if b := parallel.Budget(); b.Timeout <= 0 {
		t.Errorf("profile parallel: %+v", b)
	}
	fewer, _ := planned(t, "--profile", "parallel", "--sizes", "512", "--threads", "1")
	for _, c := range fewer {
		if c.Threads() != 1 || c.Base() != gemm.Cube(512) {
			t.Errorf("%v with %d threads is planned", c, c.Threads())
		}
	}
	if len(fewer) == 0 || len(fewer) >= len(threads) {
		t.Errorf("%d of %d rows have 1 thread and n = 512", len(fewer), len(threads))
	}
	narrow, _ := planned(t, "--families", "serial", "--type", "f32", "--sizes", "64,3x4x5")
	for _, c := range narrow {
		if c.Variant.Family() != "serial" || c.Type != "f32" ||
			c.Shape != gemm.Cube(64) && c.Shape != (gemm.Shape{M: 3, N: 4, K: 5}) {
			t.Errorf("%v is planned", c)
		}
	}
	if one, _ := planned(t, "--variants", "serial/naive", "--sizes", "3,4", "--type", "f64"); len(one) != 2 {
		t.Errorf("%d rows of one variant, type and two sizes", len(one))
	}
}

// testdata has files made by NumPy: see testdata/make.py.
func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a matrix in a file.
func load(t *testing.T, name string) gemm.Matrix[float64] {
	t.Helper()
	f, err := matfile.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := matfile.Read[float64](f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// within reports whether |c − want| ≤ γ·(|A||B| + |extra|) in every element.
func within(c, want, a, b gemm.Matrix[float64], gamma float64, extra func(i, j int) float64) bool {
	if c.Rows != want.Rows || c.Cols != want.Cols {
		return false
	}
	for i := range c.Rows {
		for j := range c.Cols {
			sum := extra(i, j)
			for l := range a.Cols {
				sum += math.Abs(a.At(i, l) * b.At(l, j))
			}
			if !(math.Abs(c.At(i, j)-want.At(i, j)) <= gamma*sum) {
				return false
			}
		}
	}
	return true
}

func TestMultiply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nothing := func(int, int) float64 { return 0 }
	for _, typ := range []string{"f4", "f8"} {
		u := 0x1p-24
		if typ == "f8" {
			u = 0x1p-53
		}
		want := load(t, testdata(t, typ+"-product.npy"))
		for _, order := range []string{"c", "fortran"} {
			nameA, nameB := testdata(t, typ+"-a-"+order+".npy"), testdata(t, typ+"-b-"+order+".npy")
			a, b := load(t, nameA), load(t, nameB)
			gamma := gemm.Gamma(float64(a.Cols)+1, u) // the reference is rounded too
			for _, variant := range []string{"", "serial/naive", "serial/packed"} {
				args := []string{"multiply", "--a", nameA, "--b", nameB, "--out", "c.npy"}
				if variant != "" {
					args = append(args, "--variant", variant)
				}
				r := succeed(t, dir, args...)
				if r.stdout != "" || !strings.Contains(r.stderr, "verified: residual ") || !strings.Contains(r.stderr, variant) {
					t.Errorf("%v: %+v", args, r)
				}
				out := filepath.Join(dir, "c.npy")
				if !within(load(t, out), want, a, b, gamma, nothing) {
					t.Errorf("%v: the product is wrong", args)
				}
				f, err := matfile.Open(t.Context(), out)
				if err != nil {
					t.Fatal(err)
				}
				if f.Type != map[string]string{"f4": "f32", "f8": "f64"}[typ] {
					t.Errorf("%v: the result is %s", args, f.Type)
				}
				f.Close()
			}
		}
	}

	// C = 2·A·B − 3·C, over C itself and in the other formats.
	a, b, want := load(t, testdata(t, "f8-a-c.npy")), load(t, testdata(t, "f8-b-c.npy")),
		load(t, testdata(t, "f8-product.npy"))
	for i := range want.Data {
		want.Data[i] *= 2
	}
	c0 := gemm.NewMatrix[float64](want.Rows, want.Cols)
	for i := range c0.Data {
		c0.Data[i] = float64(i%7) - 3
		want.Data[i] -= 3 * c0.Data[i]
	}
	extra := func(i, j int) float64 { return 4*math.Abs(c0.At(i, j)) + math.Abs(want.At(i, j)) }
	for _, name := range []string{"c.csv", "c.mtx", "c.npy"} {
		path := filepath.Join(dir, name)
		if err := matfile.Write(t.Context(), path, c0); err != nil {
			t.Fatal(err)
		}
		succeed(t, dir, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-fortran.npy"), "--c", name,
			"--out", name, "--alpha", "2", "--beta", "-3")
		if !within(load(t, path), want, a, b, 2*gemm.Gamma(float64(a.Cols)+4, 0x1p-53), extra) {
			t.Errorf("%s: 2·A·B − 3·C is wrong", name)
		}
	}
	// Without --beta, C is added.
	for i := range want.Data {
		want.Data[i] = (want.Data[i]+3*c0.Data[i])/2 + c0.Data[i]
	}
	if err := matfile.Write(t.Context(), filepath.Join(dir, "c.csv"), c0); err != nil {
		t.Fatal(err)
	}
	succeed(t, dir, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-c.npy"), "--c", "c.csv",
		"--out", "sum.npy", "--type", "f64")
	succeed(t, dir, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-c.npy"), "--out", "narrow.npy",
		"--type", "f32")
	if f, err := matfile.Open(t.Context(), filepath.Join(dir, "narrow.npy")); err != nil || f.Type != "f32" {
		t.Errorf("--type f32: %+v, %v", f, err)
	} else {
		f.Close()
	}
	if !within(load(t, filepath.Join(dir, "sum.npy")), want, a, b, 2*gemm.Gamma(float64(a.Cols)+4, 0x1p-53), extra) {
		t.Error("A·B + C is wrong")
	}
}

func TestMultiplyInTheField(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.csv", "2,3\n0,1\n")
	write("b.csv", "128,1\n1,1\n")
	// 2·128 is x·x⁷ = x⁸ = 0x1d in the field; sums are exclusive ors.
	r := succeed(t, dir, "multiply", "--a", "a.csv", "--b", "b.csv", "--out", "c.csv", "--type", "gf256")
	got, err := os.ReadFile(filepath.Join(dir, "c.csv"))
	if err != nil || string(got) != fmt.Sprintf("%d,%d\n1,1\n", 0x1d^3, 2^3) {
		t.Errorf("%q, %v, %s", got, err, r.stderr)
	}
	succeed(t, dir, "multiply", "--a", "a.csv", "--b", "b.csv", "--out", "c.npy", "--type", "gf256")
	fail(t, dir, 1, "compute in the field of bytes with --type gf256", "multiply", "--a", "c.npy", "--b", "b.csv",
		"--out", "d.npy")
}

// TestMultiplyInHalfPrecision multiplies files of all floating-point types: the type of the result is that of the
// files, and its elements are the sums rounded once.
func TestMultiplyInHalfPrecision(t *testing.T) {
	dir := t.TempDir()
	writeAs[float64](t, filepath.Join(dir, "f64.npy"), 1.0/3, 3)
	writeAs[float32](t, filepath.Join(dir, "f32.npy"), 1.0/3, 3)
	writeAs[half.F16](t, filepath.Join(dir, "f16.npy"), 1.0/3, 3)
	writeAs[half.BF16](t, filepath.Join(dir, "bf16.npy"), 1.0/3, 3)
	for _, test := range []struct {
		a, b, want string
		options    []string
	}{
		{"f16", "f16", "f16", nil}, {"bf16", "bf16", "bf16", nil}, {"f16", "bf16", "f32", nil},
		{"bf16", "f32", "f32", nil},
		{"f64", "f16", "f64", nil}, {"f64", "f64", "f16", []string{"--type", "f16", "--alpha", "0.5"}},
		{"f16", "f16", "bf16", []string{"--type", "bf16", "--variant", "serial/naive"}},
	} {
		args := []string{"multiply", "--a", test.a + ".npy", "--b", test.b + ".npy", "--out", "c.npy"}
		args = append(args, test.options...)
		r := succeed(t, dir, args...)
		f, err := matfile.Open(t.Context(), filepath.Join(dir, "c.npy"))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if f.Type != test.want || !strings.Contains(r.stderr, "; verified: residual") {
			t.Errorf("%s·%s is %s, want %s: %s", test.a, test.b, f.Type, test.want, r.stderr)
		}
	}
	writeAs[half.F16](t, filepath.Join(dir, "large.npy"), 300, 300)
	r := succeed(t, dir, "multiply", "--a", "large.npy", "--b", "large.npy", "--out", "c.npy")
	if !strings.Contains(r.stderr, "4 of 4 elements overflow the range of f16") {
		t.Error(r.stderr)
	}
}

// writeAs writes the 2×2 matrix of x and y in each row.
func writeAs[T gemm.Number](t *testing.T, name string, x, y float64) {
	m := gemm.NewMatrix[T](2, 2)
	for i := range 2 {
		m.Set(i, 0, gemm.FromFloat64[T](x))
		m.Set(i, 1, gemm.FromFloat64[T](y))
	}
	if err := matfile.Write(t.Context(), name, m); err != nil {
		t.Fatal(err)
	}
}

// TestMultiplyAtTheEndsOfTheRange checks products at the ends of the element type's range. Overflow
// is right if the exact result overflows too. α must not destroy a result that is representable. A
// bound that is larger than the result must not count as a verification.
func TestMultiplyAtTheEndsOfTheRange(t *testing.T) {
	dir := t.TempDir()
	one := func(name string, x float64) {
		m := gemm.NewMatrix[float64](1, 1)
		m.Data[0] = x
		if err := matfile.Write(t.Context(), filepath.Join(dir, name), m); err != nil {
			t.Fatal(err)
		}
	}
	one("large.npy", 1e200)
	one("small.npy", 1e-200)
	for _, test := range []struct {
		a, alpha string
		want     float64
		said     string
	}{
		{"large.npy", "1", math.Inf(1), "1 of 1 elements overflow the range of f64"},
		{"small.npy", "1", 0, "verified"},
		{"small.npy", "1e300", 1e-100, "verified"},
		{"large.npy", "1e-300", 1e100, "verified"},
	} {
		r := succeed(t, dir, "multiply", "--a", test.a, "--b", test.a, "--alpha", test.alpha,
			"--out", "c.npy", "--variant", "serial/packed")
		got := load(t, filepath.Join(dir, "c.npy")).Data[0]
		right := got == test.want || math.Abs(got/test.want-1) < 1e-15
		if !right || !strings.Contains(r.stderr, test.said) || strings.Contains(r.stderr, "not verified") {
			t.Errorf("%s·%s²: %g, %s", test.alpha, test.a, got, r.stderr)
		}
	}

	// One term in a hundred does not cancel: k single roundings lose more than allowed, sums of blocks
	// do not.
	const k = 600_000
	a, b := gemm.NewMatrix[float32](1, k), gemm.NewMatrix[float32](k, 1)
	for l := range k {
		a.Data[l], b.Data[l] = 1, 1
		if l%200 < 99 {
			a.Data[l] = -1
		}
	}
	for name, m := range map[string]gemm.Matrix[float32]{"a.npy": a, "b.npy": b} {
		if err := matfile.Write(t.Context(), filepath.Join(dir, name), m); err != nil {
			t.Fatal(err)
		}
	}
	for variant, said := range map[string]string{
		"serial/packed": "; verified: residual",
		"serial/naive":  "(euclidean); the only proven bound, 0.037 (componentwise), would prove nothing",
	} {
		r := succeed(t, dir, "multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--variant", variant)
		if !strings.Contains(r.stderr, said) {
			t.Errorf("%s: %s, want %q", variant, r.stderr, said)
		}
	}
}

// TestMultiplyVerifiesFastProducts checks a product by Winograd's algorithm whose proven bound is so wide that a result
// of zeros is hardly above it. The right one is verified otherwise, and a fault in one element is found.
func TestMultiplyVerifiesFastProducts(t *testing.T) {
	const n = 2048
	rng := rand.New(rand.NewPCG(3, 4))
	op := verify.Operation[float32]{TransA: blas.NoTrans, TransB: blas.NoTrans, Alpha: 1,
		A: gemm.NewMatrix[float32](n, n), B: gemm.NewMatrix[float32](n, n)}
	for i := range op.A.Data {
		op.A.Data[i], op.B.Data[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
	}
	v, err := named("serial/winograd", catalog.Variants())
	if err != nil {
		t.Fatal(err)
	}
	params, err := v.Resolve(gemm.Params{"cutoff": n / 2})
	if err != nil {
		t.Fatal(err)
	}
	m, err := gemm.New[float32](v, params)
	if err != nil {
		t.Fatal(err)
	}
	c := gemm.NewMatrix[float32](n, n)
	if err := m.Multiply(t.Context(), c, op.A, op.B); err != nil {
		t.Fatal(err)
	}
	limit := verify.LimitOf[float32](v, gemm.Cube(n), params, 1, 0, false)
	if !(limit.Bound > 1) {
		t.Fatalf("the bound is %g: the premise is gone", limit.Bound)
	}
	result, wrong := verdictOf(op, c, limit)
	if wrong != "" || !strings.HasPrefix(result, "verified: residual ") ||
		!strings.HasSuffix(result, "<= bound 0.00024 (euclidean); the only proven bound, 1.1 (normwise), "+
			"would prove nothing") {
		t.Errorf("the right product: %q, %q", result, wrong)
	}
	for _, at := range [][2]int{{n - 1, 5}, {77, 1200}} { // a row that is compared, and one that is only probed
		was := c.At(at[0], at[1])
		c.Set(at[0], at[1], was+25) // the typical element is 30, the proven bound 29
		if result, wrong := verdictOf(op, c, limit); !strings.Contains(wrong, "exceeds the euclidean bound 0.000244") {
			t.Errorf("a fault at %v: %q, %q", at, result, wrong)
		}
		c.Set(at[0], at[1], was)
	}
}

// TestMultiplyLongEmpty multiplies matrices of 2³¹ − 1 rows without elements.
func TestMultiplyLongEmpty(t *testing.T) {
	dir := t.TempDir()
	empty := func(name string, rows int) {
		if err := matfile.Write(t.Context(), filepath.Join(dir, name), gemm.NewMatrix[float64](rows, 0)); err != nil {
			t.Fatal(err)
		}
	}
	empty("a.npy", math.MaxInt32)
	empty("b.npy", 0)
	for _, variant := range []string{"serial/naive", "serial/packed", "parallel/inner", "parallel/packed"} {
		succeed(t, dir, "multiply", "--a", "a.npy", "--b", "b.npy", "--out", "c.npy", "--variant", variant)
	}
}

func TestMultiplyRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.csv", "1,2\n3,4\n")
	write("nan.csv", "1,2\n3,NaN\n")
	write("wide.csv", "1,2,3\n")
	write("ragged.csv", "1,2\n3\n")
	write("vast.mtx", "%%MatrixMarket matrix coordinate real general\n2 1000000000 1\n1 1 1\n")
	write("tall.mtx", "%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1\n")
	content, err := os.ReadFile(testdata(t, "f8-a-c.npy"))
	if err != nil {
		t.Fatal(err)
	}
	write("short.npy", string(content[:len(content)-8]))
	write("corrupt.npy", strings.Replace(string(content), "NUMPY", "NUMPI", 1))
	write("claims.npy", strings.Replace(string(content), "(37, 53)", "(37, 99)", 1))
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status        int
		a, b, out     string
		want, variant string
	}{
		{1, "a.csv", "wide.csv", "c.npy", "shapes do not conform: A is 2×2 and B is 1×3", ""},
		{1, "ragged.csv", "a.csv", "c.npy", "ragged.csv: line 2: 1 numbers", ""},
		{1, "short.npy", "a.csv", "c.npy", "the file is cut off or corrupt", ""},
		{1, "corrupt.npy", "a.csv", "c.npy", "the file is no .npy", ""},
		{1, "claims.npy", "a.csv", "c.npy", "37×99 float64 elements are 29304 bytes, the file has 15688", ""},
		{1, "absent.npy", "a.csv", "c.npy", "absent.npy: no such file", ""},
		{1, "vast.mtx", "tall.mtx", "c.npy", "the product needs ", ""},
		{1, "a.csv", "a.csv", "absent/c.npy", "absent/c.npy: cannot be written", ""},
		{2, "a.csv", "a.csv", "c.npy", `"serial/packt"`, "serial/packt"},
	} {
		args := []string{"multiply", "--a", c.a, "--b", c.b, "--out", c.out}
		if c.variant != "" {
			args = append(args, "--variant", c.variant)
		}
		fail(t, dir, c.status, c.want, args...)
	}
	fail(t, dir, 1, "A*B is 2×2 and C is 1×3", "multiply", "--a", "a.csv", "--b", "a.csv", "--c", "wide.csv",
		"--out", "c.npy")
	fail(t, dir, 2, "computes C = A*B only", "multiply", "--a", "a.csv", "--b", "a.csv", "--alpha", "2", "--out", "c.npy",
		"--variant", "serial/naive")
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("refusals left %v, %v", after, err)
	}
	// A disk that is full when the result is written: the shell's limit on files
	// stands in for it.
	full := exec.CommandContext(t.Context(), "sh", "-c", `trap "" XFSZ; ulimit -f 1; exec "$@"`, "sh",
		binary, "multiply", "--a", testdata(t, "f8-a-c.npy"), "--b", testdata(t, "f8-b-c.npy"), "--out", "c.npy")
	full.Dir = dir
	if out, err := full.CombinedOutput(); err == nil || full.ProcessState.ExitCode() != 1 ||
		!strings.Contains(string(out), "c.npy: cannot be written: ") {
		t.Errorf("a full disk: %v, %s", err, out)
	}
	after, err = os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("a full disk left %v, %v", after, err)
	}
	r := succeed(t, dir, "multiply", "--a", "nan.csv", "--b", "a.csv", "--out", "c.csv")
	if !strings.Contains(r.stderr, "not verified: NaN or Inf is among the operands") {
		t.Errorf("NaN among the operands: %q", r.stderr)
	}
}

// startUp is the limit on the processor time that gemm --help takes: of the time that passes,
// others on the machine have a part. It takes 50 to 80 ms; work that does not belong there takes far more.
const startUp = 250 * time.Millisecond

func TestStartUp(t *testing.T) {
	best := time.Hour
	for range 20 {
		cmd := exec.Command(binary, "--help")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		best = min(best, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	if best > startUp {
		t.Errorf("gemm --help takes %v, want at most %v", best, startUp)
	}
}

// TestLinked looks for large packages that a library may bring in, and limits what is loaded of the program.
func TestLinked(t *testing.T) {
	const most = 34e6
	program, err := pure()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Skip(err) // on other systems
	}
	defer file.Close()
	functions, err := file.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"github.com/urfave/cli/v2.(*App).": true, "net/http.": false,
		"crypto/tls.": false, "crypto/x509.": false} {
		if got := strings.Contains(string(functions), "\x00"+name); got != want {
			t.Errorf("functions of %s are linked: %t; go list -deps -f '{{.ImportPath}} {{.Imports}}' says who imports them",
				name, got)
		}
	}
	loaded := uint64(0)
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			loaded += p.Filesz
		}
	}
	if loaded > most {
		t.Errorf("the program has %d bytes without its symbols, the limit is %g: go tool nm -size -sort size names the"+
			" largest", loaded, most)
	}
}
