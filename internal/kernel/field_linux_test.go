package kernel

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"gemm/gemmtest"
	"gemm/gf256"
)

// fenced returns n bytes before which, or behind which, a page begins that must not be
// accessed.
func fenced(t *testing.T, n int, behind bool) unsafe.Pointer {
	t.Helper()
	page := unix.Getpagesize()
	inner := (n + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	gemmtest.Must(t, err)
	t.Cleanup(func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{memory[:page], memory[page+inner:]} {
		gemmtest.Must(t, unix.Mprotect(fence, unix.PROT_NONE))
	}
	if behind {
		return unsafe.Pointer(&memory[page+inner-n])
	}
	return unsafe.Pointer(&memory[page])
}

// TestFieldFences: a kernel accesses nothing before its operands, nor behind them: the
// program would end here.
func TestFieldFences(t *testing.T) {
	f := BestField()
	rng := rand.New(rand.NewPCG(7, 8))
	for rows := 1; rows <= f.MR; rows++ {
		for _, k := range []int{1, 2, 3, 4, 5} {
			for _, behind := range []bool{false, true} {
				for _, n := range []int{f.NR, 3 * f.NR, 5 * f.NR, 8 * f.NR} {
					elements := func(n int) []gf256.Elem { return unsafe.Slice((*gf256.Elem)(fenced(t, n, behind)), n) }
					words := k * f.Words(rows)
					packed := unsafe.Slice((*uint64)(fenced(t, 8*words, behind)), words)
					b, c := elements(k*n), elements(rows*n)
					f.Pack(rows, k, packed, random(rng, rows*k), k)
					f.Run(rows, k, n, packed, rowsOf(b, n), 0, rowsOf(c, n), 0, IntoSet)
					f.Run(rows, k, n, packed, rowsOf(b, n), 0, rowsOf(c, n), 0, IntoAdd)
					for i, x := range c {
						if x != (gf256.Elem{}) {
							t.Fatalf("%s: %d×%d×%d: element %d of A·0 is %v", f.Name, rows, n, k, i, x)
						}
					}
				}
			}
		}
	}
}
