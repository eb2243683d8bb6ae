package main

import (
	"cmp"
	"path"

	"gemm/compare/report/page"
)

// coursework says where this repository has the figures, tables and listings of coursework: see coursework.yaml.
type coursework struct {
	Places  map[string]place
	Sources []struct {
		Title   map[string]string
		Entries []entry
	}
}

// place is a section of docs/full, or of the documents To by language; in English if it is in no other.
type place struct {
	Label map[string]string `yaml:",inline"`
	To    map[string]string `yaml:"to"`
}

type entry struct {
	What, Shows                        map[string]string
	At, Files, Drawings, Figures, Rows []string
	Equations                          []int
}

// target returns what a link to the place with a key leads to.
func (c coursework) target(key, lang string) string {
	to := c.Places[key].To
	return cmp.Or(to[lang], to["en"], fileIn("docs/full/report", lang, ".md")+"#"+key)
}

// fileIn returns the file of a document or a drawing in a language.
func fileIn(name, lang, ext string) string {
	if lang != "en" {
		name += "." + lang
	}
	return name + ext
}

// here links all that the repository has of an entry.
func (c coursework) here(e entry, lang string) page.Text {
	var links []page.Text
	for _, key := range e.At {
		links = append(links, page.Link(c.Places[key].Label[lang], c.target(key, lang)))
	}
	for _, name := range e.Drawings {
		links = append(links, page.Link(name+".svg", fileIn("docs/drawings/"+name, lang, ".svg")))
	}
	for _, file := range e.Files {
		links = append(links, page.Link(path.Base(file), file))
	}
	return page.Join(links, "<br>")
}
