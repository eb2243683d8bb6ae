//go:build unix

package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gemm"
	"gemm/compare/note"
	"gemm/cuda/occupancy"
	"gemm/cuda/remote"
	"gemm/cuda/usage"
	"gemm/parallel/timeline"
)

// device64 is a planted multiplier of the family cuda, whose operands are staged.
type device64 struct {
	do func(ctx context.Context) error // before each product
	staged
}

func (m *device64) Stage(_ context.Context, c, a, b gemm.Matrix[float64]) (gemm.Run, error) {
	return &device64{m.do, staged{c, a, b}}, nil
}

func (m *device64) Do(ctx context.Context) (gemm.Cost, error) {
	if err := m.do(ctx); err != nil {
		return gemm.Cost{}, err
	}
	if line := timeline.Of(ctx); line != nil {
		line.Did(timeline.Activity{Lanes: []string{"kernels"}, Phases: []timeline.Phase{{Name: "kernels", End: 1e-3}}})
	}
	return gemm.Cost{Time: time.Millisecond}, nil
}

func (m *device64) Device() usage.Device {
	return usage.Device{Pipe: "f64", Registers: 32, L2: "cold", Limit: []string{"threads"},
		Warnings: []note.Note{note.Read("the clock was held back")}}
}

func (m *device64) Watts() float64 { return 321 }

// gpuVariants returns the variants a, b and c of the family cuda. b calls plant before it multiplies.
// If plant is nil, none of them can be constructed.
func gpuVariants(plant func(ctx context.Context) error) []gemm.Variant {
	var out []gemm.Variant
	for _, name := range []string{"cuda/a", "cuda/b", "cuda/c"} {
		v := variant(name, nil)
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

// oneByOne lets one write at a time through.
type oneByOne struct {
	mu sync.Mutex
	to io.Writer
}

func (o *oneByOne) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

// fakeWorker serves tasks for variants in which cuda/b has the fault at n = 8.
func fakeWorker(fault string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	end := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		os.Exit(1)
	}
	out := &oneByOne{to: os.Stdout}
	say := func(text string) { _, _ = out.Write([]byte(text)) }
	lost := false
	s := Served{Device: &Device{
		Describe: func(h *Host, r *RunInfo) {
			h.AddGPU(occupancy.GPU{Name: "a GPU", PCI: "0000:3b:00.0", Free: 1, Shared: 228 << 10})
			h.Driver, h.CUDA = "580.1", "13.0"
			r.Libraries["nvrtc"] = "13.0"
		},
		Ceilings: func(_ context.Context, device int, _ time.Duration) ([]Ceiling, []Bandwidth, error) {
			if fault == "ceilings" {
				return nil, nil, errors.New("no kernel for it")
			}
			return []Ceiling{{Pipe: "f32", Gflops: 9e9}, {Pipe: "f64", Gflops: Number(1e9 * (1 + float64(device)))}},
				[]Bandwidth{{Name: "copy", GBps: 4000}}, nil
		},
		Lost: func() bool { return lost },
	}}
	block := func() { select {} }
	s.Variants = gpuVariants(func(ctx context.Context) error {
		switch fault {
		case "signal":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			block()
		case "exit":
			end("here\n\nthe driver fell over")
		case "success":
			os.Exit(0)
		case "panic":
			go panic("planted")
			block()
		case "stopped":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			block()
		case "endless":
			block()
		case "ignores":
			signal.Ignore(os.Interrupt)
			_ = os.WriteFile(os.Getenv(plantedVariable+"_FILE"), []byte(strconv.Itoa(os.Getpid())), 0o600)
			block()
		case "slow":
			_ = os.WriteFile(os.Getenv(plantedVariable+"_FILE"), []byte(strconv.Itoa(os.Getpid())), 0o600)
			<-ctx.Done()
			return ctx.Err()
		case "rubbish":
			say("segment 0x7f: 12 kernels\n")
			time.Sleep(time.Minute)
		case "field":
			say(`{"now":0,"then":1}` + "\n")
			time.Sleep(time.Minute)
		case "half":
			out.mu.Lock() // no sign of life comes after it
			_, _ = os.Stdout.WriteString(`{"row":{"variant":"cuda/b"`)
			os.Exit(0)
		case "unasked":
			say(`{"row":{"variant":"cuda/z","type":"f64","op":"nn","m":8,"n":8,"k":8,"params":{}}}` + "\n")
			time.Sleep(time.Minute)
		case "lost":
			lost = true
			return errors.New("an illegal memory access was encountered")
		case "timeout":
			<-ctx.Done()
			lost = true
			return ctx.Err()
		case "error":
			return errors.New("not enough device memory")
		}
		return nil
	})
	switch fault {
	case "absent":
		end("there is no NVIDIA driver")
	case "no driver":
		fmt.Fprintln(os.Stderr, "gemm-cuda: error while loading shared libraries: libcuda.so.1: cannot open shared object file: No such file or directory")
		os.Exit(127)
	case "no GPU":
		say("Error in initialization, please refer to \"http\" for details on: NoDevice\n")
		os.Exit(1)
	case "talks":
		say("hello\n")
		os.Exit(3)
	case "crashes early":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		block()
	case "fewer":
		s.Variants = s.Variants[:2]
	case "done":
		say(`{"now":-1}` + "\n" + `{"done":true}` + "\n")
		os.Exit(0)
	}
	if err := Serve(ctx, os.Stdin, out, s); err != nil {
		end("%v", err)
	}
	os.Exit(0)
}

// faultyWorker returns the Worker of a driver. Its first starts have the fault, the later ones do not;
// started counts them.
func faultyWorker(fault string, first int, started *int) func(ctx context.Context) (*exec.Cmd, error) {
	return func(ctx context.Context) (*exec.Cmd, error) {
		*started++
		if *started > first {
			fault = "none"
		}
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), plantedVariable+"="+fault)
		return cmd, nil
	}
}

