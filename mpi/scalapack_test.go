//go:build mpi

package mpi

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/mpi/comm"
	"gemm/mpi/launch"
	"gemm/mpi/plan"
)

// lacking says that the ranks but 0 are to have no ScaLAPACK.
const lacking = "GEMM_TEST_LACKING"

// rankOf returns the rank of this process, according to its environment.
func rankOf() int {
	origin, _ := launch.Started(os.LookupEnv)
	return origin.Rank
}

func init() {
	if os.Getenv(lacking) != "" && rankOf() > 0 {
		_ = os.Setenv("GEMM_SCALAPACK", "libnone.so")
	}
}

// requireScaLAPACK skips a test that has no library to test.
func requireScaLAPACK(t *testing.T) *comm.ScaLAPACK {
	t.Helper()
	s, err := comm.OpenScaLAPACK()
	gemmtest.Require(t, "scalapack", err)
	return s
}

// forRank0 skips a test that is to be started by underMPI.
func forRank0(t *testing.T) {
	t.Helper()
	if os.Getenv(asRank) == "" {
		t.Skip("for rank 0 under mpirun")
	}
}

func TestScaLAPACK(t *testing.T) {
	requireScaLAPACK(t)
	for _, ranks := range []int{1, 2, 4, 6} {
		if testing.Short() && ranks != 2 {
			continue
		}
		t.Run(fmt.Sprint(ranks), func(t *testing.T) { underMPI(t, ranks, "^TestRanksScaLAPACK") })
	}
}

func TestRanksScaLAPACK(t *testing.T) {
	forRank0(t)
	if _, err := comm.OpenScaLAPACK(); err != nil {
		t.Fatal(err) // what is unavailable would be skipped
	}
	settings := []gemm.Params{{"block": 3, "affinity": none}}
	if theJob.Size() <= 2 && !testing.Short() { // on more the suite takes long
		settings = append(settings, nil, gemm.Params{"block": 64})
	}
	gemmtest.Suite{OneCall: true}.Run(t, scalapackVariant(), settings...)
}

// TestRanksScaLAPACKRow checks what the row of a product says besides its time.
func TestRanksScaLAPACKRow(t *testing.T) {
	forRank0(t)
	m, err := gemm.New[float64](scalapackVariant(), gemm.Params{"block": 2})
	gemmtest.Must(t, err)
	a, b, c := gemm.NewMatrix[float64](5, 4), gemm.NewMatrix[float64](4, 3), gemm.NewMatrix[float64](5, 3)
	run, err := m.(gemm.Stager[float64]).Stage(t.Context(), c, a, b)
	gemmtest.Must(t, err)
	defer run.Close()
	cost, err := run.Do(t.Context())
	gemmtest.Must(t, err)
	if len(cost.Phases) != 1 || cost.Phases[computing] <= 0 || cost.Sent != 0 || cost.Recv != 0 {
		t.Errorf("the cost is %+v, want the phase %s alone and no bytes", cost, computing)
	}
	d := run.(record.Distributed).Distribution()
	if d.Counted != 0 || d.Predicted != 0 || d.Bound != 0 || d.Model != (record.Model{}) {
		t.Errorf("the distribution has numbers that nobody counted or planned: %+v", d)
	}
	g := plan.Squarest(theJob.Size(), gemm.Shape{})
	// A has the most blocks: 3 of its rows, dealt out over Q, and 2 of its columns, over P.
	if want := min(g.Q, 3) * min(g.P, 2); d.Used != want || len(d.Ranks) != theJob.Size() {
		t.Errorf("%d of %d ranks are used, want %d of %d", d.Used, len(d.Ranks), want, theJob.Size())
	}
	resolved := m.(gemm.Explainer).Resolved()
	for name, want := range map[string]any{"grid": g.String(), "threads": 1} {
		if resolved[name] != want {
			t.Errorf("%s is %v, want %v", name, resolved[name], want)
		}
	}
	if file, _ := resolved["library"].(string); !strings.HasPrefix(file, "libscalapack") {
		t.Errorf("library is %q", file)
	}
	if blas, _ := resolved["blas"].(string); blas == "" {
		t.Error("it is not said which BLAS computes")
	}
}

