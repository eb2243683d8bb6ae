package reference

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"gemm"
	"gemm/gemmtest"
	"gemm/internal/python"
)

// TestPython runs the conformance suite for the libraries of Python, with one element type a setting: products at the
// same time load PyTorch in a process each, which takes seconds. Debian's NumPy is for its own Python only.
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
			suite, f64, f32 := gemmtest.Suite{OneCall: true}, v, v
			f64.F32, f32.F64 = nil, nil
			suite.Run(t, f64, nil)
			suite.Run(t, f32, gemm.Params{"threads": 2})
		})
	}
}

// TestPythonAlone runs the conformance suite for loops in Python, and looks at what a row says of them.
func TestPythonAlone(t *testing.T) {
	v := aloneVariant()
	m, err := gemm.New[float64](v, nil)
	gemmtest.Require(t, "numpy", err) // which comes with Python
	gemmtest.Suite{OneCall: true}.Run(t, v, nil)
	x := gemm.NewMatrix[float64](8, 8)
	gemmtest.Must(t, m.Multiply(t.Context(), gemm.NewMatrix[float64](8, 8), x, x))
	told := m.(gemm.Explainer).Resolved()
	if told["version"] == "" || told["version"] != told["python"] || told["kernel"] == "" || told["process"] != "own" {
		t.Errorf("resolved to %v", told)
	}
	if warnings := m.(*python.Multiplier[float64]).Warnings(); len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
	large := gemm.NewMatrix[float64](257, 257)
	err = m.Multiply(t.Context(), gemm.NewMatrix[float64](257, 257), large, large)
	if !errors.Is(err, gemm.ErrUnavailable) || v.Accepts(gemm.Cube(257)) == nil || v.Accepts(gemm.Cube(256)) != nil {
		t.Errorf("a product beyond 256³: %v", err)
	}
}

// TestNoPython says what to do if there is no Python.
func TestNoPython(t *testing.T) {
	t.Setenv(python.Variable, filepath.Join(t.TempDir(), "none"))
	_, err := gemm.New[float64](aloneVariant(), nil)
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "install python3") {
		t.Errorf("without Python: %v", err)
	}
	t.Setenv(python.Variable, "false")
	if _, err := gemm.New[float64](aloneVariant(), nil); !errors.Is(err, gemm.ErrUnavailable) ||
		!strings.Contains(err.Error(), "false does not run") {
		t.Errorf("with a program that is no Python: %v", err)
	}
}
