package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// newPlot returns an empty plot in the style of the report.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle = draw.LineStyle{Color: Ink, Width: vg.Points(0.7)}
		axis.Tick.LineStyle = axis.LineStyle
		axis.Tick.Length = 4
		axis.Padding = 4
	}
	p.X.Tick.Label = lettering(tickSize, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = lettering(tickSize, draw.XRight, draw.YCenter)
	return p
}

// newLanes returns an empty plot whose y axis has names in place of numbers.
func newLanes(names plot.ConstantTicks, bottom, top float64) *plot.Plot {
	p := newPlot()
	p.X.Padding, p.Y.Padding = 0, 2
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = bottom, top, names
	return p
}

// gridX and gridY draw a line at each labelled tick of x and of y.
var (
	gridLine = draw.LineStyle{Color: Faint, Width: vg.Points(0.5)}
	gridX    = &plotter.Grid{Vertical: gridLine}
	gridY    = &plotter.Grid{Horizontal: gridLine}
)

// over makes a plotter of a function.
type over func(c draw.Canvas, p *plot.Plot)

// Plot implements plot.Plotter.
func (f over) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// titled writes the title at the top left of c and returns the rest of c.
func titled(c draw.Canvas, title string) draw.Canvas {
	c = draw.Crop(c, 2, -2, 2, -2)
	c.FillText(lettering(titleSize, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, title)
	return draw.Crop(c, 0, 0, 0, -18)
}

// keyed writes the names of the colours at the top of c, if there are any, and returns the rest of c.
func keyed(c draw.Canvas, names []string, colors []color.RGBA) draw.Canvas {
	if len(names) == 0 {
		return c
	}
	text := lettering(labelSize, draw.XLeft, draw.YCenter)
	x, y := c.Min.X, c.Max.Y-5
	for i, name := range names {
		box := vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + 8, Y: y + 4}}
		c.SetColor(colors[i])
		c.Fill(box.Path())
		write(c, text, vg.Point{X: x + 11, Y: y}, name)
		x += 11 + text.Width(name) + 12
	}
	return draw.Crop(c, 0, 0, 0, -14)
}

// labelled writes the labels of the axes of p and returns the rest of c for p. The labels of the
// library would reserve space as if the middle of a logarithmic axis were the middle of its values.
func labelled(c draw.Canvas, p *plot.Plot, x, y string) draw.Canvas {
	const room = 14
	left := vg.Length(0)
	if y != "" {
		left = room
	}
	rest := draw.Crop(c, left, 0, room, 0)
	area := p.DataCanvas(rest)
	c.FillText(lettering(labelSize, draw.XCenter, draw.YBottom), vg.Point{X: area.Center().X, Y: c.Min.Y}, x)
	up := lettering(labelSize, draw.XCenter, draw.YTop)
	up.Rotation = math.Pi / 2
	c.FillText(up, vg.Point{X: c.Min.X, Y: area.Center().Y}, y)
	return rest
}

// write draws text. If the style is centred on y, the middle of the small letters is at y. (The library
// centres the line with its leading.)
func write(c draw.Canvas, style text.Style, at vg.Point, s string) {
	at.Y += style.Font.Size / 8
	c.FillText(style, at, s)
}
