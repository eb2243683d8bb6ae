//go:build mpi

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"gemm"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/gemmtest"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/ipc"
)

// fakeGPU says that this process is gemm-cuda, with two GPUs that are memory of this host; and what is wrong with them.
const fakeGPU = "GEMM_TEST_GPU"

// serveFakeGPU is the program gemm-cuda.
func serveFakeGPU(argument string) error {
	if argument == "describe" {
		g := cuda.GPU{Capability: "9.0"}
		return ipc.NewWriter(os.Stdout).Encode("system", cuda.System{NVRTC: "13", CuBLAS: "13", GPUs: []cuda.GPU{g, g}})
	}
	return remote.Serve(context.Background(), os.Stdin, os.Stdout, remote.Shared(), cuda.Variants(fakeBackend{}))
}

// fakeBackend has products in f32 and f64.
type fakeBackend struct{}

var errFake = gemm.Unavailablef("the fake GPU has no such type")

func (fakeBackend) F32(_ string, p gemm.Params) (gemm.Multiplier[float32], error) {
	return fakeProduct[float32]{device: p.Int("device")}, nil
}

func (fakeBackend) F64(_ string, p gemm.Params) (gemm.Multiplier[float64], error) {
	return fakeProduct[float64]{device: p.Int("device")}, nil
}

func (fakeBackend) F16(string, gemm.Params) (gemm.Multiplier[half.F16], error)   { return nil, errFake }
func (fakeBackend) BF16(string, gemm.Params) (gemm.Multiplier[half.BF16], error) { return nil, errFake }
func (fakeBackend) GF256(string, gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	return nil, errFake
}

// fakeProduct is a product of which only Hold is used.
type fakeProduct[T gemm.Float] struct {
	gemm.Multiplier[T]
	device int
}

func (p fakeProduct[T]) Hold(host []byte) (remote.Holding, error) {
	if p.device == 1 && os.Getenv(fakeGPU) == "full" {
		return nil, gemm.Unavailablef("too little memory of the GPU is free")
	}
	fd, err := unix.MemfdCreate("gpu", 0)
	if err == nil {
		err = unix.Ftruncate(fd, int64(len(host)))
	}
	if err != nil {
		return nil, err
	}
	own, err := unix.Mmap(fd, 0, len(host), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	for i := range own {
		own[i] = 0xff // NaN
	}
	return &fakeHeld[T]{p, fd, host, own, map[int][]byte{}, remote.Done{}}, err
}

// fakeHeld is memory that other processes open by its path.
type fakeHeld[T gemm.Float] struct {
	p         fakeProduct[T]
	fd        int
	host, own []byte
	peers     map[int][]byte
	done      remote.Done
}

func (h *fakeHeld[T]) Handle() ([]byte, error) {
	return fmt.Appendf(nil, "/proc/%d/fd/%d", os.Getpid(), h.fd), nil
}

func (h *fakeHeld[T]) Reach(handles map[int][]byte) error {
	if os.Getenv(fakeGPU) == "apart" {
		return errors.New("GPUs do not read each other's memory")
	}
	for rank, path := range handles {
		f, err := os.Open(string(path))
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if h.peers[rank], err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return err
		}
	}
	return nil
}

func (h *fakeHeld[T]) Run(_ context.Context, steps []remote.Step, last bool) (remote.Done, error) {
	at := func(memory []byte, from int64, rows, cols, ld int) gemm.Matrix[T] {
		var zero T
		n := (rows-1)*ld + cols
		_ = memory[from : from+int64(n)*int64(unsafe.Sizeof(zero))]
		return of(unsafe.Slice((*T)(unsafe.Pointer(&memory[from])), n), rows, cols, ld)
	}
	for _, s := range steps {
		for _, c := range s.Copies {
			to, from := at(h.own, c.At, c.Rows, c.Cols, c.LD), at(h.host, c.At, c.Rows, c.Cols, c.LD)
			switch c.Way {
			case remote.Down:
				to, from = from, to
			case remote.Pull:
				from = at(h.peers[c.Rank], c.From, c.Rows, c.Cols, c.LD)
				var zero T
				h.done.Peer += int64(c.Rows*c.Cols) * int64(unsafe.Sizeof(zero))
				h.done.Pulls++
			}
			for i := range c.Rows {
				copy(to.Row(i), from.Row(i))
			}
		}
		if s.K == 0 {
			continue
		}
		if h.p.device == 1 {
			switch os.Getenv(fakeGPU) {
			case "dies":
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			case "fails":
				return h.done, errors.New("the kernel has failed")
			}
		}
		a, b, c := at(h.own, s.A.At, s.M, s.K, s.A.Stride), at(h.own, s.B.At, s.K, s.N, s.B.Stride),
			at(h.own, s.C.At, s.M, s.N, s.C.Stride)
		for i := range s.M {
			if !s.Add {
				clear(c.Row(i))
			}
			for l, x := range a.Row(i) {
				for j, y := range b.Row(l) {
					c.Row(i)[j] += x * y
				}
			}
		}
	}
	if !last {
		return remote.Done{}, nil
	}
	done := h.done
	h.done = remote.Done{}
	return done, nil
}

func (h *fakeHeld[T]) Close() error { return unix.Close(h.fd) }

// withFakeGPU runs tests of this binary on ranks with the fake GPUs. Short tests, of other MPIs, leave them out: these
// ranks send what ranks on processors send.
func withFakeGPU(t *testing.T, ranks int, run, fault string, variables ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short")
	}
	self, err := os.Executable()
	gemmtest.Must(t, err)
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s \"$@\"\n", fakeGPU, fault, self)
	gemmtest.Must(t, os.WriteFile(filepath.Join(folder, cuda.Worker), []byte(script), 0o755))
	underMPI(t, ranks, run, append(variables, "PATH="+folder+":"+os.Getenv("PATH"), "GEMM_TEST_FAULT="+fault)...)
}

