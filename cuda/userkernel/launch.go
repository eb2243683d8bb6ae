package userkernel

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gemm"
)

// The flags of a launch, and the words of the line in a source.
const (
	BlockFlag  = "block-dims"
	GridFlag   = "grid"
	SharedFlag = "smem"
)

// Launch is how a kernel is launched. The zero value is the default: blocks of 32×32 threads, and a
// thread for each element of C, x along N and y along M.
type Launch struct {
	Block  Dims `json:"block"`
	Grid   Dims `json:"grid"`
	Shared int  `json:"smem"` // bytes of dynamic shared memory
}

// Dims are one to three expressions of M, N and K, as they are written between the parentheses of
// dim3. The dimensions that are left out are 1. The operations are + - * / % and
// parentheses, on integers as in C. x between two dimensions is a comma.
type Dims string

// ParseDims returns the text as Dims.
func ParseDims(text string) (Dims, error) {
	d := Dims(strings.TrimSpace(text))
	// A value for which no division by a difference is one by zero, as in N/(M-N).
	_, err := d.at(gemm.Shape{M: 1009, N: 2003, K: 4001})
	return d, err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Dims) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 {
		*d, err = ParseDims(string(text))
	}
	return err
}

// at returns the dimensions for a product of the shape.
func (d Dims) at(s gemm.Shape) ([3]int, error) {
	out := [3]int{1, 1, 1}
	p := parser{text: string(d), shape: s}
	for i := range out {
		value := p.sum()
		if value > math.MaxInt32 {
			p.fail("is %d for a product of %s, which is larger than %d", value, s, math.MaxInt32)
		}
		out[i] = int(max(value, -1))
		if p.skip(); p.rest() == "" || p.err != nil {
			break
		}
		if c := p.rest()[0]; c != ',' && c != 'x' || i == len(out)-1 {
			p.fail("has %q after %d dimensions, wants one to three, such as 32x32 or (N+31)/32,(M+31)/32",
				p.rest(), i+1)
			break
		}
		p.next++
	}
	if p.err != nil {
		return out, fmt.Errorf("%q %w", string(d), p.err)
	}
	return out, nil
}

// parser computes the value of an expression.
type parser struct {
	text  string
	next  int // offset
	depth int
	shape gemm.Shape
	err   error // the first
}

func (p *parser) rest() string { return p.text[p.next:] }

func (p *parser) skip() { p.next = len(p.text) - len(strings.TrimLeft(p.rest(), " \t")) }

func (p *parser) fail(format string, values ...any) int64 {
	if p.err == nil {
		p.err = fmt.Errorf(format, values...)
	}
	return 1
}

// operator returns the next character if it is one of the operators, and skips it.
func (p *parser) operator(of string) byte {
	p.skip()
	if r := p.rest(); r != "" && strings.IndexByte(of, r[0]) >= 0 && p.err == nil {
		p.next++
		return r[0]
	}
	return 0
}

func (p *parser) sum() int64 { return p.chain("+-", p.term) }

func (p *parser) term() int64 { return p.chain("*/%", p.factor) }

// chain is operands with operators between them, applied from left to right.
func (p *parser) chain(operators string, operand func() int64) int64 {
	value := operand()
	for op := p.operator(operators); op != 0; op = p.operator(operators) {
		value = p.apply(op, value, operand())
	}
	return value
}

// factor is a number, M, N or K, or a sum in parentheses.
func (p *parser) factor() int64 {
	const deepest = 100
	p.skip()
	r := p.rest()
	digits := len(r) - len(strings.TrimLeft(r, "0123456789"))
	switch {
	case digits > 0:
		p.next += digits
		value, err := strconv.ParseInt(r[:digits], 10, 32)
		if err != nil {
			return p.fail("has the number %s, which is larger than %d", r[:digits], math.MaxInt32)
		}
		return value
	case r == "":
		return p.fail("ends where a number, M, N or K is wanted")
	case r[0] == '(' && p.depth < deepest:
		p.next++
		p.depth++
		value := p.sum()
		p.depth--
		if p.operator(")") == 0 {
			return p.fail("has a ( without its )")
		}
		return value
	}
	value, ok := map[byte]int{'M': p.shape.M, 'N': p.shape.N, 'K': p.shape.K}[r[0]]
	if !ok {
		return p.fail("has %q where a number, M, N or K is wanted", r)
	}
	p.next++
	return int64(value)
}

