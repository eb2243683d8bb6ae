package grade

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"gemm"
	"gemm/compare"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/internal/note"
	"gemm/internal/output"
	"gemm/internal/peer"
	"gemm/internal/sample"
	"gemm/user"
)

// Options are what is graded, and how.
type Options struct {
	Assignment Assignment
	In         string         // the folder of the submissions, or a student's own
	Out        string         // the folder of the results; empty: they are not kept
	Jobs       int            // submissions that are compiled at a time
	Resume     bool           // keep results in Out of the same files and the same assignment
	Time       time.Duration  // for the samples of a row; 0: 100 ms
	Variants   []gemm.Variant // that criteria may name
	// Device returns a kernel in CUDA as a variant, and Processes measure it.
	Device    func(k user.Kernel) ([]gemm.Variant, error)
	Processes run.Processes
	// Done is called with each result, and how many there are and will be. It may be nil.
	Done func(r Result, done, of int)
	// Warn is called with what submissions are not confined from. It may be nil.
	Warn func(text string)
}

// mostAgain is how often a submission is measured again whose interval spans more than a step of a criterion.
const mostAgain = 2

// grader grades submissions.
type grader struct {
	Options
	seed   uint64 // of the operands: students cannot know it
	shapes []shape
	others []gemm.Variant // that submissions are compared with
}

// Grade compiles all submissions, measures one after the other, and marks them. What is wrong with a submission is in
// its result. If ctx ends, the class has the results so far.
func Grade(ctx context.Context, o Options) (Class, error) {
	c := Class{Assignment: o.Assignment, Results: []Result{}}
	all, local, err := find(o.In)
	if err != nil {
		return c, err
	}
	scratch, err := output.NewScratch("grade")
	if err != nil {
		return c, err
	}
	defer scratch.Remove()
	// Without files of its own, the user that a kernel is confined to has to come through, but sees no names.
	if err := os.Chmod(scratch.Path, 0o711); err != nil {
		return c, err
	}
	g := grader{Options: o, seed: uint64(time.Now().UnixNano()), shapes: o.Assignment.shapes(!local)}
	if c.Unconfined, err = user.Unconfined(); err != nil {
		return c, fmt.Errorf("a kernel needs a process of its own: %w", err)
	}
	if len(c.Unconfined) > 0 && o.Warn != nil {
		o.Warn("this system does not confine submissions in: " + strings.Join(c.Unconfined, ", "))
	}
	if err := g.compare(ctx, scratch.Path); err != nil {
		return c, err
	}
	ready := make([]entry, len(all))
	defer func() {
		for _, e := range ready {
			e.close()
		}
	}()
	var group sync.WaitGroup
	jobs := make(chan struct{}, max(1, o.Jobs))
	for i := range all {
		group.Go(func() {
			jobs <- struct{}{}
			defer func() { <-jobs }()
			ready[i] = g.prepare(ctx, all[i], filepath.Join(scratch.Path, rand.Text()))
		})
	}
	group.Wait()
	for i := range ready {
		e := &ready[i]
		if ctx.Err() != nil {
			break
		}
		if !e.kept {
			if err := g.measure(ctx, e); err != nil {
				return c, err
			}
		}
		e.close()
		c.Results = append(c.Results, e.Result)
		o.Assignment.mark(c.Results[i:], !local)
		if err := g.save(c.Results[i]); err != nil {
			return c, err
		}
		if o.Done != nil {
			o.Done(c.Results[i], i+1, len(ready))
		}
	}
	o.Assignment.mark(c.Results, !local)
	return c, ctx.Err()
}

// compare finds what submissions are compared with, and checks that it can be measured. Without a criterion, it is the
// fastest variant of this suite.
func (g *grader) compare(ctx context.Context, scratch string) error {
	a := g.Assignment
	names := a.compared()
	switch {
	case a.Kernel.ABI == Program:
		folder := filepath.Join(scratch, ofReference)
		source := filepath.Join(folder, filepath.Base(a.Kernel.Reference))
		text, err := os.ReadFile(filepath.Join(a.folder, a.Kernel.Reference))
		if err := cmp.Or(err, os.Mkdir(folder, 0o755), os.WriteFile(source, text, 0o644)); err != nil {
			return fmt.Errorf("the reference of the assignment: %w", err)
		}
		v, _, err := g.openProgram(ctx, user.Kernel{Path: source}, folder, ofReference)
		if err != nil {
			return fmt.Errorf("the reference of the assignment: %w", err)
		}
		g.others, names = []gemm.Variant{v}, nil
	case len(names) == 0 && a.Kernel.ABI == user.CUDA:
		return nil
	case len(names) == 0:
		names = append(names, g.production())
	}
	for _, name := range names {
		v, _ := gemm.Lookup(g.Variants, name) // Read knows them
		g.others = append(g.others, v)
	}
	rows, err := g.turn(ctx, g.shapes[0], g.others)
	for _, r := range rows {
		if !r.Speed() && (a.Kernel.ABI != user.CUDA || r.Status != record.Unavailable) { // a host may have no GPU
			return fmt.Errorf("the rubric compares with %s, which is %s: %s", r.Variant, r.Status, r.Reason)
		}
	}
	return err
}

