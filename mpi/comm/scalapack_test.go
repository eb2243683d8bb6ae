//go:build mpi

package comm

import (
	"strings"
	"testing"

	"gemm/internal/cpu"
)

func TestBetterCore(t *testing.T) {
	wide := []cpu.ISA{cpu.AVX512, cpu.AVX2, cpu.AVX2NoGFNI, cpu.SSSE3, cpu.Generic}
	for _, test := range []struct {
		core      string
		sets      []cpu.ISA
		fullWidth bool
		want      string
	}{
		{"Prescott", wide, true, "SKYLAKEX"}, // older than the processor
		{"Haswell", wide, true, "SKYLAKEX"},
		{"Zen", wide, false, ""},
		{"SkylakeX", wide, true, ""},
		{"Cooperlake", wide, true, ""},
		{"SapphireRapids", wide, true, ""},
		{"Prescott", wide[2:], false, "HASWELL"},
		{"Haswell", wide[2:], false, ""},
		{"Nehalem", wide[3:], false, ""},
		{"", wide, true, ""}, // no OpenBLAS
	} {
		if got := betterCore(test.core, test.sets, test.fullWidth); got != test.want {
			t.Errorf("for %q on %v, full width %v: got %q, want %q", test.core, test.sets, test.fullWidth, got, test.want)
		}
	}
}

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
