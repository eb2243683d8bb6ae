package chapters_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare/record"
	"gemm/compare/report/analysis"
	"gemm/gemmtest/reporttest"
)

// TestAdviceFollowsTheRows changes the times, and with them what the rows say of an item.
func TestAdviceFollowsTheRows(t *testing.T) {
	doc := func(n int, ikj float64, change ...func(*record.Record)) record.Document {
		return planted(row("serial/naive", n, 1), row("serial/ikj", n, 1/ikj, change...))
	}
	both := doc(64, 8)
	both.Records = append(both.Records, doc(128, 0.5).Records...)
	supported := "| S4 | Walk memory in its order | supported | `serial/ikj` | `serial/naive` | 8.00 (7.99–8.01) | " +
		"64 | f64 |"
	contradicted := "| S4 | Walk memory in its order | **contradicted** | `serial/ikj` | `serial/naive` | 0.500 " +
		"(0.500) | 128 | f64 |"
	for name, test := range map[string]struct {
		doc  record.Document
		want string
	}{
		"faster":             {doc(64, 8), supported},
		"slower":             {doc(128, 0.5), contradicted},
		"the largest counts": {both, contradicted},
		"no difference":      {doc(64, 1), ""},
		"one sample":         {doc(64, 8, sampled(1, 0.125)), ""},
		"a wrong result":     {doc(64, 8, status(record.Wrong, "one element")), ""},
		"without the loops":  {planted(doc(64, 8).Records[1:]...), ""},
		"a leaf for the whole": {planted(row("serial/packed", 64, 1),
			row("serial/strassen", 64, 2, func(r *record.Record) { r.Params = gemm.Params{"cutoff": 512} })), ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := fill(t, "en", test.doc)
			if test.want == "" {
				hasNot(t, text, "{#advice}")
				return
			}
			has(t, section(t, text, "advice"), test.want)
		})
	}
}

// TestAdvicePage compares the page with its translation, and with the items of variants: an item is in the report if
// its variants have rows.
func TestAdvicePage(t *testing.T) {
	item, link := regexp.MustCompile(`(?m)^- \*\*([SMTG]\d+)\*\* `), regexp.MustCompile(`\]\(([^)#]*)[^)]*\)`)
	found := map[string][]string{}
	for _, name := range []string{"advice.md", "advice.zh.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(page)) {
			if m := item.FindStringSubmatch(line); m != nil {
				found[name] = append(found[name], m[1])
				for _, l := range link.FindAllStringSubmatch(line, -1) {
					found[name] = append(found[name], strings.Replace(l[1], ".zh.md", ".md", 1))
				}
			}
		}
	}
	if !slices.Equal(found["advice.md"], found["advice.zh.md"]) {
		t.Errorf("items and links differ:\n%q\n%q", found["advice.md"], found["advice.zh.md"])
	}
	for _, of := range catalog.Variants() {
		for _, a := range record.Of(of).Advice {
			if !slices.Contains(found["advice.md"], a.Item) {
				t.Errorf("docs/advice.md has no item %s", a.Item)
			}
			doc := planted(timedRow(a.Over, 2), timedRow(of.Name, 1))
			doc.Hosts[0].Cores, doc.Hosts[0].Quota = 16, record.None()
			text := section(t, fill(t, "en", doc), "advice")
			has(t, text, "| "+a.Item+" | ", "| supported | `"+of.Name+"` | `"+a.Over+"` | 2.00 (")
			hasNot(t, text+fill(t, "zh", doc), "| "+a.Item+" | "+a.Item+" |") // has no words
		}
	}
}

func timedRow(variant string, seconds float64) record.Record {
	switch analysis.Family(variant) {
	case analysis.OnGPU:
		return kernel(analysis.Short(variant), 256, seconds)
	case analysis.OnRanks:
		return row(variant, 256, seconds, ranksOf(record.MainLadder, 4))
	}
	return row(variant, 256, seconds, reporttest.Unpredicted)
}
