// Package simd has the properties of an element type and an instruction set.
package simd

import (
	"flag"
	"fmt"
	"log"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Set is an instruction set for vectors of one element type.
type Set struct {
	ISA    string // as in the names of functions
	Size   int    // bytes of an element
	Width  int    // bytes of a vector
	Narrow bool   // 16 registers of 32 bytes, and no masks but in such registers

	Broadcast, Move, Multiply, FMA, Add, MoveOne, FMAOne func(ops ...Op)
	zeroing, masked                                      func(x, mask, y Op) // moves
}

// New returns the set for -type f32 or f64 and -isa avx512 or avx2.
func New(typ, isa string) (s Set) {
	switch typ {
	case "f64":
		s = Set{"", 8, 0, false, VBROADCASTSD, VMOVUPD, VMULPD, VFMADD231PD, VADDPD, VMOVSD, VFMADD231SD,
			VMOVUPD_Z, VMASKMOVPD}
	case "f32":
		s = Set{"", 4, 0, false, VBROADCASTSS, VMOVUPS, VMULPS, VFMADD231PS, VADDPS, VMOVSS, VFMADD231SS,
			VMOVUPS_Z, VMASKMOVPS}
	default:
		log.Fatalf("-type %s: f32 or f64", typ)
	}
	switch isa {
	case "avx512":
		s.ISA, s.Width = "AVX512", 64
	case "avx2":
		s.ISA, s.Width, s.Narrow = "AVX2", 32, true
	default:
		log.Fatalf("-isa %s: avx512 or avx2", isa)
	}
	return s
}

// Requested returns the set of the flags -type and -isa.
func Requested() Set {
	typ := flag.String("type", "f64", "element type: f32 or f64")
	isa := flag.String("isa", "avx512", "instruction set: avx512 or avx2")
	flag.Parse()
	return New(*typ, *isa)
}

// The vector registers; Y and X are halves and quarters of Z.
var (
	Z = []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10,
		reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20,
		reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
	Y, X []reg.VecPhysical
)

func init() {
	for _, z := range Z[:16] {
		Y, X = append(Y, z.AsY().(reg.VecPhysical)), append(X, z.AsX().(reg.VecPhysical))
	}
}

// Vector returns vector register i.
func (s *Set) Vector(i int) reg.VecPhysical {
	if s.Narrow {
		return Y[i]
	}
	return Z[i]
}

// Virtual returns a new vector register, which avo allocates.
func (s *Set) Virtual() reg.VecVirtual {
	if s.Narrow {
		return YMM()
	}
	return ZMM()
}

// Argument returns a vector whose elements are all an argument, which is an address.
func (s *Set) Argument(name string) reg.VecVirtual {
	v := s.Virtual()
	s.Broadcast(Mem{Base: Load(Param(name), GP64())}, v)
	return v
}

// ForEach generates code for both element types, by the argument size, and for AVX-512 and AVX2, by the variable wide
// of the package. prefix is for the labels of a set.
func ForEach(size Op, body func(s Set, prefix string)) {
	CMPQ(size, U8(4))
	JEQ(LabelRef("f32"))
	for _, typ := range []string{"f64", "f32"} {
		Label(typ)
		CMPB(NewDataAddr(Symbol{Name: "·wide"}, 0), U8(0))
		JEQ(LabelRef(typ + "avx2"))
		for _, isa := range []string{"avx512", "avx2"} {
			Label(typ + isa)
			body(New(typ, isa), typ+isa)
			VZEROUPPER()
			RET()
		}
	}
}

// Mask returns the mask of the first n elements of a vector: K1, or with AVX2 a vector of a window of this name and the
// bits of an element. It overwrites n.
func (s *Set) Mask(n reg.GPVirtual, window string) reg.Register {
	bits := GP64()
	if !s.Narrow {
		MOVL(U32(1<<16-1), bits.As32())
		BZHIL(n.As32(), bits.As32(), bits.As32())
		KMOVW(bits.As32(), reg.K1)
		return reg.K1
	}
	mask := YMM()
	LEAQ(NewDataAddr(Symbol{Name: fmt.Sprint(window, 8*s.Size), Static: true}, s.Width), bits)
	NEGQ(n)
	VMOVDQU(Mem{Base: bits, Index: n, Scale: uint8(s.Size)}, mask)
	return mask
}

// Zero clears a vector register.
func (s *Set) Zero(x reg.Register) {
	if s.Narrow {
		VXORPS(x, x, x)
	} else {
		VPXORD(x, x, x)
	}
}

// Lanes returns the number of elements of a vector.
func (s *Set) Lanes() int { return s.Width / s.Size }

// Shift returns log₂ of the size of an element.
func (s *Set) Shift() Op { return U8(map[int]int{4: 2, 8: 3}[s.Size]) }

// Window defines the masks of AVX2: a vector that begins at element lanes−n of the window has its first n elements set.
func (s *Set) Window(name string) {
	GLOBL(name, RODATA|NOPTR)
	for i := range 2 * s.Lanes() {
		s.Data(i, i < s.Lanes())
	}
}

// Data defines element i of a mask.
func (s *Set) Data(i int, set bool) {
	ones := map[bool]uint64{true: math.MaxUint64}[set]
	DATA(i*s.Size, By[Constant](s.Size, U32(ones), U64(ones)))
}

// By returns the instruction for elements of a size.
func By[F any](size int, single, double F) F {
	if size == 4 {
		return single
	}
	return double
}

// Widths generates code for blocks of at most the given vectors of columns, and the jump to it. If the columns end
// within the last of v vectors, mask computes its mask first; with AVX2, blocks whose last vector is whole have code
// of their own.
func (s *Set) Widths(columns Op, vectors int, mask func(v int), block func(label string, v int, masked bool)) {
	part, whole := func(v int) string { return fmt.Sprintf("part%d", v) },
		func(v int) string { return fmt.Sprintf("whole%d", v) }
	if !s.Narrow {
		KXNORW(reg.K1, reg.K1, reg.K1)
	}
	for v := 1; v <= vectors; v++ {
		CMPQ(columns, U8(v*s.Lanes()))
		JLT(LabelRef(part(v)))
		if v < vectors {
			JEQ(LabelRef(whole(v)))
		}
	}
	JMP(LabelRef(whole(vectors)))
	for v := vectors; v >= 1; v-- {
		Label(part(v))
		mask(v)
		if s.Narrow {
			block(part(v), v, true)
		}
		Label(whole(v))
		block(whole(v), v, !s.Narrow)
	}
}

// Rows returns the addresses of up to four rows, a step apart from first. A row that there is not is the one before it.
func Rows(first Op, step, rows reg.Register) (row [4]reg.GPVirtual) {
	Comment("A row that there is not is the one before it.")
	row[0] = GP64()
	MOVQ(first, row[0])
	for i := 1; i < len(row); i++ {
		row[i] = GP64()
		next := GP64()
		MOVQ(row[i-1], row[i])
		LEAQ(Mem{Base: row[i-1], Index: step, Scale: 1}, next)
		CMPQ(rows, U8(i))
		CMOVQGT(next, row[i])
	}
	return row
}

// InColumn returns the address of the element in row i of up to eight rows. top has row 0, low row 4; row3 is three
// times the distance of rows.
func InColumn(i int, top, low, row, row3 reg.Register) Mem {
	at := Mem{Base: top}
	if i >= 4 {
		at.Base = low
	}
	switch i % 4 {
	case 1, 2:
		at.Index, at.Scale = row, uint8(i%4)
	case 3:
		at.Index, at.Scale = row3, 1
	}
	return at
}

// generalRegister is a register that is not a vector's.
type generalRegister interface {
	Op
	As32() reg.Register
}

// BitsOf loads a number without its sign: the zero flag is set if it is 0.
func (s *Set) BitsOf(at Mem, to generalRegister) {
	if s.Size == 8 {
		MOVQ(at, to)
		SHLQ(U8(1), to)
	} else {
		MOVL(at, to.As32())
		SHLL(U8(1), to.As32())
	}
}

// LoadPart loads the elements of a vector that are in the matrix, by the mask in K1 or with AVX2 in a vector.
func (s *Set) LoadPart(from Mem, mask, to Op) {
	if s.Narrow {
		s.masked(from, mask, to)
	} else {
		s.zeroing(from, reg.K1, to)
	}
}

// StorePart stores the elements of a vector that are in the matrix; see LoadPart.
func (s *Set) StorePart(from, mask Op, to Mem) {
	if s.Narrow {
		s.masked(from, mask, to)
	} else {
		s.Move(from, reg.K1, to)
	}
}

// Address returns where an argument of the function is.
func Address(name string) Mem {
	component, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return component.Addr
}
