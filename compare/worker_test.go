//go:build unix

package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gemm"
	"gemm/compare/plan"
	"gemm/compare/record"
	"gemm/compare/run"
	"gemm/compare/schedule"
	"gemm/gemmtest"
	"gemm/internal/note"
	"gemm/internal/occupancy"
	"gemm/internal/timeline"
)

// device64 is a planted multiplier of the family cuda, whose operands are staged.
type device64 struct {
	gemmtest.Staged
	do func(ctx context.Context) error // before each product
}

func (m *device64) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &device64{gemmtest.Staged{C: c, A: a, B: b}, m.do}, nil
}

func (m *device64) Do(ctx context.Context) (gemm.Cost, error) {
	if err := m.do(ctx); err != nil {
		return gemm.Cost{}, err
	}
	if line := timeline.Of(ctx); line != nil {
		line.SetActivity(timeline.Activity{Lanes: []string{"kernels"},
			Phases: []timeline.Phase{{Name: "kernels", End: 1e-3}}})
	}
	return gemm.Cost{Time: time.Millisecond}, nil
}

func (m *device64) Device() record.Device {
	return record.Device{Pipe: "f64", Registers: 32, L2: "cold", Limit: []string{"threads"},
		Warnings: []note.Note{note.Read("the clock was held back")}}
}

func (m *device64) Watts() float64 { return 321 }

// gpuVariants returns the variants a, b and c of the family cuda. b calls plant before it multiplies.
// If plant is nil, none of them can be constructed.
func gpuVariants(plant func(ctx context.Context) error) []gemm.Variant {
	var out []gemm.Variant
	for _, name := range []string{"cuda/a", "cuda/b", "cuda/c"} {
		v := gemmtest.Variant(name, nil)
		v.Params = []gemm.Param{{Name: "device", Default: 0}}
		v.F64 = func(gemm.Params) (gemm.Multiplier[float64], error) {
			if plant == nil {
				return nil, gemm.Unavailablef("it is in another program")
			}
			m := &device64{do: func(context.Context) error { return nil }}
			if name == "cuda/b" {
				m.do = plant
			}
			return m, nil
		}
		out = append(out, v)
	}
	return out
}

// plantedVariable has this test binary be a worker with the named fault.
const plantedVariable = "GEMM_TEST_WORKER"

func TestMain(m *testing.M) {
	if fault := os.Getenv(plantedVariable); fault != "" {
		fakeWorker(fault)
	}
	os.Exit(m.Run())
}

// fakeWorker serves tasks for variants in which cuda/b has the fault at n = 8.
func fakeWorker(fault string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	lost := false
	s := Served{Device: &Device{
		Describe: func(h *record.Host, r *record.RunInfo) {
			h.AddGPU(occupancy.GPU{Name: "a GPU", PCI: "0000:3b:00.0", Free: 1, Shared: 228 << 10})
			h.Driver, h.CUDA = "580.1", "13.0"
			r.Libraries["nvrtc"] = "13.0"
		},
		Ceilings: func(_ context.Context, device int, _ time.Duration) (found run.Found, err error) {
			if fault == "ceilings" {
				return found, errors.New("no kernel for it")
			}
			found.Host.Ceilings = []record.Ceiling{{Pipe: "f32", Gflops: 9e9}, {Pipe: "f64",
				Gflops: record.Number(1e9 * (1 + float64(device)))}}
			found.Host.Bandwidths = []record.Bandwidth{{Name: "copy", GBps: 4000}}
			return found, nil
		},
		Lost: func() bool { return lost },
	}}
	s.Variants = gpuVariants(func(ctx context.Context) error { return runFault(ctx, fault, &lost) })
	switch fault {
	case "no GPU":
		fmt.Println("Error in initialization")
		os.Exit(1)
	case "crashes early":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	}
	if err := Serve(ctx, os.Stdin, os.Stdout, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runFault acts out the fault of a worker in a product.
func runFault(ctx context.Context, fault string, lost *bool) error {
	self := os.Getpid()
	switch fault {
	case "signal":
		_ = syscall.Kill(self, syscall.SIGKILL)
		select {}
	case "endless":
		select {}
	case "ignores", "slow":
		if fault == "ignores" {
			signal.Ignore(os.Interrupt)
		}
		_ = os.WriteFile(os.Getenv(plantedVariable+"_FILE"), []byte(strconv.Itoa(self)), 0o600)
		<-ctx.Done()
		return ctx.Err()
	case "rubbish":
		fmt.Println("segment 0x7f: 12 kernels")
		select {}
	case "lost":
		*lost = true
		return errors.New("an illegal memory access was encountered")
	case "timeout":
		<-ctx.Done()
		*lost = true
		return ctx.Err()
	case "error":
		return errors.New("not enough device memory")
	}
	return nil
}

// faultyWorker returns the Processes of a driver. Its first workers have the fault, the later ones do not;
// started counts them.
func faultyWorker(fault string, first int, started *int) run.Processes {
	return run.Processes{Worker: func(ctx context.Context) (*exec.Cmd, error) {
		*started++
		if *started > first {
			fault = "none"
		}
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), plantedVariable+"="+fault)
		return cmd, nil
	}, NoWorker: func(_ error, stdout string) error {
		if stdout == "Error in initialization" {
			return gemm.Unavailablef("there is no GPU")
		}
		return nil
	}}
}

