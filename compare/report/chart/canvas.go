// Package chart draws the figures of a report (curves, bars, columns, lanes, sketches) as SVG, PNG and
// PDF. It does not know records. The same chart gives the same bytes.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is the content of a figure: a Curve, Bars, Columns, Lanes or a Sketch.
type Chart interface {
	height() vg.Length
	draw(c draw.Canvas)
}

// Drawing is a figure. It is drawn when it is written, always with the same bytes.
type Drawing struct {
	ID    string // the base name of the files
	Title string // the alternative text of an SVG document
	Chart Chart
}

// width is the width of every drawing. It is small, so that letters are legible on a telephone 360 pixels wide.
const width = 5 * vg.Inch

// The colours of everything but data.
var (
	Ink   = color.RGBA{0x1B, 0x1B, 0x1F, 0xFF} // letters, axes
	Faint = color.RGBA{0xD3, 0xD4, 0xDA, 0xFF} // grid
	Mid   = color.RGBA{0x7A, 0x7C, 0x85, 0xFF} // limits, leaders
	Paper = color.RGBA{0xFF, 0xFF, 0xFF, 0xFF} // the inside of open markers
)

// FontFamily is the style of all letters in an SVG document.
const FontFamily = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"

// Hex returns c as it is written in an SVG document.
func Hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// SVG writes the drawing as an SVG document. The background is transparent. All colours but the colours of data are
// Ink, Mid, Faint and Paper. Letters are text with the widths of Liberation Sans, whichever font the reader has.
func (d Drawing) SVG(w io.Writer) error {
	ch, title := Mapped(d.Chart, label), Printable(d.Title)
	if s, ok := ch.(Sketch); ok {
		return s.svg(w, title)
	}
	canvas := vgsvg.New(width, heightOf(ch))
	ch.draw(bounded(canvas, ch))
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return err
	}
	// The library names one font without an alternative, and gives no title.
	svg := svgText.ReplaceAllStringFunc(buf.String(), func(element string) string {
		part := svgText.FindStringSubmatch(element)
		size, _ := strconv.ParseFloat(part[2], 64)
		length := lettering(size, draw.XLeft, draw.YTop).Width(html.UnescapeString(part[4])).Points()
		return fmt.Sprintf(`%s textLength="%.5g" lengthAdjust="spacingAndGlyphs" style="%sfont-size:%spx%s">%s</text>`,
			part[1], length, FontFamily, part[2], part[3], part[4])
	})
	at := strings.Index(svg, "<svg")
	at += strings.Index(svg[at:], ">") + 1
	_, err := fmt.Fprintf(w, "%s\n<title>%s</title>%s", svg[:at], html.EscapeString(title), svg[at:])
	return err
}

// svgText matches a text element that the library wrote: its position, size, colour and characters.
var svgText = regexp.MustCompile(`(<text x="[^"]*" y="[^"]*" transform="scale\(1, -1\)")\s+` +
	`style="font-family:[^"]*font-size:([0-9.]+)px([^"]*)">([^<]*)</text>`)

// PNG writes the drawing as a PNG image of 200 dots an inch on white; fewer if it is taller than ten pages.
func (d Drawing) PNG(w io.Writer) error {
	ch := Mapped(d.Chart, label)
	dpi := int(200 * min(1, 110*vg.Inch/heightOf(ch)))
	canvas := vgimg.NewWith(vgimg.UseWH(width, heightOf(ch)), vgimg.UseDPI(max(1, dpi)))
	ch.draw(bounded(canvas, ch))
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, canvas.Image())
}

// PDF writes the drawing as a PDF document of one page, its fonts embedded.
func (d Drawing) PDF(w io.Writer) error {
	fixPDFDate()
	ch := Mapped(d.Chart, label)
	canvas := vgpdf.New(width, heightOf(ch))
	ch.draw(bounded(latin1Canvas{canvas}, ch))
	_, err := canvas.WriteTo(w)
	return err
}

// fixPDFDate makes the PDF documents of equal drawings equal. Otherwise the library writes the time of day
// into each, and its fonts in the random order of a map.
var fixPDFDate = sync.OnceFunc(func() {
	epoch := time.Unix(0, 0).UTC()
	fpdf.SetDefaultCreationDate(epoch)
	fpdf.SetDefaultModificationDate(epoch)
	fpdf.SetDefaultCatalogSort(true)
})

// bounded returns a canvas for ch on which nothing is far outside: a rasteriser takes time for all of a path.
func bounded(c vg.Canvas, ch Chart) draw.Canvas {
	height := heightOf(ch)
	return draw.NewCanvas(boundedCanvas{c, width + height}, width, height)
}

// heightOf returns the height of ch, within reason.
func heightOf(ch Chart) vg.Length {
	if height := ch.height(); height > 0 {
		return min(height, 1000*vg.Inch)
	}
	return width
}

// boundedCanvas drops paths and letters at places that are no numbers, and cuts paths at a distance from the origin.
type boundedCanvas struct {
	vg.Canvas
	far vg.Length
}

func (c boundedCanvas) Stroke(p vg.Path) { c.within(p, c.Canvas.Stroke) }
func (c boundedCanvas) Fill(p vg.Path)   { c.within(p, c.Canvas.Fill) }

// within calls draw with the path cut to what is near.
func (c boundedCanvas) within(p vg.Path, draw func(vg.Path)) {
	near := slices.Clone(p)
	for i := range near {
		at := &near[i].Pos
		if at.X != at.X || at.Y != at.Y { // NaN
			return
		}
		at.X, at.Y = max(-c.far, min(c.far, at.X)), max(-c.far, min(c.far, at.Y))
	}
	draw(near)
}

func (c boundedCanvas) FillString(f font.Face, at vg.Point, str string) {
	if math.Abs(float64(at.X)) <= float64(c.far) && math.Abs(float64(at.Y)) <= float64(c.far) {
		c.Canvas.FillString(f, at, str)
	}
}

func (c boundedCanvas) Rotate(angle float64) {
	if angle == angle {
		c.Canvas.Rotate(angle)
	}
}

// logarithmic is a scale that is NaN for what has no logarithm.
type logarithmic struct{}

// Normalize implements plot.Normalizer.
func (logarithmic) Normalize(lo, hi, x float64) float64 {
	return (math.Log(x) - math.Log(lo)) / (math.Log(hi) - math.Log(lo))
}

// latin1Canvas is a PDF canvas for strings in UTF-8. The canvas of the library passes their bytes
// to fonts with code page 1252.
type latin1Canvas struct{ *vgpdf.Canvas }

// FillString draws str. Characters outside Latin-1 become question marks.
func (c latin1Canvas) FillString(f font.Face, at vg.Point, str string) {
	encoded := make([]byte, 0, len(str))
	for _, r := range str {
		if r > 0xFF {
			r = '?'
		}
		encoded = append(encoded, byte(r))
	}
	c.Canvas.FillString(f, at, string(encoded))
}

// lettering returns a text style with the given size in points and alignment.
func lettering(size float64, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color:   Ink,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

// The sizes of letters, in points.
const (
	titleSize = 10
	labelSize = 9
	tickSize  = 8.5
)
