package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/settings"
	"gemm/mpi"
)

// binary is the program under test: this test binary, under the name that has TestMain call main.
var binary string

const programName = "gemm"

// pure is the program without MPI. It has C, since go vet has compiled its packages so.
var pure = sync.OnceValues(func() (string, error) {
	if !mpi.Built {
		return binary, nil
	}
	return built("pure")
})

// built builds the program under another name.
func built(name string, options ...string) (string, error) {
	program := filepath.Join(filepath.Dir(binary), name)
	cmd := exec.Command("go", append(append([]string{"build", "-ldflags=-s -w", "-o", program}, options...), ".")...)
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

// linesOfTable counts the lines of a table, without the notes below it.
func linesOfTable(out string) int {
	table, _, _ := strings.Cut(out, "\n\n")
	return strings.Count(strings.TrimSuffix(table, "\n"), "\n") + 1
}

// write writes a file, and makes its folder.
func write(t *testing.T, name, text string) {
	t.Helper()
	gemmtest.Must(t, os.MkdirAll(filepath.Dir(name), 0o777))
	gemmtest.Must(t, os.WriteFile(name, []byte(text), 0o644))
}

// read returns the text of a file.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	gemmtest.Must(t, err)
	return string(text)
}

// entries returns the names in a folder, hidden ones too.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	gemmtest.Must(t, err)
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

// decode reads JSON into v.
func decode(t *testing.T, text string, v any) {
	t.Helper()
	gemmtest.Must(t, json.Unmarshal([]byte(text), v))
}

// records parses the records in a file.
func records(t *testing.T, name string) record.Document {
	t.Helper()
	doc, err := record.Load(name)
	gemmtest.Must(t, err)
	return doc
}

// parsed returns the records that the program wrote to standard output.
func parsed(t *testing.T, r result) record.Document {
	t.Helper()
	doc, err := record.Parse([]byte(r.stdout))
	if err != nil || r.status != 0 {
		t.Fatalf("status %d, %v, %s", r.status, err, r.stderr)
	}
	return doc
}

// signalWhen starts the command line in dir, with variables added to the environment, and sends the signals as soon as
// ready reports true. It returns what the command left, and how long it took to end.
func signalWhen(t *testing.T, dir string, variables []string, ready func() bool, signals []os.Signal,
	line ...string) (result, time.Duration) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &stdout, &stderr, append(os.Environ(), variables...)
	gemmtest.Must(t, cmd.Start())
	for deadline := time.Now().Add(2 * time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q is not ready within 2 min: %s", line, &stderr)
		}
	}
	begin := time.Now()
	for _, s := range signals {
		gemmtest.Must(t, cmd.Process.Signal(s))
	}
	_ = cmd.Wait() // the caller looks at its status
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, time.Since(begin)
}

// interrupt is signalWhen for gemm and Ctrl-C, with the status of an interruption.
func interrupt(t *testing.T, dir string, variables []string, ready func() bool, args ...string) (result,
	time.Duration) {
	t.Helper()
	r, took := signalWhen(t, dir, variables, ready, []os.Signal{os.Interrupt}, append([]string{binary}, args...)...)
	if r.status != statusInterrupted {
		t.Errorf("gemm %s: status %d, want %d; %s", strings.Join(args, " "), r.status, statusInterrupted, r.stderr)
	}
	return r, took
}

// hasRows reports when the records have that many rows.
func hasRows(file string, rows int) func() bool {
	return func() bool {
		doc, err := record.Load(file)
		return err == nil && len(doc.Records) >= rows
	}
}

// exists reports when there is a file that matches the pattern.
func exists(pattern string) func() bool {
	return func() bool {
		found, _ := filepath.Glob(pattern)
		return len(found) > 0
	}
}

// testdata has files made by NumPy: see testdata/make.py.
func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	gemmtest.Must(t, err)
	return path
}