// gpuCases returns the cases of the three variants at n = 8 and 12, a turn for each size.
func gpuCases() []plan.Case { return ladder(gpuVariants(nil), 8, 12).Cases() }

// TestWorkerMeasures has a worker measure cases on two GPUs, with their timelines, and this process one. All come once,
// with what the worker found.
func TestWorkerMeasures(t *testing.T) {
	starts := 0
	store := &record.Store{}
	var p silent
	l := ladder(gpuVariants(nil), 8, 12)
	l.Sweep, l.Timeline = map[string][]any{"device": {0, 2}}, true
	cases := slices.Concat(l.Cases(), ladder([]gemm.Variant{gemmtest.Variant("test/here", nil)}, 8).Cases())
	d := Driver{Store: store, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond, Command: "gemm cuda",
		Processes: faultyWorker("none", 0, &starts)}
	if rows := drive(t, &d, cases); starts != 1 || len(rows) != 13 || rows[0].Variant != "test/here" {
		t.Fatalf("%d starts, rows %+v", starts, rows)
	}
	doc := store.Document()
	run, host := doc.Runs[0], doc.Hosts[0]
	if len(doc.Runs) != 1 || run.Command != "gemm cuda" || run.Libraries["nvrtc"] != "13.0" ||
		run.Libraries[schedule.Worker] != run.Git ||
		!slices.Equal(host.GPUs, []string{"a GPU"}) || host.Driver != "580.1" || host.CUDA != "13.0" {
		t.Errorf("the run is %+v on %+v", run, host)
	}
	of := map[int]int{}
	for _, c := range host.Ceilings {
		if c.Unit == "gpu" && c.Run == run.ID {
			of[c.Device]++
		}
	}
	if !maps.Equal(of, map[int]int{0: 2, 2: 2}) || len(host.Ceilings) != 6 ||
		!slices.ContainsFunc(host.Bandwidths,
			func(b record.Bandwidth) bool { return b.Unit == "gpu" && b.GBps == 4000 && b.Run == run.ID }) {
		t.Errorf("ceilings %+v, bandwidths %+v", host.Ceilings, host.Bandwidths)
	}
	for i, r := range doc.Records[1:] {
		want := 100 * float64(r.Gflops) / (1e9 * (1 + float64(r.Params.Int("device"))))
		if r.Status != record.OK || r.Host != host.ID || r.Run != run.ID || r.GPU == nil || r.GPU.Registers != 32 ||
			r.GPU.Power != 321 || r.Operands == "" ||
			r.GPU.L2 != "cold" ||
			r.Turn != cases[i].Turn || r.Threads != 1 || r.Ceiling != 0 ||
			!(math.Abs(float64(r.PercentPeak)-want) <= 1e-9*want) ||
			!strings.Contains(fmt.Sprint(r.Warnings), "the clock was held back") {
			t.Errorf("%s %v: %+v, want %v %% of the peak", r.Variant, r.Params, r, want)
		}
		if trace := doc.Traces[i]; !store.Traced(r) || trace.Host != r.Host || trace.Run != r.Run ||
			len(trace.Phases) != 1 || trace.Phases[0].End != 1e-3 || trace.Lanes[0] != "kernels" || trace.Seconds != 1e-3 ||
			trace.Spans == nil {
			t.Errorf("the timeline of %+v is %+v", r.Key, trace)
		}
	}
	placed := func(h record.Host) bool { return len(h.Topology.GPUs) == 1 && h.Topology.GPUs[0].PCI == "0000:3b:00.0" }
	if host.Topology != nil && !placed(host) {
		t.Errorf("the topology is %+v", host.Topology)
	}
	if len(p.rows) != 13 || len(p.began) != 13 {
		t.Errorf("the progress has %d rows and %d beginnings", len(p.rows), len(p.began))
	}
	if drive(t, &d, cases); len(p.kept) != 13 || starts != 1 {
		t.Errorf("the second time: %d rows kept, %d starts", len(p.kept), starts)
	}
	if host := store.Document().Hosts[0]; !slices.Equal(host.GPUs, []string{"a GPU"}) ||
		!slices.Equal(host.Devices, []occupancy.GPU{{Name: "a GPU", Shared: 228 << 10}}) ||
		!slices.ContainsFunc(host.Ceilings, func(c record.Ceiling) bool { return c.Unit == "gpu" }) ||
		host.Topology != nil && !placed(host) {
		t.Errorf("the second time the host is %+v", host)
	}
}

