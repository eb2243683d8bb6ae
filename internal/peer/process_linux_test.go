package peer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm/gemmtest"
)

// own returns the program of libraries, or skips the test if there is none.
func own(t testing.TB) string {
	t.Helper()
	file, err := Program()
	gemmtest.Require(t, "gcc", err)
	return file
}

// TestReasonOfTheEnd has the process end with a reason on standard error.
func TestReasonOfTheEnd(t *testing.T) {
	p, err := NewLibrary(own(t))
	gemmtest.Must(t, err)
	_, err = p.simple("stage what")
	if err == nil || !strings.Contains(err.Error(), "exit status 1: stage wants a type and fourteen more words") {
		t.Errorf("%v", err)
	}
	if !p.Ended() {
		t.Error("the process is still there")
	}
	if _, err := NewLibrary(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("a program that is not there starts")
	}
}

// TestRefused makes requests that fail, of a process that goes on.
func TestRefused(t *testing.T) {
	p, err := NewLibrary(own(t))
	gemmtest.Must(t, err)
	defer p.Kill()
	for request, want := range map[string]string{
		"dance": "no such request", "find dgemm_": "no symbol dgemm_", "open /nowhere.so": "/nowhere.so: cannot open",
		"run 1": "nothing is staged", "setenv X": "wants a name and a value",
		"integer": "wants a symbol", "global /nowhere.so": "cannot open", "two\nlines": "is not a frame",
	} {
		if _, err := p.simple(request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", request, err, want)
		}
	}
	if err := p.Setenv("GEMM_TEST_PROBE", "a b"); err != nil {
		t.Error(err)
	}
	gemmtest.Must(t, p.Open("libc.so.6"))
	if n, err := p.Integer("abs", -7); n != 7 || err != nil {
		t.Errorf("abs(-7) is %d, %v", n, err)
	}
	if maps, err := os.ReadFile(p.Maps()); err != nil || !strings.Contains(string(maps), "/libc.so.6") {
		t.Errorf("libc is not mapped: %v\n%s", err, maps)
	}
}

// state returns the state of a process as the kernel has it: R, S, T, Z.
func state(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not so: %s", what)
}

// TestStopped looks at the process between its requests.
func TestStopped(t *testing.T) {
	p, err := NewLibrary(own(t))
	gemmtest.Must(t, err)
	defer p.Kill()
	gemmtest.Must(t, p.Open("libc.so.6"))
	eventually(t, "the process is stopped", func() bool { return state(t, p.PID()) == "T" })
}

// TestOrphan ends the process that started one, which is stopped, and waits for its
// end.
func TestOrphan(t *testing.T) {
	if os.Getenv("PEER_TEST_CHILD") != "" {
		p, err := NewLibrary(own(t))
		gemmtest.Must(t, err)
		fmt.Println("child:", p.PID())
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	own(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestOrphan$")
	cmd.Env = append(os.Environ(), "PEER_TEST_CHILD=1")
	output, _ := cmd.CombinedOutput() // its error is the signal
	_, text, _ := strings.Cut(string(output), "child: ")
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	eventually(t, "the process has ended", func() bool { return slices.Contains([]string{"gone", "Z"}, state(t, pid)) })
}

// TestCompile compiles the program anew, and what cannot be compiled.
func TestCompile(t *testing.T) {
	own(t)
	folder := t.TempDir()
	file, err := Holder.Compile(folder)
	gemmtest.Must(t, err)
	before, err := os.Stat(file)
	gemmtest.Must(t, err)
	if again, err := Holder.Compile(folder); again != file || err != nil {
		t.Errorf("again it is %s, %v", again, err)
	}
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Error("it is compiled twice")
	}
	other := Holder
	other.Text = append(slices.Clone(other.Text), '\n')
	if other, err := other.Compile(folder); other == file || err != nil {
		t.Errorf("other source: %s, %v", other, err)
	}
	other.Text = []byte("int main( {")
	if _, err := other.Compile(folder); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("what is no C: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "compile-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	t.Setenv("PATH", "")
	if _, err := Holder.Compile(t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "install cc or gcc or clang") {
		t.Errorf("without a compiler: %v", err)
	}
}

// TestUmask compiles where the user's group may write what the user writes.
func TestUmask(t *testing.T) {
	own(t)
	defer syscall.Umask(syscall.Umask(0o002))
	folder := filepath.Join(t.TempDir(), "gemm")
	for range 2 { // it is trusted when it is found again
		if _, err := Holder.Compile(folder); err != nil {
			t.Error(err)
		}
	}
}
