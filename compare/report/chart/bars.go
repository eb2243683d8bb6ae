package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars shows values as horizontal bars in groups, one above the other.
type Bars struct {
	Title, XLabel string
	Kind          BarKind
	Colors        []color.RGBA
	Names         []string // of the colours; nil: the labels are enough
	Groups        []Group
}

// BarKind says what the lengths of bars are.
type BarKind int

// The kinds.
const (
	Rates   BarKind = iota // values from 0, written next to the bars
	Times                  // values from 0, written as multiples, and a line at 1
	Parts                  // the bars of a group are parts of one bar, from 0
	Factors                // each bar is a factor, from Bar.From to its value, on a logarithmic axis
)

// Group is the bars of one label.
type Group struct {
	Label string
	Bars  []Bar
}

// Bar is a value Y with its interval. Its X is not used.
type Bar struct {
	Point
	Color int     // an index into the chart's colours
	From  float64 // only of Factors
	Mark  float64 // only of Columns: the value of something else for comparison; 0: none
}

const (
	barHeight = 9.5 // points
	groupGap  = 4.5
)

type laidBar struct {
	Bar
	at, from, to float64 // at: its upper edge, or its left one in Columns
}

// layout places the bars, from 0 down, with a tick for each group. One unit is a point: bars have the same height
// whatever their number.
func (ch Bars) layout() (bars []laidBar, labels plot.ConstantTicks, bottom float64) {
	at := 0.0
	for _, g := range ch.Groups {
		top, from := at, 0.0
		for i, b := range g.Bars {
			if ch.Kind == Factors {
				from = b.From
			}
			bars = append(bars, laidBar{b, at, from, b.Y})
			if ch.Kind == Parts {
				bars[len(bars)-1].to += from
				from += b.Y
			}
			if ch.Kind != Parts || i == len(g.Bars)-1 {
				at -= barHeight
			}
		}
		labels = append(labels, plot.Tick{Value: (top + at) / 2, Label: g.Label})
		at -= groupGap
	}
	return bars, labels, at
}

func (ch Bars) height() vg.Length {
	_, _, bottom := ch.layout()
	if len(ch.Names) > 0 {
		bottom -= 14
	}
	return vg.Points(58 - bottom)
}

func (ch Bars) draw(c draw.Canvas) {
	bars, labels, bottom := ch.layout()
	p := newLanes(labels, bottom+groupGap/2, groupGap/2)
	p.Y.Tick.Label = lettering(labelSize, draw.XRight, draw.YCenter)
	lowest, longest, highest := 1.0, 0.0, 0.0
	if ch.Kind == Times {
		longest, highest = 1, 1
	}
	for _, b := range bars {
		lowest, longest, highest = min(lowest, b.from, b.to), max(longest, b.from, b.to), max(highest, b.Hi)
	}
	if ch.Kind == Factors {
		p.X.Scale = logarithmic{}
		p.X.Min, p.X.Max = lowest/1.05, max(2, longest)*1.15
		p.X.Tick.Marker = plot.ConstantTicks(logTicks(p.X.Min, p.X.Max))
	} else { // An interval may be up to 1.5 times as long as the bars; the rest is cut off.
		marks, _, top := linearTicks(0, max(longest, min(highest, 1.5*longest)))
		p.X.Min, p.X.Max, p.X.Tick.Marker = 0, top, plot.ConstantTicks(marks)
	}
	c = titled(c, ch.Title)
	if ch.Kind != Parts {
		c = draw.Crop(c, 0, -28, 0, 0) // room for the value at the longest bar
		p.Add(gridX)
	}
	p.Add(over(ch.data))
	p.Draw(labelled(keyed(c, ch.Names, ch.Colors), p, ch.XLabel, ""))
}

// data draws the bars with their values, and a line at 1 or at 0. Factors are connected.
func (ch Bars) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	text := lettering(tickSize, draw.XLeft, draw.YCenter)
	line := draw.LineStyle{Color: Ink, Width: vg.Points(0.9)}
	bars, _, _ := ch.layout()
	for i, b := range bars {
		from, to := x(b.from), x(b.to)
		box := vg.Rectangle{
			Min: vg.Point{X: min(from, to), Y: y(b.at - barHeight + 0.6)},
			Max: vg.Point{X: max(from, to), Y: y(b.at - 0.6)},
		}
		c.SetColor(ch.Colors[b.Color])
		c.Fill(box.Path())
		middle, end := (box.Min.Y+box.Max.Y)/2, box.Max.X
		if b.Hi > b.Lo {
			last := x(min(b.Hi, p.X.Max))
			end = max(from, last)
			c.StrokeLine2(line, x(max(b.Lo, p.X.Min)), middle, last, middle)
			if b.Hi > p.X.Max { // an arrow: the interval is longer
				c.StrokeLines(line,
					[]vg.Point{{X: last - 3, Y: middle + 2}, {X: last, Y: middle}, {X: last - 3, Y: middle - 2}})
			}
		}
		value := threeDigits(b.Y)
		switch ch.Kind {
		case Parts:
			continue
		case Times:
			value += "×"
		case Factors:
			value = "×" + threeDigits(b.Y/b.From)
			if i+1 < len(bars) && bars[i+1].From == b.Y {
				c.StrokeLine2(draw.LineStyle{Color: Mid, Width: vg.Points(0.6)}, to, box.Min.Y, to, y(bars[i+1].at-0.6))
			}
		}
		write(c, text, vg.Point{X: end + 4, Y: middle}, value)
	}
	if start, ok := map[BarKind]float64{Rates: 0, Times: 1}[ch.Kind]; ok {
		c.StrokeLine2(line, x(start), c.Min.Y, x(start), c.Max.Y)
	}
}

