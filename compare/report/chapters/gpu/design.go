package gpu

import (
	"fmt"

	"gemm/compare/report/analysis"
	"gemm/compare/report/chapters"
	"gemm/compare/report/document"
	"gemm/compare/report/figures"
	"gemm/compare/report/number"
	"gemm/compare/report/text"
	"gemm/cuda"
)

// Numbers adds the tables and figures of Design to a section whose text has its equations already.
func Numbers(base *chapters.Builder, s *document.Section) {
	b := &builder{base}
	if analysis.OnlyPlanned(b.Views) {
		b.numbers(s)
	}
}

// numbers adds the tables and figures.
func (b *builder) numbers(s *document.Section) {
	b.tiles(s)
	s.Text(b.Say("design.reads", text.Args{"Size": analysis.DesignSize}))
	s.Add(b.reads())
	b.sweeps(s)
}

// shownTiles are the tiles of the table: those of the 2024 report, larger ones, and for each
// condition one that violates it.
var shownTiles = []cuda.Tile{
	{BM: 32, BN: 32, BK: 8, TM: 8, TN: 8},
	{BM: 64, BN: 64, BK: 8, TM: 8, TN: 8},
	{BM: 64, BN: 64, BK: 16, TM: 8, TN: 8},
	{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8},
	{BM: 128, BN: 128, BK: 16, TM: 8, TN: 8},
	{BM: 128, BN: 128, BK: 32, TM: 8, TN: 8},
	{BM: 128, BN: 256, BK: 8, TM: 8, TN: 8},
	{BM: 256, BN: 256, BK: 8, TM: 8, TN: 8},
	{BM: 32, BN: 32, BK: 8, TM: 4, TN: 4},
	{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4},
	{BM: 64, BN: 64, BK: 16, TM: 4, TN: 4},
	{BM: 64, BN: 256, BK: 8, TM: 4, TN: 4},
	{BM: 128, BN: 128, BK: 8, TM: 4, TN: 4},
	{BM: 128, BN: 256, BK: 8, TM: 4, TN: 4},
}

// compared are two feasible tiles, one with high occupancy and one with few reads.
var compared = [2]cuda.Tile{
	{BM: 64, BN: 64, BK: 8, TM: 4, TN: 4},
	{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8},
}

