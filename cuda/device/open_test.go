//go:build cuda

package device

import (
	"errors"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"gemm"
	"gemm/cuda/nvrtc"
	"gemm/gemmtest"
)

// OnGPU returns a backend that has the first GPU until the test ends.
func OnGPU(t testing.TB) *Backend {
	t.Helper()
	b := NewBackend()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err := b.Device(0)
	gemmtest.Require(t, "cuda", err)
	return b
}

// Several returns a backend with n GPUs until the test ends. If the host has fewer, the first one stands for the
// others, with streams, memory and kernels for each.
func Several(t testing.TB, n int) *Backend {
	b := OnGPU(t)
	for i := 1; i < n; i++ {
		if _, err := b.Device(i); errors.Is(err, gemm.ErrUnavailable) {
			b.devices[i], err = open(0)
			gemmtest.Must(t, err)
		}
	}
	return b
}

// Leave takes the memory of the GPU but for the given bytes, until the test ends.
func Leave(t testing.TB, b *Backend, bytes int64) {
	t.Helper()
	d, err := b.Device(0)
	gemmtest.Must(t, err)
	defer d.bind(&err)()
	room, err := d.room()
	gemmtest.Must(t, err)
	taken, err := d.allocate(room - bytes)
	gemmtest.Must(t, err)
	t.Cleanup(func() {
		defer d.bind(&err)()
		gemmtest.Must(t, d.free(&taken))
	})
}

// TestTaken checks that there is a context on the GPU from open to Close, and none for Describe.
func TestTaken(t *testing.T) {
	d, err := find(0)
	gemmtest.Require(t, "cuda", err)
	if g := d.GPU; openNVML() != nil && (g.Free <= 0 || g.Free > g.Memory) {
		t.Errorf("%d of %d bytes are free", g.Free, g.Memory)
	}
	_, before, err := d.at.PrimaryCtxState() // 1 where cuBLAS has been in this process
	gemmtest.Must(t, err)
	active := func(want int, when string) {
		t.Helper()
		if _, got, err := d.at.PrimaryCtxState(); err != nil || got != want {
			t.Errorf("%s: active is %d, want %d (%v)", when, got, want, err)
		}
	}
	if _, err := Describe(); err != nil {
		t.Error(err)
	}
	active(before, "described")
	if d, err = open(0); err != nil {
		t.Fatal(err)
	}
	active(1, "opened")
	func() {
		defer d.bind(&err)()
		err = d.rings()
	}()
	if err := errors.Join(err, d.Close()); err != nil {
		t.Error(err)
	}
	active(before, "closed")
}

// TestRefused checks that the GPU is usable after calls that were refused.
func TestRefused(t *testing.T) {
	d := OnGPU(t).devices[0]
	refused := func(what string, call func() error) {
		t.Helper()
		err := func() (err error) {
			defer d.bind(&err)()
			return call()
		}()
		if err == nil || d.Lost() {
			t.Errorf("%s: error %v, lost %v", what, err, d.Lost())
		}
	}
	refused("a lack of memory", func() error {
		_, err := d.allocate(d.GPU.Memory)
		if !errors.Is(err, errMemory) {
			t.Errorf("the error is %v", err)
		}
		return err
	})
	refused("a lack of memory that the driver sees", func() error {
		_, err := cu.MemAlloc(2 * d.GPU.Memory)
		return err
	})
	refused("too many threads", func() error {
		k, err := d.load(nvrtc.Program{Name: "idle.cu", Source: `extern "C" __global__ void idle() {}`,
			Arch: d.arch()}, "idle", 0)
		gemmtest.Must(t, err)
		return d.launch(k, [3]int{1, 1, 1}, [3]int{2 * d.GPU.BlockThreads, 1, 1}, 0, nil)
	})
}

// TestFarRows copies rows that are further apart than one call of the driver copies.
func TestFarRows(t *testing.T) {
	d := OnGPU(t).devices[0]
	var err error
	defer d.bind(&err)()
	gemmtest.Must(t, d.rings())
	const pitch, width, rows = mostPitch + 1, 64, 2
	room, err := d.allocate(pitch + width)
	if errors.Is(err, errMemory) {
		t.Skip(err)
	}
	gemmtest.Must(t, err)
	defer func() {
		if err := d.free(&room); err != nil {
			t.Error(err)
		}
	}()
	sent, came := d.up.pieces[0].at, d.up.pieces[1].at
	for i := range width * rows {
		*(*byte)(unsafe.Add(sent, i)) = byte(i + 1)
		*(*byte)(unsafe.Add(came, i)) = 0
	}
	err = errors.Join(
		copyRows(nil, room.at, pitch, sent, 0, width, width, rows, d.stream),
		copyRows(came, 0, width, nil, room.at, pitch, width, rows, d.stream),
		d.synchronize(t.Context(), d.stream),
	)
	gemmtest.Must(t, err)
	for i := range width * rows {
		if got := *(*byte)(unsafe.Add(came, i)); got != byte(i+1) {
			t.Fatalf("byte %d is %d", i, got)
		}
	}
}
