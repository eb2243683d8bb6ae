package gemmtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// requireVariable names the environment variable that turns skips into failures.
const requireVariable = "GEMM_TEST_REQUIRE"

// features are the features that a host may lack, which GEMM_TEST_REQUIRE may name.
var features = []string{"mpi", "mpich", "hosts", "cuda", "nvrtc", "gcc", "numpy", "torch", "openblas",
	"mkl", "blis", "libxsmm", "scalapack", "avx512", "avx2", "avx2-nogfni", "ssse3", "bash", "zsh", "fish", "groff"}

// Require ends a test if the host lacks a feature; missing is the reason, nil if nothing is missing. The test is
// skipped. It fails if the environment variable GEMM_TEST_REQUIRE, a comma-separated list, has the feature, or a name
// that is no feature.
func Require(t testing.TB, feature string, missing error) {
	t.Helper()
	fail, err := required(os.Getenv(requireVariable), feature)
	switch {
	case err != nil:
		t.Fatal(err)
	case missing == nil:
	case fail:
		t.Fatalf("%s requires %s: %v", requireVariable, feature, missing)
	default:
		t.Skip(missing)
	}
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func required(list, feature string) (bool, error) {
	if !slices.Contains(features, feature) {
		return false, fmt.Errorf("gemmtest: there is no feature %q, only %s", feature, strings.Join(features, ", "))
	}
	var has bool
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name != "" && !slices.Contains(features, name) {
			return false, fmt.Errorf("%s has %q, which is none of %s", requireVariable, name, strings.Join(features, ", "))
		}
		has = has || name == feature
	}
	return has, nil
}
