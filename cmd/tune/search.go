package tune

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/occupancy"
	"gemm/internal/sample"
)

// The rounds of a search. A turn has the default and the given number of other settings. The first
// round ends after the first share of the time, the second after the other.
const (
	turnOthers      = 7
	secondRoundSize = 5 // candidates in the second round
	finalists       = 2 // candidates in the third round
	firstEnd        = 0.6
	secondEnd       = 0.9
	leastSearch     = 40 * time.Second // least time of a task before another one begins
	realGPUGain     = 1.02             // least gain for a change; the intervals must also be disjoint
)

var (
	firstRound = plan.Budget{Reps: 3, Time: 10 * time.Millisecond, Timeout: 20 * time.Second,
		Patience: 300 * time.Millisecond}
	secondRound = plan.Budget{Reps: sample.MinForInterval, Time: 40 * time.Millisecond, Timeout: 20 * time.Second,
		Patience: time.Second}
	lastRound = plan.Budget{Reps: 3 * sample.MinForInterval, Time: 300 * time.Millisecond, Timeout: time.Minute,
		Patience: 2 * time.Second}
)

// gpuSearch searches the best settings of kernels on a GPU.
type gpuSearch struct {
	gpu cuda.GPU
	// measure measures interleaved cases, each verified before and after, on a worker that ignores tuned settings.
	measure func(ctx context.Context, cases []plan.Case, b plan.Budget) (record.Document, error)
	// decide is called with a choice and the rows of the default and of the best.
	decide   func(c GPUChoice, doc record.Document) error
	progress func(what string)
	now      func() time.Time
	until    time.Time
	GPUResult
	good map[string][]GPUSetting // by rung: the best settings of its other classes
}

// tasks returns the tasks of tuning on the GPU, the most used classes of shapes first. The first of
// them, users in number, are kernels that users choose.
func (s *gpuSearch) tasks() (tasks []GPUTask, users int) {
	capability, err := occupancy.ParseCapability(s.gpu.Capability)
	if err != nil {
		return nil, 0
	}
	var classes []cuda.Class
	for _, typ := range []string{"f32", "f64", "f16", "bf16", "gf256"} {
		for _, r := range cuda.Ladder(typ) {
			if len(r.Candidates(capability)) < 2 {
				continue
			}
			for _, class := range r.Classes(s.gpu) {
				shape := class.Shape(s.gpu)
				tasks = append(tasks,
					GPUTask{Type: typ, Rung: r.Name, Class: class, Shape: shape.String(), rung: r, shape: shape})
				if !slices.Contains(classes, class) {
					classes = append(classes, class)
				}
				if r.Role == gemm.Production {
					users++
				}
			}
		}
	}
	order := func(t GPUTask) int {
		n := slices.Index(classes, t.Class)
		if t.rung.Role != gemm.Production {
			n += len(classes)
		}
		return n
	}
	slices.SortStableFunc(tasks, func(a, b GPUTask) int { return cmp.Compare(order(a), order(b)) })
	return tasks, users
}

// run searches task after task until the time is over.
func (s *gpuSearch) run(ctx context.Context) error {
	s.good = map[string][]GPUSetting{}
	tasks, users := s.tasks()
	if len(tasks) == 0 {
		return gemm.Unavailablef("no kernel has settings to choose between on a %s of compute capability %s", s.gpu.Name,
			s.gpu.Capability)
	}
	for i, t := range tasks {
		left := s.until.Sub(s.now())
		if i > 0 && left < leastSearch/2 {
			s.Left = len(tasks) - i
			return nil
		}
		share := left / time.Duration(len(tasks)-i)
		if i < users {
			share = left / time.Duration(users-i)
		}
		if err := s.search(ctx, t, min(left, max(share, leastSearch))); err != nil {
			s.Left = len(tasks) - i
			return err
		}
	}
	return nil
}

