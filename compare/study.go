package compare

import (
	"slices"

	"gemm"
)

// study is an experiment on threads, of square matrices in f64.
type study struct {
	experiment string // as in a Case
	variants   []string
	sizes      []int
	sweep      map[string][]any
	timeline   bool
}

// baselines are the variants that speed-ups are quoted over: the fastest serial one,
// and the plain loop that the variants with threads begin from.
var baselines = []string{"serial/packed", "serial/ikj"}

// cases returns the rows of s for those of the given variants that it is about, and for
// the baselines among them.
func (s study) cases(variants []gemm.Variant) []Case {
	among := func(names []string) []gemm.Variant {
		return slices.DeleteFunc(slices.Clone(variants), func(v gemm.Variant) bool { return !slices.Contains(names, v.Name) })
	}
	l := Ladder{
		Experiment: s.experiment, Variants: among(s.variants), Shapes: cubes(s.sizes), Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1, Sweep: s.sweep, Timeline: s.timeline,
	}
	if len(l.Variants) == 0 {
		return nil
	}
	l.Baselines = among(baselines)
	return l.Cases()
}

// threadCounts returns 1, 2, 4, … and the number of processors.
func threadCounts(processors int) []any {
	var counts []any
	for n := 1; n < processors; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, processors)
}

// quickStudies are what the profile quick has of the experiments on threads: enough to
// see that they scale, that chunks matter or do not, and what imbalance does.
func quickStudies(threads []any) []study {
	rows, sizes := []string{"parallel/rows"}, []int{256}
	schedules := []any{"static", "dynamic", "guided"}
	return []study{
		{"strong", rows, sizes, map[string][]any{"threads": threads, "schedule": schedules}, false},
		{"chunk", rows, sizes, map[string][]any{"threads": threads, "schedule": schedules, "chunk": {0, 16}}, false},
		{"load", rows, sizes, map[string][]any{"threads": last(threads), "schedule": schedules, "load": {4}}, true},
	}
}

// studies are the experiments on threads. Sizes are such that a product of a slow
// variant on one thread takes seconds at most.
func studies(threads []any) []study {
	schedules := []any{"static", "dynamic", "guided", "auto"}
	scheduled := func(schedules ...any) map[string][]any {
		return map[string][]any{"threads": threads, "schedule": schedules}
	}
	return []study{
		{"strong", []string{"parallel/rows"}, []int{128, 256, 512, 1024, 2048}, scheduled(schedules...), false},
		{"strong", []string{"parallel/collapse-atomic", "parallel/collapse-reduce", "parallel/tiles"}, []int{256, 512, 1024}, scheduled(schedules...), false},
		{"strong", []string{"parallel/collapse-atomic", "parallel/collapse-reduce", "parallel/tiles"}, []int{2048}, scheduled("static", "dynamic"), false},
		{"strong", []string{"parallel/collapse-inner-atomic"}, []int{256, 512}, scheduled(schedules...), false},
		{"strong", []string{"parallel/inner"}, []int{256}, scheduled("static", "dynamic", "guided"), false},
		{"strong", []string{"parallel/packed", "parallel/strassen"}, []int{512, 1024, 2048, 4096}, map[string][]any{"threads": threads}, false},
		{"weak", []string{"parallel/rows", "parallel/tiles", "parallel/packed"}, []int{512}, map[string][]any{"threads": threads}, false},
		{"weak", []string{"parallel/packed"}, []int{1024}, map[string][]any{"threads": threads}, false},
		{"chunk", []string{"parallel/rows", "parallel/collapse-reduce"}, []int{512}, map[string][]any{
			"threads": threads, "schedule": {"static", "dynamic", "guided"}, "chunk": {0, 1, 4, 16, 64, 256},
		}, false},
		{"affinity", []string{"parallel/packed", "parallel/rows"}, []int{1024}, map[string][]any{
			"threads": threads, "affinity": {"none", "close", "spread"},
		}, false},
		{"gomaxprocs", []string{"parallel/packed", "parallel/rows"}, []int{1024}, map[string][]any{
			"threads": threads, "gomaxprocs": threads,
		}, false},
		{"load", []string{"parallel/rows"}, []int{512}, map[string][]any{
			"threads": last(threads), "schedule": schedules, "load": {4},
		}, true},
	}
}

// last returns the last of the values alone.
func last(values []any) []any { return values[len(values)-1:] }
