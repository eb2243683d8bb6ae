package cuda

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/cuda/ladder"
	"gemm/cuda/nvrtc"
)

// Operand is where a matrix lies on a device: its address and leading dimension.
type Operand struct {
	Address uintptr
	LD      int // elements
}

// Plan is how a rung computes one product.
type Plan struct {
	Rung   Rung
	Tile   Tile
	Widths Widths
	// TransA and TransB report whether the kernel reads an operand that is stored transposed.
	TransA, TransB bool
	Split          int  // parts that k is cut into in every tile; 1: it is not
	Tail           Tail // tiles that are cut along k
	MaxReg         int  // registers of a thread at most; 0: no limit
	edges          bool // there are blocks at an edge that are slower than others
	// LayA and LayB say how an operand is copied to an aligned layout first. This is done if copies
	// of 16 bytes, without conditions, then save more time than the copy takes.
	LayA, LayB Layout
	Moduli     int // of a product by residues
	gemm.Shape
	Batch int // products of a batch; 0: one product, and no batch
	// Resident is the most blocks of a Persistent kernel; 0: one for each tile.
	Resident int
	Instead  bool // it computes in place of the requested rung
	// Ignored is the reason why a setting that gemm tune found is not used; empty if it is, or if there is none.
	Ignored string
}

// Layout is the memory of an operand: Rows rows, LD elements apart. Zeros fill the end of each row,
// and the rows that the operand does not have. The zero Layout means none.
type Layout struct{ Rows, LD int }

// errShapeLimit: the kernels count rows, columns and blocks in 32 bits.
var errShapeLimit = fmt.Errorf("cuda: the shape is beyond what kernels count: m, n and k are at most %d, n of gf256 %d",
	math.MaxInt32/2, math.MaxInt32)

// Plan returns how the rung computes a product of the shape on the GPU with the resolved parameters. The error is a
// gemm.ErrParam if the parameters do not fit the rung, and a gemm.ErrUnavailable if the GPU cannot fulfil them.
func (r Rung) Plan(g GPU, s gemm.Shape, a, b, c Operand, p gemm.Params) (Plan, error) {
	return r.plan(g, s, Plain, a, b, c, p)
}

// plan is Plan for operands that are stored as the operation says, if the rung reads them so.
func (r Rung) plan(g GPU, s gemm.Shape, op Operation, a, b, c Operand, p gemm.Params) (Plan, error) {
	limit, columns := math.MaxInt32/2, math.MaxInt32/2
	if r.Type == "gf256" { // its columns are counted in 64 bits
		columns = math.MaxInt32
	}
	if empty := s.M == 0 || s.N == 0; !empty && (s.M > limit || s.N > columns || s.K > limit) {
		return Plan{}, errShapeLimit
	}
	plan, err := r.choose(g, s, op.Batch, r.wide(a, b, c), p)
	if err != nil {
		return plan, err
	}
	if r.Persistent {
		plan.Resident = g.Multiprocessors / max(1, r.Cluster) * max(1, r.Cluster)
	}
	if r.Operands == ladder.ByResidue {
		n, err := ladder.ResiduesOf(p)
		if err != nil {
			return plan, err
		}
		plan.Moduli = int(n)
	} else if plan.TransA, plan.TransB = r.AsStored && op.TransA, r.AsStored && op.TransB; op.Batch == 0 {
		plan.lay(g, &a, &b)
	}
	plan.Widths = r.widths(a, b, c)
	if n, ok := p["maxregs"].(int); ok {
		plan.MaxReg = n
	}
	if err := r.Check(plan.Tile, plan.Widths); err != nil {
		return plan, err
	}
	down, across := ceil(s.M, plan.Tile.BM), ceil(s.N, plan.Tile.BN)
	if op.Batch > 0 && (op.Batch > math.MaxInt32/2/max(1, s.M, s.N, s.K) ||
		down*across > 0 && op.Batch > math.MaxInt32/down/across) {
		return plan, gemm.Unavailablef("a batch of %d products of %d×%d×%d is beyond what kernels count", op.Batch, s.M,
			s.N, s.K).WithRemedy("divide the batch")
	}
	if across > 0 && down > math.MaxInt32/across {
		return plan, gemm.Unavailablef("a product of %d×%d×%d takes %d×%d blocks of %s, and a launch has at most %d", s.M,
			s.N, s.K, down, across, plan.Tile.Name(), math.MaxInt32).
			WithRemedy("choose a larger tile or a smaller size")
	}
	return plan, r.fits(plan.Tile, g)
}

