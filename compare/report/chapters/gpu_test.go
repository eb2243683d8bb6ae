package chapters_test

import (
	"fmt"
	"strings"
	"testing"

	"gemm"
	"gemm/compare/record"
	"gemm/gemmtest/reporttest"
	"gemm/internal/occupancy"
	"gemm/internal/timeline"
)

// onGPU returns the chapter on the GPU.
func onGPU(t *testing.T, lang string, doc record.Document) string {
	t.Helper()
	text := section(t, fill(t, lang, doc), "paper-cuda")
	hasNot(t, text, "NaN", "Inf")
	return text
}

// accelerated returns three sizes of kernels and libraries on a GPU with what explains them: peaks, a sweep of
// occupancies on a capability, and what warps noted.
func accelerated() record.Document {
	var rows []record.Record
	for i, n := range []int{1024, 2048, 4096} {
		for j, name := range []string{"naive", "smem", "warptile", "cublas", "tf32-mma", "cublas-tf32", "f16x3"} {
			rows = append(rows, kernel(name, n, float64(8-j)*1e-3*float64(int(1)<<(3*i)), copied(1e-3, 1e-3, 0),
				func(r *record.Record) { r.Residual, r.Bound, r.GPU.Intensity = 1e-6, 1e-4, float64(int(1)<<j) }))
		}
		rows = append(rows, kernel("dmma", n, 1e-2, reporttest.Double), kernel("cublas", n, 2e-2, reporttest.Double))
	}
	doc := planted(rows...)
	h := &doc.Hosts[0]
	for pipe, peaks := range map[string][]record.Number{"f64": {33100}, "tf32": {450e3}, "f32": {59000, 60000}} {
		for _, peak := range peaks {
			h.Ceilings = append(h.Ceilings, record.Ceiling{Unit: "gpu", Pipe: pipe, Run: "r1", Gflops: peak})
		}
	}
	h.Bandwidths = append(h.Bandwidths, record.Bandwidth{Unit: "gpu", Name: "copy", GBps: 4310, Run: "r1"})
	doc.Measurements = append(doc.Measurements, record.Measurement{Host: "h1", Run: "r1", Name: "occupancy",
		Params: gemm.Params{"cc": "9.0"}, Samples: []float64{0.25}}) // of an old record
	for name, samples := range map[string][]float64{"latency": {301.2, 300.4}, "latency-cycles": {571, 570}} {
		doc.Measurements = append(doc.Measurements, record.Measurement{Host: "h1", Run: "r1", Name: name,
			Samples: samples, Params: gemm.Params{"memory": "dram", "bytes": 1 << 29, "device": 0}})
	}
	steps := func(begin float64, names ...string) (out []timeline.Step) {
		for i, name := range names {
			out = append(out, timeline.Step{Name: name, Begin: begin + float64(i)*5e-7, End: begin + float64(i+1)*5e-7})
		}
		return out
	}
	trace := record.Trace{Key: rows[4].Key, Run: "r1", Seconds: 1e-3}
	trace.Lanes, trace.Phases = []string{"kernels"}, []timeline.Phase{{Name: "kernels", End: 1e-3}}
	apart := trace
	trace.Inside = []timeline.Group{{Role: "producer", Phases: steps(0, "wait", "copy", "wait", "copy")},
		{Role: "consumer", Warpgroup: 1, Phases: steps(5e-7, "wait", "multiply", "wait", "multiply", "wait", "store")}}
	doc.Traces = []record.Trace{trace, apart}
	return doc
}

