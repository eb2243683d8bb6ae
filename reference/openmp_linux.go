package reference

import (
	_ "embed" // the source of the program
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"gemm/internal/peer"
)

// openMPSource is the program that measures libgomp; its head has the requests that it
// understands.
//
//go:embed openmp/main.c
var openMPSource []byte

// openMPProgram is compiled from openMPSource. Clang has a runtime of its own, with
// which the source does not compile.
var openMPProgram = peer.Source{Name: "openmp", Text: openMPSource, Compilers: []string{"gcc", "cc"},
	Flags: []string{"-fopenmp"}}

// openMPFile returns the file of the compiled openMPProgram.
var openMPFile = sync.OnceValues(openMPProgram.File)

// newOpenMPProcess starts the program.
func newOpenMPProcess() (*peer.Process, error) {
	file, err := openMPFile()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(file)
	// Private arrays of reductions lie on the threads' stacks.
	cmd.Env = append(withoutOpenMP(os.Environ()), "OMP_STACKSIZE=16M")
	return peer.Start(cmd)
}

// withoutOpenMP returns the environment without the variables that OpenMP and libgomp
// read.
func withoutOpenMP(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(setting string) bool {
		return strings.HasPrefix(setting, "OMP_") || strings.HasPrefix(setting, "GOMP_")
	})
}