// CheckSettings returns a gemm.ErrParam if the kernel of the variant, such as cuda/tuned, cannot have the parameters
// in the element type, for any operands and any GPU. For a variant that is not a rung, only the local one is checked.
func CheckSettings(variant, typ string, p gemm.Params) error {
	if p["local"] != nil {
		_, _, err := Local(p, typ)
		return err
	}
	r, err := RungNamed(strings.TrimPrefix(variant, Family+"/"), typ)
	if err != nil {
		return nil
	}
	tiles, err := r.requestedTiles(p, r.Tiles)
	if err != nil {
		return err
	}
	for _, t := range tiles {
		for a := r.Widest().A; a >= 1; a /= 2 {
			for b := r.Widest().B; b >= 1; b /= 2 {
				problem := r.Check(t, Widths{A: a, B: b, C: 1})
				if problem == nil {
					return nil
				}
				err = cmp.Or(err, problem)
			}
		}
	}
	return err
}

// CheckRegisters returns an error if a thread of the kernel has more registers than the parameter maxregs permits. The
// compiler ignores a limit that would let more blocks fit than a multiprocessor can hold.
func (p Plan) CheckRegisters(registers int) error {
	if p.MaxReg == 0 || registers <= p.MaxReg {
		return nil
	}
	return fmt.Errorf("%w: maxregs is %d, which the compiler ignores: a thread of %s with tile %s has %d registers: choose a higher limit",
		gemm.ErrParam, p.MaxReg, p.Rung.Name, p.Tile.Name(), registers)
}

// Resolved returns what the plan has for the requested parameters, and which operands are laid out anew.
func (p Plan) Resolved(requested gemm.Params) gemm.Params {
	out := gemm.Params{"tile": p.Tile.Name()}
	for name, value := range map[string]int{"block": p.Tile.Edge(), "bk": p.Tile.BK, "stages": p.Tile.Stages,
		"split": p.Split, "moduli": p.Moduli} {
		if _, ok := requested[name]; ok {
			out[name] = value
		}
	}
	var anew []string
	if p.LayA != (Layout{}) {
		anew = append(anew, "A")
	}
	if p.LayB != (Layout{}) {
		anew = append(anew, "B")
	}
	if p.Tail.Blocks > 0 && p.Split == 1 {
		out["cut"] = p.Tail.String()
	}
	if p.Rung.Three {
		out["products"] = "3 of tf32"
	}
	if p.Instead {
		out["ran"] = Family + "/" + p.Rung.Name
	}
	if len(anew) > 0 {
		out["anew"] = strings.Join(anew, ", ")
	}
	return out
}

// PartialBytes returns the bytes of the partial sums of C; 0 if k is not cut.
func (p Plan) PartialBytes() int64 {
	return int64(p.Rung.Size()) * int64(p.Tail.places()) * int64(p.Tile.BM) * int64(p.Tile.BN)
}

// fits returns an ErrUnavailable if a block with the setting wants more than the GPU has for one.
func (r Rung) fits(t Tile, g GPU) error {
	if threads := r.Threads(t); threads > g.BlockThreads && g.BlockThreads > 0 {
		return gemm.Unavailablef("%s with tile %s has %d threads a block, the GPU at most %d", r.Name, t.Name(), threads,
			g.BlockThreads)
	}
	if shared := r.Shared(t); shared > g.BlockSharedOptIn && g.BlockSharedOptIn > 0 {
		return gemm.Unavailablef("%s with tile %s and %d stages needs %d bytes of shared memory a block, the GPU has %d",
			r.Name, t.Name(), t.Stages, shared, g.BlockSharedOptIn).
			WithRemedy("choose fewer stages or a smaller tile")
	}
	return nil
}

// AlignedLD returns a leading dimension for rows of n elements of size bytes, so that rows begin at
// multiples of 32 bytes, a sector of global memory.
func AlignedLD(n, size int) int {
	unit := max(8, ladder.SectorBytes/size)
	return max(1, ceil(n, unit)) * unit
}

// bytes returns the size of the layout with elements of size bytes.
func (l Layout) bytes(size int) int64 { return int64(size) * int64(l.Rows) * int64(l.LD) }

