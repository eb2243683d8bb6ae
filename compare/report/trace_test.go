package report

import (
	"errors"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/internal/timeline"
)

// timelines returns a timeline of workers, one of ranks and one of a GPU.
func timelines() record.Document {
	key := func(variant string) record.Key {
		return record.Key{Host: "h", Variant: variant,
			Problem: record.Problem{Type: "f64", Op: "nn", Shape: gemm.Cube(8)}}
	}
	peer := 1
	return record.Document{
		Hosts: []record.Host{{ID: "h", CPU: "a processor"}},
		Traces: []record.Trace{
			{Key: key("parallel/rows"), Params: gemm.Params{"threads": 2}, Workers: 2, Seconds: 4e-6,
				Spans: []timeline.Span{
					{Worker: 0, From: 0, To: 4, Begin: 0, End: 1.2345e-6}, {Worker: 0, From: 6, To: 8, Begin: 1.2345e-6,
						End: 3e-6},
					{Worker: 1, From: 4, To: 6, Begin: 1e-6, End: 4e-6},
				}},
			{Key: key("mpi/summa"), Workers: 2, Seconds: 5e-6,
				Ranks: []record.Rank{{Rank: 0, Host: "a", CPUs: "0-1"}, {Rank: 1, Host: "b"}},
				Activity: timeline.Activity{ClockError: 2e-6, Cut: 4e-6, Phases: []timeline.Phase{
					{Lane: 0, Name: "communicate", Bytes: 64, Begin: 0, End: 2e-6},
					{Lane: 0, Name: "communicate", Call: "send", Peer: &peer, Bytes: 64, Begin: 0.5e-6, End: 2e-6},
					{Lane: 1, Name: "wait", Begin: 0, End: 6e-6},
				}}},
			{Key: key("cuda/dmma"), Workers: 1, Seconds: 3e-6,
				Activity: timeline.Activity{Lanes: []string{"copies", "kernels"},
					Phases: []timeline.Phase{{Name: "h2d", Bytes: 1024, End: 1e-6},
						{Lane: 1, Name: "kernels", Begin: 1e-6, End: 3e-6}},
					Inside: []timeline.Group{{Block: 5, Role: "producer", Phases: []timeline.Step{{Name: "wait",
						Begin: 1.5e-6, End: 2e-6}}}}}},
		},
	}
}

func TestTrace(t *testing.T) {
	data, err := Trace(timelines())
	if err != nil {
		t.Fatal(err)
	}
	names := map[[2]int]string{}
	processes := map[int]string{}
	instants, inside := 0, 0
	for _, e := range gemmtest.TraceEvents(t, data) {
		switch {
		case e.Name == "process_name":
			processes[e.Process], _ = e.Args["name"].(string)
		case e.Name == "thread_name":
			names[[2]int{e.Process, e.Thread}], _ = e.Args["name"].(string)
		case e.Kind == "i":
			if instants++; e.Process != 2*processDistance || e.Begin != 4000 {
				t.Errorf("what is left out: %+v", e)
			}
		case e.Kind == "X" && e.Args["size"] != "8":
			t.Errorf("without the size: %+v", e)
		case e.Category == "call":
			if e.Name != "send" || e.Args["rank"] != 1.0 || e.Args["bytes"] != 64.0 ||
				e.Args["phase"] != "communicate" {
				t.Errorf("a call is %+v", e)
			}
		case e.Name == "chunk" && e.Args["from"] == 6.0:
			if e.Begin != 1235 || e.End != 3000 || e.Args["to"] != 8.0 {
				t.Errorf("the second chunk of the first worker is %+v", e)
			}
		case e.Category == "inside":
			if e.Name != "wait" || e.Process != 3*processDistance || e.Thread != 3*processDistance+3 ||
				e.Begin != 1500 || e.End != 2000 {
				t.Errorf("a step inside of a kernel is %+v", e)
			}
			inside++
		case e.Name == "product" && e.Process == 2*processDistance:
			if e.End != 6000 || e.Args["clock_error_us"] != 2.0 {
				t.Errorf("the product on ranks is %+v", e)
			}
		}
	}
	if instants != 1 || inside != 1 {
		t.Errorf("%d instants, %d steps inside of a kernel", instants, inside)
	}
	for at, want := range map[[2]int]string{
		{1, 0}: "product", {1, 1}: "worker 0", {1, 2}: "worker 1", {2, 1}: "rank 0, a, processors 0-1", {2,
			2}: "rank 1, b",
		{3, 1}: "copies", {3, 2}: "kernels",
		{3, 3}: "multiprocessor 0, block 5, producer, warpgroup 0",
	} {
		at[0] *= processDistance
		at[1] += at[0]
		if names[at] != want {
			t.Errorf("the thread %v is called %q, want %q", at, names[at], want)
		}
	}
	if processes[processDistance] != "parallel/rows f64 8 threads=2" || processes[2*processDistance] != "mpi/summa f64 8" {
		t.Errorf("the processes are %v", processes)
	}
	if data, err := Trace(record.Document{}); !errors.Is(err, ErrNoTimeline) || data != nil {
		t.Errorf("without timelines: %s, %v", data, err)
	}
}
