//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm/gemmtest"
)

// TestPipesAreRejected: opening a pipe blocks until a process writes to it, and no signal ends that.
func TestPipesAreRejected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"p.npy", "p.csv", "p.mtx", "p.json", "p.so"} {
		gemmtest.Must(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	write(t, filepath.Join(dir, "a.csv"), "1\n")
	for _, c := range []struct {
		args, variable, want string
		status               int
	}{
		{"multiply --a p.npy --b a.csv --out c.npy", "", "p.npy: is not a regular file", 1},
		{"multiply --a a.csv --b p.csv --out c.npy", "", "p.csv: is not a regular file", 1},
		{"multiply --a a.csv --b a.csv --c p.mtx --out c.npy", "", "p.mtx: is not a regular file", 1},
		{"report --in p.json --out r", "", "p.json: is not a regular file", 1},
		{"rs encode --data 2 --parity 1 --in p.npy --out s", "", "p.npy: is not a regular file", 1},
		{"serial --sizes 2 --resume --json p.json", "", "p.json is not a regular file", 1},
		{"list", "GEMM_OPENBLAS", "it is not a regular file", 0},
		{"list", "GEMM_MKL", "it is not a regular file", 0},
		{"list", "GEMM_BLIS", "it is not a regular file", 0},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, binary, strings.Fields(c.args)...)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		cmd.Env = append(os.Environ(), c.variable+"="+filepath.Join(dir, "p.so"))
		if c.variable == "" {
			cmd.Env = os.Environ()
		}
		out, _ := cmd.CombinedOutput() // its status is looked at below
		cancel()
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.want) {
			t.Errorf("%s gemm %s: status %d, %s; want status %d and %q", c.variable, c.args, got, out, c.status, c.want)
		}
	}
}
