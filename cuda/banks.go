package cuda

// Access describes how the warps of a block read or write a slice of one operand in shared memory.
// It is counted from the addresses in the source of the kernel; the compiler may join accesses to
// neighbouring elements.
type Access struct {
	Operand  string // A or B
	Write    bool
	Bytes    int // that a lane wants at once
	Requests int // of all warps, a slice of k
	// Passes is the average number of passes of a request over the banks. Least is the number
	// without bank conflicts, that is, if no two lanes needed different words of one bank.
	Passes, Least float64
	// Lanes that want the same word, on average: it is read once for all of them.
	Lanes float64
}

// Conflicts is the passes of a request that bank conflicts add.
func (a Access) Conflicts() float64 { return a.Passes - a.Least }

// request is an instruction that every thread executes count times. address returns the address in
// shared memory of the i-th one of a thread, relative to the slice of its operand. A negative
// address is no access.
type request struct {
	operand      string
	write        bool
	bytes, count int
	at           func(thread, i int) int
}

// Accesses returns the accesses of a block to shared memory for one slice of k. It is empty
// where the kernel uses none, and lacks the reads of rungs whose lanes read what the
// instruction leaves open.
func (r Rung) Accesses(t Tile, w Widths) []Access {
	model, ok := banks[r.Type+"/"+r.Name]
	if !ok {
		return nil
	}
	var out []Access
	for _, q := range model(t, w) {
		out = append(out, q.access(r.Threads(t)))
	}
	return out
}

// Passes returns the passes of the reads over the banks per multiply-add of a warp (32 of a
// thread). Below 1, the banks are no limit. 0: not known, or no reads.
func (r Rung) Passes(t Tile, accesses []Access) float64 {
	if len(accesses) == 0 {
		return 0
	}
	passes := 0.0
	for _, a := range accesses {
		if !a.Write {
			passes += a.Passes * float64(a.Requests)
		}
	}
	return passes / (float64(t.BM*t.BN*t.BK) / warpLanes)
}

// warpLanes is the threads of a warp, bankWords the banks of shared memory, each of
// wordBytes.
const warpLanes, bankWords, wordBytes = 32, 32, 4

// access counts the accesses of a request for a block of the given threads.
func (q request) access(threads int) Access {
	a := Access{Operand: q.operand, Write: q.write, Bytes: q.bytes}
	wanted, distinct := 0, 0
	for first := 0; first < threads; first += warpLanes {
		for i := range q.count {
			addresses := make([]int, 0, warpLanes)
			for thread := first; thread < min(first+warpLanes, threads); thread++ {
				addresses = append(addresses, q.at(thread, i))
			}
			passes, least, lanes, words := serve(addresses, q.bytes)
			if lanes == 0 {
				continue
			}
			a.Requests++
			a.Passes += float64(passes)
			a.Least += float64(least)
			wanted += lanes
			distinct += words
		}
	}
	if a.Requests > 0 {
		a.Passes /= float64(a.Requests)
		a.Least /= float64(a.Requests)
		a.Lanes = float64(wanted) / float64(distinct)
	}
	return a
}

// serve returns, for a request of one warp: the passes over the banks, the passes without bank
// conflicts, the number of lanes with an access, and the number of different addresses.
//
// A pass serves 32 lanes with 4 bytes each, 16 lanes with 8 bytes, or 8 lanes with 16 bytes. It
// serves twice as many if for every i the lanes i and i^1, or i and i^2, need the same bytes
// (https://forums.developer.nvidia.com/t/77228). A bank gives one of its words at a time, to all
// lanes that need that word.
func serve(addresses []int, bytes int) (passes, least, lanes, distinct int) {
	group := warpLanes * wordBytes / bytes
	if bytes > wordBytes && (paired(addresses, 1) || paired(addresses, 2)) {
		group *= 2
	}
	all := map[int]bool{}
	for first := 0; first < len(addresses); first += group {
		words := map[int]bool{}
		for _, address := range addresses[first:min(first+group, len(addresses))] {
			if address < 0 {
				continue
			}
			lanes++
			all[address] = true
			for word := address / wordBytes; word <= (address+bytes-1)/wordBytes; word++ {
				words[word] = true
			}
		}
		var each [bankWords]int
		most := 0
		for word := range words {
			each[word%bankWords]++
			most = max(most, each[word%bankWords])
		}
		passes += most
		if most > 0 {
			least++
		}
	}
	return passes, least, lanes, len(all)
}

