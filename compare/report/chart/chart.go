// Package chart draws the figures of a report (curves, bars, columns, stacks, lanes, boxes, grids) as SVG, PNG and
// PDF. It does not know records. The same chart gives the same bytes.
package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a datum with the interval of its Y. If the interval is unknown, Lo = Hi = Y.
type Point struct{ X, Y, Lo, Hi float64 }

// Series is the points of one label, at least one, in ascending order of X.
type Series struct {
	Label  string
	Look   Look
	Points []Point
}

// Limit is a horizontal line y = Level for comparison with the data.
type Limit struct {
	Level float64
	Label string // right of the line, or above it if it is the top
}

// Curve shows series over a logarithmic x. The label of a series is next to its last point.
type Curve struct {
	Title          string
	XLabel, YLabel string
	Sizes          []float64 // the ticks of x, ascending; nil: powers of ten
	Names          []string  // of the ticks; nil: their numbers
	LogY           bool      // y is logarithmic
	Series         []Series
	Scattered      bool  // the points of a series are not joined by lines
	Limit          Limit // Level 0: no limit
	// If Top is set, the limit is the top of the y axis, unless data are above it. A y axis that is not
	// logarithmic then begins at 0.
	Top   bool
	Slope Slope // Rise 0: no slope
	Flat  bool  // drawn lower than others, for a page with much else on it
}

// Slope is the line y = Rise·x up to the Limit. The line of the Limit then begins where both meet; together
// they are a roofline.
type Slope struct {
	Rise  float64
	Label string // along the line
}

const lineHeight = 11 // points, of a column of labels

func (ch Curve) height() vg.Length {
	least := 2.6 * vg.Inch
	if ch.Flat {
		least = 1.8 * vg.Inch
	}
	return max(least, vg.Points(lineHeight*float64(len(ch.Series)+1)+70))
}

func (ch Curve) draw(c draw.Canvas) {
	p := newPlot()
	p.X.Scale, p.X.Min, p.X.Max = logarithmic{}, math.Inf(1), math.Inf(-1)
	p.Y.Min, p.Y.Max = math.Inf(1), math.Inf(-1)
	for _, s := range ch.Series {
		for _, pt := range s.Points {
			p.X.Min, p.X.Max = min(p.X.Min, pt.X), max(p.X.Max, pt.X)
			p.Y.Min, p.Y.Max = min(p.Y.Min, pt.Lo), max(p.Y.Max, pt.Hi)
		}
	}
	highest := p.Y.Max
	if ch.Limit.Level > 0 {
		p.Y.Min, p.Y.Max = min(p.Y.Min, ch.Limit.Level), max(p.Y.Max, ch.Limit.Level)
	}
	if ch.Slope.Rise > 0 {
		ridge := ch.Limit.Level / ch.Slope.Rise
		p.X.Min, p.X.Max = min(p.X.Min/2, ridge/10), max(p.X.Max, ridge)*2 // the slope has room for its label
	} else {
		p.X.Min, p.X.Max = p.X.Min/1.04, p.X.Max*1.04
	}
	p.X.Tick.Marker = plot.ConstantTicks(logTicks(p.X.Min, p.X.Max))
	if ch.Sizes != nil {
		ticks := sizeTicks(ch.Sizes, p.X.Min, p.X.Max)
		for i, name := range ch.Names {
			ticks[i].Label = name
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	if ch.LogY {
		p.Y.Scale = logarithmic{}
		p.Y.Min /= 1.15
		if !ch.Top || highest > ch.Limit.Level {
			p.Y.Max *= 1.1
		}
		p.Y.Tick.Marker = plot.ConstantTicks(logTicks(p.Y.Min, p.Y.Max))
	} else {
		lo, top := p.Y.Min, p.Y.Max
		if ch.Top {
			lo = 0
		}
		var ticks []plot.Tick
		ticks, p.Y.Min, p.Y.Max = linearTicks(lo, top)
		if ch.Top && highest <= ch.Limit.Level {
			p.Y.Max = top
			ticks = slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value > top })
		}
		p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	}

	// The labels are in a column at the right of the drawing.
	type entry struct {
		label string
		look  Look
		x, y  float64 // of the datum
	}
	var entries []entry
	for _, s := range ch.Series {
		last := s.Points[len(s.Points)-1]
		entries = append(entries, entry{s.Label, s.Look, last.X, last.Y})
	}
	if ch.Limit.Level > 0 && !ch.Top {
		entries = append(entries, entry{ch.Limit.Label, Look{Color: Mid, Marker: stroke}, p.X.Max, ch.Limit.Level})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.y, b.y) })
	label := lettering(labelSize, draw.XLeft, draw.YCenter)
	column := vg.Length(0)
	for _, e := range entries {
		column = max(column, label.Width(e.label))
	}
	const toMarker, toText = 15, 21 // points from the end of the axis
	c = titled(c, ch.Title)
	c = draw.Crop(c, 0, -(column + toText), 0, 0)
	if ch.Top {
		c = draw.Crop(c, 0, 0, 0, -14) // for the label above the limit
	}
	p.Add(over(ch.grid), over(ch.limits), over(ch.data))
	plotArea := labelled(c, p, ch.XLabel, ch.YLabel)
	p.Draw(plotArea)

	area := p.DataCanvas(plotArea)
	wanted := make([]vg.Length, len(entries))
	for i, e := range entries {
		wanted[i] = area.Y(p.Y.Norm(e.y))
	}
	for i, y := range spread(wanted, lineHeight, c.Min.Y+lineHeight/2, c.Max.Y) {
		e := entries[i]
		if !ch.Scattered {
			x := area.X(p.X.Norm(e.x))
			c.StrokeLine2(draw.LineStyle{Color: Mid, Width: vg.Points(0.4)}, x+4, wanted[i], area.Max.X+toMarker-5, y)
		}
		at := vg.Point{X: area.Max.X + toMarker, Y: y}
		if e.look.Marker == Bare {
			e.look.Marker = stroke
		}
		c.DrawGlyphNoClip(e.look.glyph(), at)
		at.X += toText - toMarker
		write(c, label, at, e.label)
	}
}

