package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gemm/compare/note"
	"gemm/internal/cpu"
	"gemm/internal/output"
	"gemm/internal/peak"
	"gemm/mpi/account"
)

// Lead is the additional part of a driver on rank 0 of a job, or in the worker of a device.
type Lead struct {
	// Peak measures a ceiling on all ranks at the same time, with the given threads on each. It
	// fails if the ranks are out of step. It is nil in the worker of a device.
	Peak func(pipe string, threads int, each time.Duration) (float64, error)
	// Lost reports whether the device can compute nothing more for this process. It is nil on rank 0.
	Lost func() bool
	// GiveUp ends the process, and with it all ranks, because a rank hangs, the ranks are out of
	// step, or the device is lost. The row in progress is in the store then. GiveUp is called on
	// any goroutine, and does not return.
	GiveUp func(reason string)
	// Silent returns the hosts of ranks that do not answer any more. It is nil if nobody asks them.
	Silent func() []string
	// Now is called with the case in progress. It may be nil.
	Now func(c Case)
}

// Launch starts the given number of ranks of this program, which measure the task in the folder, and
// returns when they have ended. The error says in one line why they ended early. It wraps
// gemm.ErrUnavailable if ranks cannot be started here. If the context ends, Launch ends the ranks.
type Launch func(ctx context.Context, ranks int, folder string) error

// grace is the time after its limit in which a case on several ranks may still return: rank 0 cannot
// abandon a message that it waits for.
const grace = 5 * time.Second

// A rank, or the device, does not return from a product.
var (
	errHung    = errors.New("a rank hangs: nothing came back")
	errEndless = errors.New("the device hangs: nothing came back")
)

// errLost says that the device can compute nothing more.
var errLost = errors.New("the device was lost in this product")

// watch calls lost unless stop is called within the limit and grace; if lost was called, stop does
// not return. A limit of 0 means none.
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

// guard calls f and turns a panic into an error. It gives up a case on ranks or on a device if f does
// not return in time, or if the ranks are out of step or the device is lost afterwards: then nothing
// more can be measured.
func (d *Driver) guard(t *contender, limit time.Duration, f func() error) error {
	if d.Lead == nil || t.c.Ranks() == 0 && !t.c.OnDevice() {
		return guard(f)
	}
	hung := errHung
	if t.c.OnDevice() {
		hung = errEndless
	}
	d.now(t.c)
	stop := d.watch(limit, func() { d.giveUp(t, hung) })
	err := guard(f)
	stop()
	agreed := err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	switch {
	case errors.Is(err, errPanicked), t.c.Ranks() > 0 && !agreed && d.outOfStep(t):
		d.giveUp(t, err)
	case d.Lead.Lost != nil && d.Lead.Lost() && !errors.Is(err, context.Canceled):
		d.giveUp(t, cmp.Or(err, errLost))
	}
	return err
}

// now informs Lead of the case in progress.
func (d *Driver) now(c Case) {
	if d.Lead != nil && d.Lead.Now != nil {
		d.Lead.Now(c)
	}
}

// outOfStep reports whether the ranks do not make the same calls any more.
func (d *Driver) outOfStep(t *contender) bool {
	defer d.watch(time.Nanosecond, func() { d.giveUp(t, errHung) })()
	_, err := d.Lead.Peak("f64", 1, time.Millisecond)
	return err != nil
}

// giveUp stores the row of t, which err has ended, and ends the process.
func (d *Driver) giveUp(t *contender, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errTimeout
	}
	gone := d.Lead.silent()
	if gone != nil {
		err = fmt.Errorf("%w: %w", gone, err)
	}
	lost := *t
	lost.err = err
	r := d.finish(&lost)
	reason := fmt.Sprintf("%s: %s", t.c, r.Reason)
	if err := d.put([]Record{r}); err != nil {
		reason += ": " + err.Error()
	}
	if gone != nil && d.gone != nil {
		d.gone(gone)
	}
	d.Lead.GiveUp(reason)
}

// silent returns an error that names the hosts that do not answer any more; nil: all do, or
// nobody asks them.
func (l *Lead) silent() error {
	if l.Silent == nil {
		return nil
	}
	switch hosts := l.Silent(); len(hosts) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("host %s does not answer any more", hosts[0])
	default:
		return fmt.Errorf("hosts %s do not answer any more", strings.Join(hosts, ", "))
	}
}

// peak measures the ceiling of t, between bursts. ok is false on a device, which has no ceiling of
// its own in a turn, and if ctx has ended.
func (d *Driver) peak(ctx context.Context, t *contender) (gflops float64, ok bool) {
	switch {
	case t.c.OnDevice():
		return 0, false
	case d.Lead == nil || t.c.Ranks() == 0:
		gflops, _ = peak.FMA(ctx, t.c.pipe(), t.busy, ceilingTime)
		return gflops, ctx.Err() == nil
	}
	err := t.guard(d.Budget.Timeout, func() (err error) {
		gflops, err = d.Lead.Peak(t.c.pipe(), t.each(), ceilingTime)
		return err
	})
	return gflops, err == nil
}

// each returns the resolved number of threads of a rank.
func (t *contender) each() int {
	if t.explain != nil {
		if n, ok := t.explain()["threads"].(int); ok {
			return n
		}
	}
	return t.c.each()
}

