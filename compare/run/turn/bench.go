// Package turn measures cases in this process, a turn at a time: it prepares all cases of the turn, checks their
// products of integers, takes samples in interleaved bursts (A B A B), and verifies the results.
//
// Files in the order of a measurement: bench.go and turn.go; candidate.go, one case of the turn; product.go, batch.go,
// iterate.go and operands.go, what it multiplies; bursts.go; telemetry.go, the power and the timeline; outcome.go, the
// row.
package turn

import (
	"context"
	"runtime"
	"time"

	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/internal/cpu"
)

// Bench measures turns. It is used by one goroutine.
type Bench struct {
	Budget   plan.Budget
	Seed     uint64
	Ceilings time.Duration // time to measure each peak and each bandwidth; 0: none is measured
	Lead     *Lead         // on rank 0 of a job, or in the worker of a GPU; otherwise nil
	Grace    time.Duration // after its limit in which a case on ranks or a device may still return; 0: the default
	Host     record.Host   // with the ceilings that have been measured
	Run      string        // id of the run
	// Abandon stores the row of a case that is given up, after which the process ends; hosts says which hosts do not
	// answer any more, and is nil if all do. It may be nil.
	Abandon func(row record.Record, hosts error) error

	operands operandCaches // of the last case
}

// Measure measures the cases of one turn: prepare all, sample them in interleaved bursts, check the results. It
// returns their rows, and the timelines that they request. If there are several cases, the ceiling is
// measured after some of the bursts, at the case's number of threads. If the context is cancelled, Measure returns its
// error and no rows, since rows are complete only after the last burst.
func (b *Bench) Measure(ctx context.Context, cases []plan.Case) ([]record.Record, []record.Trace, error) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	if onFastest(cases) {
		most := 1
		for _, c := range cases {
			most = max(most, c.Threads(), processors(c, procs))
		}
		runtime.GOMAXPROCS(1)
		defer pinFastest(ctx, cases[0].Pipe(), most)()
	}
	t := turn{b: b, budget: b.Budget, procs: procs,
		candidates: make([]*candidate, len(cases)), peaks: map[int][]float64{}}
	defer t.close()
	began := cpu.ReadTicks()
	t.begin(ctx, cases)
	t.sample(ctx)
	stolen := cpu.ReadTicks().StolenSince(began)
	t.followUp(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	records, traces := t.finish(ctx)
	for i := range records {
		records[i].Steal = stolen
	}
	return records, traces, nil
}

// Free frees the operands of the last case.
func (b *Bench) Free() { b.operands = operandCaches{} }
