package chapters_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
	"gemm/internal/timeline"
)

// onRanks is a row of a variant on ranks that take the given milliseconds: 3/4 of them compute, and the rest send.
func onRanks(variant string, ranks int, ms float64, change ...func(*record.Record)) record.Record {
	return row("mpi/"+variant, 256, ms/1e3, append([]func(*record.Record){
		ranksOf("strong", ranks), func(r *record.Record) {
			for i := range r.Ranks {
				r.Ranks[i].Phases = map[string]float64{"communicate": ms / 4e3, "compute": 3 * ms / 4e3}
			}
		}}, change...)...)
}

// pinged adds messages of some bytes that take the given seconds.
func pinged(d *record.Document, params gemm.Params, bytes int, seconds float64) {
	p := gemm.Params{"bytes": bytes}
	for name, value := range params {
		p[name] = value
	}
	d.Measurements = append(d.Measurements, record.Measurement{Host: "h1", Run: "r1", Name: "ping-pong", Unit: "s",
		Params: p, Samples: []float64{seconds, seconds, seconds}})
}

// mpi returns the chapter on ranks of records.
func mpi(t *testing.T, lang string, doc record.Document) string {
	t.Helper()
	return section(t, fill(t, lang, doc), "paper-mpi")
}

// TestMessagesOfVariants looks at the table of what messages cost.
func TestMessagesOfVariants(t *testing.T) {
	modelled := func(r *record.Record) { r.ModelSeconds, r.ModelLatency, r.ModelTransfer = 2e-3, 1e-4, 3e-4 }
	doc := many(onRanks("scatter-rows", 4, 4, modelled), onRanks("summa", 4, 1), onRanks("summa", 2, 9),
		onRanks("summa", 32, 0.1), onRanks("cannon", 4, 2, func(r *record.Record) {
			r.Ranks, r.Phases, r.ModelSeconds, r.BytesCounted = nil, nil, math.NaN(), 0
		}))
	text := section(t, fill(t, "en", doc), "mpi-measurements")
	has(t, text, "| `scatter-rows` | rank 0 | 4.00 ms | 25.0 % | 2.00 ms | 400 µs | 2.00 | 300 B | 1.50 |",
		"| `summa` | all ranks | 1.00 ms | 25.0 % | 500 µs | — | 2.00 | 300 B | 1.50 |",
		"| `cannon` | all ranks | 2.00 ms | — | — | — | — | — | — |")
	hasNot(t, text, "NaN", "Inf", "9.00 ms", "100 µs |", "Between hosts")
	has(t, mpi(t, "en", doc), "n = 256, 4 ranks, f64", "Cost of the messages")
	doc.Records = reporttest.OnHosts(2, onRanks("summa", 2, 1, func(r *record.Record) { r.BytesBetween = 2048 }))
	text = mpi(t, "en", doc)
	has(t, text, "| Between hosts |", "| 1.50 | 2 KiB |", "n = 256, 2 ranks on 2 hosts, f64.")
	hasNot(t, text, "of it messages")
}

// TestScalingOverHosts looks at the table of rows on several hosts.
func TestScalingOverHosts(t *testing.T) {
	doc := many(slices.Concat(reporttest.RankRows("summa", map[int]float64{1: 8}),
		reporttest.OnHosts(2, reporttest.RankRows("summa", map[int]float64{2: 5})...),
		reporttest.OnHosts(4, reporttest.RankRows("summa", map[int]float64{4: 2.5})...),
		reporttest.RankRows("bcast-rows", map[int]float64{1: 8}),
		reporttest.OnHosts(2, reporttest.RankRows("bcast-rows", map[int]float64{2: 10})...))...)
	has(t, mpi(t, "en", doc), "| `summa` | ranks/host=1 | 4 | 2.50 ms | 3.20 | 80.0 % |",
		"| `bcast-rows` | ranks/host=1 | 2 | 10.0 ms | 0.800 | 40.0 % |")
	one := many(reporttest.RankRows("summa", map[int]float64{1: 8, 2: 5, 4: 2.5})...)
	hasNot(t, mpi(t, "en", one), "over hosts")
}

