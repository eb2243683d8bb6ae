//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gemm"
	"gemm/cmd/catalog"
	"gemm/compare"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/cuda"
	"gemm/cuda/remote"
	"gemm/cuda/userkernel"
	"gemm/gemmtest"
	"gemm/gemmtest/cudatest"
	"gemm/gf256"
	"gemm/half"
	"gemm/internal/ipc"
	"gemm/internal/settings"
	"gemm/internal/tuned"
)

// fakeWorkerVariable has this test binary be a worker of the kind that it names.
const fakeWorkerVariable = "GEMM_TEST_WORKER"

func init() { asWorker = fakeWorker }

// fakeWorker has this process be a worker, if it is to be one, and ends it.
func fakeWorker() {
	kind := os.Getenv(fakeWorkerVariable)
	if kind == "" {
		return
	}
	end := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		os.Exit(1)
	}
	if kind == "none" {
		end("there is no NVIDIA driver: install it")
	}
	if len(os.Args) != 2 {
		end("arguments %q", os.Args)
	}
	var err error
	switch os.Args[1] {
	case "describe":
		err = describeFake(kind)
	case "serve":
		err = serveFake(kind)
	case "multiply":
		err = remote.Serve(context.Background(), os.Stdin, os.Stdout, remote.Shared(),
			cuda.Variants(fakeBackend{field: kind}))
	default:
		err = fmt.Errorf("argument %q", os.Args[1])
	}
	if err != nil {
		end("%v", err)
	}
	os.Exit(0)
}

// fakeSystem is a host with one GPU and no cuBLAS.
var fakeSystem = cuda.System{
	Driver: "580.1", CUDA: "13.0", NVRTC: "13.0", Missing: []string{"no cuBLAS among libcublas.so.13"},
	GPUs: []cuda.GPU{{
		Name: "Fake H1", Capability: "7.5", Multiprocessors: 132, Memory: 1 << 37, Free: 1 << 36, L2: 50 << 20, Clock: 1980,
		MemoryClock: 3201, BusWidth: 6016,
		Warp: 32, BlockThreads: 1024, BlockShared: 49152, BlockSharedOptIn: 232448, BlockRegisters: 65536, Threads: 2048,
		Blocks: 31, Shared: 233472,
		Registers: 65537, SinglePerDouble: 2, ConcurrentKernels: true, CopyEngines: 3, ECC: true,
	}},
}

func describeFake(kind string) error {
	switch kind {
	case "rubbish":
		fmt.Println("GPU 0: Fake H1")
		return nil
	case "panics":
		go panic("injected")
		select {}
	case "silent":
		_ = os.WriteFile(os.Getenv(fakeWorkerVariable+"_FILE"), nil, 0o600)
		select {}
	case "crashes":
		return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), os.ErrProcessDone)
	}
	found := fakeSystem
	if strings.HasPrefix(kind, "tunes") {
		found.GPUs = []cuda.GPU{cudatest.SmallGPU}
	}
	return ipc.NewWriter(os.Stdout).Encode("system", found)
}

// fakeBackend computes products of f64, and conflictfree's of f32, by the textbook. It hangs with tuned or dies with
// multi where it is to. The processor computes products of bytes, if field says so.
type fakeBackend struct {
	does  string
	field string // computes: it does; dies, waits: with its third product; otherwise there are none
}

func (fakeBackend) F32(name string, _ gemm.Params) (gemm.Multiplier[float32], error) {
	if name == "conflictfree" {
		return fakeMultiplier[float32](""), nil
	}
	return nil, gemm.Unavailablef("f32 is not faked")
}

func (fakeBackend) F16(string, gemm.Params) (gemm.Multiplier[half.F16], error) {
	return nil, gemm.Unavailablef("f16 is not faked")
}

func (fakeBackend) BF16(string, gemm.Params) (gemm.Multiplier[half.BF16], error) {
	return nil, gemm.Unavailablef("bf16 is not faked")
}

