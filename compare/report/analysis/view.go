// Package analysis has the numbers of reports: what rows can be compared, what comparisons show, and what models and
// laws predict. It has no words; chapters and figures put words and marks to its results.
package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gemm"
	"gemm/compare/record"
)

// Processors returns the number of processors that a product may use on this host: the usable ones, or
// fewer if the quota is lower.
func (v *View) Processors() float64 {
	if v.Quota.Known() {
		return min(float64(v.Cores), float64(v.Quota))
	}
	return float64(v.Cores)
}

// Oversubscribed reports whether the given threads cannot run on the host at the same time. It returns
// false if the number of processors is not known.
func (v *View) Oversubscribed(threads int) bool { return v.Cores > 0 && v.Crowded(threads).Text != "" }

// Oversubscribes reports whether the threads of a row cannot run at the same time. Of ranks on several hosts, it
// looks at the host with the most. The others are taken to have as many processors as the first.
func (v *View) Oversubscribes(r record.Record) bool {
	threads := r.Threads
	if hosts := RanksOfHosts(r); len(hosts) > 1 {
		threads = threads / len(r.Ranks) * slices.Max(hosts)
	}
	return v.Oversubscribed(threads)
}

// DistinctSetting describes, like Setting, the parameters in which rows of a variant differ. For the family mpi, whose
// rows have many parameters, these are the ones that are not the same in all rows.
func (v *View) DistinctSetting(variant string, p gemm.Params) string {
	if Family(variant) != OverRanks.Family {
		return Setting(p)
	}
	alike, known := v.alike[variant]
	if !known {
		rows := v.Pick(func(r record.Record) bool { return r.Variant == variant })
		alike = Omit(append(rows, record.Record{})[0].Params, OverRanks.Param)
		maps.DeleteFunc(alike, func(name string, value any) bool {
			return slices.ContainsFunc(rows, func(r record.Record) bool { return r.Params[name] != value })
		})
		v.alike[variant] = alike
	}
	text := Setting(Omit(p, append(slices.Collect(maps.Keys(alike)), OverRanks.Param)...))
	if alike["threads"] == nil && p["threads"] != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s threads=%v", text, p["threads"]))
	}
	return text
}

// View is what one host contributed to a document. Rows are compared within a view only.
type View struct {
	record.Host
	Suffix       string // of anchors: empty, or "-" and the host's id if there are several
	Runs         []record.RunInfo
	Records      []record.Record  // without times of products that another variant computed: see Ran
	All          []record.Record  // with them: for tables of all rows
	Variants     []record.Variant // of the document, in report order
	Measurements []record.Measurement
	traces       []record.Trace
	floors       []Floor
	peaks        record.Peaks           // of all hosts
	alike        map[string]gemm.Params // by variant of the family mpi: what its rows share
}

// Views splits a document by host, in the document's order. A host that rows
// name but that is not described has only its id.
func Views(doc record.Document) []*View {
	doc = doc.WithPeaks().Declared(nil)
	peaks := doc.Peaks()
	declared := map[string]*record.Variant{}
	for i, of := range doc.Variants {
		declared[of.Name] = &doc.Variants[i]
	}
	hosts := func(h record.Host) string { return h.ID }
	runs := func(r record.RunInfo) string { return r.Host }
	records := func(r record.Record) string { return r.Host }
	measurements := func(m record.Measurement) string { return m.Host }
	traces := func(t record.Trace) string { return t.Host }
	ids := slices.Concat(Distinct(doc.Hosts, hosts), Distinct(doc.Runs, runs), Distinct(doc.Records, records),
		Distinct(doc.Measurements, measurements), Distinct(doc.Traces, traces))
	ids = Distinct(ids, func(id string) string { return id })
	var list []*View
	for _, id := range ids {
		v := &View{Variants: doc.Variants, peaks: peaks, alike: map[string]gemm.Params{},
			Runs: onHost(doc.Runs, runs, id), All: onHost(doc.Records, records, id),
			Measurements: onHost(doc.Measurements, measurements, id), traces: onHost(doc.Traces, traces, id)}
		v.Host, _ = Find(doc.Hosts, func(h record.Host) bool { return h.ID == id })
		v.ID = id
		for i := range v.All {
			v.All[i].Of = declared[v.All[i].Variant]
		}
		v.setNoise()
		v.Records = Pick(v.All, func(r record.Record) bool { return RanItself(r) || !r.Speed() })
		if len(ids) > 1 {
			v.Suffix = "-" + Anchor(id)
		}
		list = append(list, v)
	}
	return list
}

