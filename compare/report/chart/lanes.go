package chart

import (
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lanes shows when the workers of several runs were busy: a panel for each run and a lane for each worker, over
// one time axis. The idle time of a lane until the end of its run is faint. Each kind of thing that workers do has a
// colour.
type Lanes struct {
	Title  string
	XLabel string       // the unit of time in it
	YLabel string       // what a lane is
	Kinds  []string     // their names; nil: they need none
	Colors []color.RGBA // of the kinds
	Room   float64      // largest height of the lanes of a panel, in points; more lanes are thinner
	Panels []Panel
}

// Panel is one run.
type Panel struct {
	Label string
	End   float64  // of the run, which begins at 0
	Lanes [][]Busy // by worker, each in the order of time
	Names []string // of the lanes; nil: their numbers
}

// Busy is an interval of time in which a worker computes one chunk, or does something of a kind.
type Busy struct {
	From, To float64
	Kind     int
}

const (
	panelHead = 13.0 // points, for a panel's label
	panelGap  = 6.0
	laneMost  = 11.0
	laneLeast = 3.0
	hairline  = 0.4 // points; shorter lines cannot be seen
)

// lane returns the height of a lane of p, in points.
func (ch Lanes) lane(p Panel) float64 {
	return max(laneLeast, min(laneMost, ch.Room/float64(max(1, len(p.Lanes)))))
}

func (ch Lanes) tall(p Panel) float64 { return panelHead + ch.lane(p)*float64(len(p.Lanes)) + panelGap }

func (ch Lanes) height() vg.Length {
	total := 58.0
	if len(ch.Kinds) > 0 {
		total += 14
	}
	for _, p := range ch.Panels {
		total += ch.tall(p)
	}
	return vg.Points(total)
}

func (ch Lanes) draw(c draw.Canvas) {
	// One unit of y is a point. Workers are numbered if there is room for their numbers.
	var numbers plot.ConstantTicks
	at, end := 0.0, 0.0
	for _, panel := range ch.Panels {
		end = max(end, panel.End)
		every := 1
		for float64(every)*ch.lane(panel) < tickSize {
			every *= 2
		}
		top := at - panelHead
		for i := range panel.Lanes {
			name := strconv.Itoa(i)
			if panel.Names != nil {
				name = panel.Names[i]
			}
			if i%every == 0 {
				numbers = append(numbers, plot.Tick{Value: top - ch.lane(panel)*(float64(i)+0.5), Label: name})
			}
		}
		at -= ch.tall(panel)
	}
	p := newLanes(numbers, at, 0)
	ticks, _, most := linearTicks(0, end)
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, most, plot.ConstantTicks(ticks)

	c = keyed(titled(c, ch.Title), ch.Kinds, ch.Colors)
	p.Add(over(ch.data))
	p.Draw(labelled(c, p, ch.XLabel, ch.YLabel))
}

// data draws the panels. Neighbouring intervals that look like one are drawn as one, so a run with thousands of
// chunks makes no larger file than one with a few.
func (ch Lanes) data(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	box := func(from, to, top, bottom float64, color color.RGBA) {
		r := vg.Rectangle{Min: vg.Point{X: x(from), Y: y(bottom)}, Max: vg.Point{X: x(to), Y: y(top)}}
		c.SetColor(color)
		c.Fill(r.Path())
	}
	unit := (p.X.Max - p.X.Min) / c.Size().X.Points() // the time of one point
	at := 0.0
	for _, panel := range ch.Panels {
		write(c, lettering(labelSize, draw.XLeft, draw.YCenter),
			vg.Point{X: c.Min.X + 2, Y: y(at - panelHead/2)}, panel.Label)
		tall := ch.lane(panel)
		for j, lane := range panel.Lanes {
			top, bottom := at-panelHead-tall*float64(j)-0.4, at-panelHead-tall*float64(j+1)+0.4
			box(0, panel.End, top, bottom, Faint)
			for _, b := range seen(lane, hairline*unit) {
				box(b.From, b.To, top, bottom, ch.Colors[b.Kind])
			}
			for k := 1; k < len(lane); k++ {
				wide := 3 * unit // both must be this wide, or the line between them is invisible
				a, b := lane[k-1], lane[k]
				if a.Kind == b.Kind && a.To-a.From > wide && b.To-b.From > wide && b.From-a.To < hairline*unit {
					edge := draw.LineStyle{Color: Paper, Width: vg.Points(0.5)}
					c.StrokeLine2(edge, x(b.From), y(top), x(b.From), y(bottom))
				}
			}
		}
		bottom := at - panelHead - tall*float64(len(panel.Lanes))
		c.StrokeLine2(draw.LineStyle{Color: Ink, Width: vg.Points(0.9)}, x(panel.End), y(at-panelHead),
			x(panel.End), y(bottom))
		at -= ch.tall(panel)
	}
}

// seen returns the lane, with intervals of a kind joined that are less than gap apart.
func seen(lane []Busy, gap float64) []Busy {
	var out []Busy
	for _, b := range lane {
		if n := len(out); n > 0 && b.Kind == out[n-1].Kind && b.From-out[n-1].To < gap {
			out[n-1].To = max(out[n-1].To, b.To)
			continue
		}
		out = append(out, b)
	}
	return out
}