func (b fakeBackend) GF256(string, gemm.Params) (gemm.Multiplier[gf256.Elem], error) {
	if !slices.Contains([]string{"computes", "dies", "waits"}, b.field) {
		return nil, gemm.Unavailablef("gf256 is not faked")
	}
	v, err := gemm.Lookup(catalog.Variants(), "serial/packed")
	if err != nil {
		return nil, err
	}
	m, err := gemm.New[gf256.Elem](v, nil)
	return &fakeField{Multiplier: m, does: b.field}, err
}

type fakeField struct {
	gemm.Multiplier[gf256.Elem]
	does     string
	products int
}

func (m *fakeField) Multiply(ctx context.Context, c, a, b gemm.Matrix[gf256.Elem]) error {
	const last = 3
	if m.products++; m.products == last {
		switch m.does {
		case "dies":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "waits":
			_ = os.WriteFile(os.Getenv(fakeWorkerVariable+"_FILE"), nil, 0o600)
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return m.Multiplier.Multiply(ctx, c, a, b)
}

func (b fakeBackend) F64(name string, p gemm.Params) (gemm.Multiplier[float64], error) {
	if n, _ := p["device"].(int); n != 0 { // products on all GPUs have none
		return nil, gemm.Unavailablef("there is no GPU %d", n)
	}
	if name != map[string]string{"hangs": "tuned", "dies": "multi"}[b.does] {
		b.does = ""
	}
	return fakeMultiplier[float64](b.does), nil
}

// fakeMultiplier is what it does in a product: it hangs, dies, or is a textbook.
type fakeMultiplier[T gemm.Float] string

func (m fakeMultiplier[T]) Multiply(ctx context.Context, c, a, b gemm.Matrix[T]) error {
	switch m {
	case "dies":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hangs":
		_ = os.WriteFile(os.Getenv(fakeWorkerVariable+"_FILE"), nil, 0o600)
		<-ctx.Done()
		fakeLost.Store(true)
		return ctx.Err()
	}
	return gemmtest.Textbook(ctx, c, a, b)
}

// UserF32 implements userkernel.Backend.
func (b fakeBackend) UserF32(k userkernel.Kernel, _ gemm.Params) (gemm.Multiplier[float32], error) {
	return userProduct[float32](k, b.does)
}

// UserF64 implements userkernel.Backend.
func (b fakeBackend) UserF64(k userkernel.Kernel, _ gemm.Params) (gemm.Multiplier[float64], error) {
	return userProduct[float64](k, b.does)
}

func userProduct[T gemm.Float](k userkernel.Kernel, does string) (gemm.Multiplier[T], error) {
	if k.Fault != "" {
		return nil, errors.New(k.Fault)
	}
	return fakeMultiplier[T](does), nil
}

// fakeLost says that a product has not ended with its context.
var fakeLost atomic.Bool

func serveFake(kind string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := settings.Load()
	if err != nil {
		return err
	}
	tuned.Use(found)
	var backend cuda.Backend = fakeBackend{does: kind}
	if fault, ok := strings.CutPrefix(kind, "tunes"); ok {
		backend = tunedBackend{strings.TrimPrefix(fault, " and ")}
	}
	return compare.Serve(ctx, os.Stdin, os.Stdout, compare.Served{
		Variants: cuda.Variants(backend),
		UserVariants: func(sources []json.RawMessage) ([]gemm.Variant, error) {
			kernels, err := userkernel.FromTask(sources)
			return userkernel.Variants(fakeBackend{does: kind}, kernels), err
		},
		Device: &compare.Device{
			Describe: func(h *record.Host, r *record.RunInfo) { h.GPUs, r.Libraries["NVRTC"] = []string{"Fake H1"}, "13.0" },
			Ceilings: func(context.Context, int, time.Duration) (found run.Found, _ error) {
				found.Host.Ceilings = []record.Ceiling{{Pipe: "f64", Gflops: 1e6}}
				found.Measurements = []record.Measurement{{Name: "latency", Unit: "ns", Samples: []float64{512},
					Params: gemm.Params{"memory": "dram", "bytes": 1 << 29, "device": 0}}}
				return found, nil
			},
			Lost: fakeLost.Load,
		},
	})
}

// withWorker returns the variables with which gemm finds a worker of the kind on PATH.
func withWorker(t *testing.T, kind string) []string {
	t.Helper()
	dir := t.TempDir()
	program, err := os.Executable()
	gemmtest.Must(t, err)
	gemmtest.Must(t, os.Symlink(program, filepath.Join(dir, cuda.Worker)))
	return []string{fakeWorkerVariable + "=" + kind, fakeWorkerVariable + "_FILE=" + filepath.Join(dir, "hangs"),
		"PATH=" + dir + ":" + os.Getenv("PATH")}
}

func TestCUDAMeasures(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir, withWorker(t, "works"), "cuda", "--sizes", "16,24", "--time", "1ms", "--json", "r.json")
	if r.status != 0 || r.stderr != "" {
		t.Fatalf("status %d, %s", r.status, r.stderr)
	}
	doc, err := record.Load(filepath.Join(dir, "r.json"))
	if err != nil || len(doc.Records) != 42 {
		t.Fatalf("%d rows, %v", len(doc.Records), err)
	}
	for _, row := range doc.Records {
		if row.Status != record.OK || row.Experiment != record.MainLadder ||
			row.Turn != fmt.Sprintf("cuda f64 %d nn", row.N) {
			t.Errorf("%s: %s %q of %s, turn %q", row.Variant, row.Status, row.Reason, row.Experiment, row.Turn)
		}
	}
	if h := doc.Hosts[0]; !slices.Equal(h.GPUs, []string{"Fake H1"}) || h.Ceilings[len(h.Ceilings)-1].Unit != "gpu" {
		t.Errorf("the host is %+v", h)
	}

	r = start(t, dir, withWorker(t, "works"), "compare", "--families", "serial,cuda", "--type", "f64", "--sizes", "64",
		"--variants", "serial/packed,cuda/smem,cuda/cublas-tf32", "--time", "1ms", "--out", "both")
	doc, err = record.Load(filepath.Join(dir, "both", "results.json"))
	if r.status != 0 || err != nil ||
		!slices.ContainsFunc(doc.Records,
			func(row record.Record) bool { return row.Variant == "cuda/smem" && row.Status == record.OK }) {
		t.Errorf("compare: status %d, %s, %v, rows %+v", r.status, r.stderr, err, doc.Records)
	}
}

func TestCUDASweeps(t *testing.T) {
	for _, test := range []struct{ args, experiment, row string }{
		{"--variants cuda/smem,cuda/cublas --bk 8,16", "block", "cuda/smem bk=16"},
		{"--variants cuda/packed-global --block 8,16", "block", "cuda/packed-global block=8"},
		{"--variants cuda/tuned --stages 2,3 --device 0", "stages", "cuda/tuned device=0 stages=3"},
		{"--variants cuda/tuned --split 1,2 --tile auto", "ladder", "cuda/tuned split=2 tile=auto"},
		{"--variants cuda/conflictfree --type f32 --maxregs 0,64", "maxregs", "cuda/conflictfree maxregs=64"},
		{"--variants cuda/cublas --l2 warm,cold", "l2", "cuda/cublas l2=warm"},
		{"--variants cuda/multi,cuda/tuned --devices 1,2 --weak", "weak", "cuda/multi devices=2"},
	} {
		dir := t.TempDir()
		args := append([]string{"cuda", "--sizes", "8", "--time", "1ms", "--json", "r.json"}, strings.Fields(test.args)...)
		if r := start(t, dir, withWorker(t, "works"), args...); r.status != 0 {
			t.Errorf("%s: status %d, %s", test.args, r.status, r.stderr)
			continue
		}
		doc := records(t, filepath.Join(dir, "r.json"))
		found := false
		for _, row := range doc.Records {
			found = found || row.Variant+" "+row.Params.String() == test.row
			if string(row.Experiment) != test.experiment || row.Status != record.OK {
				t.Errorf("%s: %s %v is of %s: %s", test.args, row.Variant, row.Params, row.Experiment, row.Reason)
			}
		}
		if !found {
			t.Errorf("%s: there is no %s", test.args, test.row)
		}
	}
	works := withWorker(t, "works")
	failWith(t, "", works, 1, "--device 7: there is 0 (Fake H1)", "cuda", "--sizes", "8", "--device", "7")
	r := start(t, "", works, "cuda", "--variants", "cuda/smem,cuda/packed-global", "--bk", "8,32", "--sizes", "8")
	want := "gemm cuda: 1 of 4 rows are left out, which cannot be so: cuda/smem f64: bad parameter: no setting of smem " +
		"in f64 has bk=32"
	if r.status != 0 || !strings.HasPrefix(r.stderr, want) || strings.Count(r.stdout, " ok ") != 3 {
		t.Errorf("%+v, want %q", r, want)
	}
}

func TestCUDAWithoutWorker(t *testing.T) {
	const missing = "gemm-cuda is neither next to gemm nor on PATH: make build"
	for _, test := range []struct {
		variables []string
		reason    string
	}{
		{[]string{"PATH=" + t.TempDir()}, missing},
		{withWorker(t, "none"), "there is no NVIDIA driver: install it"},
	} {
		r := start(t, "", test.variables, "cuda", "--sizes", "8", "--device", "7")
		if r.status != 1 || !strings.HasPrefix(r.stdout, "cuda: 21 rows unavailable: "+test.reason) ||
			strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stderr, test.reason) ||
			strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("gemm cuda: status %d\n%s%s; want %q", r.status, r.stdout, r.stderr, test.reason)
		}
		r = start(t, "", test.variables, "compare", "--families", "serial,cuda", "--variants", "serial/packed,cuda/smem",
			"--sizes", "8", "--type", "f64", "--time", "1ms", "--out", t.TempDir())
		if r.status != 0 || !strings.Contains(r.stdout, "\ncuda/smem: 1 row unavailable: "+test.reason) {
			t.Errorf("gemm compare: status %d\n%s%s; want %q", r.status, r.stdout, r.stderr, test.reason)
		}
		if r = start(t, "", test.variables, "info"); !strings.Contains(r.stdout, "\ncuda ") ||
			!strings.Contains(r.stdout, test.reason) {
			t.Errorf("gemm info:\n%s; want %q", r.stdout, test.reason)
		}
	}
	for kind, want := range map[string]string{
		"none":    "there is no NVIDIA driver",
		"rubbish": "gemm-cuda describes the GPUs in words of its own: build both from one source",
		"crashes": "gemm-cuda ended with signal killed",
		"panics":  "gemm-cuda ended with exit status 2: panic: injected", "works": "",
	} {
		listed := listing{}
		r := start(t, "", withWorker(t, kind), "list", "--json", "-")
		decode(t, r.stdout, &listed)
		for _, v := range listed.Variants {
			if !strings.HasPrefix(v.Name, "cuda/") {
				continue
			}
			want := want
			if kind == "works" { // on a GPU of 7.5, without cuBLAS
				switch v.Name {
				case "cuda/cublas", "cuda/cublas-tf32", "cuda/cublasxt":
					want = "no cuBLAS among libcublas.so.13"
				case "cuda/torch-tf32", "cuda/multi":
					want = "needs compute capability 8.0, has 7.5"
				}
				for _, r := range slices.Concat(cuda.Ladder("f32"), cuda.Ladder("f64"), cuda.Ladder("f16")) {
					if v.Name == "cuda/"+r.Name && r.Least > 75 && r.Name != "tuned" { // which gf256 has, too
						want = fmt.Sprintf("needs compute capability %d.0, has 7.5", r.Least/10)
					}
				}
			}
			if v.Available != (want == "") || kind == "panics" && v.Reason != want || !strings.HasPrefix(v.Reason, want) {
				t.Errorf("%s: %s is available: %v, %q; want %q", kind, v.Name, v.Available, v.Reason, want)
			}
		}
	}
}

