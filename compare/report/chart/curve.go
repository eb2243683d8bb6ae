package chart

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a datum with the interval of its Y. If the interval is unknown, Lo = Hi = Y.
type Point struct{ X, Y, Lo, Hi float64 }

// At returns a point without an interval.
func At(x, y float64) Point { return Point{x, y, y, y} }

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

// Slope is the line y = Rise·x up to the Limit. The line of the Limit then begins where both meet; together
// they are a roofline.
type Slope struct {
	Rise  float64
	Label string // along the line
}

// Curve shows series over a logarithmic x. The label of a series is next to its last point.
type Curve struct {
	Title          string
	XLabel, YLabel string
	Sizes          []float64 // the ticks of x, ascending; nil: where there are points
	Names          []string  // of the ticks; nil: their numbers
	LogY           bool      // y is logarithmic
	Series         []Series
	Scattered      bool  // the points of a series are not joined by lines, and the ticks of x are powers of ten
	Limit          Limit // Level 0: no limit
	// If Top is set, the limit is the top of the y axis, unless data are above it. A y axis that is not
	// logarithmic then begins at 0.
	Top   bool
	Slope Slope // Rise 0: no slope
	Flat  bool  // drawn lower than others, for a page with much else on it
}

// Add puts a point into the series with that label.
func (ch *Curve) Add(label string, look Look, pt Point) {
	i := slices.IndexFunc(ch.Series, func(s Series) bool { return s.Label == label })
	if i < 0 {
		i = len(ch.Series)
		ch.Series = append(ch.Series, Series{Label: label, Look: look})
	}
	s := &ch.Series[i]
	j, _ := slices.BinarySearchFunc(s.Points, pt.X, func(p Point, x float64) int { return cmp.Compare(p.X, x) })
	s.Points = slices.Insert(s.Points, j, pt)
}

// Places returns the X of all points, ascending.
func (ch Curve) Places() []float64 {
	set := make(map[float64]bool)
	for _, s := range ch.Series {
		for _, pt := range s.Points {
			set[pt.X] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

const lineHeight = 11 // points, of a column of labels

func (ch Curve) height() vg.Length {
	least := 2.6 * vg.Inch
	if ch.Flat {
		least = 1.8 * vg.Inch
	}
	return max(least, vg.Points(lineHeight*float64(len(ch.Series)+1)+70))
}

// scale sets the axes.
func (ch Curve) scale(p *plot.Plot) {
	p.X.Scale, p.X.Min, p.X.Max = logarithmic{}, math.Inf(1), math.Inf(-1)
	p.Y.Min, p.Y.Max = math.Inf(1), math.Inf(-1)
	for _, s := range ch.Series {
		for _, pt := range s.Points {
			p.X.Min, p.X.Max = min(p.X.Min, pt.X), max(p.X.Max, pt.X)
			p.Y.Min, p.Y.Max = min(p.Y.Min, pt.Lo), max(p.Y.Max, pt.Hi)
		}
	}
	over := p.Y.Max > ch.Limit.Level // data are above the limit
	if ch.Limit.Level > 0 {
		p.Y.Min, p.Y.Max = min(p.Y.Min, ch.Limit.Level), max(p.Y.Max, ch.Limit.Level)
	}
	if ch.Slope.Rise > 0 {
		ridge := ch.Limit.Level / ch.Slope.Rise
		p.X.Min, p.X.Max = min(p.X.Min/2, ridge/10), max(p.X.Max, ridge)*2 // the slope has room for its label
	} else {
		p.X.Min, p.X.Max = p.X.Min/1.04, p.X.Max*1.04
	}
	ticks := logTicks(p.X.Min, p.X.Max)
	if sizes := ch.Sizes; sizes != nil || !ch.Scattered {
		if sizes == nil {
			sizes = ch.Places()
		}
		ticks = sizeTicks(sizes, p.X.Min, p.X.Max)
		for i := range min(len(ch.Names), len(ticks)) {
			ticks[i].Label = ch.Names[i]
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	if ch.LogY {
		p.Y.Scale = logarithmic{}
		p.Y.Min /= 1.15
		if !ch.Top || over {
			p.Y.Max *= 1.1
		}
		p.Y.Tick.Marker = plot.ConstantTicks(logTicks(p.Y.Min, p.Y.Max))
		return
	}
	lo, top := p.Y.Min, p.Y.Max
	if ch.Top {
		lo = 0
	}
	ticks, p.Y.Min, p.Y.Max = linearTicks(lo, top)
	if ch.Top && !over {
		p.Y.Max = top
		ticks = slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value > top })
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
}

func (ch Curve) draw(c draw.Canvas) {
	p := newPlot()
	ch.scale(p)
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
		entries = append(entries, entry{ch.Limit.Label, Look{Color: Mid, Marker: Bare}, p.X.Max, ch.Limit.Level})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.y, b.y) })
	label := lettering(labelSize, draw.XLeft, draw.YCenter)
	column := vg.Length(0)
	for _, e := range entries {
		column = max(column, label.Width(e.label))
	}
	const toMarker, toText = 15, 21 // points from the end of the axis
	c = draw.Crop(titled(c, ch.Title), 0, -(column + toText), 0, 0)
	if ch.Top {
		c = draw.Crop(c, 0, 0, 0, -14) // for the label above the limit
	}
	p.Add(gridY, over(ch.limits), over(ch.data))
	area := labelled(c, p, ch.XLabel, ch.YLabel)
	p.Draw(area)

	area = p.DataCanvas(area)
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
			c.StrokeLines(draw.LineStyle{Color: s.Look.Color, Width: vg.Points(1.3), Dashes: s.Look.Dashes}, line)
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