// TestWorkerIsStartedAgain checks that a worker that cannot be started right after a fault costs no
// row, as long as a later start succeeds. This holds again after every fault.
func TestWorkerIsStartedAgain(t *testing.T) {
	for _, test := range []struct {
		faults []string // of each start, the last one's of all that follow
		status Status   // of the rows but that of cuda/b at 8
		starts int
	}{
		{[]string{"signal", "absent", "absent", "crashes early", "none"}, OK, 5},
		{[]string{"crashes early", "signal", "crashes early", "none"}, OK, 4},
		{[]string{"signal", "absent"}, Unavailable, 2 + restarts},
		{[]string{"signal", "crashes early"}, Failed, 2 + restarts},
	} {
		t.Run(strings.Join(test.faults, ", "), func(t *testing.T) {
			t.Parallel()
			starts := 0
			d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}, pause: time.Millisecond,
				NoWorker: remote.NoWorker, Worker: func(ctx context.Context) (*exec.Cmd, error) {
					cmd := exec.CommandContext(ctx, os.Args[0])
					cmd.Env = append(os.Environ(), plantedVariable+"="+test.faults[min(starts, len(test.faults)-1)])
					starts++
					return cmd, nil
				}}
			if err := d.Run(t.Context(), gpuCases()); err != nil {
				t.Fatal(err)
			}
			rows := d.Store.Document().Records
			for _, r := range rows {
				want := test.status
				if r.Variant == "cuda/b" && r.N == 8 {
					want = Failed
				}
				if r.Status != want {
					t.Errorf("%s %d: %s %q, want %s", r.Variant, r.N, r.Status, r.Reason, want)
				}
			}
			if starts != test.starts || len(rows) != 6 {
				t.Errorf("%d starts, %d rows, want %d", starts, len(rows), test.starts)
			}
		})
	}
}

