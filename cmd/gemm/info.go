package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/cmd/tune"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/cuda"
	"gemm/internal/block"
	"gemm/internal/cpu"
	"gemm/internal/kernel"
	"gemm/internal/occupancy"
	"gemm/internal/output"
	"gemm/internal/peak"
	"gemm/internal/settings"
	"gemm/internal/tuned"
	"gemm/mpi"
	"gemm/mpi/launch"
)

func infoCommand() *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "describe this machine; with --peak, measure its peak",
		UsageText: "[--peak] [--json FILE [--force]]",
		Flags: []cli.Flag{
			switchFlag("peak", "measure the peak rate at each number of threads, and the memory bandwidth; "+
				"of a GPU also latencies"),
			jsonFlag("the description"), forceFlag("replace the existing file"),
		},
		Action: runInfo,
	}
}

// information is what info --json writes.
type information struct {
	Schema int         `json:"schema"`
	Host   record.Host `json:"host"`

	Limit  int64     `json:"memory_limit"`     // bytes that the control group grants; 0: no limit
	Free   int64     `json:"memory_available"` // bytes; 0: not known
	ISAs   []cpu.ISA `json:"isas"`             // what GEMM_CPU can be, widest first
	Build  build     `json:"build"`
	Mpirun string    `json:"mpirun,omitempty"` // what starts ranks, with its version; empty: there is none
	// launcher is the same with the program's name, or the reason why there is none.
	launcher string
	// CUDA is what gemm-cuda finds, NoCUDA why it finds nothing.
	CUDA   *cuda.System `json:"cuda,omitempty"`
	NoCUDA string       `json:"cuda_reason,omitempty"`
	// Measurements are the latencies of GPU 0.
	Measurements []record.Measurement `json:"measurements,omitempty"`
	Kernels      []engine             `json:"kernels"`  // how packed products are computed, a type each
	Field        field                `json:"field"`    // how those over GF(2⁸) are
	Backends     []backend            `json:"backends"` // the variants that depend on what is installed
}

// engine is how packed products of one element type are computed.
type engine struct {
	Type   string       `json:"type"`
	Kernel string       `json:"kernel"` // the micro-kernel
	InUse  tuned.Values `json:"in_use"` // none of them is 0
	// Tuned is what gemm tune measured, and File where it is kept; null and empty
	// where the settings are computed from the caches.
	Tuned *tuned.Tune `json:"tuned"`
	File  string      `json:"file,omitempty"`
}

// field is how packed products over GF(2⁸) are computed; there is nothing to tune.
type field struct {
	Kernel string `json:"kernel"` // the micro-kernel
}

// backend is an implementation that is not part of this program.
type backend struct {
	Name      string      `json:"name"`
	Available bool        `json:"available"`
	Reason    string      `json:"reason,omitempty"`   // why not
	Resolved  gemm.Params `json:"resolved,omitempty"` // version, kernel, threads
}

func runInfo(c *cli.Context) error {
	if err := checkFile(c); err != nil {
		return err
	}
	applyTuned(c)
	host, err := record.DescribeHost()
	if err != nil {
		return err
	}
	host.MPI = mpi.Version()
	info := information{
		Schema: record.OutputSchema, Host: host, Limit: cpu.Host().MemoryLimit, Free: cpu.Available(),
		ISAs: cpu.Supported(), Build: builtAs(),
		Kernels: []engine{describeEngine[float64](), describeEngine[float32]()}, Field: field{kernel.BestField().Name},
		Backends: backends(),
	}
	if l, err := launch.Find(c.Context, mpi.Version()); err == nil {
		info.Mpirun, info.launcher = l.Name, fmt.Sprintf("%s: %s", filepath.Base(l.Path), l.Name)
	} else {
		info.launcher = oneLine(err)
	}
	s, err := system(c.Context)
	switch {
	case err == nil:
		info.CUDA = &s
		info.Host.Driver, info.Host.CUDA = s.Driver, s.CUDA
		for _, g := range s.GPUs {
			info.Host.AddGPU(occupancy.GPU(g))
		}
	case errors.Is(err, errInterrupted):
		return err
	default:
		info.NoCUDA = oneLine(err)
	}
	if c.Bool("peak") {
		if err := measurePeak(c, &info); err != nil {
			return err
		}
	}
	return writeResult(c, info, info.print)
}

// describeEngine returns how packed products of T are computed.
func describeEngine[T kernel.Float]() engine {
	e := block.Host[T](block.Serial)
	b := e.Blocking()
	d := engine{
		Type: gemm.TypeOf[T]().Name, Kernel: e.Kernel().Name,
		InUse: tuned.Values{MC: b.MC, KC: b.KC, NC: b.NC, Direct: b.Direct, Parallel: b.Parallel, Cutoff: tune.Cutoff()},
	}
	if t, ok := tuned.InUse().Find(d.Type, d.Kernel); ok {
		d.Tuned = &t
		d.File, _ = settings.Path() // where it has been read from
	}
	return d
}

