package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/compare"
	"gemm/cuda"
	"gemm/cuda/nvrtc"
	"gemm/cuda/occupancy"
)

// explainFlags are the flags of gemm cuda that only --explain has.
func explainFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "explain", DisableDefaultText: true, Usage: "what every rung takes and does, without a GPU: registers, occupancy, traffic, bank conflicts, steps"},
		&cli.StringFlag{Name: "cc", Usage: "with --explain: compute `CAPABILITY`, as 8.6 or sm_86"},
		&cli.BoolFlag{Name: "tiles", DisableDefaultText: true, Usage: "with --explain: which blocks of threads are feasible, and how many settings a search has"},
		&cli.StringFlag{Name: "pad", Usage: "with --explain: `LIST` of elements between rows of a slice in shared memory, of rungs that have them"},
		&cli.IntFlag{Name: "multiprocessors", DefaultText: "none", Usage: "with --explain: `COUNT` of the GPU, for the waves of blocks"},
		&cli.StringFlag{Name: "gflops", Usage: "with --explain: `LIST` of peaks for the roofline, as f32=67000,f64=34000,tf32=495000,f64-tensor=67000"},
		&cli.Float64Flag{Name: "gbps", DefaultText: "none", Usage: "with --explain: `RATE` of memory in GB/s for the roofline"},
	}
}

// explainTask is what the flags of --explain ask for.
type explainTask struct {
	capability      occupancy.Capability
	rungs           []cuda.Rung
	shapes          []gemm.Shape
	maxRegs, pads   []int // pads as Tile.Pad has them
	multiprocessors int   // 0: not known
	peaks           map[string]float64
	bandwidth       float64 // GB/s; 0: not known
}

// runExplain is gemm cuda --explain.
func runExplain(c *cli.Context) error {
	task, err := parseExplain(c)
	if err != nil {
		return err
	}
	if err := checkFile(c); err != nil {
		return err
	}
	if c.Bool("tiles") {
		return explainTiles(c, task)
	}
	library, err := nvrtc.Find()
	if err != nil {
		return err
	}
	folder, err := nvrtc.Folder()
	if err != nil {
		return err
	}
	cache := &nvrtc.Cache{Compiler: library, Folder: folder}
	fmt.Fprintf(c.App.ErrWriter, "gemm cuda: NVRTC %s (%s) compiles for %s\n", library.Version(), library.File, task.capability.Target())
	rows, err := explained(c.Context, cache, task)
	if err != nil {
		return err
	}
	if cache.Lost != nil {
		fmt.Fprintf(c.App.ErrWriter, "gemm cuda: compiled kernels are not kept: %v\n", cache.Lost)
	}
	if !slices.ContainsFunc(rows, func(r explainedRow) bool { return r.Reason == "" }) {
		return fmt.Errorf("no rung can be compiled: %s", rows[0].Reason)
	}
	if name := c.String("json"); name != "" {
		return writeJSON(c, name, explanation{compare.Schema, task.capability.String(), library.Version(), task.multiprocessors, task.peaks, task.bandwidth, rows})
	}
	var b strings.Builder
	printExplained(&b, rows)
	printSteps(&b, rows)
	for i := range task.shapes {
		printProducts(&b, rows, i, task)
	}
	printBanks(&b, rows)
	return writeAll(c.App.Writer, []byte(b.String()))
}

// parseExplain returns what the flags ask for.
func parseExplain(c *cli.Context) (t explainTask, err error) {
	if t.capability, err = parseCapability(c); err != nil {
		return t, err
	}
	types, err := chosen("type", c.String("type"), []string{"f32", "f64", "gf256"})
	if err != nil {
		return t, err
	}
	for _, typ := range types {
		t.rungs = append(t.rungs, cuda.Ladder(typ)...)
	}
	if c.Bool("tiles") {
		return t, nil
	}
	if t.shapes, err = parseSizes(c.String("sizes")); err != nil {
		return t, err
	}
	for _, s := range t.shapes {
		const most = math.MaxInt32 / 2 // that kernels count
		if max(s.M, s.N, s.K) > most {
			return t, usagef("--sizes %s: wants at most %d of each, as many as kernels count", s, most)
		}
	}
	if t.maxRegs, err = counts(c, "maxregs", leastRegisters, mostRegisters); err != nil {
		return t, err
	}
	if t.pads, err = counts(c, "pad", 1, 64); err != nil {
		return t, err
	}
	if c.IsSet("pad") {
		for i, pad := range t.pads {
			if pad == 0 {
				t.pads[i] = cuda.NoPad
			}
		}
	}
	if c.IsSet("multiprocessors") {
		if err := positive(c, "multiprocessors"); err != nil {
			return t, err
		}
		t.multiprocessors = c.Int("multiprocessors")
	}
	return t, t.roofline(c)
}

