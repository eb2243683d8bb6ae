package compare

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// silent is a Progress that keeps the rows.
type silent struct {
	began      []plan.Case
	rows, kept []record.Record
}

func (s *silent) Begin(cases []plan.Case) { s.began = append(s.began, cases...) }
func (s *silent) Done(r record.Record, kept bool) {
	if kept {
		s.kept = append(s.kept, r)
		return
	}
	s.rows = append(s.rows, r)
}

var testBudget = plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: 20 * time.Second}

// ladder returns the products of the variants in f64 at each n.
func ladder(variants []gemm.Variant, sizes ...int) plan.Ladder {
	l := plan.Ladder{Variants: variants, Types: []string{"f64"}, Ops: []string{"nn"}, Alpha: 1}
	for _, n := range sizes {
		l.Shapes = append(l.Shapes, gemm.Cube(n))
	}
	return l
}

// drive runs the driver and returns the rows of its store.
func drive(t *testing.T, d *Driver, cases []plan.Case) []record.Record {
	t.Helper()
	gemmtest.Must(t, d.Run(t.Context(), cases))
	return d.Store.Document().Records
}

// TestResume cancels a run when its second row begins, and resumes it with a variant that fails, and when it does not.
func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	fails := errors.New("not yet")
	flaky := gemmtest.Variant("test/flaky", func(ctx context.Context, c, a, b gemm.Matrix[float64]) error {
		return errors.Join(fails, gemmtest.Textbook(ctx, c, a, b))
	})
	cases := ladder([]gemm.Variant{gemmtest.Variant("test/good", nil), flaky}, 8, 9).Cases()
	run := func(ctx context.Context, how record.Mode, command string, p Progress) error {
		store, err := record.OpenStore(path, how)
		gemmtest.Must(t, err)
		defer store.Close()
		return (&Driver{Store: store, Budget: testBudget, Progress: p, Command: command}).Run(ctx, cases)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := run(ctx, record.Create, "gemm serial", &cancelling{cancel: cancel, after: 2})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v, want cancelled", err)
	}
	if doc, err := record.Load(path); err != nil || len(doc.Records) != 1 {
		t.Fatalf("%d rows on disk after the cancellation, %v; want the one that was done", len(doc.Records), err)
	}
	if _, err := record.OpenStore(path, record.Create); !errors.Is(err, record.ErrExists) {
		t.Errorf("Create over records = %v, want ErrExists", err)
	}
	for _, test := range []struct {
		command        string
		kept, measured int
	}{{"gemm serial --resume", 1, 3}, {"gemm serial --sizes 9 --resume", 2, 2}} {
		data, err := os.ReadFile(path) // a program of schema 1 has left them
		gemmtest.Must(t, err)
		_, rest, _ := strings.Cut(string(data), "\"hosts\":")
		gemmtest.Must(t, os.WriteFile(path, []byte("{\"schema\":1,\n\"hosts\":"+rest), 0o600))
		var p silent
		err = run(t.Context(), record.Resume, test.command, &p)
		if err != nil || len(p.kept) != test.kept || len(p.rows) != test.measured {
			t.Fatalf("kept %d, measured %d, %v; want %+v", len(p.kept), len(p.rows), err, test)
		}
		fails = nil
	}
	doc, err := record.Load(path)
	if err != nil || len(doc.Records) != 4 || len(doc.Runs) != 1 || len(doc.Hosts) != 1 ||
		doc.Schema != record.Schema || len(doc.Variants) != 2 {
		t.Fatalf("%d rows, %d runs, %d hosts, schema %d, variants %v, %v; want 4, 1, 1", len(doc.Records), len(doc.Runs),
			len(doc.Hosts), doc.Schema, doc.Variants, err)
	}
	want := []string{"gemm serial", "gemm serial --sizes 9 --resume"}
	if got := doc.Runs[0].Commands(); !slices.Equal(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
	for _, r := range doc.Records {
		if r.Status != record.OK {
			t.Errorf("%s n=%d is %s after all", r.Variant, r.N, r.Status)
		}
	}
}

// cancelling cancels when the given number of rows has begun.
type cancelling struct {
	silent
	cancel context.CancelFunc
	after  int
}

func (c *cancelling) Begin(cases []plan.Case) {
	c.silent.Begin(cases)
	if len(c.began) >= c.after {
		c.cancel()
	}
}

// TestLargeWorkspacesAreFreed has a variant with a large workspace, and looks at the
// memory that this process holds when the next one begins.
func TestLargeWorkspacesAreFreed(t *testing.T) {
	const large = 128 << 20
	held := func() int {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapSys - m.HeapReleased)
	}
	greedy, next := gemmtest.Variant("parallel/greedy", nil), gemmtest.Variant("parallel/next", nil)
	greedy.Model = func(gemm.Shape, gemm.Params) gemm.Model { return gemm.Model{Workspace: large / 8} }
	during, after := 0, 0
	greedy.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
		workspace := make([]byte, large)
		return gemmtest.Observed(func() { during, workspace[0] = held(), 1 }), nil
	}
	next.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
		after = held()
		return gemmtest.Func[float64](gemmtest.Textbook[float64]), nil
	}
	drive(t, &Driver{Store: &record.Store{}, Budget: testBudget, Progress: Quiet{}},
		ladder([]gemm.Variant{greedy, next}, 8).Cases())
	if during-after < large/2 {
		t.Errorf("%d bytes are held while %d are in use and %d afterwards", during, large, after)
	}
}
