package ladder

// Access describes how the warps of a block read or write a slice of one operand in shared memory. It is counted from
// the addresses in the source of the kernel; the compiler may join accesses to neighbouring elements.
type Access struct {
	Operand  string  `json:"operand"` // A or B
	Write    bool    `json:"write"`
	Bytes    int     `json:"bytes"`     // that a lane wants at once
	Requests int     `json:"requests"`  // of all warps, a slice of k
	Passes   float64 `json:"passes"`    // of a request over the banks, on average
	Conflict float64 `json:"conflicts"` // passes that two lanes add that need different words of one bank
	Lanes    float64 `json:"lanes"`     // that want the same word, on average: it is read once for all of them
}

// Request is an instruction that every thread executes Count times. At returns the address in shared memory of the i-th
// one of a thread, relative to the slice of its operand. A negative address is no access.
type Request struct {
	Operand      string
	Write        bool
	Bytes, Count int
	At           func(thread, i int) int
}

// Read returns requests that read the given bytes at once.
func Read(operand string, bytes, count int, at func(thread, i int) int) Request {
	return Request{operand, false, bytes, count, at}
}

// Write is Read for requests that write.
func Write(operand string, bytes, count int, at func(thread, i int) int) Request {
	return Request{operand, true, bytes, count, at}
}

// Accesses returns the accesses of a block to shared memory for one slice of k. It is empty where the kernel uses none,
// and lacks the reads of rungs whose lanes read what the instruction leaves open.
func (r Rung) Accesses(t Tile, w Widths) []Access {
	if r.Banks == nil {
		return nil
	}
	var out []Access
	for _, q := range r.Banks(t, w) {
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
	return passes / (float64(t.BM*t.BN*t.BK) / Lanes)
}

// Lanes is the threads of a warp, bankWords the banks of shared memory, each of wordBytes.
const Lanes, bankWords, wordBytes = 32, 32, 4

// access counts the accesses of a request for a block of the given threads.
func (q Request) access(threads int) Access {
	a := Access{Operand: q.Operand, Write: q.Write, Bytes: q.Bytes}
	least, wanted, distinct := 0.0, 0, 0
	for first := 0; first < threads; first += Lanes {
		for i := range q.Count {
			addresses := make([]int, 0, Lanes)
			for thread := first; thread < min(first+Lanes, threads); thread++ {
				addresses = append(addresses, q.At(thread, i))
			}
			passes, without, lanes, words := serve(addresses, q.Bytes)
			if lanes == 0 {
				continue
			}
			a.Requests++
			a.Passes += float64(passes)
			least += float64(without)
			wanted += lanes
			distinct += words
		}
	}
	if a.Requests > 0 {
		a.Passes /= float64(a.Requests)
		a.Conflict = a.Passes - least/float64(a.Requests)
		a.Lanes = float64(wanted) / float64(distinct)
	}
	return a
}

// serve returns, for a request of one warp: the passes over the banks, the passes without bank
// conflicts, the number of lanes with an access, and the number of different addresses.
//
// A bank gives one of its words at a time, to all lanes that need that word.
func serve(addresses []int, bytes int) (passes, least, lanes, distinct int) {
	group := AtOnce(addresses, bytes)
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

// AtOnce returns how many of the lanes with the given addresses a pass serves: 32 lanes with 4 bytes each, 16 lanes
// with 8 bytes, or 8 lanes with 16 bytes. It serves twice as many if for every i the lanes i and i^1, or i and i^2,
// need the same bytes (https://forums.developer.nvidia.com/t/77228).
func AtOnce(addresses []int, bytes int) int {
	group := Lanes * wordBytes / bytes
	if bytes > wordBytes && (paired(addresses, 1) || paired(addresses, 2)) {
		group *= 2
	}
	return group
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

// InOrder writes elements side by side, width at once.
func InOrder(operand string, elements, threads, size, width int) Request {
	return Write(operand, size*width, ceil(elements, threads*width), func(thread, u int) int {
		e := (thread + u*threads) * width
		if e >= elements {
			return -1
		}
		return size * e
	})
}

// Plain returns the requests for single elements of size bytes of As[BM][BK] and Bs[BK][BN], of a thread's tile.
func Plain(size int) func(t Tile, w Widths) []Request {
	return func(t Tile, _ Widths) []Request {
		tm, tn := max(t.TM, 1), max(t.TN, 1)
		across := t.BN / tn
		threads := t.BM / tm * across
		return []Request{
			Read("A", size, t.BK*tm, func(thread, i int) int {
				return size * ((thread/across*tm+i%tm)*t.BK + i/tm)
			}),
			Read("B", size, t.BK*tn, func(thread, i int) int {
				return size * (i/tn*t.BN + thread%across*tn + i%tn)
			}),
			InOrder("A", t.BM*t.BK, threads, size, 1),
			InOrder("B", t.BK*t.BN, threads, size, 1),
		}
	}
}

// Scattered writes the elements of units of A, width along k, to As[BK][BM + pad] one by one.
func Scattered(t Tile, size, width, pad int) Request {
	threads := OnePerTile(t)
	return Write("A", size, t.BM*t.BK/threads, func(thread, i int) int {
		e := (thread + i/width*threads) * width
		return size * ((e%t.BK+i%width)*(t.BM+pad) + e/t.BK)
	})
}

// Units returns the copies of units of elements of size bytes to As[BM][BK + padA] and Bs[BK][BN + padB], as they lie
// in memory.
func Units(size, padA, padB int) func(t Tile, w Widths) []Request {
	return func(t Tile, w Widths) []Request {
		threads := WarpPerTile(t)
		rows := func(operand string, rows, cols, width, pad int) Request {
			return Write(operand, size*width, rows*cols/(threads*width), func(thread, u int) int {
				e := (thread + u*threads) * width
				return size * (e/cols*(cols+pad) + e%cols)
			})
		}
		return []Request{rows("A", t.BM, t.BK, w.A, padA), rows("B", t.BK, t.BN, w.B, padB)}
	}
}

// SectorBytes is what global memory is read by.
const SectorBytes = 32

// Sectors returns the 32-byte sectors of global memory that a warp reads of A and B for one index
// of k, if threads do not share slices; otherwise 0.
func (r Rung) Sectors(t Tile) float64 {
	if r.Elements == nil {
		return 0
	}
	size, warps, sectors := r.Size(), 0, 0
	for first := 0; first < r.Threads(t); first += Lanes {
		read := [2]map[int]bool{{}, {}}
		for thread := first; thread < min(first+Lanes, r.Threads(t)); thread++ {
			a, b := r.Elements(t, thread)
			read[0][a*size/SectorBytes], read[1][b*size/SectorBytes] = true, true
		}
		warps++
		sectors += len(read[0]) + len(read[1])
	}
	return float64(sectors) / float64(warps)
}
