package timeline_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"gemm/internal/timeline"
)

func TestRecorder(t *testing.T) {
	if got := timeline.Of(t.Context()); got != nil {
		t.Errorf("a context without a timeline has %v", got)
	}
	var line timeline.Recorder
	ctx := timeline.With(t.Context(), &line)
	if got := timeline.Of(ctx); got != &line {
		t.Fatalf("the context has %p, want %p", got, &line)
	}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			for i := range 10 {
				line.Add(worker, i, i+1, time.Now())
			}
		})
	}
	wg.Wait()
	spans := line.Spans()
	if len(spans) != 30 {
		t.Fatalf("%d spans, want 30", len(spans))
	}
	for i, s := range spans {
		if s.Worker != i/10 || s.From != i%10 || s.To != s.From+1 {
			t.Errorf("span %d is %+v", i, s)
		}
		if !(s.Begin >= 0) || !(s.End >= s.Begin) {
			t.Errorf("span %d lasts from %v to %v", i, s.Begin, s.End)
		}
	}
}

// TestBounded adds more chunks than are kept. Their time must be kept.
func TestBounded(t *testing.T) {
	var line timeline.Recorder
	timeline.With(t.Context(), &line)
	const chunks = 1 << 16
	begin := time.Now()
	for i := range chunks {
		line.Add(0, i, i+1, begin) // each is longer than the one before
	}
	spans := line.Spans()
	if len(spans) == 0 || len(spans) > 1<<14 {
		t.Fatalf("%d spans", len(spans))
	}
	if first, last := spans[0], spans[len(spans)-1]; first.From != 0 || last.To != chunks {
		t.Errorf("from %d to %d, want 0 to %d", first.From, last.To, chunks)
	}
	for i := 1; i < len(spans); i++ {
		if spans[i].From != spans[i-1].To {
			t.Fatalf("span %d begins at %d, the one before ends at %d", i, spans[i].From, spans[i-1].To)
		}
		if !(spans[i].End >= spans[i].Begin) {
			t.Fatalf("span %d lasts from %v to %v", i, spans[i].Begin, spans[i].End)
		}
	}
}

func TestJoinedSpans(t *testing.T) {
	var spans []timeline.Span
	for worker := range 2 {
		at := 0.0
		for i, gap := range []float64{0, 3, 1, 2} {
			at += gap
			from := 10*worker + i
			spans = append(spans, timeline.Span{Worker: worker, From: from, To: from + 1, Begin: at, End: at + 1})
			at++
		}
	}
	for most, want := range map[int]string{
		99: "0: 0-1 1-2 2-3 3-4; 1: 10-11 11-12 12-13 13-14",
		8:  "0: 0-1 1-2 2-3 3-4; 1: 10-11 11-12 12-13 13-14",
		7:  "0: 0-1 1-3 3-4; 1: 10-11 11-12 12-13 13-14",
		5:  "0: 0-1 1-4; 1: 10-11 11-13 13-14",
		2:  "0: 0-4; 1: 10-14",
		1:  "0: 0-4; 1: 10-14",
	} {
		lines := make([]string, 2)
		busy := make([]float64, 2)
		end := make([]float64, 2)
		for _, s := range timeline.Join(spans, most) {
			if s.Begin < end[s.Worker] {
				t.Errorf("at most %d: %+v begins before the end of another", most, s)
			}
			lines[s.Worker] += fmt.Sprintf(" %d-%d", s.From, s.To)
			busy[s.Worker] += s.End - s.Begin
			end[s.Worker] = s.End
		}
		if got := "0:" + lines[0] + "; 1:" + lines[1]; got != want || busy[0] != 4 || busy[1] != 4 {
			t.Errorf("at most %d: %s, busy for %v, want %s, 4 each", most, got, busy, want)
		}
	}
}

func TestLimited(t *testing.T) {
	var a timeline.Activity
	for lane := range 2 {
		for i := range 3 {
			at := float64(2*i + lane)
			a.Phases = append(a.Phases, timeline.Phase{Lane: lane, Name: "compute", Begin: at, End: at + 1},
				timeline.Phase{Lane: lane, Name: "compute", Call: "steal", Begin: at, End: at + 1})
		}
	}
	for most, want := range map[int]struct {
		phases int
		cut    float64
	}{12: {12, 0}, 11: {6, 0}, 6: {6, 0}, 4: {4, 4}, 1: {1, 1}, 0: {0, 0}} {
		got := a.Limited(most)
		if len(got.Phases) != want.phases || got.Cut != want.cut || len(a.Phases) != 12 {
			t.Errorf("at most %d: %d phases, cut at %v; want %d, %v", most, len(got.Phases), got.Cut, want.phases,
				want.cut)
		}
	}
}

// TestLimitedInside cuts the steps of groups of warps: those that begin late are left out of all groups.
func TestLimitedInside(t *testing.T) {
	steps := func(begins ...float64) (out []timeline.Step) {
		for _, at := range begins {
			out = append(out, timeline.Step{Name: "wait", Begin: at, End: at + 1})
		}
		return out
	}
	a := timeline.Activity{Inside: []timeline.Group{{Phases: steps(0, 2, 4)}, {Block: 1, Phases: steps(1, 3)},
		{Block: 2, Phases: steps(5)}}}
	for most, want := range map[int]string{6: "[3 2 1]", 4: "[2 2]", 1: "[1]", 0: "[]"} {
		var got []int
		for _, g := range a.Limited(most).Inside {
			got = append(got, len(g.Phases))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("at most %d: %v steps of the groups, want %s", most, got, want)
		}
	}
	shifted := timeline.Shifted(a.Inside, 10)
	if p := shifted[1].Phases[1]; p.Begin != 13 || p.End != 14 || a.Inside[1].Phases[1].Begin != 3 {
		t.Errorf("shifted by 10: %+v", p)
	}
}

func TestWithout(t *testing.T) {
	var line timeline.Recorder
	if got := timeline.Of(timeline.Without(timeline.With(t.Context(), &line))); got != nil {
		t.Errorf("there is still %v", got)
	}
}