// search finds the best setting for a task by successive halving: all candidates with few samples, the best ones with
// more samples, and the best of those with many, together with the default and cuBLAS.
func (s *gpuSearch) search(ctx context.Context, t GPUTask, d time.Duration) error {
	begin := s.now()
	within := func(share float64) time.Time { return begin.Add(time.Duration(share * float64(d))) }
	candidates := s.candidates(t)
	c := GPUChoice{GPUTask: t, Of: len(candidates), Gflops: record.None(), Gain: record.None(), Library: record.None()}
	best, tried, err := s.round(ctx, t, 1, candidates, firstRound, within(firstEnd))
	if err != nil {
		return err
	}
	c.Tried = tried
	if len(best) > 0 {
		again := s.neighbours(t, best[:min(secondRoundSize, len(best))])
		more, _, err := s.round(ctx, t, 2, again, secondRound, within(secondEnd))
		if err != nil {
			return err
		}
		if len(more) > 0 {
			best = more
		}
		key := t.Type + "/" + t.Rung
		s.good[key] = append(s.good[key], best[:min(secondRoundSize, len(best))]...)
	}
	doc, err := s.last(ctx, &c, best[:min(finalists, len(best))])
	if err != nil {
		return err
	}
	s.Chosen = append(s.Chosen, c)
	return s.decide(c, doc)
}

// candidates returns the settings to try for a task, in this order: the rung's default list, the settings that are
// good for its other classes, and all others. The others are ordered so that the first ones have tiles
// of all sizes. The split of k is left to the prediction.
func (s *gpuSearch) candidates(t GPUTask) []GPUSetting {
	capability, _ := occupancy.ParseCapability(s.gpu.Capability) // as in tasks
	var own, rest []GPUSetting
	for _, tile := range t.rung.Candidates(capability) {
		c := GPUSetting{Tile: tile.Name(), Stages: tile.Stages}
		if slices.Contains(t.rung.Tiles, tile) {
			own = append(own, c)
		} else {
			rest = append(rest, c)
		}
	}
	// Multiples of the golden section fill an interval evenly, however many there are.
	place := map[GPUSetting]float64{}
	for i, c := range rest {
		_, place[c] = math.Modf(float64(i) * math.Phi)
	}
	for _, g := range s.good[t.Type+"/"+t.Rung] {
		place[GPUSetting{Tile: g.Tile, Stages: g.Stages}] = -1
	}
	slices.SortStableFunc(rest, func(a, b GPUSetting) int { return cmp.Compare(place[a], place[b]) })
	return append(own, rest...)
}

// neighbours returns the settings, the first of them also with other numbers of parts of k.
func (s *gpuSearch) neighbours(t GPUTask, of []GPUSetting) []GPUSetting {
	out := slices.Clone(of)
	for _, e := range of[:min(finalists, len(of))] {
		tile, err := t.rung.ParseTile(e.Tile)
		if err != nil || e.Split == 0 {
			continue
		}
		parts := t.rung.Parts(tile, s.gpu, t.shape)
		for _, n := range []int{1, e.Split / 2, e.Split - 1, e.Split + 1, 2 * e.Split} {
			with := e
			with.Split = n
			if slices.Contains(parts, n) && !slices.Contains(out, with) {
				out = append(out, with)
			}
		}
	}
	return out
}

// round measures settings, interleaved with the default, until the time is over. It returns the settings
// other than the default, the fastest first, and how many were measured.
func (s *gpuSearch) round(ctx context.Context, t GPUTask, round int, from []GPUSetting, b plan.Budget,
	until time.Time) (best []GPUSetting, tried int, err error) {
	ratios := map[GPUSetting]record.Number{}
	var took time.Duration // time of a turn
	for turn := range slices.Chunk(from, turnOthers) {
		begin := s.now()
		if tried > 0 && begin.Add(took).After(until) {
			break
		}
		s.progress(fmt.Sprintf("%s round %d: %d of %d", t, round, tried, len(from)))
		rows, _, err := s.turn(ctx, t, round, turn, b)
		if err != nil {
			return nil, 0, err
		}
		took = s.now().Sub(begin)
		tried += len(turn)
		base := rows[0]
		if !base.Speed() { // last reports the reason
			return nil, tried, nil
		}
		for _, r := range rows[1:] {
			setting, ratio := resolvedSetting(r), ratioOf(base, r)
			if ratio.Known() && setting != resolvedSetting(base) {
				best, ratios[setting] = append(best, setting), ratio
			}
		}
	}
	slices.SortStableFunc(best, func(a, b GPUSetting) int { return cmp.Compare(ratios[b], ratios[a]) })
	return best, tried, nil
}

