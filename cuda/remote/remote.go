package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gemm"
	"gemm/cuda"
	"gemm/internal/ipc"
)

// Find returns the path of the GPU program: next to this program, or on PATH. The error wraps gemm.ErrUnavailable.
func Find() (string, error) {
	var folders []string
	if program, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(program); err == nil {
			program = resolved
		}
		folders = []string{filepath.Dir(program)}
		if beside, err := exec.LookPath(filepath.Join(folders[0], cuda.Worker)); err == nil {
			return beside, nil
		}
	}
	path, err := exec.LookPath(cuda.Worker)
	if err == nil {
		return filepath.Abs(path)
	}
	for _, folder := range append(folders, filepath.SplitList(os.Getenv("PATH"))...) {
		file := filepath.Join(folder, cuda.Worker)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return "", gemm.Unavailablef("%s is not executable", file).
				WithRemedy("chmod +x makes it so")
		}
	}
	return "", gemm.Unavailablef("%s is neither next to gemm nor on PATH", cuda.Worker).
		WithRemedy("make build CUDA=yes builds it")
}

// Limits on the time in which the worker describes the GPUs, and ends after a request.
const (
	describeTime = 10 * time.Second
	describeStop = time.Second
)

// Worker is the worker as this program knows it.
type Worker struct {
	Environment []string // added to the environment of its processes

	once  sync.Once
	found cuda.System
	err   error

	mu    sync.Mutex
	spare *process // guarded by mu: a process for the next multiplier
}

// Prepare starts a process for the next multiplier, which takes a third of a second, and returns at once.
func (w *Worker) Prepare() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spare == nil {
		w.spare, _ = w.begin() // the multiplier will say why not
	}
}

// started returns a process that serves products: the spare one, or another.
func (w *Worker) started() (*process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if spare := w.spare; spare != nil {
		w.spare = nil
		return spare, nil
	}
	return w.begin()
}

// begin starts a process that serves products. Products of several contexts follow: none of them ends it.
func (w *Worker) begin() (*process, error) {
	cmd, err := w.command(context.Background(), "multiply")
	if err != nil {
		return nil, err
	}
	return start(cmd)
}

// System returns what the worker finds; it asks once. The error wraps gemm.ErrUnavailable if there
// is no worker, no driver or no GPU. If the context ends first, it is the error of the context.
func (w *Worker) System(ctx context.Context) (cuda.System, error) {
	w.once.Do(func() { w.found, w.err = w.describe(ctx) })
	return w.found, w.err
}

// Serve returns the command with which a driver has the worker serve its cases.
func (w *Worker) Serve(ctx context.Context) (*exec.Cmd, error) { return w.command(ctx, "serve") }

// Profile is Serve for a worker under a profiler: see cuda.Mark.
func (w *Worker) Profile(ctx context.Context) (*exec.Cmd, error) { return w.command(ctx, "profile") }

func (w *Worker) command(ctx context.Context, argument string) (*exec.Cmd, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, argument)
	cmd.Env = append(cmd.Environ(), w.Environment...)
	return cmd, nil
}

func (w *Worker) describe(interruptible context.Context) (s cuda.System, err error) {
	ctx, cancel := context.WithTimeout(interruptible, describeTime)
	defer cancel()
	cmd, err := w.command(ctx, "describe")
	if err != nil {
		return s, err
	}
	var stdout bytes.Buffer
	var stderr ipc.Tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = ipc.Run(cmd, describeStop)
	switch {
	case interruptible.Err() != nil:
		return s, interruptible.Err()
	case ctx.Err() != nil:
		return s, gemm.Unavailablef("%s does not describe the GPUs within %v", cuda.Worker, describeTime)
	case cmd.ProcessState == nil:
		return s, gemm.Unavailablef("%s cannot be started: %w", cuda.Worker, err)
	case err != nil:
		end := ipc.NewExitError(cuda.Worker, cmd.ProcessState, &stderr)
		return s, cmp.Or(NoWorker(end, stdout.String()), error(gemm.Unavailablef("%w", end)))
	}
	if _, err := ipc.NewReader(&stdout).Decode(&s); err != nil {
		return s, gemm.Unavailablef("%s describes the GPUs in words of its own", cuda.Worker).
			WithRemedy("build both from one source: %v", err)
	}
	if len(s.GPUs) == 0 {
		return s, gemm.Unavailablef("%s finds no GPU", cuda.Worker)
	}
	return s, nil
}

// NoWorker returns why a worker that ended without a message has no device, from the error of its end and its standard
// output. The error wraps gemm.ErrUnavailable. It is nil if something else ended the worker.
func NoWorker(err error, stdout string) error {
	var end ipc.ExitError
	errors.As(err, &end)
	const loading, finding = "error while loading shared libraries: ", "Error in initialization, "
	_, library, loads := strings.Cut(end.Reason, loading)
	_, why, _ := strings.Cut(stdout, "details on: ")
	switch {
	case end.Status == "exit status 127" && loads: // of the system's loader
		library, _, _ = strings.Cut(library, ":")
		return gemm.Unavailablef("there is no NVIDIA driver: %s is not found", library)
	case end.Status == "exit status 1" && strings.HasPrefix(stdout, finding): // of gorgonia.org/cu
		return gemm.Unavailablef("there is no NVIDIA GPU, or its driver does not work: %s", strings.TrimSpace(why))
	case end.Status == "exit status 1" && end.Reason != "":
		return gemm.Unavailablef("%s", end.Reason)
	}
	return nil
}

// Check returns an error if s lacks what v needs in any of the types: a GPU that is new enough, and the compiler or the
// library.
func Check(s cuda.System, v gemm.Variant, types ...string) error {
	_, algorithm, _ := strings.Cut(cmp.Or(v.Leaf, v.Name), "/")
	least := 0
	for _, typ := range types {
		if r, err := cuda.RungNamed(algorithm, typ); err == nil && (least == 0 || r.Least < least) {
			least = r.Least
		}
	}
	library, version := "NVRTC", s.NVRTC
	if least == 0 { // it is no rung
		library, version = "cuBLAS", s.CuBLAS
	}
	if cuda.IsTF32(algorithm) {
		least = max(least, cuda.LeastTF32)
	}
	if version == "" && !cuda.IsTorch(algorithm) { // whether Python has PyTorch, the row says
		why := library + " is not there"
		for _, line := range s.Missing {
			if strings.Contains(strings.ToLower(line), strings.ToLower(library)) {
				why = line
			}
		}
		return gemm.Unavailablef("%s", why)
	}
	newer := func(g cuda.GPU) bool {
		arch, err := g.Arch()
		return err == nil && arch >= least
	}
	if !slices.ContainsFunc(s.GPUs, newer) {
		return gemm.Unavailablef("needs compute capability %d.%d, has %s", least/10, least%10, s.GPUs[0].Capability)
	}
	return nil
}
