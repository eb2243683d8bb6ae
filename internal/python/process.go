package python

import (
	"cmp"
	"context"
	_ "embed" // the program
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"gemm"
	"gemm/internal/ipc"
	"gemm/internal/peer"
)

// program is what Python runs; its head has the requests that it understands.
//
//go:embed program.py
var program string

// Library is a library of Python, and what it computes with.
type Library struct {
	Name   string // of the Python module
	Title  string // in prose
	GPU    bool   // it computes on a GPU
	Number int    // of threads, or of the GPU
}

// NumPy returns NumPy with the given number of threads.
func NumPy(threads int) Library { return Library{Name: "numpy", Title: "NumPy", Number: threads} }

// Torch returns PyTorch with the given number of threads.
func Torch(threads int) Library { return Library{Name: "torch", Title: "PyTorch", Number: threads} }

// Plain returns Python without a library: the loops of a textbook over lists of lists, in f64.
func Plain() Library { return Library{Name: "python", Title: "Python", Number: 1} }

// Variable is the environment variable that names the program of Python.
const Variable = "GEMM_PYTHON"

// startTime is the time in which Python must load a library. Loading PyTorch from a slow disk takes half a minute.
const startTime = 2 * time.Minute

// description is what a process says of its library.
type description struct {
	Version string
	Kernel  string
	Python  string
	Threads int
	Call    float64 // seconds of a product of 1×1 matrices
}

// process holds a library.
type process struct {
	*peer.Process
	key       key
	described description
}

// key is what a process can be exchanged for: the same library of the same Python.
type key struct {
	python  string
	library Library
}

// idle are the processes that compute nothing, and missing is why libraries are not available, by key.
var (
	idle    peer.Pool[key, *process]
	missing sync.Map
)

// acquire returns a process with the library, one that is idle or a new one. It is the caller's until it
// is released. The error is an ErrUnavailable if there is no Python, no library or no GPU.
func (l Library) acquire(ctx context.Context) (*process, error) {
	s := key{cmp.Or(os.Getenv(Variable), "python3"), l}
	if p, ok := idle.Get(s); ok {
		return p, nil
	}
	if err, ok := missing.Load(s); ok {
		return nil, err.(error)
	}
	p, err := s.start(ctx)
	if errors.Is(err, gemm.ErrUnavailable) {
		missing.Store(s, err)
	}
	return p, err
}

// release keeps the process for another product, in the place of one that is idle: PyTorch takes 300 MB.
func (p *process) release() {
	if other, ok := idle.Get(p.key); ok {
		go p.Kill()
		p = other
	}
	idle.Put(p.key, p)
}

// start starts a process and has it load the library.
func (s key) start(ctx context.Context) (*process, error) {
	file, err := exec.LookPath(s.python)
	if err != nil {
		return nil, gemm.Unavailablef("no Python: %w", err).
			WithRemedy("install python3, or set %s to its path", Variable)
	}
	name, number := s.library.Name, strconv.Itoa(s.library.Number)
	cmd := exec.Command(file, "-c", program)
	if s.library.GPU {
		name = "cuda"
	} else {
		cmd.Env = os.Environ()
		for _, variable := range []string{"OPENBLAS", "MKL", "OMP", "BLIS"} {
			cmd.Env = append(cmd.Env, variable+"_NUM_THREADS="+number)
		}
		settings, err := peer.Settings()
		if err != nil && s.library != Plain() {
			return nil, err
		}
		for variable, value := range settings {
			if _, ok := os.LookupEnv(variable); !ok {
				cmd.Env = append(cmd.Env, variable+"="+value)
			}
		}
	}
	cmd.Args = append(cmd.Args, name, number)
	started, err := peer.Start(cmd)
	if err != nil {
		return nil, gemm.Unavailablef("%s: %w", s.python, err)
	}
	p := &process{Process: started, key: s}
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	text, err := p.Request(limited, "describe")
	if err == nil {
		err = json.Unmarshal([]byte(text), &p.described)
	}
	if err != nil {
		p.Kill()
		return nil, s.refusal(ctx, err)
	}
	if err := peer.CheckKernel(p.described.Kernel); err != nil && !s.library.GPU {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// refusal returns why the library is not available.
func (s key) refusal(ctx context.Context, err error) error {
	var end ipc.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it does not load within %v", startTime)
	case errors.As(err, &end) && end.Reason != "":
		err = errors.New(end.Reason)
	}
	if s.library == Plain() {
		return gemm.Unavailablef("%s does not run (%w)", s.python, err).WithRemedy("set %s to a Python 3", Variable)
	}
	return gemm.Unavailablef("%s has no usable %s (%w)", s.python, s.library.Title, err).
		WithRemedy("pip install %s, or set %s to a Python that has it", s.library.Name, Variable)
}