// turn measures the default, which is the first row, and other settings, interleaved, and stores them as trials. In
// the last round it also measures the library, if there is one.
func (s *gpuSearch) turn(ctx context.Context, t GPUTask, round int, others []GPUSetting,
	b plan.Budget) ([]record.Record, record.Document, error) {
	v := variant(cuda.Family + "/" + t.Rung)
	experiment := record.TuningTrials
	if round == 3 {
		experiment = record.TunedKernels
	}
	name := fmt.Sprintf("%s %s %s %s nn", experiment, v.Name, t.Type, t.Shape)
	row := func(v gemm.Variant, p gemm.Params) plan.Case {
		return plan.Request{
			Experiment: experiment, Variant: v, Type: t.Type, Shape: t.shape, Op: "nn", Alpha: 1, Params: p, Turn: name,
		}.Case()
	}
	cases := []plan.Case{row(v, gemm.Params{})}
	for _, o := range others {
		cases = append(cases, row(v, o.params()))
	}
	if round == 3 && t.Type != "gf256" {
		library := cuda.CuBLAS
		if cuda.IsTF32(t.Rung) {
			library = cuda.CuBLASTF32
		}
		cases = append(cases, row(variant(cuda.Family+"/"+library), gemm.Params{}))
	}
	doc, err := s.measure(ctx, cases, b)
	if err != nil {
		return nil, doc, err
	}
	var rows []record.Record
	for _, c := range cases {
		i := slices.IndexFunc(doc.Records,
			func(r record.Record) bool { return r.Variant == c.Variant.Name && maps.Equal(r.Params, c.Params) })
		if i < 0 {
			return nil, doc, fmt.Errorf("%s has no row", c)
		}
		rows = append(rows, doc.Records[i])
	}
	if rows[0].Status == record.Unavailable && len(s.Chosen) == 0 { // later, the settings found so far are worth more
		return nil, doc, gemm.Unavailablef("%s: %s", v.Name, rows[0].Reason)
	}
	for i, o := range others {
		r := rows[i+1]
		if r.Status == record.OK {
			o = resolvedSetting(r)
		}
		s.Trials = append(s.Trials,
			GPUTrial{GPUTask: t, Round: round, GPUSetting: o, Status: r.Status, Reason: r.Reason.Text, Gflops: r.Gflops,
				Ratio: ratioOf(rows[0], r)})
	}
	return rows, doc, nil
}

// ratioOf returns the ratio of the times of two rows, and none if one has no speed.
func ratioOf(of, over record.Record) record.Number {
	if !of.Speed() || !over.Speed() || !(over.Median > 0) {
		return record.None()
	}
	return of.Median / over.Median
}

// last measures the finalists, the default and cuBLAS. It stores in c which setting is best and whether it is used,
// and returns the rows.
func (s *gpuSearch) last(ctx context.Context, c *GPUChoice, left []GPUSetting) (record.Document, error) {
	s.progress(fmt.Sprintf("%s round 3", c.GPUTask))
	rows, doc, err := s.turn(ctx, c.GPUTask, 3, left, lastRound)
	if err != nil {
		return doc, err
	}
	base, others := rows[0], rows[1:1+len(left)]
	c.Default, c.Best, c.Gflops = resolvedSetting(base), resolvedSetting(base), base.Gflops
	doc.Records = rows[:1]
	if !base.Speed() {
		c.Note = fmt.Sprintf("the default is %s: %s", base.Status, base.Reason)
		return doc, nil
	}
	fastest := base
	var best record.Record
	for _, r := range others {
		if r.Speed() && (best.Variant == "" || r.Median < best.Median) {
			best = r
		}
	}
	if best.Variant == "" {
		c.Note = "no other setting was measured"
	} else {
		c.Best, c.Gain = resolvedSetting(best), ratioOf(base, best)
		c.Kept = c.Gain >= realGPUGain && base.CI != nil && best.CI != nil && best.CI[1] < base.CI[0]
		doc.Records = []record.Record{base, best}
	}
	if c.Kept {
		fastest, c.Gflops = best, best.Gflops
	}
	if len(rows) > 1+len(left) {
		c.Library = ratioOf(rows[1+len(left)], fastest)
	}
	return doc, nil
}
