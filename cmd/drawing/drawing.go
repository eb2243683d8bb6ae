// Package drawing has the drawings of documents and reports that are made from no record: where tiles, warps, banks and
// blocks lie. They are computed from the settings of rungs and the formulas of the programs, and so are right for them.
// Their texts are in texts.yaml.
package drawing

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"gemm/compare/report/chart"
	"gemm/cuda"
	"gemm/cuda/ladder"
)

// all are the functions that draw, in the order of the documents.
var all = []struct {
	name string
	draw func(*sheet)
}{
	{"warps", warps}, {"accesses", accesses},
	{"tiles", tiles}, {"registers", registers}, {"work", work}, {"warptile", warptile}, {"warpgroups", warpgroups},
	{"banks", banks}, {"banks-32", banks32}, {"banks-8", banks8}, {"halves", halves}, {"swizzle", swizzle},
	{"field-tiles", fieldTiles}, {"distribution", distribution}, {"index", index}, {"rs-matrix", rsMatrix},
	{"residues", residues},
}

// Names returns the names of the drawings.
func Names() (names []string) {
	for _, d := range all {
		names = append(names, d.name)
	}
	return names
}

// text is a text in both languages. Numbers of the drawing stand for {names}.
type text struct {
	En, Zh, All string
	At          []int // x and y; empty: the program says where
	Tint        chart.Tint
}

//go:embed texts.yaml
var texts []byte

// Of returns the drawing called name with texts in a language, en or zh. Its title is its caption.
func Of(name, lang string) (chart.Drawing, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return chart.Drawing{}, fmt.Errorf("there is no drawing %s; the drawings are %s", name,
			strings.Join(Names(), ", "))
	}
	var of map[string]map[string]text
	if err := yaml.Unmarshal(texts, &of); err != nil {
		return chart.Drawing{}, fmt.Errorf("texts.yaml: %w", err)
	}
	on := func(lang string) *sheet {
		s := &sheet{texts: of[name], zh: lang == "zh", values: map[string]int{}}
		all[i].draw(s)
		s.label()
		return s
	}
	s, id := on(lang), name
	if s.zh {
		s.Latin, id = &on("en").Sketch, name+"."+lang
	}
	return chart.Drawing{ID: id, Title: s.said("title"), Chart: s.Sketch}, nil
}

// sheet is a sketch on which texts are in one language.
type sheet struct {
	chart.Sketch
	texts  map[string]text
	zh     bool
	values map[string]int // of the numbers in texts
}

// letter is the size of letters, and high the height of a box with letters.
const letter, high = 18, 26

// said returns a text with numbers: values after their names, and the values of the sheet.
func (s *sheet) said(key string, values ...any) string {
	t := s.texts[key]
	said := t.All + t.En
	if s.zh {
		said = t.All + t.Zh
	}
	for i := 0; i < len(values); i += 2 {
		said = strings.ReplaceAll(said, fmt.Sprintf("{%v}", values[i]), fmt.Sprint(values[i+1]))
	}
	for name, value := range s.values {
		said = strings.ReplaceAll(said, "{"+name+"}", fmt.Sprint(value))
	}
	return said
}

// label writes the texts that have a place, with a box before those that have a tint.
func (s *sheet) label() {
	for _, key := range slices.Sorted(maps.Keys(s.texts)) {
		if t := s.texts[key]; t.At != nil {
			s.note(t.At[0], t.At[1], chart.Begin, s.said(key))
			if t.Tint > 0 {
				s.box(t.At[0]-28, t.At[1]-10, 20, 20, t.Tint, "")
			}
		}
	}
}

// note writes a text; y is its middle.
func (s *sheet) note(x, y int, align chart.Align, text string) *chart.Note {
	s.Notes = append(s.Notes, chart.Note{X: x, Y: y + letter/3, Size: letter, Align: align, Text: text})
	s.Height = max(s.Height, y+letter)
	return &s.Notes[len(s.Notes)-1]
}

// box draws a box with a text in its middle.
func (s *sheet) box(x, y, wide, high int, tint chart.Tint, text string) {
	s.Fills = append(s.Fills, chart.Fill{X: x, Y: y, Wide: wide, High: high, Tint: tint})
	if text != "" {
		n := s.note(x+wide/2, y+high/2, chart.Middle, text)
		n.Inside, n.Size = true, min(letter, wide-7)
	}
	s.Height = max(s.Height, y+high+letter/3)
}

// cells draws boxes in rows and columns, with gaps.
func (s *sheet) cells(x, y, wide, high, rows, cols int, of func(i, j int) (chart.Tint, string)) {
	for i := range rows {
		for j := range cols {
			tint, text := of(i, j)
			s.box(x+j*wide, y+i*high, wide, high, tint, text)
		}
	}
	for i := range rows + 1 {
		s.line(chart.Gap, x, y+i*high, x+cols*wide, y+i*high)
	}
	for j := range cols + 1 {
		s.line(chart.Gap, x+j*wide, y, x+j*wide, y+rows*high)
	}
}

func (s *sheet) line(stroke chart.Stroke, x1, y1, x2, y2 int) {
	s.Lines = append(s.Lines, chart.Line{X1: x1, Y1: y1, X2: x2, Y2: y2, Stroke: stroke})
}

// arrow draws an arrow to the right.
func (s *sheet) arrow(x, y, to int) {
	s.line(chart.Thin, x, y, to, y)
	s.line(chart.Thin, to, y, to-8, y-4)
	s.line(chart.Thin, to, y, to-8, y+4)
}

// operands draws B above C and A left of it, with the given depth.
func (s *sheet) operands(x, y, m, n, depth int) (left, top int) {
	left, top = x+depth+8, y+depth+8
	s.box(left, y, n, depth, chart.Blank, "")
	s.box(x, top, depth, m, chart.Blank, "")
	s.box(left, top, n, m, chart.Blank, "")
	if depth > letter {
		s.note(left+n-4, y+12, chart.End, "B").Inside = true
		s.note(x+4, top+m-12, chart.Begin, "A").Inside = true
		s.note(left+n-4, top+m-12, chart.End, "C").Inside = true
	}
	return left, top
}

// rung returns a rung and its first tile with at most most rows. Texts can have the settings of the tile.
func (s *sheet) rung(name, typ string, most int) (ladder.Rung, ladder.Tile) {
	r, err := cuda.RungNamed(name, typ)
	if err != nil {
		panic(err)
	}
	t := r.Tiles[slices.IndexFunc(r.Tiles, func(t ladder.Tile) bool { return t.BM <= most })]
	for _, m := range t.Macros() {
		s.values[m.Name] = m.Value
	}
	return r.Rung, t
}

// plain returns the cells of one tint without texts.
func plain(tint chart.Tint) func(i, j int) (chart.Tint, string) {
	return func(int, int) (chart.Tint, string) { return tint, "" }
}

func sprint(x ...any) string { return fmt.Sprint(x...) }