// grid draws a faint line at each labelled tick of y.
func (ch Curve) grid(c draw.Canvas, p *plot.Plot) {
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := c.Y(p.Y.Norm(t.Value)); !t.IsMinor() && c.ContainsY(y) {
			c.StrokeLine2(draw.LineStyle{Color: Faint, Width: vg.Points(0.5)}, c.Min.X, y, c.Max.X, y)
		}
	}
}

// limits draws the limit and the slope.
func (ch Curve) limits(c draw.Canvas, p *plot.Plot) {
	if ch.Limit.Level <= 0 {
		return
	}
	style := draw.LineStyle{Color: Mid, Width: vg.Points(1.1), Dashes: []vg.Length{6, 2.5}}
	from, y := c.Min.X, c.Y(p.Y.Norm(ch.Limit.Level))
	if ch.Slope.Rise > 0 {
		from = c.X(p.X.Norm(ch.Limit.Level / ch.Slope.Rise))
		// The slope begins at the left or at the bottom, whichever it meets first.
		x := max(p.X.Min, p.Y.Min/ch.Slope.Rise)
		low := vg.Point{X: c.X(p.X.Norm(x)), Y: c.Y(p.Y.Norm(x * ch.Slope.Rise))}
		c.StrokeLine2(style, low.X, low.Y, from, y)
		along := lettering(tickSize, draw.XCenter, draw.YBottom)
		along.Rotation = math.Atan2(float64(y-low.Y), float64(from-low.X))
		sin, cos := math.Sincos(along.Rotation)
		middle := vg.Point{X: (low.X+from)/2 - 3*vg.Length(sin), Y: (low.Y+y)/2 + 3*vg.Length(cos)}
		c.FillText(along, middle, ch.Slope.Label)
	}
	c.StrokeLine2(style, from, y, c.Max.X, y)
	if ch.Top {
		c.FillText(lettering(tickSize, draw.XRight, draw.YBottom), vg.Point{X: c.Max.X, Y: y + 3}, ch.Limit.Label)
	}
}