func TestWorkerThatIsNotExecutable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, cuda.Worker)
	write(t, file, "#!/bin/sh\n")
	r := start(t, "", []string{"PATH=" + dir}, "cuda", "--sizes", "8")
	if want := file + " is not executable: chmod +x makes it so"; r.status != 1 || !strings.Contains(r.stderr, want) {
		t.Errorf("status %d, %s; want %q", r.status, r.stderr, want)
	}
}

// TestDescribingInterrupted ends the program while its worker is silent.
func TestDescribingInterrupted(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"info"}, {"tune", "--families", "cuda"},
		{"cuda", "--sizes", "8", "--device", "0"}} {
		r, took := interruptInWorker(t, t.TempDir(), withWorker(t, "silent"), args...)
		if r.stderr != "gemm "+args[0]+": interrupted\n" || took > 5*time.Second {
			t.Errorf("%s: status %d after %v, %q", args, r.status, took, r.stderr)
		}
	}
}

// interruptInWorker interrupts gemm when its worker, which the variables choose, hangs.
func interruptInWorker(t *testing.T, dir string, variables []string, args ...string) (result, time.Duration) {
	t.Helper()
	_, file, _ := strings.Cut(variables[1], "=")
	return interrupt(t, dir, variables, exists(file), args...)
}