// TestKernelPairs compares our fastest kernel of each arithmetic with the fastest library, at the largest size of both.
func TestKernelPairs(t *testing.T) {
	text := section(t, fill(t, "en", accelerated()), "cuda-measurements")
	has(t, text, "| f32 | 4096 | `warptile` | 358 |", "| 0.833 (0.833–0.834) | | tf32 | 4096 | `tf32-mma` |",
		"| 0.750 (0.750) |", "| f16x3 | 4096 | `f16x3` |", "| — | — | — | | f64 | 4096 | `dmma` |", "| 2.00 (2.00) |")
	hasNot(t, text, "held the clock")
	ours := func(seconds float64, turn string) string {
		return section(t, fill(t, "en", planted(kernel("naive", 512, 9e-3), kernel("warptile", 512, seconds),
			kernel("cublas", 512, 2e-3, inTurn(turn)), kernel("warptile", 1024, 5e-3, func(r *record.Record) {
				r.GPU.Throttled = "power cap"
			}))), "cuda-measurements")
	}
	has(t, ours(1e-3, "cuda ladder512"), "| f32 | 512 | `warptile` | 268 | 50.0 | `cublas` | 134 | 2.00 (2.00) |",
		"The clock of the GPU was limited: power cap in 1 row.")
	has(t, ours(4e-3, "cuda ladder512"), "| `warptile` | 67.1 | 50.0 | `cublas` | 134 | 0.500 (0.500) |")
	has(t, ours(4e-3, "another"), "| `cublas` | 134 | 0.500 |")
	alone := section(t, fill(t, "zh", planted(kernel("naive", 64, 1e-3))), "cuda-measurements")
	has(t, alone, "| f32 | 64 | `naive` | 0.524 |")
	hasNot(t, alone, "库的速度比 |", "GPU 频率受限")
	elsewhere := planted(kernel("warptile", 64, 1e-3, reporttest.Of("maxregs", "maxregs", 64)))
	hasNot(t, onGPU(t, "en", elsewhere), "{#cuda-measurements}")
	has(t, onGPU(t, "en", elsewhere), "The kernels that were timed are in the [appendix](appendix#rows).")
	library := planted(kernel("cublas", 64, 1e-3))
	has(t, onGPU(t, "en", library), "| **`cublas`** |")
	hasNot(t, onGPU(t, "en", library), "Fastest of ours", "{#cuda-algorithms}")
}

// TestSeveralGPUs compares products on several GPUs with their kernel on one, and nowhere else.
func TestSeveralGPUs(t *testing.T) {
	on := func(devices int, local string, parts ...record.DevicePart) func(*record.Record) {
		return func(r *record.Record) {
			r.Params, r.Resolved = gemm.Params{"devices": devices}, gemm.Params{"devices": devices, "local": "cuda/tuned"}
			if local != "" {
				r.Params["local"], r.Resolved["local"] = local, local
			}
			r.GPU.Parts = parts
		}
	}
	part := record.DevicePart{Peer: 1 << 30, Copies: 4e-3, Exposed: 1e-4}
	doc := planted(kernel("naive", 1024, 1), kernel("tuned", 1024, 20e-3), kernel("tuned-tf32", 1024, 8e-3),
		kernel("cublas", 1024, 19e-3), kernel("multi", 1024, 19.9e-3, on(1, "")),
		kernel("multi", 1024, 10e-3, on(2, "", part, record.DevicePart{Copies: 1, Exposed: 5e-5})),
		kernel("multi", 1024, 6e-3, on(4, "", part)), kernel("multi", 1024, 5e-3, on(2, "cuda/tuned-tf32")))
	for i, row := range []record.Record{kernel("tuned", 512, 1e-3), kernel("multi", 512, 1.25e-3, on(2, ""))} {
		row.Experiment, row.M = record.WeakScaling, row.M*(1+i)
		row.Host, row.Run = doc.Records[0].Host, doc.Records[0].Run
		doc.Records = append(doc.Records, row)
	}
	trace := record.Trace{Key: doc.Records[5].Key, Run: "r1", Seconds: 10e-3}
	trace.GPUs, trace.Lanes, trace.ClockError = 2, []string{"GPU 0", "copies to GPU 0", "GPU 1", "copies to GPU 1"}, 2e-5
	trace.Phases = []timeline.Phase{{Name: "kernels", End: 1e-2}, {Lane: 1, Name: "peer", End: 4e-3}}
	doc.Traces = []record.Trace{trace}
	text := onGPU(t, "en", doc)
	has(t, section(t, text, "gpu-several"), "| `multi` | — | 2 | 10.0 ms | 2.00 (2.00) | 100 % | 100 µs | 1 GiB | 268 |",
		"| `multi` | — | 4 | 6.00 ms | 3.33 (3.33–3.34) | 83.3 % | 100 µs | 1 GiB | 268 |",
		"| `multi` | local=cuda/tuned-tf32 | 2 | 5.00 ms | 1.60 (1.60) | 80.0 % | — | — | — |",
		"| `multi` | 2 | 1024×512×512 | 1.25 ms | 0.800 (0.799–0.801) |",
		"gpus-strong-speedup-f32", "gpus-timeline", "The GPUs begin within 20.0 µs of each other")
	hasNot(t, section(t, text, "cuda-measurements"), "| 10.0 ms |", "| 6.00 ms |", "| 5.00 ms |")
	hasNot(t, onGPU(t, "en", planted(kernel("naive", 1024, 1), kernel("multi", 1024, 1, on(1, "")))), "{#gpu-several}")
}

