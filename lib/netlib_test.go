//go:build cgo && linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gemm/gemmtest"
)

// TestNetlib runs netlib's testers of level 3 of BLAS and CBLAS, with their error exits, on libgemm alone: with every
// instruction set, and in a forked process, where loops in C compute. GEMM_TEST_NETLIB is a repository with LAPACK.
func TestNetlib(t *testing.T) {
	repository := os.Getenv("GEMM_TEST_NETLIB")
	if repository == "" {
		t.Skip("GEMM_TEST_NETLIB is not set, see make slow-tests ONLY=netlib")
	}
	const release = "6ec7f2bc4ecf4c4a93496aa2fa519575bc0e39ca" // 3.12.1
	lib, dir := library(t), t.TempDir()
	run := func(env []string, in, command string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "LD_LIBRARY_PATH="+lib, "LIB="+lib), env...)
		cmd.Stdin = strings.NewReader(in)
		return cmd.CombinedOutput()
	}
	must := func(command string) {
		t.Helper()
		if out, err := run(nil, "", command); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	forked, err := filepath.Abs("testdata/forked.c")
	gemmtest.Must(t, err)
	must("gcc -shared -fPIC " + forked + " -o forked.so -Wl,--no-as-needed -L$LIB -lgemm")
	must("git init -q; git fetch -q --depth 1 '" + repository + "' " + release)
	must("git checkout -q FETCH_HEAD -- BLAS CBLAS")
	must("cp BLAS/TESTING/*.[fi]* CBLAS/testing/*.[cf] CBLAS/testing/?in3 CBLAS/src/cblas_globals.c .")
	must("cp CBLAS/include/cblas_mangling_with_flags.h.in CBLAS/include/cblas_mangling.h")
	// The testers of cblas_sgemmtr and cblas_dgemmtr of this release fail with the reference, too.
	must("sed -i '/cblas_[sd]gemmtr/s/ T PUT/ F PUT/' sin3 din3")

	for _, x := range []string{"s", "d", "c", "z"} {
		must("gfortran -w -std=legacy " + x + "blat3.f -o blas -L$LIB -lgemm")
		must(strings.ReplaceAll("gfortran -w -std=legacy -DADD_ -ICBLAS/include c_#blat3.f c_#blas3.c c_#3chke.c "+
			"auxiliary.c c_xerbla.c cblas_globals.c -o cblas -L$LIB -lgemm", "#", x))
		for _, mask := range []string{"generic", "ssse3", "avx2", "avx512", "forked"} {
			env := []string{"GEMM_CPU=" + mask}
			if mask == "forked" {
				env = []string{"LD_PRELOAD=./forked.so"}
			}
			// Each routine passes the test of error exits, and computations by columns and, in CBLAS, by rows.
			for _, test := range []struct {
				program, input string
				each           int
			}{{"blas", x + "blat3.in", 2}, {"cblas", x + "in3", 3}} {
				in, err := os.ReadFile(filepath.Join(dir, test.input))
				gemmtest.Must(t, err)
				want := bytes.Count(in, []byte(" T PUT")) * test.each
				out, err := run(env, string(in),
					"rm -f *.out; ./"+test.program+"; cat *.out || :") // BLAS's write a file
				if got := bytes.Count(out, []byte("PASSED THE")); err != nil || got != want {
					t.Errorf("%s of %s, %s: passed %d times, want %d: %v\n%s", test.program, x, mask, got, want, err,
						out)
				}
			}
		}
	}
}
