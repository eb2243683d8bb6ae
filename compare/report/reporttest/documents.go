package reporttest

import (
	"time"

	"gemm/compare"
)

// Planted returns the records of one host with a peak, a bandwidth and a run.
func Planted(rows ...compare.Record) compare.Document {
	return compare.Document{
		Schema: compare.Schema,
		Hosts: []compare.Host{{
			ID: "h1", CPU: "Test CPU", Sockets: 1, NUMA: 1, Cores: 2, Quota: 1.5, ISA: "avx2",
			Memory: 8 << 30, PagePolicy: "madvise", OS: "linux",
			Caches: []compare.Cache{{Level: 1, Kind: "data", Bytes: 32 << 10, Line: 64, Shared: 1},
				{Level: 3, Kind: "unified", Bytes: 12 << 20, Line: 64, Shared: 2}},
			Ceilings: []compare.Ceiling{
				{Unit: "cpu", Pipe: "f64", ISA: "avx2", Threads: 1, Gflops: 40, Run: "r1"},
				{Unit: "cpu", Pipe: "f32", ISA: "avx2", Threads: 1, Gflops: 80, Run: "r1"},
			},
			Bandwidths: []compare.Bandwidth{{Unit: "cpu", Name: "triad", Threads: 1, GBps: 10, Run: "r1"}},
		}},
		Runs: []compare.RunInfo{{
			ID: "r1", Host: "h1", Command: "gemm compare --profile quick --out report",
			Time: time.Date(2026, 5, 1, 8, 30, 0, 0, time.UTC), Git: "abc123", Go: "go1.26.0", GOAMD64: "v1",
			Libraries: map[string]string{"gonum.org/v1/gonum": "v0.17.0"},
		}},
		Records: rows,
	}
}

// Many returns rows on a host of 16 processors, and the ladder with them.
func Many(rows ...compare.Record) compare.Document {
	doc := With(rows...)
	doc.Hosts[0].Cores, doc.Hosts[0].Quota = 16, compare.None()
	return doc
}
