package run

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run/turn"
	"gemm/cuda/userkernel"
	"gemm/gemmtest"
	"gemm/internal/ipc"
)

// sent returns the frame with the task of the cases.
func sent(t *testing.T, p *Executors, cases []plan.Case) string {
	t.Helper()
	task, err := p.newTask(cases)
	var out bytes.Buffer
	if err == nil {
		err = ipc.NewWriter(&out).Encode(taskWord, task)
	}
	gemmtest.Must(t, err)
	return out.String()
}

func TestTaskRoundTrip(t *testing.T) {
	variants := []gemm.Variant{gemmtest.OnRanks("mpi/a", nil), gemmtest.OnRanks("mpi/b", nil)}
	want := []plan.Case{
		plan.Request{
			Experiment: record.WeakScaling, Variant: variants[1], Type: "f32", Shape: gemm.Shape{M: 1, N: 2, K: 3}, Op: "tn",
			Alpha: 2, Beta: -1, LD: 4, Params: gemm.Params{"ranks": 2, "affinity": "none"}, Turn: "x, part 2",
		}.Case(),
		plan.Request{Experiment: record.CompilerOptions, Build: "v1", Variant: variants[0], Type: "f64", Shape: gemm.Cube(8),
			Op: "nn", Alpha: 1, Params: gemm.Params{"panel": 16}, Timeline: true}.Case(),
		plan.Request{Variant: variants[0], Type: "f64", Shape: gemm.Cube(8), Params: gemm.Params{"threads": 0},
			Processors: 7}.Case(),
	}
	b := &turn.Bench{Budget: plan.Budget{Reps: 3, Time: time.Second, Timeout: time.Minute, Patience: time.Hour},
		Seed: 1 << 63, Ceilings: time.Millisecond, Run: "now"}
	b.Host.Ceilings = []record.Ceiling{{Unit: "gpu", Run: "now", Device: 1}, {Unit: "gpu", Run: "before"},
		{Unit: "cpu", Run: "now"}}
	text := sent(t, &Executors{Bench: b}, want)
	task, err := ReadTask(strings.NewReader(text), variants, nil, 7)
	if err != nil || task.Budget != b.Budget || task.Seed != b.Seed || task.Ceilings != b.Ceilings ||
		len(task.Cases) != len(want) || len(task.Known) != 1 || task.Known[0].Device != 1 {
		t.Fatalf("%+v, %v; want that of %+v", task, err, b)
	}
	for i, c := range want {
		if g := task.Cases[i]; g.ID() != c.ID() || g.Turn != c.Turn || g.Threads() != c.Threads() ||
			g.Timeline != c.Timeline {
			t.Errorf("%+v, want %+v", g, c)
		}
	}
	for _, test := range []struct{ old, wrong, want string }{
		{"", "", ""},
		{`"mpi/b"`, `"mpi/z"`, "mpi/z"},
		{`"protocol":6`, `"protocol":1`, "protocol 1"},
		{`"panel":16`, `"panel":16.5`, "16.5"},
		{`{`, ``, "the task"},
		{`task`, `row`, "build gemm and gemm-cuda from one source"},
	} {
		changed := strings.Replace(text, test.old, test.wrong, 1)
		_, err := ReadTask(strings.NewReader(changed), variants, nil, runtime.NumCPU())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s in place of %s: %v", test.wrong, test.old, err)
		}
	}
}

// TestTaskHasUserKernels checks that the task has the kernel of the user's that a case names, once, and that
// a process that takes none refuses it.
func TestTaskHasUserKernels(t *testing.T) {
	k := userkernel.Kernel{Name: "user/f", Source: "text", Symbol: "f", Type: "f32",
		Launch: userkernel.Launch{Grid: "M,N"}}
	v := userkernel.Variants(nil, []userkernel.Kernel{k})[0]
	var cases []plan.Case
	for n := range 2 {
		cases = append(cases, plan.Request{Variant: v, Type: "f32", Shape: gemm.Cube(8 + n), Op: "nn", Alpha: 1}.Case())
	}
	text := sent(t, &Executors{Bench: &turn.Bench{}}, cases)
	var came []userkernel.Kernel
	task, err := ReadTask(strings.NewReader(text), nil, func(sources []json.RawMessage) (_ []gemm.Variant, err error) {
		came, err = userkernel.FromTask(sources)
		return userkernel.Variants(nil, came), err
	}, 1)
	if err != nil || len(task.Cases) != 2 || task.Cases[1].ID() != cases[1].ID() || len(came) != 1 || came[0] != k {
		t.Errorf("%v, %+v, %+v", err, task, came)
	}
	if _, err = ReadTask(strings.NewReader(text), nil, nil, 1); err == nil || !strings.Contains(err.Error(), `"user/f"`) {
		t.Errorf("without kernels: %v", err)
	}
}

func TestDecode(t *testing.T) {
	for line, ok := range map[string]bool{
		`now -1`:                                          true,
		`now -1.5`:                                        false,
		`row {"params":{"threads":2}}`:                    true,
		`row {"params":{"threads":2.5}}`:                  false,
		`row {"params":{"threads":2}} {}`:                 false,
		`row {"params":{}, "then":1}`:                     false,
		`trace {"params":{"threads":2}}`:                  true,
		`trace {"params":{"threads":2.5}}`:                false,
		`found {"measurements":[{"params":{"bytes":8}}]}`: true,
		`gone "host node7"`:                               true,
		`gone 7`:                                          false,
		`done true`:                                       true,
		`then 1`:                                          false,
	} {
		word, text, _ := strings.Cut(line, " ")
		if _, err := decode(ipc.Frame{Word: word, Text: text}); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestHeartbeats checks that there is a heartbeat at once, one for each case that begins, and one every heartbeatEvery.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cases := []plan.Case{
			plan.Request{Variant: gemmtest.OnRanks("mpi/a", nil), Type: "f64", Shape: gemm.Cube(8)}.Case(),
			plan.Request{Variant: gemmtest.OnRanks("mpi/a", nil), Type: "f64", Shape: gemm.Cube(9)}.Case(),
		}
		var out bytes.Buffer
		_, failed := context.WithCancelCause(t.Context())
		r := NewReporter(&out, cases, failed)
		stop := r.Heartbeat()
		r.SetCase(cases[1])
		r.SetCase(cases[1])
		time.Sleep(2*heartbeatEvery + heartbeatEvery/2)
		stop()
		synctest.Wait()
		if want := "now 0 -1\n" + strings.Repeat("now 0 1\n", 3); out.String() != want {
			t.Errorf("heartbeats %s, want %s", &out, want)
		}
	})
}
