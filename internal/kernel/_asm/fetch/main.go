// Command fetch generates the function of internal/kernel/gf that prefetches memory.
//
//	fetch -pkg gf -out fetch_amd64.s -stubs fetch_amd64.go
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	const line = 64
	TEXT("Fetch", NOSPLIT, "func(p []byte)")
	Pragma("noescape")
	Doc("Fetch has p fetched into the second level of cache, every 64th byte from its first on, and waits for nothing.")
	at, end := GP64(), GP64()
	Load(Param("p").Base(), at)
	Load(Param("p").Len(), end)
	ADDQ(at, end)
	JMP(LabelRef("next"))
	Label("fetch")
	PREFETCHT1(Mem{Base: at})
	ADDQ(Imm(line), at)
	Label("next")
	CMPQ(at, end)
	JB(LabelRef("fetch"))
	RET()
	Generate()
}
