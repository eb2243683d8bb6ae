package pages

import (
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
var fullRecords = []string{"full.json.gz", "gf256-h200.json.gz", "laptop.json.gz"}

// fullFigures are the figures that docs/full shows of its report.
var fullFigures = []string{
	"families-f64-3080f0ad", "gflops-serial-f64-3080f0ad", "strassen-crossover-f64-3080f0ad", "loops-f64-3080f0ad",
	"strong-speedup-f64-3080f0ad", "chunk-dynamic-f64-3080f0ad", "timeline-1-3080f0ad",
	"mpi-distribution-f64-23ccc98e", "times-f64-23ccc98e", "gpu-rates-f32-3080f0ad",
}

// comparison is docs/full in one language: the page, and the report and the appendix that gemm report renders.
type comparison struct {
	lang                   string
	page, report, appendix document.Report
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
	of := report.Options{Lang: lang, Suite: report.Suite{Excerpts: catalog.Excerpts()}}
	c := comparison{lang: lang, report: report.Build(doc, of), appendix: report.Appendix(doc, of)}
	c.page = pageOf(c.report)
	return c
}

// pageOf returns a report with fewer figures, and without links to others and to the appendix.
func pageOf(r document.Report) document.Report {
	out := r
	out.Sections = slices.Clone(r.Sections)
	for i, s := range out.Sections {
		out.Sections[i].Blocks = slices.DeleteFunc(slices.Clone(s.Blocks), func(b document.Block) bool {
			f, ok := b.(document.Figure)
			return ok && !slices.Contains(fullFigures, f.ID)
		})
	}
	unlinked(out.Sections)
	return out
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
			if err := writeFigures(filepath.Join(root, "docs", "full"), c.page, figures.Drawings(doc, lang)); err != nil {
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

// write writes the page.
func (c comparison) write(root string) error {
	var b strings.Builder
	if err := document.Markdown(&b, c.page); err != nil {
		return err
	}
	contents := "\n**" + c.page.Words.Contents + "**"
	page := strings.Replace(b.String(), contents, "\n"+c.introduction()+"\n"+contents, 1)
	return write(filepath.Join(root, "docs", "full", "report"+ending(c.lang)), []byte(page))
}

// introduction links the records and the other language, and says how to render everything.
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
	answer := c.page.Sections[0].Blocks
	list := slices.IndexFunc(answer, func(b document.Block) bool { _, ok := b.(document.List); return ok })
	figure := slices.IndexFunc(answer, func(b document.Block) bool {
		f, ok := b.(document.Figure)
		return ok && strings.HasPrefix(f.ID, "families-")
	})
	if list < 0 || figure < list {
		return "", errors.New("the first host has no list, or no figure of the families")
	}
	const title = "first page"
	var b strings.Builder
	err := document.Markdown(&b, document.Report{Opening: 1, Words: c.page.Words, Sections: []document.Section{
		{Title: title, Level: 1, Blocks: append(slices.Clone(answer[:list+1]), answer[figure])},
	}})
	if err != nil {
		return "", err
	}
	_, page, _ := strings.Cut(b.String(), "## "+title+"\n\n")
	page = regexp.MustCompile(`(?m)^<a id=.*\n\n`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`(?m)^\*\*\S+ 1[^*]*\*\* `).ReplaceAllString(page, "")
	return strings.NewReplacer("](figures/", "](docs/full/figures/", "](#", "](docs/full/report"+ending(c.lang)+"#").
		Replace(page), nil
}
