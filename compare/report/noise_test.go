package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gemm"
	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/reporttest"
)

// TestOneShareOfThePeak compares the shares of rows of every kind in the records, the table of all rows and the
// analysis, and looks for the marks of those above 100 %.
func TestOneShareOfThePeak(t *testing.T) {
	doc, wants := reporttest.Shares()
	encoded, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := compare.Parse(encoded)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := CSV(&out, doc); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	percent, warnings := slices.Index(rows[0], "percent_peak"), slices.Index(rows[0], "warnings")
	v := analysis.Views(doc)[0]
	for i, want := range wants {
		r := v.All[i]
		cell, _ := strconv.ParseFloat(rows[i+1][percent], 64)
		for place, got := range map[string]float64{
			"report": analysis.Percent(r), "results.csv": cell, "records": float64(read.Records[i].PercentPeak),
		} {
			if !(math.Abs(got-want) <= 1e-9*want) {
				t.Errorf("%s %s: %v %% of the peak, want %v", place, r.Variant, got, want)
			}
		}
		marked := strings.Contains(rows[i+1][warnings], "above the measured peak")
		if marked != (want > 100) || marked != strings.Contains(r.Note(), "above the measured peak") {
			t.Errorf("%s has %v %% and the warnings %q, note %q", r.Variant, want, rows[i+1][warnings], r.Note())
		}
	}
	var text bytes.Buffer
	if err := document.Markdown(&text, Appendix(doc, Options{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"150†", "| 110† |"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the appendix does not say %q", want)
		}
	}
}

// borrowed returns rows of recursions whose product another variant computed, all far faster than it.
func borrowed() []compare.Record {
	var rows []compare.Record
	for _, n := range []int{64, 128, 256} {
		seconds := 2 * math.Pow(float64(n), 3) / 777e9
		ran := func(name string) func(*compare.Record) {
			return func(r *compare.Record) { r.Resolved = gemm.Params{"ran": name, "cutoff": 512} }
		}
		for _, variant := range []string{"serial/strassen", "serial/winograd", "serial/divide"} {
			rows = append(rows, reporttest.Row(variant, n, seconds, ran("serial/packed")))
		}
		for _, threads := range []int{1, 2} {
			for _, experiment := range []compare.Experiment{compare.MainLadder, compare.StrongScaling} {
				rows = append(rows, reporttest.Row("parallel/strassen", n, seconds/float64(threads),
					ran("parallel/packed"), on(threads), reporttest.Experiment(experiment),
					func(r *compare.Record) { r.Params = gemm.Params{"threads": threads} }))
			}
		}
	}
	return rows
}

// TestBorrowedRowsAreInNoComparison renders records with and without rows that another variant computed: all
// figures are the same, and the speed of these rows stands in tables of all rows only, with a note.
func TestBorrowedRowsAreInNoComparison(t *testing.T) {
	own := []compare.Record{
		reporttest.Row("serial/naive", 64, 1e-3), reporttest.Row("serial/naive", 256, 64e-3),
		reporttest.Row("serial/ikj", 64, 2e-4), reporttest.Row("serial/ikj", 256, 13e-3),
		reporttest.Row("serial/packed", 64, 3e-5), reporttest.Row("serial/packed", 256, 2e-3),
		reporttest.Row("reference/openblas", 64, 4e-5), reporttest.Row("reference/openblas", 256, 3e-3),
	}
	for _, n := range []int{64, 256} {
		for _, threads := range []int{1, 2} {
			own = append(own, reporttest.Row("parallel/packed", n, 3e-5*math.Pow(float64(n)/64, 3)/float64(threads),
				on(threads), reporttest.Experiment(compare.StrongScaling),
				func(r *compare.Record) { r.Params = gemm.Params{"threads": threads} }))
		}
	}
	with, without := only(slices.Concat(own, borrowed())...), only(own...)
	drawn := func(doc compare.Document) map[string]string {
		out := map[string]string{}
		for _, d := range figures.Drawings(doc, "en") {
			var b bytes.Buffer
			if err := d.SVG(&b); err != nil {
				t.Fatal(err)
			}
			out[d.ID] = b.String()
		}
		return out
	}
	got, want := drawn(with), drawn(without)
	if len(want) < 5 {
		t.Fatalf("%d figures", len(want))
	}
	for id, figure := range got {
		if figure != want[id] {
			t.Errorf("the figure %s has rows that another variant computed", id)
		}
	}
	noted := 0
	for i, r := range documents(with, "en") {
		var b bytes.Buffer
		if err := document.Markdown(&b, r); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			switch {
			case !strings.Contains(line, "| 777 |") && !strings.Contains(line, "777 GFLOP/s"):
			case i == 0 && strings.Contains(line, "| ok ("):
				noted++
			default:
				t.Errorf("document %d: %s", i, line)
			}
		}
		if i == 0 && !strings.Contains(b.String(), "computed by `serial/packed`") {
			t.Error("no note says who computed the rows")
		}
	}
	if noted == 0 {
		t.Error("the rows are not in the table of all rows")
	}
}

// TestBlocksSendLess counts the elements of rows and of blocks: what the report says of equation 6 is true.
func TestBlocksSendLess(t *testing.T) {
	sizes := []int{1, 7, 64, 129, 4096}
	for _, m := range sizes {
		for _, n := range sizes {
			for _, p := range []int{1, 2, 3, 8} {
				for _, q := range []int{1, 2, 3, 8} {
					const k = 64
					rows, blocks := float64(m*k)/float64(p*q)+float64(k*n), float64(m*k)/float64(p)+float64(k*n)/float64(q)
					less := q > 1 && m < p*n
					if got := blocks < rows-1e-9; got != less {
						t.Errorf("m %d, n %d, %d×%d: %v elements of blocks, %v of rows", m, n, p, q, blocks, rows)
					}
				}
			}
		}
	}
	for lang, want := range map[string]string{"en": "If q > 1, the data of blocks are less exactly if m < p·n",
		"zh": "q > 1 时，当且仅当 m < p·n，按块划分的数据量更少"} {
		var b bytes.Buffer
		if err := document.Markdown(&b, documents(way(reporttest.Row("mpi/summa", 128, 1e-3, ranks(2))), lang)[1]); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ReplaceAll(b.String(), `\`, ""), want) {
			t.Errorf("%s does not say %q", lang, want)
		}
	}
}
