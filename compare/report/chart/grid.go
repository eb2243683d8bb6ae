package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Grid shows fields of cells, such as the elements of a tile, side by side.
type Grid struct {
	Title  string
	Fields []Field
}

// Field is rows of cells of one size, below a label.
type Field struct {
	Label string
	Wide  float64 // the width of a cell over its height; 0: 1
	Rows  [][]Cell
}

// Cell has a text and a colour: one of the palette or the one after it, Mid, paler than lines have them. Colours
// repeat.
type Cell struct {
	Text  string
	Color int
}

const (
	cellHeight = 13.0 // points
	fieldGap   = 16.0
	fieldHead  = 14.0
)

// wide returns the width of a cell.
func (f Field) wide() float64 {
	if f.Wide > 0 {
		return f.Wide * cellHeight
	}
	return cellHeight
}

func (ch Grid) height() vg.Length {
	most := 0
	for _, f := range ch.Fields {
		most = max(most, len(f.Rows))
	}
	return vg.Points(26 + fieldHead + cellHeight*float64(most))
}

func (ch Grid) draw(c draw.Canvas) {
	c = titled(c, ch.Title)
	colors := append(slices.Clone(Palette), Mid)
	x, top := c.Min.X, c.Max.Y
	for _, f := range ch.Fields {
		write(c, lettering(labelSize, draw.XLeft, draw.YCenter), vg.Point{X: x, Y: top - fieldHead/2}, f.Label)
		columns := 0
		for i, row := range f.Rows {
			columns = max(columns, len(row))
			for j, cell := range row {
				box := vg.Rectangle{
					Min: vg.Point{X: x + vg.Points(f.wide()*float64(j)),
						Y: top - vg.Points(fieldHead+cellHeight*float64(i+1))},
				}
				box.Max = box.Min.Add(vg.Point{X: vg.Points(f.wide()), Y: vg.Points(cellHeight)})
				c.SetColor(pale(colors[cell.Color%len(colors)]))
				c.Fill(box.Path())
				c.SetColor(Paper)
				c.SetLineWidth(vg.Points(0.8))
				c.Stroke(box.Path())
				middle := vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: (box.Min.Y + box.Max.Y) / 2}
				write(c, lettering(tickSize, draw.XCenter, draw.YCenter), middle, cell.Text)
			}
		}
		label := lettering(labelSize, draw.XLeft, draw.YTop).Width(f.Label)
		x += max(vg.Points(f.wide()*float64(columns)), label) + fieldGap
	}
}

// pale mixes a colour with paper, so that letters on it can be read.
func pale(c color.RGBA) color.RGBA {
	mix := func(x, paper uint8) uint8 { return uint8((2*int(x) + 3*int(paper)) / 5) }
	return color.RGBA{mix(c.R, Paper.R), mix(c.G, Paper.G), mix(c.B, Paper.B), 0xFF}
}
