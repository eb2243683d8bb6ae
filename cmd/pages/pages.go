// Command pages writes the documents that are made from the records in results/, or packs records for results/:
//
//	go run ./cmd/pages
//	go run ./cmd/pages -pack results/peers.json.gz report/results.json
//
// It is started in the root folder of the repository, as make docs does. The documents are a page of summary and
// figures for each topic, one whole report in every language, the results in the READMEs and in
// docs/performance.md, and the index of the records. The same records give the same bytes.
package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"gemm/cmd/catalog"
	"gemm/cmd/drawing"
	"gemm/compare/record"
	"gemm/compare/report"
	"gemm/compare/report/page"
)

// Each file in texts/pages is a template of docs/TOPIC/report.md, or of report.zh.md. It is filled as gemm report does,
// with the records that the command in it reads. texts/common.md has what pages share. Those in texts/parts are filled
// with functions of this package.
//
//go:embed texts
var texts embed.FS

// document is a template, and the file of the repository that has what it makes: as a whole, or between two lines.
type document struct {
	template, file, lang string
	begin                string // the first of these lines
}

// end is the second line.
const end = "<!-- End of what make docs makes. -->\n"

// documents returns all that are made from records: the pages, and parts of other documents.
func documents() []document {
	const (
		results = "<!-- Made by make docs from the records in results/. -->\n"
		courses = "<!-- Made by make docs from cmd/pages/texts/coursework.yaml. -->\n"
	)
	var all []document
	names, _ := fs.Glob(texts, "texts/pages/*.md")
	for _, name := range names {
		topic, lang, _ := strings.Cut(strings.TrimSuffix(path.Base(name), ".md"), ".")
		file := path.Join("docs", topic, strings.TrimSuffix("report."+lang, ".")+".md")
		all = append(all, document{template: strings.TrimPrefix(name, "texts/"), file: file, lang: cmp.Or(lang, "en")})
	}
	return append(all,
		document{"parts/readme.md", "README.md", "en", results},
		document{"parts/readme.md", "README.zh.md", "zh", results},
		document{"parts/headlines.md", "docs/performance.md", "en", "<!-- The headline results, made by make docs. -->\n"},
		document{"parts/performance.md", "docs/performance.md", "en", results},
		document{"parts/rs.md", "docs/rs.md", "en", results},
		document{"parts/sgemm.md", "docs/sgemm.md", "en", results},
		document{"parts/gf256.md", "docs/cuda.md", "en", results},
		document{"parts/ozaki.md", "docs/cuda.md", "en", "<!-- Figures of products by residues, made by make docs. -->\n"},
		document{"parts/gpus.md", "docs/gpus.md", "en", results},
		document{"parts/records.md", "results/README.md", "en", results},
		document{"parts/coursework.md", "docs/howto-coursework.md", "en", courses},
		document{"parts/coursework.md", "docs/howto-coursework.zh.md", "zh", courses})
}

func text(name string) string {
	data, err := texts.ReadFile("texts/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func decoded[T any](name string) (values T) {
	if err := yaml.Unmarshal([]byte(text(name)), &values); err != nil {
		panic(fmt.Sprint(name, ": ", err))
	}
	return values
}

// recordIn matches a record of a command and of a template.
var recordIn = regexp.MustCompile(`(?:--in results/|record ")([\w.-]+\.json\.gz)`)

// without matches the comment of a template that has the figures that its page leaves out.
var without = regexp.MustCompile(`\{\{/\* without (\S+) \*/\}\}`)

// records returns the names of the files in results/ that a document is made from.
func (d document) records() []string {
	var names []string
	source := text(d.template)
	for _, m := range recordIn.FindAllStringSubmatch(source, -1) {
		names = append(names, m[1])
	}
	if strings.Contains(source, "headlines") {
		for _, h := range headlines(strings.Contains(source, "headlines true")) {
			names = append(names, h.Record)
		}
	}
	return unique(names)
}

func main() {
	name := flag.String("pack", "", "write the records of the named files to this file, smaller, and render nothing")
	flag.Parse()
	if err := run(*name, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func run(name string, files []string) error {
	switch {
	case name != "" && len(files) == 0:
		return errors.New("-pack needs the files whose records it packs")
	case name != "":
		return pack(name, files...)
	case len(files) > 0:
		return fmt.Errorf("%s: without -pack there are no files", files[0])
	}
	return renderAll(".")
}

func renderAll(root string) error {
	in := results{root, map[string]*committed{}}
	for _, d := range documents() {
		if err := in.render(d); err != nil {
			return fmt.Errorf("%s: %w", d.file, err)
		}
	}
	return in.renderDrawings()
}

func (in results) render(d document) error {
	fill := in.part
	if d.begin == "" {
		fill = in.report
	}
	made, err := fill(d)
	if err != nil {
		return err
	}
	made.Folder = path.Dir(d.file)
	var b bytes.Buffer
	if err := made.Markdown(&b); err != nil {
		return err
	}
	file := filepath.Join(in.root, d.file)
	if d.begin == "" {
		return write(file, b.Bytes())
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(old), d.begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("there are no lines %q and %q", d.begin, end)
	}
	return write(file, []byte(before+d.begin+"\n"+b.String()+"\n"+end+after))
}

func (in results) report(d document) (*page.Page, error) {
	doc, err := in.merged(d.records())
	if err != nil {
		return nil, err
	}
	source := text(d.template)
	opt := report.Options{Lang: d.lang, Drawing: drawing.Of,
		Template: report.Template{Name: path.Base(d.template), Source: source + text("common.md")}}
	if m := without.FindStringSubmatch(source); m != nil {
		hidden := regexp.MustCompile(m[1])
		opt.Hide = hidden.MatchString
	}
	made, _, drawings, err := report.Build(doc, opt)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(in.root, path.Dir(d.file), "figures")
	if d.lang == "en" {
		err = os.RemoveAll(dir)
	}
	for _, f := range drawings {
		// Languages share figures of records, whose letters are English.
		if err == nil && made.Shows(f.ID) && (d.lang == "en" || strings.HasSuffix(f.ID, "."+d.lang)) {
			err = writeFigure(filepath.Join(dir, f.ID+".svg"), f)
		}
	}
	return made, err
}

func (in results) merged(names []string) (record.Document, error) {
	var docs []record.Document
	for _, name := range names {
		r, err := in.committed(name)
		if err != nil {
			return record.Document{}, err
		}
		docs = append(docs, r.Document)
	}
	doc, err := record.Merge(docs...)
	return doc.Declared(catalog.Variants()), err
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
