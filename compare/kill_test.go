package compare

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/gemmtest"
)

// TestKill9 kills a process that measures, again and again, and checks that every
// row it finished is on disk, whole, and measured once.
func TestKill9(t *testing.T) {
	if path := os.Getenv("GEMM_TEST_MEASURE"); path != "" {
		measureForKill(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "results.json")
	total := len(killCases())
	seen := 0
	for attempt := 0; seen < total; attempt++ {
		if attempt == 20 {
			t.Fatalf("only %d of %d rows after 20 attempts", seen, total)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill9$")
		cmd.Env = append(os.Environ(), "GEMM_TEST_MEASURE="+path)
		gemmtest.Must(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("the process that was left alone failed: %v", err)
			}
		case <-time.After(time.Duration(300+200*attempt) * time.Millisecond):
			_ = cmd.Process.Kill()
			<-done
		}
		doc, err := record.Load(path)
		if err != nil {
			if os.IsNotExist(err) {
				continue // killed before it began
			}
			t.Fatalf("after attempt %d: %v", attempt, err)
		}
		if len(doc.Records) < seen {
			t.Fatalf("%d rows before, %d after attempt %d", seen, len(doc.Records), attempt)
		}
		seen = len(doc.Records)
	}
	// Each measured row appended its name to a journal once its record was on disk.
	journal, err := os.ReadFile(path + ".journal")
	gemmtest.Must(t, err)
	counts := map[string]int{}
	for name := range strings.Lines(string(journal)) {
		counts[name]++
	}
	for name, n := range counts {
		if n != 1 {
			t.Errorf("%s was measured %d times", name, n)
		}
	}
	store, err := record.OpenStore(path, record.Resume)
	gemmtest.Must(t, err)
	store.Close()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	if n := len(store.Document().Records); n != total {
		t.Errorf("%d rows, want %d", n, total)
	}
}

func killCases() []plan.Case {
	var sizes []int
	for n := range 24 {
		sizes = append(sizes, 40+n)
	}
	return ladder([]gemm.Variant{gemmtest.Variant("test/good", nil)}, sizes...).Cases()
}

// measureForKill is the process that is killed.
func measureForKill(t *testing.T, path string) {
	store, err := record.OpenStore(path, record.Resume)
	gemmtest.Must(t, err)
	journal, err := os.OpenFile(path+".journal", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	gemmtest.Must(t, err)
	defer func() { _ = journal.Close() }()
	budget := plan.Budget{Reps: 6, Time: 30 * time.Millisecond, Timeout: 10 * time.Second}
	d := Driver{Store: store, Budget: budget, Progress: journalling{journal}}
	gemmtest.Must(t, d.Run(t.Context(), killCases()))
}

type journalling struct{ f *os.File }

func (journalling) Begin([]plan.Case) {}
func (j journalling) Done(r record.Record, kept bool) {
	if !kept {
		_, _ = j.f.WriteString(r.Shape.Label() + "\n")
	}
}