// gpuCases returns the cases of the three variants at n = 8 and 12, a turn for each variant.
func gpuCases() []Case {
	return Ladder{
		Variants: gpuVariants(nil), Shapes: []gemm.Shape{gemm.Cube(8), gemm.Cube(12)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1,
	}.Cases()
}

func TestCasesOnADevice(t *testing.T) {
	c := gpuCases()[0]
	if !c.OnDevice() || c.Threads() != 1 || processors(c, 64) != 64 || busy(c, 64) != 1 || c.Turn != "cuda f64 8 nn" {
		t.Errorf("%+v: %d threads, %d processors, %d busy", c, c.Threads(), processors(c, 64), busy(c, 64))
	}
	if (Request{Variant: variant("serial/a", nil)}).Case().OnDevice() {
		t.Error("a serial variant is on a device")
	}
}

func TestWorkerMeasures(t *testing.T) {
	starts := 0
	store := &Store{}
	var p silent
	cases := slices.Concat(gpuCases(),
		[]Case{Request{Experiment: MainLadder, Variant: variant("test/here", product[float64]), Type: "f64",
			Shape: gemm.Cube(8), Op: "nn", Alpha: 1}.Case()})
	d := Driver{Store: store, Budget: testBudget, Progress: &p, Ceilings: time.Millisecond, Command: "gemm cuda",
		Worker: faultyWorker("none", 0, &starts)}
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	doc := store.Document()
	if starts != 1 || len(doc.Records) != 7 || doc.Records[0].Variant != "test/here" {
		t.Fatalf("%d starts, rows %+v", starts, doc.Records)
	}
	run, host := doc.Runs[0], doc.Hosts[0]
	if len(doc.Runs) != 1 || run.Command != "gemm cuda" || run.Libraries["nvrtc"] != "13.0" ||
		run.Libraries[workerName] != run.Git ||
		!slices.Equal(host.GPUs, []string{"a GPU"}) || host.Driver != "580.1" || host.CUDA != "13.0" {
		t.Errorf("the run is %+v on %+v", run, host)
	}
	gpu := slices.DeleteFunc(slices.Clone(host.Ceilings),
		func(c Ceiling) bool { return c.Unit != "gpu" || c.Run != run.ID })
	if len(gpu) != 2 || len(host.Ceilings) != 4 ||
		!slices.ContainsFunc(host.Bandwidths,
			func(b Bandwidth) bool { return b.Unit == "gpu" && b.GBps == 4000 && b.Run == run.ID }) {
		t.Errorf("ceilings %+v, bandwidths %+v", host.Ceilings, host.Bandwidths)
	}
	for _, r := range doc.Records[1:] {
		want := float64(r.Gflops) / 1e9 * 100
		if r.Status != OK || r.Host != host.ID || r.Run != run.ID || r.GPU == nil || r.GPU.Registers != 32 ||
			r.GPU.Power != 321 || r.Operands == "" ||
			r.GPU.L2 != "cold" ||
			r.Turn != fmt.Sprintf("cuda f64 %d nn", r.N) || r.Threads != 1 || r.Ceiling != 0 ||
			!(math.Abs(float64(r.PercentPeak)-want) <= 1e-9*want) ||
			!slices.Contains(textsOf(r.Warnings), "the clock was held back") {
			t.Errorf("%s: %+v", r.Variant, r)
		}
	}
	placed := func(h Host) bool { return len(h.Topology.GPUs) == 1 && h.Topology.GPUs[0].PCI == "0000:3b:00.0" }
	if host.Topology != nil && !placed(host) {
		t.Errorf("the topology is %+v", host.Topology)
	}
	if len(p.rows) != 7 || len(p.began) != 7 {
		t.Errorf("progress was told of %d rows and %d beginnings", len(p.rows), len(p.began))
	}
	var again silent
	d.Progress = &again
	if err := d.Run(t.Context(), cases); err != nil || len(again.kept) != 7 || starts != 1 {
		t.Errorf("the second time: %v, %d rows kept, %d starts", err, len(again.kept), starts)
	}
	if host := store.Document().Hosts[0]; !slices.Equal(host.GPUs, []string{"a GPU"}) ||
		!slices.Equal(host.Devices, []occupancy.GPU{{Name: "a GPU", Shared: 228 << 10}}) ||
		!slices.ContainsFunc(host.Ceilings, func(c Ceiling) bool { return c.Unit == "gpu" }) ||
		host.Topology != nil && !placed(host) {
		t.Errorf("the second time the host is %+v", host)
	}
}

// TestWorkerFaults plants faults in cuda/b at n = 8. Each may cost only this row.
func TestWorkerFaults(t *testing.T) {
	for _, test := range []struct {
		fault  string
		status Status
		reason string // of the row of cuda/b at 8
		starts int
		apart  bool // the others of the turn were measured apart
	}{
		{"signal", Failed, "gemm-cuda ended with signal killed", 2, true},
		{"exit", Failed, "gemm-cuda ended with exit status 1: the driver fell over", 2, true},
		{"success", Failed, "gemm-cuda ended before it was done", 2, true},
		{"panic", Failed, "gemm-cuda ended with exit status 2: panic: planted", 2, true},
		{"rubbish", Failed, `gemm-cuda wrote something that is not a message: "segment 0x7f: 12 kernels"`, 2, true},
		{"field", Failed, `gemm-cuda wrote something that is not a message: "{\"now\":0,\"then\":1}"`, 2, true},
		{"half", Failed, `gemm-cuda ended in the middle of a line: "{\"row\":{\"variant\":\"cuda/b\""`, 2, true},
		{"unasked", Failed, `gemm-cuda wrote a row that was not requested: "{\"row\":{\"variant\":\"cuda/z\"`, 2, true},
		{"lost", Failed, "an illegal memory access was encountered", 2, true},
		{"error", Failed, "not enough device memory", 1, false},
		{"timeout", Timeout, "took longer than the row's time limit of 500ms: raise it with --timeout", 2, true},
		{"endless", Timeout, "the device hangs: nothing came back 5s after its time limit of 500ms", 2, true},
		{"stopped", Timeout, "gemm-cuda hangs: it shows no sign of life", 2, true},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			store := &Store{}
			starts := 0
			d := Driver{
				Store: store, Budget: Budget{Reps: 6, Time: time.Millisecond, Timeout: 500 * time.Millisecond}, Progress: &silent{},
				Worker: faultyWorker(test.fault, 1, &starts), stop: time.Second, dead: 2 * time.Second,
			}
			if test.fault != "timeout" && test.fault != "endless" && test.fault != "stopped" {
				d.Budget.Timeout, d.dead = time.Minute, 0
			}
			// Where the fault is planted for good, the row at 12 has it too.
			cases := slices.DeleteFunc(gpuCases(), func(c Case) bool { return c.N == 12 && c.Variant.Name == "cuda/b" })
			hung := "<nil>"
			if test.status == Timeout {
				hung = "gemm-cuda hung in cuda/b f64 8 and had to be ended"
			}
			if err := d.Run(t.Context(), cases); fmt.Sprint(err) != hung {
				t.Fatalf("got %v, want %s", err, hung)
			}
			rows := store.Document().Records
			if starts != test.starts || len(rows) != 5 {
				t.Errorf("%d starts, %d rows", starts, len(rows))
			}
			for _, r := range rows {
				apart := slices.ContainsFunc(r.Warnings, func(w note.Note) bool {
					return strings.HasPrefix(w.Text, "measured apart: its turn was lost when cuda/b f64 8 ended gemm-cuda: ")
				})
				switch {
				case r.Variant == "cuda/b":
					if r.Status != test.status || !strings.HasPrefix(r.Reason.Text, test.reason) || strings.Contains(r.Reason.Text, "\n") ||
						r.Host == "" || r.Run == "" {
						t.Errorf("%s: %q", r.Status, r.Reason)
					}
				case r.Status != OK || apart != (test.apart && r.N == 8) || (r.Turn == "") != apart:
					t.Errorf("%s %d: %s %s, turn %q, warnings %q", r.Variant, r.N, r.Status, r.Reason, r.Turn, r.Warnings)
				}
			}
		})
	}
}

