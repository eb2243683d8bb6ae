package cuda

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gemm"
	"gemm/cuda/kernels"
	"gemm/cuda/ladder"
	"gemm/cuda/nvrtc"
)

// Operation is C = α·op(A)·op(B) + β·C. op(X) is the transpose of X if that is set, else X.
type Operation struct {
	TransA, TransB bool
	Alpha, Beta    float64
	// Batch is the number of such operations that are computed at once; 0: one, and no batch. The rows of each matrix
	// of a batch follow the rows of the matrix before.
	Batch int
}

// count returns the number of matrices of each operand.
func (op Operation) count() int { return max(1, op.Batch) }

// Plain is C = A·B.
var Plain = Operation{Alpha: 1}

// Buffer names the memory on the GPU that an argument of a kernel points to.
type Buffer string

// The buffers of a product. BufferWork is memory besides the operands.
const (
	BufferA    Buffer = "a"
	BufferB    Buffer = "b"
	BufferC    Buffer = "c"
	BufferWork Buffer = "work"
)

// Argument is an argument of a kernel. It is 8 bytes wide or stands at the beginning of 8, unless it is a map.
type Argument struct {
	Buffer Buffer     `json:"buffer,omitempty"` // that it points into; empty: it is a number
	Bits   uint64     `json:"bits"`             // of the number, or the bytes before the place in the buffer
	Map    *TensorMap `json:"map,omitempty"`    // of the matrix at the place
}

// MainKernel is the name of the kernel of each rung that computes the product.
const MainKernel = "gemm"

// Launch is one launch of a kernel.
type Launch struct {
	Program   nvrtc.Program
	Kernel    string // of the program
	Blocks    int
	Threads   int // of a block
	Shared    int // bytes of shared memory that the launch requests
	Arguments []Argument
}

// Span is a range of bytes of the work memory.
type Span struct {
	At    int64 `json:"at"`
	Bytes int64 `json:"bytes"`
}

// Sequence is a product as launches, one after the other on one stream.
type Sequence struct {
	Plan
	Launches []Launch
	Work     int64     // bytes of the work memory
	Zeros    []Span    // of the work memory, to be filled with zeros before the first launch
	Fallback *Fallback // nil: the kernel computes every product

	stored [2]Operand // A and B
	steps  [3]int     // elements from a matrix A, B or C of a batch to the next, as the kernel reads and writes them
}

// workAlign is what places in the work memory are multiples of.
const workAlign = 256

// take returns the place of the given bytes at the end of the work memory.
func (q *Sequence) take(bytes int64) int64 {
	at := q.Work
	q.Work += (max(bytes, 16) + workAlign - 1) / workAlign * workAlign
	return at
}

// Arch returns the compute capability as compilers count it: 90 is 9.0.
func (g GPU) Arch() (int, error) {
	var major, minor int
	if _, err := fmt.Sscanf(g.Capability, "%d.%d", &major, &minor); err != nil {
		return 0, fmt.Errorf("%w: the compute capability is %q, must be such as 9.0", gemm.ErrParam, g.Capability)
	}
	return 10*major + minor, nil
}

