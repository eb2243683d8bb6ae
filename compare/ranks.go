package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gemm"
	"gemm/internal/cpu"
	"gemm/internal/peak"
)

// Lead is what the driver of a process that leads ranks has besides.
type Lead struct {
	// Peak measures a ceiling on all ranks at once, each on so many threads. It fails
	// where the ranks are out of step.
	Peak func(pipe string, threads int, each time.Duration) (float64, error)
	// GiveUp ends the process, and all ranks with it: one of them hangs, or they are out of
	// step. The row of what is measured is on disk. It is called on any goroutine and does
	// not return.
	GiveUp func(reason string)
	// Now is told what is being measured. It may be nil.
	Now func(c Case)
}

// Launch has so many ranks of this program measure the Task in the folder, and returns
// when they have ended. The error says in one line what happened to them; it wraps
// gemm.ErrUnavailable where they cannot be started here. Where the context ends, the ranks
// are ended.
type Launch func(ctx context.Context, ranks int, folder string) error

// grace is how long after its limit a case on several ranks may come back: rank 0 cannot be
// called out of a message that it waits for.
const grace = 5 * time.Second

// errHung: a rank does not answer.
var errHung = errors.New("a rank hangs: nothing came back")

// pipeOf returns the pipe of ceilings that products of the type have.
func pipeOf(typ string) (pipe string, ok bool) { return typ, typ == "f32" || typ == "f64" }

// watch has lost called where stop is not within the limit and its grace; then stop does
// not return. A limit of 0 is none.
func (d *Driver) watch(limit time.Duration, lost func()) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit+cmp.Or(d.grace, grace), lost)
	return func() {
		if !timer.Stop() {
			select {}
		}
	}
}

// guard calls f and turns a panic into an error. A case on several ranks that does not come
// back, or leaves them out of step, is given up: nothing more can be measured on them.
func (d *Driver) guard(t *contender, limit time.Duration, f func() error) error {
	if d.Lead == nil || t.c.Ranks() == 0 {
		return guard(f)
	}
	if d.Lead.Now != nil {
		d.Lead.Now(t.c)
	}
	stop := d.watch(limit, func() { d.giveUp(t, errHung) })
	err := guard(f)
	stop()
	agreed := err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if errors.Is(err, errPanicked) || !agreed && d.outOfStep(t) {
		d.giveUp(t, err)
	}
	return err
}

// outOfStep reports whether the ranks no longer follow each other.
func (d *Driver) outOfStep(t *contender) bool {
	defer d.watch(time.Nanosecond, func() { d.giveUp(t, errHung) })()
	_, err := d.Lead.Peak("f64", 1, time.Millisecond)
	return err != nil
}

// giveUp puts the row of t, which err has ended, on disk and has the process end.
func (d *Driver) giveUp(t *contender, err error) {
	lost := *t
	lost.err = err
	r := d.finish(&lost)
	reason := fmt.Sprintf("%s: %s", t.c, r.Reason)
	if err := d.put([]Record{r}); err != nil {
		reason += ": " + err.Error()
	}
	d.Lead.GiveUp(reason)
}

// peak measures the ceiling of t in turn with it; ok is false for a type that has none.
func (d *Driver) peak(t *contender) (gflops float64, ok bool) {
	pipe, ok := pipeOf(t.c.Type)
	switch {
	case !ok:
		return 0, false
	case d.Lead == nil || t.c.Ranks() == 0:
		gflops, _ = peak.FMA(pipe, t.busy, ceilingTime)
		return gflops, true
	}
	err := t.guard(d.Budget.Timeout, func() (err error) {
		gflops, err = d.Lead.Peak(pipe, t.each(), ceilingTime)
		return err
	})
	return gflops, err == nil
}

// each returns the threads of a rank, as they are resolved.
func (t *contender) each() int {
	if t.explain != nil {
		if n, ok := t.explain()["threads"].(int); ok {
			return n
		}
	}
	return t.c.each()
}

// ceilingsOfRanks measures the peaks of multiply-adds at each number of threads of the
// cases on several ranks.
func (d *Driver) ceilingsOfRanks(ctx context.Context, cases []Case) error {
	if d.Lead == nil {
		return nil
	}
	defer d.watch(d.Budget.Timeout, func() { d.Lead.GiveUp(errHung.Error()) })()
	seen := map[int]bool{}
	for _, c := range cases {
		if c.Ranks() == 0 || seen[c.Threads()] {
			continue
		}
		seen[c.Threads()] = true
		for _, pipe := range []string{"f32", "f64"} {
			if ctx.Err() != nil {
				return nil
			}
			best := 0.0
			for range ceilingTries {
				gflops, err := d.Lead.Peak(pipe, c.each(), d.Ceilings)
				if err != nil {
					return err
				}
				best = max(best, gflops)
			}
			d.host.Ceilings = append(d.host.Ceilings, Ceiling{Unit: "cpu", Pipe: pipe, Threads: c.Threads(), Gflops: Number(best), Run: d.run.ID})
		}
	}
	return nil
}