// pipes are what computes, as records have them.
var pipes = []string{"f32", "f64", "tf32", "f64-tensor"}

// roofline takes the peaks and the bandwidth.
func (t *explainTask) roofline(c *cli.Context) error {
	if c.IsSet("gflops") != c.IsSet("gbps") {
		return usagef("--gflops and --gbps are the two lines of the roofline: give both, or none")
	}
	if !c.IsSet("gflops") {
		return nil
	}
	if t.bandwidth = c.Float64("gbps"); !(t.bandwidth > 0) || math.IsInf(t.bandwidth, 0) {
		return usagef("--gbps %v: wants a positive number", t.bandwidth)
	}
	parts, err := list("gflops", c.String("gflops"))
	if err != nil {
		return err
	}
	t.peaks = map[string]float64{}
	for _, part := range parts {
		pipe, text, _ := strings.Cut(part, "=")
		peak, err := strconv.ParseFloat(text, 64)
		if err != nil || !(peak > 0) || math.IsInf(peak, 0) || !slices.Contains(pipes, pipe) {
			return usagef("--gflops %q: wants PIPE=RATE, the pipe one of %s", part, strings.Join(pipes, ", "))
		}
		if _, twice := t.peaks[pipe]; twice {
			return usagef("--gflops %q: %s is there twice", part, pipe)
		}
		t.peaks[pipe] = peak
	}
	return nil
}

// The registers of a thread that the compiler can be limited to.
const leastRegisters, mostRegisters = 16, 255

// counts returns the numbers that a flag lists, each 0 or from least to most: 0 alone where
// the flag is not there.
func counts(c *cli.Context, flag string, least, most int) ([]int, error) {
	if !c.IsSet(flag) {
		return []int{0}, nil
	}
	values, err := integers(flag, c.String(flag))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, value := range values {
		n := value.(int)
		if n != 0 && (n < least || n > most) {
			return nil, usagef("--%s %d: wants 0 or %d to %d", flag, n, least, most)
		}
		out = append(out, n)
	}
	return out, nil
}

// explanation is what cuda --explain --json writes.
type explanation struct {
	Schema          int                `json:"schema"`
	Capability      string             `json:"cc"`
	Compiler        string             `json:"nvrtc"`
	Multiprocessors int                `json:"multiprocessors,omitempty"`
	Peaks           map[string]float64 `json:"gflops,omitempty"` // by pipe
	Bandwidth       float64            `json:"gbps,omitempty"`
	Rungs           []explainedRow     `json:"rungs"`
}

// explainedRow is one rung with one of its settings.
type explainedRow struct {
	Variant   string             `json:"variant"`
	Type      string             `json:"type"`
	Tile      string             `json:"tile"`
	MaxRegs   int                `json:"maxregs,omitempty"` // registers of a thread at most
	Reason    string             `json:"reason,omitempty"`  // why there is nothing more
	Threads   int                `json:"threads"`           // of a block
	Registers int                `json:"regs"`              // of a thread
	Spills    int                `json:"spills"`            // bytes
	Shared    int                `json:"smem"`              // bytes of a block
	Blocks    int                `json:"blocks"`            // on a multiprocessor
	LimitedBy []string           `json:"limited_by"`
	Warps     int                `json:"warps"`
	Occupancy float64            `json:"occupancy"`         // 0 to 1
	Global    float64            `json:"global_reads"`      // elements a multiply-add
	Block     float64            `json:"shared_reads"`      // elements a multiply-add
	Intensity float64            `json:"flops_per_byte"`    // of what is read from global memory
	Passes    float64            `json:"passes,omitempty"`  // of shared reads a multiply-add of a warp
	Sectors   float64            `json:"sectors,omitempty"` // that a warp reads for a k index, without slices
	Accesses  []explainedAccess  `json:"shared_accesses,omitempty"`
	Step      *explainedStep     `json:"step,omitempty"` // of a rung's first row
	Products  []explainedProduct `json:"products"`
}

