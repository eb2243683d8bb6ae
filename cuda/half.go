package cuda

// halfRungs returns the rungs of f16 or bf16: both types have the same sources.
func halfRungs(typ string) []Rung {
	out := []Rung{
		{Name: "mma", File: "01_mma.cu", Least: 80, Tiles: []Tile{
			{BM: 128, BN: 256, BK: 64, WM: 64, WN: 64, Stages: 3},
			{BM: 128, BN: 128, BK: 64, WM: 64, WN: 64, Stages: 3},
			{BM: 128, BN: 128, BK: 64, WM: 64, WN: 32, Stages: 3},
		}, speeds: map[string]Speed{
			"128x256x64/64x64": {Share: 0.34, Blocks: 1, Alone: 0.34, Ends: 2e-6},
			"128x128x64/64x64": {Share: 0.31, Blocks: 2, Alone: 0.23, Ends: 2e-6},
			"128x128x64/64x32": {Share: 0.27, Blocks: 1, Alone: 0.27, Ends: 2e-6},
		}, threads: warpTiles, shared: ringOfHalves(0), reads: warp},
		{Name: "wgmma", File: "02_wgmma.cu", Least: 90, Exact: true,
			Tiles:   []Tile{{BM: 128, BN: 128, BK: 64, Stages: 2}},
			threads: warpgroups(rowsOf, 0), shared: ringOfHalves(64), reads: groupOfRows, boxes: true},
		{Name: "wgmma-ws", File: "03_wgmma-ws.cu", Least: 90, Exact: true,
			Tiles:   []Tile{{BM: 128, BN: 256, BK: 64, Stages: 4}},
			threads: warpgroups(rowsOf, 1), shared: ringOfHalves(64), reads: groupOfRows, boxes: true},
		{Name: "wgmma-persistent", File: "04_wgmma-persistent.cu", Least: 90, Exact: true, Persistent: true,
			Tiles: []Tile{
				{BM: 128, BN: 256, BK: 64, Stages: 4}, {BM: 128, BN: 192, BK: 64, Stages: 4},
				{BM: 128, BN: 128, BK: 64, Stages: 6}, {BM: 128, BN: 64, BK: 64, Stages: 8},
			}, speeds: map[string]Speed{
				"128x256x64": {Share: 0.70, Blocks: 1, Alone: 0.70},
				"128x192x64": {Share: 0.69, Blocks: 1, Alone: 0.69},
				"128x128x64": {Share: 0.67, Blocks: 1, Alone: 0.67},
				"128x64x64":  {Share: 0.44, Blocks: 1, Alone: 0.44},
			}, threads: warpgroups(rowsOf, 1), shared: ringAndChunks, reads: groupOfRows, boxes: true, cluster: 2,
			stacked: true},
	}
	for i := range out {
		out[i].Type, out[i].AsStored, out[i].Copies = typ, true, true
	}
	return out
}

// ringOfHalves is the bytes of a ring of slices in half precision, and of barriers if there are some. The copy engine
// wants slices at a multiple of 1024 bytes.
func ringOfHalves(barriers int) func(t Tile) int {
	return func(t Tile) int {
		ring := 2 * t.Stages * t.BK * (t.BM + t.BN)
		if barriers > 0 {
			ring += 1024 + barriers
		}
		return ring
	}
}

// ringAndChunks is ringOfHalves, and two chunks of 16×64 elements of C for each warp.
func ringAndChunks(t Tile) int { return ringOfHalves(128)(t) + 2*2*16*64*(t.BM/16) }

// groupOfRows is where each warpgroup reads its 64 rows of A, and the whole slice of B.
func groupOfRows(t Tile) (global, block float64) { return perTile(t.BM, t.BN), perTile(64, t.BN) }

