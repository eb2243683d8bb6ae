package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gemm/compare"
	"gemm/compare/report/document"
	"gemm/compare/report/reporttest"
	"gemm/compare/report/text"
)

// adviceOf returns the chapter with the advice, "" if there is none.
func adviceOf(doc compare.Document, lang string) string {
	r := Build(doc, Options{Lang: lang})
	r.Sections = slices.DeleteFunc(r.Sections, func(s document.Section) bool { return s.ID != "advice" })
	if len(r.Sections) == 0 {
		return ""
	}
	return allText(r)
}

// judging is a document whose rows judge every item that rows can judge. All of them support it.
func judging() compare.Document {
	var rows []compare.Record
	add := func(row func(variant string, n int, seconds float64, change ...func(*compare.Record)) compare.Record,
		change func(*compare.Record), variants ...string) {
		for i, v := range variants {
			rows = append(rows, row(v, 256, 1/float64(int(1)<<i), change))
		}
	}
	add(reporttest.Row, reporttest.Unpredicted, "serial/strassen", "serial/naive", "serial/ikj", "serial/hinted",
		"serial/unrolled", "serial/blocked", "serial/packed")
	add(reporttest.Row, threads(2), "parallel/collapse-inner-atomic", "parallel/inner", "parallel/rows",
		"parallel/collapse-reduce")
	add(reporttest.Row, reporttest.OnRanks(compare.MainLadder, 4), "mpi/p2p-rows", "mpi/p2p-rows-overlap",
		"mpi/scatter-rows", "mpi/scatter-blocks")
	add(reporttest.Kernel, func(*compare.Record) {}, "naive", "coalesced", "smem", "blocktile1d", "transposed",
		"conflictfree", "doublebuffer")
	doc := reporttest.Planted(rows...)
	doc.Hosts[0].Cores, doc.Hosts[0].Quota = 16, compare.None()
	return doc
}

// TestAdviceIsJudgedByTheRows changes the times, and with them what the rows say of an item.
func TestAdviceIsJudgedByTheRows(t *testing.T) {
	doc := func(n int, ikj float64, change ...func(*compare.Record)) compare.Document {
		return reporttest.Planted(reporttest.Row("serial/naive", n, 1), reporttest.Row("serial/ikj", n, 1/ikj, change...))
	}
	both := doc(64, 8)
	both.Records = append(both.Records, doc(128, 0.5).Records...)
	supported := "- **S4** Walk memory in its order. Supported: " +
		"`serial/ikj` is 8.00 times as fast as `serial/naive` at n = 64 for f64"
	contradicted := "- **S4** Walk memory in its order. Contradicted: " +
		"`serial/ikj` is only 0.500 times as fast as `serial/naive` at n = 128 for f64"
	tests := map[string]struct {
		doc  compare.Document
		want string
	}{
		"faster":             {doc(64, 8), supported},
		"slower":             {doc(128, 0.5), contradicted},
		"the largest counts": {both, contradicted},
		"no difference":      {doc(64, 1), ""},
		"one sample":         {doc(64, 8, reporttest.Sampled(1, 0.125)), ""},
		"a wrong result":     {doc(64, 8, reporttest.Came(compare.Wrong, "one element")), ""},
		"without the loops":  {lacking(doc(64, 8), "serial/naive"), ""},
		"a leaf for the whole": {reporttest.Planted(reporttest.Row("serial/packed", 64, 1),
			reporttest.Row("serial/strassen", 64, 2, param("cutoff", 512))), ""},
	}
	for name, test := range tests {
		got := adviceOf(test.doc, "en")
		if (got != "") != (test.want != "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: no %q in %q", name, test.want, got)
		}
	}
}

// TestAdvicePage compares the page with its twin and with the items that the report judges.
func TestAdvicePage(t *testing.T) {
	item, link := regexp.MustCompile(`(?m)^- \*\*([SMTG]\d+)\*\* `), regexp.MustCompile(`\]\(([^)#]*)[^)]*\)`)
	found := map[string][]string{}
	for _, name := range []string{"advice.md", "advice.zh.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(page)) {
			m := item.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			found[name] = append(found[name], m[1])
			for _, l := range link.FindAllStringSubmatch(line, -1) {
				found[name] = append(found[name], strings.Replace(l[1], ".zh.md", ".md", 1))
			}
		}
	}
	en := found["advice.md"]
	if !slices.Equal(en, found["advice.zh.md"]) {
		t.Errorf("items and links differ:\n%q\n%q", en, found["advice.zh.md"])
	}
	for _, lang := range []string{"en", "zh"} {
		said := adviceOf(judging(), lang)
		for _, key := range text.Keys(lang) {
			id := strings.TrimPrefix(key, "advice.")
			if id == key || !regexp.MustCompile(`\d$`).MatchString(id) {
				continue
			}
			if !slices.Contains(en, id) {
				t.Errorf("docs/advice.md has no item %s", id)
			}
			if !strings.Contains(said, "\n- **"+id+"** ") {
				t.Errorf("%s: the report does not judge %s", lang, id)
			}
		}
	}
}