// explainedAccess is how warps read or write a slice of an operand in shared memory.
type explainedAccess struct {
	Operand  string  `json:"operand"`
	Write    bool    `json:"write"`
	Bytes    int     `json:"bytes"`     // of a lane
	Requests int     `json:"requests"`  // of a block, a slice
	Passes   float64 `json:"passes"`    // of a request
	Conflict float64 `json:"conflicts"` // passes that bank conflicts add
	Lanes    float64 `json:"lanes"`     // that want the same word
}

// explainedStep is what a rung is, and the figures that differ from those of the one before.
type explainedStep struct {
	Says    string            `json:"says"`
	After   string            `json:"after,omitempty"`
	Changes []explainedChange `json:"changes,omitempty"`
}

type explainedChange struct {
	Figure string  `json:"figure"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
}

// explainedProduct is what one product takes.
type explainedProduct struct {
	M            int     `json:"m"`
	N            int     `json:"n"`
	K            int     `json:"k"`
	Blocks       int     `json:"blocks"`
	Waves        int     `json:"waves,omitempty"` // of blocks over the multiprocessors
	Fill         float64 `json:"fill,omitempty"`  // share of the places of all waves
	GlobalReads  float64 `json:"global_reads"`    // elements
	GlobalWrites float64 `json:"global_writes"`
	SharedReads  float64 `json:"shared_reads"`
	SharedWrites float64 `json:"shared_writes"`
	Barriers     int     `json:"barriers"` // of a block
	Saved        int     `json:"barriers_saved"`
	Intensity    float64 `json:"flops_per_byte"`            // of all global accesses
	Roofline     float64 `json:"roofline_gflops,omitempty"` // at most
	By           string  `json:"bound_by,omitempty"`        // memory or arithmetic
}

// explained compiles the rungs with all of their settings, limits of registers and padding.
func explained(ctx context.Context, compiler nvrtc.Compiler, task explainTask) ([]explainedRow, error) {
	var rows []explainedRow
	var before *cuda.Explanation // the first setting of the rung before
	for _, r := range task.rungs {
		if before != nil && before.Rung.Type != r.Type {
			before = nil
		}
		first := true
		for _, s := range combinations(r, task) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e, err := cuda.Explain(compiler, r, s.tile, s.maxRegs, task.capability)
			row := explainedRow{Variant: cuda.Family + "/" + r.Name, Type: r.Type, Tile: tileText(s.tile), MaxRegs: s.maxRegs}
			switch {
			case errors.Is(err, cuda.ErrTile):
				row.Reason = strings.TrimPrefix(err.Error(), fmt.Sprintf("%v: %s %v: ", cuda.ErrTile, r.Name, s.tile))
			case errors.Is(err, gemm.ErrUnavailable), errors.Is(err, occupancy.ErrKernel):
				row.Reason = strings.TrimPrefix(reason(err), "occupancy: the kernel ")
			case err != nil:
				return nil, err
			default:
				row.fill(e, task)
				if first {
					if row.Step, err = step(before, e); err != nil {
						return nil, err
					}
					before, first = &e, false
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// setting is a tile and a limit of registers.
type setting struct {
	tile    cuda.Tile
	maxRegs int
}

// combinations returns the tiles of the rung with each padding and limit that it can have.
func combinations(r cuda.Rung, task explainTask) []setting {
	pads, limits := []int{0}, []int{0}
	if r.Padded() {
		pads = task.pads
	}
	if r.Capped {
		limits = task.maxRegs
	}
	var out []setting
	for _, tile := range r.Tiles {
		for _, tile.Pad = range pads {
			for _, limit := range limits {
				out = append(out, setting{tile, limit})
			}
		}
	}
	return out
}

// tileText writes a setting, with padding of 0 as such.
func tileText(t cuda.Tile) string {
	if t.Pad != cuda.NoPad {
		return t.String()
	}
	t.Pad = 0
	return t.String() + " pad 0"
}

// fill puts the figures into the row.
func (row *explainedRow) fill(e cuda.Explanation, task explainTask) {
	row.Threads, row.Registers, row.Spills, row.Shared = e.Rung.Threads(e.Tile), e.Kernel.Registers, e.Kernel.Spills, e.Kernel.Shared
	row.Blocks, row.LimitedBy, row.Warps, row.Occupancy = e.Blocks, resources(e.Occupancy), e.Warps, e.Share
	row.Global, row.Block, row.Intensity, row.Passes, row.Sectors = e.Global, e.Block, e.Intensity, e.Passes, e.Sectors
	for _, a := range e.Accesses {
		row.Accesses = append(row.Accesses, explainedAccess{a.Operand, a.Write, a.Bytes, a.Requests, a.Passes, a.Conflicts(), a.Lanes})
	}
	for _, s := range task.shapes {
		p := e.Rung.Product(e.Tile, s.M, s.N, s.K)
		q := explainedProduct{
			M: s.M, N: s.N, K: s.K, Blocks: p.Blocks, GlobalReads: p.GlobalReads, GlobalWrites: p.GlobalWrites,
			SharedReads: p.SharedReads, SharedWrites: p.SharedWrites, Barriers: p.Barriers, Saved: p.Saved, Intensity: p.Intensity,
		}
		if task.multiprocessors > 0 && e.Blocks > 0 {
			q.Waves, q.Fill = p.Waves(task.multiprocessors, e.Blocks)
		}
		if peak, ok := task.peaks[e.Rung.Pipe()]; ok {
			var memory bool
			q.Roofline, memory = p.Roofline(peak, task.bandwidth)
			q.By = "arithmetic"
			if memory {
				q.By = "memory"
			}
		}
		row.Products = append(row.Products, q)
	}
}

// step returns what the rung is and how it differs from the one before, if there is one.
func step(before *cuda.Explanation, e cuda.Explanation) (*explainedStep, error) {
	says, err := e.Rung.Step()
	if err != nil {
		return nil, err
	}
	s := &explainedStep{Says: says}
	if before != nil {
		s.After = cuda.Family + "/" + before.Rung.Name
		for _, change := range cuda.Changes(*before, e) {
			s.Changes = append(s.Changes, explainedChange{change.Figure, change.From, change.To})
		}
	}
	return s, nil
}

// name returns the row's setting as tables have it.
func (row explainedRow) name() string {
	tile := row.Tile
	if row.MaxRegs > 0 {
		tile += fmt.Sprintf(" maxregs %d", row.MaxRegs)
	}
	return row.Variant + "\t" + row.Type + "\t" + tile
}

// printExplained writes the rows as a table.
func printExplained(out io.Writer, rows []explainedRow) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tTILE\tTHREADS\tREGISTERS\tSPILLS\tSHARED\tBLOCKS\tOCCUPANCY\tLIMITED BY\tGLOBAL READS\tSHARED READS\tFLOP/BYTE")
	for _, r := range rows {
		if r.Reason != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\t-\t%s\n", r.name(), r.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f%%\t%s\t%.4f\t%.4f\t%.2f\n", r.name(),
			r.Threads, r.Registers, r.Spills, r.Shared, r.Blocks, 100*r.Occupancy, strings.Join(r.LimitedBy, ", "), r.Global, r.Block, r.Intensity)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nA block takes registers of each thread and bytes of shared memory; BLOCKS are on a multiprocessor.")
	fmt.Fprintln(out, "Reads are elements of A and B a multiply-add, FLOP/BYTE is over those from global memory.")
}

// printSteps writes what each rung is, and what changes with it.
func printSteps(out io.Writer, rows []explainedRow) {
	fmt.Fprintln(out, "\nThe steps, each with its first setting. PASSES are those of shared reads over the banks a multiply-add of a warp, SECTORS of")
	fmt.Fprintln(out, "32 bytes what a warp reads of global memory for a k index.")
	for _, r := range rows {
		if r.Step == nil {
			continue
		}
		fmt.Fprintf(out, "\n%s %s: %s\n", r.Variant, r.Type, r.Step.Says)
		var changes []string
		for _, change := range r.Step.Changes {
			changes = append(changes, fmt.Sprintf("%s %s to %s", change.Figure, figure(change.From), figure(change.To)))
		}
		switch {
		case len(changes) > 0:
			fmt.Fprintf(out, "  after %s: %s\n", r.Step.After, strings.Join(changes, ", "))
		case r.Step.After != "":
			fmt.Fprintf(out, "  after %s: no figure changes\n", r.Step.After)
		}
	}
}

// figure writes whole numbers whole, and others with four digits.
func figure(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprintf("%.4g", x)
}

// printProducts writes what the product of the shape with that number takes.
func printProducts(out io.Writer, rows []explainedRow, shape int, task explainTask) {
	s := task.shapes[shape]
	fmt.Fprintf(out, "\nC of %d by %d, k = %d:\n\n", s.M, s.N, s.K)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "VARIANT\tTYPE\tTILE\tBLOCKS\tGLOBAL READS\tGLOBAL WRITES\tSHARED READS\tSHARED WRITES\tBARRIERS\tSAVED\tFLOP/BYTE"
	if task.multiprocessors > 0 {
		head += "\tWAVES\tFILLED"
	}
	if task.peaks != nil {
		head += "\tROOFLINE\tBY"
	}
	fmt.Fprintln(w, head)
	for i, r := range rows {
		if r.Reason != "" || task.multiprocessors == 0 && repeated(rows[:i], r) {
			continue
		}
		p := r.Products[shape]
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%.2f", r.name(), p.Blocks, accesses(p.GlobalReads), accesses(p.GlobalWrites),
			accesses(p.SharedReads), accesses(p.SharedWrites), p.Barriers, p.Saved, p.Intensity)
		if task.multiprocessors > 0 {
			fmt.Fprintf(w, "\t%d\t%.1f%%", p.Waves, 100*p.Fill)
		}
		if task.peaks != nil {
			rate := "-\t-"
			if p.By != "" {
				rate = fmt.Sprintf("%.0f GFLOP/s\t%s", p.Roofline, p.By)
			}
			fmt.Fprintf(w, "\t%s", rate)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nAccesses are elements, as if no cache kept any; barriers are those of a block, SAVED those that a second slice in shared memory spares it.")
	if task.multiprocessors > 0 {
		fmt.Fprintf(out, "WAVES fill %d multiprocessors one after the other; FILLED is the share of their places that blocks take.\n", task.multiprocessors)
	}
	if task.peaks != nil {
		fmt.Fprintf(out, "ROOFLINE is the lower of the pipe's peak and FLOP/BYTE times %g GB/s: caches, which are not in it, let a rung pass what memory bounds.\n", task.bandwidth)
	}
}

// repeated reports whether a row before r has its tile, with other limits of registers.
func repeated(before []explainedRow, r explainedRow) bool {
	return slices.ContainsFunc(before, func(o explainedRow) bool {
		return o.Reason == "" && o.Variant == r.Variant && o.Type == r.Type && o.Tile == r.Tile
	})
}

// accesses writes a number of accesses with a prefix of its size.
func accesses(x float64) string {
	const prefixes = " kMGTPE"
	i := 0
	for ; x >= 1000 && i < len(prefixes)-1; i++ {
		x /= 1000
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %c", x, prefixes[i]))
}

// printBanks writes how the rungs use the banks of shared memory.
func printBanks(out io.Writer, rows []explainedRow) {
	fmt.Fprint(out, "\nShared memory:\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tTILE\tREADS A\tREADS B\tWRITES A\tWRITES B\tPASSES")
	for i, r := range rows {
		if len(r.Accesses) == 0 || repeated(rows[:i], r) {
			continue
		}
		cells := []string{"-", "-", "-", "-"}
		for _, a := range r.Accesses {
			i := strings.Index("AB", a.Operand)
			if a.Write {
				i += 2
			}
			cells[i] = fmt.Sprintf("%d B %.3g+%.3g", a.Bytes, a.Passes-a.Conflict, a.Conflict)
			if a.Lanes > 1 {
				cells[i] += fmt.Sprintf(" to %.3g", a.Lanes)
			}
		}
		passes := "-"
		if r.Passes > 0 {
			passes = fmt.Sprintf("%.4g", r.Passes)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.name(), strings.Join(cells, "\t"), passes)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nA lane reads or writes so many bytes at once; the banks serve a warp in so many passes, + those that bank conflicts add; each")
	fmt.Fprintln(out, "element goes to so many lanes. PASSES are those of the reads a multiply-add of a warp. The figures are of the source: the")
	fmt.Fprintln(out, "compiler may join accesses. What the lanes of wmma read is not documented.")
}

// explainedTiles is what cuda --explain --tiles --json writes.
type explainedTiles struct {
	Schema      int                   `json:"schema"`
	Capability  string                `json:"cc"`
	Constraints []explainedConstraint `json:"constraints"`
	Tiles       []explainedTile       `json:"tiles"`
	Candidates  []explainedSearch     `json:"candidates"`
}

type explainedConstraint struct {
	Name string `json:"name"` // the number of its equation in the report, or a word
	Says string `json:"says"`
}

// explainedTile is a square block of threads with 8×8 elements of C each.
type explainedTile struct {
	Edge      int      `json:"block"` // threads along an edge
	Slice     int      `json:"bk"`
	Tile      string   `json:"tile"`
	Threads   int      `json:"threads"`
	Shared    int      `json:"smem"`      // bytes of two slices
	Sums      int      `json:"sums"`      // registers of a block
	Copies    float64  `json:"copies"`    // elements of A, a thread
	Rows      float64  `json:"rows"`      // of the slice that they span
	Registers int      `json:"regs"`      // of a block at 128 a thread
	Blocks    int      `json:"blocks"`    // on a multiprocessor
	Occupancy float64  `json:"occupancy"` // 0 to 1
	Fails     []string `json:"fails"`     // names of constraints
}

// explainedSearch is the settings that a search has of a rung.
type explainedSearch struct {
	Variant string   `json:"variant"`
	Type    string   `json:"type"`
	Tiles   []string `json:"tiles"`
}

// explainTiles is gemm cuda --explain --tiles.
func explainTiles(c *cli.Context, task explainTask) error {
	tiles, err := cuda.FeasibleTiles(task.capability)
	if err != nil {
		return err
	}
	doc := explainedTiles{Schema: compare.Schema, Capability: task.capability.String()}
	for _, constraint := range cuda.Constraints() {
		doc.Constraints = append(doc.Constraints, explainedConstraint(constraint))
	}
	for _, f := range tiles {
		row := explainedTile{f.Edge, f.Slice, f.Tile.Name(), f.Threads, f.Shared, f.Sums, f.Copies, f.Rows, f.Registers, f.Blocks, f.Occupancy, []string{}}
		for _, constraint := range f.Fails {
			row.Fails = append(row.Fails, constraint.Name)
		}
		doc.Tiles = append(doc.Tiles, row)
	}
	for _, r := range task.rungs {
		search := explainedSearch{cuda.Family + "/" + r.Name, r.Type, []string{}}
		for _, t := range r.Candidates(task.capability) {
			search.Tiles = append(search.Tiles, t.String())
		}
		doc.Candidates = append(doc.Candidates, search)
	}
	if name := c.String("json"); name != "" {
		return writeJSON(c, name, doc)
	}
	var b strings.Builder
	printTiles(&b, doc)
	return writeAll(c.App.Writer, []byte(b.String()))
}

// printTiles writes which blocks of threads are feasible, and why the others are not.
func printTiles(out io.Writer, doc explainedTiles) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BLOCK\tBK\tTILE\tTHREADS\tSHARED\tSUMS\tCOPIES\tROWS\tREGISTERS\tBLOCKS\tOCCUPANCY\tFEASIBLE")
	var left []string
	for _, t := range doc.Tiles {
		verdict := "yes"
		if block := fmt.Sprintf("%dx%d", t.Edge, t.Edge); len(t.Fails) == 0 && !slices.Contains(left, block) {
			left = append(left, block)
		}
		if len(t.Fails) > 0 {
			verdict = "no: " + strings.Join(t.Fails, ", ")
		}
		fmt.Fprintf(w, "%dx%d\t%d\t%s\t%d\t%d\t%d\t%.4g\t%.4g\t%d\t%d\t%.1f%%\t%s\n", t.Edge, t.Edge, t.Slice, t.Tile,
			t.Threads, t.Shared, t.Sums, t.Copies, t.Rows, t.Registers, t.Blocks, 100*t.Occupancy, verdict)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
	fmt.Fprintln(out, "\nEach thread computes 8x8 elements of C, of 4 bytes. SHARED is bytes of two slices, SUMS and REGISTERS are those of a block, at 128 a")
	fmt.Fprintln(out, "thread; a thread COPIES so many elements of A's slice, which span so many of its ROWS. The constraints of the report of 2024:")
	fmt.Fprintln(out)
	for _, constraint := range doc.Constraints {
		fmt.Fprintf(out, "  %-9s  %s\n", constraint.Name, constraint.Says)
	}
	fmt.Fprintf(out, "\nWhat is left are blocks of %s threads.\n", strings.Join(left, " and "))
	fmt.Fprintf(out, "\nSettings that a search may try on %s:\n\n", doc.Capability)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tTYPE\tSETTINGS\tFROM\tTO")
	for _, search := range doc.Candidates {
		from, to := "-", "-"
		if n := len(search.Tiles); n > 0 {
			from, to = search.Tiles[0], search.Tiles[n-1]
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", search.Variant, search.Type, len(search.Tiles), from, to)
	}
	_ = w.Flush() // to a strings.Builder, which takes all
}
