//go:build cuda

package device

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"gemm"
	"gemm/cuda"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/timeline"
	"gemm/serial"
)

// pinner is what pins memory.
type pinner interface {
	gemm.Multiplier[gf256.Elem]
	Pin([]byte) (func() error, error)
}

// pinnedBytes returns pinned memory, which is free when the test ends.
func pinnedBytes(t testing.TB, p pinner, n int) []gf256.Elem {
	t.Helper()
	memory, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	gemmtest.Must(t, err)
	unpin, err := p.Pin(memory)
	gemmtest.Must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(unpin(), syscall.Munmap(memory)); err != nil {
			t.Error(err)
		}
	})
	return unsafe.Slice((*gf256.Elem)(unsafe.Pointer(&memory[0])), n)
}

// slice returns B and C as rows of one matrix, with random B.
func slice(memory []gf256.Elem, k, m, width, stride int) (b, c gemm.Matrix[gf256.Elem]) {
	all := gemm.Matrix[gf256.Elem]{Rows: k + m, Cols: width, Stride: stride, Data: memory[:(k+m)*stride]}
	b, c = all.Slice(0, 0, k, width), all.Slice(k, 0, m, width)
	for i := range k {
		for j, row := 0, b.Row(i); j < width; j++ {
			row[j] = gf256.New(uint8(rand.Uint32()))
		}
	}
	return b, c
}

// SameProduct compares C with the product by the processor.
func SameProduct(t *testing.T, c, a, b gemm.Matrix[gf256.Elem]) {
	t.Helper()
	v, err := gemm.Lookup(serial.Variants(), "serial/packed")
	gemmtest.Must(t, err)
	m, err := gemm.New[gf256.Elem](v, nil)
	want := gemm.NewMatrix[gf256.Elem](c.Rows, c.Cols)
	if err == nil {
		err = m.Multiply(t.Context(), want, a, b)
	}
	gemmtest.Must(t, err)
	for i := range c.Rows {
		if !slices.Equal(c.Row(i), want.Row(i)) {
			t.Errorf("%d×%d×%d: row %d differs", c.Rows, c.Cols, a.Cols, i)
			return
		}
	}
}

// openStreamed returns the field product of cuda/tuned and its device.
func openStreamed(t testing.TB) *product[gf256.Elem] {
	t.Helper()
	v, err := gemm.Lookup(cuda.Variants(OnGPU(t)), "cuda/tuned")
	gemmtest.Must(t, err)
	m, err := gemm.New[gf256.Elem](v, nil)
	gemmtest.Must(t, err)
	return m.(fieldChainer).product
}

// TestStream has several products under way, of several shapes, codes and strides.
func TestStream(t *testing.T) {
	p := openStreamed(t)
	var group sync.WaitGroup
	defer group.Wait()
	codes := map[[2]int]gemm.Matrix[gf256.Elem]{{4, 10}: RandomBytes(4, 10, 0), {20, 50}: RandomBytes(20, 50, 0)}
	for i, s := range []struct{ m, k, width, gap int }{
		{4, 10, 1 << 20, 0}, {4, 10, 1 << 20, 0}, {4, 10, 1 << 20, 64}, {4, 10, 1<<20 - 1, 1}, {4, 10, 1, 0},
		{20, 50, 1 << 18, 0}, {20, 50, 1 << 18, 0}, {4, 10, 1 << 20, 0}, {4, 10, 3 << 20, 0}, {4, 10, 12345, 7},
		{4, 10, 12345, 7}, {4, 10, 12345, 7}, {4, 10, 12345, 7}, {4, 10, 12345, 7}, {4, 10, 12345, 7},
	} {
		a := codes[[2]int{s.m, s.k}]
		if i >= 12 { // another matrix for each
			a = RandomBytes(s.m, s.k, 0)
		}
		stride := s.width + s.gap
		b, c := slice(pinnedBytes(t, p, (s.k+s.m)*stride), s.k, s.m, s.width, stride)
		wait, err := p.Stream(t.Context(), c, a, b)
		if err != nil || wait == nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if err := p.Multiply(t.Context(), c, a, b); !errors.Is(err, gemm.ErrBusy) {
			t.Errorf("another product at the same time: %v", err)
		}
		group.Go(func() {
			stages, err := wait()
			if err != nil {
				t.Error(err)
				return
			}
			checkStages(t, stages)
			SameProduct(t, c, a, b)
		})
	}
}

