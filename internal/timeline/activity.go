package timeline

import (
	"cmp"
	"slices"
	"time"
)

// Phase is one activity of a rank, or of a stream of a GPU. Phases without a call follow each other
// on a lane. A phase with a call lies inside of one without: it is a part of it.
type Phase struct {
	Lane  int     `json:"lane"`           // rank or stream
	Name  string  `json:"phase"`          // as in the phases of a row, or Waiting
	Call  string  `json:"call,omitempty"` // what was called during the phase, such as send or a kernel
	Peer  *int    `json:"peer,omitempty"` // the rank that was called, or the GPU that was copied from, if it was one
	Bytes int64   `json:"bytes,omitempty"`
	Begin float64 `json:"begin_s"` // seconds after the first lane began
	End   float64 `json:"end_s"`
}

// Waiting is the phase of a rank that has nothing to do until others have finished. It is in no total.
const Waiting = "wait"

// Activity has the phases of the ranks of a product, or of the streams of a GPU.
type Activity struct {
	// Lanes names the streams of a GPU. It is empty if the lanes are ranks.
	Lanes []string `json:"lanes,omitempty"`
	GPUs  int      `json:"gpus,omitempty"` // that the lanes are of; 0: one
	// Phases are sorted by lane and then by time; a phase precedes its parts.
	Phases []Phase `json:"phases,omitempty"`
	// ClockError is the largest error of the times of one lane relative to another lane, in
	// seconds. It is 0 if all lanes read the same clock.
	ClockError float64 `json:"clock_error_s,omitempty"`
	// Inside is what groups of warps did inside of the kernel that multiplies, on some multiprocessors of a GPU.
	Inside []Group `json:"inside,omitempty"`
	// Cut is the time after which phases are left out, because there are too many. 0: none are.
	Cut float64 `json:"cut_s,omitempty"`
}

// Group is a group of warps of a block on a GPU, as it worked through its steps.
type Group struct {
	Multiprocessor int    `json:"multiprocessor"`
	Block          int    `json:"block"`
	Role           string `json:"role"`      // producer, consumer or worker, which is both
	Warpgroup      int    `json:"warpgroup"` // of the block
	Phases         []Step `json:"phases"`
}

// Step is one activity of a group: wait, copy, multiply or store.
type Step struct {
	Name  string  `json:"phase"`
	Begin float64 `json:"begin_s"` // seconds after the first lane of the product began
	End   float64 `json:"end_s"`
}

// Shifted returns the groups with all times later by the given seconds.
func Shifted(groups []Group, by float64) []Group {
	var out []Group
	for _, g := range groups {
		g.Phases = slices.Clone(g.Phases)
		for i := range g.Phases {
			g.Phases[i].Begin += by
			g.Phases[i].End += by
		}
		out = append(out, g)
	}
	return out
}

// limitedSteps returns the groups with at most the given number of steps: those that begin late are left out.
func limitedSteps(groups []Group, most int) []Group {
	var begins []float64
	for _, g := range groups {
		for _, p := range g.Phases {
			begins = append(begins, p.Begin)
		}
	}
	if len(begins) <= most {
		return groups
	}
	slices.Sort(begins)
	var out []Group
	for _, g := range groups {
		g.Phases = slices.DeleteFunc(slices.Clone(g.Phases), func(p Step) bool { return p.Begin >= begins[most] })
		if len(g.Phases) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// Limited returns a with at most the given number of phases. The calls are left out first. If that is not enough,
// phases that begin late are left out on all lanes, from one time on. The same holds for the steps of groups.
func (a Activity) Limited(most int) Activity {
	a.Inside = limitedSteps(a.Inside, most)
	if len(a.Phases) > most {
		a.Phases = slices.DeleteFunc(slices.Clone(a.Phases), func(p Phase) bool { return p.Call != "" })
	}
	if len(a.Phases) > most {
		var begins []float64
		for _, p := range a.Phases {
			begins = append(begins, p.Begin)
		}
		slices.Sort(begins)
		a.Cut = begins[most]
		a.Phases = slices.DeleteFunc(a.Phases, func(p Phase) bool { return p.Begin >= a.Cut })
	}
	return a
}

// Sort sorts phases by lane and then by time, a phase before its parts.
func Sort(phases []Phase) {
	slices.SortStableFunc(phases, func(a, b Phase) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Begin, b.Begin), cmp.Compare(b.End, a.End),
			cmp.Compare(a.Call, b.Call))
	})
}

// SetActivity records the activity of the ranks or the streams of the product.
func (t *Recorder) SetActivity(a Activity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.activity = a
}

// mostNoted is the most phases that Note adds: the phases of 1 TiB of shards.
const mostNoted = 1 << 20

// Note adds a phase that began at the given time and ends now, on the lane with the name. The times of the calls in
// it are relative to its beginning.
func (t *Recorder) Note(lane string, p Phase, begin time.Time, calls []Phase) {
	p.Begin, p.End = begin.Sub(t.begun).Seconds(), time.Since(t.begun).Seconds()
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &t.activity
	for len(a.Lanes) <= p.Lane {
		a.Lanes = append(a.Lanes, "")
	}
	a.Lanes[p.Lane] = lane
	if len(a.Phases)+len(calls) >= mostNoted {
		return
	}
	a.Phases = append(a.Phases, p)
	for _, call := range calls {
		a.Phases = append(a.Phases, Phase{Lane: p.Lane, Name: p.Name, Call: call.Name, Bytes: call.Bytes,
			Begin: p.Begin + call.Begin, End: p.Begin + call.End})
	}
}

// Activity returns what SetActivity or Note noted.
func (t *Recorder) Activity() Activity {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.activity
	a.Phases = slices.Clone(a.Phases)
	Sort(a.Phases)
	return a
}

// Stage is a part of a product from and to the host's memory.
type Stage struct {
	Name  string `json:"name"`  // copy in, kernel or copy out
	Begin int64  `json:"begin"` // nanoseconds since 1970
	End   int64  `json:"end"`
}