// TestProfiledSteps names what the counters of a rung and of its parent say, if there are any.
func TestProfiledSteps(t *testing.T) {
	profiled := func(waits, conflicts float64) func(*record.Record) {
		return func(r *record.Record) {
			r.GPU.Counters = map[string]float64{"smsp__inst_executed.sum": r.Terms() / 32,
				"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio": waits,
				"sm__warps_active.avg.pct_of_peak_sustained_active":                         50,
				"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum":                            80,
				"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum":                  conflicts}
		}
	}
	doc := planted(kernel("transposed", 64, 2e-3, profiled(8, 40)), kernel("conflictfree", 64, 1e-3, profiled(4, 0)))
	has(t, onGPU(t, "en", doc), "| `conflictfree` | `transposed` | 64 | 2.00 (2.00) | waits for shared memory "+
		"1.00→0.500 cycles; passes over the banks 2.00→1.00 | 2.00 | faster |",
		"the profiler's, for a multiply-add of a warp")
	has(t, onGPU(t, "zh", doc), "等待共享内存 1.00→0.500 周期；访问存储体的次数 2.00→1.00 |")
	hasNot(t, onGPU(t, "en", planted(kernel("transposed", 64, 2e-3), kernel("conflictfree", 64, 1e-3))), "Main reason")
}

// TestHostToHost compares products from and to the memory of the host with the processor.
func TestHostToHost(t *testing.T) {
	// The speed-ups of the GPU over the processor at three sizes, with copies.
	both := func(copies [3]float64) record.Document {
		var rows []record.Record
		for i, n := range []int{64, 128, 256} {
			cpu := 1e-3 * float64(i+1)
			whole := cpu / copies[i]
			rows = append(rows, row("serial/packed", n, cpu, reporttest.Single),
				kernel("warptile", n, whole/8, copied(whole, whole/10, whole)))
		}
		return planted(rows...)
	}
	for _, test := range []struct {
		copies   [3]float64
		en, none string
	}{
		{[3]float64{0.2, 0.3, 0.4}, "256 a product takes 8.00 times as long as the kernel alone. At the largest size " +
			"of both, the GPU is not faster", "on, the GPU"},
		{[3]float64{2, 3, 4}, "From n = 64 on, the GPU is faster than the fastest variant on the processor.", "is not"},
		{[3]float64{2, 0.3, 4}, "From n = 256 on, the GPU is faster", "is not"},
	} {
		text := section(t, fill(t, "en", both(test.copies)), "gpu-host")
		has(t, text, test.en, fmt.Sprintf("| `serial/packed` | 3.00 ms | %.2f", test.copies[2]))
		hasNot(t, text, test.none)
	}
	doc := planted(kernel("warptile", 64, 1e-4, copied(1e-4, 2e-4, 0)))
	apart := section(t, fill(t, "en", doc), "gpu-host")
	has(t, apart, "| 64 | `warptile` | 100 µs | 400 µs | 4.00 |")
	hasNot(t, apart, "processor.", "Processor")
	hasNot(t, onGPU(t, "en", planted(kernel("warptile", 64, 1e-4), row("serial/packed", 64, 1e-3,
		reporttest.Single))), "{#gpu-host}")
}