func TestWorkersThatAreNotThere(t *testing.T) {
	for _, test := range []struct {
		fault  string
		first  int
		status Status
		reason string
		starts int
	}{
		{"absent", 9, Unavailable, "there is no NVIDIA driver", 1},
		{"no driver", 9, Unavailable, "there is no NVIDIA driver: libcuda.so.1 is not found", 1},
		{"no GPU", 9, Unavailable, "there is no NVIDIA GPU, or its driver does not work: NoDevice", 1},
		{"talks", 9, Failed, `gemm-cuda wrote something that is not a message: "hello"`, 2},
		{"crashes early", 9, Failed, "gemm-cuda ended with exit status 2: SIGSEGV: segmentation violation", 2},
		{"crashes early", 1, OK, "", 2},
		{"fewer", 9, Unavailable, `the task: there is no variant "cuda/c": build gemm and gemm-cuda from one source`, 1},
		{"done", 9, Failed, "gemm-cuda ended and left no row", 1},
	} {
		t.Run(fmt.Sprint(test.fault, test.first), func(t *testing.T) {
			store := &Store{}
			starts := 0
			d := Driver{Store: store, Budget: testBudget, Progress: &silent{},
				Worker: faultyWorker(test.fault, test.first, &starts), NoWorker: remote.NoWorker}
			if err := d.Run(t.Context(), gpuCases()); err != nil {
				t.Fatal(err)
			}
			again := 0
			for _, r := range store.Document().Records {
				if r.Status != test.status || !strings.HasPrefix(r.Reason.Text, test.reason) {
					t.Errorf("%s: %s %q", r.Variant, r.Status, r.Reason)
				}
				if slices.ContainsFunc(r.Warnings,
					func(w note.Note) bool { return strings.HasPrefix(w.Text, "gemm-cuda was started again: ") }) {
					again++
				}
			}
			if starts != test.starts || again != 0 != (test.status == OK) {
				t.Errorf("%d starts, %d rows say again", starts, again)
			}
		})
	}
	for name, worker := range map[string]func(context.Context) (*exec.Cmd, error){
		"gemm-cuda is not here": func(context.Context) (*exec.Cmd, error) {
			return nil, gemm.Unavailablef("gemm-cuda is not here")
		},
		"absent cannot be started": func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "absent")), nil
		},
		"it is in another program": nil,
	} {
		d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}, Worker: worker}
		if err := d.Run(t.Context(), gpuCases()); err != nil {
			t.Fatal(err)
		}
		for _, r := range d.Store.Document().Records {
			if r.Status != Unavailable || !strings.HasPrefix(r.Reason.Text, name) {
				t.Errorf("%s: %s %q, want %q", r.Variant, r.Status, r.Reason, name)
			}
		}
	}
}

