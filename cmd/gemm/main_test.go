package main

import (
	"debug/elf"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/cpu"
)

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

// TestEnvironmentRefusals starts the program where GEMM_CPU is wrong, or as one of several ranks.
func TestEnvironmentRefusals(t *testing.T) {
	failWith(t, "", []string{"GEMM_CPU=mmx"}, 1, `GEMM_CPU="mmx"`, "list")
	failWith(t, "", []string{"OMPI_COMM_WORLD_SIZE=4"}, 1, "one of 4 ranks (OMPI_COMM_WORLD_SIZE)", "list")
	failWith(t, "", []string{"PMIX_RANK=0"}, 1, "rank 0 (PMIX_RANK)", "compare")
	if r := start(t, "", []string{"OMPI_COMM_WORLD_SIZE=1", "PMIX_RANK=0"}, "--version"); r.status != 0 {
		t.Errorf("one rank: status %d, %s", r.status, r.stderr)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	table := succeed(t, dir, "list").stdout
	succeed(t, dir, "list", "--json", "list.json")
	data := read(t, filepath.Join(dir, "list.json"))
	var doc listing
	if err := json.Unmarshal([]byte(data), &doc); err != nil || doc.Schema != 1 {
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
	decode(t, succeed(t, "", "info", "--peak", "--json", "-").stdout, &doc)
	var plain information
	if err := json.Unmarshal([]byte(succeed(t, "", "info", "--json", "-").stdout), &plain); err != nil ||
		len(plain.Host.Ceilings) > 0 {
		t.Errorf("info without --peak: %+v, %v", plain.Host, err)
	}
	if h := doc.Host; h.Topology != nil && h.Topology.Usable != "" &&
		len(cpu.ParseList(h.Topology.Usable)) != h.Cores {
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

// startUp is the limit on the processor time that gemm --help takes: of the time that passes,
// others on the machine have a part. It takes 50 to 80 ms; work that does not belong there takes far more.
const startUp = 250 * time.Millisecond

func TestStartUp(t *testing.T) {
	best := time.Hour
	for range 20 {
		cmd := exec.Command(binary, "--help")
		gemmtest.Must(t, cmd.Run())
		best = min(best, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	if best > startUp {
		t.Errorf("gemm --help takes %v, want at most %v", best, startUp)
	}
}

// TestLinked looks for large packages that a library may import, and limits the size of the program.
func TestLinked(t *testing.T) {
	t.Parallel()
	const most = 34e6
	program, err := pure()
	gemmtest.Must(t, err)
	file, err := elf.Open(program)
	if err != nil {
		t.Skip(err) // on other systems
	}
	defer file.Close()
	functions, err := file.Section(".gopclntab").Data()
	gemmtest.Must(t, err)
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
