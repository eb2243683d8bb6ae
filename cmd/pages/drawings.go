package main

import (
	"fmt"
	"path/filepath"

	"gemm/compare/report/chart"
	"gemm/cuda"
)

// renderDrawings writes the drawings of docs/cuda.md and docs/rs.md. The former show where tiles and slices lie. They
// are made from no record, but from the settings of rungs and the formulas of their kernels.
func (in results) renderDrawings() error {
	for _, make := range []func() (chart.Drawing, error){swizzle, laneTiles, warpgroupTiles, in.shardSpeed} {
		d, err := make()
		if err == nil {
			err = writeFigure(filepath.Join(in.root, "docs", "drawings", d.ID+".svg"), d)
		}
		if err != nil {
			return fmt.Errorf("docs/drawings: %w", err)
		}
	}
	return nil
}

func gridOf(rows, cols int, of func(i, j int) chart.Cell) [][]chart.Cell {
	out := make([][]chart.Cell, rows)
	for i := range out {
		for j := range cols {
			out[i] = append(out[i], of(i, j))
		}
	}
	return out
}

// swizzle is where the 16 bytes of a row of 128 bytes lie in shared memory: copy_box.
func swizzle() (chart.Drawing, error) {
	const units = 8
	unit := func(i int) chart.Cell { return chart.Cell{Text: fmt.Sprint(i), Color: i} }
	return chart.Drawing{ID: "swizzle", Title: "The swizzle of 128 bytes", Chart: chart.Grid{
		Title: "8 rows of 128 bytes, in units of 16 bytes: a unit is 4 banks",
		Fields: []chart.Field{
			{Label: "in global memory", Rows: gridOf(units, units, func(_, j int) chart.Cell { return unit(j) })},
			{Label: "in shared memory: unit i of row r at i ^ r % 8", Rows: gridOf(units, units,
				func(r, at int) chart.Cell { return unit(at ^ r%units) })},
		},
	}}, nil
}

// laneTiles is which lane of a warp of warptile sums which quads of 4×4 elements.
func laneTiles() (chart.Drawing, error) {
	r, err := cuda.RungNamed("warptile", "f32")
	if err != nil {
		return chart.Drawing{}, err
	}
	t := r.Tiles[0]
	const quad = 4
	down, across := t.BM/t.WM, t.BN/t.WN
	lanesM, lanesN := t.WM/t.TM, t.WN/t.TN
	owners := map[[2]int]int{} // of the quads that lanes have first
	for lane := range lanesM * lanesN {
		owners[[2]int{lane/(2*lanesN)*2 + lane%2, lane / 2 % lanesN}] = lane
	}
	return chart.Drawing{ID: "warptile", Title: "Tiles of block, warp and thread", Chart: chart.Grid{
		Title: fmt.Sprintf("warptile: %d×%d of a block, %d×%d of a warp, %d×%d of a thread", t.BM, t.BN, t.WM, t.WN,
			t.TM, t.TN),
		Fields: []chart.Field{
			{Label: "warps of the block", Wide: 1.6, Rows: gridOf(down, across, func(i, j int) chart.Cell {
				return chart.Cell{Text: fmt.Sprint(i*across + j), Color: i*across + j}
			})},
			{Label: fmt.Sprintf("lanes of a warp: quads of %d×%d", quad, quad), Rows: gridOf(t.WM/quad, t.WN/quad,
				func(i, j int) chart.Cell {
					lane := owners[[2]int{i % lanesM, j % lanesN}]
					return chart.Cell{Text: fmt.Sprint(lane), Color: lane / 8}
				})},
		},
	}}, nil
}

// warpgroupTiles is which warpgroup, warp and lane of tf32-wgmma-ws have which sums.
func warpgroupTiles() (chart.Drawing, error) {
	r, err := cuda.RungNamed("tf32-wgmma-ws", "f32")
	if err != nil {
		return chart.Drawing{}, err
	}
	t := r.Tiles[0]
	const ofGroup, ofWarp = 64, 16
	return chart.Drawing{ID: "warpgroups", Title: "Tiles of warpgroup, warp and lane", Chart: chart.Grid{
		Title: fmt.Sprintf("tf32-wgmma-ws: C transposed, %d columns × %d rows of a block", t.BN, t.BM),
		Fields: []chart.Field{
			{Label: fmt.Sprintf("%d columns × %d rows of a warp", ofWarp, t.BM), Wide: 12, Rows: gridOf(t.BN/ofWarp, 1,
				func(i, _ int) chart.Cell {
					return chart.Cell{Text: fmt.Sprintf("consumer %d, warp %d", i*ofWarp/ofGroup+1, i%(ofGroup/ofWarp)),
						Color: i * ofWarp / ofGroup}
				})},
			{Label: "lanes: 8 rows of C", Wide: 1.2, Rows: gridOf(ofWarp, 8, func(i, j int) chart.Cell {
				lane := i%8*4 + j/2
				return chart.Cell{Text: fmt.Sprint(lane), Color: lane / 4}
			})},
		},
	}}, nil
}
