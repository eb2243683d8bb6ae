package userkernel

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/big"
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
func (d Dims) at(s gemm.Shape) (out [3]int, err error) {
	out = [3]int{1, 1, 1}
	parts := strings.Split(strings.ReplaceAll(string(d), "x", ","), ",")
	if len(parts) > len(out) {
		return out, fmt.Errorf("%q has %d dimensions, wants one to three, such as 32x32 or (N+31)/32,(M+31)/32",
			string(d), len(parts))
	}
	for i, part := range parts {
		e, err := parser.ParseExpr(part)
		if err != nil {
			return out, fmt.Errorf("%q: %q is no expression of M, N and K, such as (N+31)/32", string(d), part)
		}
		value, err := evaluate(e, s)
		if err == nil && value.Cmp(big.NewInt(math.MaxInt32)) > 0 {
			err = fmt.Errorf("is %d for a product of %s, which is larger than %d", value, s, math.MaxInt32)
		}
		if err != nil {
			return out, fmt.Errorf("%q %w", string(d), err)
		}
		if out[i] = -1; value.Sign() >= 0 {
			out[i] = int(value.Int64())
		}
	}
	return out, nil
}

// evaluate returns the value of an expression. Integers have any length, and quotients are rounded as in C.
func evaluate(e ast.Expr, s gemm.Shape) (*big.Int, error) {
	out := new(big.Int)
	switch e := e.(type) {
	case *ast.ParenExpr:
		return evaluate(e.X, s)
	case *ast.BasicLit:
		if _, ok := out.SetString(e.Value, 10); ok {
			return out, nil
		}
	case *ast.Ident:
		if n, ok := map[string]int{"M": s.M, "N": s.N, "K": s.K}[e.Name]; ok {
			return out.SetInt64(int64(n)), nil
		}
	case *ast.BinaryExpr:
		a, err := evaluate(e.X, s)
		if err != nil {
			return nil, err
		}
		b, err := evaluate(e.Y, s)
		if err != nil {
			return nil, err
		}
		switch divides := e.Op == token.QUO || e.Op == token.REM; {
		case divides && b.Sign() == 0:
			return nil, fmt.Errorf("divides by zero for a product of %s", s)
		case e.Op == token.ADD:
			return out.Add(a, b), nil
		case e.Op == token.SUB:
			return out.Sub(a, b), nil
		case e.Op == token.MUL:
			return out.Mul(a, b), nil
		case e.Op == token.QUO:
			return out.Quo(a, b), nil
		case divides:
			return out.Rem(a, b), nil
		}
	}
	return nil, errors.New("has more than M, N, K, integers, parentheses and + - * / %")
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
