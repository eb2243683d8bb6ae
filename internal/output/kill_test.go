package output

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// childVariable has the test process be a child that holds everything in a folder.
const childVariable = "GEMM_TEST_OUTPUT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		holdAll(dir)
	}
	os.Exit(m.Run())
}

// holdAll locks a file, begins to write it, and makes a scratch folder with a file in a subfolder.
// It reports that on standard output, and waits until it is killed or its standard input ends.
func holdAll(dir string) {
	_, err := NewLock(filepath.Join(dir, "file"))
	p, err2 := Create(filepath.Join(dir, "file"), Permissions, false)
	s, err3 := NewScratch("test")
	err = errors.Join(err, err2, err3)
	if err == nil {
		_, err = p.Write([]byte("half"))
		err = errors.Join(err, os.MkdirAll(filepath.Join(s.Path, "deep", "folder"), 0o700),
			os.WriteFile(filepath.Join(s.Path, "deep", "file"), nil, 0o600))
	}
	fmt.Println(err)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	os.Exit(1)
}

// child starts a process that holds everything in dir, whose scratch folder is there too.
func child(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir, "TMPDIR="+dir)
	_, err := cmd.StdinPipe() // which stays open
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return cmd
}

// TestKill9: what a process holds is left alone while it lives. When it has been killed, the
// next process takes its lock and removes its files.
func TestKill9(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no TMPDIR")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	name := filepath.Join(dir, "file")
	put(t, name, "old")
	scratch := filepath.Join(dir, "gemm-test-"+sixteen) // a user's: it has no marker
	must(t, os.Mkdir(scratch, 0o700))
	cmd := child(t, dir)
	held := entries(t, dir)
	if len(held) != 5 {
		t.Fatalf("the child holds %q", held)
	}

	_, err := NewLock(name)
	if want := fmt.Sprintf("process %d on ", cmd.Process.Pid); !errors.Is(err, ErrInUse) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the lock of a living process: %v, want an error with %q", err, want)
	}
	own, err := NewScratch("test")
	must(t, err)
	own.Remove()
	Sweep(name)
	if got := entries(t, dir); !slices.Equal(got, held) {
		t.Errorf("the child held %q; after a sweep there are %q", held, got)
	}

	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	lock, err := NewLock(name)
	if err != nil {
		t.Fatalf("a killed process's lock counts: %v", err)
	}
	own, err = NewScratch("test")
	must(t, err)
	own.Remove()
	Sweep(name)
	lock.Release()
	if got, want := entries(t, dir), []string{"file", filepath.Base(scratch)}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	has(t, name, "old", 0o600)
}