// production returns the variant that users choose for their products, on threads if the assignment has them.
func (g *grader) production() string {
	i := slices.IndexFunc(g.Variants, func(v gemm.Variant) bool {
		return v.Role == gemm.Production && v.Location == gemm.InProcess && v.Has("threads") == (g.Assignment.Rules.Threads > 1)
	})
	return g.Variants[i].Name
}

// limits are the limits of a kernel.
func (g *grader) limits() user.Limits {
	r := g.Assignment.Rules
	memory, _ := humanize.ParseBytes(r.Memory) // Read has the error
	return user.Limits{Memory: int64(memory), File: 64 << 20, Processes: 64 + r.Threads,
		Time: r.Time * time.Duration(r.Threads)}
}

// entry is a submission that is ready to be measured, or its fault.
type entry struct {
	Result
	kept     bool // it was measured before
	kernels  *user.Kernels
	variants []gemm.Variant // one; none: there is a fault
}

func (e *entry) close() {
	if e.kernels != nil {
		e.kernels.Close()
		e.kernels = nil
	}
}

// prepare copies a submission to the folder and compiles it.
func (g *grader) prepare(ctx context.Context, s submission, folder string) (e entry) {
	a := g.Assignment
	e.Submission, e.Rows = s.name, []record.Record{}
	err := s.copyTo(folder, a)
	e.Digest = s.digest
	if g.Resume && err == nil {
		if old, found := g.load(s.name); found && old.Digest == e.Digest {
			return entry{Result: old, kept: true}
		}
	}
	var k user.Kernel
	if err == nil {
		k, err = s.kernel(a)
	}
	if err == nil && k.CUDA() {
		e.variants, err = g.Device(k)
	} else if err == nil && a.Kernel.ABI == Program {
		var v gemm.Variant
		v, e.Compiler, err = g.openProgram(ctx, k, folder, e.name())
		e.variants = []gemm.Variant{v}
	} else if err == nil {
		err = os.Chmod(folder, 0o777) // for the user that a compiler is confined to; no other one sees the folder
		e.kernels, err = user.Open(ctx, []user.Kernel{k}, user.Options{Flags: a.Rules.Options + " -lm",
			Threads: a.Rules.Threads, Folder: folder, CompileTime: a.Rules.Compile, Forbidden: a.Rules.Forbidden,
			Limits: g.limits()})
		if err == nil {
			e.variants = e.kernels.Variants()
			e.Compiler = e.kernels.Said()[0]
			err = e.kernels.Faults()[0]
		}
	}
	e.Compiler = strings.ReplaceAll(e.Compiler, folder+"/", "")
	if err != nil {
		e.Fault = note.Read(output.Line(strings.ReplaceAll(err.Error(), folder+"/", "")))
	}
	return e
}

// measure measures the rows of a submission, and again while its marks are not sure. The error is the context's.
func (g *grader) measure(ctx context.Context, e *entry) error {
	for again := 0; e.Fault.Text == "" && again <= mostAgain; again++ {
		failed := record.OK
		for _, s := range g.shapes {
			variants := append(slices.Clone(e.variants), g.others...)
			precise := func(r record.Record) bool { return r.Shape != s.Shape || exact(r) }
			if again > 0 && !slices.ContainsFunc(e.Rows, func(r record.Record) bool { return !precise(r) }) {
				continue
			}
			var rows []record.Record
			if failed == record.Timeout { // larger ones take longer
				r := g.cases(s, variants[:1])[0].Row()
				r.Status, r.Reason = failed, note.New("grade-late")
				rows = []record.Record{r}
			} else {
				var err error
				if rows, err = g.turn(ctx, s, variants); err != nil {
					return err
				}
				failed = rows[0].Status
			}
			for _, r := range rows {
				if old := e.row(s.Shape, r.Variant); old.Variant != "" {
					pool(old, r)
				} else {
					e.Rows = append(e.Rows, r)
				}
			}
		}
		if g.sure(e.Result) {
			break
		}
	}
	return ctx.Err()
}