// TestGPUs: ranks that own a GPU, whose memory the others of their host read; on several hosts; and where GPUs cannot.
func TestGPUs(t *testing.T) {
	for _, x := range []struct {
		ranks        int
		fault, hosts string
	}{{1, "none", "1"}, {2, "none", "1"}, {4, "none", "1"}, {4, "none", "2"}, {4, "apart", "1"}, {3, "none", "3"}} {
		t.Run(fmt.Sprint(x.ranks, x.fault, x.hosts), func(t *testing.T) {
			withFakeGPU(t, x.ranks, "^TestRanksGPUs$", x.fault, several+"="+x.hosts)
		})
	}
}

var onTuned = gemm.Params{"local": "cuda/tuned"}

func gpuVariants(t *testing.T, f func(t *testing.T, v gemm.Variant)) {
	forRank0(t)
	for _, name := range []string{"mpi/summa", "mpi/srumma", "mpi/25d"} {
		t.Run(name, func(t *testing.T) { f(t, named(t, name)) })
	}
}

func TestRanksGPUs(t *testing.T) {
	gpuVariants(t, func(t *testing.T, v gemm.Variant) {
		for _, s := range []gemm.Shape{gemm.Cube(1), {M: 33, N: 17, K: 41}, {M: 3, N: 200, K: 5}, {M: 8, N: 8, K: 300}} {
			for _, panel := range []int{0, 7} {
				p := gemm.Params{"local": "cuda/tuned", "panel": panel}
				if v.Has("replication") && panel > 0 && theJob.Size() > 1 {
					p["replication"] = 2
				}
				d, cost := multiplied(t, v, p, newOperands[float64](s.M, s.N, s.K, 1))
				checkGPUs(t, d, cost)
			}
		}
		multiplied(t, v, onTuned, newOperands[float32](20, 30, 10, 0))
	})
}

// checkGPUs checks the bytes by path. That all of them are what the plan has, the product has checked.
func checkGPUs(t *testing.T, d record.Distribution, cost gemm.Cost) {
	t.Helper()
	near, reduced := theJob.Hosts() == 0 && os.Getenv("GEMM_TEST_FAULT") != "apart", cost.Phases[reducing] > 0
	for _, r := range d.Ranks {
		switch {
		case r.GPU == nil || r.GPU.Device != r.Rank/max(1, theJob.Hosts())%2:
			t.Errorf("rank %d has GPU %+v", r.Rank, r.GPU)
		case near && !reduced && r.GPU.Peer != r.Recv:
			t.Errorf("rank %d received %d bytes, its GPU read %d of others", r.Rank, r.Recv, r.GPU.Peer)
		case r.GPU.Peer+r.GPU.Host+r.RecvBetween > r.Recv:
			t.Errorf("rank %d received %d bytes, %d of them from other hosts, its GPU has %+v", r.Rank, r.Recv, r.RecvBetween,
				r.GPU)
		case os.Getenv("GEMM_TEST_FAULT") == "apart" && r.GPU.Peer > 0:
			t.Errorf("rank %d: a GPU read %d bytes of others", r.Rank, r.GPU.Peer)
		}
	}
}

// TestGPUFaults: what is wrong with one rank's GPU is the error of the product, and the next product has GPUs again.
func TestGPUFaults(t *testing.T) {
	for _, fault := range []string{"dies", "fails", "full"} {
		t.Run(fault, func(t *testing.T) { withFakeGPU(t, 2, "^TestRanksGPUFaults$", fault) })
	}
}

func TestRanksGPUFaults(t *testing.T) {
	want := map[string]string{"dies": "rank 1: gemm-cuda ended with signal killed", "fails": "rank 1: the kernel has failed",
		"full": "rank 1: too little memory of the GPU is free"}[os.Getenv("GEMM_TEST_FAULT")]
	gpuVariants(t, func(t *testing.T, v gemm.Variant) {
		for range 2 {
			o := newOperands[float64](20, 30, 10, 0)
			m, err := gemm.New[float64](v, onTuned)
			gemmtest.Must(t, err)
			if err = m.Multiply(context.Background(), o.c, o.a, o.b); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want %q", err, want)
			}
		}
		multiplied(t, v, nil, newOperands[float64](20, 30, 10, 0))
	})
}

// TestGPURefusals: a kernel without the type, a variant that adds nothing to C, and the bound of inexact kernels.
func TestGPURefusals(t *testing.T) {
	for name, p := range map[string]gemm.Params{"type": {"local": "cuda/tuned-tf32"}, "variant": {"local": "cuda/multi"}} {
		_, err := gemm.New[float64](named(t, "mpi/summa"), p)
		if !errors.Is(err, gemm.ErrType) && !errors.Is(err, gemm.ErrParam) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	bound := boundOf("f32", gemm.Params{"local": "cuda/tuned-tf32"})
	s, u := gemm.Cube(100), gemm.TypeOf[float32]().UnitRoundoff
	v, err := gemm.Lookup(cuda.Variants(nil), "cuda/tuned-tf32")
	gemmtest.Must(t, err)
	if got, least := bound.Worst(s, nil, u), v.BoundOf("f32", nil).Worst(s, nil, u); !(got > least && got < 1.1*least) {
		t.Errorf("the bound is %g, the bound of the local variant %g", got, least)
	}
}
