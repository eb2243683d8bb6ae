package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gemm/cmd/drawing"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chart"
)

// renderDrawings writes the speed of shards, and the drawings of package drawing in every language.
func (in results) renderDrawings() error {
	speed, err := in.shardSpeed()
	if err != nil {
		return fmt.Errorf("docs/drawings: %w", err)
	}
	all := []chart.Drawing{speed}
	for _, name := range drawing.Names() {
		for _, lang := range chapters.Languages {
			d, err := drawing.Of(name, lang)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
	}
	for _, d := range all {
		if err := writeFigure(filepath.Join(in.root, "docs", "drawings", d.ID+".svg"), d); err != nil {
			return fmt.Errorf("docs/drawings: %w", err)
		}
	}
	return nil
}

// writeFigure writes one figure on white, since its letters are dark and a page may be too.
func writeFigure(name string, d chart.Drawing) error {
	var svg bytes.Buffer
	if err := d.SVG(&svg); err != nil {
		return err
	}
	const title = "</title>\n"
	text, style := classes(joined(svg.String()))
	ground := title + style + `<rect width="100%" height="100%" fill="white"/>` + "\n"
	return write(name, []byte(strings.Replace(text, title, ground, 1)))
}

var styled = regexp.MustCompile(`style="([^"]*)"`)

// classes replaces the styles of the elements of a figure by names, and returns the element that
// defines these. A figure has few styles, each hundreds of times.
func classes(svg string) (text, style string) {
	names := map[string]string{}
	style = "<style>"
	text = styled.ReplaceAllStringFunc(svg, func(attribute string) string {
		value := styled.FindStringSubmatch(attribute)[1]
		if names[value] == "" {
			names[value] = fmt.Sprint("s", len(names))
			style += "." + names[value] + "{" + value + "}"
		}
		return `class="` + names[value] + `"`
	})
	return text, style + "</style>\n"
}

var (
	pathLine = regexp.MustCompile(`^<path d="([^"]*)"(.*)$`)
	places   = regexp.MustCompile(` (?:x|y|d|textLength)="[^"]*"`)
	decimals = regexp.MustCompile(`\d+\.\d\d+`)
)

// joined returns a figure with coordinates of a tenth of a point, and neighbouring lines of one style as one path.
func joined(svg string) string {
	var out []string
	path, rest := "", "" // of the last element, if it is a path of lines
	for line := range strings.Lines(svg) {
		line = places.ReplaceAllStringFunc(line, func(s string) string { return decimals.ReplaceAllStringFunc(s, tenth) })
		m := pathLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			out, path = append(out, line), ""
			continue
		}
		if path != "" && rest == m[2] && strings.Contains(rest, "fill:none") {
			path += m[1]
			out[len(out)-1] = `<path d="` + path + `"` + rest + "\n"
			continue
		}
		path, rest = m[1], m[2]
		out = append(out, line)
	}
	return strings.Join(out, "")
}

func tenth(number string) string {
	x, _ := strconv.ParseFloat(number, 64)
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