// data draws the series, the first on top.
func (ch Curve) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, s := range slices.Backward(ch.Series) {
		line := make([]vg.Point, len(s.Points))
		for i, pt := range s.Points {
			line[i] = vg.Point{X: x(pt.X), Y: y(pt.Y)}
		}
		if !ch.Scattered {
			c.StrokeLines(s.Look.line(1.3), line)
		}
		bar := draw.LineStyle{Color: s.Look.Color, Width: vg.Points(0.9)}
		for i, pt := range s.Points {
			if pt.Hi > pt.Lo {
				lo, hi := y(pt.Lo), y(pt.Hi)
				c.StrokeLine2(bar, line[i].X, lo, line[i].X, hi)
				c.StrokeLine2(bar, line[i].X-3, lo, line[i].X+3, lo)
				c.StrokeLine2(bar, line[i].X-3, hi, line[i].X+3, hi)
			}
			c.DrawGlyphNoClip(s.Look.glyph(), line[i])
		}
	}
}

// Bars shows values as horizontal bars in groups, one above the other, with the value next to each
// bar.
type Bars struct {
	Title  string
	XLabel string
	Log    bool         // x is logarithmic and bars start at 1, not at 0
	Rates  bool         // values are not multiples: no line at 1, and no × after the numbers
	Colors []color.RGBA // Bar.Color is an index into it
	Names  []string     // of the colours; nil: the labels are enough
	Groups []Group
}

// Group is the bars of one label.
type Group struct {
	Label string
	Bars  []Bar
}

// Bar is a value Y with its interval, in one of the chart's colours. Its X is
// not used.
type Bar struct {
	Point
	Color int
}

const (
	barHeight = 9.5 // points
	groupGap  = 4.5
)

func (ch Bars) height() vg.Length {
	total := 58.0
	for _, g := range ch.Groups {
		total += barHeight*float64(len(g.Bars)) + groupGap
	}
	if len(ch.Names) > 0 {
		total += 14
	}
	return vg.Points(total)
}

func (ch Bars) draw(c draw.Canvas) {
	p := newPlot()
	p.X.Padding, p.Y.Padding = 0, 2
	p.Y.LineStyle.Width, p.Y.Tick.LineStyle.Width = 0, 0
	p.Y.Tick.Label = lettering(labelSize, draw.XRight, draw.YCenter)
	p.X.Min, p.X.Max = 0, 1
	if ch.Log {
		p.X.Min = 1
	}
	// One unit of y is a point: bars have the same height whatever their number.
	var ticks plot.ConstantTicks
	at, lowest, highest := 0.0, 1.0, 1.0
	if ch.Rates {
		p.X.Max, highest = 0, 0
	}
	for _, g := range ch.Groups {
		tall := barHeight * float64(len(g.Bars))
		ticks = append(ticks, plot.Tick{Value: at - tall/2, Label: g.Label})
		at -= tall + groupGap
		for _, b := range g.Bars {
			p.X.Min, p.X.Max = min(p.X.Min, b.Y), max(p.X.Max, b.Y)
			lowest, highest = min(lowest, b.Lo), max(highest, b.Hi)
		}
	}
	// An interval may be up to 1.5 times as long as the bars; the rest is cut off.
	p.X.Max = max(p.X.Max, min(highest, 1.5*p.X.Max))
	if ch.Log {
		p.X.Min = min(p.X.Min, max(lowest, p.X.Min/1.5))
	}
	p.Y.Min, p.Y.Max = at+groupGap/2, groupGap/2
	p.Y.Tick.Marker = ticks
	if ch.Log {
		p.X.Scale = logarithmic{}
		p.X.Min, p.X.Max = p.X.Min/1.1, max(2, p.X.Max*1.05)
		p.X.Tick.Marker = plot.ConstantTicks(logTicks(p.X.Min, p.X.Max))
	} else {
		marks, _, top := linearTicks(0, p.X.Max)
		p.X.Max, p.X.Tick.Marker = top, plot.ConstantTicks(marks)
	}

	c = titled(c, ch.Title)
	c = draw.Crop(c, 0, -28, 0, 0) // room for the value at the longest bar
	c = keyed(c, ch.Names, ch.Colors)
	p.Add(over(ch.grid), over(ch.data))
	p.Draw(labelled(c, p, ch.XLabel, ""))
}