// TestGPUFigures checks that the chapter has every figure of what explains the speed of kernels.
func TestGPUFigures(t *testing.T) {
	text := onGPU(t, "en", accelerated())
	for id := range strings.FieldsSeq("timeline rates-f32 rates-tf32 rates-f64 inside-f32 roofline-f32") {
		has(t, text, "](figures/gpu-"+id+".svg)")
	}
	has(t, text, "](figures/errors.svg)")
	apart := section(t, fill(t, "en", planted(row("serial/packed", 64, 1e-4), row("serial/packed", 64, 1e-4,
		reporttest.Single))), "setup")
	has(t, apart, "](figures/errors.svg)")
	has(t, text, "At n = 4096, f32, the operations take at least 2.29 ms, and reading A, B and C and writing C 62.3 "+
		"µs. Arithmetic limits a kernel that moves less than 36.8 times this data.")
}

// TestGPULimits: the limits are from the records, or else from the compute capability.
func TestGPULimits(t *testing.T) {
	doc := accelerated()
	has(t, section(t, fill(t, "en", doc), "gpu-limits"), "| threads | 2048 | 1024 | — |", "| warps | 64 | 32 | — |",
		"| registers of 32 bits | 65536 | 65536 | 255 |", "| 228 KiB | 48 KiB (227 KiB) | — |", "| blocks | 32 | — | — |",
		"| compute capability | 9.0 |", "| clock of the rows | 1900 MHz |", "| copies within the memory | 4310 GB/s |",
		"| latency of the memory: cycles, time | 570, 300 ns |",
		"| f64 | 33.1 | | f32 | 60.0 | | tf32 | 450 |")
	hasNot(t, onGPU(t, "en", doc), "multiprocessors |", "| memory |")
	doc.Hosts[0].AddGPU(occupancy.GPU{Name: "A GPU", Capability: "8.6", Multiprocessors: 28, Memory: 12 << 30, Free: 1,
		L2: 3 << 20, Clock: 1807, MemoryClock: 7501, BusWidth: 192, Warp: 32, BlockThreads: 1024, BlockShared: 48 << 10,
		BlockRegisters: 65536, Threads: 1536, Blocks: 16, Shared: 100 << 10, Registers: 65536, CopyEngines: 2})
	has(t, section(t, fill(t, "en", doc), "gpu-limits"), "| 1536 | 1024 | — |", "| 48 | 32 | — |",
		"| 100 KiB | 48 KiB | — |",
		"| 8.6 |", "| multiprocessors | 28 |", "| 12 GiB |", "| 3 MiB |", "| 1807 MHz |", "| 7501 MHz, 192 bit |",
		"| 2147483647×65535×65535 |")
	bare := planted(kernel("naive", 64, 1e-3, func(r *record.Record) { r.GPU.Clock = 0 }))
	hasNot(t, onGPU(t, "en", bare), "{#gpu-limits}")
}

// TestGPUChains: a step of an iterated product is compared with one product.
func TestGPUChains(t *testing.T) {
	chained := func(variant string, slower float64) []record.Record {
		row := func(steps int, seconds float64) record.Record {
			return row(variant, 512, seconds, experiment(record.IteratedProduct),
				inTurn("chain "+variant), func(r *record.Record) { r.Params = gemm.Params{"chain": steps} })
		}
		return []record.Record{row(0, 1e-2), row(10, 1e-1*slower)}
	}
	doc := planted(append(chained("cuda/dmma", 1.02), chained("cuda/warptile", 1.5)...)...)
	has(t, section(t, fill(t, "en", doc), "gpu-chain"), "| `cuda/dmma` | f64 | 512 | 10 | 10.2 ms | 10.0 ms | 0.980",
		"| `cuda/warptile` | f64 | 512 | 10 | 15.0 ms | 10.0 ms | 0.667")
	doc.Records[3] = kernel("warptile", 512, 1, reporttest.Of(record.IteratedProduct, "chain", 10),
		status(record.Failed, "x"), reporttest.Double)
	has(t, section(t, fill(t, "zh", doc), "gpu-chain"), "| 失败 |")
	doc = planted(append(chained("serial/packed", 1.5), kernel("naive", 64, 1e-3))...)
	hasNot(t, onGPU(t, "en", doc), "{#gpu-chain}")
}
