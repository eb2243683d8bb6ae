//go:build cuda

package device

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorgonia.org/cu"

	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
)

// Peak is what a pipe of the GPU does on registers alone.
type Peak struct {
	Pipe   string // f32, f64, f64-tensor, tf32
	Gflops float64
}

// pipes are the pipes that the kernel peak measures. fragment is the multiply-adds of a warp's
// instruction per multiply-add of a thread; 0: each thread has its own.
var pipes = []struct {
	name        string
	pipe, least int
	size        int
	fragment    func(arch int) int
}{
	{"f32", 32, 70, 4, nil},
	{"f64", 64, 70, 8, nil},
	{"f64-tensor", 65, 80, 8, func(arch int) int {
		if arch >= 90 {
			return 16 * 8 * 16
		}
		return 8 * 8 * 4
	}},
	// From 9.0 on the tensor cores do more by wgmma than by mma, which this measures.
	{"tf32", 19, 80, 4, func(int) int { return 16 * 8 * 8 }},
}

// Peaks measures the pipes, for about the given time each. From compute capability 9.0 on it leaves
// TF32 out, since the measured instructions do not reach the peak there.
func (d *Device) Peaks(ctx context.Context, each time.Duration) (out []Peak, err error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	defer d.bind(&err)()
	const threads, chains, steps, perSM = 256, 8, 16, 8
	blocks := perSM * d.GPU.Multiprocessors
	room, err := d.allocate(8 * threads * int64(blocks))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.free(&room)) }()
	arch := d.arch()
	for _, p := range pipes {
		if arch < p.least || p.name == "tf32" && arch >= 90 {
			continue
		}
		program := nvrtc.Program{Name: "peak.cu", Source: kernels.Peak, Arch: arch,
			Options: []string{fmt.Sprintf("-DPIPE=%d", p.pipe)}}
		k, err := d.load(program, "peak", 0)
		if err != nil {
			return nil, err
		}
		x := uint64(0x3a83126f) // 0.001
		if p.size == 8 {
			x = 0x3f50624dd2f1a9fc
		}
		terms := float64(threads)
		if p.fragment != nil {
			terms = threads / 32 * float64(p.fragment(arch))
		}
		best := 0.0
		rounds := 64
		for begin := time.Now(); best == 0 || time.Since(begin) < each; {
			if err := d.start.Record(d.stream); err != nil {
				return nil, failed("cuEventRecord", err)
			}
			if err := d.launch(k, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, 0,
				[]uint64{uint64(rounds), x, uint64(room.at)}); err != nil {
				return nil, err
			}
			took, err := d.elapsed(ctx)
			if err != nil {
				return nil, err
			}
			best = max(best, 2*terms*chains*steps*float64(rounds)*float64(blocks)/took.Seconds()/1e9)
			if took < 2*time.Millisecond {
				rounds *= 2
			}
		}
		out = append(out, Peak{p.name, best})
	}
	return out, nil
}

// CopyRate measures how many bytes a second a copy within the device's memory reads and
// writes.
func (d *Device) CopyRate(ctx context.Context) (gbps float64, err error) {
	if err := d.usable(); err != nil {
		return 0, err
	}
	defer d.bind(&err)()
	const bytes = 1 << 30
	room, err := d.allocate(2 * bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.free(&room)) }()
	for range 5 {
		if err := d.start.Record(d.stream); err != nil {
			return 0, failed("cuEventRecord", err)
		}
		if err := cu.MemcpyDtoDAsync(room.at+bytes, room.at, bytes, d.stream); err != nil {
			return 0, failed("cuMemcpyDtoDAsync", err)
		}
		took, err := d.elapsed(ctx)
		if err != nil {
			return 0, err
		}
		gbps = max(gbps, 2*bytes/took.Seconds()/1e9)
	}
	return gbps, nil
}
