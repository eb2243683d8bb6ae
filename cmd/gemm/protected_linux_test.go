package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// TestWriteProtectedOutputs runs each command that writes a file, which is there already and which this user may not
// write: it stays, unless --force is given.
func TestWriteProtectedOutputs(t *testing.T) {
	dir := gemmtest.OpenFolder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("A.csv"), "1,2\n3,4\n")
	records := succeed(t, dir, "serial", "--variants", "serial/naive", "--sizes", "8", "--time", "1ms", "--json",
		"-").stdout
	succeed(t, dir, "rs", "encode", "--data", "2", "--parity", "1", "--in", "A.csv", "--out", "shards")
	write(t, at("in.json"), records)
	t.Setenv("TMPDIR", dir)
	// The process keeps what it finds, such as the folder of compiled programs: it finds that by its own rights.
	gemmtest.Must(t, runApp(t.Context(), []string{"gemm", "list"}, io.Discard, io.Discard))
	for _, test := range []struct{ file, old, args, force string }{
		{"C.npy", "old", "multiply --a A.csv --b A.csv --variant serial/naive --out C.npy", ""},
		{"list.json", "old", "list --json list.json", "--force"},
		{"rows.json", records, "serial --variants serial/naive --sizes 8,9 --time 1ms --json rows.json --resume", ""},
		{"rows.json", records, "serial --variants serial/naive --sizes 8 --time 1ms --json rows.json", "--force"},
		{"out/report.md", "old", "report --in in.json --format md --out out", "--force"},
		{"restored", "old", "rs reconstruct --in shards --out restored", "--force"},
		{"mine.c", "old", "new-kernel c --out mine.c", "--force"},
	} {
		name := at(test.file)
		gemmtest.Must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.Chmod(filepath.Dir(name), 0o777)))
		_ = os.Remove(name)
		gemmtest.Must(t, os.WriteFile(name, []byte(test.old), 0o444))
		args := []string{"gemm"}
		for _, word := range strings.Fields(test.args) {
			if strings.ContainsAny(word, ".") || word == "out" || word == "shards" || word == "restored" {
				word = at(word)
			}
			args = append(args, word)
		}
		gemmtest.Unprivileged(t, func() {
			err := runApp(t.Context(), args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), "write-protected") && !strings.Contains(err.Error(), "exist") {
				t.Errorf("gemm %s: %v", test.args, err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) != test.old {
				t.Errorf("gemm %s: %s has %.40q, %v", test.args, test.file, got, err)
			}
			if test.force == "" {
				return
			}
			if err := runApp(t.Context(), append(args, test.force), io.Discard, io.Discard); err != nil {
				t.Errorf("gemm %s --force: %v", test.args, err)
			}
			if got, err := os.ReadFile(name); err != nil || string(got) == test.old {
				t.Errorf("gemm %s --force: %s has %.40q, %v", test.args, test.file, got, err)
			}
		})
	}
}