// paired reports whether all lanes i and i^with want the same.
func paired(addresses []int, with int) bool {
	for i, address := range addresses {
		if other := i ^ with; other >= len(addresses) || addresses[other] != address {
			return false
		}
	}
	return true
}

// banks has the requests of each kernel for a slice, with the names of its source.
var banks = map[string]func(t Tile, w Widths) []request{
	"f32/smem":         func(t Tile, _ Widths) []request { return plainSlices(t, 4, 1, 1) },
	"f32/blocktile1d":  func(t Tile, _ Widths) []request { return plainSlices(t, 4, t.TM, 1) },
	"f32/blocktile2d":  func(t Tile, _ Widths) []request { return plainSlices(t, 4, t.TM, t.TN) },
	"f32/vectorized":   vectorizedSlices,
	"f32/transposed":   columnSlices,
	"f32/conflictfree": func(t Tile, w Widths) []request { return quadSlices(t, w, padOf(t, 4)) },
	"f32/doublebuffer": func(t Tile, w Widths) []request { return quadSlices(t, w, padOf(t, 4)) },
	"f32/async":        asyncSlices,
	"f32/multistage":   asyncSlices,
	"f32/blockorder":   asyncSlices,
	"f32/prefetch":     asyncSlices,
	"f32/serpentine":   asyncSlices,
	"f32/interleave":   asyncSlices,
	"f32/rowstores":    asyncSlices,
	"f32/warptile":     func(t Tile, w Widths) []request { return append(warpReads(t), copiedQuads(t, w)...) },
	"f32/tf32-wmma":    func(t Tile, w Widths) []request { return rowSlices(t, w, 4, 4, 8) },
	"f32/tf32-mma":     func(t Tile, w Widths) []request { return rowSlices(t, w, 4, 4, 8) },

	"f64/packed-smem":         func(t Tile, _ Widths) []request { return packedSlices(t, t.BK, 1) },
	"f64/packed-conflictfree": func(t Tile, _ Widths) []request { return packedSlices(t, 1, t.BM) },

	"f64/smem":         func(t Tile, _ Widths) []request { return plainSlices(t, 8, t.TM, t.TN) },
	"f64/conflictfree": func(t Tile, w Widths) []request { return halfSlices(t, w, padOf(t, 2)) },
	"f64/dmma-wmma":    func(t Tile, w Widths) []request { return rowSlices(t, w, 8, 4, 4) },
	"f64/dmma":         func(t Tile, w Widths) []request { return append(mmaReads(t), rowSlices(t, w, 8, 4, 4)...) },

	"f16/mma":  swizzledBoxes,
	"bf16/mma": swizzledBoxes,

	"gf256/square-tiled": func(t Tile, _ Widths) []request { return plainSlices(t, 1, 1, 1) },
	"gf256/tiled":        func(t Tile, _ Widths) []request { return byteAccesses(t, 1) },
	"gf256/word":         func(t Tile, _ Widths) []request { return byteAccesses(t, t.TN) },
}

// NoPad is the Pad of a tile whose rows of a slice lie one behind the other: 0 leaves the
// kernel's own.
const NoPad = -1

// padOf returns the elements between rows of a slice of A, own where the tile leaves them to
// the kernel.
func padOf(t Tile, own int) int {
	switch t.Pad {
	case 0:
		return own
	case NoPad:
		return 0
	}
	return t.Pad
}

