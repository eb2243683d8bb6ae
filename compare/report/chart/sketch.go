package chart

import (
	"cmp"
	"fmt"
	"html"
	"image/color"
	"io"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sketch shows boxes, lines and texts at given places, such as the elements of a tile. Places and sizes are in units of
// which 720 are between the margins, each about half a point. Boxes are below lines, and lines below texts.
type Sketch struct {
	Height int
	Fills  []Fill
	Lines  []Line
	Notes  []Note
	Latin  *Sketch // is drawn in PNG and PDF, whose fonts have no Chinese characters; nil: the sketch itself
}

const (
	margin = 8                        // left and right, in units
	unit   = width / (720 + 2*margin) // in points
)

// units returns a length.
func units(n int) vg.Length { return vg.Length(n) * unit }

// Fill is a box in a Tint. Boxes with a higher tint are above the others.
type Fill struct {
	X, Y, Wide, High int
	Tint             Tint
}

// Tint is the colour of a box: Blank, 1 to 8, which are pale, or Strong plus 1 to 7.
type Tint int

// The tints other than numbers.
const (
	Blank  Tint = 0
	Strong Tint = 10
)

func (t Tint) color() color.RGBA {
	switch {
	case t > Strong:
		return Palette[int(t-Strong-1)%len(Palette)]
	case t > Blank:
		return pale(append(slices.Clone(Palette), Mid)[int(t-1)%(len(Palette)+1)])
	}
	return color.RGBA{0xE6, 0xE7, 0xEC, 0xFF}
}

// pale mixes a colour with paper, so that letters on it can be read.
func pale(c color.RGBA) color.RGBA {
	mix := func(x, paper uint8) uint8 { return uint8((2*int(x) + 3*int(paper)) / 5) }
	return color.RGBA{mix(c.R, Paper.R), mix(c.G, Paper.G), mix(c.B, Paper.B), 0xFF}
}

// Line is a line in a Stroke.
type Line struct {
	X1, Y1, X2, Y2 int
	Stroke         Stroke
}

// Stroke is a kind of lines.
type Stroke int

// The kinds: between cells, and on them.
const (
	Gap Stroke = iota
	Thin
)

// strokes are their colours.
var strokes = []color.RGBA{Paper, Ink}

const strokeWidth = 2

// Note is a text whose baseline begins, is centred or ends at a place.
type Note struct {
	X, Y, Size int
	Align      Align
	Inside     bool // of a box, which has the same colour whatever the colour of the page
	Text       string
}

// Align is which part of a text is at its place.
type Align = draw.XAlignment

// The parts.
const (
	Begin  = draw.XLeft
	Middle = draw.XCenter
	End    = draw.XRight
)

// onBox is the colour of letters in boxes. It differs from Ink, which is light on dark pages.
var onBox = color.RGBA{0x1B, 0x1B, 0x1E, 0xFF}

func (n Note) color() color.RGBA {
	if n.Inside {
		return onBox
	}
	return Ink
}

func (s Sketch) height() vg.Length { return units(s.Height) }

func (s Sketch) draw(c draw.Canvas) {
	if s.Latin != nil {
		s = *s.Latin
	}
	at := func(x, y int) vg.Point {
		return vg.Point{X: c.Min.X + units(x+margin), Y: c.Max.Y - units(y)}
	}
	for _, f := range s.byTint() {
		c.SetColor(f.Tint.color())
		c.Fill(vg.Rectangle{Min: at(f.X, f.Y+f.High), Max: at(f.X+f.Wide, f.Y)}.Path())
	}
	for _, l := range s.Lines {
		style := draw.LineStyle{Color: strokes[l.Stroke], Width: units(strokeWidth)}
		c.StrokeLines(style, []vg.Point{at(l.X1, l.Y1), at(l.X2, l.Y2)})
	}
	for _, n := range s.Notes {
		style := lettering(units(n.Size).Points(), n.Align, draw.YBottom)
		style.Color = n.color()
		place := at(n.X, n.Y)
		place.Y -= style.FontExtents().Descent
		c.FillText(style, place, n.Text)
	}
}

// byTint returns each box once, the ones above others last. Neighbours in a row with one tint are one box.
func (s Sketch) byTint() (out []Fill) {
	sorted := slices.SortedFunc(slices.Values(s.Fills), func(a, b Fill) int {
		return cmp.Or(int(a.Tint-b.Tint), a.High-b.High, a.Y-b.Y, a.X-b.X)
	})
	for _, f := range slices.Compact(sorted) {
		if n := len(out) - 1; n >= 0 {
			if last := out[n]; f == (Fill{last.X + last.Wide, last.Y, f.Wide, last.High, last.Tint}) {
				out[n].Wide += f.Wide
				continue
			}
		}
		out = append(out, f)
	}
	return out
}

// svg writes the sketch as an SVG document. Boxes and lines of a look are one path.
func (s Sketch) svg(w io.Writer, title string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<svg width=\"360pt\" height=\"%.0fpt\" viewBox=\"%d 0 %d %d\" "+
		"xmlns=\"http://www.w3.org/2000/svg\">\n<title>%s</title>\n", s.height().Points(), -margin, 720+2*margin,
		s.Height, html.EscapeString(title))
	var paths [20]strings.Builder
	for _, f := range s.byTint() {
		fmt.Fprintf(&paths[f.Tint], "M%d %dh%dv%dh-%dz", f.X, f.Y, f.Wide, f.High, f.Wide)
	}
	for tint := range paths {
		if paths[tint].Len() > 0 {
			fmt.Fprintf(&b, "<path fill=\"%s\" d=\"%s\"/>\n", Hex(Tint(tint).color()), paths[tint].String())
		}
	}
	var lines [2]strings.Builder
	for _, l := range s.Lines {
		fmt.Fprintf(&lines[l.Stroke], "M%d %dL%d %d", l.X1, l.Y1, l.X2, l.Y2)
	}
	for kind, color := range strokes {
		if lines[kind].Len() > 0 {
			fmt.Fprintf(&b, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" stroke-dasharray=\"0\" "+
				"d=\"%s\"/>\n", Hex(color), strokeWidth, lines[kind].String())
		}
	}
	groups := map[string]string{} // texts by the element around them
	for _, n := range s.Notes {
		head := fmt.Sprintf("<g style=\"%sfont-size:%dpx\" fill=\"%s\" text-anchor=\"%s\">\n", FontFamily, n.Size,
			Hex(n.color()), map[Align]string{Begin: "start", Middle: "middle", End: "end"}[n.Align])
		groups[head] += fmt.Sprintf("<text x=\"%d\" y=\"%d\">%s</text>\n", n.X, n.Y, html.EscapeString(n.Text))
	}
	for _, head := range slices.Sorted(maps.Keys(groups)) {
		b.WriteString(head + groups[head] + "</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