// lay decides which operands are copied to a new layout, and changes their descriptions. It copies none if the
// GPU's memory has no room.
func (p *Plan) lay(g GPU, a, b *Operand) {
	const bandwidth = 3e12 // bytes a second read and written
	r := p.Rung
	if r.AsStored {
		p.LayA = r.boxed(a, p.TransA, p.M, p.K)
	}
	switch { // the copy engine reads it as it is stored
	case p.byRows():
		p.LayA = r.boxed(a, false, p.M, p.K)
	case r.AsStored, r.Operands == ladder.Rounded:
		p.LayB = r.boxed(b, p.TransB, p.K, p.N)
	}
	if r.AsStored || r.Operands == ladder.Rounded {
		return
	}
	if !r.Copies || r.Narrow == 0 {
		return
	}
	most, now := 16/r.Size(), r.widths(*a, *b, Operand{})
	layA, layB := now.A < most, now.B < most
	if r.Single {
		layA = a.LD%AlignedLD(1, r.Size()) != 0
	}
	layA, layB = layA || layB && r.Pads, layB || layA && r.Pads
	took := 0.0
	if layA {
		took += launchTime + 2*float64(r.Size())*float64(p.M)*float64(p.K)/bandwidth
	}
	if layB {
		took += launchTime + 2*float64(r.Size())*float64(p.K)*float64(p.N)/bandwidth
	}
	if gain := p.predict(g) * (1/r.Narrow - 1); took == 0 || gain <= took {
		return
	}
	pad := func(n, to int) int {
		if r.Pads {
			return ceil(n, to) * to
		}
		return n
	}
	var toA, toB Layout
	if layA {
		toA = Layout{pad(p.M, p.Tile.BM), AlignedLD(p.K, r.Size())}
	}
	if layB {
		toB = Layout{p.K, AlignedLD(pad(p.N, p.Tile.BN), r.Size())}
	}
	if !g.holds(p.PartialBytes() + toA.bytes(r.Size()) + toB.bytes(r.Size())) {
		return
	}
	p.LayA, p.LayB = toA, toB
	if layA {
		*a = Operand{LD: toA.LD}
	}
	if layB {
		*b = Operand{LD: toB.LD}
	}
}

// boxed returns the layout to which an operand of the rows and columns is copied if its rows do not begin at multiples
// of 16 bytes, and changes its description.
func (r Rung) boxed(o *Operand, transposed bool, rows, cols int) (l Layout) {
	if most := 16 / r.Size(); powerOfTwo(int(o.Address)/r.Size()) >= most && powerOfTwo(o.LD) >= most {
		return l
	}
	if transposed {
		rows, cols = cols, rows
	}
	l = Layout{rows, AlignedLD(cols, r.Size())}
	*o = Operand{LD: l.LD}
	return l
}

// widths returns how many elements of each operand are copied at once: the number that divides its
// address and its leading dimension, up to 16 bytes.
func (r Rung) widths(a, b, c Operand) Widths {
	if !r.Copies {
		return Widths{A: 1, B: 1, C: 1}
	}
	size := r.Size()
	of := func(o Operand) int {
		return min(16/size, powerOfTwo(int(o.Address)/size), powerOfTwo(o.LD))
	}
	w := Widths{A: of(a), B: of(b), C: of(c)}
	if r.Single {
		w.A = 1
	}
	if r.AsStored && w.C < 16/size { // a warp stores pairs at most
		w.C = min(2, w.C)
	}
	return w
}

// powerOfTwo returns the largest power of two that divides n; 16, which is enough, for 0.
func powerOfTwo(n int) int {
	if n%16 == 0 {
		return 16
	}
	return n & -n
}

// Blocks returns the blocks of a launch: for whole tiles of C, and for its Tail.
func (p Plan) Blocks() int {
	x := p.tiles()
	if p.Tail.Blocks > 0 {
		x = p.Tail.Whole + p.Tail.Blocks
	}
	if p.Resident > 0 {
		x = min(x, p.Resident)
	}
	return x
}

// Waves returns how many tiles of C the busiest place computes one after the other, if each multiprocessor has the
// given number of places for blocks, and the share of the places' time that tiles take. Both are 0 if the number of
// multiprocessors or of places is not known. A part of a tile that is cut along k counts by its slices.
func (p Plan) Waves(multiprocessors, places int) (waves, fill float64) {
	all := multiprocessors * places
	if all < 1 || p.M < 1 || p.N < 1 {
		return 0, 0
	}
	tiles := p.tiles()
	waves = float64(ceil(tiles, all))
	if t := p.Tail; t.Blocks > 0 {
		waves = float64(ceil(t.Whole, all)) + float64(ceil(t.Blocks, all)*t.Each)/float64(t.Span)
	}
	return waves, float64(tiles) / (waves * float64(all))
}

// tiles returns the tiles of C, of all matrices C of a batch, with those beyond it that fill up clusters.
func (p Plan) tiles() int {
	cluster := max(1, p.Rung.Cluster)
	if p.Rung.Stacked || p.byRows() {
		return ceil(p.M, p.Tile.BM*cluster) * ceil(p.N, p.Tile.BN) * cluster
	}
	return max(1, p.Batch) * ceil(p.M, p.Tile.BM) * ceil(p.N, p.Tile.BN*cluster) * cluster
}

// byRows reports whether B is rounded before a product of TF32, not A. Blocks of a cluster then lie below each other.
func (p Plan) byRows() bool {
	return p.Rung.Turns && p.Tile.BM == 128 && (p.Tile.BN != 128 || p.N < p.M)
}

