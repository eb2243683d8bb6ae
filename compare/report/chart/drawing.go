package chart

import "io"

// Drawing is a figure made from records. It is drawn when it is written, always with the same bytes.
type Drawing struct {
	ID    string // referred to by a Figure; the base name of the files
	Title string // in the language of the report
	Chart Chart
}

// SVG writes the drawing as an SVG document with a transparent background.
func (d Drawing) SVG(w io.Writer) error { return SVG(w, d.Chart, d.Title) }

// PNG writes the drawing as a PNG image on white.
func (d Drawing) PNG(w io.Writer) error { return PNG(w, d.Chart) }

// PDF writes the drawing as a PDF document of one page.
func (d Drawing) PDF(w io.Writer) error { return PDF(w, d.Chart) }