// ceilingsOfRanks measures the peaks at each total number of threads of the cases on ranks.
func (d *Driver) ceilingsOfRanks(ctx context.Context, cases []Case) error {
	if d.Lead == nil || d.Lead.Peak == nil {
		return nil
	}
	defer d.watch(d.Budget.Timeout, func() { d.Lead.GiveUp(errHung.Error()) })()
	seen := map[int]bool{}
	for _, c := range cases {
		if c.Ranks() == 0 || seen[c.Threads()] {
			continue
		}
		seen[c.Threads()] = true
		for _, pipe := range pipes(cases) {
			best := 0.0
			for range ceilingTries {
				if ctx.Err() != nil {
					return nil
				}
				gflops, err := d.Lead.Peak(pipe, c.each(), d.Ceilings)
				if err != nil {
					return err
				}
				best = max(best, gflops)
			}
			d.host.Ceilings = append(d.host.Ceilings,
				Ceiling{Unit: "cpu", Pipe: pipe, Threads: c.Threads(), Gflops: Number(best), Run: d.run.ID})
		}
	}
	return nil
}

// distribute adds to the row what the ranks did.
func (r *Record) distribute(x account.Distribution) {
	r.Ranks, r.RanksUsed = x.Ranks, x.Used
	r.BytesCounted, r.BytesPredicted, r.BytesBound = x.Counted, x.Predicted, x.Bound
	r.BytesBetween, r.BytesBetweenPredicted = x.CountedBetween, x.PredictedBetween
	r.ModelSeconds, r.ModelLatency = x.Model.Seconds, x.Model.Latency
	r.ModelTransfer, r.ModelCompute = x.Model.Transfer, x.Model.Compute
	r.Warnings = append(r.Warnings, x.Warnings...)
	if each, ok := r.Resolved["threads"].(int); ok {
		r.Threads = each * len(x.Ranks)
	}
}

// outsideGrid returns the number of ranks that are not in the grid of the product. They may have
// helped others of their host. It returns 0 if there is no grid.
func (r Record) outsideGrid() int {
	grid, ok := r.Resolved["grid"].(string)
	if !ok {
		return 0
	}
	inside := 1
	for side := range strings.SplitSeq(grid, "x") {
		n, err := strconv.Atoi(side)
		if err != nil {
			return 0
		}
		inside *= n
	}
	return max(0, len(r.Ranks)-inside)
}

// processorsOf returns the processors that the ranks on each host may use.
func processorsOf(ranks []account.Rank) map[string]map[int]bool {
	out := map[string]map[int]bool{}
	for _, x := range ranks {
		for _, id := range cpu.ParseList(x.CPUs) {
			if out[x.Host] == nil {
				out[x.Host] = map[int]bool{}
			}
			out[x.Host][id] = true
		}
	}
	return out
}

// oversubscribed returns a warning if the ranks of a row have to share processors, otherwise the zero
// note. h // is the host of rank 0.
func (h Host) oversubscribed(r Record) note.Note {
	ranks, processors := map[string]int{}, processorsOf(r.Ranks) // by host
	for _, x := range r.Ranks {
		ranks[x.Host]++
	}
	for i, x := range r.Ranks {
		n, have := ranks[x.Host], len(processors[x.Host])
		threads := r.Threads / len(r.Ranks) * n
		if threads > have && have > 0 {
			return note.New("oversubscribed", n, threads, have)
		}
		if i == 0 && h.Quota.Known() && float64(threads) > float64(h.Quota) {
			return note.New("rank-quota", threads, fmt.Sprintf("%.4g", float64(h.Quota)))
		}
	}
	return note.Note{}
}

// ranks is the process that a Launch starts: count ranks. They read the task from a file and write
// messages to another.
type ranks struct {
	launch Launch
	count  int
}

// Reasons for ranks that never show a sign of life, or stop to.
var (
	errUnborn = fmt.Errorf("the ranks have not begun within %v: use fewer ranks", bornTime)
	errSilent = errors.New("rank 0 hangs: it shows no sign of life")
)

func (ranks) names() names {
	return names{"the ranks", "the ranks were started again", errUnborn, errSilent}
}

// run implements process.
func (r ranks) run(ctx context.Context, task []byte, out io.Writer) error {
	scratch, err := output.NewScratch("ranks")
	if err != nil {
		return err
	}
	defer scratch.Remove()
	if err := os.WriteFile(filepath.Join(scratch.Path, taskFile), task, 0o600); err != nil {
		return err
	}
	messages, err := os.OpenFile(filepath.Join(scratch.Path, messageFile), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = messages.Close() }()
	ended := make(chan error, 1)
	go func() { ended <- r.launch(ctx, r.count, scratch.Path) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			_, lost := io.Copy(out, messages)
			return cmp.Or(err, lost)
		case <-look.C: // copies what has come since the last look
			if _, err := io.Copy(out, messages); err != nil {
				return errors.Join(err, <-ended)
			}
		}
	}
}

// meet implements process.
func (ranks) meet(d *Driver, f found) (string, error) {
	d.adopt(f, "cpu")
	return d.run.ID, errors.Join(d.Store.PutHost(d.host), d.Store.PutMeasurements(f.Measurements...))
}

// complete implements process.
func (ranks) complete(*Driver, *Record) {}
