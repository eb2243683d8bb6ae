package document

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"gemm/compare/report/chart"
	"gemm/compare/report/reporttest"
)

// specimen is a report with every block, and with every character that one of the
// formats takes for a mark.
func specimen() Report {
	const marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	return Report{
		Lang: "en", Title: "A title & <more>", Subtitle: "100 % of_it",
		Words: Words{Contents: "Contents", Again: "Measure again: ", Figure: "Figure", Table: "Table", Stop: ". ",
			Algorithm: "Algorithm", Listing: "Listing", Copy: "Copy"},
		Cover: []Field{{"Course", "Parallel & distributed"}, {"Name", "N. N."}}, Opening: 1,
		Sections: []Section{
			{ID: "first", Title: "First #1", Level: 1, Blocks: []Block{
				Paragraph{"Plain, *emphatic*, **strong *and both***, `a | b < c`, [a section](#second), [an item](#item-1), [a page](https://example.org/a_b?c=d&e=%20#f), [naive](serial/naive.go) and [`docs/x.md`](docs/x.md)."},
				Paragraph{Escape(marks)},
				Paragraph{Literal(marks)},
				Paragraph{"γ_k ≤ 2⁻⁵³·k × (|A||B|)ᵢⱼ — “quoted” – 1…2 → µs −1 √0.95 Ĉ."},
				Paragraph{"# no heading"},
				Paragraph{"1. no list"},
			}},
			{ID: "second", Title: "Second", Level: 2, Blocks: []Block{
				List{Items: []Text{"one", "- two"}},
				List{Ordered: true, Items: []Text{"**first** thing", "second"}, IDs: []string{"item-1"}},
				Code{"if a < b && c {\n\tx := `y`\n}\n"},
				Figure{ID: "gflops-serial-f64", Caption: "Speed of `serial` & *others*.", Alt: `"GFLOP/s" over n`,
					Command: "gemm serial --sizes 64,128 && gemm report"},
				Table{
					ID: "table-1", Caption: "Rows | columns.", Command: "gemm compare",
					Columns: []Column{{Title: "Variant"}, {Title: "State | note"}, {Title: "Time", Numeric: true}},
					Rows: []Row{
						{Cells: []Text{"`serial/naive`", "ok", "1.25 ms"}},
						{Cells: []Text{"`serial/a|b`", "**wrong** \\[1\\]", "—"}, Class: "wrong"},
						{Cells: []Text{"[`serial/ikj`](#first)", "", "—"}, Class: "muted"},
						{Cells: []Text{"\\*serial", "ok", "0.250 ms"}, Class: "best"},
					},
				},
			}},
			{ID: "third", Title: "Third", Level: 3, Blocks: []Block{
				Equation{Number: 1, TeX: `C_{ij} = \sum_{p=1}^{k} A_{ip} B_{pj}`},
				Algorithms{[]Algorithm{
					{ID: "algorithm-naive", Title: "`serial/naive`", Text: "for i ← 0 to m−1\n  C[i] ← Σ a ⊕ b ▷ ⋯\n"},
					{ID: "algorithm-b", Title: "b", Text: "x_1 ← ⌈n/2⌉"},
				}},
				Listing{ID: "listing-1", Caption: "`serial/naive.go`", Text: "func f() {\n\treturn a < b && c\n}\n"},
				Paragraph{"See [a row](appendix#results-serial-f64)."},
				Table{ID: "table-2", Columns: []Column{{Title: "Nothing"}}},
			}},
		},
	}
}

// specimenDrawings are the figures of the specimen.
func specimenDrawings() []chart.Drawing {
	look, points := chart.LookOf(0), []chart.Point{{X: 64, Y: 1, Lo: 1, Hi: 1}, {X: 128, Y: 2, Lo: 2, Hi: 2}}
	curve := chart.Curve{Title: "GFLOP/s over n", XLabel: "n", YLabel: "GFLOP/s", Sizes: []float64{64, 128},
		Series: []chart.Series{{Label: "serial/naive", Look: look, Points: points}}}
	return []chart.Drawing{{ID: "gflops-serial-f64", Title: curve.Title, Chart: curve}}
}

func TestHTMLGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := HTML(&buf, specimen(), specimenDrawings()); err != nil {
		t.Fatal(err)
	}
	// The packages that make the style and the figure test them.
	page := regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(buf.String(), "<style/>")
	page = regexp.MustCompile(`(?s)(<svg [^>]*>).*?</svg>`).ReplaceAllString(page, "$1</svg>")
	reporttest.Golden(t, "report.html.golden", []byte(page))
}

// TestHTMLColors checks that only colours of data are fixed in a page; all others must change with
// the dark theme.
func TestHTMLColors(t *testing.T) {
	var buf bytes.Buffer
	if err := HTML(&buf, specimen(), specimenDrawings()); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	for _, gone := range []string{"#1B1B1F", "#D3D4DA", "#7A7C85", "#FFFFFF"} {
		if strings.Contains(page, gone) {
			t.Errorf("%s is written out", gone)
		}
	}
	for _, name := range []string{"ink", "mid", "faint", "paper"} {
		if !strings.Contains(page, "var(--"+name+")") || !strings.Contains(htmlStyle, "--"+name+":") {
			t.Errorf("no colour %s", name)
		}
	}
}

// TestMissingDrawing checks that a report with a drawing that does not exist is an error.
func TestMissingDrawing(t *testing.T) {
	if err := HTML(io.Discard, specimen(), nil); err == nil || !strings.Contains(err.Error(), "gflops-serial-f64") {
		t.Errorf("got %v", err)
	}
}

func TestMarkdownGolden(t *testing.T) {
	var buf bytes.Buffer
	if err := Markdown(&buf, specimen()); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "report.md.golden", buf.Bytes())
}
