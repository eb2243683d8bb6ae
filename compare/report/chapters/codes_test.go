package chapters_test

import (
	"fmt"
	"testing"

	"gemm/compare/record"
	"gemm/compare/report/analysis"
)

// encoder returns a row of k data and m parity shards of n bytes.
func encoder(variant string, k, m, n int, seconds float64, change ...func(*record.Record)) record.Record {
	return row(variant, n, seconds, append([]func(*record.Record){func(r *record.Record) {
		r.Type, r.Compute, r.Unit, r.Gflops = "gf256", "gf256", "Gmul/s", record.None()
		r.M, r.K, r.LDA, r.Predicted = m, k, k, nil
		r.Turn = fmt.Sprintf("peers %dx%dx%d", m, n, k)
		r.DataGBps = record.Number(float64(k) * float64(n) / seconds / 1e9)
		r.Rate = record.Number(m) * r.DataGBps
		if analysis.ByGPU(*r) {
			r.Turn = "cuda " + r.Turn
			r.GPU, r.PercentPeak = &record.Device{Pipe: "gf256", Clock: 1900}, record.None()
		}
	}}, change...)...)
}

// measuredField returns the rows on a host with peaks and bandwidths for codes.
func measuredField(rows ...record.Record) record.Document {
	doc := planted(rows...)
	h := &doc.Hosts[0]
	h.Ceilings = append(h.Ceilings, record.Ceiling{Unit: "cpu", Pipe: "gf256", Threads: 1, Gflops: 80, Run: "r1"})
	for _, rate := range []record.Number{1000, 900} {
		h.Bandwidths = append(h.Bandwidths, record.Bandwidth{Unit: "gpu", Name: "copy", GBps: rate, Run: "r1"})
	}
	return doc
}

// TestCodes checks the fastest of ours on each code, its limits, and what is said of the library.
func TestCodes(t *testing.T) {
	const ours, library, gpu = "serial/packed", "reference/reedsolomon", "cuda/tuned"
	one := func(variant string, seconds float64, change ...func(*record.Record)) record.Record {
		return encoder(variant, 10, 4, 65536, seconds, change...)
	}
	const table = "codes-table"
	for _, test := range []said{
		{table, measuredField(one(ours, 1e-4), one("serial/ikj", 2e-4), one(gpu, 1e-6), one("cuda/word", 1e-5)),
			[]string{"| 10+4 | 64 KiB | 6.55 | 655 |", "(`serial/packed`, `cuda/tuned`)"},
			[]string{"ikj", "word", "× library", "figures/"}},
		{table, planted(one(gpu, 1e-6, copied(2e-6, 1e-6, 5e-6))), []string{"| 655 | 164 |"}, nil},
		{table, planted(one(ours, 1e-4), one(library, 2e-4)), []string{"| 6.55 | 2.00 (2.00) |"}, nil},
		{table, planted(one(ours, 2e-4, inTurn("")), one(library, 1e-4)), []string{"| 3.28 | 0.500 |"}, nil},
		{table, planted(one(ours, 1e-4), one(library, 2e-4), encoder(ours, 17, 3, 65536, 1e-4),
			encoder(library, 17, 3, 65536, 3e-4), one("parallel/packed", 1e-4, on(2)), one(library, 3e-4, on(2))),
			[]string{"threads: 2 | × library, threads: 1 |",
				"| 10+4 | 64 KiB | 6.55 | 6.55 | 2.00 (2.00) | 3.00 (3.00) |",
				"| 17+3 | 64 KiB | 11.1 | — | 3.00 (3.00) | — |", "(figures/codes-64-KiB.svg)"}, nil},
		{table, planted(encoder(ours, 10, 4, 4096, 1e-6), encoder(ours, 10, 4, 8192, 1e-6), encoder(ours, 17, 3, 8192, 1e-6)),
			[]string{"| 17+3 | 8 KiB |", "codes-8-KiB"}, []string{"4 KiB"}},
	} {
		test.check(t)
	}
	square := func(r *record.Record) { r.M, r.K, r.LDA = r.N, r.N, r.N }
	text := fill(t, "en", planted(encoder("serial/naive", 1, 1, 64, 1e-3, square), encoder(ours, 1, 1, 64, 1e-4, square)))
	has(t, section(t, text, "paper-codes"), "| **one thread** | **`serial/packed`** | **1 thread** |", "| **10.0** |",
		"at n = 64, gf256.")
	hasNot(t, text, "{#codes-table}")
	for _, doc := range []record.Document{planted(encoder(ours, 200, 57, 4096, 1e-4)), with(),
		planted(one(gpu, 1, status(record.Unavailable, "no driver")))} {
		hasNot(t, fill(t, "en", doc), "{#codes-table}", "{#paper-codes}")
	}
}
