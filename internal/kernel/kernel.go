// Package kernel holds the innermost loops of a matrix product: the micro-kernels, which keep a tile of
// C in registers during the whole loop over k, and the copies that pack operands into the order in
// which a micro-kernel reads them. The outer loops are in gemm/internal/block.
//
// A micro-kernel is a value of type Kernel, so the outer loops do not know whether it is portable Go or
// assembly. The assembly for arm64 is here, other assembly in f16, f32, f64, vector and gf; the programs in _asm generate it.
// Micro-kernels in GF(2⁸) have a type of their own, Field.
package kernel

import (
	"unsafe"

	"gemm/internal/cpu"
	"gemm/internal/kernel/vector"
)

//go:generate go run -C _asm ./neon kernel ../neon_arm64.s

// Float is the set of element types of floating-point kernels.
type Float = vector.Float

// Kernel is a micro-kernel, the shape of its tile, and the copies that belong to it.
type Kernel[T Float] struct {
	Name   string // instruction set and tile, as in "avx512-8x24"
	MR, NR int    // rows and columns of a full tile
	Lanes  int    // elements of a vector
	// Strided says that operands with any strides are as fast as packed ones. Otherwise A and B are fast
	// only if they are packed: ARow = 1, ACol = MR, BRow = NR.
	Strided bool
	// Small multiplies small matrices faster than Run, up to Few = m·n·k. The caller has checked that the slices
	// hold the matrices.
	Small Small[T]
	Few   int

	run       func(t *byte) // Tiles[T]
	column    Column[T]
	copy      Copy[T]
	split     Split[T]
	transpose Copy[T] // into columns, with as many rows as
	together  int
	add       Add[T]
}

// Tiles is a block of tiles to compute,
//
//	C ← α·A·B + β·C
//
// A is m×K, B is K×N and C is m×N, where m is the argument of Run, and K and N may be any numbers
// from 0 up. Run divides A into slivers of at most MR rows; their heights differ by at most one
// row. It computes Height, Taller and Slivers.
//
// Element (i, l) of a sliver of A is ARow·i + ACol·l elements after its first element. The next
// sliver begins ANext elements later, or if that is 0, the height of the sliver in rows later. B
// has slivers of NR columns: element (l, j) is B[j/NR·BNext + l·BRow + j%NR]. So for a matrix in
// memory, BRow is its stride and BNext is NR. Row i of C begins at C[i·LDC]. If β = 0, C is not
// read. Elements outside of the N columns, also in the last sliver of B, are neither read nor
// written.
//
// The product is summed over K before it is multiplied by α.
//
// The assembly reads the fields by their offsets. They are in the order of a call.
type Tiles[T Float] struct {
	Height      int // rows of the first sliver of A
	Taller      int // slivers with Height rows; the others have one row less
	Slivers     int // of A
	N, K        int
	A           []T
	ARow, ACol  int
	ANext       int
	B           []T
	BRow, BNext int
	C           []T
	LDC         int
	Alpha, Beta T
}

// Column computes a column of C, c ← α·A·x + β·c. A is m×k, and its element (i, l) is a[i·aRow+l].
// Element i of c is c[i·ldc]. If β = 0, c is not read.
type Column[T Float] func(m, k int, alpha T, a []T, aRow int, x []T, beta T, c []T, ldc int)

// Copy copies a block of rows×cols from src to dst. Row i of src begins at src[i·lds].
type Copy[T Float] func(rows, cols int, dst []T, ldd int, src []T, lds int)

// Split copies rows into slivers of NR columns. Sliver s begins at dst[s·next], and its rows follow each
// other without gaps. Row i of src begins at src[i·lds].
type Split[T Float] func(rows, slivers int, dst []T, next int, src []T, lds int)

// Add computes dst ← x + α·y for blocks of rows×cols, with one or two roundings per element. Row i of x
// begins at x[i·ldx]. dst may be x or y.
type Add[T Float] func(rows, cols int, dst []T, ldd int, x []T, ldx int, alpha T, y []T, ldy int)

// Run computes m rows of tiles. If a slice is too short, it panics before it writes anything. Assembly
// cannot be preempted, so callers limit m, N and K: a call takes some hundred microseconds at most.
func (k *Kernel[T]) Run(m int, t *Tiles[T]) {
	if m <= 0 || t.N <= 0 {
		return
	}
	t.Height, t.Taller, t.Slivers = k.Slivers(m)
	if t.K > 0 {
		depth := (t.K - 1) * t.ACol
		if t.ANext == 0 {
			_ = t.A[(m-1)*t.ARow+depth]
		} else {
			_ = t.A[(t.Taller-1)*t.ANext+(t.Height-1)*t.ARow+depth]
			if t.Taller < t.Slivers {
				_ = t.A[(t.Slivers-1)*t.ANext+(t.Height-2)*t.ARow+depth]
			}
		}
		row := (t.K - 1) * t.BRow
		if t.N <= k.NR {
			_ = t.B[row+t.N-1]
		} else {
			whole := (t.N - 1) / k.NR
			_ = t.B[whole*t.BNext+row+t.N-whole*k.NR-1]
			_ = t.B[(whole-1)*t.BNext+row+k.NR-1]
		}
	}
	_ = t.C[(m-1)*t.LDC+t.N-1]
	k.run((*byte)(noEscape(unsafe.Pointer(t))))
}

