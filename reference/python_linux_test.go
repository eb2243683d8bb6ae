package reference

import (
	"path"
	"testing"

	"gemm"
	"gemm/internal/gemmtest"
	"gemm/internal/python"
)

// TestPython runs the conformance suite for the libraries of Python. Debian's NumPy is for its own Python
// only.
func TestPython(t *testing.T) {
	for _, v := range []gemm.Variant{pythonVariant(python.NumPy), pythonVariant(python.Torch)} {
		t.Run(v.Name, func(t *testing.T) {
			_, err := gemm.New[float64](v, nil)
			if err != nil {
				t.Setenv(python.Variable, "/usr/bin/python3")
				if _, other := gemm.New[float64](v, nil); other == nil {
					err = nil
				}
			}
			gemmtest.Require(t, path.Base(v.Name), err)
			suite := gemmtest.Suite{OneCall: true}
			suite.Run(t, v, nil, gemm.Params{"threads": 2})
		})
	}
}
