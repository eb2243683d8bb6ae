package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gemm/compare/record"
	"gemm/gemmtest"
)

// quick has one row, which takes no time to measure.
var quick = []string{"serial", "--variants", "serial/naive", "--sizes", "8", "--time", "1ms", "--reps", "1"}

// TestFilesOfTheUserAreKept writes records whose names would also match other files if they were read as
// prefixes or patterns. The other files must stay.
func TestFilesOfTheUserAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	others := []string{".bashrc", ".bash_history", ".env", ".gitignore", "D/.results.json.bak", "sweep/.q.json.old"}
	for _, name := range others {
		path := filepath.Join(dir, name)
		gemmtest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		write(t, path, "a user's")
	}
	gemmtest.Must(t, os.Mkdir(filepath.Join(dir, "sw*"), 0o700))
	for _, name := range []string{"b", "env", "git", "sw*/q.json"} {
		succeed(t, dir, append(quick, "--json", name)...)
	}
	succeed(t, dir, "compare", "--variants", "serial/naive", "--sizes", "8", "--type", "f64", "--time", "1ms", "--out", "D")
	for _, name := range others {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "a user's" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestHostileNames checks files whose names have what a terminal obeys, or look like rows of the table. Each file is
// one line, and names are escaped in messages and errors too.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const name = "x\x1b[31m\a\r\u202e\xff\ngood     7      y"
	const shown = `x\x1b[31m\a\r\u202e\xff; good     7      y`
	file := filepath.Join(dir, name)
	write(t, file, "contents")
	if r := start(t, dir, nil, "rs", "protect", "--parity", "1", name); r.status != 0 || strings.Count(r.stderr, "\n") != 1 {
		t.Fatalf("status %d, %q", r.status, r.stderr)
	}
	write(t, file, "damaged!")
	r := start(t, dir, nil, "rs", "check", "--content", name)
	if lines := strings.Split(r.stdout, "\n"); r.status != statusFailed || len(lines) != 4 || !strings.Contains(lines[1], shown) ||
		strings.Count(r.stderr, "\n") != 1 || strings.ContainsAny(r.stdout+r.stderr, "\x1b\a\r\u202e") {
		t.Errorf("status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	fail(t, dir, statusFailed, shown+".csv: no such file", "multiply", "--a", name+".csv", "--b", name+".csv", "--out", "c.csv")
}

// TestTwoProcesses has two processes on one file of records. The second says which the first
// is. When the first has been killed, another goes on where it was.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	naive := []string{"serial", "--variants", "serial/naive", "--time", "1ms", "--timeout", "1h", "--resume", "--json"}
	first := exec.CommandContext(t.Context(), binary, append(naive, file, "--sizes", "16,3000")...)
	gemmtest.Must(t, first.Start())
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if doc, err := record.Load(file); err == nil && len(doc.Records) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no row within 30 s")
		}
	}
	gemmtest.Must(t, os.Symlink("r.json", filepath.Join(dir, "link")))
	holder := fmt.Sprintf("is in use by process %d on ", first.Process.Pid)
	fail(t, dir, 1, "r.json "+holder, append(naive, "r.json", "--sizes", "8")...)
	fail(t, dir, 1, "link "+holder, append(naive, "link", "--sizes", "8")...)
	gemmtest.Must(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	succeed(t, dir, append(naive, "r.json", "--sizes", "8")...)
	if doc := records(t, file); len(doc.Records) != 2 {
		t.Errorf("%d rows, want that of each process", len(doc.Records))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v, want the records and the link", left, err)
	}
}

// TestOutputsAreReplacedInPlace runs every command that writes a file, twice: through a symbolic
// link to a private file, and through a link to a file that does not exist yet.
func TestOutputsAreReplacedInPlace(t *testing.T) {
	t.Parallel()
	inputs := t.TempDir()
	succeed(t, inputs, append(quick, "--json", "r.json")...)
	for name, text := range map[string]string{"a.csv": "1,2\n3,4\n", "file": "some text"} {
		write(t, filepath.Join(inputs, name), text)
	}
	at := func(name string) string { return filepath.Join(inputs, name) }
	succeed(t, inputs, "rs", "encode", "--data", "2", "--parity", "1", "--in", "file", "--out", "shards")
	for file, args := range map[string][]string{
		"records.json": append(quick, "--force", "--json", "records.json"),
		"list.json":    {"list", "--force", "--json", "list.json"},
		"results.json": {"report", "--force", "--in", at("r.json"), "--format", "json", "--out", "."},
		"results.csv":  {"report", "--in", at("r.json"), "--format", "csv", "--out", "."},
		"c.npy":        {"multiply", "--a", at("a.csv"), "--b", at("a.csv"), "--out", "c.npy"},
		"restored":     {"rs", "reconstruct", "--force", "--in", at("shards"), "--out", "restored"},
		"shards/000.shard": {"rs", "encode", "--force", "--data", "2", "--parity", "1", "--in", at("file"),
			"--out", "shards"},
	} {
		for _, dangling := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/dangling=%v", strings.ReplaceAll(file, "/", "-"), dangling), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				link, target := filepath.Join(dir, file), filepath.Join(dir, "target")
				gemmtest.Must(t, os.MkdirAll(filepath.Dir(link), 0o700))
				gemmtest.Must(t, os.Symlink(target, link))
				if !dangling {
					gemmtest.Must(t, os.WriteFile(target, []byte("old"), 0o600))
				}
				succeed(t, dir, args...)
				if to, err := os.Readlink(link); err != nil || to != target {
					t.Errorf("the link was replaced: %q, %v", to, err)
				}
				info, err := os.Lstat(target)
				if err != nil || !info.Mode().IsRegular() || info.Size() <= int64(len("old")) {
					t.Fatalf("the target of the link was not written: %v, %v", info, err)
				}
				if want := fs.FileMode(0o600); !dangling && info.Mode().Perm() != want {
					t.Errorf("permissions %v, want %v as before", info.Mode().Perm(), want)
				}
			})
		}
	}
}

// TestFullStandardOutput has no room for what is written there.
func TestFullStandardOutput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"--version"}, {}, {"serial", "--help"}, {"rs", "encode", "--help"},
		{"list"}, quick} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		var stderr strings.Builder
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run() // its status is looked at below
		_ = full.Close()
		if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("gemm %s: status %d, standard error %q; want status 1 and the reason", strings.Join(args, " "), status,
				stderr.String())
		}
	}
}