// TestLinks looks at latency and bandwidth: of one pair, on the fewest ranks.
func TestLinks(t *testing.T) {
	doc := many(onRanks("summa", 2, 1))
	pinged(&doc, gemm.Params{"ranks": 16}, 1, 1)
	pinged(&doc, gemm.Params{"ranks": 16}, 9, 2)
	for i, size := range []int{1 << 20, 1, 1<<30 + 1} {
		pinged(&doc, gemm.Params{"ranks": 2}, size, []float64{9, 2e-6, 2e-6 + 0.5}[i])
	}
	has(t, mpi(t, "en", doc), "Messages between two ranks: α = 2.00 µs, 1/β = 2 GiB/s.")
	doc.Measurements = nil
	for _, path := range []string{"inside", "between"} {
		for _, pairs := range []string{"one", "all"} {
			each := map[string]float64{"inside one": 1, "inside all": 8, "between one": 4, "between all": 16}[path+" "+pairs]
			pinged(&doc, gemm.Params{"ranks": 4, "path": path, "pairs": pairs}, 0, each*1e-6)
			pinged(&doc, gemm.Params{"ranks": 4, "path": path, "pairs": pairs}, 1<<30, each*1e-6+each)
		}
	}
	has(t, mpi(t, "en", doc), "between ranks of one host: α = 1.00 µs, 1/β = 1 GiB/s.",
		"between ranks of two hosts: α = 4.00 µs, 1/β = 256 MiB/s.")
	doc.Measurements = doc.Measurements[:1]
	hasNot(t, mpi(t, "en", doc), "α =")
}

// TestClocksOfRanks looks at the error of the clocks under the timeline of ranks.
func TestClocksOfRanks(t *testing.T) {
	doc := many(onRanks("summa", 2, 1))
	hasNot(t, mpi(t, "en", doc), "mpi-timeline")
	trace := record.Trace{Run: "r1", Workers: 2, Seconds: 3e-3, Key: record.Key{Host: "h1", Variant: "mpi/summa",
		Problem: record.Problem{Type: "f64", Op: "nn", Alpha: 1, Shape: gemm.Cube(256)},
	}}
	trace.Ranks, trace.Phases = []record.Rank{{Rank: 0}, {Rank: 1}}, []timeline.Phase{{Name: "compute", End: 1e-3}}
	doc.Traces = []record.Trace{trace}
	text := mpi(t, "en", doc)
	has(t, text, "mpi-timeline.svg")
	hasNot(t, text, "clocks")
	doc.Traces[0].ClockError = 2e-5
	has(t, mpi(t, "en", doc), "clocks of the hosts agree within 20.0 µs")
}

// TestHostsWithRanks checks that each host has its part, named, and that a host without ranks has none.
func TestHostsWithRanks(t *testing.T) {
	doc := joined(many(onRanks("summa", 2, 1)), many(onRanks("cannon", 2, 2)), many())
	text := mpi(t, "en", doc)
	has(t, text, "**Test CPU**", "**CPU h2**", "with as many ranks that compute — Test CPU.",
		"figures/mpi-phases-f64-h2.svg")
	hasNot(t, text, "CPU h3", "-h3.svg")
}

// TestOddRanks has rows on ranks that no measurement or no common setting explains: the tables have no other values.
func TestOddRanks(t *testing.T) {
	single := onRanks("summa", 2, 1, reporttest.Single)
	for name, doc := range map[string]record.Document{
		"no number of ranks": bare(row("mpi/summa", 256, 1e-3)), "another type": bare(single),
		"nothing sent": many(onRanks("cannon", 2, 1, func(r *record.Record) { r.BytesCounted, r.RanksUsed = 0, 1 })),
		"one failed": many(onRanks("summa", 2, 1), onRanks("summa", 4, 1,
			reporttest.WithStatus(record.Failed, "x"))),
		"another experiment":   many(onRanks("summa", 2, 1, experiment(record.PanelWidths))),
		"no samples":           many(onRanks("summa", 2, 1, sampled(1, 1e-3)), onRanks("summa", 1, 1)),
		"hosts of other sizes": many(reporttest.OnHosts(2, onRanks("summa", 3, 1), onRanks("summa", 1, 2))...),
	} {
		text := section(t, mpi(t, "en", doc), "mpi-measurements")
		hasNot(t, text, "NaN", "Inf", "<no value>", "%!")
		if strings.Count(text, "|") < 8 && !strings.Contains(text, "appendix#rows") {
			t.Errorf("%s: there is nothing in\n%s", name, text)
		}
	}
	has(t, mpi(t, "en", many(single)), "2 ranks, f32.", "mpi-phases-f32.svg")
}
