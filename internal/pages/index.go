package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gemm/compare"
)

// renderIndex writes results/README.md.
func renderIndex(root string) error {
	text, err := index(root)
	if err != nil {
		return err
	}
	return write(filepath.Join(root, "results", "README.md"), []byte(text))
}

// index returns what results/README.md says: what each record is, from the record itself.
func index(root string) (string, error) {
	dir := filepath.Join(root, "results")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(texts.index)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json.gz") {
			continue
		}
		doc, err := compare.Load(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		pages := pagesOf(e.Name())
		if len(pages) == 0 {
			return "", fmt.Errorf("results/%s: no page shows it; give it one in internal/pages, or remove it", e.Name())
		}
		b.WriteString(entry(e.Name(), doc, pages))
	}
	return b.String(), nil
}

// entry is the row of one record.
func entry(name string, doc compare.Document, pages []string) string {
	var hosts, days, revisions, commands, links []string
	add := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, h := range doc.Hosts {
		text := processor(h)
		if len(h.GPUs) > 0 {
			text += "; " + strings.Join(h.GPUs, ", ")
		}
		add(&hosts, text)
	}
	for _, r := range doc.Runs {
		add(&days, r.Time.UTC().Format("2006-01-02"))
		add(&revisions, "`"+r.Git[:min(len(r.Git), 8)]+"`")
		for _, command := range r.Commands() {
			add(&commands, "`"+command+"`")
		}
	}
	slices.Sort(days)
	if len(days) > 1 {
		days = []string{days[0], days[len(days)-1]}
	}
	for _, p := range pages {
		links = append(links, fmt.Sprintf("[%s](../%s)", strings.TrimPrefix(p, "docs/"), p))
	}
	cells := []string{
		fmt.Sprintf("[%s](%s)", name, name), fmt.Sprint(len(doc.Records)),
		strings.Join(hosts, "<br>"), strings.Join(days, " to "),
		strings.Join(revisions, "<br>"), strings.Join(links, "<br>"), strings.Join(commands, "<br>"),
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}
