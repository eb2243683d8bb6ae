package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gemm/gemmtest"
	"gemm/internal/settings"
)

// TestWriteProtectedOutputs runs each command that writes a file, which is there already and which this user may not
// write: it stays, unless --force is given.
func TestWriteProtectedOutputs(t *testing.T) {
	dir := gemmtest.OpenFolder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("A.csv"), []byte("1,2\n3,4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	records := succeed(t, dir, "serial", "--variants", "serial/naive", "--sizes", "8", "--time", "1ms", "--json",
		"-").stdout
	succeed(t, dir, "rs", "encode", "--data", "2", "--parity", "1", "--in", "A.csv", "--out", "shards")
	if err := os.WriteFile(at("in.json"), []byte(records), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv(settings.Variable, at("tuned"))
	// The process keeps what it finds, such as the folder of compiled programs: it finds that by its own rights.
	if err := runApp(t.Context(), []string{"gemm", "list"}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
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
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.Chmod(filepath.Dir(name), 0o777)); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(name)
		if err := os.WriteFile(name, []byte(test.old), 0o444); err != nil {
			t.Fatal(err)
		}
		args := []string{"gemm"}
		for _, word := range strings.Fields(test.args) {
			if strings.ContainsAny(word, ".") || word == "out" || word == "shards" || word == "restored" {
				word = at(word)
			}
			args = append(args, word)
		}
		gemmtest.AsNobody(t, func() {
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
