package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Palette is the palette of Okabe and Ito (Color Universal Design, 2008), with brown in place of
// yellow, which is invisible on white.
var Palette = []color.RGBA{
	{0x00, 0x72, 0xB2, 0xFF}, // blue
	{0xD5, 0x5E, 0x00, 0xFF}, // vermilion
	{0x00, 0x9E, 0x73, 0xFF}, // green
	{0xCC, 0x79, 0xA7, 0xFF}, // purple
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0x56, 0xB4, 0xE9, 0xFF}, // sky
	{0x8C, 0x6D, 0x4F, 0xFF}, // brown
}

// Look distinguishes a series from the others: by colour, marker and dashes.
type Look struct {
	Color  color.RGBA
	Marker Marker
	Dashes []vg.Length // lengths of dash and gap; nil: a full line
}

// LookOf returns the i-th Look. Colours repeat after 7 and markers after 8, so the first 56 differ in colour or marker.
func LookOf(i int) Look {
	l := Look{Color: Palette[i%len(Palette)], Marker: Marker(i % int(markers))}
	if i/len(Palette)%2 == 1 {
		l.Dashes = []vg.Length{4, 2}
	}
	return l
}

func (l Look) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.Color, Radius: vg.Points(2.9), Shape: l.Marker}
}

// Marker is the shape of a data point.
type Marker int

// The markers.
const (
	Disc Marker = iota
	Square
	Triangle
	Diamond
	Ring
	OpenSquare
	InvertedTriangle
	OpenDiamond
	markers // the number of markers
	stroke  // a short line, for limits
	Bare    // no marker: a line without data
)

// DrawGlyph draws m at the point, open markers filled with the colour of the paper. It implements draw.GlyphDrawer.
func (m Marker) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius
	var path vg.Path
	polygon := func(corners ...vg.Point) {
		path.Move(at.Add(corners[0]))
		for _, corner := range corners[1:] {
			path.Line(at.Add(corner))
		}
		path.Close()
	}
	switch m {
	case Bare:
		return
	case stroke:
		c.StrokeLine2(draw.LineStyle{Color: s.Color, Width: vg.Points(1.1)}, at.X-4, at.Y, at.X+4, at.Y)
		return
	case Square, OpenSquare:
		h := 0.89 * r // of the disc's area
		polygon(vg.Point{X: -h, Y: -h}, vg.Point{X: h, Y: -h}, vg.Point{X: h, Y: h}, vg.Point{X: -h, Y: h})
	case Triangle:
		polygon(vg.Point{X: -1.15 * r, Y: -0.8 * r}, vg.Point{X: 1.15 * r, Y: -0.8 * r}, vg.Point{Y: 1.25 * r})
	case InvertedTriangle:
		polygon(vg.Point{X: -1.15 * r, Y: 0.8 * r}, vg.Point{X: 1.15 * r, Y: 0.8 * r}, vg.Point{Y: -1.25 * r})
	case Diamond, OpenDiamond:
		h := 1.3 * r
		polygon(vg.Point{X: -h}, vg.Point{Y: -h}, vg.Point{X: h}, vg.Point{Y: h})
	default:
		path.Move(at.Add(vg.Point{X: r}))
		path.Arc(at, r, 0, 2*math.Pi)
		path.Close()
	}
	if m == Ring || m == OpenSquare || m == OpenDiamond {
		c.SetColor(Paper)
		c.Fill(path)
		c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: vg.Points(1.2)})
		c.Stroke(path)
		return
	}
	c.SetColor(s.Color)
	c.Fill(path)
}
