package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Columns shows values as vertical bars in groups, on a logarithmic axis. The groups stand in blocks. A
// bar may have a mark, the value of something else for comparison.
type Columns struct {
	Title          string
	XLabel, YLabel string
	Colors         []color.RGBA // of the bars of a group, from left to right
	Names          []string     // of the colours
	Mark           string       // what marks are; empty: there are none
	Blocks         []ColumnBlock
}

// ColumnBlock is groups that belong together.
type ColumnBlock struct {
	Label  string
	Groups []ColumnGroup
}

// ColumnGroup is a bar for each of the chart's colours.
type ColumnGroup struct {
	Label   string
	Columns []Column
}

// Column is the value of a bar, and of its mark. A value that is not above 0 is not known.
type Column struct{ Value, Mark float64 }

// Gaps between groups and between blocks, in widths of a bar.
const (
	columnGap = 0.8
	blockGap  = 2.4
)

func (ch Columns) height() vg.Length { return 3 * vg.Inch }

// each calls do for each bar with its place on the axis. It returns the length of the axis.
func (ch Columns) each(do func(at float64, color int, c Column)) float64 {
	at := 0.0
	for i, block := range ch.Blocks {
		if i > 0 {
			at += blockGap
		}
		for j, g := range block.Groups {
			if j > 0 {
				at += columnGap
			}
			for color, c := range g.Columns {
				do(at, color, c)
				at++
			}
		}
	}
	return at
}

func (ch Columns) draw(c draw.Canvas) {
	p := newPlot()
	p.Y.Min, p.Y.Max = math.Inf(1), 0
	length := ch.each(func(_ float64, _ int, c Column) {
		for _, y := range []float64{c.Value, c.Mark} {
			if y > 0 {
				p.Y.Min, p.Y.Max = min(p.Y.Min, y), max(p.Y.Max, y)
			}
		}
	})
	p.X.Min, p.X.Max, p.X.Padding, p.Y.Padding = -blockGap/2, length+blockGap/2, 0, 0
	p.X.Tick.Length, p.X.Tick.Marker = 0, plot.ConstantTicks(nil)
	p.Y.Scale = logarithmic{}
	p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*1.1 // the shortest bar is as high as a factor of two
	p.Y.Tick.Marker = plot.ConstantTicks(logTicks(p.Y.Min, p.Y.Max))

	c = titled(c, ch.Title)
	if ch.Mark != "" {
		text := lettering(labelSize, draw.XRight, draw.YCenter)
		at := vg.Point{X: c.Max.X, Y: c.Max.Y - 5}
		write(c, text, at, ch.Mark)
		marked(c, at.X-text.Width(ch.Mark)-9, 6, at.Y)
	}
	c = keyed(c, ch.Names, ch.Colors)
	const row = 12 // points
	p.Add(over(Curve{}.grid), over(ch.data))
	area := labelled(c, p, ch.XLabel, ch.YLabel)
	area = draw.Crop(area, 0, 0, 2*row, 0)
	p.Draw(area)
	ch.names(c, p, p.DataCanvas(area), row)
}

// names writes the labels of the groups below the axis, and those of the blocks below these. If the groups
// are narrower than their labels, it writes every second label, or every third, and so on.
func (ch Columns) names(c draw.Canvas, p *plot.Plot, area draw.Canvas, row vg.Length) {
	x := func(at float64) vg.Length { return area.X(p.X.Norm(at)) }
	group := lettering(tickSize, draw.XCenter, draw.YTop)
	block := lettering(labelSize, draw.XCenter, draw.YTop)
	widest := vg.Length(0)
	for _, b := range ch.Blocks {
		for _, g := range b.Groups {
			widest = max(widest, group.Width(g.Label))
		}
	}
	at := 0.0
	for i, b := range ch.Blocks {
		if i > 0 {
			at += blockGap
		}
		first := at
		next := vg.Length(math.Inf(-1)) // where there is room for a label
		for j, g := range b.Groups {
			if j > 0 {
				at += columnGap
			}
			middle := x(at + float64(len(g.Columns))/2)
			if middle-widest/2 >= next {
				c.FillText(group, vg.Point{X: middle, Y: area.Min.Y - 4}, g.Label)
				next = middle + widest/2 + 3
			}
			at += float64(len(g.Columns))
		}
		c.FillText(block, vg.Point{X: x((first + at) / 2), Y: area.Min.Y - 4 - row}, b.Label)
	}
}

// data draws the bars and their marks.
func (ch Columns) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	ch.each(func(at float64, color int, column Column) {
		left, right := x(at), x(at+1)
		if column.Value > 0 {
			box := vg.Rectangle{Min: vg.Point{X: left, Y: c.Min.Y}, Max: vg.Point{X: right - 0.4, Y: y(column.Value)}}
			c.SetColor(ch.Colors[color])
			c.Fill(box.Path())
		}
		if column.Mark > 0 {
			marked(c, left, right-left-0.4, y(column.Mark))
		}
	})
}

// marked draws the mark of a bar that begins at x and is as wide.
func marked(c draw.Canvas, x, wide, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: Paper, Width: vg.Points(2.4)}, x, y, x+wide, y)
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: vg.Points(1.1)}, x, y, x+wide, y)
}