// backends returns the libraries that were looked for.
func backends() []backend {
	var found []backend
	for _, v := range catalog.Variants() {
		if v.Role != gemm.Library || v.Location == gemm.OnGPU || v.F64 == nil { // what is Go is part of this program
			continue
		}
		b := backend{Name: v.Name}
		m, err := gemm.New[float64](v, nil)
		if err != nil {
			b.Reason = oneLine(err)
		} else {
			b.Available = true
			if e, ok := m.(gemm.Explainer); ok {
				b.Resolved = e.Resolved()
			}
		}
		found = append(found, b)
	}
	return found
}

// peakTime is how long each peak and each bandwidth is measured.
const peakTime = 300 * time.Millisecond

// measurePeak measures the peaks and the bandwidth at 1, 2, 4, … and all processors, and of GPU 0 also the latencies.
func measurePeak(c *cli.Context, info *information) error {
	h := &info.Host
	if info.CUDA != nil {
		if err := measureGPU(c, info); err != nil {
			return err
		}
	}
	largest := int64(0) // cache, in bytes
	for _, cache := range h.Caches {
		largest = max(largest, cache.Bytes)
	}
	for n := 1; ; n = min(2*n, runtime.GOMAXPROCS(0)) {
		for _, pipe := range []string{"f64", "f32", "gf256"} {
			gflops, isa := peak.FMA(c.Context, pipe, n, peakTime)
			if c.Context.Err() != nil {
				return errInterrupted
			}
			h.Ceilings = append(h.Ceilings,
				record.Ceiling{Unit: "cpu", Pipe: pipe, ISA: string(isa), Threads: n, Gflops: record.Number(gflops)})
		}
		gbps := peak.Triad(c.Context, n, peak.TriadBytes(largest), peakTime)
		if c.Context.Err() != nil {
			return errInterrupted
		}
		h.Bandwidths = append(h.Bandwidths,
			record.Bandwidth{Unit: "cpu", Name: "triad", Threads: n, GBps: record.Number(gbps)})
		if n == runtime.GOMAXPROCS(0) {
			return nil
		}
	}
}

// measureGPU measures GPU 0 as before the rows of a command, with a small product for a row.
func measureGPU(c *cli.Context, info *information) error {
	v, err := named("cuda/naive", catalog.Variants())
	if err != nil {
		return err
	}
	k := plan.Request{Variant: v, Experiment: record.MainLadder, Type: "f64", Shape: gemm.Cube(64)}.Case()
	doc, err := measureOnce(c, []plan.Case{k}, peakTime, workerOf(c.Context).Serve)
	if err != nil {
		return err
	}
	for _, h := range doc.Hosts {
		info.Host.Ceilings = append(info.Host.Ceilings, h.Ceilings...)
		info.Host.Bandwidths = append(info.Host.Bandwidths, h.Bandwidths...)
	}
	info.Measurements = doc.Measurements
	return nil
}

func (info information) print(out io.Writer) {
	w := output.NewTable(out)
	row := func(name, format string, args ...any) { w.Row(name, fmt.Sprintf(format, args...)) }
	h := info.Host
	row("processor", "%s", cmp.Or(h.CPU, "unknown"))
	row("sockets", "%s", cmp.Or(optional(h.Sockets > 0, "%d", h.Sockets), "unknown"))
	row("NUMA nodes", "%s", cmp.Or(optional(h.NUMA > 0, "%d", h.NUMA), "unknown"))
	usable := "" // in the order in which threads are placed
	if h.Topology != nil {
		usable = h.Topology.Usable
	}
	row("processors", "%d usable%s", h.Cores, optional(usable != "", ": %s", usable))
	printTopology(row, h.Topology)
	if h.Quota.Known() {
		row("quota", "%.4g processors' worth of time", float64(h.Quota))
	} else {
		row("quota", "none")
	}
	for _, cache := range h.Caches {
		row(fmt.Sprintf("cache L%d", cache.Level), "%s %s, lines of %d B%s", bytes(float64(cache.Bytes)), cache.Kind,
			cache.Line, optional(cache.Shared > 1, ", shared by %d", cache.Shared))
	}
	isas := mapped(info.ISAs, func(isa cpu.ISA) string { return string(isa) })
	row("instructions", "%s; GEMM_CPU can be %s", h.ISA, strings.Join(isas, ", "))
	for _, e := range info.Kernels {
		v := e.InUse
		row("packed "+e.Type, "%s, mc=%d kc=%d nc=%d direct=%d parallel=%d cutoff=%d, %s", e.Kernel, v.MC, v.KC, v.NC,
			v.Direct, v.Parallel, v.Cutoff, origin(e))
	}
	row("packed gf256", "%s", info.Field.Kernel)
	row("memory", "%s, %s available%s", bytes(float64(h.Memory)), bytes(float64(info.Free)),
		optional(info.Limit > 0, ", %s granted", bytes(float64(info.Limit))))
	row("huge pages", "%s", h.PagePolicy)
	row("system", "%s", cmp.Or(h.OS, "unknown"))
	b := info.Build
	row("build", "gemm %s, %s %s/%s%s", b.Version, b.Go, b.OS, b.Arch,
		optional(b.GOAMD64 != "", " GOAMD64=%s", b.GOAMD64)+optional(b.Tags != "", " -tags %s", b.Tags))
	for _, backend := range info.Backends {
		if backend.Available {
			row(backend.Name, "%s", strings.TrimSpace("available "+backend.Resolved.String()))
		} else {
			row(backend.Name, "unavailable: %s", backend.Reason)
		}
	}
	row("mpi", "%s; %s", cmp.Or(h.MPI, "not in this build"), info.launcher)
	if s := info.CUDA; s != nil {
		row("cuda", "driver %s for CUDA %s; NVRTC %s, cuBLAS %s", cmp.Or(s.Driver, "unknown"), cmp.Or(s.CUDA, "unknown"),
			cmp.Or(s.NVRTC, "not found"), cmp.Or(s.CuBLAS, "not found"))
		for _, line := range s.Missing {
			row("cuda", "%s", line)
		}
	} else {
		row("cuda", "%s", info.NoCUDA)
	}
	printPeaks(row, h)
	for _, m := range info.Measurements {
		if len(m.Samples) > 0 {
			row(fmt.Sprintf("%s %v", m.Name, m.Params["memory"]), "%.4g %s", slices.Min(m.Samples), m.Unit)
		}
	}
	if info.CUDA != nil {
		for _, g := range info.CUDA.GPUs {
			printGPU(row, g)
		}
	}
	_ = w.Flush()
}

