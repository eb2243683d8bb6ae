package launch

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEndStarters has a rank end a program called mpirun, which counts its interrupts, and not the shell
// that runs it.
func TestEndStarters(t *testing.T) {
	if os.Getenv("GEMM_TEST_RANK") == "ends" {
		EndStarters()
		return
	}
	mpirun := script(t, `n=0
trap 'n=$((n+1)); echo interrupted' INT
GEMM_TEST_RANK=ends $1 -test.run='^TestEndStarters$' >/dev/null &
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ $n -lt 2 ] || break
	sleep 0.2
done
wait
echo ended`)
	out, err := exec.Command("sh", "-c", mpirun+" "+os.Args[0]+"; echo alive").CombinedOutput()
	if want := "interrupted\ninterrupted\nended\nalive\n"; err != nil || string(out) != want {
		t.Errorf("it said %q, %v, want %q", out, err, want)
	}
	if name, parent := parentage(os.Getpid()); !strings.HasPrefix(name, "launch.test") || parent != os.Getppid() {
		t.Errorf("this process is %q, a child of %d", name, parent)
	}
	if name, _ := parentage(1 << 30); name != "" {
		t.Errorf("there is a process %q with a number beyond all", name)
	}
}