// inOrder writes elements side by side, width at once.
func inOrder(operand string, elements, threads, size, width int) request {
	return request{operand, true, size * width, ceil(elements, threads*width), func(thread, u int) int {
		e := (thread + u*threads) * width
		if e >= elements {
			return -1
		}
		return size * e
	}}
}

// plainSlices reads single elements of As[BM][BK] and Bs[BK][BN], tm rows and tn columns a
// thread.
func plainSlices(t Tile, size, tm, tn int) []request {
	across := t.BN / tn
	threads := t.BM / tm * across
	return []request{
		{"A", false, size, t.BK * tm, func(thread, i int) int {
			return size * ((thread/across*tm+i%tm)*t.BK + i/tm)
		}},
		{"B", false, size, t.BK * tn, func(thread, i int) int {
			return size * (i/tn*t.BN + thread%across*tn + i%tn)
		}},
		inOrder("A", t.BM*t.BK, threads, size, 1),
		inOrder("B", t.BK*t.BN, threads, size, 1),
	}
}

// byteAccesses reads bytes of As[BM][BK] and words of width bytes of Bs[BK][BN]. A row of threads
// copies a row of A's slice, a column of threads a column of B's.
func byteAccesses(t Tile, width int) []request {
	across := t.BN / width
	return []request{
		{"A", false, 1, t.BK, func(thread, i int) int { return thread/across*t.BK + i }},
		{"B", false, width, t.BK, func(thread, i int) int { return i*t.BN + thread%across*width }},
		{"A", true, 1, ceil(t.BK, across), func(thread, i int) int {
			p := thread%across + i*across
			if p >= t.BK {
				return -1
			}
			return thread/across*t.BK + p
		}},
		{"B", true, width, ceil(t.BK, t.BM), func(thread, i int) int {
			p := thread/across + i*t.BM
			if p >= t.BK {
				return -1
			}
			return p*t.BN + thread%across*width
		}},
	}
}

// vectorizedSlices reads four elements of As[BM][BK] along k, and of Bs[BK][BN] along n.
func vectorizedSlices(t Tile, w Widths) []request {
	across := t.BN / t.TN
	threads := t.BM / t.TM * across
	quads := t.TN / 4
	return []request{
		{"A", false, 16, t.BK / 4 * t.TM, func(thread, i int) int {
			return 4 * ((thread/across*t.TM+i%t.TM)*t.BK + i/t.TM*4)
		}},
		{"B", false, 16, t.BK * quads, func(thread, i int) int {
			return 4 * (i/quads*t.BN + thread%across*t.TN + i%quads*4)
		}},
		inOrder("A", t.BM*t.BK, threads, 4, w.A),
		inOrder("B", t.BK*t.BN, threads, 4, w.B),
	}
}

// columnSlices reads quads of As[BK][BM] and Bs[BK][BN], neighbours in the tile of a thread, and writes units of A
// down a column.
func columnSlices(t Tile, w Widths) []request {
	across := t.BN / t.TN
	threads := threadTiles(t)
	m, n := t.TM/4, t.TN/4
	return []request{
		{"A", false, 16, t.BK * m, func(thread, i int) int {
			return 4 * (i/m*t.BM + thread/across*t.TM + i%m*4)
		}},
		{"B", false, 16, t.BK * n, func(thread, i int) int {
			return 4 * (i/n*t.BN + thread%across*t.TN + i%n*4)
		}},
		scattered(t, threads, 4, w.A, 0),
		inOrder("B", t.BK*t.BN, threads, 4, w.B),
	}
}

