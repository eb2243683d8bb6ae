// Command convert generates the conversions of half precision to float32 and back in
// internal/kernel/f16. Eight numbers are converted at a time. Loads and stores limit them, so AVX2
// is as fast as AVX-512.
//
//	convert -pkg f16 -out convert_amd64.s
package main

import (
	"flag"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	flag.Parse()
	loop("WidenF16", "func(n int, dst []float32, src []uint16)", 4, 2,
		func() {}, func(from, to Mem) {
			x := YMM()
			VCVTPH2PS(from, x)
			VMOVUPS(x, to)
		})
	loop("WidenBF16", "func(n int, dst []float32, src []uint16)", 4, 2,
		func() {}, func(from, to Mem) {
			x := YMM()
			VPMOVZXWD(from, x)
			VPSLLD(U8(16), x, x)
			VMOVDQU(x, to)
		})
	loop("NarrowF16", "func(n int, dst []uint16, src []float32)", 2, 4,
		func() {}, func(from, to Mem) {
			x, y := YMM(), XMM()
			VMOVUPS(from, x)
			VCVTPS2PH(U8(0), x, y) // to nearest even
			VMOVDQU(y, to)
		})
	var one, most, quiet reg.VecVirtual
	loop("NarrowBF16", "func(n int, dst []uint16, src []float32)", 2, 4,
		func() { // constants in every lane, from a vector of ones
			one, most, quiet = YMM(), YMM(), YMM()
			VPCMPEQD(one, one, one)
			VPSRLD(U8(31), one, one)  // 1
			VPSLLD(U8(15), one, most) // 0x8000
			VPSUBD(one, most, most)   // 0x7fff
			VPSLLD(U8(6), one, quiet) // 0x40
		}, func(from, to Mem) {
			x, odd, nan, cut, high := YMM(), YMM(), YMM(), YMM(), XMM()
			VMOVUPS(from, x)
			VCMPPS(U8(3), x, x, nan) // unordered: NaN
			VPSRLD(U8(16), x, cut)
			VPAND(one, cut, odd)
			VPADDD(most, x, x)
			VPADDD(odd, x, x)
			VPSRLD(U8(16), x, x)
			VPOR(quiet, cut, cut)
			VPBLENDVB(nan, cut, x, x)
			VEXTRACTI128(U8(1), x, high)
			VPACKUSDW(high, x.AsX(), high)
			VMOVDQU(high, to)
		})
	Generate()
}

// loop generates a function that converts n numbers, eight at a time, with elements of the given size in bytes.
func loop(name, signature string, to, from int, begin func(), step func(from, to Mem)) {
	TEXT(name, NOSPLIT, signature)
	left := Load(Param("n"), GP64())
	dst, src := Load(Param("dst").Base(), GP64()), Load(Param("src").Base(), GP64())
	begin()
	SUBQ(U8(8), left)
	JLT(LabelRef("done"))
	Label("vector")
	step(Mem{Base: src}, Mem{Base: dst})
	ADDQ(U8(8*from), src)
	ADDQ(U8(8*to), dst)
	SUBQ(U8(8), left)
	JGE(LabelRef("vector"))
	Label("done")
	VZEROUPPER()
	RET()
}