// tiles adds the table of tiles, and what it shows.
func (b *builder) tiles(s *document.Section) {
	feasible, all := 0, analysis.Designs()
	for _, d := range all {
		if d.Feasible() {
			feasible++
		}
	}
	s.Text(b.Say("design.found", text.Args{"All": len(all), "Feasible": feasible}))
	small, large := analysis.NewDesign(compared[0]), analysis.NewDesign(compared[1])
	const ampere = 1 // 8.6 in DesignCapabilities
	s.Text(b.Say("design.trade", text.Args{
		"Small": blockTile(small.Tile), "SmallThread": times(small.TM, small.TN),
		"SmallShare": number.Percent(small.Occupancy[ampere]),
		"Large":      blockTile(large.Tile), "LargeThread": times(large.TM, large.TN),
		"LargeShare": number.Percent(large.Occupancy[ampere]),
		"Global":     number.Significant(small.Global / large.Global),
		"Shared":     number.Significant(small.Shared / large.Shared),
	}))
	t := document.Table{ID: "table-gpu-design", Caption: b.Say("design.tiles.caption"), Columns: []document.Column{
		{Title: b.Plain("design.col.tile"), Numeric: true}, {Title: b.Plain("design.col.thread"), Numeric: true},
		{Title: b.Plain("design.col.threads"), Numeric: true}, {Title: b.Plain("design.col.memory"), Numeric: true},
		{Title: b.Plain("design.col.sums"), Numeric: true}, {Title: b.Plain("design.col.feasible")},
	}}
	for _, c := range analysis.DesignCapabilities {
		title := b.Plain("design.col.occupancy", text.Args{"Capability": c.String()})
		t.Columns = append(t.Columns, document.Column{Title: title, Numeric: true})
	}
	for _, tile := range shownTiles {
		d := analysis.NewDesign(tile)
		row := document.Row{Cells: []document.Text{blockTile(tile), times(tile.TM, tile.TN), number.Numbered(d.Threads),
			document.Text(number.ByteSize(float64(2 * d.Slices))), number.Numbered(d.Sums), b.Say("design.feasible")}}
		if !d.Feasible() {
			row.Class = "muted"
			row.Cells[len(row.Cells)-1] = b.Say("design.fails." + string(d.Fails))
		}
		for _, share := range d.Occupancy {
			cell := document.Text(number.Absent)
			if d.Feasible() {
				cell = document.Text(number.Percent(share))
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	s.Add(t)
}

// reads is the table of reads. Rungs that follow each other and read the same are in one row.
func (b *builder) reads() document.Table {
	t := document.Table{ID: "table-gpu-reads",
		Caption: b.Say("design.reads.caption", text.Args{"Size": analysis.DesignSize}), Columns: []document.Column{
			{Title: b.Plain("design.col.rungs")}, {Title: b.Plain("design.col.tile"), Numeric: true},
			{Title: b.Plain("design.col.thread"), Numeric: true}, {Title: b.Plain("design.col.global"), Numeric: true},
			{Title: b.Plain("design.col.fewer"), Numeric: true}, {Title: b.Plain("design.col.shared"), Numeric: true},
			{Title: b.Plain("design.col.intensity"), Numeric: true},
		}}
	all := analysis.DesignReads()
	var names []string
	for i, r := range all {
		names = append(names, r.Rung.Name)
		if i+1 < len(all) && all[i+1].GlobalReads == r.GlobalReads && all[i+1].SharedReads == r.SharedReads {
			continue
		}
		tile, thread, shared := document.Text(number.Absent), times(max(r.Tile.TM, 1), max(r.Tile.TN, 1)),
			document.Text(number.Absent)
		if r.Tile.BK > 0 {
			tile = blockTile(r.Tile)
		}
		if r.Tile.TM == 0 && r.Tile.WM > 0 {
			thread = b.Say("design.warp", text.Args{"Tile": times(r.Tile.WM, r.Tile.WN)})
		}
		if r.SharedReads > 0 {
			shared = document.Text(number.Significant(r.SharedReads / 1e9))
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Text{b.Names(names), tile, thread,
			document.Text(number.Significant(r.GlobalReads / 1e9)),
			document.Text(number.Significant(all[0].GlobalReads/r.GlobalReads) + "×"), shared,
			document.Text(number.Significant(r.Intensity))}})
		names = nil
	}
	return t
}

// sweeps adds the figures of occupancy.
func (b *builder) sweeps(s *document.Section) {
	k := analysis.DesignKernel
	memory := number.ByteSize(float64(k.Shared))
	s.Text(b.Say("design.sweeps", text.Args{"Threads": k.Threads, "Registers": k.Registers, "Memory": memory}))
	command := fmt.Sprintf("%s cuda occupancy --cc 8.6 --threads %d --regs %d --smem %d --sweep", b.Program, k.Threads,
		k.Registers, k.Shared)
	whole := &analysis.View{} // of no host
	b.Figure(s, whole, figures.OccupancyThreads, "design.fig.threads", command,
		text.Args{"Registers": k.Registers, "Memory": memory})
	b.Figure(s, whole, figures.OccupancyRegisters, "design.fig.registers", command,
		text.Args{"Threads": k.Threads, "Memory": memory})
	b.Figure(s, whole, figures.OccupancyMemory, "design.fig.memory", command,
		text.Args{"Threads": k.Threads, "Registers": k.Registers})
}

// blockTile is a tile of a block and its slice: sm×sk×sn.
func blockTile(t cuda.Tile) document.Text {
	return times(t.BM, t.BN) + document.Text(fmt.Sprintf("×%d", t.BK))
}

// times is rows×columns.
func times(rows, cols int) document.Text { return document.Text(fmt.Sprintf("%d×%d", rows, cols)) }