// distribute puts what the ranks did into the row.
func (r *Record) distribute(x gemm.Distribution) {
	r.Ranks, r.RanksUsed = x.Ranks, x.Used
	r.BytesCounted, r.BytesPredicted, r.BytesBound = x.Counted, x.Predicted, x.Bound
	r.ModelSeconds = x.Model.Seconds()
	r.Warnings = append(r.Warnings, x.Warnings...)
	if each, ok := r.Resolved["threads"].(int); ok {
		r.Threads = each * len(x.Ranks)
	}
}

// oversubscribed returns why the ranks of a row do not run at the same time; empty where
// they do. h is the host of rank 0.
func (h Host) oversubscribed(r Record) string {
	ranks := map[string]int{} // by host
	processors := map[string]map[int]bool{}
	for _, x := range r.Ranks {
		ranks[x.Host]++
		if processors[x.Host] == nil {
			processors[x.Host] = map[int]bool{}
		}
		for _, id := range listed(x.CPUs) {
			processors[x.Host][id] = true
		}
	}
	for i, x := range r.Ranks {
		n, have := ranks[x.Host], len(processors[x.Host])
		threads := r.Threads / len(r.Ranks) * n
		if threads > have && have > 0 {
			return fmt.Sprintf("oversubscribed: %d ranks with %d threads on %d processors take turns, and their times are the scheduler's noise: ask for fewer ranks", n, threads, have)
		}
		if i == 0 && h.Quota.Known() && float64(threads) > float64(h.Quota) {
			return fmt.Sprintf("oversubscribed: %d threads of ranks on a quota of %.4g processors, whose control group stops them for part of the time: ask for fewer ranks", threads, float64(h.Quota))
		}
	}
	return ""
}

// listed returns the processors of a list such as 0-3,8.
func listed(list string) []int {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		hi := lo
		if ranged {
			if hi, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		for id := lo; id <= hi; id++ {
			out = append(out, id)
		}
	}
	return out
}

// runRanks measures cases on several ranks, those on as many in one go: all their turns are
// a task of ranks that are started together.
func (d *Driver) runRanks(ctx context.Context, cases []Case) error {
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b Case) int { return cmp.Compare(a.Ranks(), b.Ranks()) })
	for len(cases) > 0 {
		n := 1
		for n < len(cases) && cases[n].Ranks() == cases[0].Ranks() {
			n++
		}
		todo, err := d.admit(cases[:n])
		if err != nil {
			return err
		}
		taken := d.takenTurns()
		for _, turn := range turns(todo) {
			for _, part := range parts(turn, float64(cpu.Available())) {
				freeTurn(part, taken)
				copy(turn, part)
				turn = turn[len(part):]
			}
		}
		if err := d.launch(ctx, todo); err != nil {
			return err
		}
		cases = cases[n:]
	}
	return nil
}

// turns cuts cases where a turn ends. The parts share the memory of cases.
func turns(cases []Case) [][]Case {
	var out [][]Case
	for from, i := 0, 1; from < len(cases); i++ {
		if i == len(cases) || cases[i].Turn == "" || cases[i].Turn != cases[from].Turn {
			out = append(out, cases[from:i])
			from = i
		}
	}
	return out
}

// launch has ranks measure the cases, and starts others for what is left where one of them
// ends them. A case in whose product that happened has failed. The others of its turn are
// measured without a turn: they have lost the samples that they could be compared with.
func (d *Driver) launch(ctx context.Context, cases []Case) error {
	notes := map[string]string{} // warnings of rows, by what identifies them
	again := false
	for len(cases) > 0 {
		d.reclaim()
		a, err := d.attempt(ctx, cases, notes)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return a.done[c.key("")] })
		if len(left) == 0 {
			return nil
		}
		switch {
		case errors.Is(a.lost, gemm.ErrUnavailable):
			return d.fail(left, Unavailable, a.lost)
		case a.lost == nil:
			return d.fail(left, Failed, errors.New("the ranks ended and left no row"))
		case a.now < 0 && again:
			return d.fail(left, Failed, a.lost)
		case a.now < 0: // no case had begun: whatever is measured first, it may be the same
			again = true
			notes[left[0].key("")] = fmt.Sprintf("the ranks were started again: %v", a.lost)
			continue
		}
		culprit := cases[a.now]
		if !a.done[culprit.key("")] {
			status := Failed
			if errors.Is(a.lost, errSilent) {
				status = Timeout
			}
			if err := d.fail([]Case{culprit}, status, a.lost); err != nil {
				return err
			}
			left = slices.DeleteFunc(left, func(c Case) bool { return c.key("") == culprit.key("") })
		}
		for i, c := range left {
			if c.Turn != "" && c.Turn == culprit.Turn {
				notes[c.key("")] = fmt.Sprintf("measured apart: its turn was lost when %s ended the ranks: %v", culprit, a.lost)
				left[i].Turn = ""
			}
		}
		cases = left
	}
	return nil
}