func onHost[R any](items []R, host func(R) string, id string) []R {
	return Pick(items, func(x R) bool { return host(x) == id })
}

// Pick returns the rows of the view that keep says to keep, without those that another variant computed.
func (v *View) Pick(keep func(record.Record) bool) []record.Record { return Pick(v.Records, keep) }

// Ladder returns the rows of the experiment ladder of one type, but for products on several GPUs.
func (v *View) Ladder(typ string) []record.Record { return v.Pick(inLadder(typ)) }

func inLadder(typ string) func(record.Record) bool {
	return func(r record.Record) bool {
		return r.Experiment == record.MainLadder && r.Type == typ && OverGPUs.Count(r) <= 1
	}
}

// Ceiling returns the measured peak of a type at a number of busy threads.
func (v *View) Ceiling(typ string, threads int) (record.Ceiling, bool) {
	return v.peaks.Of(v.ID, record.Ceiling{Unit: "cpu", Pipe: gemm.TypeNamed(typ).Pipe(), Threads: threads})
}

// Percent returns the speed of a row in percent of the peak, NaN if it is not known: see record.Peaks.
func Percent(r record.Record) float64 { return Known(r, r.PercentPeak) }

// HostShare is Percent of a product that begins and ends in the memory of the host.
func HostShare(r record.Record) float64 {
	return Percent(r) * float64(r.Median) / HostTime(r)
}

// Bandwidth returns the measured triad at a number of busy threads, the highest where several runs measured it.
func (v *View) Bandwidth(threads int) (record.Bandwidth, bool) {
	return v.bandwidth("cpu", "triad", threads)
}

func (v *View) bandwidth(unit, name string, threads int) (record.Bandwidth, bool) {
	return leastOf(v.Bandwidths, func(w record.Bandwidth) bool {
		return w.Unit == unit && w.Name == name && (unit != "cpu" || w.Threads == threads) && w.GBps > 0
	}, func(w record.Bandwidth) float64 { return -float64(w.GBps) })
}

// Peak is what was measured on a number of busy threads, NaN for what was not.
type Peak struct {
	Threads         int
	F64, F32, GF256 record.Number // 10⁹ operations or multiplications a second
	Memory          record.Number // GB/s
}

// PeaksByThreads returns the measured peaks of the processor, on as many threads as it has processors at most.
func (v *View) PeaksByThreads() []Peak {
	var out []Peak
	own := Pick(v.Ceilings, func(c record.Ceiling) bool {
		return c.Unit == "cpu" && (v.Cores == 0 || c.Threads <= v.Cores)
	})
	for _, n := range Ascending(own, func(c record.Ceiling) int { return c.Threads }) {
		of := func(typ string) record.Number {
			c, _ := v.Ceiling(typ, n)
			return positive(c.Gflops)
		}
		w, _ := v.Bandwidth(n)
		out = append(out, Peak{n, of("f64"), of("f32"), of("gf256"), positive(w.GBps)})
	}
	return out
}

// RooflinePoint is a row under the roofline of its host (Williams, Waterman and Patterson,
// Roofline: an insightful visual performance model, 2009).
type RooflinePoint struct {
	record.Record
	Intensity float64 // executed operations a byte of predicted traffic
	Rate      float64 // executed operations a second, in 10⁹
}

// RooflinePoint places a variant's row at its largest case, cubes preferred, under the
// roofline. It has no place without a prediction of operations and traffic.
func (v *View) RooflinePoint(rows []record.Record, variant string) (RooflinePoint, bool) {
	own := Pick(rows, func(r record.Record) bool {
		return r.Variant == variant && r.Predicted != nil && r.Predicted.Flops > 0 && r.Predicted.Traffic > 0
	})
	if cubes := Pick(own, func(r record.Record) bool { return ProblemOf(r).Cube() }); len(cubes) > 0 {
		own = cubes
	}
	if len(own) == 0 {
		return RooflinePoint{}, false
	}
	r := slices.MaxFunc(own, func(x, y record.Record) int {
		return cmp.Or(ProblemOf(x).Compare(ProblemOf(y)), cmp.Compare(len(y.Params), len(x.Params)))
	})
	return RooflinePoint{r, r.Predicted.Flops / r.Predicted.Traffic, r.Predicted.Flops / float64(r.Median) / 1e9}, true
}
