package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Stacks shows the parts of values: horizontal bars of parts, one after the other.
type Stacks struct {
	Title  string
	XLabel string
	Colors []color.RGBA // of the parts, at least as many
	Names  []string     // of the parts
	Stacks []Stack
}

// Stack is one bar. Its parts are not negative.
type Stack struct {
	Label string
	Parts []float64
}

// used returns the numbers of the parts that at least one bar has.
func (ch Stacks) used() []int {
	var out []int
	for i := range ch.Names {
		for _, s := range ch.Stacks {
			if i < len(s.Parts) && s.Parts[i] > 0 {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

func (ch Stacks) height() vg.Length {
	return vg.Points(72 + (barHeight+groupGap)*float64(len(ch.Stacks)))
}

func (ch Stacks) draw(c draw.Canvas) {
	p := newPlot()
	p.X.Padding, p.Y.Padding = 0, 2
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.Y.Tick.Label = lettering(labelSize, draw.XRight, draw.YCenter)
	var labels plot.ConstantTicks
	at, longest := 0.0, 0.0
	for _, s := range ch.Stacks {
		labels = append(labels, plot.Tick{Value: at - barHeight/2, Label: s.Label})
		at -= barHeight + groupGap
		sum := 0.0
		for _, part := range s.Parts {
			sum += part
		}
		longest = max(longest, sum)
	}
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = at+groupGap/2, groupGap/2, labels
	ticks, _, most := linearTicks(0, longest)
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, most, plot.ConstantTicks(ticks)

	c = titled(c, ch.Title)
	var names []string
	var colors []color.RGBA
	for _, i := range ch.used() {
		names, colors = append(names, ch.Names[i]), append(colors, ch.Colors[i])
	}
	c = keyed(c, names, colors)
	p.Add(over(ch.data))
	p.Draw(labelled(c, p, ch.XLabel, ""))
}

// data draws the bars.
func (ch Stacks) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := 0.0
	for _, s := range ch.Stacks {
		from := 0.0
		for i, part := range s.Parts {
			box := vg.Rectangle{Min: vg.Point{X: x(from), Y: y(at - barHeight)}, Max: vg.Point{X: x(from + part), Y: y(at)}}
			c.SetColor(ch.Colors[i])
			c.Fill(box.Path())
			from += part
		}
		at -= barHeight + groupGap
	}
}