// Sequence returns how the rung computes the operation on the GPU for operands that are there, with
// resolved parameters. Its errors are Plan's.
func (r Rung) Sequence(g GPU, s gemm.Shape, op Operation, a, b, c Operand, p gemm.Params) (q Sequence, err error) {
	arch, err := g.Arch()
	if err != nil {
		return q, err
	}
	q.stored = [2]Operand{a, b}
	if op.Batch > 0 && !r.Batches {
		return q, gemm.Unavailablef("%s computes no batches", r.Name).WithRemedy("choose %s", batches())
	}
	q.steps = [3]int{r.step(op.TransA, s.M, s.K, a.LD), r.step(op.TransB, s.K, s.N, b.LD), s.M * c.LD}
	toA, toB, free := a, b, g.Free
	if op.TransA && !r.AsStored { // it is transposed first
		toA, q.steps[0] = Operand{LD: AlignedLD(op.count()*s.K, r.Size())}, s.K
		free -= Layout{s.M, toA.LD}.bytes(r.Size())
	}
	if op.TransB && !r.AsStored {
		toB, q.steps[1] = Operand{LD: AlignedLD(op.count()*s.N, r.Size())}, s.N
		free -= Layout{s.K, toB.LD}.bytes(r.Size())
	}
	if op.Batch > 0 { // every matrix begins where the copies permit, and not the first alone
		toA, toB = r.repeated(toA, q.steps[0]), r.repeated(toB, q.steps[1])
		c = r.repeated(c, q.steps[2])
	}
	if g.Free != 0 {
		g.Free = max(1, free)
	}
	if q.Plan, err = r.plan(g, s, op, toA, toB, c, p); err != nil {
		return q, err
	}
	if op.Alpha == 0 { // no slices are left
		q.Tail, q.Split = Tail{}, 1
	}
	if other, ok := q.instead(g, op, a, b, c, p); ok {
		return other, nil
	}
	from := q.lay(op, arch, a, b)
	depth := s.K
	if op.Alpha == 0 {
		depth = 0 // A and B are not read
	}
	kernel := Launch{Program: q.Program(arch), Kernel: MainKernel, Threads: r.Threads(q.Tile), Shared: r.Shared(q.Tile)}
	kernel.Blocks = q.Blocks()
	switch r.Operands {
	case ladder.Boxed:
		q.boxes(kernel, op, depth, from, c)
	case ladder.Rounded:
		err = q.rounded(kernel, op, depth, from, c)
	case ladder.Split:
		err = q.split(kernel, op, depth, from, c)
	case ladder.ByResidue:
		err = q.residues(g, kernel, op, depth, c)
	case ladder.Packed:
		q.packed(kernel, op, depth, from, c)
	default:
		kernel.Arguments = slices.Concat(q.arguments(op, depth, from, c), q.tailArguments(), q.batchArguments())
		q.Launches = append(q.Launches, kernel)
	}
	return q, err
}

// batches names a rung that computes batches.
func batches() string {
	i := slices.IndexFunc(rungs, func(r Rung) bool { return r.Batches })
	return fmt.Sprintf("%s/%s in %s", Family, rungs[i].Name, rungs[i].Type)
}

// step returns the elements from a stored matrix of a batch to the next, of which op is rows×cols.
func (r Rung) step(transposed bool, rows, cols, ld int) int {
	if transposed {
		return cols * ld
	}
	return rows * ld
}

// repeated returns an operand with the alignment that all matrices of a batch have.
func (r Rung) repeated(o Operand, step int) Operand {
	o.Address |= uintptr(step * r.Size())
	return o
}

// batchArguments returns the arguments of a kernel of a batch, after all others. It returns none if there is no batch.
func (q *Sequence) batchArguments() []Argument {
	if q.Batch == 0 {
		return nil
	}
	return []Argument{{Bits: uint64(q.steps[0])}, {Bits: uint64(q.steps[1])}, {Bits: uint64(q.steps[2])}}
}

// place is where a kernel finds an operand.
type place struct {
	buffer Buffer
	at     int64
	ld     int
}

// arguments returns the place as arguments: address and leading dimension.
func (p place) arguments() []Argument {
	return []Argument{{Buffer: p.buffer, Bits: uint64(p.at)}, {Bits: uint64(p.ld)}}
}

// numbers returns arguments of 32 bits.
func numbers(all ...int) []Argument {
	var out []Argument
	for _, n := range all {
		out = append(out, Argument{Bits: uint64(uint32(n))})
	}
	return out
}

// scalar returns α or β as the kernel takes it.
func (r Rung) scalar(x float64) Argument {
	if r.Type == "f64" {
		return Argument{Bits: math.Float64bits(x)}
	}
	return Argument{Bits: uint64(math.Float32bits(float32(x)))}
}