// noEscape returns p, but the compiler does not see where it comes from (like abi.NoEscape in the
// standard library). So Tiles can be on the stack of Run's caller. This is correct because kernels do
// not keep the pointer. Those in assembly are declared noescape, but the compiler does not know that
// for a function in a field.
//
// The result is an argument of the next call, and is not used after it: the stack may have moved then, and the compiler
// may have kept the result as a number.
//
//go:nosplit
//go:nocheckptr
func noEscape(p unsafe.Pointer) unsafe.Pointer {
	address := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// noEscapeSlice is noEscape for a slice.
func noEscapeSlice[T any](s []T) []T {
	return unsafe.Slice((*T)(noEscape(unsafe.Pointer(unsafe.SliceData(s)))), len(s))
}

// Column computes a column of C; see the type Column. If a slice is too short, it panics before it
// writes anything.
func (k *Kernel[T]) Column(m, depth int, alpha T, a []T, aRow int, x []T, beta T, c []T, ldc int) {
	if m <= 0 {
		return
	}
	if depth > 0 {
		_, _ = a[(m-1)*aRow+depth-1], x[depth-1]
	}
	_ = c[(m-1)*ldc]
	// x may be on the caller's stack, like Tiles.
	k.column(m, depth, alpha, a, aRow, noEscapeSlice(x), beta, c, ldc)
}

// Slivers returns how many slivers Run divides m > 0 rows into, the height of the first, and the number
// of slivers with this height. The others have one row less. No sliver is much lower than the others,
// since a lower tile is slower.
func (k *Kernel[T]) Slivers(m int) (height, taller, slivers int) {
	return cut(m, k.MR)
}

// cut returns how m > 0 rows are divided into slivers of at most mr rows.
func cut(m, mr int) (height, taller, slivers int) {
	if m <= mr {
		return m, 1, 1 // no division: it would slow small products down
	}
	slivers = (m + mr - 1) / mr
	height = (m + slivers - 1) / slivers
	return height, m - slivers*(height-1), slivers
}

// Copy copies the rows×cols block src to dst, row i to dst[i·ldd:].
func (k *Kernel[T]) Copy(rows, cols int, dst []T, ldd int, src []T, lds int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	_, _ = src[(rows-1)*lds+cols-1], dst[(rows-1)*ldd+cols-1]
	k.copy(rows, cols, dst, ldd, src, lds)
}

// Split copies the rows×cols block src into slivers of NR columns: element (i, j) goes to
// dst[j/NR·next + i·NR + j%NR]. It does not write the columns of the last sliver that the block
// does not have.
func (k *Kernel[T]) Split(rows, cols int, dst []T, next int, src []T, lds int) {
	if rows <= 0 {
		return
	}
	slivers := cols / k.NR
	if slivers > 0 {
		_, _ = src[(rows-1)*lds+slivers*k.NR-1], dst[(slivers-1)*next+rows*k.NR-1]
		k.split(rows, slivers, dst, next, src, lds)
	}
	if rest := cols - slivers*k.NR; rest > 0 {
		k.Copy(rows, rest, dst[slivers*next:], k.NR, src[slivers*k.NR:], lds)
	}
}

// Transpose copies the rows×cols block src into the columns of dst: element (i, l) goes to
// dst[l·ldd+i]. It may overwrite the rest of a column of dst up to the next multiple of four, which
// must exist.
func (k *Kernel[T]) Transpose(rows, cols int, dst []T, ldd int, src []T, lds int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	step := k.together
	_, _ = src[(rows-1)*lds+cols-1], dst[(cols-1)*ldd+(rows+step-1)/step*step-1]
	for i := 0; i < rows; i += step {
		// Both may be on the caller's stack, like Tiles.
		k.transpose(min(step, rows-i), cols, noEscapeSlice(dst[i:]), ldd, noEscapeSlice(src[i*lds:]), lds)
	}
}

// Add computes dst ← x + α·y for blocks of rows×cols. Row i of x begins at x[i·ldx]. Elements outside of
// the blocks are neither read nor written. dst may be x or y.
func (k *Kernel[T]) Add(rows, cols int, dst []T, ldd int, x []T, ldx int, alpha T, y []T, ldy int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	_, _, _ = dst[(rows-1)*ldd+cols-1], x[(rows-1)*ldx+cols-1], y[(rows-1)*ldy+cols-1]
	k.add(rows, cols, dst, ldd, x, ldx, alpha, y, ldy)
}

// detected returns the instruction set to use.
func detected() cpu.ISA {
	isa, err := cpu.Detect()
	if err != nil {
		return cpu.Generic // the command has reported the error
	}
	return isa
}