// TestCeilingsOfEachGPU checks that rows are compared with the peak of the GPU that they ran on.
func TestCeilingsOfEachGPU(t *testing.T) {
	starts := 0
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}, Ceilings: time.Millisecond,
		Worker: faultyWorker("none", 0, &starts)}
	cases := Ladder{
		Variants: gpuVariants(nil)[:1], Shapes: []gemm.Shape{gemm.Cube(8)}, Types: []string{"f64"}, Ops: []string{"nn"},
		Alpha: 1, Sweep: map[string][]any{"device": {0, 2}},
	}.Cases()
	if err := d.Run(t.Context(), cases); err != nil {
		t.Fatal(err)
	}
	doc := d.Store.Document()
	of := map[int]int{}
	for _, c := range doc.Hosts[0].Ceilings {
		if c.Unit == "gpu" {
			of[c.Device]++
		}
	}
	if len(of) != 2 || of[0] != 2 || of[2] != 2 {
		t.Errorf("ceilings of GPUs %v", of)
	}
	for _, r := range doc.Records {
		want := 100 * float64(r.Gflops) / (1e9 * (1 + float64(r.Params.Int("device"))))
		if r.Status != OK || !(math.Abs(float64(r.PercentPeak)-want) <= 1e-9*want) {
			t.Errorf("%v: %s %s, %v %% of the peak, want %v", r.Params, r.Status, r.Reason, r.PercentPeak, want)
		}
	}
}

// TestWorkerOfAnotherRevision checks that the other revision is reported once, and is in each row.
func TestWorkerOfAnotherRevision(t *testing.T) {
	const want = "gemm-cuda is of revision b and this program of a: build both from one source"
	for _, test := range []struct {
		mine, its string
		want      []string
	}{{"a", "a", nil}, {"a", "b", []string{want}}, {"a", unknownGit, nil}, {unknownGit, "b", nil}} {
		var told []string
		cases := gpuCases()
		d := Driver{Store: &Store{}, Progress: &silent{}, lessons: map[string]lesson{}, run: RunInfo{Git: test.mine},
			Warn: func(text string) { told = append(told, text) }}
		a := d.follow(cases, worker{}, nil)
		row := cases[0].record()
		for _, m := range []message{{Found: &found{Run: RunInfo{Git: test.its}}},
			{Found: &found{Run: RunInfo{Git: test.its}}}, {Row: &row}} {
			line, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.take(line); err != nil || a.broken != nil {
				t.Fatal(err, a.broken)
			}
		}
		if rows := d.Store.Document().Records; len(rows) != 1 || !slices.Equal(textsOf(rows[0].Warnings), test.want) ||
			!slices.Equal(told, test.want) {
			t.Errorf("%q and %q: told %q, rows %+v", test.mine, test.its, told, rows)
		}
	}
}

// TestTimelinesOfWorkers checks that the timelines of rows come from the worker with the rows.
func TestTimelinesOfWorkers(t *testing.T) {
	starts := 0
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}, Worker: faultyWorker("none", 9, &starts)}
	l := Ladder{Variants: gpuVariants(nil), Shapes: []gemm.Shape{gemm.Cube(8), gemm.Cube(12)}, Types: []string{"f64"},
		Ops: []string{"nn"}, Alpha: 1, Timeline: true}
	if err := d.Run(t.Context(), l.Cases()); err != nil {
		t.Fatal(err)
	}
	doc := d.Store.Document()
	if len(doc.Records) != 6 || len(doc.Traces) != 6 {
		t.Fatalf("%d rows, %d timelines; want 6 each", len(doc.Records), len(doc.Traces))
	}
	for i, trace := range doc.Traces {
		r := doc.Records[i]
		if !d.Store.Traced(r) || trace.Host != r.Host || trace.Run != r.Run || len(trace.Phases) != 1 ||
			trace.Phases[0].End != 1e-3 || trace.Lanes[0] != "kernels" || trace.Seconds != 1e-3 || trace.Spans == nil {
			t.Errorf("the timeline of %+v is %+v", r.Key, trace)
		}
	}
	if err := d.Run(t.Context(), l.Cases()); err != nil || starts != 1 {
		t.Errorf("with rows and timelines on disk the worker is started again: %v", err)
	}
}

