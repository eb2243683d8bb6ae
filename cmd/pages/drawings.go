package main

import (
	"fmt"
	"path/filepath"

	"gemm/cmd/drawing"
	"gemm/compare/report/chapters"
	"gemm/compare/report/chart"
)

// renderDrawings writes the speed of shards, and the drawings of package drawing in every language.
func (in results) renderDrawings() error {
	speed, err := in.shardSpeed()
	if err != nil {
		return fmt.Errorf("docs/drawings: %w", err)
	}
	all := []chart.Drawing{speed}
	for _, name := range drawing.Names() {
		for _, lang := range chapters.Languages {
			d, err := drawing.Of(name, lang)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
	}
	for _, d := range all {
		if err := writeFigure(filepath.Join(in.root, "docs", "drawings", d.ID+".svg"), d); err != nil {
			return fmt.Errorf("docs/drawings: %w", err)
		}
	}
	return nil
}
