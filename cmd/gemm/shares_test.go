package main

import (
	"fmt"
	"strings"
	"testing"

	"gemm/compare/record"
	"gemm/gemmtest"
	"gemm/gemmtest/reporttest"
)

// TestTableHasTheSharesOfTheRecords prints rows of every kind as they were measured, before all peaks were: the
// table has the shares that the records, results.csv and the report have.
func TestTableHasTheSharesOfTheRecords(t *testing.T) {
	doc, wants := reporttest.Shares()
	var store record.Store
	gemmtest.Must(t, store.Put(record.Document{Hosts: doc.Hosts, Records: doc.Records}))
	var out strings.Builder
	printRows(&out, store.Rows(doc.Records))
	lines := strings.Split(out.String(), "\n")
	for i, want := range wants {
		line := lines[i+1]
		if !strings.Contains(line, fmt.Sprintf(" %.1f%% ", want)) {
			t.Errorf("no %.1f%% in %s", want, line)
		}
		if marked := strings.Contains(line, "above the measured peak"); marked != (want > 100) {
			t.Errorf("marked %v: %s", marked, line)
		}
	}
}

// TestTableHasNoise prints identical code with times that differ by a half.
func TestTableHasNoise(t *testing.T) {
	on2 := func(r *record.Record) { r.Threads, r.Turn = 2, "peers" }
	rows := []record.Record{reporttest.Row("parallel/packed", 128, 1e-3, on2),
		reporttest.Row("parallel/strassen", 128, 1.5e-3, on2, func(r *record.Record) {
			r.Resolved = map[string]any{"ran": "parallel/packed"}
		})}
	var out strings.Builder
	printRows(&out, rows)
	want := "Noise: times of identical code differ by up to 1.5× on several threads, interleaved (1 pairs)"
	if !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}