func TestWorkerWithoutCeilings(t *testing.T) {
	starts := 0
	d := Driver{Store: &Store{}, Budget: testBudget, Progress: &silent{}, Ceilings: time.Millisecond,
		Worker: faultyWorker("ceilings", 9, &starts)}
	if err := d.Run(t.Context(), gpuCases()); err != nil {
		t.Fatal(err)
	}
	doc := d.Store.Document()
	if len(doc.Measurements) != 1 || doc.Measurements[0].Reason != "no kernel for it" {
		t.Errorf("measured is %+v", doc.Measurements)
	}
	for _, r := range doc.Records {
		if r.Status != OK || r.PercentPeak.Known() {
			t.Errorf("%s: %s, %v of the peak", r.Variant, r.Status, r.PercentPeak)
		}
	}
}

// TestInterruptedWorker ends the context while cuda/b is measured, whose worker ends, or
// ignores it until it is killed.
func TestInterruptedWorker(t *testing.T) {
	for _, fault := range []string{"slow", "ignores"} {
		t.Run(fault, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(plantedVariable+"_FILE", filepath.Join(dir, "pid"))
			store, err := OpenStore(filepath.Join(dir, "r.json"), Create)
			if err != nil {
				t.Fatal(err)
			}
			cases := gpuCases()
			cases[0].Turn = "" // its row is there before
			starts := 0
			d := Driver{Store: store, Budget: Budget{Reps: 6, Timeout: time.Minute}, Progress: &silent{},
				Worker: faultyWorker(fault, 9, &starts), stop: time.Second}
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
			if doc, err := Load(filepath.Join(dir, "r.json")); err != nil || len(doc.Records) != 1 ||
				doc.Records[0].Variant != "cuda/a" || doc.Records[0].Status != OK {
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

// TestKilledDriverLeavesNoWorker kills a process that has a worker that does not listen.
func TestKilledDriverLeavesNoWorker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not tell the worker")
	}
	if os.Getenv("GEMM_TEST_DRIVER") != "" {
		if err := os.Unsetenv("GEMM_TEST_DRIVER"); err != nil {
			t.Fatal(err)
		}
		starts := 0
		d := Driver{Store: &Store{}, Budget: Budget{Reps: 6, Timeout: time.Minute}, Progress: &silent{},
			Worker: faultyWorker("ignores", 9, &starts)}
		t.Fatal(d.Run(t.Context(), gpuCases()))
	}
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledDriverLeavesNoWorker$")
	cmd.Env = append(os.Environ(), "GEMM_TEST_DRIVER=yes", plantedVariable+"_FILE="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, file)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the worker is left behind")
		}
	}
}

// TestTurnsShareIntegers checks that the operands of the exact check are drawn once for a turn,
// whatever the order of the magnitudes that the variants need.
func TestTurnsShareIntegers(t *testing.T) {
	d := Driver{Budget: testBudget}
	narrow := gemm.Classical
	narrow.Largest = func(s gemm.Shape, p gemm.Params) float64 { return 0x1p53 / 16 * float64(s.K) / float64(s.K) }
	for _, test := range []struct {
		turn  string
		drawn []int
	}{{"x", []int{64, 4, 4, 4}}, {"", []int{64, 4, 64, 4}}} {
		for i, want := range test.drawn {
			v := variant("test/a", product[float64])
			if i%2 == 1 {
				v.Bound = narrow
			}
			c := Request{Variant: v, Type: "f64", Shape: gemm.Cube(8), Op: "nn", Alpha: 1, Turn: test.turn}.Case()
			contender := d.prepare(t.Context(), c, 1)
			contender.begin(t.Context(), testBudget)
			if contender.err != nil || d.settings.f64.magnitude != want {
				t.Errorf("turn %q, case %d: integers up to %d, want %d; %v", test.turn, i, d.settings.f64.magnitude, want,
					contender.err)
			}
		}
		d.settings = settings{}
	}
}