// TestWorkerFaults plants faults in cuda/b at n = 8. Each may cost only this row.
func TestWorkerFaults(t *testing.T) {
	const limit, hung = 500 * time.Millisecond, "gemm-cuda hung in cuda/b f64 8 and had to be ended"
	for _, test := range []struct {
		fault  string
		limit  time.Duration // of a row; no test waits for a long one
		status record.Status
		reason string // of the row of cuda/b at 8
		starts int
		err    string
	}{
		{"signal", time.Minute, record.Failed, "gemm-cuda ended with signal killed", 2, "<nil>"},
		{"rubbish", time.Minute, record.Failed, `gemm-cuda wrote something that is not a message: "segment 0x7f: 12 kernels"`,
			2, "<nil>"},
		{"lost", time.Minute, record.Failed, "an illegal memory access was encountered", 2, "<nil>"},
		{"error", time.Minute, record.Failed, "not enough device memory", 1, "<nil>"},
		{"timeout", limit, record.Timeout, "took longer than the row's time limit of 500ms: raise it with --timeout",
			2, hung},
		{"endless", limit, record.Timeout, "the device hangs: nothing came back 5s after its time limit of 500ms", 2, hung},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			starts := 0
			d := Driver{Store: &record.Store{}, Budget: plan.Budget{Reps: 6, Time: time.Millisecond, Timeout: test.limit},
				Progress: Quiet{}, Processes: faultyWorker(test.fault, 1, &starts)}
			d.Processes.Stop = time.Second
			// Where the fault is planted for good, the row at 12 has it too.
			cases := slices.DeleteFunc(gpuCases(), func(c plan.Case) bool { return c.N == 12 && c.Variant.Name == "cuda/b" })
			if err := d.Run(t.Context(), cases); fmt.Sprint(err) != test.err {
				t.Fatalf("got %v, want %s", err, test.err)
			}
			rows := d.Store.Document().Records
			if starts != test.starts || len(rows) != 5 {
				t.Errorf("%d starts, %d rows", starts, len(rows))
			}
			for _, r := range rows {
				apart := strings.Contains(fmt.Sprint(r.Warnings),
					"measured apart: its turn was lost when cuda/b f64 8 ended gemm-cuda: ")
				switch {
				case r.Variant == "cuda/b":
					if r.Status != test.status || !strings.HasPrefix(r.Reason.Text, test.reason) ||
						strings.Contains(r.Reason.Text, "\n") || r.Host == "" || r.Run == "" {
						t.Errorf("%s: %q", r.Status, r.Reason)
					}
				case r.Status != record.OK || apart != (test.starts > 1 && r.N == 8) || (r.Turn == "") != apart:
					t.Errorf("%s %d: %s %s, turn %q, warnings %q", r.Variant, r.N, r.Status, r.Reason, r.Turn, r.Warnings)
				}
			}
		})
	}
}