// exact reports whether another turn of a row is not needed.
func exact(r record.Record) bool {
	slow, fast := bounds(&r)
	return fast < 1.03*slow
}

// sure reports whether no interval of a ratio spans more than a step of a criterion.
func (g *grader) sure(r Result) bool {
	for _, c := range g.Assignment.Rubric {
		if c.Speed != "" && c.Speed != ofRank {
			if x := r.ratio(c.Speed); x.why == nil && c.points(x.hi)-c.points(x.lo) > 1.01*c.Step {
				return false
			}
		}
	}
	return true
}

// pool adds the samples of the same row in another turn.
func pool(r *record.Record, more record.Record) {
	if r.Status != record.OK || more.Status != record.OK {
		if r.Status == record.OK {
			*r = more
		}
		return
	}
	r.Samples = append(r.Samples, more.Samples...)
	s := sample.Summarize(r.Samples)
	ratio := r.Median / record.Number(s.Median)
	r.Median, r.Gflops, r.Rate = record.Number(s.Median), r.Gflops*ratio, r.Rate*ratio
	r.Ceiling, r.CI = max(r.Ceiling, more.Ceiling), nil
	if s.Bounded() {
		r.CI = &[2]float64{s.Lo, s.Hi}
	}
	if r.Ceiling > 0 {
		r.PercentPeak = 100 * r.Rate / record.Number(r.Ceiling)
	}
}

// cases returns the case of each variant at a shape, in one turn.
func (g *grader) cases(s shape, variants []gemm.Variant) (out []plan.Case) {
	for _, v := range variants {
		params := gemm.Params{}
		if v.Has("threads") && g.Assignment.Kernel.ABI != Program {
			params["threads"] = g.Assignment.Rules.Threads
		}
		out = append(out, plan.Request{Experiment: record.MainLadder, Variant: v, Type: g.Assignment.Kernel.Type,
			Shape: s.Shape, Alpha: 1, Params: params, Processors: runtime.GOMAXPROCS(0),
			Turn: "grade " + s.String()}.Case())
	}
	return out
}

// busy is how many times as long as its processor time a product may take, on a host with other load.
const busy = 5

// turn measures variants at a shape, interleaved. The rows are in their order.
func (g *grader) turn(ctx context.Context, s shape, variants []gemm.Variant) ([]record.Record, error) {
	var store record.Store
	each := cmp.Or(g.Time, 100*time.Millisecond)
	d := compare.Driver{Store: &store, Progress: compare.Quiet{}, Seed: g.seed, Ceilings: 2 * time.Millisecond,
		Processes: g.Processes, Budget: plan.Budget{Reps: sample.MinForInterval, Time: each, Exact: 1024, Bursts: 6,
			// A slow product is called several times too: the first call may be the only right one.
			Patience: max(10*each, g.Assignment.Rules.Time/2), Timeout: busy * g.Assignment.Rules.Time}}
	cases := g.cases(s, variants)
	err := d.Run(ctx, cases)
	if len(store.Document().Records) == len(cases) { // the error is of a kernel that hung, whose row says so
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	rows := make([]record.Record, len(cases))
	for _, r := range store.Document().Records {
		if r.Status == record.Timeout || strings.Contains(r.Reason.Text, peer.Late) {
			r.Status, r.Reason = record.Timeout, note.New("grade-time", g.Assignment.Rules.Time)
		}
		rows[slices.IndexFunc(cases, func(c plan.Case) bool { return c.Variant.Name == r.Variant })] = r
	}
	return rows, nil
}

// The file of a result in its folder.
const resultFile = "result.json"

// save writes a result into its folder.
func (g *grader) save(r Result) error {
	if g.Out == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", " ")
	folder := folderOf(g.Out, r.Submission)
	return cmp.Or(err, os.MkdirAll(folder, 0o755),
		output.Write(filepath.Join(folder, resultFile), append(text, '\n'), 0o644, true))
}

// load reads the result of a submission.
func (g *grader) load(submission string) (r Result, found bool) {
	text, err := os.ReadFile(filepath.Join(folderOf(g.Out, submission), resultFile))
	err = errors.Join(err, json.Unmarshal(text, &r))
	for _, row := range r.Rows {
		err = errors.Join(err, row.Params.Whole(), row.Resolved.Whole())
	}
	return r, err == nil
}