// The assertions of the sources. A tile of 64×64 elements is a box.
var assertionsOfHalves = map[string]func(t Tile, w Widths) string{
	"mma": func(t Tile, _ Widths) string {
		return first(multiples(64, t.BM, t.BN), only("BK", t.BK, 64), multiples(16, t.WM, t.WN), whole(64, t.WM),
			whole(64, t.WN), warpsFill(t), multiples(64, warpTiles(t)), atMost("threads", warpTiles(t), 512),
			staged2(t))
	},
	"wgmma": func(t Tile, _ Widths) string {
		return first(only("BN", t.BN, 128), multiples(64, t.BM), launchable(t, warpgroups(rowsOf, 0)),
			only("BK", t.BK, 64), atMost("stages", t.Stages, 8))
	},
	"wgmma-ws": func(t Tile, _ Widths) string {
		return first(only("BM", t.BM, 128), only("BN", t.BN, 256), only("BK", t.BK, 64), atMost("stages", t.Stages, 4))
	},
	"wgmma-persistent": func(t Tile, _ Widths) string {
		return first(only("BM", t.BM, 128), multiples(64, t.BN), atMost("BN", t.BN, 256), only("BK", t.BK, 64),
			atMost("stages", t.Stages, 8))
	},
}

// boxes adds the kernel to which the copy engine brings boxes of A and B as they are stored, and from which it stores
// boxes of C if its rows begin at multiples of 16 bytes.
func (q *Sequence) boxes(kernel Launch, op Operation, depth int, from [2]place, c Operand) {
	const edge, rowsOfC = 64, 16
	mapped := func(p place, rows, cols, height int) Argument {
		return p.mapped(TensorMap{Type: q.Rung.Type, Rows: rows, Cols: cols, BoxRows: height, BoxCols: edge})
	}
	operand := func(p place, transposed bool, rows, cols int) Argument {
		if transposed {
			rows, cols = cols, rows
		}
		return mapped(p, rows, cols, edge)
	}
	a, b, to := operand(from[0], q.TransA, q.M, depth), operand(from[1], q.TransB, depth, q.N), place{BufferC, 0, c.LD}
	kernel.Arguments = join(numbers(q.M, q.N, depth), []Argument{q.Rung.scalar(op.Alpha), a, b,
		q.Rung.scalar(op.Beta)}, to.arguments())
	switch {
	case q.Rung.Persistent && q.Widths.C*q.Rung.Size() == 16:
		kernel.Arguments = append(kernel.Arguments, mapped(to, q.M, q.N, rowsOfC))
	case q.Rung.Persistent: // any map will do: the kernel does not read it
		kernel.Arguments = append(kernel.Arguments, a)
	}
	q.Launches = append(q.Launches, kernel)
}

// swizzledBoxes copies units of 8 elements to boxes of 64×64, of A along k and of B across it, and reads matrices of
// 8×8: a lane gives one row of each four. The unit i of row r is in place i ^ r%8.
func swizzledBoxes(t Tile, _ Widths) []request {
	const unit, row, box = 16, 128, 64 * 128 // bytes
	threads, across := warpTiles(t), t.BN/t.WN
	written := func(operand string, rows int) request {
		return request{operand, true, unit, rows * t.BK / 8 / threads, func(thread, i int) int {
			r := thread/8 + i*threads/8
			return r*row + (thread%8^r%8)*unit
		}}
	}
	read := func(operand string, edge int, at func(thread, p, i int) int) request {
		return request{operand, false, unit, edge / 16 * t.BK / 16, func(thread, i int) int {
			return at(thread, i/(edge/16)*16, i%(edge/16)*16)
		}}
	}
	parts := func(thread int) (low, middle, high int) { return thread % 8, thread / 8 % 2 * 8, thread % 32 / 16 * 8 }
	return []request{
		written("A", t.BM), written("B", t.BN),
		read("A", t.WM, func(thread, p, i int) int {
			low, middle, high := parts(thread)
			x, y := p+high, thread/32/across*t.WM+i+middle+low
			return y*row + (x/8^y%8)*unit
		}),
		read("B", t.WN, func(thread, p, i int) int {
			low, middle, high := parts(thread)
			x, y := p+middle+low, thread/32%across*t.WN+i+high
			return y/64*box + x*row + (y%64/8^x%8)*unit
		}),
	}
}