// TestPinned has the product in panels of operands that lie in pinned memory.
func TestPinned(t *testing.T) {
	p := openStreamed(t)
	const m, k, width, stride = 300, 200, 1 << 20, 1<<20 + 3
	a := RandomBytes(m, k, 0)
	b, c := slice(pinnedBytes(t, p, (k+m)*stride), k, m, width, stride)
	gemmtest.Must(t, p.Multiply(t.Context(), c, a, b))
	SameProduct(t, c.Slice(0, 0, m, 1000), a, b.Slice(0, 0, k, 1000))
	SameProduct(t, c.Slice(0, width-1000, m, 1000), a, b.Slice(0, width-1000, k, 1000))
	for i := range c.Rows - 1 {
		if gap := c.Data[i*stride+width : (i+1)*stride]; slices.ContainsFunc(gap, func(e gf256.Elem) bool {
			return e != gf256.New(0)
		}) {
			t.Fatalf("after row %d: %v", i, gap)
		}
	}
}

// checkStages fails unless the stages are there, one after the other.
func checkStages(t *testing.T, stages []timeline.Stage) {
	t.Helper()
	last := int64(0)
	for i, s := range stages {
		if s.Name != stageNames[i] || s.Begin < last || s.End < s.Begin {
			t.Errorf("the stages are %+v", stages)
			return
		}
		last = s.End
	}
	if len(stages) != len(stageNames) {
		t.Errorf("the stages are %+v", stages)
	}
}

// TestStreamRefuses has operands that are not pinned, and a device without room.
func TestStreamRefuses(t *testing.T) {
	p := openStreamed(t)
	const m, k, width = 4, 10, 1 << 20
	a := RandomBytes(m, k, 0)
	room := pinnedBytes(t, p, (k+m)*width)
	b, c := slice(room, k, m, width, width)
	loose := gemm.NewMatrix[gf256.Elem](m, width)
	if wait, err := p.Stream(t.Context(), loose, a, b); wait != nil || err != nil {
		t.Errorf("a C that is not pinned: %v", err)
	}
	stream := func() {
		wait, err := p.Stream(t.Context(), c, a, b)
		if err != nil || wait == nil {
			t.Fatal(err)
		}
		if _, err := wait(); err != nil {
			t.Fatal(err)
		}
		SameProduct(t, c, a, b)
	}
	stream()
	d := p.d
	take := func(leave int64) (taken memory) {
		var err error
		defer d.bind(&err)()
		free, err := d.room()
		gemmtest.Must(t, err)
		if taken, err = d.allocate(free - leave); err != nil {
			t.Fatal(err)
		}
		return taken
	}
	taken := take(8 << 20)
	stream() // by the slot that is there
	const stride = 8 << 20
	wide, c2 := slice(pinnedBytes(t, p, (k+m)*stride), k, m, stride, stride)
	if wait, err := p.Stream(t.Context(), c2, a, wide); wait != nil || err != nil {
		t.Errorf("products of 112 MiB in 22 MiB: %v", err)
	}
	if err := p.Multiply(t.Context(), c2, a, wide); err != nil {
		t.Errorf("in panels: %v", err)
	}
	SameProduct(t, c2, a, wide)
	stream()
	var err error
	release := d.bind(&err)
	if err := d.free(&taken); err != nil {
		t.Error(err)
	}
	release()
	wait, err := p.Stream(t.Context(), c2, a, wide)
	if err != nil || wait == nil {
		t.Fatal(err)
	}
	if _, err := wait(); err != nil {
		t.Error(err)
	}
	SameProduct(t, c2, a, wide)
}

// BenchmarkStream has slices of 10+4 in several sizes, and several of them in flight. The rate counts the bytes of B.
func BenchmarkStream(b *testing.B) {
	p := openStreamed(b)
	const k, m, most = 10, 4, 4
	a := RandomBytes(m, k, 0)
	memory := pinnedBytes(b, p, most*64<<20)
	for _, size := range []int{4 << 20, 16 << 20, 32 << 20, 64 << 20} {
		for flying := 1; flying <= most; flying++ {
			b.Run(fmt.Sprintf("%dMiB/%d", size>>20, flying), func(b *testing.B) {
				width := size / (k + m) / 256 * 256
				b.SetBytes(k * int64(width))
				var waits []func() ([]timeline.Stage, error)
				for i := 0; b.Loop(); i++ {
					at := i % flying
					if len(waits) == flying {
						if _, err := waits[at](); err != nil {
							b.Fatal(err)
						}
					} else {
						waits = append(waits, nil)
					}
					data := memory[at*size:][:(k+m)*width]
					all := gemm.Matrix[gf256.Elem]{Rows: k + m, Cols: width, Stride: width, Data: data}
					wait, err := p.Stream(b.Context(), all.Slice(k, 0, m, width), a, all.Slice(0, 0, k, width))
					if err != nil || wait == nil {
						b.Fatal(err)
					}
					waits[at] = wait
				}
				for _, wait := range waits {
					if _, err := wait(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