// packedSlices reads a row of A's block and a column of B's, whose threads go down a column of C. Rows of A's block are
// `row` doubles apart, and columns `col`; B's block lies by columns.
func packedSlices(t Tile, row, col int) []request {
	i := func(thread int) int { return thread % t.BM }
	j := func(thread int) int { return thread / t.BM }
	return []request{
		{"A", false, 8, t.BK, func(thread, kk int) int { return 8 * (i(thread)*row + kk*col) }},
		{"B", false, 8, t.BK, func(thread, kk int) int { return 8 * (j(thread)*t.BK + kk) }},
		{"A", true, 8, 1, func(thread, _ int) int { return 8 * (i(thread)*row + j(thread)*col) }},
		{"B", true, 8, 1, func(thread, _ int) int { return 8 * (j(thread)*t.BK + i(thread)) }},
	}
}

// asyncSlices is quadReads with copies past the registers.
func asyncSlices(t Tile, w Widths) []request { return append(quadReads(t, 4), copiedQuads(t, w)...) }

// quadReads reads quads of As[BK][BM + pad] and Bs[BK][BN], BM/(TM/4) and BN/(TN/4) apart.
func quadReads(t Tile, pad int) []request {
	across := t.BN / t.TN
	m, n := t.TM/4, t.TN/4
	return []request{
		{"A", false, 16, t.BK * m, func(thread, i int) int {
			return 4 * (i/m*(t.BM+pad) + thread/across*4 + i%m*(t.BM/m))
		}},
		{"B", false, 16, t.BK * n, func(thread, i int) int {
			return 4 * (i/n*t.BN + thread%across*4 + i%n*(t.BN/n))
		}},
	}
}

// quadSlices is quadReads with units of A that each thread scatters down a column.
func quadSlices(t Tile, w Widths, pad int) []request {
	threads := threadTiles(t)
	return append(quadReads(t, pad),
		scattered(t, threads, 4, w.A, pad),
		inOrder("B", t.BK*t.BN, threads, 4, w.B))
}

// scattered writes the elements of units of A, width along k, to As[BK][BM + pad] one by one.
func scattered(t Tile, threads, size, width, pad int) request {
	return request{"A", true, size, t.BM * t.BK / threads, func(thread, i int) int {
		e := (thread + i/width*threads) * width
		return size * ((e%t.BK+i%width)*(t.BM+pad) + e/t.BK)
	}}
}

// copiedQuads copies single elements of A, 8 threads along k, to As[BK][BM + 4], and units
// of B.
func copiedQuads(t Tile, w Widths) []request {
	threads := threadTiles(t)
	if t.WM != 0 {
		threads = warpTiles(t)
	}
	eights := t.BK / 8
	return []request{
		{"A", true, 4, t.BM / (threads / 8) * eights, func(thread, i int) int {
			row, col := thread/8+i/eights*(threads/8), thread%8+i%eights*8
			return 4 * (col*(t.BM+4) + row)
		}},
		inOrder("B", t.BK*t.BN, threads, 4, w.B),
	}
}

// warpReads reads quads of As[BK][BM + 4] and Bs[BK][BN] within the tile of the warp.
func warpReads(t Tile) []request {
	lanesM, lanesN := t.WM/t.TM, t.WN/t.TN
	warpsN := t.BN / t.WN
	m, n := t.TM/4, t.TN/4
	return []request{
		{"A", false, 16, t.BK * m, func(thread, i int) int {
			warp, lane := thread/warpLanes, thread%warpLanes
			row := warp/warpsN*t.WM + (lane/(2*lanesN)*2+lane%2)*4
			return 4 * (i/m*(t.BM+4) + row + i%m*4*lanesM)
		}},
		{"B", false, 16, t.BK * n, func(thread, i int) int {
			warp, lane := thread/warpLanes, thread%warpLanes
			col := warp%warpsN*t.WN + lane/2%lanesN*4
			return 4 * (i/n*t.BN + col + i%n*4*lanesN)
		}},
	}
}