func TestInfoOfGPUs(t *testing.T) {
	r := start(t, "", withWorker(t, "works"), "info", "--peak")
	for _, want := range []string{
		"latency dram", "512 ns", "1e+06 GFLOP/s with the GPU",
		"GPU 0", "Fake H1, compute capability 7.5", "132", "128 GiB, 64 GiB free", "50 MiB", "1980 MHz",
		"3201 MHz at most, 6016 bits wide", " 32", " 1024", "49152 B, 232448 B where",
		" 65536", " 65537", " 2048", " 31", "233472 B", "2 multiply-adds", "copy engines", " 3", "error correction",
		"no cuBLAS among", "driver 580.1 for CUDA 13.0",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("gemm info lacks %q:\n%s", want, r.stdout)
		}
	}
	var info information
	r = start(t, "", withWorker(t, "works"), "info", "--json", "-")
	if err := json.Unmarshal([]byte(r.stdout), &info); err != nil || info.CUDA == nil ||
		info.CUDA.GPUs[0] != fakeSystem.GPUs[0] || !slices.Equal(info.Host.GPUs, []string{"Fake H1"}) {
		t.Errorf("%v: %+v of %+v", err, info.CUDA, info.Host)
	}
}

func TestCUDAMultiplies(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "1,2\n3,4\n", "b.csv": "5,6\n7,8\n"} {
		write(t, filepath.Join(dir, name), text)
	}
	args := []string{"multiply", "--a", "a.csv", "--b", "b.csv", "--out", "c.csv", "--variant"}
	r := start(t, dir, withWorker(t, "works"), append(args, "cuda/smem")...)
	if c, err := os.ReadFile(filepath.Join(dir, "c.csv")); r.status != 0 || string(c) != "19,22\n43,50\n" ||
		!strings.Contains(r.stderr, "cuda/smem computed 2 in f64") {
		t.Errorf("status %d, %s, %q, %v", r.status, r.stderr, c, err)
	}
	failWith(t, dir, withWorker(t, "works"), 1, "f32 is not faked", append(args, "cuda/smem", "--type", "f32")...)
	failWith(t, dir, withWorker(t, "works"), 1, "needs compute capability 8.0, has 7.5", append(args, "cuda/tuned")...)
	failWith(t, dir, withWorker(t, "none"), 1, "there is no NVIDIA driver", append(args, "cuda/smem")...)
	failWith(t, dir, []string{"PATH=" + dir}, 1, "gemm-cuda is neither next to gemm nor on PATH",
		append(args, "cuda/smem")...)
	failWith(t, dir, withWorker(t, "works"), 1, "cuda/smem computes C = A·B only",
		append(args, "cuda/smem", "--alpha", "2")...)
	// Sums of 256 terms in f64 have a larger bound than products by residues.
	write(t, filepath.Join(dir, "row.csv"), strings.Repeat("1,", 255)+"1\n")
	write(t, filepath.Join(dir, "column.csv"), strings.Repeat("1\n", 256))
	r = start(t, dir, withWorker(t, "tunes"), "multiply", "--a", "row.csv", "--b", "column.csv", "--out", "c.csv",
		"--accuracy", "5e-15")
	if c, err := os.ReadFile(filepath.Join(dir, "c.csv")); r.status != 0 || string(c) != "256\n" ||
		!strings.Contains(r.stderr, "cuda/ozaki-wgmma moduli=14 in f64 has the bound 1.") {
		t.Errorf("status %d, %s, %q, %v", r.status, r.stderr, c, err)
	}
}