// grid draws a faint line at each labelled tick of x.
func (ch Bars) grid(c draw.Canvas, p *plot.Plot) {
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if x := c.X(p.X.Norm(t.Value)); !t.IsMinor() && c.ContainsX(x) {
			c.StrokeLine2(draw.LineStyle{Color: Faint, Width: vg.Points(0.5)}, x, c.Min.Y, x, c.Max.Y)
		}
	}
}

// data draws the bars with their values, and a line at 1 or at 0.
func (ch Bars) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	start := 0.0
	if ch.Log {
		start = 1
	}
	text := lettering(tickSize, draw.XLeft, draw.YCenter)
	at, times := 0.0, "×"
	if ch.Rates {
		times = ""
	}
	for _, g := range ch.Groups {
		for _, b := range g.Bars {
			from, to := x(start), x(b.Y)
			box := vg.Rectangle{
				Min: vg.Point{X: min(from, to), Y: y(at - barHeight + 0.6)},
				Max: vg.Point{X: max(from, to), Y: y(at - 0.6)},
			}
			c.SetColor(ch.Colors[b.Color])
			c.Fill(box.Path())
			middle := (box.Min.Y + box.Max.Y) / 2
			end := to
			if b.Hi > b.Lo {
				lo := max(b.Lo, p.X.Min)
				end = x(min(b.Hi, p.X.Max))
				c.StrokeLine2(draw.LineStyle{Color: Ink, Width: vg.Points(0.9)}, x(lo), middle, end, middle)
				if b.Hi > p.X.Max { // an arrow: the interval is longer
					c.StrokeLines(draw.LineStyle{Color: Ink, Width: vg.Points(0.9)},
						[]vg.Point{{X: end - 3, Y: middle + 2}, {X: end, Y: middle}, {X: end - 3, Y: middle - 2}})
				}
			}
			write(c, text, vg.Point{X: max(from, end) + 4, Y: middle}, threeDigits(b.Y)+times)
			at -= barHeight
		}
		at -= groupGap
	}
	one := 1.0
	if ch.Rates {
		one = 0
	}
	c.StrokeLine2(draw.LineStyle{Color: Ink, Width: vg.Points(0.9)}, x(one), c.Min.Y, x(one), c.Max.Y)
}

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

// spread returns the positions nearest to the wanted ones (ascending; least sum of squares) that are at
// least gap apart and within [lo, hi]. If there is no room for all, they extend beyond hi.
//
// After i·gap is subtracted, the positions must only be ascending. That is isotonic regression, which the
// pool-adjacent-violators algorithm solves.
func spread(wanted []vg.Length, gap, lo, hi vg.Length) []vg.Length {
	type pool struct {
		sum vg.Length
		n   int
	}
	var pools []pool
	for i, w := range wanted {
		pools = append(pools, pool{w - vg.Length(i)*gap, 1})
		for len(pools) > 1 {
			a, b := pools[len(pools)-2], pools[len(pools)-1]
			if a.sum/vg.Length(a.n) <= b.sum/vg.Length(b.n) {
				break
			}
			pools = append(pools[:len(pools)-2], pool{a.sum + b.sum, a.n + b.n})
		}
	}
	hi -= vg.Length(len(wanted)-1) * gap
	var places []vg.Length
	for _, q := range pools {
		place := max(lo, min(hi, q.sum/vg.Length(q.n)))
		for range q.n {
			places = append(places, place+vg.Length(len(places))*gap)
		}
	}
	return places
}

