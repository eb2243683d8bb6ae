package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm/internal/ipc"
)

func TestArguments(t *testing.T) {
	mpirun, newer := Launcher{"/x/mpirun", Of("Open MPI 4.1.4")}, Launcher{"mpirun", Of("Open MPI 5.0.6")}
	hydra := Launcher{"/x/mpiexec.hydra", Of("MPICH 4.0.2")}
	for _, test := range []struct {
		launcher Launcher
		place    Resources
		ranks    int
		want     string
		warnings []string
	}{
		{mpirun, Resources{Cores: 4, Processors: 8}, 4, "-n 4 --bind-to none gemm mpi", nil},
		{mpirun, Resources{Cores: 4, Processors: 8}, 5, "-n 5 --bind-to none --use-hwthread-cpus gemm mpi",
			[]string{"5 ranks on 4 cores"}},
		{mpirun, Resources{Cores: 4, Processors: 8}, 9, "-n 9 --bind-to none --oversubscribe gemm mpi",
			[]string{"9 ranks share 8 processors"}},
		{mpirun, Resources{Cores: 2, Processors: 2, Root: true}, 2, "-n 2 --bind-to none --allow-run-as-root gemm mpi",
			[]string{"started by root"}},
		{mpirun, Resources{Cores: 2, Processors: 2, Root: true}, 3,
			"-n 3 --bind-to none --oversubscribe --allow-run-as-root gemm mpi",
			[]string{"mpirun is given --oversubscribe: ", "--allow-run-as-root: "}},
		{newer, Resources{Cores: 4, Processors: 8, Root: true}, 9,
			"-n 9 --bind-to none --map-by node:OVERSUBSCRIBE --allow-run-as-root gemm mpi",
			[]string{"mpirun is given --map-by node:OVERSUBSCRIBE: 9 ranks share", "--allow-run-as-root: "}},
		{newer, Resources{Cores: 4, Processors: 8}, 5, "-n 5 --bind-to none --map-by :HWTCPUS gemm mpi",
			[]string{"5 ranks on 4 cores"}},
		{hydra, Resources{Cores: 4, Processors: 8, Root: true}, 8, "-n 8 -bind-to none gemm mpi", nil},
		{hydra, Resources{Cores: 4, Processors: 8, Root: true}, 9, "-n 9 -bind-to none gemm mpi",
			[]string{"9 ranks share 8 processors"}},
	} {
		got, warnings := test.launcher.Arguments(test.place, test.ranks, "gemm", "mpi")
		if strings.Join(got, " ") != test.want || len(warnings) != len(test.warnings) {
			t.Errorf("%s, %+v, %d ranks: %q, warnings %q; want %q", test.launcher.Name, test.place, test.ranks, got,
				warnings, test.want)
			continue
		}
		for i, want := range test.warnings {
			if !strings.Contains(warnings[i], want) || strings.Contains(warnings[i], "\n") {
				t.Errorf("%d ranks: the warning is %q, want %q in it", test.ranks, warnings[i], want)
			}
		}
	}
}

func TestDetect(t *testing.T) {
	p := Detect()
	if p.Cores < 1 || p.Processors < p.Cores || p.Root != (os.Geteuid() == 0) {
		t.Errorf("this process is at %+v", p)
	}
	if runtime.GOOS == "linux" && p.Processors != runtime.NumCPU() {
		t.Errorf("%d processors, Go has %d", p.Processors, runtime.NumCPU())
	}
}

// Output of mpirun of Open MPI 4.1 and 5.0, and of mpiexec.hydra of MPICH 4.0.
const (
	killed = `--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 3 with PID 0 on node vm exited on signal 9 (Killed).
--------------------------------------------------------------------------
`
	exited = `--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[12345,1],2]
  Exit code:    2
--------------------------------------------------------------------------
`
	exited5 = `--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-4242@1,2] Exit code:    7
--------------------------------------------------------------------------
`
	noSlots = `--------------------------------------------------------------------------
There are not enough slots available in the system to satisfy the 40
slots that were requested by the application:
`
	killedHydra = `===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 28249 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
`
	absentHydra = "[proxy:0:0@vm] HYDU_create_process (utils/launch/launch.c:73): " +
		"execvp error on file /nonexist (No such file or directory)\n"
	absent = `--------------------------------------------------------------------------
mpirun was unable to launch the specified application as it could not access
or execute an executable:

Executable: /nonexist
Node: vm
--------------------------------------------------------------------------
`
)

func TestReason(t *testing.T) {
	flood := "panic: first\n" + strings.Repeat("goroutine 1 [running]:\n", 2000)
	for _, test := range []struct{ said, want string }{
		{killed, "rank 3 was killed by signal 9 (Killed)"},
		{"gemm: rank 1: it is over\n" + exited, "rank 2 exited with status 2: gemm: rank 1: it is over"},
		{"panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n" + exited, "rank 2 exited with status 2: panic: boom"},
		{flood + exited, "rank 2 exited with status 2: panic: first"},
		{"fatal error: runtime: out of memory\n" + exited5,
			"rank 2 exited with status 7: fatal error: runtime: out of memory"},
		{noSlots, "mpirun has too few slots for 40 ranks: ask for fewer, or start mpirun --oversubscribe -n 40 gemm mpi yourself"},
		{absent, "mpirun ended with exit status 1: mpirun was unable to launch the specified application as it could not access or execute an executable: Executable: /nonexist Node: vm"},
		{killedHydra, "a rank, process 28249 on vm, was killed by signal 9 (Killed)"},
		{"gemm mpi: rank 1: panicked: planted\n",
			"a rank ended mpirun with exit status 1: gemm mpi: rank 1: panicked: planted"},
		{absentHydra, "mpirun ended with exit status 1: " + strings.TrimSpace(absentHydra)},
		{"", "mpirun ended with exit status 1"},
		{"no end of line", "mpirun ended with exit status 1: no end of line"},
	} {
		var said ipc.Tail
		_, _ = said.Write([]byte(test.said))
		if got := reason(ipc.ExitError{Name: "mpirun", Status: "exit status 1"}, &said); got.Error() != test.want {
			t.Errorf("of %.60q it says %q, want %q", test.said, got, test.want)
		}
	}
}

