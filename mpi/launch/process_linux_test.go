package launch

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestEndStarters has a rank end a program called mpirun, which counts its interrupts, and not the shell
// that runs it.
func TestEndStarters(t *testing.T) {
	if os.Getenv("GEMM_TEST_RANK") == "ends" {
		InterruptLaunchers()
		return
	}
	mpirun := script(t, `trap 'echo interrupted' INT
GEMM_TEST_RANK=ends $1 -test.run='^TestEndStarters$' >/dev/null &
while kill -0 $! 2>/dev/null; do wait $!; done
echo ended`)
	out, err := exec.Command("sh", "-c", mpirun+" "+os.Args[0]+"; echo alive").CombinedOutput()
	// A busy system may make one of two.
	if says := regexp.MustCompile(`^(interrupted\n){2,3}ended\nalive\n$`); err != nil || !says.Match(out) {
		t.Errorf("it said %q, %v, want %s", out, err, says)
	}
	if name, parent := parentage(os.Getpid()); !strings.HasPrefix(name, "launch.test") || parent != os.Getppid() {
		t.Errorf("this process is %q, a child of %d", name, parent)
	}
	if name, _ := parentage(1 << 30); name != "" {
		t.Errorf("there is a process %q with a number beyond all", name)
	}
}
