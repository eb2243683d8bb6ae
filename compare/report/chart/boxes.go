package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Boxes shows boxes within boxes, such as the parts of a machine.
type Boxes struct {
	Title string
	Names []string // what the colours mean
	Boxes []Box    // one below the other
}

// Box is a part with other parts in it.
type Box struct {
	Lines []string // at its top; of a box with nothing in it, centred
	Room  string   // that it has room for at least, so that boxes with other letters are as wide
	Frame Frame
	Inner [][]Box // one row of boxes below the other; boxes that have no room in their row begin another
}

// Frame is how a box is drawn.
type Frame int

// The frames.
const (
	Outlined Frame = iota
	Unframed       // the letters alone
	Coloured       // with a thick line, blue
	Muted          // on a faint ground: it is there, and not used
)

const (
	boxLine = 10.5 // points, of a line of letters
	boxPad  = 3.0  // between a box and what is in it
	boxGap  = 3.0  // between neighbours
)

func (ch Boxes) height() vg.Length {
	total := vg.Length(24 - panelGap)
	if len(ch.Names) > 0 {
		total += 14
	}
	for _, b := range ch.Boxes {
		total += b.tall(width-4) + panelGap
	}
	return total
}

func (ch Boxes) draw(c draw.Canvas) {
	c = titled(c, ch.Title)
	c = keyed(c, ch.Names, Palette)
	top := c.Max.Y
	for _, b := range ch.Boxes {
		tall := b.tall(c.Size().X)
		b.draw(c, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: top - tall}, Max: vg.Point{X: c.Max.X, Y: top}})
		top -= tall + panelGap
	}
}

// pad returns the space between b and what is in it.
func (b Box) pad() vg.Length {
	if b.Frame == Unframed {
		return 0
	}
	return boxPad
}

// least returns the least width of b.
func (b Box) least() vg.Length {
	style := lettering(tickSize, draw.XLeft, draw.YCenter)
	wide := style.Width(b.Room)
	for _, line := range b.Lines {
		wide = max(wide, style.Width(line))
	}
	for _, row := range b.Inner {
		for _, inner := range row {
			wide = max(wide, inner.least())
		}
	}
	return wide + 2*b.pad()
}

// columns returns how many of the boxes of a row of b fit next to each other into the given width. If possible, all
// lines of them are equally long.
func columns(row []Box, wide vg.Length) int {
	var least vg.Length
	for _, b := range row {
		least = max(least, b.least())
	}
	most := max(1, min(len(row), int((wide+boxGap)/(least+boxGap))))
	for n := most; 2*n > most; n-- {
		if len(row)%n == 0 {
			return n
		}
	}
	lines := int(math.Ceil(float64(len(row)) / float64(most)))
	return int(math.Ceil(float64(len(row)) / float64(lines)))
}

// tall returns the height of b at the given width.
func (b Box) tall(wide vg.Length) vg.Length {
	total := vg.Length(boxLine*float64(len(b.Lines))) + 2*b.pad()
	for i, row := range b.Inner {
		if i > 0 || len(b.Lines) > 0 {
			total += boxGap
		}
		b.lines(row, wide, func(_ []Box, _, tall vg.Length) { total += tall + boxGap })
		total -= boxGap
	}
	return total
}

// lines calls f for each line of boxes of a row, with the width of a box and the height of the line.
func (b Box) lines(row []Box, wide vg.Length, f func(line []Box, wide, tall vg.Length)) {
	inside := wide - 2*b.pad()
	n := columns(row, inside)
	each := (inside - vg.Length(n-1)*boxGap) / vg.Length(n)
	for at := 0; at < len(row); at += n {
		line := row[at:min(at+n, len(row))]
		var tall vg.Length
		for _, inner := range line {
			tall = max(tall, inner.tall(each))
		}
		f(line, each, tall)
	}
}

// draw draws b in the rectangle.
func (b Box) draw(c draw.Canvas, in vg.Rectangle) {
	switch b.Frame {
	case Muted:
		c.SetColor(Faint)
		c.Fill(in.Path())
	case Outlined:
		border(c, in, Mid, 0.6)
	case Coloured:
		border(c, in, Palette[0], 2)
	}
	b.letters(c, in)
	top := in.Max.Y - b.pad() - vg.Length(boxLine*float64(len(b.Lines)))
	for i, row := range b.Inner {
		if i > 0 || len(b.Lines) > 0 {
			top -= boxGap
		}
		b.lines(row, in.Size().X, func(line []Box, wide, tall vg.Length) {
			for j, inner := range line {
				left := in.Min.X + b.pad() + vg.Length(j)*(wide+boxGap)
				inner.draw(c, vg.Rectangle{
					Min: vg.Point{X: left, Y: top - tall}, Max: vg.Point{X: left + wide, Y: top},
				})
			}
			top -= tall + boxGap
		})
		top += boxGap
	}
}

// border draws the outline of a box, inside of the rectangle.
func border(c draw.Canvas, in vg.Rectangle, of color.RGBA, thick vg.Length) {
	half := vg.Point{X: thick / 2, Y: thick / 2}
	in.Min, in.Max = in.Min.Add(half), in.Max.Sub(half)
	c.SetLineStyle(draw.LineStyle{Color: of, Width: thick})
	c.Stroke(in.Path())
}

// letters writes the lines of b.
func (b Box) letters(c draw.Canvas, in vg.Rectangle) {
	style, x := lettering(tickSize, draw.XLeft, draw.YCenter), in.Min.X+b.pad()
	if len(b.Inner) == 0 && b.Frame != Unframed {
		style, x = lettering(tickSize, draw.XCenter, draw.YCenter), (in.Min.X+in.Max.X)/2
	}
	y := in.Max.Y - b.pad() - boxLine/2
	if len(b.Inner) == 0 {
		y = (in.Min.Y+in.Max.Y)/2 + vg.Length(boxLine/2*float64(len(b.Lines)-1))
	}
	for _, line := range b.Lines {
		write(c, style, vg.Point{X: x, Y: y}, line)
		y -= boxLine
	}
}
