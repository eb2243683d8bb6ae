package userkernel

import (
	"fmt"

	"gemm"
)

// Zones are the bytes that the operands of a product take on the GPU: A, B and C without gaps, with
// guard zones around each. Nothing but C may be written.
type Zones struct {
	A, B, C int64 // offsets
	End     int64 // of C
	Bytes   int64 // of all
	Used    int64 // of the operands alone
	shape   gemm.Shape
	size    int // bytes of an element
}

// Behind C there is room for the rows that a kernel writes which does not look at the lower edge of C.
const (
	zoneAlign = 256
	zoneBytes = 4 << 10
	zoneRows  = 128
)

// ZonesOf returns the zones of a product with elements of the given bytes.
func ZonesOf(s gemm.Shape, size int) Zones {
	round := func(rows, cols int) int64 {
		return (int64(rows)*int64(cols)*int64(size) + zoneAlign - 1) / zoneAlign * zoneAlign
	}
	z := Zones{A: zoneBytes, shape: s, size: size}
	z.B = z.A + round(s.M, s.K) + zoneBytes
	z.C = z.B + round(s.K, s.N) + zoneBytes
	z.End = z.C + int64(s.M)*int64(s.N)*int64(size)
	z.Bytes = z.C + round(s.M, s.N) + max(zoneBytes, round(zoneRows, s.N))
	z.Used = round(s.M, s.K) + round(s.K, s.N) + round(s.M, s.N)
	return z
}

// Trespass says what a kernel has written that wrote the byte at the offset, which is not in C. was and
// is are the element there.
func (z Zones) Trespass(at int64, was, is float64) string {
	size := int64(z.size)
	for _, x := range []struct {
		name       string
		from       int64
		rows, cols int
	}{{"A", z.A, z.shape.M, z.shape.K}, {"B", z.B, z.shape.K, z.shape.N}} {
		if i := (at - x.from) / size; at >= x.from && i < int64(x.rows)*int64(x.cols) {
			return fmt.Sprintf("it changes %s: element (%d, %d) was %.9g and is %.9g", x.name, i/int64(x.cols),
				i%int64(x.cols), was, is)
		}
	}
	if at >= z.End {
		return fmt.Sprintf("it writes outside C, element %d behind its last one", (at-z.End)/size+1)
	}
	return fmt.Sprintf("it writes outside C, element %d before its first one", (z.C-at+size-1)/size)
}
