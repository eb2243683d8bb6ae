package shard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"unsafe"

	"gemm"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/internal/timeline"
)

// allocating is a Allocator that checks how it is called.
type allocating struct {
	gemm.Multiplier[gf256.Elem]
	t         *testing.T
	buffers   [][]gf256.Elem
	fails     error
	now, most atomic.Int64 // products
}

func (m *allocating) Allocate(n int) ([]gf256.Elem, error) {
	if n < m.Buffer() {
		m.t.Errorf("%d bytes are allocated, of %d", n, m.Buffer())
	}
	m.buffers = append(m.buffers, make([]gf256.Elem, n))
	return m.buffers[len(m.buffers)-1], m.fails
}

func (m *allocating) InFlight() int { return 2 }
func (m *allocating) Buffer() int   { return 20000 }

func (m *allocating) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	if now := m.now.Add(1); now > m.most.Load() {
		m.most.Store(now)
	}
	defer m.now.Add(-1)
	inside := func(rows gemm.Matrix[gf256.Elem]) bool {
		for _, all := range m.buffers {
			from, p := unsafe.Pointer(unsafe.SliceData(all)), unsafe.Pointer(unsafe.SliceData(rows.Data))
			if uintptr(p) >= uintptr(from) && uintptr(p) < uintptr(from)+uintptr(len(all)) {
				return true
			}
		}
		return false
	}
	if !inside(b) || !inside(c) {
		m.t.Error("operands are not in the memory of the multiplier")
	}
	behind := b.Data[:b.Rows*b.Stride+1][b.Rows*b.Stride:]
	if b.Stride != c.Stride || unsafe.SliceData(behind) != unsafe.SliceData(c.Data) {
		m.t.Error("C does not follow B")
	}
	return m.Multiplier.Multiply(ctx, c, a, b)
}

// TestAllocator: slices are in the memory of an Allocator, which is kept from file to file. It has no more products at
// the same time than it says.
func TestAllocator(t *testing.T) {
	c := newCoder(t)
	m := &allocating{Multiplier: c.Multiplier, t: t}
	c.Multiplier = m
	for range 2 {
		encode(t, c, random(200000, 1), 4, 2, Vandermonde)
	}
	if most := m.most.Load(); most < 1 || most > 2 {
		t.Errorf("%d products at the same time, of 2", most)
	}
	if n := len(m.buffers); n < 3 || n > m.InFlight()+fewestSlices-1 {
		t.Errorf("%d slices were allocated", n)
	}
	m = &allocating{Multiplier: c.Multiplier, t: t, fails: errors.New("too small")}
	c.Multiplier = m
	e := Encoding{File: write(t, t.TempDir(), "file", random(100, 1)), Dir: t.TempDir(), Data: 4, Parity: 2,
		Matrix: Vandermonde}
	if _, err := c.Encode(t.Context(), e); !errors.Is(err, m.fails) {
		t.Errorf("without memory: %v", err)
	}
}

// TestTimeline: the timeline of the context has what is done with slices, and with all files together.
func TestTimeline(t *testing.T) {
	c := newCoder(t)
	var recorder timeline.Recorder
	e := Encoding{File: write(t, t.TempDir(), "file", random(100000, 1)), Dir: t.TempDir(), Data: 4, Parity: 2,
		Matrix: Vandermonde}
	gemmtest.Must(t, failure(c.Encode(timeline.With(t.Context(), &recorder), e)))
	a, bytes := recorder.Activity(), map[string]int64{}
	for _, p := range a.Phases {
		bytes[p.Name] += p.Bytes
	}
	if len(a.Lanes) < 2 || a.Lanes[0] != "files" || a.Lanes[1] != "slice 0" || bytes[coding] != 100000 ||
		bytes[reading] != 100000 || bytes[multiplying] != 150000 || bytes[storing] != 150000 {
		t.Errorf("lanes %q, bytes %v", a.Lanes, bytes)
	}
}
