//go:build cuda

package device

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"gemm/cuda/kernels"
	"gemm/cuda/nvrtc"
)

// Peak is what a pipe of the GPU does at most.
type Peak struct {
	Pipe   string // f32, f64, f64-tensor, tf32, f16, bf16, int8
	Gflops float64
}

// anyLater is a compute capability that no GPU reaches.
const anyLater = 1 << 10

// pipes are the pipes that are measured, each on GPUs of the compute capabilities least to most. From 9.0 on the
// tensor cores do more by wgmma than by mma of fewer than 64 bits, and what they do best later is not measured.
var pipes = []struct {
	name              string
	pipe, least, most int
	// fragment is the multiply-adds of an instruction of a warp, or of a warpgroup if groups is set; 0: a thread has
	// its own.
	fragment int
	groups   bool
}{
	{"f32", 32, 70, anyLater, 0, false},
	{"f64", 64, 70, anyLater, 0, false},
	{"f64-tensor", 65, 80, 89, 8 * 8 * 4, false},
	{"f64-tensor", 65, 90, anyLater, 16 * 8 * 16, false},
	{"tf32", 19, 80, 89, 16 * 8 * 8, false},
	{"f16", 16, 80, 89, 16 * 8 * 16, false},
	{"bf16", 17, 80, 89, 16 * 8 * 16, false},
	{"int8", 8, 80, 89, 16 * 8 * 32, false},
	{"tf32", 19, 90, 90, 64 * 256 * 8, true},
	{"f16", 16, 90, 90, 64 * 256 * 16, true},
	{"bf16", 17, 90, 90, 64 * 256 * 16, true},
	{"int8", 8, 90, 90, 64 * 256 * 32, true},
}

// Peaks measures the pipes, for about the given time each. On a GPU newer than 9.0 it leaves out the
// tensor cores of fewer than 64 bits, since the instructions that are measured do not reach the peak there.
func (d *Device) Peaks(ctx context.Context, each time.Duration) (out []Peak, err error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	defer d.bind(&err)()
	const threads, perSM = 256, 8
	blocks := perSM * d.GPU.Multiprocessors
	room, err := d.allocate(8 * threads * int64(blocks))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.free(&room)) }()
	arch := d.arch()
	for _, p := range pipes {
		if arch < p.least || arch > p.most {
			continue
		}
		program := nvrtc.Program{Name: "peak.cu", Source: kernels.Peak, Arch: arch,
			Options: []string{fmt.Sprintf("-DPIPE=%d", p.pipe)}}
		kernel, terms := "peak", threads*8*16.0 // multiply-adds of a round, or fragments of a thread
		switch {
		case p.groups:
			program.Name, program.Source, program.Exact = "peak_warpgroups.cu", kernels.PeakWarpgroups, true
			kernel, terms = "peak_warpgroups", 2*4*float64(p.fragment)
		case p.fragment != 0:
			terms = terms / 32 * float64(p.fragment)
		}
		k, err := d.load(program, kernel, 0)
		if err != nil {
			return nil, err
		}
		x := uint64(0x3a83126f) // 0.001
		if p.name == "f64" || p.name == "f64-tensor" {
			x = 0x3f50624dd2f1a9fc
		}
		best, rounds := 0.0, 64
		for begin := time.Now(); best == 0 || time.Since(begin) < each; {
			took, err := d.timed(ctx, nil, func() error {
				return d.launch(k, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, 0,
					[]uint64{uint64(rounds), x, uint64(room.at)})
			})
			if err != nil {
				return nil, err
			}
			best = max(best, 2*terms*float64(rounds)*float64(blocks)/took.Seconds()/1e9)
			if took < 2*time.Millisecond {
				rounds *= 2
			}
		}
		out = append(out, Peak{p.name, best})
	}
	return out, nil
}

// CopyRate measures how many bytes a second a copy within the device's memory reads and writes.
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
		took, err := d.timed(ctx, nil, func() error {
			return failed("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(room.at+bytes, room.at, bytes, d.stream))
		})
		if err != nil {
			return 0, err
		}
		gbps = max(gbps, 2*bytes/took.Seconds()/1e9)
	}
	return gbps, nil
}

// Latency is the time of a load that waits for the load before, by samples.
type Latency struct {
	Memory              string // shared, l2, dram
	Bytes               int64  // that the chain of loads lies in
	Cycles, Nanoseconds []float64
}

// Latencies measures the latency of shared memory, of the L2 cache and of memory by a chain of pointers: see chase.cu.
func (d *Device) Latencies(ctx context.Context) (out []Latency, err error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	defer d.bind(&err)()
	const (
		line, samples = 128, 5
		steps         = 1 << 14
		most          = 512 << 20 // of the chain: beyond the L2 cache
	)
	l2 := int64(1 << 20) // bytes of the chain in the L2 cache: a quarter of it, or less
	for l2 < 8<<20 && 8*l2 <= int64(d.GPU.L2) {
		l2 *= 2
	}
	program := nvrtc.Program{Name: "chase.cu", Source: kernels.Chase, Arch: d.arch()}
	filler, err := d.load(program, "fill", 0)
	if err != nil {
		return nil, err
	}
	chaser, err := d.load(program, "chase", 0)
	if err != nil {
		return nil, err
	}
	room, err := d.allocate(most + 3*8)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.free(&room)) }()
	at := room.at + most
	run := func(steps int, at cu.DevicePtr) (took [2]uint64, err error) {
		if err := d.launch(chaser, [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0,
			[]uint64{uint64(steps), uint64(at), uint64(room.at + most + 8)}); err != nil {
			return took, err
		}
		if err := d.synchronize(ctx, d.stream); err != nil {
			return took, err
		}
		err = cu.MemcpyDtoH(unsafe.Pointer(&took), room.at+most+8, 16)
		return took, failed("cuMemcpyDtoH", err)
	}
	for _, l := range []Latency{{Memory: "shared", Bytes: 16 << 10}, {Memory: "l2", Bytes: l2},
		{Memory: "dram", Bytes: most}} {
		begin := cu.DevicePtr(0)
		if l.Memory != "shared" {
			lines := l.Bytes / line
			if err := d.launch(filler, [3]int{int(lines / 256), 1, 1}, [3]int{256, 1, 1}, 0,
				[]uint64{uint64(room.at), uint64(lines), uint64(at)}); err != nil {
				return nil, err
			}
			begin = at
		}
		warm := steps // the clock rises; all of the chain in the L2 cache is there
		if l.Memory == "l2" {
			warm = int(l.Bytes / line)
		}
		if _, err := run(warm, begin); err != nil {
			return nil, err
		}
		for range samples {
			took, err := run(steps, begin)
			if err != nil {
				return nil, err
			}
			l.Cycles = append(l.Cycles, float64(took[0])/steps)
			l.Nanoseconds = append(l.Nanoseconds, float64(took[1])/steps)
		}
		out = append(out, l)
	}
	return out, nil
}