// TestWorkersThatDoNotBegin has workers that end before the first case, or that cannot be started.
func TestWorkersThatDoNotBegin(t *testing.T) {
	var absent, crashes int // starts
	for name, test := range map[string]struct {
		of     run.Processes
		status record.Status
		reason string
	}{
		"no GPU":        {faultyWorker("no GPU", 9, &absent), record.Unavailable, "there is no GPU"},
		"crashes early": {faultyWorker("crashes early", 1, &crashes), record.OK, ""},
		"absent": {run.Processes{Worker: func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "absent")), nil
		}}, record.Unavailable, "absent cannot be started: "},
		"none": {run.Processes{Worker: func(context.Context) (*exec.Cmd, error) {
			return nil, gemm.Unavailablef("gemm-cuda is not here")
		}}, record.Unavailable, "gemm-cuda is not here"},
		"not asked for": {run.Processes{}, record.Unavailable, "it is in another program"},
	} {
		d := Driver{Store: &record.Store{}, Budget: testBudget, Progress: Quiet{}, Processes: test.of}
		for _, r := range drive(t, &d, gpuCases()) {
			if r.Status != test.status || !strings.HasPrefix(r.Reason.Text, test.reason) {
				t.Errorf("%s: %s: %s %q, want %s %q", name, r.Variant, r.Status, r.Reason, test.status, test.reason)
			}
		}
	}
	if absent != 1 || crashes != 2 {
		t.Errorf("%d starts without a GPU and %d of a worker that crashes, want 1 and 2", absent, crashes)
	}
}

func TestWorkerWithoutCeilings(t *testing.T) {
	starts := 0
	d := Driver{Store: &record.Store{}, Budget: testBudget, Progress: Quiet{}, Ceilings: time.Millisecond,
		Processes: faultyWorker("ceilings", 9, &starts)}
	for _, r := range drive(t, &d, gpuCases()) {
		if r.Status != record.OK || r.PercentPeak.Known() {
			t.Errorf("%s: %s, %v of the peak", r.Variant, r.Status, r.PercentPeak)
		}
	}
	if m := d.Store.Document().Measurements; len(m) != 1 || m[0].Reason != "no kernel for it" {
		t.Errorf("measured is %+v", m)
	}
}

// TestInterruptedWorker ends the context while cuda/b is measured, whose worker ends, or ignores it until it is killed.
func TestInterruptedWorker(t *testing.T) {
	for _, fault := range []string{"slow", "ignores"} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(plantedVariable+"_FILE", filepath.Join(dir, "pid"))
			store, err := record.OpenStore(filepath.Join(dir, "r.json"), record.Create)
			gemmtest.Must(t, err)
			cases := gpuCases()
			cases[0].Turn = "" // its row is there before
			starts := 0
			d := Driver{Store: store, Budget: plan.Budget{Reps: 6, Timeout: time.Minute}, Progress: Quiet{},
				Processes: faultyWorker(fault, 9, &starts)}
			d.Processes.Stop = time.Second
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- d.Run(ctx, cases) }()
			pid := pidIn(t, filepath.Join(dir, "pid"))
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the driver does not end")
			}
			if syscall.Kill(pid, 0) == nil {
				t.Error("the worker is left behind")
			}
			if doc, err := record.Load(filepath.Join(dir, "r.json")); err != nil || len(doc.Records) != 1 ||
				doc.Records[0].Variant != "cuda/a" || doc.Records[0].Status != record.OK {
				t.Errorf("on disk are %+v, %v", doc.Records, err)
			}
		})
	}
}

// pidIn waits for the file and returns the process id in it.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		data, err := os.ReadFile(file)
		if pid, wrong := strconv.Atoi(string(data)); err == nil && wrong == nil {
			return pid
		}
	}
	t.Fatal("the worker does not begin")
	return 0
}
