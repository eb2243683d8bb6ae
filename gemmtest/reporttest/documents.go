package reporttest

import (
	"time"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
)

// Planted returns the records of one host with a peak, a bandwidth and a run.
func Planted(rows ...record.Record) record.Document {
	return record.Document{
		Schema: record.Schema,
		Hosts: []record.Host{{
			ID: "h1", CPU: "Test CPU", Sockets: 1, NUMA: 1, Cores: 2, Quota: 1.5, ISA: "avx2",
			Memory: 8 << 30, PagePolicy: "madvise", OS: "linux",
			Caches: []record.Cache{{Level: 1, Kind: "data", Bytes: 32 << 10, Line: 64, Shared: 1},
				{Level: 3, Kind: "unified", Bytes: 12 << 20, Line: 64, Shared: 2}},
			Ceilings: []record.Ceiling{
				{Unit: "cpu", Pipe: "f64", ISA: "avx2", Threads: 1, Gflops: 40, Run: "r1"},
				{Unit: "cpu", Pipe: "f32", ISA: "avx2", Threads: 1, Gflops: 80, Run: "r1"},
			},
			Bandwidths: []record.Bandwidth{{Unit: "cpu", Name: "triad", Threads: 1, GBps: 10, Run: "r1"}},
		}},
		Runs: []record.RunInfo{{
			ID: "r1", Host: "h1", Command: "gemm compare --profile quick --out report",
			Time: time.Date(2026, 5, 1, 8, 30, 0, 0, time.UTC), Git: "abc123", Go: "go1.26.0", GOAMD64: "v1",
			Libraries: map[string]string{"gonum.org/v1/gonum": "v0.17.0"},
		}},
		Records: rows,
	}.Declared(catalog.Variants())
}

// Many returns rows on a host of 16 processors, and the ladder with them.
func Many(rows ...record.Record) record.Document {
	doc := With(rows...)
	doc.Hosts[0].Cores, doc.Hosts[0].Quota = 16, record.None()
	return doc
}

// Shares returns rows of every kind on a host with two processors, and the percent of the peak of each. What the
// rows say of it is another number: they were measured before the peaks.
func Shares() (record.Document, []float64) {
	doc := With()
	peak := func(unit, pipe string, device, threads int, gflops float64) record.Ceiling {
		return record.Ceiling{Unit: unit, Pipe: pipe, Device: device, Threads: threads, Gflops: record.Number(gflops),
			Run: "r1"}
	}
	doc.Hosts[0].Cores = 2
	doc.Hosts[0].Ceilings = []record.Ceiling{peak("cpu", "f64", 0, 1, 90), peak("cpu", "f64", 0, 2, 200),
		peak("cpu", "f64", 0, 8, 700), peak("cpu", "gf256", 0, 1, 50), peak("gpu", "f32", 0, 1, 1000),
		peak("gpu", "f32", 1, 1, 500)}
	var wants []float64
	doc.Records = nil
	add := func(want, speed float64, variant string, change func(*record.Record)) {
		r := Row(variant, 64, 2*64*64*64/speed/1e9, change)
		r.Rate, r.PercentPeak = record.Number(speed), 12.3
		if r.Type == "gf256" {
			r.Gflops = record.None()
		}
		doc.Records, wants = append(doc.Records, r), append(wants, want)
	}
	many := func(n int, resolved gemm.Params) func(*record.Record) {
		return func(r *record.Record) { r.Threads, r.Params, r.Resolved = n, gemm.Params{"threads": n}, resolved }
	}
	ranked := func(ranks, used int, grid string) func(*record.Record) {
		return func(r *record.Record) {
			r.Threads, r.Params, r.RanksUsed, r.Ceiling = ranks, gemm.Params{"ranks": ranks}, used, 650
			r.Resolved = gemm.Params{"ranks": ranks, "grid": grid}
			for i := range ranks {
				r.Ranks = append(r.Ranks, record.Rank{Rank: i, Host: "a", CPUs: "0-1"})
			}
		}
	}
	add(50, 50, "serial/hinted", func(r *record.Record) { r.Ceiling = 100 }) // the highest on one thread
	add(40, 40, "serial/ikj", func(r *record.Record) { r.Ceiling = 60 })
	add(150, 150, "serial/packed", func(*record.Record) {})
	add(110, 110, "serial/strassen", func(r *record.Record) {
		r.Predicted = &record.Predicted{Flops: 0.8 * 2 * 64 * 64 * 64}
	})
	add(50, 100, "parallel/packed", many(2, nil))
	add(45, 90, "parallel/rows", many(16, nil)) // of two processors
	add(30, 30, "parallel/tiles", many(2, gemm.Params{"gomaxprocs": 1}))
	add(60, 120, "mpi/summa", ranked(8, 8, "2x4"))
	add(20, 20, "mpi/cannon", func(r *record.Record) {
		ranked(2, 1, "1x1")(r)
		r.Ceiling = 0
	})
	add(50, 25, "serial/blocked", func(r *record.Record) { r.Type = "gf256" })
	for device, want := range []float64{45, 90} {
		add(want, 450, "cuda/smem", func(r *record.Record) {
			r.Type, r.Params, r.Resolved = "f32", gemm.Params{"device": device}, gemm.Params{"device": device}
			r.GPU = &record.Device{Pipe: "f32"}
		})
	}
	return doc, wants
}
