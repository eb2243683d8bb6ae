package reporttest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/internal/note"
)

// Variants returns what documents say of all variants of the suite.
var Variants = sync.OnceValue(func() []record.Variant {
	return record.Document{}.Declared(catalog.Variants()).Variants
})

// Variant returns what they say of one; nil of one that the suite does not have.
func Variant(variant string) *record.Variant {
	all := Variants()
	if i := slices.IndexFunc(all, func(v record.Variant) bool { return v.Name == variant }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Row returns an ok row of an n×n×n product with 20 samples, all within 0.1 % of
// the given seconds: rows whose times differ by more are distinguishable.
func Row(variant string, n int, seconds float64, change ...func(*record.Record)) record.Record {
	r := record.Record{
		Key: record.Key{
			Host: "h1", Experiment: record.MainLadder, Variant: variant,
			Problem: record.Problem{Type: "f64", Op: "nn", Alpha: 1, Shape: gemm.Cube(n), LDA: n, LDB: n, LDC: n},
		},
		Run: "r1", Compute: "f64", Threads: 1, Params: gemm.Params{}, Resolved: gemm.Params{},
		Status: record.OK, Inner: 1, Unit: "GFLOP/s", Rate: record.None(), DataGBps: record.None(),
		Residual: 1e-16, Bound: 1e-14, BoundKind: gemm.Componentwise,
	}
	r.Of = Variant(variant)
	Sampled(20, seconds)(&r)
	r.PercentPeak = r.Gflops / 40 * 100
	work := 2 * math.Pow(float64(n), 3)
	r.Predicted = &record.Predicted{Flops: work, Accesses: 2 * work, Workspace: 4096, L1Traffic: work, L2Traffic: work,
		Traffic: work}
	for _, f := range change {
		f(&r)
	}
	return r
}

// Sampled gives a row n samples about the given seconds.
func Sampled(n int, seconds float64) func(*record.Record) {
	return func(r *record.Record) {
		r.Samples = nil
		for i := range n {
			r.Samples = append(r.Samples, seconds*(1+1e-4*(float64(i)-float64(n-1)/2)))
		}
		r.Median = record.Number(seconds)
		r.CI = nil
		if n >= 6 {
			r.CI = &[2]float64{r.Samples[n/4], r.Samples[n-1-n/4]}
		}
		r.Gflops = record.Number(2 * float64(r.M) * float64(r.N) * float64(r.K) / seconds / 1e9)
	}
}

// WithStatus gives a row an outcome other than ok: it has no speed then.
func WithStatus(status record.Status, reason string) func(*record.Record) {
	return func(r *record.Record) {
		r.Status, r.Reason, r.Samples, r.CI = status, note.Read(reason), nil, nil
		r.Median, r.Gflops, r.PercentPeak = record.None(), record.None(), record.None()
		if status != record.Wrong {
			r.Residual, r.Bound = record.None(), record.None()
		}
	}
}

// Predicted gives a row a prediction.
func Predicted(p record.Predicted) func(*record.Record) {
	return func(r *record.Record) { r.Predicted = &p }
}

// Unpredicted takes the prediction from a row.
func Unpredicted(r *record.Record) { r.Predicted = nil }

// Experiment makes a row one of an experiment.
func Experiment(name record.Experiment) func(*record.Record) {
	return func(r *record.Record) { r.Experiment = name }
}

// Turn puts a row into a group of interleaved contenders.
func Turn(id string) func(*record.Record) { return func(r *record.Record) { r.Turn = id } }

// Ladder returns three sizes of naive, ikj and packed.
func Ladder() []record.Record {
	var rows []record.Record
	for _, n := range []int{64, 128, 256} {
		s, work := math.Pow(float64(n)/64, 3), 2*math.Pow(float64(n), 3)
		traffic := func(accesses, l1, last float64) func(*record.Record) {
			return Predicted(record.Predicted{Flops: work, Accesses: accesses * work, L1Traffic: l1 * work,
				L2Traffic: min(4, l1) * work, Traffic: last * work})
		}
		rows = append(rows, Row("serial/naive", n, 1e-3*s, traffic(1, 8, 8)),
			Row("serial/ikj", n, 1e-4*s, traffic(1.5, 1, 1)),
			Row("serial/packed", n, 5e-5*s, traffic(0.5, 0.125, 0.125)))
	}
	return rows
}

// With returns the rows of the ladder and more.
func With(more ...record.Record) record.Document { return Planted(append(Ladder(), more...)...) }

// Single makes a row one of float32.
func Single(r *record.Record) { r.Type, r.Compute = "f32", "f32" }

// OnRanks changes a row to a row of an experiment of the family mpi on the given ranks, with a turn
// for each number of ranks and with other parameters, given as names and values. The ranks from 1
// on compute for half of the time; rank 0 distributes for a quarter of it.
func OnRanks(experiment record.Experiment, ranks int, params ...any) func(*record.Record) {
	return func(r *record.Record) {
		ThreadsOf(experiment, 1, params...)(r)
		r.Params["ranks"], r.Threads = ranks, ranks
		r.Turn = fmt.Sprintf("mpi %s %d, %d ranks", experiment, r.N, ranks)
		r.RanksUsed, r.BytesCounted, r.BytesPredicted, r.BytesBound = ranks, 300, 300, 200
		if ranks == 1 {
			r.BytesCounted, r.BytesPredicted, r.BytesBound = 0, 0, 0
		}
		r.ModelSeconds = float64(r.Median) / 2
		r.Phases = map[string]float64{"compute": float64(r.Median) / 2}
		for i := range ranks {
			phases := map[string]float64{"compute": float64(r.Median) / 2}
			if i == 0 {
				phases = map[string]float64{"distribute": float64(r.Median) / 4}
			}
			r.Ranks = append(r.Ranks, record.Rank{Rank: i, Host: "node1", CPUs: fmt.Sprint(i), Phases: phases})
		}
	}
}

// OnHosts puts the ranks of a row on that many hosts, neighbours together.
func OnHosts(hosts int, rows ...record.Record) []record.Record {
	for i, r := range rows {
		for j := range r.Ranks {
			r.Ranks[j].Host = fmt.Sprint("node", 1+j*hosts/len(r.Ranks))
		}
		if hosts > 1 {
			rows[i].Hosts = hosts
		}
	}
	return rows
}

// RankRows returns rows of a variant at n = 256 that take the given milliseconds by ranks.
func RankRows(variant string, ms map[int]float64, params ...any) []record.Record {
	var rows []record.Record
	for _, ranks := range slices.Sorted(maps.Keys(ms)) {
		rows = append(rows, Row("mpi/"+variant, 256, ms[ranks]/1e3, OnRanks("strong", ranks, params...)))
	}
	return OnLocal("serial/naive", rows...)
}

// Kernel returns a row of the family cuda for f32 operands at n.
func Kernel(name string, n int, seconds float64, change ...func(*record.Record)) record.Record {
	return Row("cuda/"+name, n, seconds, append([]func(*record.Record){Single, func(r *record.Record) {
		r.Turn = fmt.Sprint("cuda ", r.Experiment, n)
		r.GPU = &record.Device{Pipe: "f32", Registers: 100, Threads: 256, Blocks: 64, Occupancy: 0.5,
			Limit: []string{"registers"}, Clock: 1900, L2: "cold"}
		r.PercentPeak = 50
		work := math.Pow(float64(n), 3)
		r.Predicted = &record.Predicted{Flops: 2 * work, Accesses: work}
		switch name {
		case "f16x3":
			r.Compute, r.GPU.Pipe, r.Residual, r.Bound = "f16x3", "f16", 1e-7, 1e-5
		case "tf32-mma", "tf32-wgmma", "tf32-wgmma-ws", "tf32-wgmma-persistent", "cublas-tf32", "torch-tf32":
			r.Compute, r.GPU.Pipe, r.Residual, r.Bound = "tf32", "tf32", 1e-3, 1e-2
		case "dmma", "dmma-wmma":
			r.GPU.Pipe = "f64-tensor"
		}
	}}, change...)...)
}

// Double makes a row of kernel one of f64.
func Double(r *record.Record) {
	r.Type, r.Compute = "f64", "f64"
	if r.GPU.Pipe == "f32" {
		r.GPU.Pipe = "f64"
	}
}

// Copied gives a row times of copies.
func Copied(to, from, host float64) func(*record.Record) {
	return func(r *record.Record) {
		r.Phases = map[string]float64{"h2d": to, "d2h": from}
		if host > 0 {
			r.Phases["host"] = host
		}
	}
}

// Of makes a row one of an experiment with a parameter.
func Of(name record.Experiment, param string, value any) func(*record.Record) {
	return func(r *record.Record) {
		r.Experiment, r.Params, r.Resolved = name, gemm.Params{param: value}, gemm.Params{param: value}
		r.Turn = fmt.Sprint("cuda ", name, r.N)
	}
}

// ThreadsOf changes a row to a row of an experiment on the given threads, with other parameters,
// given as names and values.
func ThreadsOf(experiment record.Experiment, threads int, params ...any) func(*record.Record) {
	return func(r *record.Record) {
		r.Experiment, r.Threads, r.Params = experiment, threads, gemm.Params{"threads": threads}
		for i := 0; i < len(params); i += 2 {
			r.Params[params[i].(string)] = params[i+1]
		}
	}
}

// OnLocal makes a variant compute the parts of workers in rows that do not name another one.
func OnLocal(local string, rows ...record.Record) []record.Record {
	for i, r := range rows {
		rows[i].Resolved = maps.Clone(r.Resolved)
		rows[i].Resolved["local"] = cmp.Or(r.Params["local"], any(local))
	}
	return rows
}

// Scaled returns rows of parallel/rows that take the given milliseconds by threads, in one turn.
func Scaled(experiment record.Experiment, ms map[int]float64, params ...any) []record.Record {
	var rows []record.Record
	for _, p := range slices.Sorted(maps.Keys(ms)) {
		rows = append(rows, Row("parallel/rows", 256, ms[p]/1e3, ThreadsOf(experiment, p, params...),
			Turn(string(experiment))))
	}
	return rows
}

// Swept returns rows of parallel/rows on 4 threads, one for each value of a parameter,
// that take the given milliseconds, in one turn.
func Swept(experiment record.Experiment, param string, values []any, ms []float64, params ...any) []record.Record {
	var rows []record.Record
	for i, value := range values {
		rows = append(rows, Row("parallel/rows", 256, ms[i]/1e3,
			ThreadsOf(experiment, 4, append([]any{param, value}, params...)...), Turn(string(experiment))))
	}
	return rows
}