// lay adds the launches that copy op(A) and op(B) to the layouts that the kernel reads, if they are stored
// otherwise, and returns where it reads them.
func (q *Sequence) lay(op Operation, arch int, a, b Operand) (from [2]place) {
	element := map[string]string{"f32": "float", "f64": "double", "f16": "short", "bf16": "short"}[q.Rung.Type]
	size := q.Rung.Size()
	for i, x := range []struct {
		stored     place
		transposed bool
		layout     Layout
		rows, cols int // of op(X)
	}{{place{BufferA, 0, a.LD}, op.TransA, q.LayA, q.M, q.K}, {place{BufferB, 0, b.LD}, op.TransB, q.LayB, q.K, q.N}} {
		from[i] = x.stored
		program := nvrtc.Program{Arch: arch, Options: []string{"-DELEMENT=" + element}}
		var rows, cols, height, width int // of the operand as it is stored, and of what a block copies
		switch {
		case x.transposed && !q.Rung.AsStored:
			program.Name, program.Source = "transpose.cu", kernels.Transpose
			x.cols *= op.count() // the transposes of a batch lie side by side
			rows, cols, height, width = x.cols, x.rows, 32, 32
		case x.layout != Layout{}:
			program.Name, program.Source = "align.cu", kernels.Align
			rows, cols, height, width = x.rows, x.cols, 4, 1024
			if x.transposed {
				rows, cols = cols, rows
			}
		default:
			continue
		}
		to := x.layout
		if to == (Layout{}) {
			to = Layout{x.rows, AlignedLD(x.cols, size)}
		}
		from[i] = place{BufferWork, q.take(to.bytes(size)), to.LD}
		if x.layout != (Layout{}) && q.Rung.Pads {
			q.Zeros = append(q.Zeros, Span{from[i].at, to.bytes(size)})
		}
		if blocks := ceil(rows, height) * ceil(cols, width); blocks > 0 && op.Alpha != 0 {
			q.Launches = append(q.Launches, Launch{Program: program, Kernel: strings.TrimSuffix(program.Name, ".cu"),
				Blocks: blocks, Threads: 256,
				Arguments: slices.Concat(numbers(rows, cols), x.stored.arguments(), from[i].arguments())})
		}
	}
	return from
}

// arguments returns what a kernel takes that reads A and B at their places and writes C.
func (q *Sequence) arguments(op Operation, depth int, from [2]place, c Operand) []Argument {
	r, shape, to := q.Rung, numbers(q.M, q.N, depth), place{BufferC, 0, c.LD}.arguments()
	if r.Type == "gf256" {
		out := slices.Concat(shape, from[0].arguments(), from[1].arguments(), to)
		if r.AtLaunch {
			out = append(out, numbers(q.Tile.BM, q.Tile.BN, q.Tile.BK)...)
		}
		return out
	}
	return slices.Concat(shape, []Argument{r.scalar(op.Alpha)}, from[0].arguments(), from[1].arguments(),
		[]Argument{r.scalar(op.Beta)}, to)
}

// packed adds the kernels that pack A and B, and the one that multiplies what they packed.
func (q *Sequence) packed(kernel Launch, op Operation, depth int, from [2]place, c Operand) {
	r, size := q.Rung, int64(q.Rung.Size())
	elementsA, elementsB := q.Packed()
	blocksA, blocksB := q.PackBlocks()
	to := [2]place{{BufferWork, q.take(size * int64(elementsA)), 0}, {BufferWork, q.take(size * int64(elementsB)), 0}}
	if depth > 0 {
		for i, pack := range []struct {
			name       string
			rows, cols int
			blocks     int
		}{{"pack_a", q.M, depth, blocksA}, {"pack_b", depth, q.N, blocksB}} {
			q.Launches = append(q.Launches, Launch{Program: kernel.Program, Kernel: pack.name,
				Blocks: pack.blocks, Threads: kernel.Threads,
				Arguments: slices.Concat(numbers(pack.rows, pack.cols), from[i].arguments(), to[i].arguments()[:1])})
		}
	}
	kernel.Arguments = slices.Concat(numbers(q.M, q.N, depth), []Argument{r.scalar(op.Alpha)}, to[0].arguments()[:1],
		to[1].arguments()[:1], []Argument{r.scalar(op.Beta)}, place{BufferC, 0, c.LD}.arguments())
	q.Launches = append(q.Launches, kernel)
}