// apply returns the result of an operation. Values are smaller than 2⁶², so a sum does not overflow.
func (p *parser) apply(op byte, a, b int64) int64 {
	const most = 1 << 62
	switch {
	case (op == '/' || op == '%') && b == 0:
		return p.fail("divides by zero for a product of %s", p.shape)
	case op == '*' && math.Abs(float64(a)*float64(b)) >= most, math.Abs(float64(a)+float64(b)) >= most:
		return p.fail("is too large for a product of %s", p.shape)
	}
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	default:
		return a % b
	}
}

// set sets what the flag says.
func (l *Launch) set(flag, value string) (err error) {
	switch strings.TrimPrefix(flag, "--") {
	case BlockFlag:
		l.Block, err = ParseDims(value)
	case GridFlag:
		l.Grid, err = ParseDims(value)
	case SharedFlag:
		if l.Shared, err = strconv.Atoi(value); err != nil || l.Shared < 0 {
			err = fmt.Errorf("%q must be bytes, such as 16384", value)
		}
	default:
		return fmt.Errorf("%s is none of --%s, --%s and --%s", flag, BlockFlag, GridFlag, SharedFlag)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// or returns l with what it leaves out as in o.
func (l Launch) or(o Launch) Launch {
	return Launch{cmp.Or(l.Block, o.Block), cmp.Or(l.Grid, o.Grid), cmp.Or(l.Shared, o.Shared)}
}

// Size is the dimensions of a launch.
type Size struct{ Grid, Block [3]int }

// Threads returns the threads of a block.
func (s Size) Threads() int { return s.Block[0] * s.Block[1] * s.Block[2] }

// Blocks returns the blocks of the launch.
func (s Size) Blocks() int { return s.Grid[0] * s.Grid[1] * s.Grid[2] }

// Text returns the dimensions as messages and records have them, such as 16x16x1.
func Text(d [3]int) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

// The most threads of a block in each dimension, and the most blocks of a launch (CUDA Programming
// Guide 13.1, table 30).
var (
	mostThreads = [3]int{1024, 1024, 64}
	mostBlocks  = [3]int{math.MaxInt32, 65535, 65535}
)

// At returns the dimensions for a product of the shape. The error names the dimension that no GPU permits.
func (l Launch) At(s gemm.Shape) (out Size, err error) {
	if out.Block, err = cmp.Or(l.Block, "32x32").at(s); err != nil {
		return out, fmt.Errorf("--%s %w", BlockFlag, err)
	}
	for i, n := range out.Block {
		if n < 1 || n > mostThreads[i] {
			return out, fmt.Errorf("--%s: blocks are %s, and %c must be 1 to %d", BlockFlag, Text(out.Block), "xyz"[i],
				mostThreads[i])
		}
	}
	out.Grid = [3]int{ceil(s.N, out.Block[0]), ceil(s.M, out.Block[1]), 1}
	if l.Grid != "" {
		if out.Grid, err = l.Grid.at(s); err != nil {
			return out, fmt.Errorf("--%s %w", GridFlag, err)
		}
	}
	for i, n := range out.Grid {
		if n < 1 || n > mostBlocks[i] {
			return out, fmt.Errorf("--%s: the grid is %s for a product of %s, and %c must be 1 to %d", GridFlag,
				Text(out.Grid), s, "xyz"[i], mostBlocks[i])
		}
	}
	return out, nil
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

// Limits are what a block of a compiled kernel may have on a GPU.
type Limits struct {
	Threads int // of a block of any kernel
	Kernel  int // threads of a block of this kernel: its registers or its __launch_bounds__ may permit fewer
	Shared  int // bytes of shared memory of a block
	Static  int // bytes of them that the kernel has of its own
}

// Check returns an error if a block exceeds the limits.
func (l Launch) Check(s Size, m Limits) error {
	switch n := s.Threads(); {
	case n > m.Threads:
		return fmt.Errorf("--%s: a block of %s has %d threads, the GPU permits %d", BlockFlag, Text(s.Block), n,
			m.Threads)
	case n > m.Kernel:
		return fmt.Errorf("--%s: a block of %s has %d threads, the kernel's registers or its __launch_bounds__ "+
			"permit %d", BlockFlag, Text(s.Block), n, m.Kernel)
	case l.Shared+m.Static > m.Shared:
		return fmt.Errorf("--%s: a block has %d bytes of shared memory and requests %d, the GPU permits %d in all",
			SharedFlag, m.Static, l.Shared, m.Shared)
	}
	return nil
}