func printPeaks(row func(name, format string, args ...any), h record.Host) {
	for _, ceiling := range h.Ceilings {
		unit := "GFLOP/s"
		if ceiling.Pipe == "gf256" {
			unit = "Gmul/s"
		}
		row("peak "+ceiling.Pipe, "%.4g %s with %s%s", float64(ceiling.Gflops), unit,
			measuredOn(ceiling.Unit, ceiling.Threads), optional(ceiling.ISA != "", " (%s)", ceiling.ISA))
	}
	for _, bandwidth := range h.Bandwidths {
		row(bandwidth.Name, "%.4g GB/s with %s", float64(bandwidth.GBps), measuredOn(bandwidth.Unit, bandwidth.Threads))
	}
}

// measuredOn says what computed or copied.
func measuredOn(unit string, threads int) string {
	if unit == "gpu" {
		return "the GPU"
	}
	return counted(threads, "thread")
}

func printGPU(row func(name, format string, args ...any), g cuda.GPU) {
	row("", "")
	row(fmt.Sprintf("GPU %d", g.Index), "%s, compute capability %s", g.Name, g.Capability)
	row("multiprocessors", "%d", g.Multiprocessors)
	row("threads a multiprocessor", "%d", g.Threads)
	row("blocks a multiprocessor", "%d", g.Blocks)
	row("registers a multiprocessor", "%d", g.Registers)
	row("shared memory a multiprocessor", "%d B", g.Shared)
	row("threads a block", "%d", g.BlockThreads)
	row("registers a block", "%d", g.BlockRegisters)
	row("shared memory a block", "%d B, %d B where the kernel asks for it", g.BlockShared, g.BlockSharedOptIn)
	row("threads a warp", "%d", g.Warp)
	row("f32 over f64", "%d multiply-adds of f32 in the time of one of f64", g.SinglePerDouble)
	row("clock", "%d MHz at most", g.Clock)
	row("memory of the GPU", "%s, %s free", bytes(float64(g.Memory)), bytes(float64(g.Free)))
	row("memory clock", "%d MHz at most, %d bits wide", g.MemoryClock, g.BusWidth)
	row("L2 cache", "%s", bytes(float64(g.L2)))
	row("error correction", "%s", yesNo[g.ECC])
	row("kernels at the same time", "%s", yesNo[g.ConcurrentKernels])
	row("copy engines", "%d", g.CopyEngines)
}

// origin says where the settings of an engine come from.
func origin(e engine) string {
	if e.Tuned == nil {
		return "computed from the caches: gemm tune measures them"
	}
	return fmt.Sprintf("tuned on %s: %s", e.Tuned.Time.Local().Format(time.DateOnly), e.File)
}

// printTopology writes how the processors are nested.
func printTopology(row func(name, format string, args ...any), t *cpu.Topology) {
	if t == nil {
		row("topology", "unknown")
		return
	}
	var text strings.Builder
	t.Write(&text, bytes)
	name := "topology"
	for line := range strings.Lines(text.String()) {
		row(name, "%s", strings.TrimSuffix(line, "\n"))
		name = ""
	}
}

// optional returns a part of a line, and nothing if it is not to be shown.
func optional(shown bool, format string, args ...any) string {
	if !shown {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

var yesNo = map[bool]string{true: "yes", false: "no"}