// TestCUDAEncodes has the worker compute the parity of a file, and has it killed or interrupted meanwhile.
func TestCUDAEncodes(t *testing.T) {
	dir := t.TempDir()
	const bytes = 70 << 20 // four slices
	data := archive(t, dir, bytes)
	args := encoding("--variant", "cuda/tuned")
	failWith(t, dir, withWorker(t, "dies"), 1, "gemm-cuda ended with signal killed", args...)
	if r, took := interruptInWorker(t, dir, withWorker(t, "waits"), args...); r.status != statusInterrupted ||
		took > 4*time.Second { // the worker was not killed for want of a reply
		t.Errorf("Ctrl-C: status %d after %v, %s", r.status, took, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "shards")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("shards are left: %v", err)
	}
	if r := start(t, dir, withWorker(t, "computes"), args...); r.status != 0 ||
		!strings.Contains(r.stderr, "by cuda/tuned") {
		t.Fatalf("status %d, %s", r.status, r.stderr)
	}
	gemmtest.Must(t, os.Remove(filepath.Join(dir, "shards", "001.shard")))
	succeed(t, dir, rs("reconstruct", "--in", "shards", "--out", "restored", "--variant", "serial/packed")...)
	if restored, err := os.ReadFile(filepath.Join(dir, "restored")); err != nil || !slices.Equal(restored, data) {
		t.Errorf("the file does not come back: %v", err)
	}
}

