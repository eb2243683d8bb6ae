package pages

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gemm/compare"
	"gemm/compare/report"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/text"
	"gemm/internal/catalog"
)

// fullRecords are the records of docs/full, the comparison of all families in one report: first the
// host with 16 processors and a GPU, then one with two processors.
var fullRecords = []string{"full.json", "gf256-h200.json", "laptop.json"}

// fullNames are the pages of docs/full.
var fullNames = []string{"report", "report-appendix"}

// comparison is docs/full in one language.
type comparison struct {
	lang             string
	report, appendix document.Report
}

// pages returns the reports by the name of their page.
func (c comparison) pages() map[string]document.Report {
	return map[string]document.Report{fullNames[0]: c.report, fullNames[1]: c.appendix}
}

// ending is the end of the names of the pages of a language.
func ending(lang string) string {
	if lang == "en" {
		return ".md"
	}
	return "." + lang + ".md"
}

// comparisonIn builds docs/full in a language.
func comparisonIn(doc compare.Document, lang string) comparison {
	of := report.Options{Lang: lang, Suite: report.Suite{Algorithms: catalog.Algorithms(),
		Excerpts: catalog.Excerpts()}}
	return comparison{lang: lang, report: report.Build(doc, of), appendix: report.Appendix(doc, of)}
}

// renderFull writes docs/full in every language, the first page of it in the READMEs, and where it has
// what coursework of 2024 has. The figures are shared: the letters inside of them are English.
func renderFull(root string) error {
	doc, err := load(root, fullRecords)
	if err != nil {
		return err
	}
	sources, err := drawnFrom(root)
	if err != nil {
		return err
	}
	for _, lang := range text.Languages {
		c := comparisonIn(doc, lang)
		if lang == "en" {
			both := document.Report{Sections: slices.Concat(c.report.Sections, c.appendix.Sections)}
			if err := writeFigures(filepath.Join(root, "docs", "full"), both, figures.Drawings(doc, lang)); err != nil {
				return err
			}
		}
		if err := c.write(root); err != nil {
			return err
		}
		page, err := c.firstPage()
		if err != nil {
			return err
		}
		if err := replace(root, readme(lang), firstBegin, firstEnd, page); err != nil {
			return err
		}
		if err := c.renderCounterparts(root, sources); err != nil {
			return err
		}
	}
	return nil
}

// write writes the pages.
func (c comparison) write(root string) error {
	for name, r := range c.pages() {
		page, err := c.markdown(r)
		if err != nil {
			return err
		}
		contents := "\n**" + r.Words.Contents + "**"
		page = strings.Replace(page, contents, "\n"+c.introduction()+"\n"+contents, 1)
		if err := write(filepath.Join(root, "docs", "full", name+ending(c.lang)), []byte(page)); err != nil {
			return err
		}
	}
	return nil
}

// markdown returns a report as Markdown, with links to the appendix in its language.
func (c comparison) markdown(r document.Report) (string, error) {
	var b bytes.Buffer
	err := document.Markdown(&b, r)
	return strings.ReplaceAll(b.String(), "](report-appendix.md#", "](report-appendix"+ending(c.lang)+"#"), err
}

// introduction links the records and the other language, and says how to make a PDF.
func (c comparison) introduction() string {
	var links, in []string
	for _, name := range fullRecords {
		links = append(links, fmt.Sprintf("[%s](../../results/%s)", name, name))
		in = append(in, "--in results/"+name)
	}
	return strings.TrimSpace(fmt.Sprintf(texts.full[c.lang], strings.Join(links, comma[c.lang]), strings.Join(in, " ")))
}

// The lines of a README that the first page is between.
const (
	firstBegin = "<!-- The first page of docs/full, made by make docs. -->\n"
	firstEnd   = "<!-- End of the first page. -->\n"
)

// firstPage is what the READMEs show of the report: of its first host, what it says first, and the
// speed of every family.
func (c comparison) firstPage() (string, error) {
	answer := c.report.Sections[0].Blocks
	list := slices.IndexFunc(answer, func(b document.Block) bool { _, ok := b.(document.List); return ok })
	figure := slices.IndexFunc(answer, func(b document.Block) bool {
		f, ok := b.(document.Figure)
		return ok && strings.HasPrefix(f.ID, "families-")
	})
	if list < 0 || figure < list {
		return "", errors.New("the first host has no list, or no figure of the families")
	}
	const title = "first page"
	page, err := c.markdown(document.Report{Opening: 1, Words: c.report.Words, Sections: []document.Section{
		{Title: title, Level: 1, Blocks: append(slices.Clone(answer[:list+1]), answer[figure])},
	}})
	if err != nil {
		return "", err
	}
	_, page, _ = strings.Cut(page, "## "+title+"\n\n")
	page = regexp.MustCompile(`(?m)^<a id=.*\n\n`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`(?m)^\*\*\S+ 1[^*]*\*\* `).ReplaceAllString(page, "")
	return strings.NewReplacer("](figures/", "](docs/full/figures/", "](#", "](docs/full/report"+ending(c.lang)+"#",
		"](report-appendix", "](docs/full/report-appendix").Replace(page), nil
}
