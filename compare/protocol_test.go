package compare

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gemm"
	"gemm/cuda/guest"
)

func TestTasksComeBack(t *testing.T) {
	variants := []gemm.Variant{onRanks("mpi/a", nil), onRanks("mpi/b", nil)}
	want := []Case{
		Request{
			Experiment: WeakScaling, Variant: variants[1], Type: "f32", Shape: gemm.Shape{M: 1, N: 2, K: 3}, Op: "tn", Alpha: 2,
			Beta: -1, LD: 4,
			Params: gemm.Params{"ranks": 2, "affinity": "none"}, Turn: "x, part 2",
		}.Case(),
		Request{Experiment: CompilerOptions, Build: "v1", Variant: variants[0], Type: "f64", Shape: gemm.Cube(8), Op: "nn",
			Alpha: 1, Params: gemm.Params{"panel": 16}, Timeline: true}.Case(),
	}
	d := Driver{Budget: Budget{Reps: 3, Time: time.Second, Timeout: time.Minute, Patience: time.Hour}, Seed: 1 << 63,
		Ceilings: time.Millisecond}
	d.run.ID = "now"
	d.host.Ceilings = []Ceiling{{Unit: "gpu", Run: "now", Device: 1}, {Unit: "gpu", Run: "before"},
		{Unit: "cpu", Run: "now"}}
	text, err := json.Marshal(d.task(want))
	if err != nil {
		t.Fatal(err)
	}
	task, got, err := readTask(bytes.NewReader(text), Served{Variants: variants})
	if err != nil || task.Budget != d.Budget || task.Seed != d.Seed || task.Ceilings != d.Ceilings || len(got) != 2 ||
		len(task.Known) != 1 || task.Known[0].Device != 1 {
		t.Fatalf("%+v, %v; want that of %+v", task, err, d)
	}
	for i, c := range want {
		if g := got[i]; g.identity() != c.identity() || g.Turn != c.Turn || g.Threads() != c.Threads() ||
			g.Timeline != c.Timeline {
			t.Errorf("%+v, want %+v", g, c)
		}
	}
	for _, test := range []struct{ old, wrong, want string }{
		{"", "", ""},
		{`"mpi/b"`, `"mpi/z"`, "mpi/z"},
		{`"protocol":5`, `"protocol":1`, "protocol 1"},
		{`"panel":16`, `"panel":16.5`, "16.5"},
		{`{`, ``, "the task"},
	} {
		changed := strings.Replace(string(text), test.old, test.wrong, 1)
		_, _, err := readTask(strings.NewReader(changed), Served{Variants: variants})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s in place of %s: %v", test.wrong, test.old, err)
		}
	}
}

// TestGuestsTravel checks that the task has the kernel of the user's that a case names, once, and that
// a process that takes none refuses it.
func TestGuestsTravel(t *testing.T) {
	k := guest.Kernel{Name: "user/f", Source: "text", Symbol: "f", Type: "f32", Launch: guest.Launch{Grid: "M,N"}}
	v := guest.Variants(nil, []guest.Kernel{k})[0]
	var cases []Case
	for n := range 2 {
		cases = append(cases, Request{Variant: v, Type: "f32", Shape: gemm.Cube(8 + n), Op: "nn", Alpha: 1}.Case())
	}
	text, err := json.Marshal((&Driver{}).task(cases))
	if err != nil {
		t.Fatal(err)
	}
	var came []guest.Kernel
	_, got, err := readTask(bytes.NewReader(text), Served{Guests: func(kernels []guest.Kernel) []gemm.Variant {
		came = kernels
		return guest.Variants(nil, kernels)
	}})
	if err != nil || len(got) != 2 || got[1].identity() != cases[1].identity() || len(came) != 1 || came[0] != k {
		t.Errorf("%v, %v, %+v", err, got, came)
	}
	_, _, err = readTask(bytes.NewReader(text), Served{})
	if err == nil || !strings.Contains(err.Error(), `"user/f"`) {
		t.Errorf("without Guests: %v", err)
	}
}

func TestDecode(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"now":-1}`:                                          true,
		`{"row":{"params":{"threads":2}}}`:                    true,
		`{"row":{"params":{"threads":2.5}}}`:                  false,
		`{"trace":{"params":{"threads":2},"phases":[]}}`:      true,
		`{"trace":{"params":{"threads":2.5}}}`:                false,
		`{"found":{"measurements":[{"params":{"bytes":8}}]}}`: true,
		`{"done":true} {"done":true}`:                         false,
		`{"then":1}`:                                          false,
		`hello`:                                               false,
	} {
		if _, err := decode([]byte(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestSigns checks that there is a sign of life at once, one for each case that begins, and one
// every signEvery.
func TestSigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		variants := []gemm.Variant{onRanks("mpi/a", nil)}
		cases := []Case{
			Request{Variant: variants[0], Type: "f64", Shape: gemm.Cube(8)}.Case(),
			Request{Variant: variants[0], Type: "f64", Shape: gemm.Cube(9)}.Case(),
		}
		var out bytes.Buffer
		l := newLine(&out, cases, nil)
		stop := l.live()
		l.at(cases[1])
		l.at(cases[1])
		time.Sleep(2*signEvery + signEvery/2)
		stop()
		synctest.Wait()
		if want := strings.Repeat(`{"now":-1}`+"\n", 1) + strings.Repeat(`{"now":1}`+"\n", 3); out.String() != want {
			t.Errorf("signs %s, want %s", &out, want)
		}
	})
}

// TestLines checks that lines arrive whole, however they are written, and that a line without an
// end is cut.
func TestLines(t *testing.T) {
	gone := make(chan struct{})
	l := &lines{to: make(chan []byte, 4), gone: gone}
	for _, part := range []string{"a", "b\nc", "\n", "\nrest", strings.Repeat("x", mostLine)} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	for _, want := range []string{"ab", "c", "", "rest" + strings.Repeat("x", mostLine)} {
		if got := string(<-l.to); got != want {
			t.Errorf("%.20q, want %.20q", got, want)
		}
	}
	close(gone)
	for range 5 {
		if _, err := l.Write([]byte("x\n")); err != nil {
			return
		}
	}
	t.Error("lines are taken that nobody reads")
}
