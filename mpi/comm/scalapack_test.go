//go:build mpi

package comm

import (
	"strings"
	"testing"
)

// TestScaLAPACKOfTheMPI looks for the library that is made for the program's MPI.
func TestScaLAPACKOfTheMPI(t *testing.T) {
	for mpi, want := range map[string]string{"Open MPI v4.1.4": "openmpi", "MPICH 4.0.2": "mpich",
		"Intel(R) MPI Library 2021.10": "mpich", "CRAY MPICH version 8.1.9.31 (ANL base 3.4a2)": "mpich"} {
		s := scalapackSearch(mpi)
		if s.Names[0] != "libscalapack-"+want+".so.2.2" || !strings.Contains(s.Remedy, "libscalapack-"+want+"2.2 ") {
			t.Errorf("for %s: %q, %s", mpi, s.Names, s.Remedy)
		}
	}
}