// sizeTicks returns a tick for each size on a logarithmic axis. Labels are given in this order while there is
// room: the ends, powers of two, the others.
func sizeTicks(sizes []float64, lo, hi float64) []plot.Tick {
	place := func(x float64) float64 { return math.Log(x/lo) / math.Log(hi/lo) }
	rank := func(i int) int {
		switch _, exp := math.Frexp(sizes[i]); {
		case i == 0 || i == len(sizes)-1:
			return 0
		case sizes[i] == math.Ldexp(1, exp-1):
			return 1
		}
		return 2
	}
	order := make([]int, len(sizes))
	ticks := make([]plot.Tick, len(sizes))
	for i, x := range sizes {
		order[i], ticks[i].Value = i, x
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	const character = 0.026 // of the length of the axis
	var taken [][2]float64
	for _, i := range order {
		label := strconv.FormatFloat(sizes[i], 'f', -1, 64)
		half := character * (float64(len(label)) + 1) / 2
		from, to := place(sizes[i])-half, place(sizes[i])+half
		if slices.ContainsFunc(taken, func(t [2]float64) bool { return from < t[1] && t[0] < to }) {
			continue
		}
		taken = append(taken, [2]float64{from, to})
		ticks[i].Label = label
	}
	return ticks
}

// leastWritten and mostWritten are the powers of ten that ticks write in full.
const leastWritten, mostWritten = -4, 12

// logTicks returns the ticks of a logarithmic axis, at all digits of all decades. Powers of ten are
// labelled. If fewer than three of them are in range, 2 and 5 times a power of ten are labelled too; if
// that is still not enough, all digits are.
func logTicks(lo, hi float64) []plot.Tick {
	if !(lo > 0 && hi <= math.MaxFloat64) {
		return nil // an axis of nothing
	}
	type mark struct{ digit, exponent int }
	var marks []mark
	first := int(math.Floor(math.Log10(lo)))
	step := 1 + int(math.Log10(hi)-math.Log10(lo))/40 // more decades than any figure has: some of them
	for e := first; e <= 308 && math.Pow10(e) <= hi; e += step {
		for d := 1; d < 10; d++ {
			if v := float64(d) * math.Pow10(e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				marks = append(marks, mark{d, e})
			}
		}
	}
	var ticks []plot.Tick
	for _, digits := range [][]int{{1}, {1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		ticks = nil
		labelled := 0
		for _, m := range marks {
			t := plot.Tick{Value: float64(m.digit) * math.Pow10(m.exponent)}
			if slices.Contains(digits, m.digit) {
				t.Label = strconv.FormatFloat(t.Value, 'f', max(0, -m.exponent), 64)
				if m.exponent < leastWritten || m.exponent > mostWritten {
					t.Label = fmt.Sprintf("%de%d", m.digit, m.exponent)
				}
				labelled++
			}
			ticks = append(ticks, t)
		}
		if labelled >= 3 {
			break
		}
	}
	return ticks
}

// far is what numbers on axes are within.
const far = 1e100

// linearTicks returns labelled ticks that are 1, 2 or 5 times a power of ten apart, the widest distance with at
// least three steps between lo and hi. from is the tick at or below lo, and to is a little above hi. If
// lo equals hi, the axis has some height nevertheless.
func linearTicks(lo, hi float64) (ticks []plot.Tick, from, to float64) {
	if !(lo >= -far && hi <= far && lo <= hi) {
		lo, hi = 0, 1 // an axis of nothing
	}
	if thin := 0.1*math.Abs(hi) - (hi - lo); thin > 0 {
		lo, hi = lo-thin/2, hi+thin/2
	}
	if hi-lo < 1/far { // both are 0, or nearly
		hi = lo + 1
	}
	span := hi - lo
	step := math.Pow10(int(math.Floor(math.Log10(span / 3))))
	for _, f := range []float64{5, 2} {
		if span/(step*f) >= 3 {
			step *= f
			break
		}
	}
	first := math.Floor(lo/step + 1e-9)
	to = hi + 0.04*span
	for i := first; i*step <= to*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks, first * step, to
}

// threeDigits returns x with three significant digits and no exponent.
func threeDigits(x float64) string {
	if x == 0 {
		return "0"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(rounded))))), 64)
}