// rowSlices copies units to As[BM][BK + padA] and Bs[BK][BN + padB], as they lie in memory.
func rowSlices(t Tile, w Widths, size, padA, padB int) []request {
	threads := warpTiles(t)
	rows := func(operand string, rows, cols, width, pad int) request {
		return request{operand, true, size * width, rows * cols / (threads * width), func(thread, u int) int {
			e := (thread + u*threads) * width
			return size * (e/cols*(cols+pad) + e%cols)
		}}
	}
	return []request{rows("A", t.BM, t.BK, w.A, padA), rows("B", t.BK, t.BN, w.B, padB)}
}

// halfSlices reads pairs of a_slice[BK][BM + pad] and b_slice[BK][BN]: the elements of a
// thread are in halves, BM/2 and BN/2 apart.
func halfSlices(t Tile, w Widths, pad int) []request {
	across := t.BN / t.TN
	threads := threadTiles(t)
	read := func(operand string, tile, stride, edge int, place func(thread int) int) request {
		pairs := tile / 2
		return request{operand, false, 16, t.BK * pairs, func(thread, i int) int {
			pair := i % pairs
			col := place(thread)*(tile/2) + pair%(tile/4)*2
			if pair >= tile/4 {
				col += edge / 2
			}
			return 8 * (i/pairs*stride + col)
		}}
	}
	return []request{
		read("A", t.TM, t.BM+pad, t.BM, func(thread int) int { return thread / across }),
		read("B", t.TN, t.BN, t.BN, func(thread int) int { return thread % across }),
		scattered(t, threads, 8, w.A, pad),
		inOrder("B", t.BK*t.BN, threads, 8, w.B), // the compiler joins the elements of a unit
	}
}

// mmaReads reads the fragments of mma from a_slice[BM][BK + 4] and b_slice[BK][BN + 4]. Lane 4g + t
// has row g and column t of 8×4 elements of A, and row t and column g of 4×8 elements of B. Larger
// fragments consist of several of these.
func mmaReads(t Tile) []request {
	warpsN := t.BN / t.WN
	depths := t.BK / 4
	return []request{
		{"A", false, 8, t.WM / 8 * depths, func(thread, i int) int {
			warp, lane := thread/warpLanes, thread%warpLanes
			row, col := warp/warpsN*t.WM+i/depths*8+lane/4, i%depths*4+lane%4
			return 8 * (row*(t.BK+4) + col)
		}},
		{"B", false, 8, t.WN / 8 * depths, func(thread, i int) int {
			warp, lane := thread/warpLanes, thread%warpLanes
			row, col := i%depths*4+lane%4, warp%warpsN*t.WN+i/depths*8+lane/4
			return 8 * (row*(t.BN+4) + col)
		}},
	}
}

// sectorBytes is what global memory is read by.
const sectorBytes = 32

// Sectors returns the 32-byte sectors of global memory that a warp reads of A and B for one index
// of k, if threads do not share slices; otherwise 0. Rows of A and B are assumed to be long.
func (r Rung) Sectors(t Tile) float64 {
	const apart = 1 << 16 // elements between two rows
	across, down := apart, 1
	row := func(thread int) int { return thread / t.BN }
	col := func(thread int) int { return thread % t.BN }
	switch r.Type + "/" + r.Name {
	case "f32/naive":
		row, col = func(thread int) int { return thread % t.BM }, func(thread int) int { return thread / t.BM }
	case "f32/coalesced", "f64/naive", "gf256/naive":
	case "f64/packed-global": // blocks of BK elements a row, and a column
		across, down = t.BK, t.BK
	default:
		return 0
	}
	size, warps, sectors := r.Size(), 0, 0
	for first := 0; first < r.Threads(t); first += warpLanes {
		a, b := map[int]bool{}, map[int]bool{}
		for thread := first; thread < min(first+warpLanes, r.Threads(t)); thread++ {
			a[row(thread)*across*size/sectorBytes] = true
			b[col(thread)*down*size/sectorBytes] = true
		}
		warps++
		sectors += len(a) + len(b)
	}
	return float64(sectors) / float64(warps)
}