// TestScaLAPACKLacking: a rank has no library.
func TestScaLAPACKLacking(t *testing.T) {
	requireScaLAPACK(t)
	t.Setenv(lacking, "1")
	underMPI(t, 2, "^TestRanksLackScaLAPACK$")
}

func TestRanksLackScaLAPACK(t *testing.T) {
	forRank0(t)
	if os.Getenv(lacking) == "" {
		t.Skip("all ranks have it")
	}
	m, err := gemm.New[float64](scalapackVariant(), nil)
	gemmtest.Must(t, err)
	a, b, c := gemm.NewMatrix[float64](5, 4), gemm.NewMatrix[float64](4, 3), gemm.NewMatrix[float64](5, 3)
	err = m.Multiply(t.Context(), c, a, b)
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "rank 1") ||
		!strings.Contains(err.Error(), "libnone.so") {
		t.Errorf("got %v, want that rank 1 has no libnone.so", err)
	}
	// The ranks are in step.
	if m, err = gemm.New[float64](summaVariant(), nil); err != nil {
		t.Fatal(err)
	}
	if err := m.Multiply(t.Context(), c, a, b); err != nil {
		t.Error(err)
	}
}

// TestScaLAPACKUnavailable: the files named are no ScaLAPACK.
func TestScaLAPACKUnavailable(t *testing.T) {
	for _, name := range []string{"libnone.so", "libmpi.so.40"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GEMM_SCALAPACK", name)
			underMPI(t, 1, "^TestRanksNoScaLAPACK$")
		})
	}
}

func TestRanksNoScaLAPACK(t *testing.T) {
	forRank0(t)
	name := os.Getenv("GEMM_SCALAPACK")
	if name == "" {
		t.Skip("there is one")
	}
	_, err := gemm.New[float64](scalapackVariant(), nil)
	if !errors.Is(err, gemm.ErrUnavailable) || !strings.Contains(err.Error(), "GEMM_SCALAPACK="+name) {
		t.Errorf("got %v, want %v of %s", err, gemm.ErrUnavailable, name)
	}
}

// TestCyclic checks the parts against a definition, index by index, and the formula of
// ScaLAPACK's numroc.
func TestCyclic(t *testing.T) {
	for n := range 14 {
		for block := 1; block < 6; block++ {
			for parts := 1; parts < 5; parts++ {
				for i := range parts {
					var got, want []int
					for _, s := range cyclic(n, block, parts, i) {
						for x := s.Lo; x < s.Hi; x++ {
							got = append(got, x)
						}
					}
					for x := range n {
						if x/block%parts == i {
							want = append(want, x)
						}
					}
					if !slices.Equal(got, want) {
						t.Errorf("cyclic(%d, %d, %d, %d) has %v, want %v", n, block, parts, i, got, want)
					}
					if got, want := count(cyclic(n, block, parts, i)), numroc(n, block, i, parts); got != want {
						t.Errorf("part %d of %d in blocks of %d over %d holds %d, numroc says %d", i, n, block, parts, got, want)
					}
				}
			}
		}
	}
}

// numroc is ScaLAPACK's, of a matrix that begins at process 0.
func numroc(n, block, process, processes int) int {
	blocks := n / block
	out := blocks / processes * block
	switch extra := blocks % processes; {
	case process < extra:
		return out + block
	case process == extra:
		return out + n%block
	}
	return out
}

func TestScaLAPACKParams(t *testing.T) {
	for name, value := range map[string]any{"threads": 2, "block": 0, "local": packedName} {
		if _, err := scalapackVariant().Resolve(gemm.Params{name: value}); !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%s=%v: got %v, want %v", name, value, err, gemm.ErrParam)
		}
	}
}
