package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// role is the environment variable by which a process of this binary knows what it is.
const role = "GEMM_TEST_ROLE"

// TestMain runs the tests, or plays the role that a test gave this process.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "starter": // starts another process and waits
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stdout = append(os.Environ(), role+"="+os.Getenv("GEMM_TEST_NEXT")), os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "child":
		fmt.Println(DieWithParent(), os.Getpid())
		time.Sleep(time.Minute)
	case "orphan": // calls DieWithParent when its starter has ended
		fmt.Println("begun", os.Getpid())
		for os.Getppid() == parent {
			time.Sleep(time.Millisecond)
		}
		fmt.Println(errors.Is(DieWithParent(), errOrphan))
	case "member":
		fmt.Println("begun", os.Getpid())
		time.Sleep(time.Minute)
	default:
		os.Exit(m.Run())
	}
}

// lines returns the words of the lines that the process writes.
func lines(t *testing.T, out io.Reader) func() []string {
	t.Helper()
	in := bufio.NewScanner(out)
	return func() []string {
		t.Helper()
		if !in.Scan() {
			t.Fatalf("there is no line: %v", in.Err())
		}
		return strings.Fields(in.Text())
	}
}

// starter starts a process that starts another in the role, and returns what kills it, and the lines of both.
func starter(t *testing.T, next string) (end func(), line func() []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=starter", "GEMM_TEST_NEXT="+next)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // killed
	return func() { _, _ = cmd.Process.Kill(), in.Close() }, lines(t, out)
}

// TestDieWithParent kills the parent of a process.
func TestDieWithParent(t *testing.T) {
	end, line := starter(t, "child")
	said := line()
	if said[0] != "<nil>" {
		t.Fatalf("DieWithParent = %v", said)
	}
	end()
	wantEnded(t, said[1])
}

// TestOrphan calls DieWithParent after the parent has ended.
func TestOrphan(t *testing.T) {
	end, line := starter(t, "orphan")
	line()
	end()
	if said := line(); said[0] != "true" {
		t.Errorf("DieWithParent of a process that has ended: errOrphan is %v", said)
	}
}

// wantEnded checks that the process ends.
func wantEnded(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s is still there: %s", pid, state)
		}
	}
}

// TestRunEndsGroup interrupts a command that runs another one.
func TestRunEndsGroup(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	cmd := exec.CommandContext(ctx, "sh", "-c", os.Args[0]+"; :")
	cmd.Env, cmd.Stdout = append(os.Environ(), role+"=member"), w
	ended := make(chan error, 1)
	go func() { ended <- Run(cmd, 10*time.Second) }()
	pid := lines(t, r)()[1]
	go func() { _, _ = io.Copy(io.Discard, r) }()
	cancel()
	wantEnded(t, pid)
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) && !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}

// TestStart checks the end of a command, and the error of a command that does not exist.
func TestStart(t *testing.T) {
	ended, err := Start(exec.Command("sh", "-c", "exit 3"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the end is %v", err)
	}
	if _, err := Start(exec.Command("/nonexist"), syscall.SIGKILL); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start of nothing = %v", err)
	}
}
