package pages

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"gemm/compare/report/document"
)

// place is a part of the report of docs/full that has an anchor.
type place struct {
	page    string // file in docs/full; with the anchor, if the page has it
	anchor  string
	label   string // such as "figure 3"
	records []string
}

// places are the parts of the report in one language: what the page has, then the rest of the report and the appendix.
func (c comparison) places(sources map[string][]string) []place {
	var out []place
	page := "report" + ending(c.lang)
	for _, part := range []struct {
		report document.Report
		suffix string
	}{{c.page, ""}, {c.report, unshown[c.lang]}, {c.appendix, inAppendix[c.lang]}} {
		r := part.report
		add := func(id, label string) {
			p := place{page, id, label + part.suffix, sources[id]}
			if part.suffix == "" {
				p.page += "#" + id
			}
			out = append(out, p)
		}
		counts := map[string]int{}
		number := func(id, word string) {
			counts[word]++
			add(id, fmt.Sprint(word, " ", counts[word]))
		}
		chapter := ""
		for _, s := range r.Sections {
			title, _, _ := strings.Cut(s.Title, " — ") // without the host
			if s.Level == 1 {
				chapter = title
			} else {
				title = chapter + separator[c.lang] + title
			}
			add(s.ID, "“"+title+"”")
			for _, block := range s.Blocks {
				switch block := block.(type) {
				case document.Figure:
					number(block.ID, r.Words.Figure)
				case document.Table:
					number(block.ID, r.Words.Table)
				case document.Listing:
					number(block.ID, r.Words.Listing)
				case document.Algorithms:
					for _, a := range block.Items {
						number(a.ID, r.Words.Algorithm)
					}
				}
			}
		}
	}
	return out
}

// unshown, inAppendix and separator are of the labels of places, comma of lists, by language.
var (
	unshown    = map[string]string{"en": ", rendered", "zh": "（渲染后）"}
	inAppendix = map[string]string{"en": ", rendered appendix", "zh": "（渲染后的附录）"}
	separator  = map[string]string{"en": ", ", "zh": "，"}
	comma      = map[string]string{"en": ", ", "zh": "、"}
)

// drawnFrom returns the records of docs/full that each figure, table and section of a host is drawn
// from, by its ID: the records whose own report has it.
func drawnFrom(root string) (map[string][]string, error) {
	sources := map[string][]string{}
	for _, name := range fullRecords {
		doc, err := load(root, []string{name})
		if err != nil {
			return nil, err
		}
		for _, p := range comparisonIn(doc, "en").places(nil) {
			id := p.anchor
			if len(doc.Hosts) == 1 { // a report of one host does not name it
				id += "-" + doc.Hosts[0].ID
			}
			if !slices.Contains(sources[id], name) {
				sources[id] = append(sources[id], name)
			}
		}
	}
	return sources, nil
}

// counterparts fills in the table of what coursework of 2024 has and where docs/full has it.
type counterparts struct {
	places []place
}

// find returns the first place with the ID, whatever the host. Of several IDs with bars between them it
// is the first that there is: what a record has depends on its experiments.
func (c counterparts) find(ids string) (place, bool) {
	for _, id := range strings.Split(ids, "|") {
		i := slices.IndexFunc(c.places, func(p place) bool { return p.anchor == id || withoutHost(p.anchor) == id })
		if i >= 0 {
			return c.places[i], true
		}
	}
	return place{}, false
}

// at links the places with the IDs. It is an error if one is missing.
func (c counterparts) at(ids ...string) (string, error) {
	var links []string
	for _, id := range ids {
		p, ok := c.find(id)
		if !ok {
			return "", fmt.Errorf("docs/full has no place %s", id)
		}
		links = append(links, fmt.Sprintf("[%s](%s)", p.label, path.Join("full", p.page)))
	}
	return strings.Join(links, "<br>"), nil
}

// from links the records that the places with the IDs are drawn from.
func (c counterparts) from(ids ...string) string {
	var links []string
	for _, id := range ids {
		p, _ := c.find(id)
		for _, name := range p.records {
			if link := fmt.Sprintf("[%s](../results/%s)", name, name); !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return strings.Join(links, "<br>")
}

// row is a row of the table: what the coursework has, and the places and records of its counterpart.
func (c counterparts) row(name, what string, ids ...string) (string, error) {
	return c.code(name, what, "", ids...)
}

// code is a row of the table about source code, with files of it.
func (c counterparts) code(name, what, files string, ids ...string) (string, error) {
	links, err := c.at(ids...)
	for _, file := range strings.Fields(files) {
		links += fmt.Sprintf("<br>[%s](../%s)", path.Base(file), file)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", name, what, links, cmp.Or(c.from(ids...), "—")), err
}

// The lines of docs/howto-coursework.md that the table is between.
const (
	counterpartsBegin = "<!-- The table of counterparts, made by make docs. -->\n"
	counterpartsEnd   = "<!-- End of the table of counterparts. -->\n"
)

// renderCounterparts writes the table of counterparts in the language of c.
func (c comparison) renderCounterparts(root string, sources map[string][]string) error {
	of := counterparts{c.places(sources)}
	functions := template.FuncMap{"row": of.row, "code": of.code}
	t, err := template.New(c.lang).Funcs(functions).Parse(texts.counterparts[c.lang])
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return err
	}
	return replace(root, "docs/howto-coursework"+ending(c.lang), counterpartsBegin, counterpartsEnd, b.String())
}
