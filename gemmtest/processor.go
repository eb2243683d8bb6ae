package gemmtest

import (
	"os"
	"os/exec"
	"testing"

	"gemm/internal/cpu"
)

// InstructionSets runs the tests of this binary that match run, with -short, in a process for each instruction set
// below the widest that this processor has. It does nothing in such a process, or if GEMM_CPU is set.
func InstructionSets(t *testing.T, run string) {
	t.Helper()
	if os.Getenv("GEMM_CPU") != "" {
		t.Skip("GEMM_CPU is set")
	}
	for _, isa := range cpu.Supported()[1:] {
		t.Run(string(isa), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.short", "-test.run="+run)
			cmd.Env = append(os.Environ(), "GEMM_CPU="+string(isa))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
