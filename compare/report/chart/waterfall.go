package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Waterfall shows how a value grows or shrinks factor by factor: horizontal bars on a logarithmic
// axis, each beginning where the one above it ends.
type Waterfall struct {
	Title  string
	XLabel string
	Stages []Stage
}

// Stage is one factor of a Waterfall. Its bar reaches from the value before to the value after.
type Stage struct {
	Label         string
	Before, After float64
	Apart         bool // it does not begin where the one above it ends, and has a colour of its own
}

const stageHeight = 13.5 // points

func (ch Waterfall) height() vg.Length { return vg.Points(62 + stageHeight*float64(len(ch.Stages))) }

func (ch Waterfall) draw(c draw.Canvas) {
	p := newPlot()
	p.X.Padding, p.Y.Padding = 0, 2
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.Y.Tick.Label = lettering(labelSize, draw.XRight, draw.YCenter)
	p.X.Min, p.X.Max = 1, 2
	var labels plot.ConstantTicks
	for i, s := range ch.Stages {
		labels = append(labels, plot.Tick{Value: -stageHeight * (float64(i) + 0.5), Label: s.Label})
		p.X.Min, p.X.Max = min(p.X.Min, s.Before, s.After), max(p.X.Max, s.Before, s.After)
	}
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = -stageHeight*float64(len(ch.Stages)), 0, labels
	p.X.Scale = logarithmic{}
	p.X.Min, p.X.Max = p.X.Min/1.05, p.X.Max*1.15
	p.X.Tick.Marker = plot.ConstantTicks(logTicks(p.X.Min, p.X.Max))
	c = titled(c, ch.Title)
	c = draw.Crop(c, 0, -34, 0, 0) // room for the factor at the longest bar
	p.Add(over(ch.grid), over(ch.data))
	p.Draw(labelled(c, p, ch.XLabel, ""))
}

// grid draws a faint line at each labelled tick of x.
func (ch Waterfall) grid(c draw.Canvas, p *plot.Plot) { Bars{}.grid(c, p) }

// data draws the bars with their factors, and lines from each end to the next beginning.
func (ch Waterfall) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	text := lettering(labelSize, draw.XLeft, draw.YCenter)
	for i, s := range ch.Stages {
		top := -stageHeight * float64(i)
		from, to := x(s.Before), x(s.After)
		box := vg.Rectangle{
			Min: vg.Point{X: min(from, to), Y: y(top - stageHeight + 2.5)}, Max: vg.Point{X: max(from, to), Y: y(top - 2.5)},
		}
		color := Palette[0]
		if s.After < s.Before {
			color = Palette[1]
		}
		if s.Apart {
			color = Palette[2]
		}
		c.SetColor(color)
		c.Fill(box.Path())
		write(c, text, vg.Point{X: box.Max.X + 4, Y: (box.Min.Y + box.Max.Y) / 2}, "×"+threeDigits(s.After/s.Before))
		if i+1 < len(ch.Stages) && !ch.Stages[i+1].Apart {
			c.StrokeLine2(draw.LineStyle{Color: Mid, Width: vg.Points(0.6)}, to, box.Min.Y, to, y(top-stageHeight-2.5))
		}
	}
}