// Packed returns the elements of A and of B as they are laid out anew.
func (p Plan) Packed() (a, b int) {
	blocksA, blocksB := p.PackBlocks()
	return blocksA * p.Tile.BM * p.Tile.BK, blocksB * p.Tile.BK * p.Tile.BN
}

// PackBlocks returns the blocks of the kernels that lay A and B out anew.
func (p Plan) PackBlocks() (a, b int) {
	slices := ceil(p.K, p.Tile.BK)
	return ceil(p.M, p.Tile.BM) * slices, ceil(p.N, p.Tile.BN) * slices
}

func ceil(n, by int) int { return (n + by - 1) / by }

// Program returns the kernel of the plan as it is compiled for a compute capability.
func (p Plan) Program(arch int) nvrtc.Program {
	program := p.Rung.Program(p.Tile, p.Widths, arch)
	program.Options = append(program.Options, p.options()...)
	return program
}

// options returns the macros of the plan, without its tile.
func (p Plan) options() []string {
	var out []string
	if p.Tail.Blocks > 0 {
		out = append(out, "-DCUT")
	}
	if p.Batch > 0 {
		out = append(out, "-DBATCH")
	}
	if p.TransA {
		out = append(out, "-DTRANS_A=1")
	}
	if p.TransB {
		out = append(out, "-DTRANS_B=1")
	}
	if p.Rung.Pads && p.LayA != (Layout{}) && p.LayB != (Layout{}) {
		out = append(out, "-DPADDED=1")
	}
	if p.byRows() {
		out = append(out, "-DBY_ROWS=1")
	}
	if p.Rung.Three {
		out = append(out, "-DTHREE")
	}
	if p.MaxReg > 0 {
		out = append(out, fmt.Sprintf("-DBLOCKS=%d", p.Rung.BlocksWithin(p.Tile, p.MaxReg)))
	}
	return out
}

// requestedTiles returns the tiles that agree with the parameters, or the one that the parameter tile describes. The
// first is the default.
func (r Rung) requestedTiles(p gemm.Params, tiles []Tile) ([]Tile, error) {
	if n, ok := p["maxregs"].(int); ok && n != 0 && !r.Capped {
		return nil, fmt.Errorf("%w: maxregs is %d, but the registers of %s in %s cannot be limited: leave it 0",
			gemm.ErrParam, n, r.Name, r.Type)
	}
	all := tiles
	if text, ok := p["tile"].(string); ok && text != Auto {
		t, err := r.ParseTile(text)
		if err != nil {
			return nil, err
		}
		tiles = []Tile{t}
	}
	var out []Tile
	for _, t := range tiles {
		if n, ok := p["stages"].(int); ok && n != 0 && t.Stages != 0 {
			t.Stages = n
		}
		if n, ok := p["block"].(int); ok && n != 0 && t.Edge() != n {
			continue
		}
		if n, ok := p["bk"].(int); ok && n != 0 && t.BK != n {
			continue
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		var have []string
		for _, t := range all {
			have = append(have, t.Name())
		}
		return nil, fmt.Errorf("%w: no setting of %s in %s has %v: it has %s", gemm.ErrParam, r.Name, r.Type, p,
			strings.Join(have, ", "))
	}
	return out, nil
}

// mostEdge is the most that a number of a tile can be, and the most stages: their product is an int.
const mostEdge = 1 << 14

// ParseTile returns the setting that is written as Tile.Name writes it.
func (r Rung) ParseTile(text string) (Tile, error) {
	t := r.Tiles[0]
	format, form, numbers := "%dx%d", "BMxBN", []any{&t.BM, &t.BN}
	with := func(verbs, names string, more ...any) {
		format, form, numbers = format+verbs, form+names, append(numbers, more...)
	}
	if t.BK != 0 {
		with("x%d", "xBK", &t.BK)
	}
	if t.WM != 0 {
		with("/%dx%d", "/WMxWN", &t.WM, &t.WN)
	}
	switch {
	case t.TN != 0:
		with("/%dx%d", "/TMxTN", &t.TM, &t.TN)
	case t.TM != 0:
		with("/%dx1", "/TMx1", &t.TM)
	}
	_, err := fmt.Sscanf(text, format, numbers...)
	wrong := func(n any) bool { return *n.(*int) < 1 || *n.(*int) > mostEdge }
	if own := slices.IndexFunc(r.Tiles, func(own Tile) bool { return own.Name() == text }); own >= 0 {
		return r.Tiles[own], nil // with its stages
	}
	if err != nil || t.Name() != text || slices.ContainsFunc(numbers, wrong) {
		return t, fmt.Errorf("%w: tile is %q, must be %s of %s, such as %s", gemm.ErrParam, text, form, r.Name,
			r.Tiles[0].Name())
	}
	return t, nil
}