// TestCUDAHangs measures rungs of which one hangs, and a kernel of the user that does.
func TestCUDAHangs(t *testing.T) {
	dir := t.TempDir()
	source := `extern "C" __global__ void mine` + strings.ReplaceAll(kernelParameters, "float", "double") + "{}"
	write(t, filepath.Join(dir, "mine.cu"), source)
	for hung, more := range map[string][]string{"cuda/tuned": {"cuda/naive,cuda/tuned"},
		"user/mine": {"cuda/naive", "--bring", "mine.cu=cuda:f64"}} {
		r := start(t, dir, withWorker(t, "hangs"), append([]string{"cuda", "--sizes", "8", "--type", "f64", "--timeout",
			"500ms", "--variants"}, more...)...)
		if r.status != statusFailed || !strings.Contains(r.stderr, "gemm-cuda hung in "+hung+" f64 8") ||
			!strings.Contains(r.stdout, "cuda/naive") || strings.Count(r.stdout, " timeout ") != 1 {
			t.Errorf("%s: status %d, %s%s", hung, r.status, r.stdout, r.stderr)
		}
	}
}

// TestCUDADies has a product on two GPUs end the worker, as a lost GPU may. It costs no row but its own.
func TestCUDADies(t *testing.T) {
	dir := t.TempDir()
	r := start(t, dir, withWorker(t, "dies"), "cuda", "--sizes", "8,12", "--type", "f64", "--devices", "2", "--time", "1ms",
		"--variants", "cuda/naive,cuda/multi,cuda/tuned", "--json", "r.json")
	doc := records(t, filepath.Join(dir, "r.json"))
	for _, row := range doc.Records {
		want, reason := record.OK, ""
		if row.Variant == "cuda/multi" {
			want, reason = record.Failed, "gemm-cuda ended with signal killed"
		}
		if row.Status != want || row.Reason.Text != reason {
			t.Errorf("%s %d: %s %q, want %s %q", row.Variant, row.N, row.Status, row.Reason, want, reason)
		}
	}
	if r.status != statusFailed || len(doc.Records) != 6 {
		t.Errorf("status %d, %d rows, %s", r.status, len(doc.Records), r.stderr)
	}
}

// TestCUDAInterrupted ends the program while its worker is at a row.
func TestCUDAInterrupted(t *testing.T) {
	dir := t.TempDir()
	r, _ := interruptInWorker(t, dir, withWorker(t, "hangs"), "cuda", "--variants", "cuda/naive,cuda/tuned", "--sizes",
		"8", "--json", "r.json")
	if r.status != statusInterrupted ||
		!strings.Contains(r.stderr, "go on with gemm cuda --variants cuda/naive,cuda/tuned --sizes 8 --json r.json "+
			"--resume") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	if _, err := record.Load(filepath.Join(dir, "r.json")); err != nil {
		t.Error(err)
	}
}
