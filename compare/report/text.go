package report

import (
	"fmt"

	"gemm/compare"
	"gemm/compare/report/analysis"
	"gemm/compare/report/document"
)

// sizes returns points as "n = 64, 128" for cubes, followed by the other shapes.
func (b *builder) sizes(ps []analysis.Problem) document.Text {
	var cubes, others []document.Text
	for _, p := range ps {
		if p.Cube() && p.Label() == fmt.Sprint(p.N) {
			cubes = append(cubes, document.Text(fmt.Sprint(p.N)))
		} else {
			others = append(others, document.Escape(p.Label()))
		}
	}
	if len(cubes) > 0 {
		cubes[0] = "n = " + cubes[0]
	}
	return b.Join(append(cubes, others...))
}

// status returns the word for the outcome of a row.
func (b *builder) status(status compare.Status) document.Text {
	return b.Word("status.", string(status))
}