// fail puts rows of cases that were not measured on disk.
func (d *Driver) fail(cases []Case, status Status, reason error) error {
	var records []Record
	for _, c := range cases {
		r := c.record()
		r.Host, r.Run, r.Status = d.host.ID, d.run.ID, status
		r.Reason = strings.TrimPrefix(reason.Error(), gemm.ErrUnavailable.Error()+": ")
		records = append(records, r)
		d.learn(c, r)
	}
	return d.put(records)
}

// attempt is one start of ranks for a task.
type attempt struct {
	done map[string]bool // cases whose rows are there, by what identifies them
	now  int             // the case that was being measured when the ranks ended; -1: none yet
	lost error           // what ended the ranks; nil: they were done
}

// errSilent: the ranks that were started show no sign of life.
var errSilent = errors.New("rank 0 hangs: it shows no sign of life")

// How often the driver looks for rows, and how long after the time limit of a row it waits
// for a sign of life: at first until all ranks have been started, and then until the next
// one. On a machine that is busy otherwise signs come late.
const (
	lookEvery = 200 * time.Millisecond
	bornTime  = time.Minute
	deadTime  = 8 * signEvery
)

// attempt starts ranks for the cases, and keeps their rows as they come. The error is that
// of the context or of the store.
func (d *Driver) attempt(ctx context.Context, cases []Case, notes map[string]string) (attempt, error) {
	a := attempt{done: map[string]bool{}, now: -1}
	folder, err := os.MkdirTemp("", "gemm-ranks-")
	if err != nil {
		return a, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	task := Task{Cases: cases, Budget: d.Budget, Seed: d.Seed, Ceilings: d.Ceilings, folder: folder}
	if err := task.write(); err != nil {
		return a, err
	}
	launched, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- d.Launch(launched, cases[0].Ranks(), folder) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var sign, state string // as they were seen last
	var begun []Case       // those that progress was told of
	heard, patience, silent := time.Now(), bornTime, false
	for over := false; !over; {
		select {
		case a.lost = <-ended:
			over = true
		case <-look.C:
		}
		if now, text := task.sign(); text != sign {
			sign, heard, patience = text, time.Now(), cmp.Or(d.dead, deadTime)
			if now >= 0 && now < len(cases) {
				a.now = now
				if turn := turnOf(cases, now); len(begun) == 0 || &begun[0] != &turn[0] {
					begun = turn
					d.Progress.Begin(turn)
				}
			}
		}
		limit, done := d.Budget.Timeout, len(a.done) == len(cases)
		if done { // they have only to end
			limit = 0
		}
		if !silent && (done || limit > 0) && time.Since(heard) > limit+patience {
			silent = true
			cancel()
		}
		if s := task.state(); s != state || over {
			state = s
			if err := d.adopt(task, a.done, notes, over); err != nil {
				cancel()
				if !over {
					<-ended
				}
				return a, err
			}
		}
	}
	if silent && ctx.Err() == nil {
		a.lost = errSilent
	}
	return a, ctx.Err()
}

// turnOf returns the cases that are in one turn with the one at i.
func turnOf(cases []Case, i int) []Case {
	for _, turn := range turns(cases) {
		if i < len(turn) {
			return turn
		}
		i -= len(turn)
	}
	return nil
}

// adopt keeps the rows of the task that are not done yet as rows of this run, and, at the
// end, what was measured beside them.
func (d *Driver) adopt(task Task, done map[string]bool, notes map[string]string, end bool) error {
	doc, err := Load(task.Records())
	if err != nil {
		return nil // the ranks have not come so far, and what they did write is whole
	}
	of := map[string]Case{}
	for _, c := range task.Cases {
		of[c.key("")] = c
	}
	var records []Record
	for _, r := range doc.Records {
		key := rowKey("", r)
		c, asked := of[key]
		if !asked || done[key] {
			continue
		}
		done[key] = true
		r.Host, r.Run = d.host.ID, d.run.ID
		if note, ok := notes[key]; ok {
			r.Warnings = append(r.Warnings, note)
		}
		d.learn(c, r)
		records = append(records, r)
	}
	if err := d.put(records); err != nil || !end {
		return err
	}
	for _, h := range doc.Hosts {
		for _, c := range h.Ceilings {
			if _, ok := d.ceiling(c.Pipe, c.Threads); !ok {
				c.Run = d.run.ID
				d.host.Ceilings = append(d.host.Ceilings, c)
			}
		}
	}
	for i := range doc.Measurements {
		doc.Measurements[i].Host, doc.Measurements[i].Run = d.host.ID, d.run.ID
	}
	return errors.Join(d.Store.PutHost(d.host), d.Store.PutMeasurements(doc.Measurements...))
}