// script returns an executable of the shell that stands in for mpirun.
func script(t *testing.T, text string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no shell")
	}
	name := filepath.Join(t.TempDir(), "mpirun")
	// While this process has the script open for writing, a test that starts a process at the same
	// time would inherit the open file. Then no process could execute the script.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// at returns the launcher with the path.
func at(path string) Launcher { return Launcher{Path: path} }

func TestRun(t *testing.T) {
	if err := at(script(t, "exit 0")).Run(t.Context()); err != nil {
		t.Error(err)
	}
	err := at(script(t, `cat >&2 <<'END'
`+killed+`END
exit 137`)).Run(t.Context())
	if err == nil || err.Error() != "rank 3 was killed by signal 9 (Killed)" {
		t.Errorf("Run = %v", err)
	}
	if err := at(filepath.Join(t.TempDir(), "absent")).Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("Run of nothing = %v", err)
	}
}

// waitForEnd waits until the process with the number in the file has ended.
func waitForEnd(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there: %s", pid, state)
		}
	}
}

// TestCancelled ends a launcher that ends at a signal, and one that does not.
func TestCancelled(t *testing.T) {
	for name, test := range map[string]struct {
		trap string
		most time.Duration
	}{
		"obeys":    {"", termTime},
		"does not": {"trap '' TERM", termTime + drainTime + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			mpirun := script(t, test.trap+"\necho $$ > $1.part; mv $1.part $1; while :; do sleep 0.1; done")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
					time.Sleep(10 * time.Millisecond)
				}
				cancel()
			}()
			begin := time.Now()
			if err := at(mpirun).Run(ctx, file); !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v", err)
			}
			if took := time.Since(begin); took > test.most {
				t.Errorf("it took %v", took)
			}
			waitForEnd(t, file)
		})
	}
}

// TestLeftovers checks that the files of a killed mpirun are removed, and no others.
func TestLeftovers(t *testing.T) {
	temporary, notes := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	neighbour := filepath.Join(temporary, "gemm-ranks-1", "vader_segment.vm.0.1.0")
	if err := os.MkdirAll(filepath.Dir(neighbour), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(neighbour, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mpirun := script(t, `mkdir -p $TMPDIR/ompi.vm.0/pid.1
segment=$OMPI_MCA_btl_vader_backing_directory/vader_segment.vm.0.1.0
echo >$segment
echo $TMPDIR >$1/session
echo $segment >$1/part; mv $1/part $1/segment
trap '' TERM
while :; do sleep 0.1; done`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- at(mpirun).Run(ctx, notes) }()
	for _, err := os.Stat(filepath.Join(notes, "segment")); err != nil; _, err = os.Stat(filepath.Join(notes, "segment")) {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
	for _, note := range []string{"session", "segment"} {
		name, err := os.ReadFile(filepath.Join(notes, note))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSpace(string(name))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if _, err := os.Stat(neighbour); err != nil {
		t.Errorf("the files of another job: %v", err)
	}
}

// TestCreateSharedFolder makes the folder for shared memory on a host that has none, and no other.
func TestCreateSharedFolder(t *testing.T) {
	for name, made := range map[string]bool{"gemm-ranks-1": true, "another": false} {
		folder := filepath.Join(t.TempDir(), name)
		t.Setenv(segments[0], folder)
		leave := CreateSharedFolder()
		if _, err := os.Stat(folder); (err == nil) != made {
			t.Errorf("%s: %v", name, err)
		}
		leave()
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// TestKilledWithItsStarter kills a process that runs an mpirun with a rank that follows.
func TestKilledWithItsStarter(t *testing.T) {
	if mpirun := os.Getenv("GEMM_TEST_MPIRUN"); mpirun != "" {
		_ = at(mpirun).Run(t.Context(), os.Args[0], os.Getenv("GEMM_TEST_FOLDER"))
		return
	}
	if folder := os.Getenv("GEMM_TEST_RANK"); folder != "" {
		if err := ipc.DieWithParent(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "rank"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		time.Sleep(time.Minute)
		return
	}
	folder := t.TempDir()
	// The mpirun does not end its rank, which shows that the rank follows.
	mpirun := script(t, "echo $$ > $2/mpirun\nGEMM_TEST_RANK=$2 GEMM_TEST_MPIRUN= $1 -test.run=^TestKilledWithItsStarter$ > $2/out &\nwait")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWithItsStarter$")
	cmd.Env = append(os.Environ(), "GEMM_TEST_MPIRUN="+mpirun, "GEMM_TEST_FOLDER="+folder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if f, err := os.Open(filepath.Join(folder, "out")); err == nil {
			ready := bufio.NewScanner(f).Scan()
			_ = f.Close()
			if ready {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the rank was not started")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitForEnd(t, filepath.Join(folder, "mpirun"))
	waitForEnd(t, filepath.Join(folder, "rank"))
}
