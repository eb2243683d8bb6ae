package chart

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Pair is two charts over the same x, one above the other.
type Pair struct{ Upper, Lower Chart }

func (ch Pair) height() vg.Length { return ch.Upper.height() + ch.Lower.height() }

func (ch Pair) draw(c draw.Canvas) {
	ch.Upper.draw(draw.Crop(c, 0, 0, ch.Lower.height(), 0))
	ch.Lower.draw(draw.Crop(c, 0, 0, 0, -ch.Upper.height()))
}
