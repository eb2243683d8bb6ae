//go:build cuda

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gemm"
	"gemm/compare"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda"
	"gemm/cuda/device"
	"gemm/cuda/remote"
	"gemm/cuda/userkernel"
	"gemm/internal/ipc"
	"gemm/internal/occupancy"
	"gemm/internal/output"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	out, err := apart()
	if err == nil {
		err = execute(ctx, os.Args[1:], os.Stdin, out)
	}
	stop()
	if err != nil {
		// Only the reason: gemm, which reads it, says who gives it.
		fmt.Fprintln(os.Stderr, output.Line(err.Error()))
		os.Exit(1)
	}
}

// apart returns standard output for the messages of this program. What kernels print goes to standard
// error from then on.
func apart() (*os.File, error) {
	messages, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return nil, fmt.Errorf("standard output: %w", err)
	}
	syscall.CloseOnExec(messages)
	return os.NewFile(uintptr(messages), os.Stdout.Name()), syscall.Dup3(syscall.Stderr, syscall.Stdout, 0)
}

var errUsage = errors.New("wants one argument: serve, profile or multiply, with the task on standard input, or " +
	"describe; gemm starts it")

// execute does what the one argument says.
func execute(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errUsage
	}
	found, _ := settings.Load() // gemm says what is wrong with them
	tuned.Use(found)
	b := device.NewBackend()
	switch args[0] {
	case "serve", "profile":
		b.Profiles = args[0] == "profile"
		if err := serve(ctx, b, in, out); err != nil {
			return err // without freeing anything: the device may be lost
		}
	case "multiply":
		if err := remote.Serve(ctx, in, out, remote.Shared(), cuda.Variants(b)); err != nil {
			return err
		}
	case "describe":
		s, err := device.Describe()
		if err != nil {
			return err
		}
		if err := ipc.NewWriter(out).Encode("system", s); err != nil {
			return err
		}
	default:
		return errUsage
	}
	return b.Close()
}

// serve measures the task that comes in.
func serve(ctx context.Context, b *device.Backend, in io.Reader, out io.Writer) error {
	system, err := device.Describe()
	if err != nil {
		return err
	}
	brought := func(sources []json.RawMessage) ([]gemm.Variant, error) {
		kernels, err := userkernel.FromTask(sources)
		return userkernel.Variants(b, kernels), err
	}
	return compare.Serve(ctx, in, out, compare.Served{
		Variants: cuda.Variants(b), UserVariants: brought, Device: &compare.Device{
			Lost: b.Lost,
			Describe: func(h *record.Host, r *record.RunInfo) {
				for _, g := range system.GPUs {
					h.AddGPU(occupancy.GPU(g))
				}
				h.Driver, h.CUDA = system.Driver, system.CUDA
				for name, version := range map[string]string{"NVRTC": system.NVRTC, "cuBLAS": system.CuBLAS} {
					if version != "" {
						r.Libraries[name] = version
					}
				}
			},
			Ceilings: func(ctx context.Context, gpu int, each time.Duration) (run.Found, error) {
				return ceilings(ctx, b, gpu, each)
			},
		}})
}

func ceilings(ctx context.Context, b *device.Backend, gpu int, each time.Duration) (found run.Found, err error) {
	d, err := b.Device(gpu)
	if err != nil {
		return found, err
	}
	peaks, err := d.Peaks(ctx, each)
	if err != nil && !errors.Is(err, gemm.ErrUnavailable) {
		return found, err
	}
	for _, p := range peaks {
		found.Host.Ceilings = append(found.Host.Ceilings,
			record.Ceiling{Unit: "gpu", Pipe: p.Pipe, Threads: 1, Gflops: record.Number(p.Gflops)})
	}
	rate, copied := d.CopyRate(ctx)
	if copied == nil {
		found.Host.Bandwidths = []record.Bandwidth{{Unit: "gpu", Name: "copy", Threads: 1, GBps: record.Number(rate)}}
	}
	latencies, chased := d.Latencies(ctx)
	for _, l := range latencies {
		found.Measurements = append(found.Measurements, latency(gpu, l, "latency", "ns", l.Nanoseconds),
			latency(gpu, l, "latency-cycles", "cycles", l.Cycles))
	}
	return found, errors.Join(err, copied, chased)
}

func latency(gpu int, l device.Latency, name, unit string, samples []float64) record.Measurement {
	return record.Measurement{Name: name, Unit: unit, Samples: samples,
		Params: gemm.Params{"memory": l.Memory, "bytes": int(l.Bytes), "device": gpu}}
}