// Columns shows values as vertical bars in groups, on a logarithmic axis. The groups stand in blocks. A bar whose
// value is not above 0 is not known.
type Columns struct {
	Title, XLabel, YLabel string
	Colors                []color.RGBA
	Names                 []string // of the colours
	Mark                  string   // what marks are; empty: there are none
	Blocks                []Block
}

// Block is groups that belong together.
type Block struct {
	Label  string
	Groups []Group
}

// Gaps between groups and between blocks, in widths of a bar.
const (
	columnGap = 0.8
	blockGap  = 2.4
)

func (ch Columns) height() vg.Length { return 3 * vg.Inch }

// layout places the bars, from 0 to the right, with ticks for groups and blocks.
func (ch Columns) layout() (bars []laidBar, groups, blocks []plot.Tick, end float64) {
	at := 0.0
	for i, block := range ch.Blocks {
		if i > 0 {
			at += blockGap
		}
		first := at
		for j, g := range block.Groups {
			if j > 0 {
				at += columnGap
			}
			groups = append(groups, plot.Tick{Value: at + float64(len(g.Bars))/2, Label: g.Label})
			for _, b := range g.Bars {
				bars = append(bars, laidBar{Bar: b, at: at})
				at++
			}
		}
		blocks = append(blocks, plot.Tick{Value: (first + at) / 2, Label: block.Label})
	}
	return bars, groups, blocks, at
}

func (ch Columns) draw(c draw.Canvas) {
	bars, groups, blocks, end := ch.layout()
	p := newPlot()
	p.Y.Min, p.Y.Max = math.Inf(1), 0
	for _, b := range bars {
		for _, y := range []float64{b.Y, b.Mark} {
			if y > 0 {
				p.Y.Min, p.Y.Max = min(p.Y.Min, y), max(p.Y.Max, y)
			}
		}
	}
	p.X.Min, p.X.Max, p.X.Padding, p.Y.Padding = -blockGap/2, end+blockGap/2, 0, 0
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
	const row = 12 // points
	p.Add(gridY, over(ch.data))
	area := draw.Crop(labelled(keyed(c, ch.Names, ch.Colors), p, ch.XLabel, ch.YLabel), 0, 0, 2*row, 0)
	p.Draw(area)
	area = p.DataCanvas(area)
	// Only every second label of a group is written, or every third and so on, if there is no room for all.
	style, widest := lettering(tickSize, draw.XCenter, draw.YTop), vg.Length(0)
	for _, g := range groups {
		widest = max(widest, style.Width(g.Label))
	}
	for i, next := 0, vg.Length(math.Inf(-1)); i < len(groups); i++ {
		x := area.X(p.X.Norm(groups[i].Value))
		if x-widest/2 >= next {
			c.FillText(style, vg.Point{X: x, Y: area.Min.Y - 4}, groups[i].Label)
			next = x + widest/2 + 3
		}
	}
	for _, b := range blocks {
		at := vg.Point{X: area.X(p.X.Norm(b.Value)), Y: area.Min.Y - 4 - row}
		c.FillText(lettering(labelSize, draw.XCenter, draw.YTop), at, b.Label)
	}
}

// data draws the bars and their marks.
func (ch Columns) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	bars, _, _, _ := ch.layout()
	for _, b := range bars {
		left, right := x(b.at), x(b.at+1)
		if b.Y > 0 {
			box := vg.Rectangle{Min: vg.Point{X: left, Y: c.Min.Y}, Max: vg.Point{X: right - 0.4, Y: y(b.Y)}}
			c.SetColor(ch.Colors[b.Color])
			c.Fill(box.Path())
		}
		if b.Mark > 0 {
			marked(c, left, right-left-0.4, y(b.Mark))
		}
	}
}

// marked draws the mark of a bar that begins at x and is as wide.
func marked(c draw.Canvas, x, wide, y vg.Length) {
	c.StrokeLine2(draw.LineStyle{Color: Paper, Width: vg.Points(2.4)}, x, y, x+wide, y)
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: vg.Points(1.1)}, x, y, x+wide, y)
}
